"""The Rashomon ratio against quadrature, closed forms and plain rejection."""

import math

import numpy as np
import pytest

from rashomon_explorer.measures import linear_rashomon_ratio, rashomon_ratio
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem

RNG = np.random.default_rng(0)


def problem(p, radius):
    rows = RNG.standard_normal((400, p))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    signs = np.where(RNG.random(400) < 1 / (1 + np.exp(-4 * rows[:, 0])), 1.0, -1.0)
    return Problem(rows, signs, intercept=False, radius=radius)


@pytest.mark.parametrize("radius", [6.0, 2.0])
def test_one_parameter_against_quadrature(radius):
    """The minimiser inside the ball, and on its sphere."""
    posed = problem(1, radius)
    grid = np.linspace(-radius, radius, 40_001)[None]
    exact = float((posed.value(grid) <= posed.minimum.value + 0.02).mean())
    found = linear_rashomon_ratio(posed, 0.02, confidence=0.999, random_state=0)
    assert found.interval[0] <= exact <= found.interval[1]
    assert found.value == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("radius", [6.0, 1.0])
def test_three_parameters_against_plain_rejection(radius):
    posed = problem(3, radius)
    uniform = posed.domain.uniform(3, 30_000, np.random.default_rng(1))
    plain = rashomon_ratio(posed.value(uniform) - posed.minimum.value, 0.03, confidence=0.999)
    found = linear_rashomon_ratio(posed, 0.03, confidence=0.999, random_state=1)
    assert plain.log_low <= found.log_high and found.log_low <= plain.log_high


def test_a_quadratic_has_its_ellipsoid():
    """Squared loss in ten dimensions: vol(G) = π⁵ (2ψ)⁵/Γ(6)/√det H, far below any hit rate."""
    rows = RNG.standard_normal((500, 10)) / 10
    targets = np.clip(rows @ np.ones(10), -1, 1)
    posed = Problem(rows, targets, loss="squared", radius=20.0, row_norm=2.0, intercept=False)
    determinant, psi = np.linalg.slogdet(posed.hessian(posed.minimum.theta))[1], 1e-3
    log_set = 5 * math.log(2 * math.pi * psi) - math.lgamma(6) - determinant / 2
    exact = log_set - Ball(20.0).log_volume_bound(10)
    found = linear_rashomon_ratio(posed, psi, n_draws=500, confidence=0.999, random_state=0)
    assert found.log_low <= exact <= found.log_high and exact < -20
    assert found.hits > 450


@pytest.mark.law
def test_the_interval_covers_as_often_as_it_says():
    """And half of the ellipsoid's volume, the control, would be caught at once."""
    posed = problem(2, 6.0)
    exact = linear_rashomon_ratio(posed, 0.02, n_draws=40_000, random_state=0).log_value
    runs = [
        linear_rashomon_ratio(posed, 0.02, n_draws=200, confidence=0.9, random_state=seed)
        for seed in range(100)
    ]
    assert sum(run.log_low <= exact <= run.log_high for run in runs) >= 90 - 3 * 3
    assert not any(run.log_low <= exact - math.log(2) <= run.log_high for run in runs)


def test_clopper_and_pearson_by_hand():
    """The ends are where the tails of the binomial law are half of what may be missed."""
    found = rashomon_ratio([0.0] * 3 + [1.0] * 17, psi=0.5, confidence=0.9)

    def tail(p, counts):
        return sum(math.comb(20, k) * p**k * (1 - p) ** (20 - k) for k in counts)

    assert (found.hits, found.n_draws, found.value) == (3, 20, pytest.approx(0.15))
    assert tail(found.interval[0], range(3, 21)) == pytest.approx(0.05)
    assert tail(found.interval[1], range(4)) == pytest.approx(0.05)
    none, every = rashomon_ratio([1.0] * 10, 0.5), rashomon_ratio([0.0] * 10, 0.5)
    assert none.value == none.interval[0] == 0.0 and 0.2 < none.interval[1] < 0.4
    assert every.value == every.interval[1] == 1.0
