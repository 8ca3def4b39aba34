"""
Keep a privacy budget in a ledger
=================================

One file holds the budget of a table. Every mechanism charges it, also one of another library.
"""

# %%
import tempfile
from pathlib import Path

import numpy as np

from rashomon_explorer import DPClassifier, Ledger, load_dataset
from rashomon_explorer.privacy import pure

data = load_dataset("lending")
ledger = Ledger.create(Path(tempfile.mkdtemp()) / "lending.ledger", epsilon=4.0, delta=1e-6)

# %%
# An estimator charges the ledger before it reads a row.
DPClassifier(epsilon=1.0, row_norm=1.5, classes=[0, 1], ledger=ledger).fit(data.X, data.y)

# %%
# Your own mechanism does the same: reserve its guarantee, then run it.
rng = np.random.default_rng()


def noisy_count():
    """Count of repaid loans with Laplace noise; a replaced row moves it by at most 1."""
    return float((data.y == 1).sum() + rng.laplace(scale=1 / 0.5))


print(ledger.reserve(pure(0.5), note="count of repaid loans").run(noisy_count))
ledger

# %%
from rashomon_explorer.plots import plot_budget

plot_budget(ledger)
# sphinx_gallery_thumbnail_path = "../examples/pictures/11_ledger.png"
