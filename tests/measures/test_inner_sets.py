"""Ellipsoids inside the set, and curved tangents: they decide as minimisation does."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier

from rashomon_explorer import measures as m
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges import brackets, level_set
from tests.measures.test_expansion import KINDS, case, least_excess

RNG = np.random.default_rng(5)


def ratios(scores, changes):
    """Loss minus tangent over the squared change, in extended precision."""
    s, t = np.longdouble(scores), np.longdouble(changes)
    loss = np.log1p(np.exp(s + t)) - np.log1p(np.exp(s)) - t / (1 + np.exp(-s))
    return (loss / t**2).astype(float)


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_the_largest_curvature_is_that_of_a_grid(share):
    scores, distance = RNG.normal(size=400) * 4, np.exp(RNG.normal(size=400) * 2)
    bound = share * level_set.largest_curvature(scores, distance)
    changes = np.concatenate([np.linspace(0.01, 1, 99), -np.linspace(0.01, 1, 99)])[:, None]
    grid = ratios(scores, changes * distance).max(axis=0)
    assert (grid <= bound * (1 + 1e-9)).all() == (share == 1.0)
    assert (bound < 1.02 * grid).all()
    zero, tiny = np.zeros(2), np.array([1e-9, 1e3])
    np.testing.assert_allclose(level_set.largest_curvature(zero, tiny), 1 / 8)


def problems():
    for kind in [*KINDS][:4]:  # those with an L1 penalty have no ellipsoid inside
        yield from ((kind, *case(kind, seed)[:2]) for seed in (1, 3))
    X = RNG.normal(size=(60, 3))
    y = X[:, 0] + RNG.normal(size=60) > 0
    for model in (Ridge(), RidgeClassifier()):
        problem = m.penalised_problem(model.fit(X, y), X, y)
        yield "squared", problem, m.relative_psi(problem, 0.1)


@pytest.mark.parametrize("factor", [1.0, 1.6])
def test_the_inner_ellipsoid_lies_in_the_set_and_a_larger_one_does_not(factor):
    leaves = []
    for kind, problem, psi in problems():
        within, outer = problem.inner_reach(psi), problem.outer_reach(psi)
        u = RNG.normal(size=(within.whiten.shape[1], 300))
        steps = factor * within.extent * within.whiten @ (u / np.linalg.norm(u, axis=0))
        excess = problem.value(problem.minimum.theta[:, None] + steps) - problem.minimum.value
        leaves.append(excess.max() > psi * (1 + 1e-9))
        inside = np.linalg.norm(np.linalg.pinv(outer.whiten) @ steps, axis=0) <= outer.extent
        assert factor > 1 or inside.all()
        assert kind != "squared" or factor > 1 or excess.min() > 0.999 * psi  # it is the set
    assert any(leaves) == (factor > 1)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_curved_tangent_holds_the_set_and_a_more_curved_one_does_not(share):
    cut = []
    for _, problem, psi in problems():
        among = brackets.psi_level_set(problem, psi)
        a = RNG.normal(size=(problem.p, 40))
        best = brackets.brackets(problem, psi, a, 1e-7)
        reach = replace(among.reach, soft=share * among.reach.soft)
        centre = among.centre[:, None]
        for size in (0.0, 0.5, 0.98):  # models from the best to nearly the furthest ones
            theta = centre + size * (best.points - centre)
            value, gradient = problem.value_and_gradient(theta)
            room = among.level - value + among.error
            bound = reach.curved_bound(a, theta - centre, gradient, room)
            cut.append((bound < best.inner * (1 - 1e-9)).any())
            assert share < 1 or size < 0.9 or np.median(bound / best.outer) < 1.05
        far = np.full((problem.p, 1), 1e9)  # no bound of the curvature holds there
        assert np.isinf(reach.curved_bound(a[:, :1], far, gradient[:, :1], room[:1])).all()
    assert any(cut) == (share < 1)


@pytest.mark.parametrize("tables", [10, pytest.param(40, marks=pytest.mark.law)])
def test_people_of_small_tables_are_decided_as_by_brute_force(tables, monkeypatch):
    monkeypatch.setattr(brackets, "_MODELS", 0)
    monkeypatch.setattr(brackets.Expansion, "around", classmethod(lambda *_: None))
    excess, flips = [], []
    for kind in [*KINDS][:4]:  # those with an L1 penalty have no ellipsoid inside
        for seed in range(tables):
            try:
                problem, psi, directions, shares = case(kind, seed)
                bend = problem.hessian(problem.minimum.theta)
                squares = np.diag(directions.T @ np.linalg.solve(bend, directions))
                need = shares * np.sqrt(2 * psi * squares)
                extents = brackets.bracketed(problem, psi, directions, 1e-9, need)
            except DataError:  # separated classes, or no bounded set
                continue
            can, stays = extents.inner > need, extents.outer < need
            assert (can ^ stays).all()
            gain = np.einsum("ij,ij->j", directions, extents.points)
            gain -= problem.minimum.theta @ directions
            np.testing.assert_allclose(gain[can], extents.inner[can])
            level = problem.minimum.value + psi
            assert (problem.value(extents.points[:, can]) <= level + 1e-12).all()
            pairs = zip(directions.T, need, strict=True)
            excess += [least_excess(problem, a, b) / psi for a, b in pairs]
            flips.append(can)
    flips, excess = np.concatenate(flips), np.array(excess)
    assert len(flips) > 14 * tables and 0.2 < flips.mean() < 0.8
    assert excess[flips].max() < 1 < excess[~flips].min()
