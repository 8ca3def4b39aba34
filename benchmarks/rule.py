"""How the rule for radius and draws was settled: on simulated tables only.

    python -m benchmarks.rule

Exact draws come slowly on some of these tables, so that a long chain that no one pays for stands
for their law: what is asked is what a draw is worth, not how it is made.
"""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from benchmarks.measured import write_result
from benchmarks.simulated import SIZES, Table, tables
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import OpenRequest, Request
from rashomon_explorer.mechanisms.select import RADII, resolve_auto
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem

RESULTS = Path(__file__).parent / "results" / "rule.json"
BUDGETS = (0.1, 1.0, 4.0)
DELTAS = {"exact": 0.0, "langevin": 1e-6}
WORTHS = (1.0, 3.0, 6.0, 10.0, 30.0, 60.0)
FIXED = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
COUNTS = (1, 5)
_TRIED = RADII[::2]
_REPEATS = 4
_CHAIN_STEPS = 400
_BOUND = 2**0.5


def main() -> None:
    """Measure, print and write the mean accuracy that each way to choose loses."""
    measured = measure()
    write_result(RESULTS, measured)
    for key, entries in measured.items():
        print(key)
        for entry in entries:
            print("  ", entry)


def measure(sizes: tuple[tuple[int, int], ...] = SIZES) -> dict[str, list[dict[str, Any]]]:
    """Mean accuracy below scikit-learn's: of each radius and ``worth``, and of each number."""
    radii, counts = [], []
    for table in tables(sizes):
        radii += list(_by_radius(table))
        counts += list(_by_count(table))
    return {"worth": list(_regrets(radii)), "draws": list(_means(counts)), "accuracies": radii}


def scaled(rows: FloatArray) -> FloatArray:
    """Rows so that one that is uniform in its bounds has norm about 1; longer ones are clipped."""
    spread = rows * np.sqrt(3 / rows.shape[1])
    norms = np.linalg.norm(spread, axis=1, keepdims=True)
    return np.asarray(spread / np.maximum(norms, 1.0))


def _by_radius(table: Table) -> Iterator[dict[str, Any]]:
    reached = _reachable(table)
    for way, delta in DELTAS.items():
        for epsilon in BUDGETS:
            found = [_accuracy(table, way, epsilon, delta, R, 1) for R in _TRIED]
            yield {
                **_named(table, way, epsilon),
                "lost": [round(reached - one, 4) for one in found],
            }


def _by_count(table: Table) -> Iterator[dict[str, Any]]:
    reached = _reachable(table)
    shape = {"n": len(table.rows), "p": table.rows.shape[1] + 1, "row_norm": _BOUND, "psi": 0.0}
    for way in DELTAS:
        for epsilon in BUDGETS:
            radius = _resolved(way, **shape, epsilon=epsilon, delta=1e-6).radius
            found = [_accuracy(table, way, epsilon, 1e-6, radius, k) for k in COUNTS]
            lost = [round(reached - one, 4) for one in found]
            yield {**_named(table, way, epsilon), "lost": lost}


def _named(table: Table, way: str, epsilon: float) -> dict[str, Any]:
    n, d = table.rows.shape
    return {"way": way, "epsilon": epsilon, "n": n, "columns": d, "kind": table.kind}


def _regrets(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Mean loss of accuracy of each ``worth`` and each fixed radius, by way and ε."""
    for way, delta in DELTAS.items():
        for epsilon in BUDGETS:
            some = [one for one in found if (one["way"], one["epsilon"]) == (way, epsilon)]
            by_worth = {
                f"worth {worth:g}": [_at(one, _chosen(one, delta, worth)) for one in some]
                for worth in WORTHS
            }
            fixed = {f"radius {R:g}": [_at(one, R) for one in some] for R in FIXED}
            best = {"best in hindsight": [min(one["lost"]) for one in some]}
            means = {
                name: round(float(np.mean(lost)), 4)
                for name, lost in (by_worth | fixed | best).items()
            }
            yield {"way": way, "epsilon": epsilon, **means}


def _chosen(one: dict[str, Any], delta: float, worth: float) -> float:
    return _resolved(
        one["way"],
        n=one["n"],
        p=one["columns"] + 1,
        psi=0.0,
        row_norm=_BOUND,
        epsilon=one["epsilon"],
        delta=delta,
        ridge=0.0,
        n_draws=1,
        ball_cost=worth,
    ).radius


def _resolved(way: str, ball_cost: float | None = None, **settings: Any) -> Request:
    return resolve_auto(MECHANISMS[way], OpenRequest(**settings), ball_cost)


def _at(one: dict[str, Any], radius: float) -> float:
    """Loss at a radius, between those that were tried."""
    return float(np.interp(np.log(radius), np.log(_TRIED), one["lost"]))


def _means(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for way in DELTAS:
        for epsilon in BUDGETS:
            some = [x["lost"] for x in found if (x["way"], x["epsilon"]) == (way, epsilon)]
            means = [round(float(mean), 4) for mean in np.mean(some, axis=0)]
            yield {
                "way": way,
                "epsilon": epsilon,
                **dict(zip(map(str, COUNTS), means, strict=True)),
            }


def _reachable(table: Table) -> float:
    fitted = LogisticRegression(C=10.0, max_iter=1_000).fit(table.rows, table.labels)
    return float(fitted.score(table.test_rows, table.test_labels))


def _accuracy(
    table: Table, way: str, epsilon: float, delta: float, radius: float, count: int
) -> float:
    """Test accuracy of the mean prediction of ``count`` draws at ψ = 0, mean of a few fits."""
    problem = Problem(scaled(table.rows), table.labels, radius=radius)
    budget = {"radius": radius, "row_norm": _BOUND, "epsilon": epsilon, "delta": delta}
    make = plan_path if way == "langevin" else plan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most of these plans promise little
        bought: Any = make(problem.n, problem.p, 0.0, **budget, n_draws=count)
    rng = np.random.default_rng(7)
    target = GibbsTarget(problem, bought.beta, 0.0, bought.details.threshold(bought))
    size = count * _REPEATS
    if way == "langevin":  # several fits at once: their chains know nothing of one another
        many = replace(bought, request=replace(bought.request, n_draws=size))
        models = MECHANISMS[way].draw(problem, many, rng).coef.T
    else:
        models = _chain(target, size, rng)
    drawn = np.split(models, _REPEATS, axis=1)
    rows = np.column_stack([scaled(table.test_rows), np.ones(len(table.test_rows))])
    return float(np.mean([_score(rows, table.test_labels, models) for models in drawn]))


def _chain(target: GibbsTarget, count: int, rng: np.random.Generator) -> FloatArray:
    """Last states of noisy gradient chains towards exp(−βL) on the ball; no one pays for them."""
    problem = target.problem
    step = 1 / problem.M
    theta = np.zeros((problem.p, count))
    for _ in range(_CHAIN_STEPS):
        noise = np.sqrt(2 * step / target.beta) * rng.standard_normal(theta.shape)
        theta = problem.domain.project(theta - step * problem.value_and_gradient(theta)[1] + noise)
    return np.asarray(theta)


def _score(rows: FloatArray, labels: FloatArray, models: FloatArray) -> float:
    mean = expit(rows @ models).mean(axis=1)
    return float(((mean > 0.5) == (labels > 0)).mean())


if __name__ == "__main__":
    main()
