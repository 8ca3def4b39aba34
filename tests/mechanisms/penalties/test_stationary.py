"""Mechanisms that use hypergradients: exact audits of their prices, and what they promise."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties import (
    PenaltyConstants,
    drawn_where_level,
    plan_stationary,
    walk,
    walk_bound,
)
from rashomon_explorer.mechanisms.penalties.landscape import MEAN, PenaltyBox
from rashomon_explorer.mechanisms.penalties.langevin_walk import (
    GradientLandscape,
    gradient_mapping,
    known_at,
)
from rashomon_explorer.mechanisms.penalties.losses import MARGINS
from rashomon_explorer.mechanisms.penalties.mechanisms import plan_mechanism
from rashomon_explorer.mechanisms.penalties.stationary import STATIONARY, StationaryPlan
from rashomon_explorer.privacy.audit import discrete
from tests.mechanisms.penalties.made import Made, corners, grid, made

KINDS = pytest.mark.parametrize("kind", MARGINS)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def known(n: int = 100_000, low: float = 0.5) -> PenaltyConstants:
    return PenaltyConstants("logistic", 1.5, low, 10.0, 7 * n // 10, 3 * n // 10)


def planned(mechanism: str, d: int = 2, n: int = 100_000, **options) -> StationaryPlan:
    asked = {**BUDGET, "spacing": 0.1, **options}
    return plan_stationary(known(n), d, mechanism, **asked)


def shared(kind: str, **options) -> Made:
    one = made(kind, (0, 1, 0), **options)
    return replace(one, box=PenaltyBox((0, 1, MEAN), one.box.low, one.box.high))


@KINDS
def test_the_hypergradient_holds_where_the_intercept_has_the_mean(kind: str) -> None:
    landscape = shared(kind, sizes=(6, 5)).landscape
    assert landscape.box.penalties(np.array([[0.4], [-0.2]]))[2, 0] == pytest.approx(
        0.5 * math.exp(0.1)
    )
    x, step = np.array([0.3, -0.4]), 1e-5
    for j, exact in enumerate(landscape.gradient(x, 1e-13)):
        ahead = landscape.value((x + step * np.eye(2)[j])[:, None])
        behind = landscape.value((x - step * np.eye(2)[j])[:, None])
        assert exact == pytest.approx((ahead - behind)[0] / (2 * step), abs=1e-6)


@KINDS
def test_gradients_bend_no_more_than_is_said(kind: str) -> None:
    for seed in range(3):
        one = shared(kind, sizes=(3, 2), seed=seed)
        landscape, points = one.landscape, grid(one.landscape, 5)
        slopes = np.array([landscape.gradient(x) for x in points.T])
        apart = np.linalg.norm(slopes[:, None] - slopes, axis=2)
        far = np.linalg.norm(points.T[:, None] - points.T, axis=2)
        bent = apart[far > 0] / far[far > 0]
        assert 0 < bent.max() <= one.constants.smoothness
        assert landscape.value(points).max() <= one.constants.most_loss


@KINDS
def test_no_record_moves_a_gradient_by_more_than_is_charged_at_its_penalties(kind: str) -> None:
    """The sensitivity that depends on the penalties, for the gradient and for its mapping."""
    one = shared(kind, sizes=(2, 2))
    landscape = one.landscape
    points = list(grid(landscape, 3).T)
    least = [known_at(one.constants, landscape, x).charged_slope for x in points]
    assert max(least) > 50 * min(least)  # much less where all penalties are high
    first = [landscape.gradient(x) for x in points]
    mapped = [gradient_mapping(landscape, x, 1e-11) for x in points]
    for other in one.neighbours(corners(3)[::9]):
        there = other.landscape
        for x, most, slope, map_ in zip(points, least, first, mapped, strict=True):
            assert np.linalg.norm(there.gradient(x) - slope) <= most
            moved = np.linalg.norm(gradient_mapping(there, x, 1e-11)) - np.linalg.norm(map_)
            assert abs(moved) <= most


@pytest.mark.parametrize(("share", "holds"), [(1.0, True), (0.4, False)])
def test_a_step_is_as_private_as_it_says_and_with_less_noise_it_is_not(
    share: float, holds: bool
) -> None:
    """The laws of one step are Gaussians: their means are at most μσ apart."""
    one, mu = made("logistic", (0, 0), sizes=(1, 1), bounds=(0.3, 3.0), seed=1), 0.7
    x = np.array([0.9])
    sigma = share * known_at(one.constants, one.landscape, x).charged_slope / mu
    records = corners(2)
    means = [other.landscape.gradient(x)[0] for other in one.neighbours(records)]
    sides = means[: len(records)], means[len(records) :]  # all of one side are neighbours
    assert bool(max(np.ptp(side) for side in sides) / sigma <= mu) is holds


def test_a_walk_stays_in_the_box_and_has_the_noise_that_is_charged() -> None:
    one = made("ridge", (0, 1), sizes=(30, 30), bounds=(0.5, 10.0))
    plan = replace(planned("hypergradient"), constants=one.constants, mu=1e4, n_steps=400)
    landscape, beta = one.landscape, plan.constants.smoothness
    states = walk(landscape, plan, np.zeros(2), np.random.default_rng(1))
    assert states.shape == (2, 400) and landscape.domain.contains(states).all()
    told = []
    for x, after in zip(states.T[:-1], states.T[1:], strict=True):
        noise = (x - after) * beta - landscape.gradient(x)
        told.append(noise * plan.mu / known_at(plan.constants, landscape, x).charged_slope)
    inside = np.array(told)[(np.abs(states.T[1:]) < landscape.domain.radius).all(axis=1)]
    assert len(inside) > 200 and np.std(inside) == pytest.approx(1, abs=0.12)


@pytest.mark.parametrize("mechanism", STATIONARY)
@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("n_draws", [1, 3])
def test_the_price_is_what_was_asked(mechanism: str, ledger: bool, n_draws: int) -> None:
    plan = planned(mechanism, ledger=ledger, n_draws=n_draws)
    assert 0.9 <= plan.guarantee.epsilon(1e-6) <= 1.0 or ledger
    assert plan.guarantee.epsilon(1e-6) <= 1.0
    from rashomon_explorer.privacy import adaptive_epsilon

    if ledger:
        assert 0.9 <= adaptive_epsilon([plan.guarantee], 1e-6) <= 1.0
    if plan.n_steps:
        steps = plan.mu * math.sqrt(plan.n_steps * n_draws)
        alone = planned("hypergradient", ledger=ledger)
        assert steps <= alone.mu * math.sqrt(alone.n_steps) * (1 + 1e-9)
        if mechanism == "hypergradient":
            assert steps == pytest.approx(alone.mu * math.sqrt(alone.n_steps), rel=1e-6)


@KINDS
def test_draws_by_gradient_norms_pass_their_exact_audit(kind: str) -> None:
    one = shared(kind, sizes=(2, 2))
    plan = replace(planned("gradient_norm"), constants=one.constants, eta=1.5)

    def law(o: Made) -> np.ndarray:
        sizes = GradientLandscape(o.landscape, one.constants.gradient_tolerance)
        return -plan.beta * sizes.value(grid(o.landscape, 3))

    first = law(one)
    ranges = [discrete(first, law(other)).range for other in one.neighbours(corners(3)[::9])]
    assert 0 < max(ranges) <= 1.5


def test_a_temperature_without_the_two_is_caught_by_gradients_that_turn() -> None:
    """Negative control: 1/Δ in place of 1/2Δ, where one size falls by Δ and another grows."""
    plan = planned("gradient_norm", delta=0.0)
    moved = plan.constants.charged_slope
    first, second = np.array([2.0, 3.0]) * moved, np.array([3.0, 2.0]) * moved
    assert discrete(-plan.beta * first, -plan.beta * second).range == pytest.approx(1.0, rel=1e-6)
    assert discrete(-2 * plan.beta * first, -2 * plan.beta * second).range > 1.9


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("start", [-0.9, 0.2, 0.8])
def test_the_promise_of_a_walk_holds_of_a_wave_in_a_box(noise: float, start: float) -> None:
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


def slope(places: list[float], values: list[float]) -> float:
    return float(np.polyfit(np.log(places), np.log(values), 1)[0])


def best_bound(n: float, d: float, *, warm: bool) -> float:
    """Least promise over T at K, βΦ and ε fixed; Δ₀ fixed, or d/n after a private start."""
    drop = d / n if warm else 1.0
    steps = np.geomspace(1, 1e9, 400)
    return min(
        walk_bound(smoothness=1.0, drop=drop, n_steps=t, noise=d * t / n**2, bias=0.0, slope=1e9)
        for t in steps
    )


@pytest.mark.parametrize(("warm", "by_n", "by_d"), [(False, -0.5, 0.25), (True, -0.75, 0.5)])
def test_promises_of_walks_have_the_rates_of_the_paper(
    warm: bool, by_n: float, by_d: float
) -> None:
    n, d = [1e4, 1e5, 1e6], [4.0, 16.0, 64.0]
    assert slope(n, [best_bound(k, 10, warm=warm) for k in n]) == pytest.approx(by_n, abs=0.1)
    assert slope(d, [best_bound(1e6, k, warm=warm) for k in d]) == pytest.approx(by_d, abs=0.1)


def test_the_promise_of_gradient_norms_has_the_rate_of_the_paper() -> None:
    n = [10**5, 10**6, 10**7]
    bounds = [planned("gradient_norm", n=k, spacing=0.5).gradient_bound for k in n]
    assert slope(n, bounds) == pytest.approx(-1, abs=0.1)
    by_d = [planned("gradient_norm", d=d, n=10**7, spacing=0.1).gradient_bound for d in (1, 2, 3)]
    assert slope([1, 2, 3], by_d) == pytest.approx(1, abs=0.25)  # log N + 1


def test_auto_takes_a_walk_beyond_a_grid_where_it_promises_something() -> None:
    asked = {"mechanism": "auto", **BUDGET}
    clipped = replace(known(), margin_bound=4.0)
    taken = plan_mechanism(clipped, 8, **asked)
    assert taken.mechanism == "warm_hypergradient" and "a grid takes at most 3" in taken.why
    assert "best shared penalty" in taken.why and taken.start_excess < 0.1
    assert taken.gradient_bound < taken.constants.slope and taken.constants.margin_bound is None
    assert plan_mechanism(clipped, 3, **asked).mechanism in ("exponential", "generalised")
    with pytest.raises(SamplerError, match=r"8 penalties were requested.*a public penalty"):
        plan_mechanism(replace(clipped, n_train=700, n_val=300), 8, **asked)
    with pytest.raises(SamplerError, match="8 penalties were requested"):
        plan_mechanism(clipped, 8, **{**asked, "delta": 0.0})


def test_what_does_not_apply_is_refused_with_the_reason() -> None:
    with pytest.raises(SamplerError, match="in log penalties it is not"):
        plan_mechanism(known(), 1, mechanism="regularised", **BUDGET)
    with pytest.raises(SamplerError, match="delta must be > 0"):
        planned("hypergradient", delta=0.0)
    with pytest.raises(SamplerError, match="4 penalties were requested"):
        plan_mechanism(known(), 4, mechanism="gradient_norm", **BUDGET)
    with pytest.raises(ValueError, match="psi must be 0"):
        plan_mechanism(known(), 1, mechanism="hypergradient", psi=0.1, **BUDGET)


@KINDS
def test_a_validation_loss_is_not_convex_in_log_penalties(kind: str) -> None:
    """Why the regularised mechanism is refused: its price rests on convexity on every table."""
    landscape = made(kind, (0, 0), bounds=(0.01, 100.0)).landscape
    values = landscape.value(grid(landscape, 41))
    assert np.diff(values, 2).min() < -1e-4 < 1e-4 < np.diff(values, 2).max()


@pytest.mark.parametrize("mechanism", STATIONARY)
def test_draws_are_where_the_landscape_is_level_at_a_huge_price(mechanism: str) -> None:
    one = made("ridge", (0, 1), sizes=(40, 40), bounds=(0.05, 5.0), seed=4)
    plan = plan_stationary(
        one.constants, 2, mechanism, epsilon=1e7, delta=1e-6, spacing=0.3, n_draws=5
    )
    plan = replace(plan, n_steps=plan.n_steps and 40)
    drawn, walks = drawn_where_level(one.landscape, plan, np.random.default_rng(0))
    assert drawn.shape == (2, 5)
    sizes = [np.linalg.norm(gradient_mapping(one.landscape, x, 1e-9)) for x in drawn.T]
    if walks is not None:
        assert walks.shape == (5, 2, 40)
        middle = np.linalg.norm(gradient_mapping(one.landscape, np.zeros(2), 1e-9))
        ends = [np.linalg.norm(gradient_mapping(one.landscape, w[:, -1], 1e-9)) for w in walks]
        assert np.mean(ends) < middle
    else:
        everywhere = GradientLandscape(one.landscape, 1e-9).value(grid(one.landscape, 5))
        assert np.mean(sizes) < everywhere.mean()


def test_a_shared_start_serves_any_number_of_penalties() -> None:
    one = made("ridge", (0, 1, 2, 3), sizes=(10, 10), bounds=(0.5, 5.0))
    plan = plan_stationary(
        one.constants, 4, "warm_hypergradient", epsilon=5.0, delta=1e-6, spacing=0.2
    )
    _, walks = drawn_where_level(one.landscape, replace(plan, n_steps=3), np.random.default_rng(0))
    assert len(set(walks[0, :, 0])) == 1 and len(set(walks[0, :, 1])) == 4


def test_inner_errors_of_gradients_are_paid_for_and_kept() -> None:
    """Δ = K/n + 2Cα, and a fit within α moves a gradient by Cα at most."""
    one = shared("logistic", sizes=(3, 2))
    there = one.constants
    alpha, moved = there.gradient_tolerance, there.charged_slope
    assert moved == pytest.approx(there.gradient_sensitivity + 2 * there.inexactness * alpha)
    assert moved > there.gradient_sensitivity * (1 + 1e-6)
    rough, exact = (one.landscape.gradient(np.zeros(2), t) for t in (alpha, 1e-13))
    assert np.linalg.norm(rough - exact) <= there.inexactness * alpha
