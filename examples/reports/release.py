"""Write `release.html`: twenty private models of simulated loans, for publication."""

from rashomon_explorer import RashomonClassifier, load_dataset
from rashomon_explorer.report import report

data = load_dataset("lending")
model = RashomonClassifier(epsilon=4.0, n_draws=20, row_norm=1.5, classes=[0, 1])
released = model.fit(data.X, data.y).rashomon_set_.release()
words = {"title": "Loan models for publication", "table": "lending (simulated)", "target": "repaid"}
report(released, "release.html", **words, classes=["no", "yes"], overwrite=True)
