"""Figures 1 and 2 and Table 1 of Bok, Su and Altschuler (2024), drawn from our formulas.

Noisy gradient steps over 40 batches in turn, a record moves a step by two thirds of the noise, each
step brings models together by .9999: the setting of their Table 1, whose three columns are lines.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rates_pictures import FOLDER, Line, drawn
from rashomon_explorer.mechanisms.langevin.batch_accounting import (
    last_batch_state_guarantee,
    last_batch_state_renyi,
)
from rashomon_explorer.privacy import Guarantee, gdp

DELTA, EPOCHS = 1e-5, 200
_SHIFT, _BATCHES = 2 / 3, 40
_CHAIN: Any = {"shift": _SHIFT, "n_batches": _BATCHES, "contraction": 0.9999}
_WAYS: dict[str, Callable[[int], Guarantee]] = {
    "last state, Theorem 4.5": lambda epochs: last_batch_state_guarantee(
        **_CHAIN, n_steps=_BATCHES * epochs
    ),
    "last state, by Rényi": lambda epochs: last_batch_state_renyi(**_CHAIN, epochs=epochs),
    "all states, Theorem 4.4": lambda epochs: gdp(mu=_SHIFT * epochs**0.5),
}


def by_epochs() -> list[Line]:
    """ε at δ = 10⁻⁵ against the number of passes: Table 1, and before and after it."""
    passes = (25, 50, 100, 200, 400, 800)
    return [
        (name, passes, [way(epochs).epsilon(DELTA) for epochs in passes])
        for name, way in _WAYS.items()
    ]


def by_delta() -> list[Line]:
    """ε against δ after 200 passes: Figure 1, right."""
    deltas = np.geomspace(1e-10, 0.1, 37).tolist()
    return [
        (name, deltas, [way(EPOCHS).epsilon(delta) for delta in deltas])
        for name, way in _WAYS.items()
    ]


def errors() -> list[Line]:
    """Least error of the second kind against that of the first: Figure 1, left."""
    alpha = np.linspace(0, 1, 101)
    return [
        (name, alpha.tolist(), way(EPOCHS).tradeoff(alpha).tolist()) for name, way in _WAYS.items()
    ]


def gaussian_errors() -> list[Line]:
    """Draw the same of Gaussian DP: Figure 2."""
    alpha = np.linspace(0, 1, 101)
    return [
        (f"μ = {mu:g}", alpha.tolist(), gdp(mu=mu).tradeoff(alpha).tolist())
        for mu in (0.25, 0.5, 1.0, 2.0, 4.0)
    ]


def write(folder: Path = FOLDER) -> None:
    """Write the four pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    first, lines = "error of the first kind", (False, False)
    pictures = {
        "last-states-epochs": drawn(by_epochs(), "ε at δ = 1e-5 against passes", "passes"),
        "last-states-delta": drawn(by_delta(), "ε against δ, 200 passes", "δ"),
        "last-states-errors": drawn(errors(), "Least second error, 200 passes", first, lines),
        "gaussian-errors": drawn(gaussian_errors(), "Least second error, μ-GDP", first, lines),
    }
    for name, picture in pictures.items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
