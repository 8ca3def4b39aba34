"""A first answer of each kind, from an installed package and an empty folder."""

import tempfile
from pathlib import Path

from sklearn.linear_model import LogisticRegression

import rashomon_explorer
from rashomon_explorer import DPClassifier, Ledger, RashomonClassifier, audit, load_dataset

assert "site-packages" in rashomon_explorer.__file__, rashomon_explorer.__file__
data = load_dataset("lending")
X, y = data.X[:4000], data.y[:4000]
with tempfile.TemporaryDirectory() as folder:
    ledger = Ledger.create(Path(folder, "lending.ledger"), epsilon=8, delta=1e-6)
    settings = {"classes": [0, 1], "row_norm": 1.5, "ledger": ledger}
    print(DPClassifier(epsilon=0.5, **settings).fit(X, y).guarantee_)
    draws = RashomonClassifier(epsilon=2, n_draws=5, **settings).fit(X, y)
    print(draws.rashomon_set_.release())
print(audit(LogisticRegression().fit(X, y), X, y, tolerance="1%", groups=data.sensitive[:4000]))
