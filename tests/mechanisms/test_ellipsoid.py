"""The private ellipsoid: costs, what one record moves, what is proved, and laws of draws on it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.mechanisms import centres, ellipsoid
from rashomon_explorer.mechanisms.bounds import accelerated_path_excess
from rashomon_explorer.mechanisms.centres import by_acceleration, by_gradients, by_output
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, solver_distance
from rashomon_explorer.mechanisms.ellipsoid import PrivateEllipsoid, hessian_sensitivity
from rashomon_explorer.mechanisms.noisy_descent import path_guarantee
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import SmoothedHingeLoss, SoftmaxLoss, get_loss
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import Silent, by_settings, constants_of

RADIUS, ZEROS = 4.0, 0.7
ROWS = {"n": 50_000, "p": 40, "psi": 0.05, "radius": RADIUS, "row_norm": 1.4}
MANY = {**ROWS, "n": 200_000, "p": 20}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
plan_of = by_settings(ellipsoid.plan_ellipsoid)


def known_of(loss="logistic", ridge=0.1, n=50_000, p=40):
    return constants_of(loss, n=n, p=p, radius=RADIUS, row_norm=1.4, ridge=ridge)


def planned_ellipsoid(**changed):
    return plan_of(**{**ROWS, **BUDGET, **changed})


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
def test_an_ellipsoid_spends_its_budget_and_draws_cost_nothing(ridge, ledger):
    planned = planned_ellipsoid(ridge=ridge, ledger=ledger)
    paid = planned.guarantee
    assert paid.mu == pytest.approx(
        math.hypot(planned.details.centre.mu, planned.details.hessian_mu), rel=1e-12
    )
    assert paid.rho == pytest.approx(paid.mu**2 / 2, rel=1e-12)
    spent = replace(paid, mu=math.inf).epsilon(1e-6) if ledger else paid.epsilon(1e-6)
    assert 0.9999 < spent <= 1.0
    many = planned_ellipsoid(ridge=ridge, ledger=ledger, n_draws=1_000_000)
    assert many.guarantee == paid and many.details.centre == planned.details.centre


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_noise_is_its_sensitivity_over_its_share(ridge):
    planned, known = planned_ellipsoid(ridge=ridge), known_of(ridge=ridge)
    centre, moved = planned.details.centre, data_slope(known, Ball(RADIUS))
    if centre.name == "gradients":
        expected = moved * math.sqrt(centre.n_steps) / centre.mu
    else:
        off = solver_distance(known, Ball(RADIUS))
        expected = (moved / ridge + 2 * off) / centre.mu
        assert centre.solver == off
    assert centre.noise == pytest.approx(expected, rel=1e-12)
    curved = math.sqrt(2) * 1.4**2 / 4 / 50_000
    assert planned.details.hessian_noise == pytest.approx(
        curved / planned.details.hessian_mu, rel=1e-9
    )


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
    edge = planned.details.hessian_noise * (math.sqrt(2 * 80) + math.sqrt(-2 * math.log(0.05)))
    assert edge <= planned.details.regularisation == pytest.approx(edge, rel=1e-3)


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
    inside = known_of(ridge=0.2)
    for by in (centres.by_gradients, centres.by_output, centres.by_acceleration):
        centre = by(inside, RADIUS, 0.5, ZEROS)
        found = [centres.excess_quantile(centre, inside, q) for q in (0.1, 0.01)]
        assert centre.excess < found[0] < found[1]
        for q in (0.02, 0.5):
            markov = centre.excess / q
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
    assert sure.hit_rate is not None and sure.hit_rate_bound == 0.9
    wide = planned_ellipsoid(ridge=0.2, margin=1.0)
    assert wide.hit_rate is None
    unsure = planned_ellipsoid(ridge=0.003)
    assert unsure.hit_rate is None and unsure.weakness == ""
    assert "90" not in repr(unsure)


def test_a_hopeless_centre_is_said_before_anything_is_charged():
    planned = planned_ellipsoid(n=700, p=72, psi=0.02, ridge=0.01)
    assert planned.hit_rate is None and "centre of all draws" in planned.weakness


@pytest.mark.parametrize(
    ("plan", "changes", "match"),
    [
        (planned_ellipsoid, {"margin": 2.0}, "margin must be"),
        (planned_ellipsoid, {"psi": -1.0}, "psi must be"),
        (planned_ellipsoid, {"delta": 0.0}, "delta must be"),
        (planned_ellipsoid, {"loss": "hinge"}, "kinks"),
    ],
)
def test_numbers_out_of_range_are_refused(plan, changes, match):
    with pytest.raises(ValueError, match=match):
        plan(**changes)


LOSSES = {
    "logistic": ("logistic", (-1.0, 1.0)),
    "squared": ("squared", (-1.0, 0.3, 1.0)),
    "smoothed_hinge": (SmoothedHingeLoss(0.5), (-1.0, 1.0)),
    "softmax": (SoftmaxLoss(3), (0.0, 1.0, 2.0)),
}
CENTRES = pytest.mark.parametrize("by", [by_gradients, by_acceleration, by_output])


def neighbours(name, rng, n=3, d=2, ridge=0.2, radius=2.0):
    """Two problems that differ in one record, of rows as long as they may be."""
    loss, labels = LOSSES[name]
    rows = rng.standard_normal((n + 1, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    targets = rng.choice(labels, n + 1)
    settings = {"loss": loss, "ridge": ridge, "radius": radius, "intercept": False}
    one, other = np.arange(n), np.r_[n, np.arange(1, n)]
    return [Problem(rows[part], targets[part], **settings) for part in (one, other)]


def some_rows():
    return neighbours("logistic", np.random.default_rng(0), n=50)[0]


def simulated(n=20_000, d=4, ridge=0.1, radius=4.0, noise=0.3, **settings):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (n, d))
    y = np.sign(rows[:, 0] + noise * rng.standard_normal(n))
    return Problem(rows, y, ridge=ridge, radius=radius, **settings)


def planned_for(problem, psi=0.05, make=plan_of, **changes):
    public = {"radius": problem.domain.radius, "row_norm": problem.row_bound}
    public |= {"epsilon": 1.0, "delta": 1e-6, "ridge": problem.ridge, "loss": problem.loss}
    return make(problem.n, problem.p, psi, **{**public, **changes})


@pytest.mark.parametrize("name", LOSSES)
def test_no_neighbour_moves_hessian_gradient_or_minimiser_by_more_than_is_priced(name):
    rng, most = np.random.default_rng(0), np.zeros(3)
    for _ in range(30):
        first, second = neighbours(name, rng)
        models = first.domain.uniform(first.p, 20, rng)
        slope = data_slope(first.constants, first.domain)
        hessians = [np.linalg.norm(first.hessian(t) - second.hessian(t)) for t in models.T]
        gradients = np.subtract(*(one.value_and_gradient(models)[1] for one in (first, second)))
        best = np.linalg.norm(first.minimum.theta - second.minimum.theta)
        charged = [hessian_sensitivity(first.constants), slope, slope / first.m]
        moved = [max(hessians), np.linalg.norm(gradients, axis=0).max(), best]
        most = np.maximum(most, np.divide(moved, charged))
    assert most.max() <= 1 + 1e-9
    assert most[0] > (0.6 if name == "softmax" else 0.9) and most[1] > 0.5


@CENTRES
def test_a_released_centre_is_on_the_public_grid_and_nearly_the_best_without_noise(by):
    """It is saved with a release: the last bits of a double may betray the noise that made it."""
    problem = some_rows()
    centre = by(problem.constants, 2.0, 0.5, 0.7)
    *_, found = ellipsoid.released_centre(problem, centre, Silent())
    excess = problem.value(found.theta[:, None])[0] - problem.minimum.value
    assert excess < 0.2 * centre.excess and problem.domain.contains(found.theta[:, None])[0]
    for seed in range(5):
        centre = by(problem.constants, 2.0, 8.0, 0.7)
        *_, found = ellipsoid.released_centre(problem, centre, np.random.default_rng(seed))
        assert np.linalg.norm(found.theta) < 2.0  # inside, where nothing is put back
        assert (found.theta * 2**20 == np.round(found.theta * 2**20)).all()


@CENTRES
@pytest.mark.parametrize(("radius", "ridge"), [(4.0, 0.2), (0.3, 0.02)])
@pytest.mark.law
def test_a_centres_mean_excess_is_within_its_bound(by, radius, ridge):
    """Inside the ball, and where the ball holds the best model back."""
    problem, rng = simulated(400, 3, ridge, radius, noise=0.0), np.random.default_rng(3)
    assert problem.minimum.on_boundary == (radius < 1)
    centre = by(problem.constants, radius, 2.0, 0.7)
    found = []
    for _ in range(40):
        *_, one = ellipsoid.released_centre(problem, centre, rng)
        found.append(problem.value(one.theta[:, None])[0] - problem.minimum.value)
    assert np.mean(found) <= centre.excess


@pytest.mark.parametrize("by", [by_gradients, by_acceleration])
def test_a_multiplier_is_found_where_the_ball_holds_back_and_none_elsewhere(by):
    for radius in (0.5, 8.0):
        problem = simulated(d=3, radius=radius, ridge=0.02, noise=0.1)
        centre = by(problem.constants, radius, 0.5, 0.7)
        *_, found = ellipsoid.released_centre(problem, centre, np.random.default_rng(3))
        assert found.multiplier == pytest.approx(problem.minimum.multiplier, rel=0.1)
        assert (found.multiplier > 0) == (radius < 1)


def test_the_hessians_noise_has_the_law_of_the_frobenius_norm():
    """Variance σ² on the diagonal and half of it beside, symmetric; no other scale is private."""
    problem = simulated(n=300)
    planned, rng, theta = planned_for(problem), np.random.default_rng(0), np.zeros(problem.p)
    exact = problem.hessian(theta) - problem.ridge * np.eye(problem.p)
    released = ellipsoid.released_hessian
    noisy = np.array([released(problem, theta, planned.details, rng) for _ in range(4000)])
    assert (noisy == noisy.swapaxes(1, 2)).all()
    assert (noisy / planned.details.grid == np.round(noisy / planned.details.grid)).all()
    scale = (noisy - exact).std(axis=0) / planned.details.hessian_noise
    assert scale == pytest.approx(np.where(np.eye(problem.p), 1.0, np.sqrt(0.5)), rel=0.06)


def test_a_lifted_hessian_is_mostly_at_least_the_true_one():
    problem = simulated(n=300)
    planned, rng, theta = planned_for(problem), np.random.default_rng(1), np.zeros(problem.p)
    below = 0
    for _ in range(500):
        noisy = ellipsoid.released_hessian(problem, theta, planned.details, rng)
        matrix = ellipsoid.regularise_hessian(noisy, planned.details, planned.ridge)
        below += np.linalg.eigvalsh(matrix - problem.hessian(theta))[0] < 0
        assert np.linalg.eigvalsh(matrix)[0] > problem.ridge
    assert below <= 0.05 * 500


def rates(problem, planned, kind, runs, size):
    """Share of hits in each of several releases."""
    found = []
    many = planned.with_numbers(n_draws=size)
    for seed in range(runs):
        draws = kind().draw(problem, many, np.random.default_rng(seed))
        found.append(np.mean(draws.losses <= problem.minimum.value + planned.psi))
    return np.array(found)


@pytest.mark.parametrize("ridge", [0.1, 0.3])
def test_a_promised_hit_rate_is_kept(ridge):
    problem = simulated(ridge=ridge)
    planned = planned_for(problem, psi=0.02, epsilon=4.0, n_draws=100)
    # Of the releases nine in ten: all draws of one hit, as docs/planning.md says.
    assert planned.hit_rate is not None and planned.hit_rate_bound == 0.9
    assert np.mean(rates(problem, planned, PrivateEllipsoid, 10, 100) == 1) >= 0.9


def test_draws_are_made_of_what_was_released_alone():
    """Given the region, and the generator's state, rows no longer matter; empty batches first."""
    problem = simulated(ridge=0.01)
    planned = planned_for(problem)
    *_, region = ellipsoid.released_region(problem, planned, np.random.default_rng(0))
    target = GibbsTarget.of(problem, planned)
    batches = PrivateEllipsoid().batches(target, planned, np.random.default_rng(0))
    first = next(batches)  # so that Stop is heard
    assert first.theta.shape == (problem.p, 0) and first.region is None
    drawn = next(batch for batch in batches if batch.theta.shape[1])
    assert region.contains(drawn.theta).all()
    assert (drawn.region.matrix == region.matrix).all()
    assert (drawn.region.start == region.start).all()


def test_what_the_solver_must_reach_is_among_the_assumptions():
    requests = planned_for(simulated(ridge=0.3)).request, planned_for(simulated(ridge=0.01)).request
    output, gradients = (PrivateEllipsoid().plan(request) for request in requests)
    assert (output.details.centre.name, gradients.details.centre.name) == ("output", "gradients")
    assert len(output.guarantee.assumptions) == len(gradients.guarantee.assumptions) + 1
