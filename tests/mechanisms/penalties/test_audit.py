"""Laws of penalties on a grid, computed exactly: of neighbours, and of the worst landscapes."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties import PenaltyConstants
from rashomon_explorer.mechanisms.penalties.landscape import (
    GeneralisedTarget,
    PenaltyTarget,
    pair_sensitivity,
)
from rashomon_explorer.mechanisms.penalties.losses import MARGINS
from rashomon_explorer.mechanisms.penalties.penalty_set import validation_rows
from rashomon_explorer.mechanisms.penalties.plan import grid_points, plan_tuning
from rashomon_explorer.privacy.audit import discrete
from tests.mechanisms.penalties.made import corners, flipping, grid, made

EPSILON = 1.5
KINDS = pytest.mark.parametrize("kind", MARGINS)
PSIS = pytest.mark.parametrize("psi", [0.0, 0.02])


def log_law(one, beta, psi=0.0, slips=0.0):
    """Log weights of the grid's points, at values that may be wrong by ``slips``."""
    landscape = one.landscape
    values = landscape.value(grid(landscape)) + slips
    return -PenaltyTarget(landscape, beta, psi).energy(values - values.min())


@KINDS
@PSIS
@pytest.mark.parametrize("clip", [None, 0.5])
def test_no_neighbour_passes_epsilon_at_the_printed_price_doubled(kind, psi, clip):
    """k = ε/s, where ε/2s is printed: the range of Φ_Z − Φ_Z' is what counts."""
    one = made(kind, (0, 0), sizes=(2, 2), margin_bound=clip)
    beta = EPSILON / one.constants.range
    first = log_law(one, beta, psi)
    for other in one.neighbours(corners(2)[::3]):
        audit = discrete(first, log_law(other, beta, psi))
        assert audit.range <= EPSILON * (1 + 1e-9)
        assert audit.epsilon(0.0) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("share", [1.0, 0.99, 0.5])
def test_the_worst_neighbours_use_all_of_the_range_and_a_smaller_one_is_caught(share):
    """Controls: a hundredth less than s, and s of one loss alone."""
    one, other = flipping(margin_bound=0.1, n_val=1)
    beta = EPSILON / (one.constants.range * share)
    audit = discrete(log_law(one, beta), log_law(other, beta))
    assert audit.range == pytest.approx(EPSILON / share, rel=1e-6)


@pytest.mark.parametrize("priced", [True, False])
def test_errors_of_fits_are_paid_for(priced):
    """The worst errors ±τ at the worst places: s + 4τ covers them, s alone does not."""
    one, other = flipping(margin_bound=0.1, n_val=1)
    tau = one.constants.range / 20
    beta = EPSILON / (one.constants.range + 4 * tau * priced)
    gap = log_law(one, 1.0) - log_law(other, 1.0)
    slips = np.where(gap > np.median(gap), -tau, tau)
    laws = log_law(one, beta, 0.0, slips), log_law(other, beta, 0.0, -slips)
    assert (discrete(*laws).range <= EPSILON) is priced


def test_errors_of_fits_and_both_moves_are_in_every_comparison():
    """The two movements add up, as long as the loss itself varies more."""
    known = replace(made("ridge").constants, n_train=10**7)
    (pair,) = pair_sensitivity(known, np.array([known.low])).ravel()
    assert pair == pytest.approx(known.charged_range, rel=1e-12) and pair > known.range
    known = replace(known, n_train=10**5, n_val=10**7)
    each = [replace(known, low=level * known.low) for level in (1, 4)]
    moved = [one.whitened_gradient_bound * one.moved for one in each]
    slips = 2 * known.tolerance * sum(one.whitened_gradient_bound for one in each)
    pairs = pair_sensitivity(known, np.array([one.low for one in each]))
    assert pairs[0, 1] == pairs[1, 0] == pytest.approx(sum(moved) + slips, rel=1e-12)


def generalised_law(one, pairs, psi=0.0):
    landscape = one.landscape
    values = landscape.value(grid(landscape))
    return -GeneralisedTarget(landscape, EPSILON, pairs, psi).energy(values - values.min())


@KINDS
@PSIS
def test_no_record_moves_a_comparison_by_more_than_its_pair_allows(kind, psi):
    one = made(kind, (0, 1), sizes=(2, 2), margin_bound=0.5)
    landscape = one.landscape
    pairs = pair_sensitivity(one.constants, landscape.box.penalties(grid(landscape)).min(axis=0))
    assert np.all(pairs <= one.constants.charged_range * (1 + 1e-12))
    assert np.array_equal(pairs, pairs.T)
    values, first = landscape.value(grid(landscape)), generalised_law(one, pairs, psi)
    for other in one.neighbours(corners(2)[::5]):
        gap = values - other.landscape.value(grid(other.landscape))
        assert np.all(np.abs(gap[:, None] - gap) <= pairs)
        audit = discrete(first, generalised_law(other, pairs, psi))
        assert audit.range <= EPSILON and audit.epsilon(0.0) <= EPSILON


