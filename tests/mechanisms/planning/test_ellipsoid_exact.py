"""Two stages as planned: what they cost together, what is promised, and how large the ellipsoid."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.bounds.hit_rate import guaranteed_hit_rate
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import (
    WIDEST,
    ellipsoid_hit_rate,
    expected_margin,
    plan_ellipsoid_exact,
    two_stages,
)
from rashomon_explorer.mechanisms.ellipsoid.plan import plan_ellipsoid
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.centres import by_gradients, by_output, excess_at_most
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import bounded_range, compose, gdp
from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.sets.files import plan_from_values, plan_values

ROWS = {"n": 200_000, "p": 20, "psi": 0.05, "radius": 4.0, "row_norm": 1.4}
BUDGET = {"epsilon": 4.0, "delta": 1e-6}


def bought(**changed):
    with suppress_weak_warnings():
        return plan_ellipsoid_exact(**{**ROWS, **BUDGET, "n_draws": 20, **changed})


@pytest.mark.parametrize("ledger", [False, True])
@pytest.mark.parametrize("draws", [1, 20, 1_000])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_both_stages_together_cost_what_was_asked_for(epsilon, draws, ledger) -> None:
    planned = bought(epsilon=epsilon, n_draws=draws, ledger=ledger)
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
def test_a_share_is_that_of_the_draws(share) -> None:
    planned = bought(share=share)
    assert planned.first_rho / planned.guarantee.rho == pytest.approx(1 - share, rel=1e-9)
    assert planned.draw_eta == pytest.approx(planned.beta * planned.oscillation, rel=1e-12)


def test_the_temperature_is_priced_on_the_whole_ball_with_the_minimums_error() -> None:
    """min L is that of the ball: where it lies, a record moves it by as much as the ball allows."""
    constants = Constants.of("logistic", n=200_000, p=20, domain=Ball(4.0), row_bound=1.4)
    assert bought().oscillation == constants.osc + 2 * constants.gap_tolerance


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_what_is_promised_is_the_best_of_two_proofs(ridge) -> None:
    planned = bought(ridge=ridge)
    constants = Constants.of(
        "logistic", n=200_000, p=20, domain=Ball(4.0), row_bound=1.4, ridge=ridge
    )

    def excess(q):
        return excess_at_most(planned.centre, constants, 4.0, planned.zero_loss, q)

    tail = ellipsoid_hit_rate(20, planned.beta, 0.05, excess)
    assert planned.hit_rate_bound in (tail, 0.9)
    assert planned.hit_rate_bound >= tail
    assert planned.hit_rate_bound > 0.2


def test_no_promise_is_made_of_a_centre_that_may_be_outside_the_set() -> None:
    with pytest.warns(WeakGuaranteeWarning, match="centre of all draws"):
        planned = plan_ellipsoid_exact(**{**ROWS, "n": 1_000}, **BUDGET)
    assert planned.hit_rate_bound == 0 and not planned.has_hit_rate


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_a_cone_is_hit_as_often_as_is_promised(p, offset) -> None:
    """L = ‖θ − θ*‖ on a ball around a centre off by e, which is the law's worst case but for e."""
    beta, psi = 12.0, 1.0

    def mass(low, high):
        law = lambda r: r ** (p - 1) * math.exp(-beta * max(r + offset - psi, 0.0))  # noqa: E731
        return quad(law, low, high, points=[psi - offset], limit=200)[0]

    hits = mass(0, psi - offset) / mass(0, 40.0)
    known = guaranteed_hit_rate(p, beta, psi - offset)
    assert known == pytest.approx(hits, rel=1e-6)
    certain = ellipsoid_hit_rate(p, beta, psi, lambda q: offset)
    assert 0.95 * hits <= certain <= hits


def test_a_centre_is_believed_no_further_than_its_bound_allows() -> None:
    constants = Constants.of("logistic", n=9_000, p=4, domain=Ball(4.0), row_bound=1.4, ridge=0.1)
    for centre in (by_output(constants, 4.0, 0.5, 0.7), by_gradients(constants, 4.0, 0.5, 0.7)):
        outside = [excess_at_most(centre, constants, 4.0, 0.9, q) for q in (0.02, 0.5)]
        assert outside == [centre.excess / 0.02, centre.excess / 0.5]
        assert excess_at_most(centre, constants, 4.0, 0.7, 0.02) < outside[0]


