"""Share of the possible gain that one private model reaches on simulated tables of a plan's shape.

A prediction from public numbers, made with the mechanism that the plan names; no guarantee.
"""

import math
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import watch_chains
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.mechanisms.plans import GAINS, ExpectedGain, Plan
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.scaling import released_map
from rashomon_explorer.mechanisms.simulation.tables import SEED, TYPICAL_KINDS, targets_of_strength
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.problem import Problem

_TABLES, _FEWEST = 12, 4
_ROWS = 1_000  # of each table, and as many to test on; a plan's noise does not depend on them
_WORK = 5e8  # entries of tables that are read, about half a second
_LEAST_GAIN = 0.03  # of a score: smaller gains are not distinguished from it
_RATES = 0.05, 0.5  # shares of the rarer class, if it is not declared
_FEWEST_POSITIVE = 0.01  # share with which a smaller one is simulated
_GOLDEN, _SILVER = 0.618034, 0.754878  # steps that spread a few tables over two ranges
_NEWTON_STEPS, _RIDGE = 12, 0.1  # of the logistic regression without privacy


class Result(NamedTuple):
    """Held-out scores of a model, and its gain over a constant one."""

    scores: dict[str, float]
    gain: float


def expected_gain(
    planned: Plan,
    *,
    declared: bool = False,
    target: tuple[float, float] | None = None,
    base_rate: float | None = None,
) -> ExpectedGain | None:
    """Share of the gain of the model without privacy over a constant one; None if it takes long.

    ``declared``: a schema scales the columns. ``target``: typical mean and deviation of the mapped
    target, ``base_rate``: share of the rows in one of two classes, if they are declared.
    """
    results = simulated_results(_without_psi(planned), declared, target, base_rate)
    if not results:
        return None
    share, low, high = spread([own.gain / max(free.gain, _LEAST_GAIN) for own, free in results])
    first, _ = results[0]
    # The base rate alone determines much of a classifier's accuracy.
    hidden = {"accuracy"} if base_rate is None and len(first.scores) > 1 else set()
    shown = [name for name in first.scores if name not in hidden]
    spreads = {name: spread([own.scores[name] for own, _ in results]) for name in shown}
    tables = f"{len(results)} simulated tables of this shape"
    if "AUC" in first.scores:
        tables += f" {rarer_class(base_rate)}"
    return ExpectedGain(
        share,
        low,
        high,
        tables,
        gain=GAINS.get(tuple(first.scores), "gain in accuracy"),
        scores=tuple((name, *spread) for name, spread in spreads.items()),
    )


def _without_psi(planned: Plan) -> Plan:
    """Plan without what its draws do not depend on, so that another ψ simulates nothing."""
    planned = planned.without_candidates()
    if not planned.mechanism:
        return planned
    if planned.law_psi != 0 and not MECHANISMS[planned.mechanism].traits.one_model:
        return planned
    return replace(planned, request=replace(planned.request, psi=0.0), hit_rate=None, reason="")


@lru_cache(maxsize=256)
def simulated_results(
    planned: Plan, declared: bool, target: tuple[float, float] | None, base_rate: float | None
) -> tuple[tuple[Result, Result], ...]:
    """Results of the private model and of one without privacy on tables; empty if it takes long."""
    if not planned.mechanism or planned.law is None or planned.p <= planned.outputs:
        return ()
    mechanism, law = MECHANISMS[planned.mechanism], planned.law
    traits = mechanism.traits
    n_tables = min(_TABLES, int(_WORK / (max(1.0, planned.gradients) * _ROWS * planned.p)))
    if traits.may_give_up or traits.curator_only or n_tables < _FEWEST:
        return ()
    loss: Any = law.loss_function  # hashable, as every loss
    n, row_norm = min(planned.n, _ROWS), math.sqrt(law.row_norm**2 - 1)
    shape = loss, n, planned.p // planned.outputs - 1, row_norm

    def results(table: int) -> tuple[Result, Result]:
        rows, targets, free, rng = _table(*shape, declared, target, base_rate, table)
        rng = deepcopy(rng)
        scale = None if planned.columns is None else released_map(rows[:n], planned.columns, rng)
        settings: dict[str, Any] = {"loss": loss, "radius": law.radius, "ridge": planned.ridge}
        problem = Problem(rows[:n], targets[:n], row_norm=row_norm, scale=scale, **settings)
        with watch_chains(None):  # chains on simulated rows are none of the table's
            drawn = mechanism.draw(problem, planned, rng)
        theta = drawn.coef.reshape(planned.outputs, -1)
        theta = theta if scale is None else scale.original(theta)
        return _result(loss, theta, rows[n:], targets[n:]), free

    return tuple(map(results, range(n_tables)))


