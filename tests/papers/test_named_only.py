"""Mechanisms of papers: not imported without a name."""

import subprocess
import sys

_AUTO = """
import sys, numpy as np, warnings
from rashomon_explorer import DPClassifier, RashomonClassifier
warnings.simplefilter("ignore")
X, y = np.tile([[0.5], [-0.5]], (500, 1)), [1, 0] * 500
for asked in ({models}):
    asked.fit(X, y)
print(sorted(name for name in sys.modules if name.startswith("rashomon_explorer.papers")))
"""


def _papers_after(models: str) -> str:
    command = [sys.executable, "-c", _AUTO.format(models=models)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_fitting_with_auto_imports_nothing_of_papers() -> None:
    budget = "epsilon=8.0, classes=[0, 1], random_state=0"
    assert _papers_after(f"DPClassifier({budget}), RashomonClassifier({budget})") == "[]"
    named = _papers_after(f"DPClassifier(mechanism='iterated', {budget}, ridge=1.0),")
    assert "rashomon_explorer.papers.localisation" in named