@pytest.mark.parametrize(
    ("p", "steep", "share"), [(4, 30.0, 0.1), (12, 60.0, 0.3), (60, 80.0, 0.0)]
)
def test_nine_in_ten_draws_hit_on_the_ellipsoid_of_a_quadratic_loss(p, steep, share) -> None:
    """The size by quadrature of heights t, density t^{p/2−1}·exp(−βψ(t − t₀)₊)."""
    margin, top = expected_margin(p, steep, share), 1 - share

    def shares(size):
        law = lambda t: (t / top) ** (p / 2 - 1) * math.exp(-steep * max(t - top, 0.0))  # noqa: E731
        inside, outside = quad(law, 0, top)[0], quad(law, top, size)[0]
        uniform = quad(lambda t: (t / top) ** (p / 2 - 1), 0, size)[0]
        return inside / (inside + outside), (inside + outside) / uniform

    hits, kept = shares(margin)
    assert hits >= 0.899 and kept >= 0.0499
    larger = shares(1.02 * margin)
    assert margin == WIDEST or larger[0] < 0.9 or larger[1] < 0.05


def test_a_steeper_law_allows_a_larger_ellipsoid_and_a_worse_centre_a_smaller() -> None:
    sizes = [expected_margin(10, steep, 0.1) for steep in (0.0, 10.0, 100.0)]
    assert sizes == sorted(sizes) and sizes[0] < 1 < sizes[-1]
    sizes = [expected_margin(10, 10.0, share) for share in (0.0, 0.5, 1.0)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 0


def test_a_proved_ellipsoid_keeps_its_promise() -> None:
    rows = {**ROWS, "n": 50_000, "p": 40, "psi": 0.02, "ridge": 0.1}
    planned = plan_ellipsoid_exact(**rows, **BUDGET)
    assert planned.hit_rate_bound == 0.9
    again = plan_ellipsoid_exact(**rows, **BUDGET, margin=1.0)
    assert planned.margin < 1 and again.margin == 1 and again.hit_rate_bound < 0.9


def test_it_offers_itself_where_there_is_a_hessian_and_a_delta() -> None:
    mechanism = MECHANISMS["ellipsoid_exact"]
    rows = {**ROWS, **BUDGET, "loss": "logistic", "ridge": 0.0, "n_draws": 20}
    offer = mechanism.offer(Request(**rows))
    assert offer.applies and not offer.uniform and offer.hit_rate == offer.plan.hit_rate_bound
    assert mechanism.offer(Request(**{**rows, "delta": 0.0})).why == "needs delta > 0"
    assert "kinks" in mechanism.offer(Request(**{**rows, "loss": "hinge"})).why


def test_words_say_price_law_promise_and_what_is_left_out() -> None:
    for planned in (bought(), bought(n=40_000)):
        told = explain(planned)
        assert f"{planned.draw_eta:.3g}"[:4] in told and "together" in told
        assert "exactly the thresholded law" in told
        assert ("At least" in told) == planned.has_hit_rate
        assert "outside the ellipsoid are never drawn" in told
        assert "β = " in str(planned) and not planned.of_exact_draws


def test_a_plan_is_kept_in_files() -> None:
    planned = bought()
    assert plan_from_values(plan_values(planned)) == planned


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"margin": 0.0}, "margin"),
        ({"share": 1.0}, "share"),
        ({"psi": -1.0}, "psi"),
        ({"loss": "hinge"}, "kinks"),
        ({"delta": 0.0}, "delta"),
    ],
)
def test_numbers_out_of_range_are_refused(changed, message) -> None:
    with pytest.raises(ValueError, match=message):
        bought(**changed)


def test_draws_are_paid_beside_the_ellipsoid_and_not_instead() -> None:
    planned = bought()
    alone = plan_ellipsoid(**ROWS, **BUDGET)
    assert planned.centre.excess > alone.centre.excess
    assert two_stages(gdp(1.0), 2.0, 3).rho == pytest.approx(0.5 + 3 * 4 / 8)
    assert replace(planned.guarantee, rho=planned.first_rho).epsilon(1e-6) < 4.0
    assert np.isfinite(planned.beta) and math.isinf(planned.eta)
