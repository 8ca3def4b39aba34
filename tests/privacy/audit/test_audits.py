"""Exact and Monte Carlo audits of mechanisms whose privacy is known."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom, norm

from rashomon_explorer.privacy import approximate, audit, bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.audit import _event, _select_events, upper_bound
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.privacy.tradeoff import BoundedRange, Gaussian


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


def test_laplace_noise_has_its_own_curve():
    found = audit.exact(double_exponential(0.0), double_exponential(1.0), box=[(-40, 41)])
    assert found.max_log_ratio == pytest.approx(1.0, abs=1e-12)
    assert found.range == pytest.approx(2.0, abs=1e-12)
    assert float(found.delta(0.5)) == pytest.approx(-math.expm1(-0.25), rel=1e-4)
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


def laplace(centre, rng, size):
    return centre + rng.laplace(size=size)


def gaussian(centre, rng, size):
    return centre + rng.standard_normal(size)


def randomised_response(bit, rng, size):
    """The truth with probability 3/4: ε = log 3."""
    return np.where(rng.random(size) < 0.75, bit, 1 - bit).astype(float)


def audited(mechanism, first=0.0, second=1.0, **settings):
    settings = {"n_runs": 20_000, "random_state": 0, "batched": True, **settings}
    return audit.monte_carlo(mechanism, first, second, **settings)


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("failure", [0.001, 0.05, 0.5])
def test_the_upper_bound_is_the_probability_that_so_few_hits_have(trials, failure):
    hits = np.arange(trials)
    bounds = upper_bound(hits, trials, failure)
    np.testing.assert_allclose(binom.cdf(hits, trials, bounds), failure, rtol=1e-9)
    assert upper_bound(trials, trials, failure) == 1
    for truth in (0.003, 0.1, 0.5, 0.98):
        missed = np.append(bounds < truth, False)
        assert binom.pmf(np.arange(trials + 1), trials, truth)[missed].sum() <= failure * (1 + 1e-9)


def test_bounds_come_near_the_truth_and_stay_below():
    for mechanism, epsilon in ((laplace, 1.0), (randomised_response, math.log(3))):
        assert 0.93 * epsilon < audited(mechanism, n_runs=200_000).epsilon() <= epsilon
    found = audited(gaussian, n_runs=200_000, delta=0.01)
    assert 0.97 < found.mu <= 1.0
    assert 0.8 * gdp(mu=1.0).epsilon(0.01) < found.epsilon() <= gdp(mu=1.0).epsilon(0.01)
    assert found.epsilon(0.1) <= gdp(mu=1.0).epsilon(0.1)
    event = audit.Event(1.0, True, norm.sf(1.0), norm.cdf(1.0 - 1.5))
    assert event.mu == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("mechanism", "tight", "bold"),
    [
        (laplace, pure(epsilon=1.0), pure(epsilon=0.5)),
        # Gaussian DP says nothing at δ = 0: the whole trade-off counts.
        (gaussian, gdp(mu=1.0), gdp(mu=0.5)),
        (gaussian, Gaussian(1.0), Gaussian(0.9)),
        (gaussian, zcdp(rho=0.5), zcdp(rho=0.125)),
        (randomised_response, pure(epsilon=math.log(3)), bounded_range(eta=0.8)),
    ],
)
def test_true_claims_stand_and_those_for_twice_the_noise_are_broken(mechanism, tight, bold):
    assert not audited(mechanism, claim=tight).broken
    caught = audited(mechanism, claim=bold)
    assert caught.broken and "BROKEN" in str(caught)


def test_the_other_direction_and_the_lower_tail_count_too():
    """Mass that only the first neighbour has, far below."""

    def leak(bit, rng, size):
        leaked = (rng.random(size) < 0.02) & (bit == 0)
        return np.where(leaked, -100.0, rng.standard_normal(size))

    assert audited(leak, claim=pure(epsilon=2.0)).broken
    for pair in ((0.0, 1.0), (1.0, 0.0)):
        found = audited(leak, *pair, random_state=1).epsilon()
        assert found == pytest.approx(math.log(0.02 / 6e-4), abs=0.5)


def test_a_score_of_vectors_is_learnt_or_passed():
    def vectors(bit, rng, size):
        return 0.3 * bit + rng.standard_normal((size, 10))

    def spread(bit, rng, size):
        return (1 + bit) * rng.standard_normal((size, 2))

    def hidden(bit, rng, size):
        return np.stack([rng.standard_normal(size), bit + rng.standard_normal(size)], axis=1)

    # Ten coordinates of 0.3: together G(0.3·√10).
    assert 0.9 * 0.3 * math.sqrt(10) < audited(vectors).mu <= 0.3 * math.sqrt(10)
    assert audited(spread).mu > 0.7
    assert 0.9 < audited(hidden, statistic=lambda outputs: outputs[:, 1]).mu <= 1.0
    assert audited(hidden, statistic=lambda outputs: outputs[:, 0]).mu < 0.1


def test_one_output_at_a_time_and_reproducibly():
    def one(bit, rng):
        return bit + rng.standard_normal()

    settings = {"second": 3.0, "n_runs": 2_000, "batched": False}
    twice = [audited(one, **settings, random_state=5) for _ in range(2)]
    assert twice[0] == twice[1]
    assert 2.2 < twice[0].mu <= 3.0
    assert 2.2 < audited(one, **settings, random_state=None).mu < 3.2


def test_nothing_is_refuted_if_nothing_is_claimed():
    for claim in (None, no_guarantee("bounds were learnt")):
        found = audited(laplace, claim=claim)
        assert not found.broken and found.epsilon() > 0.8


@pytest.mark.law
@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (laplace, pure(epsilon=1.0)),
        (gaussian, gdp(mu=1.0)),
        (randomised_response, pure(epsilon=math.log(3))),
    ],
)
@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_a_true_claim_is_broken_no_more_often_than_the_confidence_says(
    mechanism, claim, confidence
):
    tries, settings = 1500, {"claim": claim, "n_runs": 500, "confidence": confidence}
    found = [audited(mechanism, **settings, random_state=seed) for seed in range(tries)]
    wrong = sum(each.broken for each in found)
    assert binom.sf(wrong - 1, tries, 1 - confidence) > 1e-4
    # Nor does any bound pass the truth more often, at a δ that was not requested.
    loud = sum(each.epsilon(0.05) > claim.epsilon(0.05) for each in found)
    assert binom.sf(loud - 1, tries, 1 - confidence) > 1e-4


@pytest.mark.law
def test_without_the_split_and_bonferroni_the_confidence_is_wrong():
    """Negative control: events counted on the runs that picked them, each bound at full level."""
    half, failure, tries = 250, 0.2, 400
    wrong = 0
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        runs = laplace(0.0, rng, half), laplace(1.0, rng, half)
        picked = _select_events(*runs, pure(epsilon=1.0), 0.0, failure)
        wrong += max(_event(*each, *runs, failure).epsilon(0.0) for each in picked) > 1.0
    assert wrong > 2 * failure * tries


@pytest.mark.law
def test_half_the_noise_is_caught_almost_always():
    """Power: noise for half the sensitivity, claimed as ε and as μ."""
    for mechanism, claim in ((laplace, pure(epsilon=0.5)), (gaussian, gdp(mu=0.5))):
        runs = (audited(mechanism, claim=claim, n_runs=5_000, random_state=s) for s in range(100))
        assert np.mean([found.broken for found in runs]) > 0.97


POINTS = audit.discrete([0.0, 1.0], [0.0, 2.0])
LINE = [(0, 1)]


def refused(mechanism=laplace, **settings):
    return audited(mechanism, **{"n_runs": 100, **settings})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit.exact(normal(0.0), normal(1.0), box=LINE * 3), "dimensions, got 3: use mon"),
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
        (lambda: refused(n_runs=10), "n_runs must be at least 40, got 10"),
        (lambda: refused(delta=1.0), r"delta must be in \[0, 1\), got 1.0"),
        (lambda: refused(confidence=1.0), r"confidence must be in \(0, 1\), got 1.0"),
        (lambda: refused(statistic=lambda outputs: outputs[:3]), "as many scores"),
        (lambda: refused(statistic=lambda outputs: outputs * np.nan), "scores must be finite"),
        (lambda: refused(lambda d, rng, size: 0.0), "must return 100 outputs along its first axis"),
        (lambda: refused(lambda d, rng: np.zeros(rng.integers(1, 5)), batched=False), "one shape"),
        (lambda: refused(lambda d, rng: np.array([np.nan]), batched=False), "outputs must be fini"),
    ],
)
def test_invalid_settings_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
