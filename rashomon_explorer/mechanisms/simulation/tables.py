"""Simulated tables of a request's public shape, the same for all users."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.problem import Problem

SEED = 2108_00965
"""Seed of all simulated tables and trials."""

_MOST_ROWS = 1_000  # more rows do not change the law, only the time of an evaluation
_USUAL_LENGTH = 0.5  # of the declared norm: most rows of numbers are shorter than it
_FEW, _MANY = 3, 6  # levels of a category: the loss is flat along directions of such columns
_LEVELS = (2, _FEW, _MANY)
_SLOPE = 1.5  # how well the simulated columns predict
_STRENGTHS = 0.5, 4.0  # of the log-odds: AUC of about .63 to .95 without privacy
_SQUARES = 0.1, 0.9  # R² without privacy

Columns = Callable[[int, int, np.random.Generator], FloatArray]
"""Makes the columns of a simulated table (n, k), rows of norm at most about one."""


def signs(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make independent columns of signs, in rows of half the norm bound."""
    return rng.choice([-1.0, 1.0], (n, k)) * (_USUAL_LENGTH / math.sqrt(k))


def categories(n: int, k: int, rng: np.random.Generator, levels: int = _MANY) -> FloatArray:
    """Make columns that encode levels of categories, in rows of the full norm bound."""
    rows = rng.choice([-1.0, 1.0], (n, k))
    for first in range(0, k - levels + 1, levels):
        rows[:, first : first + levels] = -1.0
        rows[np.arange(n), first + rng.integers(levels, size=n)] = 1.0
    return rows / math.sqrt(k)


def short_categories(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make categories of few levels, in rows of half the norm bound, with a flatter loss."""
    return _USUAL_LENGTH * categories(n, k, rng, _FEW)


def numbers(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make correlated numbers, in rows of about the full norm bound."""
    factors = rng.standard_normal((n, max(1, k // 4)))
    loads = rng.standard_normal((factors.shape[1], k)) / math.sqrt(factors.shape[1])
    common = rng.uniform(0, 0.9)
    noise = rng.standard_normal((n, k))
    return np.asarray(
        (math.sqrt(common) * factors @ loads + math.sqrt(1 - common) * noise) / math.sqrt(k)
    )


def coded(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make categories of a random number of levels."""
    return categories(n, k, rng, int(rng.choice(_LEVELS)))


def mixed(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make numbers and categories."""
    half = k // 2
    if half == 0:
        return numbers(n, k, rng)
    parts = numbers(n, half, rng), coded(n, k - half, rng)
    return np.hstack([part * math.sqrt(part.shape[1] / k) for part in parts])


def shifted(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make numbers in a part of their bound, away from its middle."""
    middle = rng.standard_normal(k) * rng.uniform(0.1, 0.4) / math.sqrt(k)
    return numbers(n, k, rng) * rng.uniform(0.2, 0.5) + middle


KINDS: tuple[Columns, ...] = (signs, categories, short_categories)
"""Kinds of rows on which exact draws are tried: the loss is flat on some of them."""

TYPICAL_KINDS: tuple[Columns, ...] = (numbers, coded, mixed, shifted)
"""Kinds of rows on which the gain of a model is predicted; a schema's scaling avoids the last."""


def simulated(law: Request, columns: Columns, rate: float | None = None) -> Problem:
    """Make a table of a law's public shape; ``rate`` of it are positive."""
    rng = generator([SEED])
    n, width = min(law.n, _MOST_ROWS), law.p // law.loss_function.outputs
    with_intercept = law.row_norm > 1 and width > 1  # the last entry of every row is a constant 1
    n_columns = width - with_intercept
    features = columns(n, n_columns, rng)
    rows = features * math.sqrt(law.row_norm**2 - with_intercept)
    unit_rows = features / np.linalg.norm(features[0])
    return Problem(
        np.column_stack([rows, np.ones(n)]) if with_intercept else rows,
        predictable_targets(law.loss_function, unit_rows, rng, rate),
        loss=law.loss,
        radius=law.radius,
        row_norm=law.row_norm * (1 + 1e-9),
        ridge=law.ridge,
        intercept=False,
    )


def predictable_targets(
    loss: Loss, rows: FloatArray, rng: np.random.Generator, rate: float | None
) -> FloatArray:
    """Draw targets (n,) that a random linear model predicts with typical accuracy."""
    scores = rows @ rng.standard_normal((rows.shape[1], loss.outputs)) * _SLOPE
    if loss.labels is None:
        return np.asarray(np.tanh(scores[:, 0] + rng.standard_normal(len(rows))))
    if rate is not None:
        scores = scores + shift_for_rate(scores, rate)
    return drawn_labels(loss, scores, rng)


def targets_of_strength(
    loss: Loss,
    features: FloatArray,
    target: tuple[float, float] | None,
    strength: float,
    rate: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw targets (n,) of a random linear model, sparse or not, whose signal has a strength."""
    n, k = features.shape
    weights = rng.standard_normal((k, loss.outputs)) * (rng.random((k, 1)) < rng.uniform(0.3, 1))
    weights[rng.integers(k)] += 1.0
    scores = features @ weights
    scores = (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-9)
    if loss.labels is None:
        mean, deviation = target or (rng.uniform(-0.4, 0.4), rng.uniform(0.1, 0.3))
        r2 = _SQUARES[0] + (_SQUARES[1] - _SQUARES[0]) * strength
        noise = rng.standard_normal(n)
        values = math.sqrt(r2) * scores[:, 0] + math.sqrt(1 - r2) * noise
        return np.asarray(np.clip(mean + deviation * values, -1, 1))
    scores = _STRENGTHS[0] * (_STRENGTHS[1] / _STRENGTHS[0]) ** strength * scores
    scores += (
        shift_for_rate(scores, rate) if loss.outputs == 1 else rng.uniform(-1, 1, loss.outputs)
    )
    return drawn_labels(loss, scores, rng)


def shift_for_rate(scores: FloatArray, rate: float) -> float:
    """Return what to add to log-odds so that a share ``rate`` of labels is positive on average."""
    return bisect(lambda b: bool(expit(scores + b).mean() < rate), -30, 30, halvings=30)


def drawn_labels(loss: Loss, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw labels (n,) with log-odds ``scores`` (n, outputs)."""
    labels = np.asarray(loss.labels, dtype=float)
    first = np.zeros((len(scores), len(labels) - loss.outputs))
    noisy = np.column_stack([first, scores]) + rng.gumbel(size=(len(scores), len(labels)))
    return np.asarray(labels[noisy.argmax(axis=1)])
