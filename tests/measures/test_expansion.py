"""Polynomial bounds of a logistic excess loss decide as minimisation on each hyperplane does."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rashomon_explorer import measures as m
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges import brackets
from rashomon_explorer.measures.ranges import expansion as module
from rashomon_explorer.measures.ranges.expansion import Expansion
from rashomon_explorer.problem.lower_bounds.smooth import FourthMoment, ThirdMoment

KINDS = {
    "penalised": {"C": 1.0}, "no penalty": {"C": np.inf}, "weights": {"C": 0.3},
    "no intercept": {"C": 2.0, "fit_intercept": False}, "L1": {"C": 0.3},
    "both penalties": {"C": 1.0},
}  # fmt: skip


def case(kind, seed):
    """Small problem, ψ from a thousandth to a third of the loss, rows, and distances."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(40, 90)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, p)) * rng.choice([1.0, 1.0, 4.0], size=p)
    X[:, 0] = np.where(
        rng.random() < 0.3, (X[:, 0] > 1) - 0.1, X[:, 0]
    )  # a level that few rows have
    y = rng.random(n) < expit(X @ rng.normal(size=p) / 2)
    weights = rng.uniform(0.2, 3.0, n) if kind == "weights" else None
    y[:4] = [True, False, True, False]
    model = LogisticRegression(**KINDS[kind], tol=1e-10, max_iter=5000).fit(X, y, weights)
    problem = m.penalised_problem(model, X, y, sample_weight=weights)
    if kind in ("L1", "both penalties"):
        l1 = rng.choice([0.01, 0.1]) * (problem.ridges > 0)
        problem = replace(problem, l1=l1, ridges=problem.ridges * (kind != "L1"))
    psi = m.relative_psi(problem, float(np.exp(rng.uniform(np.log(1e-3), np.log(0.3)))))
    directions = (problem.rows[:6] * rng.choice([-1.0, 1.0], 6)[:, None]).T
    return problem, psi, directions, rng.uniform(0.7, 1.2, 6)


def least_excess(problem, direction, need):
    """Least excess loss on a hyperplane a·θ = b: damped Newton steps in its own coordinates."""
    base = problem.minimum.theta + need * direction / (direction @ direction)
    if problem.l1 is not None:
        return least_with_kinks(problem, direction, base) - problem.minimum.value
    plane = np.linalg.svd(direction[None])[2][1:].T
    theta, value = base, problem.value
    for _ in range(12):
        slope = problem.value_and_gradient(theta[:, None])[1]
        step = plane @ np.linalg.solve(plane.T @ problem.hessian(theta) @ plane, plane.T @ slope)
        while (value(theta[:, None] - step) > value(theta[:, None]) + 1e-15).any():
            step = step / 2
        theta = theta - step[:, 0]
    return value(theta[:, None])[0] - problem.minimum.value


def least_with_kinks(problem, direction, base):
    """The same with an L1 penalty, for positive and negative parts of the parameters."""
    both = np.concatenate([np.maximum(base, 0.0), np.maximum(-base, 0.0)])
    smooth = replace(problem, l1=None)

    def objective(parts):
        theta = parts[: problem.p] - parts[problem.p :]
        value, gradient = smooth.value_and_gradient(theta[:, None])
        gradient = np.concatenate([gradient[:, 0], -gradient[:, 0]]) + np.tile(problem.l1, 2)
        return value[0] + np.tile(problem.l1, 2) @ parts, gradient

    plane = {
        "type": "eq",
        "fun": lambda parts: direction @ (parts[: problem.p] - parts[problem.p :] - base),
        "jac": lambda parts: np.concatenate([direction, -direction]),
    }
    options = {"ftol": 1e-14, "maxiter": 500}
    bounds = [(0, None)] * len(both)
    return minimize(
        objective, both, jac=True, bounds=bounds, constraints=plane, options=options
    ).fun


def outcomes(bounds=lambda expansion: expansion, tables=12):
    """Least excess, in units of ψ, and proved answers of people of random tables."""
    excess, flips = [], []
    for kind in KINDS:
        for seed in range(tables):
            try:
                problem, psi, directions, shares = case(kind, seed)
                expansion = Expansion.around(brackets.psi_level_set(problem, psi))
            except DataError:  # separated classes, or no bounded set
                continue
            sizes = np.linalg.norm(expansion.whiten.T @ directions, axis=0)
            need = shares * np.sqrt(2 * psi) * sizes  # near the boundary of the set
            can, stays, *_ = bounds(expansion).decide(directions, need)
            for j in np.flatnonzero(can | stays):
                excess.append(least_excess(problem, directions[:, j], need[j]) / psi)
            flips.append(can[can | stays])
    return np.array(excess), np.concatenate(flips), ~np.concatenate(flips)


