"""Exact audits against closed forms."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from rashomon_explorer.privacy import approximate, audit, bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import BoundedRange, Gaussian, Laplace


def normal(mean, deviation=1.0):
    return lambda x: -(((x - np.reshape(mean, (-1, 1))) / deviation) ** 2).sum(axis=0) / 2


def double_exponential(mean):
    return lambda x: -np.abs(x[0] - mean)


def test_gaussian_noise_has_the_gaussian_curve():
    found = audit.exact(normal(0.0), normal(1.5), box=[(-12, 13.5)])
    epsilons = np.linspace(0, 6, 13)
    np.testing.assert_allclose(found.delta(epsilons), Gaussian(1.5).delta(epsilons), rtol=2e-4)
    for delta in (1e-7, 1e-3, 0.2):
        assert found.epsilon(delta) == pytest.approx(gdp(mu=1.5).epsilon(delta), rel=1e-4)
    alpha = np.array([0.0, 1e-4, 0.05, 0.5, 1.0])
    np.testing.assert_allclose(found.tradeoff(alpha), ndtr(ndtri(1 - alpha) - 1.5), atol=1e-3)
    assert found.renyi(3.0) == pytest.approx(3 * 1.5**2 / 2)
    assert found.within(gdp(mu=1.5)) and not found.within(gdp(mu=1.49))
    assert found.within(zcdp(rho=1.125)) and not found.within(zcdp(rho=1.12))
    plane = audit.exact(normal([0.0, 0.0]), normal([0.6, 0.8]), box=[(-8, 9), (-8, 9)])
    assert plane.within(gdp(mu=1.0))
    assert float(plane.delta(1.0)) == pytest.approx(float(Gaussian(1.0).delta(1.0)), rel=1e-3)


def test_laplace_noise_has_the_laplace_curve():
    found = audit.exact(double_exponential(0.0), double_exponential(1.0), box=[(-40, 41)])
    assert found.max_log_ratio == pytest.approx(1.0, abs=1e-12)
    assert found.range == pytest.approx(2.0, abs=1e-12)
    assert float(found.delta(0.5)) == pytest.approx(float(Laplace(1.0).delta(0.5)), rel=1e-4)
    assert found.within(pure(epsilon=1.0)) and not found.within(pure(epsilon=0.999))
    assert not found.within(bounded_range(eta=1.0))  # pure DP is not bounded range
    assert "1 at δ = 0" in str(found)
    assert found.violations(pure(epsilon=0.5), deltas=[0.0])[0] == "ε(0) is 1, claimed 0.5"


def test_the_worst_of_bounded_range_attains_its_curve():
    """Two points: ratios t and t − η."""
    eta, t = 1.2, 0.5
    second = math.expm1(t) / (math.exp(t) - math.exp(t - eta))
    laws = np.log([[1 - second, second], [1 - second, second]])
    found = audit.discrete(laws[0] + [t, t - eta], laws[1])
    assert found.range == pytest.approx(eta)
    assert found.within(bounded_range(eta=eta)) and not found.within(bounded_range(eta=1.19))
    epsilons = np.linspace(0, eta, 7)
    assert np.all(found.delta(epsilons) <= BoundedRange(eta).delta(epsilons) + 1e-12)


def test_both_directions_count():
    """A cell that only one distribution has, whichever comes first, is never pure."""
    laws = np.log([[0.9, 0.1], [1.0, 1e-300]])
    for one, other in ((0, 1), (1, 0)):
        found = audit.discrete(laws[one], laws[other])
        assert float(found.delta(3.0)) == pytest.approx(0.1)
        assert found.epsilon(0.1001) < 0.2
        assert found.within(approximate(epsilon=0.2, delta=0.1), deltas=[0.1001, 0.3])
        assert not found.within(approximate(epsilon=0.2, delta=0.09), deltas=[0.09])
    found = audit.discrete([0.0, 0.0], [0.0, -np.inf])
    assert found.max_log_ratio == math.inf == found.epsilon(0.0) == found.renyi(2.0)
    assert float(found.delta(10.0)) == 0.5 and found.epsilon(0.5) == 0.0


def test_profile_and_tradeoff_agree_with_brute_force():
    rng = np.random.default_rng(0)
    one, other = (np.log(law) for law in rng.dirichlet(np.ones(40), size=2))
    found = audit.discrete(one, other)
    p, q = np.exp(one), np.exp(other)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        sums = [np.maximum(a - np.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))]
        assert float(found.delta(epsilon)) == pytest.approx(max(sums), abs=1e-14)
        assert found.epsilon(float(found.delta(epsilon))) == pytest.approx(epsilon, abs=1e-9)
    exact = max(np.log((p**2 / q).sum()), np.log((q**2 / p).sum()))
    assert found.renyi(2.0) == pytest.approx(exact)


def test_the_error_says_how_coarse_the_nodes_are():
    laws = double_exponential(0.1), normal(0.0, 0.3)
    errors = [audit.exact(*laws, box=[(-9, 9)], points=n).error for n in (201, 2001, 20_001)]
    assert errors[0] > 50 * errors[1] > 50 * 50 * errors[2]


POINTS = audit.discrete([0.0, 1.0], [0.0, 2.0])
LINE = [(0, 1)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit.exact(normal(0.0), normal(1.0), box=LINE * 3), "dimensions, got 3: use mon"),
        (lambda: audit.exact(normal(0.0), normal(1.0), box=[(1, 0)]), "low < high"),
        (lambda: audit.exact(normal(0.0), normal(1.0), box=[(0, math.inf)]), "finite intervals"),
        (lambda: audit.exact(normal(0.0), normal(1.0), box=LINE, points=3), "at least 5, got 3"),
        (lambda: audit.exact(lambda x: x, normal(1.0), box=LINE), "must map points"),
        (lambda: audit.exact(lambda x: np.nan * x[0], normal(1.0), box=LINE), "got NaN"),
        (lambda: audit.exact(lambda x: 0 * x[0] - np.inf, normal(1.0), box=LINE), "positive mass"),
        (lambda: audit.discrete([0.0], [0.0, 1.0]), "same points"),
        (lambda: POINTS.delta(-1.0), "epsilon must be >= 0"),
        (lambda: POINTS.tradeoff(2.0), r"alpha must be in \[0, 1\]"),
        (lambda: POINTS.renyi(1.0), "order must be > 1"),
        (lambda: audit.search(lambda rows: rows, audit.discrete, [1], n=2), "at least two records"),
        (lambda: audit.search(lambda rows: rows, audit.discrete, [1, 2], n=0), "n must be a whole"),
    ],
)
def test_invalid_settings_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
