"""The private ellipsoid and draws on it: their costs, what moves how far, and what is proved."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.bounds.excess import accelerated_path_excess
from rashomon_explorer.mechanisms.bounds.hit_rate import guaranteed_hit_rate
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, solver_distance
from rashomon_explorer.mechanisms.ellipsoid import exact_plan
from rashomon_explorer.mechanisms.ellipsoid import plan as ellipsoid
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.mechanisms.planning import centres
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate, weak_guarantee_reason
from rashomon_explorer.privacy import bounded_range, compose, gdp
from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from tests.mechanisms.builders import constants_of

RADIUS, ZEROS = 4.0, 0.7
ROWS = {"n": 50_000, "p": 40, "psi": 0.05, "radius": RADIUS, "row_norm": 1.4}
MANY = {**ROWS, "n": 200_000, "p": 20}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def known_of(loss="logistic", ridge=0.1, n=50_000, p=40):
    return constants_of(loss, n=n, p=p, radius=RADIUS, row_norm=1.4, ridge=ridge)


def planned_ellipsoid(**changed):
    return ellipsoid.plan_ellipsoid(**{**ROWS, **BUDGET, **changed})


def two_stages(**changed):
    with suppress_weak_warnings():
        return exact_plan.plan_ellipsoid_exact(
            **{**MANY, **BUDGET, "epsilon": 4.0, "n_draws": 20, **changed}
        )


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
def test_an_ellipsoid_spends_its_budget_and_draws_cost_nothing(ridge, ledger):
    planned = planned_ellipsoid(ridge=ridge, ledger=ledger)
    paid = planned.guarantee
    assert paid.mu == pytest.approx(math.hypot(planned.centre.mu, planned.hessian_mu), rel=1e-12)
    assert paid.rho == pytest.approx(paid.mu**2 / 2, rel=1e-12)
    spent = replace(paid, mu=math.inf).epsilon(1e-6) if ledger else paid.epsilon(1e-6)
    assert 0.9999 < spent <= 1.0
    many = planned_ellipsoid(ridge=ridge, ledger=ledger, n_draws=1_000_000)
    assert many.guarantee == paid and many.centre == planned.centre


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("draws", [1, 20, 1_000])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_both_stages_together_spend_the_budget(epsilon, draws, ledger):
    planned = two_stages(epsilon=epsilon, n_draws=draws, ledger=ledger)
    parts = [gdp(planned.centre.mu), gdp(planned.hessian_mu)]
    parts += [bounded_range(planned.beta * planned.oscillation)] * draws
    rho = sum(part.rho for part in parts)
    assert planned.guarantee.rho == pytest.approx(rho, rel=1e-9)
    assert planned.guarantee.rho == pytest.approx(compose(parts).rho, rel=1e-9)
    spent = planned.guarantee.epsilon(1e-6)
    assert 0.9999 * epsilon < spent <= epsilon
    assert spent >= zcdp_epsilon(rho, 1e-6) * (1 - 1e-9)
    assert not math.isfinite(planned.guarantee.pure_epsilon)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_share_is_that_of_the_draws(share):
    planned = two_stages(share=share)
    assert planned.first_rho / planned.guarantee.rho == pytest.approx(1 - share, rel=1e-9)
    assert planned.draw_eta == pytest.approx(planned.beta * planned.oscillation, rel=1e-12)
    assert exact_plan.two_stages(gdp(1.0), 2.0, 3).rho == pytest.approx(0.5 + 3 * 4 / 8)


def test_the_temperature_is_priced_on_the_whole_ball_with_the_minimums_error():
    """min L is that of the ball: where it lies, a record moves it by as much as the ball allows."""
    known = known_of(n=200_000, p=20, ridge=0.0)
    assert two_stages().oscillation == known.osc + 2 * known.gap_tolerance


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_noise_is_its_sensitivity_over_its_share(ridge):
    planned, known = planned_ellipsoid(ridge=ridge), known_of(ridge=ridge)
    centre, moved = planned.centre, data_slope(known, Ball(RADIUS))
    if centre.name == "gradients":
        expected = moved * math.sqrt(centre.n_steps) / centre.mu
    else:
        off = solver_distance(known, Ball(RADIUS))
        expected = (moved / ridge + 2 * off) / centre.mu
        assert centre.solver == off
    assert centre.noise == pytest.approx(expected, rel=1e-12)
    curved = math.sqrt(2) * 1.4**2 / 4 / 50_000
    assert planned.hessian_noise == pytest.approx(curved / planned.hessian_mu, rel=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.003])
@pytest.mark.parametrize("mu", [0.05, 2.0])
def test_accelerated_descent_is_a_langevin_path_with_its_price_and_its_bound(ridge, mu):
    known = known_of(ridge=ridge)
    centre = centres.by_acceleration(known, RADIUS, mu, ZEROS)
    beta, moved = 2 / (centre.step_size * centre.noise**2), data_slope(known, Ball(RADIUS))
    steps = centre.n_steps
    scales = [centre.noise * math.sqrt((steps + 1) / (2 * t)) for t in range(1, steps + 1)]
    assert math.sqrt(sum((moved / scale) ** 2 for scale in scales)) == pytest.approx(mu, rel=1e-9)
    path = {"step_size": centre.step_size / beta, "n_steps": steps}
    paid = path_guarantee(beta=beta, sensitivity=moved, **path, n_chains=1)
    assert paid.mu == pytest.approx(mu, rel=1e-9)
    far = min(RADIUS, math.sqrt(2 * ZEROS / ridge)) if ridge else RADIUS
    bound = accelerated_path_excess(p=40, beta=beta, M=known.M, distance=far, **path)
    assert centre.excess == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
def test_descent_is_bounded_by_what_steps_start_and_noise_add_up_to(ridge):
    known = known_of(ridge=ridge, n=20_000, p=9)
    centre = centres.by_gradients(known, RADIUS, 0.3, ZEROS)
    shrink = 1 - centre.step_size * known.m
    weights = sum(shrink**-j for j in range(1, centre.n_steps + 1))
    # m/2·‖θ*‖² ≤ L(θ*) ≤ L(0): the minimiser is no farther from the start than this.
    start = RADIUS**2 if ridge == 0 else min(RADIUS**2, 2 * ZEROS / ridge)
    parts = start / (2 * centre.step_size * weights), centre.step_size * 9 * centre.noise**2
    assert centre.excess == pytest.approx(sum(parts), rel=1e-9)
    assert min(parts) > 0.05 * centre.excess  # each counts


@pytest.mark.parametrize(
    ("loss", "bend"),
    [("logistic", 0.25), ("squared", 1.0), ("smoothed_hinge", 1.0), (SoftmaxLoss(4), 0.5)],
)
def test_the_hessian_moves_by_root_two_of_the_largest_row(loss, bend):
    found = ellipsoid.hessian_sensitivity(known_of(loss, ridge=0.3, p=42))
    assert found == pytest.approx(math.sqrt(2) * bend * 1.4**2 / 50_000)


def test_the_lift_is_above_the_noises_largest_eigenvalue():
    planned = planned_ellipsoid(n=20_000, p=80, psi=0.02, ridge=0.01)
    edge = planned.hessian_noise * (math.sqrt(2 * 80) + math.sqrt(-2 * math.log(0.05)))
    assert edge <= planned.lift == pytest.approx(edge, rel=1e-3)


@pytest.mark.parametrize(("mu", "ridge"), [(0.2, 0.0), (0.2, 0.003), (0.2, 0.3), (0.05, 0.005)])
def test_the_better_centre_is_taken(mu, ridge):
    known = known_of(ridge=ridge)
    every = [centres.by_gradients(known, RADIUS, mu, ZEROS)]
    if ridge:
        every.append(centres.by_output(known, RADIUS, mu, ZEROS))
    if not centres.surely_inside(known, RADIUS, ZEROS):
        quicker = centres.by_acceleration(known, RADIUS, mu, ZEROS)
        every += [quicker] * (quicker.excess <= 0.9 * every[0].excess)
    best = centres.best_centre(known, RADIUS, mu, ZEROS)
    assert best.excess == min(one.excess for one in every)
    assert ridge or best.name == "accelerated"


def test_the_minimiser_is_inside_for_every_table_where_the_ridge_alone_says_so():
    assert centres.surely_inside(known_of(ridge=0.1), RADIUS, math.log(2))
    assert not centres.surely_inside(known_of(ridge=0.08), RADIUS, math.log(2))


def test_a_large_ridge_needs_no_infinite_weight():
    known = known_of(ridge=1e4)
    centre = centres.by_gradients(known, RADIUS, 0.2, ZEROS)
    assert centres.average_weights(centre, known).sum() == pytest.approx(1)
    assert math.isfinite(centre.excess)


def test_a_centre_is_believed_no_further_than_its_bound_allows():
    inside, outside = known_of(ridge=0.2), known_of(ridge=0.01)
    for by in (centres.by_gradients, centres.by_output, centres.by_acceleration):
        centre = by(inside, RADIUS, 0.5, ZEROS)
        found = [centres.excess_quantile(centre, inside, q) for q in (0.1, 0.01)]
        assert centre.excess < found[0] < found[1]
        for q in (0.02, 0.5):
            markov = centre.excess / q
            assert centres.excess_at_most(centre, outside, RADIUS, ZEROS, q) == markov
            least = min(markov, centres.excess_quantile(centre, inside, q))
            assert centres.excess_at_most(centre, inside, RADIUS, ZEROS, q) == least
            momentum = centre.name == "accelerated"  # of which only Markov's inequality is known
            assert momentum == (centres.excess_quantile(centre, inside, q) == markov)


@pytest.mark.parametrize("excess", [0.0, 1e-4, 3e-3])
@pytest.mark.parametrize("slope", [-1.0, 0.5, 2.0])
def test_a_proved_margin_holds_for_logistic_losses(excess, slope):
    """One row and its opposite, in one dimension: every centre of that excess, both ends."""
    ridge, psi = 0.05, 0.02

    def loss(t):
        return (np.logaddexp(0, t) + np.logaddexp(0, -3 * t + slope)) / 2 + ridge / 2 * t**2

    axis = np.linspace(-8, 8, 400_001)
    values = loss(axis)
    least = values.min()
    at = axis[np.flatnonzero(np.diff(np.sign(values - least - max(excess, 1e-12))))]
    share = ellipsoid.proved_margin(psi=psi, ridge=ridge, bend=3.0, excess=excess)
    assert 0 < share <= 1
    for centre in at:
        near = centre + 1e-4 * np.array([-1, 0, 1])
        curvature = np.diff(loss(near), 2)[0] / 1e-8
        reach = math.sqrt(2 * share * psi / curvature)
        ends = loss(np.array([centre - reach, centre + reach]))
        assert ends.max() - least <= psi * (1 + 1e-3)


@pytest.mark.parametrize("excess", [1e-4, 5e-3])
def test_a_margin_of_a_quadratic_loss_is_sharp(excess):
    """(√(aψ) + √e)² = ψ: no larger margin can be proved."""
    share = ellipsoid.proved_margin(psi=0.02, ridge=0.1, bend=0.0, excess=excess)
    assert (math.sqrt(share * 0.02) + math.sqrt(excess)) ** 2 == pytest.approx(0.02, rel=1e-4)


def test_nothing_is_proved_without_reason():
    assert ellipsoid.proved_margin(psi=0.02, ridge=0.1, bend=1.0, excess=0.02) == 0.0
    assert ellipsoid.proved_margin(psi=0.02, ridge=0.0, bend=1.0, excess=0.001) == 0.0
    third = ellipsoid.third_derivative_bound
    assert third(get_loss("smoothed_hinge"), 1.0) is None
    assert third(SoftmaxLoss(3), 1.0) == pytest.approx(math.sqrt(2))
    assert third(SoftmaxLoss(2), 1.0) == 1.0


def test_a_hit_rate_is_guaranteed_where_it_is_proved_and_nowhere_else():
    sure = planned_ellipsoid(ridge=0.2)
    assert sure.has_hit_rate and has_hit_rate(sure) and sure.hit_rate_bound == 0.9
    wide = planned_ellipsoid(ridge=0.2, margin=1.0)
    assert not wide.has_hit_rate and not has_hit_rate(wide)
    unsure = planned_ellipsoid(ridge=0.003)
    assert not unsure.has_hit_rate and weak_guarantee_reason(unsure) == ""
    assert "90" not in repr(unsure)
    few = {"n": 50_000, "p": 40, "psi": 0.02, "ridge": 0.1, "n_draws": 1}
    sure, wide = two_stages(**few), two_stages(**few, margin=1.0)
    assert sure.hit_rate_bound == 0.9 and sure.margin < 1
    assert wide.margin == 1 and wide.hit_rate_bound < 0.9


@pytest.mark.parametrize(
    ("plan", "changes"),
    [
        (ellipsoid.plan_ellipsoid, {"n": 700, "p": 72, "psi": 0.02, "ridge": 0.01}),
        (exact_plan.plan_ellipsoid_exact, {"n": 1_000, "p": 20, "epsilon": 4.0}),
    ],
)
def test_a_hopeless_centre_is_said_before_anything_is_charged(plan, changes):
    with pytest.warns(WeakGuaranteeWarning, match="centre of all draws"):
        assert not plan(**{**ROWS, **BUDGET, **changes}).hit_rate_bound


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_the_hit_rate_on_an_ellipsoid_is_the_best_of_two_proofs(ridge):
    planned, known = two_stages(ridge=ridge), known_of(n=200_000, p=20, ridge=ridge)

    def excess(q):
        return centres.excess_at_most(planned.centre, known, RADIUS, planned.zero_loss, q)

    tail = exact_plan.ellipsoid_hit_rate(20, planned.beta, 0.05, excess)
    assert planned.hit_rate_bound in (tail, 0.9)
    assert planned.hit_rate_bound >= max(tail, 0.2)


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_a_cone_is_hit_as_often_as_is_promised(p, offset):
    """L = ‖θ − θ*‖ on a ball around a centre off by e, which is the law's worst case but for e."""
    beta, psi = 12.0, 1.0

    def mass(low, high):
        law = lambda r: r ** (p - 1) * math.exp(-beta * max(r + offset - psi, 0.0))  # noqa: E731
        return quad(law, low, high, points=[psi - offset], limit=200)[0]

    hits = mass(0, psi - offset) / mass(0, 40.0)
    assert guaranteed_hit_rate(p, beta, psi - offset) == pytest.approx(hits, rel=1e-6)
    certain = exact_plan.ellipsoid_hit_rate(p, beta, psi, lambda q: offset)
    assert 0.95 * hits <= certain <= hits


