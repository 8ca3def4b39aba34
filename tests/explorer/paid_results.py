"""Small results that were paid for, for tests of what becomes of them."""

from datetime import datetime
from typing import Any

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.explorer.export.purchases import Purchase
from rashomon_explorer.release import release

X, Y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50


def drawn() -> Any:
    """Five models."""
    return RashomonClassifier(n_draws=5, epsilon=500.0, random_state=0).fit(X, Y).rashomon_set_


def purchase(models: Any) -> Purchase:
    """One aggregate of them."""
    released = release(
        models.release(), X, Y, queries=["ambiguity"], epsilon=1.0, ledger=None, random_state=0
    )
    return Purchase(released, datetime(2026, 11, 23, 12, 30), 0.5)
