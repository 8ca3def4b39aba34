"""Penalties on a grid and by hypergradients: exact audits, and what is guaranteed."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks.rates import slope_of
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties import PenaltyConstants, stationary
from rashomon_explorer.mechanisms.penalties.constants import MARGINS
from rashomon_explorer.mechanisms.penalties.landscape import (
    MEAN,
    GeneralisedTarget,
    PenaltyTarget,
    pair_sensitivity,
)
from rashomon_explorer.mechanisms.penalties.mechanisms import plan_mechanism, validation_rows
from rashomon_explorer.mechanisms.penalties.plan import grid_points, plan_tuning
from rashomon_explorer.mechanisms.penalties.stationary import (
    STATIONARY,
    gradient_mapping,
    known_at,
    plan_stationary,
    walk_bound,
)
from rashomon_explorer.privacy import adaptive_epsilon
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
    for other in one.neighbours(corners(2)[::5]):
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
    for other in one.neighbours(corners(2)[::9]):
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
    for height in np.linspace(1e-3, plan.loss_range, 20):
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


EVERY = pytest.mark.parametrize("mechanism", STATIONARY)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
SHARED = (0, 1, MEAN)  # the last column has the mean of two penalties


def known(n=100_000, low=0.5):
    return PenaltyConstants("logistic", 1.5, low, 10.0, 7 * n // 10, 3 * n // 10)


def planned_steps(mechanism, d=2, n=100_000, **options):
    return plan_stationary(known(n), d, mechanism, **{**BUDGET, "spacing": 1.1, **options})


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_gradients_bend_no_more_than_is_said(kind, seed):
    one = made(kind, SHARED, sizes=(3, 2), seed=seed)
    landscape, points = one.landscape, grid(one.landscape, 5)
    slopes = np.array([landscape.gradient(x) for x in points.T])
    apart = np.linalg.norm(slopes[:, None] - slopes, axis=2)
    far = np.linalg.norm(points.T[:, None] - points.T, axis=2)
    assert 0 < (apart[far > 0] / far[far > 0]).max() <= one.constants.smoothness
    assert landscape.value(points).max() <= one.constants.most_loss


@KINDS
def test_no_record_moves_a_gradient_by_more_than_is_charged_at_its_penalties(kind):
    """The sensitivity that depends on the penalties, for the gradient and for its mapping."""
    one = made(kind, SHARED, sizes=(2, 2))
    landscape, points = one.landscape, list(grid(one.landscape, 3).T)
    charged = [known_at(one.constants, landscape, x).charged_slope for x in points]
    assert max(charged) > 50 * min(charged)  # much less where all penalties are high
    first = [landscape.gradient(x) for x in points]
    mapped = [np.linalg.norm(gradient_mapping(landscape, x, 1e-11)) for x in points]
    for other in one.neighbours(corners(3)[::9]):
        for x, most, slope, size in zip(points, charged, first, mapped, strict=True):
            assert np.linalg.norm(other.landscape.gradient(x) - slope) <= most
            moved = np.linalg.norm(gradient_mapping(other.landscape, x, 1e-11)) - size
            assert abs(moved) <= most


@pytest.mark.parametrize(("share", "holds"), [(1.0, True), (0.4, False)])
def test_a_step_is_as_private_as_it_says_and_with_less_noise_it_is_not(share, holds):
    """The laws of one step are Gaussians: their means are at most μσ apart."""
    one, mu = made("logistic", (0, 0), sizes=(1, 1), bounds=(0.3, 3.0), seed=1), 0.7
    x, records = np.array([0.9]), corners(2)
    sigma = share * known_at(one.constants, one.landscape, x).charged_slope / mu
    means = [other.landscape.gradient(x)[0] for other in one.neighbours(records)]
    sides = means[: len(records)], means[len(records) :]  # all of one side are neighbours
    assert bool(max(np.ptp(side) for side in sides) / sigma <= mu) is holds


def test_a_walk_stays_in_the_box_and_has_the_noise_that_is_charged():
    one = made("ridge", (0, 1), sizes=(30, 30), bounds=(0.5, 10.0))
    plan = replace(planned_steps("hypergradient"), constants=one.constants, mu=1e4, n_steps=400)
    landscape, beta = one.landscape, plan.constants.smoothness
    states = stationary.walk(landscape, plan, np.zeros(2), np.random.default_rng(1))
    assert states.shape == (2, 400) and landscape.domain.contains(states).all()
    scaled = []
    for x, after in zip(states.T[:-1], states.T[1:], strict=True):
        noise = (x - after) * beta - landscape.gradient(x)
        scaled.append(noise * plan.mu / known_at(plan.constants, landscape, x).charged_slope)
    inside = np.array(scaled)[(np.abs(states.T[1:]) < landscape.domain.radius).all(axis=1)]
    assert len(inside) > 200 and np.std(inside) == pytest.approx(1, abs=0.12)


@EVERY
@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("n_draws", [1, 3])
def test_the_price_is_what_was_asked(mechanism, ledger, n_draws):
    plan = planned_steps(mechanism, ledger=ledger, n_draws=n_draws)
    spent, charged = plan.guarantee.epsilon(1e-6), adaptive_epsilon([plan.guarantee], 1e-6)
    assert spent <= 1.0 and 0.9 <= (charged if ledger else spent)
    assert charged <= 1.0 or not ledger
    if plan.n_steps:
        steps = plan.mu * math.sqrt(plan.n_steps * n_draws)
        alone = planned_steps("hypergradient", ledger=ledger)
        most = alone.mu * math.sqrt(alone.n_steps)
        assert steps <= most * (1 + 1e-9)
        if mechanism == "hypergradient":
            assert steps == pytest.approx(most, rel=1e-6)


@KINDS
def test_draws_by_gradient_norms_pass_their_exact_audit(kind):
    one = made(kind, SHARED, sizes=(2, 2))
    plan = replace(planned_steps("gradient_norm"), constants=one.constants, eta=1.5)
    tolerance = one.constants.gradient_tolerance

    def law(landscape):
        sizes = stationary.GradientLandscape(landscape, tolerance)
        return -plan.beta * sizes.value(grid(landscape, 3))

    first, others = law(one.landscape), one.neighbours(corners(3)[::9])
    assert 0 < max(discrete(first, law(other.landscape)).range for other in others) <= 1.5


def test_a_temperature_without_the_two_is_caught_by_gradients_that_turn():
    """Negative control: 1/Δ in place of 1/2Δ, where one size falls by Δ and another grows."""
    plan = planned_steps("gradient_norm", delta=0.0)
    moved = plan.constants.charged_slope
    first, second = np.array([2.0, 3.0]) * moved, np.array([3.0, 2.0]) * moved
    assert discrete(-plan.beta * first, -plan.beta * second).range == pytest.approx(1.0, rel=1e-6)
    assert discrete(-2 * plan.beta * first, -2 * plan.beta * second).range > 1.9


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("start", [-0.9, 0.2, 0.8])
def test_the_promise_of_a_walk_holds_of_a_wave_in_a_box(noise, start):
    """Φ(x) = (1 − cos 4x)/16 + x/20 on [−1, 1]: β = 1, not convex, a minimum at the edge."""
    rng, steps, walks = np.random.default_rng(0), 64, 400
    x, sizes = np.full(walks, start), []
    for _ in range(steps):
        slope = np.sin(4 * x) / 4 + 0.05
        sizes.append(np.abs(x - np.clip(x - slope, -1, 1)))
        x = np.clip(x - slope - noise * rng.standard_normal(walks), -1, 1)
    fine = np.linspace(-1, 1, 2001)
    drop = (1 - math.cos(4 * start)) / 16 + start / 20
    drop -= ((1 - np.cos(4 * fine)) / 16 + fine / 20).min()
    bound = walk_bound(
        smoothness=1.0, drop=drop, n_steps=steps, noise=noise**2, bias=0.0, slope=0.3
    )
    assert np.mean(sizes) <= bound
    by_hand = {"smoothness": 1, "drop": 1, "n_steps": 4, "noise": 0.5, "bias": 0.25, "slope": 9}
    assert walk_bound(**by_hand) == pytest.approx(math.sqrt(1 + 3 + 9))


def best_bound(n, d, *, warm):
    """Least bound over T at K, βΦ and ε fixed; Δ₀ fixed, or d/n after a private start."""
    fixed = {"smoothness": 1.0, "drop": d / n if warm else 1.0, "bias": 0.0, "slope": 1e9}
    steps = np.geomspace(1, 1e9, 400)
    return min(walk_bound(n_steps=t, noise=d * t / n**2, **fixed) for t in steps)


@pytest.mark.parametrize(("warm", "by_n", "by_d"), [(False, -0.5, 0.25), (True, -0.75, 0.5)])
def test_promises_of_walks_have_the_rates_of_the_paper(warm, by_n, by_d):
    n, d = [1e4, 1e5, 1e6], [4.0, 16.0, 64.0]
    assert slope_of(n, [best_bound(k, 10, warm=warm) for k in n]) == pytest.approx(by_n, abs=0.1)
    assert slope_of(d, [best_bound(1e6, k, warm=warm) for k in d]) == pytest.approx(by_d, abs=0.1)


def test_the_promise_of_gradient_norms_has_the_rate_of_the_paper():
    n, d = [10**5, 10**6, 10**7], [1, 2, 3]
    by_n = [planned_steps("gradient_norm", n=k, spacing=1.6).gradient_bound for k in n]
    by_d = [planned_steps("gradient_norm", d=k, n=10**7, spacing=1.2).gradient_bound for k in d]
    assert slope_of(n, by_n) == pytest.approx(-1, abs=0.1)
    assert slope_of(d, by_d) == pytest.approx(1, abs=0.25)  # log N + 1


def test_auto_takes_a_walk_beyond_a_grid_where_it_promises_something():
    settings = {"mechanism": "auto", **BUDGET}
    clipped = replace(known(), margin_bound=4.0)
    plan = plan_mechanism(clipped, 8, **settings)
    assert plan.mechanism == "warm_hypergradient" and "a grid takes at most 3" in plan.why
    assert "best shared penalty" in plan.why and plan.start_excess < 0.1
    assert plan.gradient_bound < plan.constants.slope and plan.constants.margin_bound is None
    assert plan_mechanism(clipped, 3, **settings).mechanism in ("exponential", "generalised")


@KINDS
def test_a_validation_loss_is_not_convex_in_log_penalties(kind):
    """Why the regularised mechanism is refused: its price rests on convexity on every table."""
    landscape = made(kind, (0, 0), bounds=(0.01, 100.0)).landscape
    values = landscape.value(grid(landscape, 41))
    assert np.diff(values, 2).min() < -1e-4 < 1e-4 < np.diff(values, 2).max()


@EVERY
def test_draws_are_where_the_landscape_is_level_at_a_huge_price(mechanism):
    one = made("ridge", (0, 1), sizes=(40, 40), bounds=(0.05, 5.0), seed=4)
    options = {"epsilon": 1e7, "delta": 1e-6, "spacing": 1.35, "n_draws": 5}
    plan = plan_stationary(one.constants, 2, mechanism, **options)
    plan = replace(plan, n_steps=plan.n_steps and 40)
    drawn, walks = stationary.drawn_where_level(one.landscape, plan, np.random.default_rng(0))
    sizes = stationary.GradientLandscape(one.landscape, 1e-9).value
    assert drawn.shape == (2, 5)
    if walks is None:
        assert sizes(drawn).mean() < sizes(grid(one.landscape, 5)).mean()
    else:
        assert walks.shape == (5, 2, 40)
        assert sizes(walks[:, :, -1].T).mean() < sizes(np.zeros((2, 1)))[0]


def test_a_shared_start_serves_any_number_of_penalties():
    one = made("ridge", (0, 1, 2, 3), sizes=(10, 10), bounds=(0.5, 5.0))
    plan = plan_stationary(one.constants, 4, "warm_hypergradient", epsilon=5.0, delta=1e-6)
    short = replace(plan, n_steps=3)
    _, walks = stationary.drawn_where_level(one.landscape, short, np.random.default_rng(0))
    assert len(set(walks[0, :, 0])) == 1 and len(set(walks[0, :, 1])) == 4


def test_inner_errors_of_gradients_are_paid_for_and_kept():
    """Δ = K/n + 2Cα, and a fit within α moves a gradient by Cα at most."""
    one = made("logistic", SHARED, sizes=(3, 2))
    there = one.constants
    alpha, moved = there.gradient_tolerance, there.charged_slope
    assert moved == pytest.approx(there.gradient_sensitivity + 2 * there.inexactness * alpha)
    assert moved > there.gradient_sensitivity * (1 + 1e-6)


def named(d=1, n=100_000, **settings):
    return plan_mechanism(replace(known(n), margin_bound=4.0), d, **{**BUDGET, **settings})


@pytest.mark.parametrize(
    ("call", "error", "settings", "match"),
    [
        *((planned, SamplerError, {"spacing": s}, "points of 1 penalties") for s in (1.00001, 1e9)),
        (planned, SamplerError, {"spacing": 1.001, "mechanism": "generalised"}, "all pairs of at"),
        (planned, SamplerError, {"d": 4}, "4 penalties were requested"),
        (planned, ValueError, {"mechanism": "best"}, "mechanism must be 'auto' or one of"),
        (planned, ValueError, {"spacing": 0.5}, "spacing must be > 1"),
        (named, SamplerError, {"d": 8, "mechanism": "auto", "n": 1_000}, r"8 .*a public penalty"),
        (named, SamplerError, {"d": 8, "mechanism": "auto", "delta": 0.0}, "8 penalties were req"),
        (named, SamplerError, {"mechanism": "regularised"}, "in log penalties it is not"),
        (named, SamplerError, {"mechanism": "hypergradient", "delta": 0.0}, "delta must be > 0"),
        (named, SamplerError, {"d": 4, "mechanism": "gradient_norm"}, "4 penalties were requested"),
        (named, ValueError, {"mechanism": "hypergradient", "psi": 0.1}, "psi must be 0"),
        (named, ValueError, {"mechanism": "none"}, "mechanism must be 'auto' or one of"),
        (partial(validation_rows, 1, 0.3), ValueError, {}, "tuning needs at least 2 rows"),
    ],
)
def test_what_does_not_apply_is_refused_with_the_reason(call, error, settings, match):
    with pytest.raises(error, match=match):
        call(**settings)