def rarer_class(base_rate: float | None) -> str:
    """Words for the share of the rarer class in simulated tables."""
    if base_rate is None:
        low, high = (100 * rate for rate in _RATES)
        return f"with {low:.0f} to {high:.0f} % of the rows in the rarer class"
    return f"with {100 * _simulated_rate(base_rate):.3g} % of the rows in the rarer class"


def _simulated_rate(base_rate: float) -> float:
    return max(_FEWEST_POSITIVE, min(base_rate, 1 - base_rate))


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median, and quantiles of .1 and .9."""
    middle, low, high = np.quantile(values, [0.5, 0.1, 0.9])
    return float(middle), float(low), float(high)


@lru_cache(maxsize=4 * _TABLES)
def _table(
    loss: Loss,
    n: int,
    n_features: int,
    row_norm: float,
    declared: bool,
    target: tuple[float, float] | None,
    base_rate: float | None,
    table: int,
) -> tuple[FloatArray, FloatArray, Result, np.random.Generator]:
    """Rows and targets to fit and, below them, to test on; what no privacy scores; the generator.

    It is the same for every plan of a shape, so that another ε simulates the noise only.
    """
    rng = generator([SEED, table])
    kinds = TYPICAL_KINDS[:3] if declared else TYPICAL_KINDS
    features = kinds[table % len(kinds)](n + _ROWS, n_features, rng)
    strength = (0.5 + _GOLDEN * table) % 1
    rarity = (0.5 + _SILVER * table) % 1
    rate = _RATES[0] * (_RATES[1] / _RATES[0]) ** rarity
    rate = rate if base_rate is None else _simulated_rate(base_rate)
    targets = targets_of_strength(loss, features, target, strength, rate, rng)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    rows = features * row_norm / np.maximum(1.0, norms)
    free = _without_privacy(loss, rows[:n], targets[:n])
    return rows, targets, _result(loss, free, rows[n:], targets[n:]), rng


def _without_privacy(loss: Loss, rows: FloatArray, targets: FloatArray) -> FloatArray:
    """Coefficients (outputs, p) of logistic regression, or of least squares."""
    design = np.column_stack([rows, np.ones(len(rows))])
    if loss.labels is None:
        return np.asarray(np.linalg.lstsq(design, targets[:, None], rcond=None)[0].T)
    if loss.outputs > 1:
        indicators = 1.0 * (targets[:, None] == np.asarray(loss.labels))
        wanted = indicators[:, 1:] - indicators[:, :1]
        return np.asarray(np.linalg.lstsq(design, wanted, rcond=None)[0].T)
    theta, ridge = np.zeros(design.shape[1]), _RIDGE * np.eye(design.shape[1])
    for _ in range(_NEWTON_STEPS):
        chances = expit(design @ theta)
        hessian = (design * (chances * (1 - chances))[:, None]).T @ design + ridge
        theta += np.linalg.solve(hessian, design.T @ ((targets > 0) - chances) - ridge @ theta)
    return theta[None]


def _result(loss: Loss, theta: FloatArray, rows: FloatArray, targets: FloatArray) -> Result:
    scores = rows @ theta[:, :-1].T + theta[:, -1]
    if loss.labels is None:
        r2 = float(1 - ((targets - scores[:, 0]) ** 2).mean() / targets.var())
        return Result({"R²": r2}, r2)
    labels = np.asarray(loss.labels, dtype=float)
    first = np.zeros((len(rows), len(labels) - loss.outputs))
    predicted = labels[np.column_stack([first, scores]).argmax(axis=1)]
    accuracy = float((predicted == targets).mean())
    gain = accuracy - np.unique(targets, return_counts=True)[1].max() / len(targets)
    if loss.outputs > 1:
        return Result({"accuracy": accuracy}, float(gain))
    n_positive = int((targets > 0).sum())
    pairs = n_positive * (len(rows) - n_positive)
    above = rankdata(scores[:, 0])[targets > 0].sum() - n_positive * (n_positive + 1) / 2
    auc = float(above / pairs) if pairs else 0.5
    return Result({"accuracy": accuracy, "AUC": auc}, float(gain) + auc - 0.5)
