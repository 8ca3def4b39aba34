"""Simulated tables on which rules are settled, so that no real table has a say in them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray

SIZES = ((400, 30), (1_500, 12), (1_500, 60), (6_000, 30))
KINDS = ("numeric", "mixed", "coded", "factor")
_TEST_ROWS = 4_000
# Deviation of the log odds, and the share of the columns that are numbers.
_STRENGTH = {"numeric": 3.0, "mixed": 1.5, "coded": 2.5, "factor": 8.0}
_NUMERIC = {"numeric": 1.0, "mixed": 1 / 3, "coded": 0.0, "factor": 1.0}


class Table(NamedTuple):
    """Rows (n, d) in [−1, 1] by declared bounds, labels −1 and 1, and fresh ones to test on."""

    kind: str
    rows: FloatArray
    labels: FloatArray
    test_rows: FloatArray
    test_labels: FloatArray


def tables(sizes: tuple[tuple[int, int], ...] = SIZES) -> Iterator[Table]:
    """One table a size and kind: skewed numbers, coded categories, both, or few strong factors."""
    for n, d in sizes:
        for kind in KINDS:
            yield simulate(n, d, kind, seed=100 * n + d + len(kind))


def simulate(n: int, d: int, kind: str, seed: int) -> Table:
    """Draw a table whose labels follow a logistic model, sparse or not, in unscaled columns."""
    rng = np.random.default_rng(seed)
    numeric = round(_NUMERIC[kind] * d)
    n_factors = max(2, d // 8) if kind == "factor" else max(2, numeric // 4)
    blocks = [_numbers(n + _TEST_ROWS, numeric, n_factors, rng)] if numeric else []
    while (left := d - sum(rows.shape[1] for rows, _ in blocks)) > 0:
        blocks.append(_category(n + _TEST_ROWS, min(left, int(rng.integers(1, 9))), rng))
    rows, latent = (np.hstack(part) for part in zip(*blocks, strict=True))
    weights = rng.standard_normal(d) * (rng.random(d) < rng.choice([0.2, 0.6]))
    weights[rng.integers(d)] += 1.0
    score = latent @ weights
    odds = (score - score.mean()) / score.std() * _STRENGTH[kind] + rng.choice([0, 0.5, 1.2])
    labels = np.where(rng.random(len(odds)) < expit(odds), 1.0, -1.0)
    return Table(kind, rows[:n], labels[:n], rows[n:], labels[n:])


def _numbers(
    m: int, d: int, n_factors: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Correlated columns, half of them skewed: bounds wide enough for all leave those near −1."""
    factors = rng.standard_normal((m, n_factors))
    mixed = factors @ rng.standard_normal((factors.shape[1], d)) / np.sqrt(factors.shape[1])
    latent = 0.8 * mixed + 0.6 * rng.standard_normal((m, d))
    skewed = rng.random(d) < 0.5
    values = np.where(skewed, np.exp(0.8 * latent), latent)
    low, high = np.where(skewed, 0.0, -4.0), np.where(skewed, np.exp(2.8), 4.0)
    unit = (values - (low + high) / 2) / ((high - low) / 2)
    return np.clip(unit, -1, 1), latent


def _category(m: int, levels: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """One column a level, the first levels the most common; yes or no in one column."""
    if levels == 1:
        coded = rng.choice([-1.0, 1.0], m)[:, None]
        return coded, coded
    shares = 1 / np.arange(1, levels + 1)
    chosen: NDArray[np.intp] = rng.choice(levels, m, p=shares / shares.sum())
    coded = np.eye(levels)[chosen]
    return 2 * coded - 1, coded - coded.mean(axis=0)
