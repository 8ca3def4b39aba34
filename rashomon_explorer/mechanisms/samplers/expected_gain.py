"""Share of the possible gain that one private model reaches on simulated tables of a plan's shape.

A prediction from public numbers, made with the mechanism that the plan names; no guarantee.
"""

import math
from functools import lru_cache

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import watch_chains
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.weakness import ExpectedGain
from rashomon_explorer.mechanisms.samplers.feasibility import SEED, categories
from rashomon_explorer.mechanisms.samplers.scaling import released_map
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.problem import Problem

_TABLES, _FEWEST = 12, 4
_ROWS = 1_000  # of each table, and as many to test on; a plan's noise does not depend on them
_WORK = 5e8  # entries of tables that are read, about half a second
_LEVELS = (2, 3, 6)
_LEAST_GAIN = 0.03  # of accuracy or R²: smaller gains are not distinguished from it


@lru_cache(maxsize=256)
def expected_gain(
    planned: Plan, *, declared: bool = False, target: tuple[float, float] | None = None
) -> ExpectedGain | None:
    """Share of the gain of the model without privacy over a constant one; None if it takes long.

    The gain is that of accuracy, or of R². ``declared``: a schema scales the columns. ``target``:
    typical mean and deviation of the mapped target, if they are declared.
    """
    if not planned.mechanism or planned.law is None or planned.p <= planned.outputs:
        return None
    traits = MECHANISMS[planned.mechanism].traits
    if traits.may_give_up or traits.curator_only:
        return None
    n_tables = min(_TABLES, int(_WORK / (max(1.0, planned.gradients) * _ROWS * planned.p)))
    if n_tables < _FEWEST:
        return None
    shares = [_share(planned, declared, target, table) for table in range(n_tables)]
    low, middle, high = np.quantile(shares, [0.1, 0.5, 0.9])
    return ExpectedGain(
        float(middle), float(low), float(high), f"{n_tables} simulated tables of this shape"
    )


def _share(planned: Plan, declared: bool, target: tuple[float, float] | None, table: int) -> float:
    rng = generator([SEED, table])
    law, n = planned.law, min(planned.n, _ROWS)
    assert law is not None
    loss, row_norm = law.loss_function, math.sqrt(law.row_norm**2 - 1)
    kinds = (_numbers, _coded, _mixed) if declared else (_numbers, _coded, _mixed, _inside)
    features = kinds[table % len(kinds)](n + _ROWS, planned.p // planned.outputs - 1, rng)
    targets = _targets(loss, features, target, rng)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    rows = features * row_norm / np.maximum(1.0, norms)
    fit, test = slice(None, n), slice(n, None)
    scale = None if planned.columns is None else released_map(rows[fit], planned.columns, rng)
    problem = Problem(
        rows[fit],
        targets[fit],
        loss=loss,
        radius=law.radius,
        row_norm=row_norm,
        ridge=planned.ridge,
        scale=scale,
    )
    mechanism = MECHANISMS[planned.mechanism].for_plan(planned)
    with watch_chains(None):  # chains on simulated rows are none of the table's
        drawn = collect(mechanism, GibbsTarget.of(problem, planned), 1, rng)
    theta = drawn.coef.reshape(planned.outputs, -1)
    theta = theta if scale is None else scale.original(theta)
    best = _least_squares(loss, rows[fit], targets[fit])
    private, reached = (_gain(loss, one, rows[test], targets[test]) for one in (theta, best))
    return private / max(reached, _LEAST_GAIN)


def _numbers(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Correlated numbers, in rows of about the full norm bound."""
    factors = rng.standard_normal((n, max(1, k // 4)))
    loads = rng.standard_normal((factors.shape[1], k)) / math.sqrt(factors.shape[1])
    common = rng.uniform(0, 0.9)
    own = rng.standard_normal((n, k))
    return np.asarray(
        (math.sqrt(common) * factors @ loads + math.sqrt(1 - common) * own) / math.sqrt(k)
    )


def _coded(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    return categories(n, k, rng, int(rng.choice(_LEVELS)))


def _mixed(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    half = k // 2
    if half == 0:
        return _numbers(n, k, rng)
    both = _numbers(n, half, rng), _coded(n, k - half, rng)
    return np.hstack([part * math.sqrt(part.shape[1] / k) for part in both])


def _inside(n: int, k: int, rng: np.random.Generator) -> FloatArray:
    """Numbers in a part of their bound, away from its middle."""
    middle = rng.standard_normal(k) * rng.uniform(0.1, 0.4) / math.sqrt(k)
    return _numbers(n, k, rng) * rng.uniform(0.2, 0.5) + middle


def _targets(
    loss: Loss, features: FloatArray, target: tuple[float, float] | None, rng: np.random.Generator
) -> FloatArray:
    """Targets (n,) of a random linear model, sparse or not, that predicts them more or less."""
    n, k = features.shape
    weights = rng.standard_normal((k, loss.outputs)) * (rng.random((k, 1)) < rng.uniform(0.3, 1))
    weights[rng.integers(k)] += 1.0
    scores = features @ weights
    scores = (scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-9)
    if loss.labels is None:
        mean, deviation = target or (rng.uniform(-0.4, 0.4), rng.uniform(0.1, 0.3))
        r2 = rng.uniform(0.3, 0.9)
        noise = rng.standard_normal(n)
        mixed = math.sqrt(r2) * scores[:, 0] + math.sqrt(1 - r2) * noise
        return np.asarray(np.clip(mean + deviation * mixed, -1, 1))
    scores = rng.uniform(1, 4) * (scores + rng.uniform(-1, 1, loss.outputs))
    first = np.zeros((n, len(loss.labels) - loss.outputs))
    noisy = np.column_stack([first, scores]) + rng.gumbel(size=(n, len(loss.labels)))
    return np.asarray(loss.labels, dtype=float)[noisy.argmax(axis=1)]


def _least_squares(loss: Loss, rows: FloatArray, targets: FloatArray) -> FloatArray:
    """Coefficients (outputs, p) of the targets, or of indicators of all labels but the first."""
    design = np.column_stack([rows, np.ones(len(rows))])
    wanted = targets[:, None]
    if loss.labels is not None and loss.outputs > 1:
        indicators = 1.0 * (wanted == np.asarray(loss.labels))
        wanted = indicators[:, 1:] - indicators[:, :1]
    return np.asarray(np.linalg.lstsq(design, wanted, rcond=None)[0].T)


def _gain(loss: Loss, theta: FloatArray, rows: FloatArray, targets: FloatArray) -> float:
    """R², or accuracy above that of the most frequent label."""
    scores = rows @ theta[:, :-1].T + theta[:, -1]
    if loss.labels is None:
        return float(1 - ((targets - scores[:, 0]) ** 2).mean() / targets.var())
    labels = np.asarray(loss.labels, dtype=float)
    first = np.zeros((len(rows), len(labels) - loss.outputs))
    found = labels[np.column_stack([first, scores]).argmax(axis=1)]
    frequent = np.unique(targets, return_counts=True)[1].max() / len(targets)
    return float((found == targets).mean() - frequent)
