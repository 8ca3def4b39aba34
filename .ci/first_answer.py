"""A first answer of each kind, from an installed package and an empty folder."""

import tempfile
from pathlib import Path

from sklearn.linear_model import LogisticRegression

import rashomon_explorer
from rashomon_explorer import DPClassifier, Ledger, RashomonClassifier, load_dataset, measures

assert "site-packages" in rashomon_explorer.__file__, rashomon_explorer.__file__
data = load_dataset("lending")
X, y = data.X[:4000], data.y[:4000]
with tempfile.TemporaryDirectory() as folder:
    ledger = Ledger.create(Path(folder, "lending.ledger"), epsilon=8, delta=1e-6)
    settings = {"classes": [0, 1], "row_norm": 1.5, "ledger": ledger}
    print(DPClassifier(epsilon=0.5, **settings).fit(X, y).guarantee_)
    draws = RashomonClassifier(epsilon=2, n_draws=5, **settings).fit(X, y)
    print(draws.rashomon_set_.release())
problem = measures.penalised_problem(LogisticRegression().fit(X, y), X, y)
psi = measures.relative_psi(problem, 0.01)
print("labels that can flip: at most", measures.exact_ambiguity(problem, psi, X).upper)
