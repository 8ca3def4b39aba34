"""Mechanisms of papers: not imported without a name."""

import subprocess
import sys

_FITS = """
import sys, numpy as np, warnings
from rashomon_explorer import DPClassifier, RashomonClassifier
warnings.simplefilter("ignore")
X, y = np.tile([[0.5], [-0.5]], (500, 1)), [1, 0] * 500
budget = {"epsilon": 8.0, "classes": [0, 1], "random_state": 0}
for model in (DPClassifier(**budget), RashomonClassifier(**budget)):
    model.fit(X, y)
print(sorted(name for name in sys.modules if name.startswith("rashomon_explorer.papers")))
DPClassifier(mechanism="iterated", ridge=1.0, **budget).plan(1_000, 1)
print(sorted(name for name in sys.modules if name.startswith("rashomon_explorer.papers")))
"""


def test_fitting_with_auto_imports_nothing_of_papers() -> None:
    command = [sys.executable, "-c", _FITS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    auto, named = done.stdout.splitlines()
    assert auto == "[]" and "rashomon_explorer.papers.localisation" in named
