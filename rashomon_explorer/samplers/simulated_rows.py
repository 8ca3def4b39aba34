"""Tables of public shape, on which exact draws are tried before anything is charged."""

import math
from collections.abc import Callable

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import Loss
from rashomon_explorer.planning.public_law import PublicLaw
from rashomon_explorer.problem import Problem
from rashomon_explorer.randomness import generator

SEED = 2108_00965
"""Of all tables and trials: they are the same for everybody."""

_MOST_ROWS = 1_000  # one table more does not change the law, only the time a look at it takes
_USUAL_LENGTH = 0.5  # of the declared norm: most rows of numbers are shorter than it
_FEW, _MANY = 3, 6  # levels of a category: such columns leave whole directions flat
_SLOPE = 1.5  # how well the simulated columns predict

Columns = Callable[[int, int, np.random.Generator], FloatArray]
"""Makes the columns of a simulated table (n, k), rows of norm at most one."""


def signs(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make independent columns, in rows of half the norm."""
    return rng.choice([-1.0, 1.0], (n, k)) * (_USUAL_LENGTH / math.sqrt(k))


def categories(n: int, k: int, rng: np.random.Generator, levels: int = _MANY) -> FloatArray:
    """Make columns that are levels of categories, in rows of all of the norm."""
    made = rng.choice([-1.0, 1.0], (n, k))
    for first in range(0, k - levels + 1, levels):
        made[:, first : first + levels] = -1.0
        made[np.arange(n), first + rng.integers(levels, size=n)] = 1.0
    return made / math.sqrt(k)


def short_categories(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Make categories of few levels in rows of half the norm, where the loss is flatter still."""
    return _USUAL_LENGTH * categories(n, k, rng, _FEW)


KINDS: tuple[Columns, ...] = (signs, categories, short_categories)
"""Kinds of rows that are tried."""


def simulated(law: PublicLaw, columns: Columns) -> Problem:
    """Make a table of a law's public shape, the same for everybody."""
    rng = generator([SEED])
    n, width = min(law.n, _MOST_ROWS), law.p // law.loss.outputs
    whole = law.row_norm > 1 and width > 1  # a constant 1 is the last entry of every row
    n_columns = width - whole
    made = columns(n, n_columns, rng)
    rows = made * math.sqrt(law.row_norm**2 - whole)
    targets = _targets(law.loss, made / np.linalg.norm(made[0]), rng)
    return Problem(
        np.column_stack([rows, np.ones(n)]) if whole else rows,
        targets,
        loss=law.loss,
        radius=law.radius,
        row_norm=law.row_norm * (1 + 1e-9),
        ridge=law.ridge,
        intercept=False,
    )


def _targets(loss: Loss, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw targets that a random linear model predicts about as well as usual."""
    scores = rows @ rng.standard_normal((rows.shape[1], loss.outputs)) * _SLOPE
    if loss.labels is None:
        return np.asarray(np.tanh(scores[:, 0] + rng.standard_normal(len(rows))))
    noise = rng.gumbel(size=(len(rows), len(loss.labels)))
    scores = np.column_stack([np.zeros((len(rows), len(loss.labels) - loss.outputs)), scores])
    return np.asarray(loss.labels)[np.argmax(scores + noise, axis=1)]
