"""The core needs nothing that Pyodide 314 lacks: no threads, no processes, no `resource`.

What it lacks was listed by importing Python's modules in it. Its NumPy, SciPy and scikit-learn
are on no package index, so that this stands for a run in a browser.
"""

import os
import subprocess
import sys

_LIKE_PYODIDE = """
import os, sys, threading, time
import joblib, pandas, scipy.optimize, scipy.stats, sklearn.linear_model
for name in ("resource", "_multiprocessing", "pwd", "_posixshmem", "randomgen"):
    sys.modules[name] = None
del os.link, os.geteuid, os.sched_getaffinity, time.thread_time
def start(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start, os.cpu_count, sys.platform = start, lambda: 1, "emscripten"
"""
_ANSWERS = """
from sklearn.datasets import load_breast_cancer
from rashomon_explorer import DPClassifier, Ledger, RashomonClassifier, audit, load_dataset
from rashomon_explorer.measures import multiplicity_table
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :4] / X.iloc[:, :4].max()
found = audit(sklearn.linear_model.LogisticRegression().fit(X, y), X, y, tolerance="1%")
print("audit", len(found.flips), len(found.coefficients), len(found._repr_html_()) > 1000)
data, ledger = load_dataset("lending"), Ledger.create("a.ledger", epsilon=4, delta=1e-6)
X, y = data.X[:500], data.y[:500]
settings = {"row_norm": 1.5, "classes": [0, 1], "ledger": ledger}
DPClassifier(epsilon=0.5, **settings).fit(X, y)
models = RashomonClassifier(epsilon=2, n_draws=3, mechanism="exact", **settings)
models = models.set_params(patience=None, radius=2.0).fit(X, y).rashomon_set_
models.release().save("release.npz")
print("draws", len(ledger.entries()), len(multiplicity_table(models, X, inside_only=False)) > 3)
"""


def test_audits_draws_and_ledger_work_where_no_thread_starts(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _LIKE_PYODIDE + _ANSWERS],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[:2] == ["audit 569 5 True", "draws 2 True"], done.stderr
