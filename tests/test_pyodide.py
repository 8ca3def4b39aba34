"""The core needs nothing that Pyodide 314 lacks: no threads, no processes, no `resource`.

What it lacks was listed by importing Python's modules in it. Its NumPy, SciPy and scikit-learn
are on no package index, so that this stands for a run in a browser.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

NOTEBOOK = Path(__file__).parents[1] / "examples" / "jupyterlite" / "audit.ipynb"

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
from rashomon_explorer import DPClassifier, Ledger, RashomonClassifier, load_dataset
from rashomon_explorer.measures import multiplicity_table
data, ledger = load_dataset("lending"), Ledger.create("a.ledger", epsilon=4, delta=1e-6)
X, y = data.X[:500], data.y[:500]
settings = {"row_norm": 1.5, "classes": [0, 1], "ledger": ledger}
DPClassifier(epsilon=0.5, **settings).fit(X, y)
models = RashomonClassifier(epsilon=2, n_draws=3, mechanism="exact", **settings)
models = models.set_params(patience=None, radius=2.0).fit(X, y).rashomon_set_
models.release().save("release.npz")
print("draws", len(ledger.entries()), len(multiplicity_table(models, X, inside_only=False)) > 3)
"""


def test_the_notebook_draws_and_a_ledger_work_where_no_thread_starts(tmp_path):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    first, *others = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
    wheel = f"rashomon_explorer-{version('rashomon-explorer')}-py3-none-any.whl"
    assert first == f"%pip install ./{wheel}"
    audited = "\n".join([*others, 'print("audit", len(found.flips), len(found.coefficients))'])
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _LIKE_PYODIDE + audited + _ANSWERS],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[:2] == ["audit 1000 11", "draws 2 True"], done.stderr
