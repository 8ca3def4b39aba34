"""Simulated tables on which rules are settled, so that no real table has a say in them."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from rashomon_explorer._utils.arrays import FloatArray

SIZES = ((400, 30), (1_500, 12), (1_500, 60), (6_000, 30))
LARGE = ((6_000, 30), (20_000, 20), (40_000, 60))
KINDS = ("numeric", "mixed", "coded", "factor")
UNBALANCED = ("rare", "heavy")
_TEST_ROWS = 4_000
# Deviation of the log odds, and the share of the columns that are numbers.
_STRENGTH = {"numeric": 3.0, "mixed": 1.5, "coded": 2.5, "factor": 8.0, "rare": 1.5, "heavy": 1.5}
_NUMERIC = {"numeric": 1.0, "mixed": 1 / 3, "coded": 0.0, "factor": 1.0}
_OF_FIVE = -1.7  # log odds that leave about one in five positive


class Table(NamedTuple):
    """Rows (n, d) in [−1, 1] by declared bounds, labels −1 and 1, and fresh ones to test on."""

    kind: str
    rows: FloatArray
    labels: FloatArray
    test_rows: FloatArray
    test_labels: FloatArray


def tables(
    sizes: tuple[tuple[int, int], ...] = SIZES, kinds: tuple[str, ...] = KINDS
) -> Iterator[Table]:
    """One table a size and kind: skewed numbers, coded categories, both, or few strong factors.

    And those of one positive row in five: answers that are rarely yes, or heavy tails.
    """
    for n, d in sizes:
        for kind in kinds:
            yield simulate(n, d, kind, seed=100 * n + d + len(kind))


def simulate(n: int, d: int, kind: str, seed: int) -> Table:
    """Draw a table whose labels follow a logistic model, sparse or not, in unscaled columns."""
    rng = np.random.default_rng(seed)
    if kind in UNBALANCED:
        return _unbalanced(n, d, kind, rng)
    rows, latent = _columns(n + _TEST_ROWS, d, kind, rng)
    weights = rng.standard_normal(d) * (rng.random(d) < rng.choice([0.2, 0.6]))
    weights[rng.integers(d)] += 1.0
    score = latent @ weights
    odds = (score - score.mean()) / score.std() * _STRENGTH[kind] + rng.choice([0, 0.5, 1.2])
    labels = np.where(rng.random(len(odds)) < expit(odds), 1.0, -1.0)
    return Table(kind, rows[:n], labels[:n], rows[n:], labels[n:])


def _columns(m: int, d: int, kind: str, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Rows (m, d), and what the labels follow."""
    numeric = round(_NUMERIC[kind] * d)
    n_factors = max(2, d // 8) if kind == "factor" else max(2, numeric // 4)
    blocks = [_numbers(m, numeric, n_factors, rng)] if numeric else []
    while (left := d - sum(rows.shape[1] for rows, _ in blocks)) > 0:
        blocks.append(_category(m, min(left, int(rng.integers(1, 9))), rng))
    rows, latent = (np.hstack(part) for part in zip(*blocks, strict=True))
    return rows, latent


def of_classes(n: int, d: int, kind: str, classes: int, seed: int) -> Table:
    """One of several classes a row, by the largest of as many noisy scores; codes from 0."""
    rng = np.random.default_rng(seed)
    rows, latent = _columns(n + _TEST_ROWS, d, kind, rng)
    scores = (latent - latent.mean(axis=0)) @ rng.standard_normal((d, classes))
    scores = scores / scores.std(axis=0) * _STRENGTH[kind] + rng.gumbel(size=scores.shape)
    labels = scores.argmax(axis=1).astype(float)
    return Table(kind, rows[:n], labels[:n], rows[n:], labels[n:])


def _unbalanced(n: int, d: int, kind: str, rng: np.random.Generator) -> Table:
    """One positive row in five; a few columns matter much, and the others little."""
    rows, latent = (_rare if kind == "rare" else _heavy)(n + _TEST_ROWS, d, rng)
    weights = 0.3 * rng.standard_normal(d)
    weights[rng.choice(d, 2, replace=False)] += rng.choice([-1.5, 1.5], 2)
    score = (latent - latent.mean(axis=0)) / latent.std(axis=0) @ weights
    odds = score / score.std() * _STRENGTH[kind] + _OF_FIVE
    labels = np.where(rng.random(len(odds)) < expit(odds), 1.0, -1.0)
    return Table(kind, rows[:n], labels[:n], rows[n:], labels[n:])


def _rare(m: int, d: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Answers that go together, yes in one row of two to one of fifty."""
    common = 0.6 * rng.standard_normal((m, 1)) + 0.8 * rng.standard_normal((m, d))
    yes = common > ndtri(1 - 0.5 * 0.04 ** rng.random(d))
    return np.where(yes, 1.0, -1.0), yes.astype(float)


def _heavy(m: int, d: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Amounts: bounds that hold the largest leave nearly all rows within a fiftieth of them."""
    latent = 0.6 * rng.standard_normal((m, 1)) + 0.8 * rng.standard_normal((m, d))
    return np.minimum(2 * np.exp(1.5 * latent - 6), 2) - 1, latent


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