@pytest.mark.parametrize(("share", "moved"), [(1.0, 1.0), (0.5, 2.0)])
def test_scores_move_by_all_that_is_charged_and_half_the_pairs_are_caught(share, moved):
    """No score moves by more than 1, one does, and with half of every pair it moves by 2."""
    one, other = flipping(margin_bound=0.1, n_val=2)
    known = replace(one.constants, n_train=10**9)  # a validation record is the dearer one
    landscape = one.landscape
    pairs = pair_sensitivity(known, landscape.box.penalties(grid(landscape)).min(axis=0))
    first, second = (generalised_law(each, pairs * share) for each in (one, other))
    assert np.abs(first - second).max() / (EPSILON / 2) == pytest.approx(moved, rel=0.02)


def planned(epsilon=1.0, n=30_000, d=1, **options):
    known = PenaltyConstants("logistic", 1.5, 0.02, 2.0, 2 * n // 3, n // 3, margin_bound=4.0)
    return plan_tuning(known, d, epsilon=epsilon, **options)


def law(plan, values):
    known, target = plan.constants, PenaltyTarget(None, plan.beta, plan.psi)
    if plan.mechanism == "generalised":
        pairs = pair_sensitivity(known, np.geomspace(known.low, known.high, plan.n_points))
        target = GeneralisedTarget(None, plan.eta, pairs, plan.psi)
    weights = np.exp(-target.energy(values - values.min()))
    return weights / weights.sum()


def spikes(plan, height):
    """One best point, and all others equally bad."""
    return np.append(0.0, np.full(plan.n_points - 1, height))


@pytest.mark.parametrize("psi", [0.0, 0.05])
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "best"),
    [
        ("exponential", 0.3, 0),
        *((kind, 3.0, best) for kind in ("exponential", "generalised") for best in (0, 16, 32)),
    ],
)
def test_bounds_hold_of_one_good_point_among_many(mechanism, epsilon, best, psi):
    plan = planned(epsilon, psi=psi, mechanism=mechanism)
    for height in np.linspace(1e-3, plan.loss_range, 60):
        values = np.roll(spikes(plan, height), best)
        drawn = law(plan, values)
        assert drawn @ values <= plan.excess_bound * (1 + 1e-9)
        assert drawn[values > plan.excess_within(0.9)].sum() <= 0.1 + 1e-9
        assert np.abs(drawn - 1 / plan.n_points).sum() / 2 <= plan.from_uniform + 1e-12


def test_bounds_are_attained():
    """A tenth of the draws at the bounded excess, but for the best's share, and the tail's mean."""
    plan = planned(300.0)
    excess = plan.excess_within(0.9)
    assert excess < plan.loss_range
    drawn = law(plan, spikes(plan, excess))
    assert drawn[1:].sum() == pytest.approx(0.1 / 1.1, rel=1e-9)
    u = np.linspace(0, 1, 2_000_001)
    tail = np.minimum(1.0, (plan.n_points - 1) * np.exp(-plan.beta * u))
    assert np.trapezoid(tail, u) == pytest.approx(plan.excess_bound, rel=1e-5)
    plan = planned(0.05)  # two levels are as far from uniform as can be
    rest, share = np.exp(-plan.beta * plan.loss_range), np.linspace(1e-3, 1, 4000, endpoint=False)
    apart = share * (1 - share) * (1 - rest) / (share + (1 - share) * rest)
    assert apart.max() == pytest.approx(plan.from_uniform, rel=1e-4)


@pytest.mark.parametrize("n", [2, 3, 10, 101])
@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.99])
def test_a_split_leaves_rows_on_both_sides_evenly(n, fraction):
    validation = validation_rows(n, fraction)
    many = validation.sum()
    assert 1 <= many <= n - 1 and abs(many - fraction * n) <= max(1, 0.5)
    for end in range(1, n + 1):
        assert abs(validation[:end].sum() - many * end / n) <= 1


@pytest.mark.parametrize(("d", "points"), [(1, 33), (2, 17**2), (3, 9**3)])
def test_grids_end_at_the_bounds(d, points):
    plan = planned(d=d)
    assert plan.n_points == points == grid_points(plan.constants, d, plan.spacing)


@pytest.mark.parametrize(
    ("error", "options", "match"),
    [
        (SamplerError, {"spacing": 1.00001}, "points of 1 penalties"),
        (SamplerError, {"spacing": 1e9}, "points of 1 penalties"),
        (SamplerError, {"spacing": 1.001, "mechanism": "generalised"}, "compares all pairs of at"),
        (SamplerError, {"d": 4}, "4 penalties were requested"),
        (ValueError, {"mechanism": "best"}, "mechanism must be 'auto' or one of"),
        (ValueError, {"spacing": 0.5}, "spacing must be > 1"),
    ],
)
def test_what_has_no_grid_is_refused(error, options, match):
    with pytest.raises(error, match=match):
        planned(**options)
    with pytest.raises(ValueError, match="n_samples=1: tuning needs at least 2 rows"):
        validation_rows(1, 0.3)