@pytest.mark.parametrize(
    ("steps", "tables"), [(3, 8), (0, 8), pytest.param(3, 75, marks=pytest.mark.law)]
)
def test_decisions_are_those_of_brute_force(steps, tables, monkeypatch):
    monkeypatch.setattr(module, "_STEPS", steps)  # any model on the hyperplane gives a proof
    excess, flips, stays = outcomes(tables=tables)
    assert len(excess) > 14 * tables
    assert excess[flips].max() < 1 < excess[stays].min()
    assert min(flips.mean(), stays.mean()) > 0.05


@pytest.mark.parametrize(
    "missing", ["third derivative", "fourth derivative", "gradient's error", "penalty"]
)
def test_each_part_of_the_proof_is_needed(missing):
    def weakened(expansion):
        zero, largest = FourthMoment(0 * expansion.fourth.gram, 1), expansion.largest_fourth
        changes = {
            "third derivative": {"third": ThirdMoment(0 * expansion.third.unfolded)},
            "fourth derivative": {"fourth": zero, "largest_fourth": 0.0},
            "gradient's error": {"largest_fourth": 1e-9 * largest},
            "penalty": {"kinks": None},
        }
        return replace(expansion, **changes[missing])

    excess, flips, stays = outcomes(weakened)
    assert (excess[flips] > 1).any() or (excess[stays] < 1).any()


def test_people_of_an_l1_fit_are_decided_without_searches():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = rng.random(3000) < expit(X[:, 0] - X[:, 1] / 2)
    problem = m.penalised_problem(LogisticRegression(tol=1e-8).fit(X, y), X, y)
    problem = replace(problem, l1=0.02 * (problem.ridges > 0))
    assert (problem.minimum.theta[2:5] == 0).any()
    tables = [m.exact_flips(problem, 3e-3, X, seconds=seconds) for seconds in (0.0, None)]
    few, every = (table.query("decided") for table in tables)
    assert len(few) > 0.99 * len(X) and 0.1 < few["flips"].mean() < 0.9
    assert (few["flips"] == every.loc[few.index, "flips"]).all()


def test_nobody_stays_whom_a_loss_within_the_bounds_flips():
    """Of all losses with these bounds, the one whose fourth derivative is least everywhere."""
    rng, decisive = np.random.default_rng(1), []
    for _ in range(60):
        rows, weights = rng.normal(size=(30, 2)) ** 3, rng.random(30) / 30
        fourth = FourthMoment.from_rows(rows, weights)
        scale = 0.5 / np.sqrt(fourth.supremum())  # of models: the Hessian stays positive
        angle = np.linspace(0, 2 * np.pi, 100)
        disc = scale * np.stack([np.cos(angle), np.sin(angle)])
        bends = np.einsum("nk,ni,nj,n->kij", (rows @ disc) ** 2, rows, rows, weights)
        a = rng.normal(size=(2, 1))
        unit, need = a / np.linalg.norm(a), 0.8 * scale
        line = need * unit + scale * np.linspace(-0.6, 0.6, 4001) * unit[::-1] * [[-1], [1]]
        losses = (line**2).sum(axis=0) / 2 - fourth.at(line) / 24
        least, direct = losses.min(), losses[2000]
        if direct - least < 1e-7 * least:
            continue
        among = SimpleNamespace(room=(least + direct) / 2, error=0.0, centre=np.zeros(2))
        expansion = Expansion(
            among,
            np.eye(2),
            np.eye(2) / scale**2,
            np.zeros(2),
            ThirdMoment(np.zeros((3, 2))),
            fourth,
            fourth.supremum(),
            float(np.linalg.eigvalsh(np.eye(2) - bends / 2).min()),
        )
        assert not expansion.decide(unit, np.array([need]))[1].any()
        decisive.append(expansion.decide(unit, np.array([1.1 * need]))[1].any())
    assert len(decisive) > 20 and any(decisive)


def test_the_hessian_is_bounded_in_the_ellipsoid_that_holds_the_set():
    rng, ratios = np.random.default_rng(0), []
    for kind in KINDS:
        problem, psi, *_ = case(kind, 3)
        expansion = Expansion.around(brackets.psi_level_set(problem, psi))
        for u in rng.normal(size=(200, len(expansion.slope))):
            u = u / np.sqrt(u @ expansion.ellipsoid @ u)  # on the boundary
            theta = problem.minimum.theta + expansion.whiten @ u
            assert problem.value(theta[:, None])[0] > problem.minimum.value + psi
            hessian = expansion.whiten.T @ problem.hessian(theta) @ expansion.whiten
            ratios.append(np.linalg.eigvalsh(hessian)[0] / expansion.convexity)
    assert 1 <= min(ratios) < 2  # a bound twice as large would be wrong
