"""The private ellipsoid's plan: its price, what moves how far, and what is promised."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.bounds.excess import accelerated_path_excess
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, solver_distance
from rashomon_explorer.mechanisms.ellipsoid.plan import (
    hessian_sensitivity,
    plan_ellipsoid,
    proved_margin,
    third_derivative_bound,
)
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.centres import (
    average_weights,
    best_centre,
    by_acceleration,
    by_gradients,
    by_output,
    excess_quantile,
    surely_inside,
)
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate, weak_guarantee_reason
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import compose, gdp
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss

ROWS = {"n": 50_000, "p": 40, "radius": 4.0, "row_norm": 1.4}
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def constants_of(loss="logistic", ridge=0.1, n=50_000, p=40, radius=4.0, row_norm=1.4):
    return Constants.of(loss, n=n, p=p, domain=Ball(radius), row_bound=row_norm, ridge=ridge)


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
def test_the_price_is_what_was_asked_for(ridge: float, ledger: bool) -> None:
    bought = plan_ellipsoid(**ROWS, psi=0.05, ridge=ridge, **BUDGET, ledger=ledger)
    paid = bought.guarantee
    assert paid.mu == pytest.approx(math.hypot(bought.centre.mu, bought.hessian_mu), rel=1e-12)
    assert paid.rho == pytest.approx(paid.mu**2 / 2, rel=1e-12)
    spent = replace(paid, mu=math.inf).epsilon(1e-6) if ledger else paid.epsilon(1e-6)
    assert 0.9999 < spent <= 1.0
    parts = compose([gdp(bought.centre.mu), gdp(bought.hessian_mu)])
    assert parts.epsilon(1e-6) == pytest.approx(paid.epsilon(1e-6), rel=1e-9)


@pytest.mark.parametrize("count", [1, 1_000_000])
def test_draws_cost_nothing(count: int) -> None:
    bought = plan_ellipsoid(**ROWS, psi=0.05, ridge=0.01, **BUDGET, n_draws=count)
    one = plan_ellipsoid(**ROWS, psi=0.05, ridge=0.01, **BUDGET)
    assert bought.guarantee == one.guarantee and bought.centre == one.centre


def test_noise_is_its_sensitivity_over_its_share() -> None:
    for ridge in (0.01, 1.0):
        bought = plan_ellipsoid(**ROWS, psi=0.05, ridge=ridge, **BUDGET)
        constants, centre = constants_of(ridge=ridge), bought.centre
        moved = data_slope(constants, Ball(4.0))
        if centre.name == "gradients":
            wanted = moved * math.sqrt(centre.n_steps) / centre.mu
        else:
            off = solver_distance(constants, Ball(4.0))
            wanted = (moved / ridge + 2 * off) / centre.mu
            assert centre.solver == off
        assert centre.noise == pytest.approx(wanted, rel=1e-12)
        curved = math.sqrt(2) * 1.4**2 / 4 / 50_000
        assert bought.hessian_noise == pytest.approx(curved / bought.hessian_mu, rel=1e-9)


def test_noisy_gradients_are_the_path_of_a_langevin_chain() -> None:
    """Steps η with noise ησ are h = (ησ)²/2 at β = 2/(ησ²): the house prices them alike."""
    constants = constants_of(ridge=0.01)
    centre = by_gradients(constants, 4.0, 0.2, 0.7)
    path = path_guarantee(
        beta=2 / (centre.step_size * centre.noise**2),
        sensitivity=data_slope(constants, Ball(4.0)),
        step_size=(centre.step_size * centre.noise) ** 2 / 2,
        n_steps=centre.n_steps,
    )
    assert path.mu == pytest.approx(0.2, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "bend"),
    [("logistic", 0.25), ("squared", 1.0), ("smoothed_hinge", 1.0), (SoftmaxLoss(4), 0.5)],
)
def test_the_hessian_moves_by_root_two_of_the_largest_row(loss: object, bend: float) -> None:
    constants = constants_of(loss, ridge=0.3, p=42)
    assert hessian_sensitivity(constants) == pytest.approx(math.sqrt(2) * bend * 1.4**2 / 50_000)


def test_the_better_centre_is_taken_and_weights_add_up() -> None:
    for ridge in (0.003, 0.3):
        constants = constants_of(ridge=ridge)
        ways = [by(constants, 4.0, 0.2, 0.7) for by in (by_gradients, by_output)]
        if not surely_inside(constants, 4.0, 0.7):
            quicker = by_acceleration(constants, 4.0, 0.2, 0.7)
            ways += [quicker] * (quicker.excess <= 0.9 * ways[0].excess)
        chosen = best_centre(constants, 4.0, 0.2, 0.7)
        assert chosen.excess == min(way.excess for way in ways)
        assert average_weights(ways[0], constants).sum() == pytest.approx(1)
    assert best_centre(constants_of(ridge=0.0), 4.0, 0.2, 0.7).name == "accelerated"


def test_a_large_ridge_needs_no_infinite_weight() -> None:
    centre = by_gradients(constants_of(ridge=1e4), 4.0, 0.2, 0.7)
    weights = average_weights(centre, constants_of(ridge=1e4))
    assert np.isfinite(weights).all() and math.isfinite(centre.excess)


def test_inside_for_every_table_where_the_ridge_alone_says_so() -> None:
    assert surely_inside(constants_of(ridge=0.1), 4.0, math.log(2))
    assert not surely_inside(constants_of(ridge=0.08), 4.0, math.log(2))


def test_quantiles_are_above_the_mean_and_grow() -> None:
    constants = constants_of(ridge=0.1)
    for by in (by_gradients, by_output):
        centre = by(constants, 4.0, 0.2, 0.7)
        found = [excess_quantile(centre, constants, failure) for failure in (0.1, 0.01)]
        assert centre.excess < found[0] < found[1]


@pytest.mark.parametrize("excess", [0.0, 1e-4, 3e-3])
@pytest.mark.parametrize("slope", [-1.0, 0.5, 2.0])
def test_a_proved_margin_holds_for_logistic_losses(excess: float, slope: float) -> None:
    """One row and its opposite, in one dimension: every centre of that excess, both ends."""
    ridge, psi = 0.05, 0.02

    def loss(t: np.ndarray) -> np.ndarray:
        return (np.logaddexp(0, t) + np.logaddexp(0, -3 * t + slope)) / 2 + ridge / 2 * t**2

    axis = np.linspace(-8, 8, 400_001)
    values = loss(axis)
    least = values.min()
    at = axis[np.flatnonzero(np.diff(np.sign(values - least - max(excess, 1e-12))))]
    share = proved_margin(psi=psi, ridge=ridge, bend=3.0, excess=excess)
    assert 0 < share <= 1
    for centre in at:
        near = centre + 1e-4 * np.array([-1, 0, 1])
        curvature = np.diff(loss(near), 2)[0] / 1e-8
        reach = math.sqrt(2 * share * psi / curvature)
        ends = loss(np.array([centre - reach, centre + reach]))
        assert ends.max() - least <= psi * (1 + 1e-3)


def test_a_margin_of_a_quadratic_loss_is_sharp() -> None:
    """(√(aψ) + √e)² = ψ: no larger margin can be proved."""
    for excess in (1e-4, 5e-3):
        share = proved_margin(psi=0.02, ridge=0.1, bend=0.0, excess=excess)
        assert (math.sqrt(share * 0.02) + math.sqrt(excess)) ** 2 == pytest.approx(0.02, rel=1e-4)


def test_nothing_is_proved_without_reason() -> None:
    assert proved_margin(psi=0.02, ridge=0.1, bend=1.0, excess=0.02) == 0.0
    assert proved_margin(psi=0.02, ridge=0.0, bend=1.0, excess=0.001) == 0.0
    assert third_derivative_bound(get_loss("smoothed_hinge"), 1.0) is None
    assert third_derivative_bound(SoftmaxLoss(3), 1.0) == pytest.approx(math.sqrt(2))
    assert third_derivative_bound(SoftmaxLoss(2), 1.0) == 1.0


def test_a_promise_is_made_where_it_is_proved_and_nowhere_else() -> None:
    sure = plan_ellipsoid(**ROWS, psi=0.05, ridge=0.2, **BUDGET)
    assert sure.has_hit_rate and has_hit_rate(sure) and sure.hit_rate_bound == 0.9
    assert "at least 90 %" in explain(sure)
    wide = plan_ellipsoid(**ROWS, psi=0.05, ridge=0.2, **BUDGET, margin=1.0)
    assert not wide.has_hit_rate and not has_hit_rate(wide)
    unsure = plan_ellipsoid(**ROWS, psi=0.05, ridge=0.003, **BUDGET)
    assert not unsure.has_hit_rate and weak_guarantee_reason(unsure) == ""
    assert "no hit rate is guaranteed" in explain(unsure)
    assert "hit rate, ≥" not in str(unsure) and "90" not in repr(unsure)


def test_a_hopeless_centre_is_said_before_anything_is_charged() -> None:
    with pytest.warns(WeakGuaranteeWarning, match="centre of all draws"):
        plan_ellipsoid(**{**ROWS, "n": 700, "p": 72}, psi=0.02, ridge=0.01, **BUDGET)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"delta": 0.0}, "delta must be"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"psi": -1.0}, "psi must be"),
        ({"n_draws": 0}, "n_draws must be"),
        ({"margin": 2.0}, "margin must be"),
        ({"loss": "hinge"}, "kinks"),
    ],
)
def test_bad_numbers_are_refused(changes: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        plan_ellipsoid(**{**ROWS, "psi": 0.05, **BUDGET, **changes})  # type: ignore[arg-type]


def test_an_offer_says_why_it_is_none() -> None:
    usual = {**ROWS, "psi": 0.05, "loss": "logistic", "ridge": 0.0, **BUDGET, "n_draws": 3}
    mechanism = MECHANISMS["ellipsoid"]
    assert mechanism.offer(Request(**usual)).applies
    assert "delta" in mechanism.offer(Request(**{**usual, "delta": 0.0})).why
    assert "kinks" in mechanism.offer(Request(**{**usual, "loss": "hinge"})).why


@pytest.mark.parametrize("ridge", [0.0, 0.003])
@pytest.mark.parametrize("mu", [0.05, 2.0])
def test_accelerated_descent_is_a_langevin_path_with_its_price_and_its_bound(ridge, mu) -> None:
    constants = constants_of(ridge=ridge)
    centre = by_acceleration(constants, 4.0, mu, 0.7)
    beta, moved = 2 / (centre.step_size * centre.noise**2), data_slope(constants, Ball(4.0))
    steps = centre.n_steps
    scales = [centre.noise * math.sqrt((steps + 1) / (2 * t)) for t in range(1, steps + 1)]
    assert math.sqrt(sum((moved / scale) ** 2 for scale in scales)) == pytest.approx(mu, rel=1e-9)
    time = centre.step_size / beta
    path = path_guarantee(beta=beta, sensitivity=moved, step_size=time, n_steps=steps, n_chains=1)
    assert path.mu == pytest.approx(mu, rel=1e-9)
    far = min(4.0, math.sqrt(2 * 0.7 / ridge)) if ridge else 4.0
    bound = accelerated_path_excess(
        p=40, beta=beta, M=constants.M, distance=far, step_size=time, n_steps=steps
    )
    assert centre.excess == pytest.approx(bound, rel=1e-9)


def test_of_momentum_only_markovs_inequality_is_known() -> None:
    constants = constants_of(ridge=0.2)
    centre = by_acceleration(constants, 4.0, 1.0, 0.7)
    assert excess_quantile(centre, constants, 0.05) == centre.excess / 0.05
    assert best_centre(constants, 4.0, 1.0, 0.7).name != "accelerated"