@pytest.mark.parametrize(
    ("p", "steep", "share"), [(4, 30.0, 0.1), (12, 60.0, 0.3), (60, 80.0, 0.0)]
)
def test_nine_in_ten_draws_hit_on_the_ellipsoid_of_a_quadratic_loss(p, steep, share):
    """The size by quadrature of heights t, density t^{p/2−1}·exp(−βψ(t − t₀)₊)."""
    margin, top = exact_plan.expected_margin(p, steep, share), 1 - share

    def shares(size):
        law = lambda t: (t / top) ** (p / 2 - 1) * math.exp(-steep * max(t - top, 0.0))  # noqa: E731
        inside, outside = quad(law, 0, top)[0], quad(law, top, size)[0]
        uniform = quad(lambda t: (t / top) ** (p / 2 - 1), 0, size)[0]
        return inside / (inside + outside), (inside + outside) / uniform

    hits, accepted = shares(margin)
    assert hits >= 0.899 and accepted >= 0.0499
    larger = shares(1.02 * margin)
    assert margin == exact_plan.WIDEST or larger[0] < 0.9 or larger[1] < 0.05


@pytest.mark.parametrize(
    ("plan", "changes", "match"),
    [
        (planned_ellipsoid, {"epsilon": -1.0}, "epsilon must be"),
        (planned_ellipsoid, {"n_draws": 0}, "n_draws must be"),
        (planned_ellipsoid, {"margin": 2.0}, "margin must be"),
        (two_stages, {"margin": 0.0}, "margin"),
        (two_stages, {"share": 1.0}, "share"),
        *((plan, {"psi": -1.0}, "psi must be") for plan in (planned_ellipsoid, two_stages)),
        *((plan, {"delta": 0.0}, "delta must be") for plan in (planned_ellipsoid, two_stages)),
        *((plan, {"loss": "hinge"}, "kinks") for plan in (planned_ellipsoid, two_stages)),
    ],
)
def test_numbers_out_of_range_are_refused(plan, changes, match):
    with pytest.raises(ValueError, match=match):
        plan(**changes)
