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


def test_laplace_noise_has_the_laplace_curve():
    found = audit.exact(double_exponential(0.0), double_exponential(1.0), box=[(-40, 41)])
    assert found.max_log_ratio == pytest.approx(1.0, abs=1e-12)
    assert found.range == pytest.approx(2.0, abs=1e-12)
    assert float(found.delta(0.5)) == pytest.approx(float(Laplace(1.0).delta(0.5)), rel=1e-4)
    assert found.within(pure(epsilon=1.0)) and not found.within(pure(epsilon=0.999))
    assert not found.within(bounded_range(eta=1.0))  # pure DP is not bounded range


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
    """A cell that only one law has, whichever comes first."""
    laws = np.log([[0.9, 0.1], [1.0, 1e-300]])
    for one, other in ((0, 1), (1, 0)):
        found = audit.discrete(laws[one], laws[other])
        assert float(found.delta(3.0)) == pytest.approx(0.1)
        assert found.epsilon(0.1001) < 0.2
        assert found.within(approximate(epsilon=0.2, delta=0.1), deltas=[0.1001, 0.3])
        assert not found.within(approximate(epsilon=0.2, delta=0.09), deltas=[0.09])


def test_a_point_of_the_support_that_the_other_law_lacks_is_never_pure():
    found = audit.discrete([0.0, 0.0], [0.0, -np.inf])
    assert found.max_log_ratio == math.inf == found.epsilon(0.0) == found.renyi(2.0)
    assert float(found.delta(10.0)) == 0.5
    assert found.epsilon(0.5) == 0.0


def test_profile_and_tradeoff_agree_with_brute_force():
    rng = np.random.default_rng(0)
    one, other = (np.log(law) for law in rng.dirichlet(np.ones(40), size=2))
    found = audit.discrete(one, other)
    p, q = np.exp(one), np.exp(other)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        sums = [np.maximum(a - np.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))]
        assert float(found.delta(epsilon)) == pytest.approx(max(sums), abs=1e-14)
        assert found.epsilon(float(found.delta(epsilon))) == pytest.approx(epsilon, abs=1e-9)
    assert found.renyi(2.0) == pytest.approx(
        max(np.log((p**2 / q).sum()), np.log((q**2 / p).sum()))
    )


def test_two_dimensions():
    found = audit.exact(normal([0.0, 0.0]), normal([0.6, 0.8]), box=[(-8, 9), (-8, 9)])
    assert found.within(gdp(mu=1.0))
    assert float(found.delta(1.0)) == pytest.approx(float(Gaussian(1.0).delta(1.0)), rel=1e-3)


def test_the_error_says_how_coarse_the_nodes_are():
    cone = double_exponential(0.1)
    errors = [
        audit.exact(cone, normal(0.0, 0.3), box=[(-9, 9)], points=points).error
        for points in (201, 2001, 20_001)
    ]
    assert errors[0] > 50 * errors[1] > 50 * 50 * errors[2]


def test_words():
    found = audit.exact(double_exponential(0.0), double_exponential(1.0), box=[(-40, 41)])
    assert "1 at δ = 0" in str(found)
    assert found.violations(pure(epsilon=0.5), deltas=[0.0])[0] == "ε(0) is 1, claimed 0.5"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"box": [(0, 1)] * 3}, "one or two dimensions, got 3: use monte_carlo"),
        ({"box": [(1, 0)]}, "low < high"),
        ({"box": [(0, math.inf)]}, "finite intervals"),
        ({"box": [(0, 1)], "points": 3}, "points must be at least 5, got 3"),
        ({"box": [(0, 1)], "first": lambda x: x}, "must map points"),
        ({"box": [(0, 1)], "first": lambda x: np.nan * x[0]}, "got NaN"),
        ({"box": [(0, 1)], "first": lambda x: -np.inf + 0 * x[0]}, "positive mass"),
    ],
)
def test_bad_laws_are_named(settings, message):
    laws = {"first": normal(0.0), "second": normal(1.0), **settings}
    with pytest.raises(ValueError, match=message):
        audit.exact(laws.pop("first"), laws.pop("second"), **laws)


def test_bad_questions_are_named():
    with pytest.raises(ValueError, match="same points"):
        audit.discrete([0.0], [0.0, 1.0])
    found = audit.discrete([0.0, 1.0], [0.0, 2.0])
    with pytest.raises(ValueError, match="epsilon must be >= 0"):
        found.delta(-1.0)
    with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\]"):
        found.tradeoff(2.0)
    with pytest.raises(ValueError, match="order must be > 1"):
        found.renyi(1.0)
    with pytest.raises(ValueError, match="at least two records"):
        audit.search(lambda rows: rows, audit.discrete, [1], n=2)
    with pytest.raises(ValueError, match="n must be a whole number, at least 1"):
        audit.search(lambda rows: rows, audit.discrete, [1, 2], n=0)
