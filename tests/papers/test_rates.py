"""What no mechanism can do, and what smoothing costs: closed forms, brute force and slopes."""

import itertools
import math

import numpy as np
import pytest

from benchmarks.rates import slope_of
from rashomon_explorer.papers import instances
from rashomon_explorer.papers.theorems import RATES, bilevel_instance_excess


def test_wells_are_disjoint_steep_and_found_by_their_votes():
    centres = 0.4 * np.array(list(itertools.product([-1, 1], repeat=2))).T
    loss = instances.PackingLoss(centres, 0.4)
    rng = np.random.default_rng(0)
    theta, votes = rng.uniform(-1, 1, (2, 500)), np.array([[1, 0, 0, 0], [1, 0, 0, 1]])
    values = loss.value(theta, votes)
    assert loss.value(centres, votes).tolist() == [-1.0, 0.0, 0.0, -0.5]
    near = theta + 1e-6 * rng.standard_normal(theta.shape)
    moved = np.abs(loss.value(near, votes) - values)
    assert (moved <= np.linalg.norm(near - theta, axis=0) / 0.4 * (1 + 1e-9)).all()
    with pytest.raises(ValueError, match="wells of width"):
        instances.PackingLoss(centres, 0.5)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_no_mechanism_finds_more_and_randomised_response_finds_all_of_it(k):
    epsilon = 0.7
    told = np.ones((k, k)) + np.eye(k) * (math.exp(epsilon) - 1)
    told /= told.sum(axis=1, keepdims=True)
    assert np.mean(np.diag(told)) == pytest.approx(instances.most_found(k, 1, epsilon))
    for votes in [1, 3, 10]:  # the exponential mechanism on counts
        right = 1 / (1 + (k - 1) * math.exp(-epsilon * votes / 2))
        assert right <= instances.most_found(k, votes, epsilon)
    # Negative control: half of the exponent would be beaten by randomised response.
    assert np.mean(np.diag(told)) > instances.most_found(k, 1, epsilon / 2)


def test_the_packing_bound_has_the_rate_of_the_mechanism_and_stays_below_it():
    p = 16 * 2 ** np.arange(4)
    by_p = [instances.least_excess(instances.many_wells(int(k), 1.0, 0.05), 10**5, 1.0) for k in p]
    n = 1000 * 4 ** np.arange(4)
    by_n = [instances.least_excess(instances.many_wells(10, 1.0, 0.05), int(k), 1.0) for k in n]
    assert slope_of(p, by_p) == pytest.approx(1, abs=0.1)
    assert slope_of(n, by_n) == pytest.approx(-1, abs=0.1)
    for k, low in zip(p, by_p, strict=True):
        slope_of_a_well = 1 / 0.05
        assert low <= instances.nonconvex_excess(
            int(k), 10**5, 1.0, slope=slope_of_a_well, diameter=2.0
        )


@pytest.mark.parametrize("p", [2, 8, 32])
def test_without_convexity_the_mechanism_keeps_its_bound(p):
    """β = εn/2 is what a loss of range 1 allows; the bound has the slope's β, which is less."""
    for n in [200, 1000, 10_000]:
        beta = n / (2 * 20.0 * 2.0)  # of slope 1/α = 20 and diameter 2
        bound = instances.nonconvex_excess(p, n, 1.0, slope=20.0, diameter=2.0)
        assert instances.well_excess(p, beta) <= bound
    deep = [instances.well_excess(int(k), 4000.0) for k in 8 * 2 ** np.arange(4)]
    assert slope_of(8 * 2 ** np.arange(4), deep) == pytest.approx(1, abs=0.1)


def test_each_table_costs_what_the_proof_says():
    """Without noise: n·h/9 on the first, about (1 − ε/4)/16h on the second."""
    n, epsilon, delta = 90_000, 0.1, 1 - 1e-12
    wide, narrow = 0.05, 0.0005
    assert instances.huber_barrier(n, wide, epsilon, delta) == pytest.approx(n * wide / 9, rel=0.01)
    told = (1 - epsilon / 4) / (16 * narrow)
    assert instances.huber_barrier(n, narrow, epsilon, delta) == pytest.approx(told, rel=0.01)
    assert sum(many for *_, many in instances.hard_tables(n, wide)[1]) == n


@pytest.mark.law
def test_smoothing_a_kink_costs_root_n():
    n = 1000 * 4 ** np.arange(4)
    costs = [instances.least_huber_barrier(int(k), 1.0, 1e-6) for k in n]
    assert slope_of(n, costs) == pytest.approx(0.5, abs=0.1)
    assert all(cost > math.sqrt(k) / 16 for k, cost in zip(n, costs, strict=True))


def test_the_tables_of_the_bilevel_lower_bound_have_their_closed_form():
    k, slopes = 7.0, np.array([0.5, 2.0, 11.0])
    told = 0.0
    x = np.linspace(-1, 1, 200_001)
    for s in slopes:
        law = np.exp(k * s * (x - 1))
        told += np.trapezoid(s * (1 - x) * law, x) / np.trapezoid(law, x)
    assert bilevel_instance_excess(k, slopes, 2.0) == pytest.approx(told, rel=1e-6)
    assert bilevel_instance_excess(k, slopes, 2.0) <= 3 / k
    n, d = 1000 * 2 ** np.arange(5), 2 * 2 ** np.arange(5)
    by_n = [bilevel_instance_excess(int(m) / 8, np.ones(2)) for m in n]
    by_d = [bilevel_instance_excess(1000.0, np.ones(int(m))) for m in d]
    assert slope_of(n, by_n) == pytest.approx(-1, abs=0.01)
    assert slope_of(d, by_d) == pytest.approx(1, abs=0.01)


def test_upper_and_lower_rates_agree_where_the_papers_say_so():
    for rate in RATES.values():
        assert rate.upper == rate.lower and rate.guide(10**9, 1, 1.0) <= 1e-4
        assert rate.guide(1, 1000, 0.1) == 1.0
