"""A plan spends its budget, all of it, and never more; and it promises what the laws allow."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.bounds.hit_rate import (
    beta_for_hit_rate,
    guaranteed_hit_rate,
    sharp_excess_bound,
)
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.pricing import affordable_eta, draws_guarantee
from rashomon_explorer.privacy import adaptive_epsilon, gdp, zcdp
from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.squared import SquaredLoss

EPSILONS = st.floats(-8, 3).map(lambda power: 10.0**power)
DELTAS = st.one_of(st.just(0.0), st.floats(-30, math.log10(0.9)).map(lambda power: 10.0**power))
DRAWS = st.integers(1, 300)
QUICKLY = settings(max_examples=50, deadline=None)


@given(EPSILONS, DELTAS, DRAWS, st.booleans())
@QUICKLY
def test_spends_at_most_the_budget_and_almost_all_of_it(
    epsilon: float, delta: float, n_draws: int, ledger: bool
) -> None:
    eta = affordable_eta(epsilon, delta, n_draws, ledger=ledger)
    assert eta > 0
    assert draws_guarantee(eta, n_draws, ledger=ledger).epsilon(delta) <= epsilon
    more = draws_guarantee(eta * (1 + 1e-6), n_draws, ledger=ledger)
    assert more.epsilon(delta) > epsilon * (1 - 1e-6)


@given(EPSILONS, DELTAS, DRAWS, st.floats(1.01, 10), st.booleans())
@QUICKLY
def test_monotone_in_every_argument(
    epsilon: float, delta: float, n_draws: int, factor: float, ledger: bool
) -> None:
    eta = affordable_eta(epsilon, delta, n_draws, ledger=ledger)
    assert affordable_eta(epsilon * factor, delta, n_draws, ledger=ledger) >= eta * (1 - 1e-9)
    assert affordable_eta(epsilon, delta / factor, n_draws, ledger=ledger) <= eta * (1 + 1e-9)
    assert affordable_eta(epsilon, delta, n_draws + 1, ledger=ledger) <= eta * (1 + 1e-9)


@given(EPSILONS, DELTAS, DRAWS)
@QUICKLY
def test_one_batch_costs_no_more_than_a_ledger_charges(
    epsilon: float, delta: float, n_draws: int
) -> None:
    by_ledger = affordable_eta(epsilon, delta, n_draws, ledger=True)
    assert affordable_eta(epsilon, delta, n_draws) >= by_ledger * (1 - 1e-9)


@given(EPSILONS, DRAWS)
def test_without_delta_the_price_is_an_equal_share(epsilon: float, n_draws: int) -> None:
    assert affordable_eta(epsilon, 0.0, n_draws) == pytest.approx(epsilon / n_draws, rel=1e-15)


def test_many_draws_are_cheap_with_delta() -> None:
    assert affordable_eta(1.0, 1e-6, 10_000) > 10 * affordable_eta(1.0, 0.0, 10_000)


ROWS: dict[str, Any] = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}


@pytest.mark.parametrize("certificate", ["oscillation", "best"])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_two_of_budget_draws_and_hit_rate_settle_the_third(certificate: str, ridge: float) -> None:
    asked = {**ROWS, "delta": 1e-6, "ridge": ridge, "certificate": certificate}
    cheapest = plan(**asked, hit_rate=0.9, n_draws=7)
    assert cheapest.n_draws == 7
    assert 0.9 <= cheapest.hit_rate_bound < 0.9 + 1e-9
    assert cheapest.guarantee.epsilon(1e-6) == cheapest.epsilon
    bought = plan(**asked, epsilon=cheapest.epsilon, n_draws=7)
    assert bought.hit_rate_bound == pytest.approx(0.9, rel=1e-6)
    most = plan(**asked, epsilon=cheapest.epsilon * (1 + 1e-9), hit_rate=0.9)
    assert most.n_draws == 7
    assert most.guarantee.epsilon(1e-6) <= most.epsilon
    assert plan(**asked, hit_rate=0.9, n_draws=8).epsilon > most.epsilon


def test_a_ridge_makes_the_best_certificate_colder_and_a_ledger_takes_what_proves_zcdp() -> None:
    asked = {**ROWS, "delta": 1e-6, "ridge": 0.1, "epsilon": 4.0, "n_draws": 20}
    plain, best = plan(**asked), plan(**asked, certificate="best")
    assert (plain.certificate, best.certificate) == ("oscillation", "localised")
    assert best.beta > 2 * plain.beta
    assert best.guarantee.epsilon(1e-6) <= 4.0
    assert best.guarantee.epsilon(0.0) == math.inf  # and not the pure DP of bounded range
    assert plan(**{**asked, "delta": 0.0}, certificate="best").certificate == "oscillation"
    charged = plan(**asked, certificate="best", ledger=True)
    assert charged.certificate == "oscillation"  # the best one loses some δ outright
    bare = {**asked, "psi": 0.0, "n_draws": 3}
    plain, best = (plan(**bare, certificate=one, ledger=True) for one in ("oscillation", "best"))
    assert best.certificate == "gaussian_gibbs" and best.beta > 10 * plain.beta
    held = best.guarantee
    assert math.isinf(held.mu) and held.approximate_delta == 0.0 and held.requested == (4.0, 1e-6)
    assert 3.9999 < adaptive_epsilon([held], 1e-6) <= 4.0
    whole = adaptive_epsilon([held], 1e-6, order=filter_order(20.0, 1e-6))  # of a larger budget
    assert whole <= 4.0
    assert plan(**{**bare, "delta": 0.0}, certificate="best", ledger=True).by_bounded_range


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "give epsilon, hit_rate, or both"),
        ({"epsilon": 1.0, "hit_rate": 0.9, "n_draws": 3}, "determine the third: omit one"),
        ({"epsilon": 0.5, "hit_rate": 0.9}, "one draw with a hit rate of at least 0.9 costs ε=1.3"),
        ({"hit_rate": 1.0}, r"hit_rate must be in \(0, 1\)"),
        ({"hit_rate": 0.9, "psi": 0.0}, "psi must be finite and > 0 for a guaranteed hit rate"),
        ({"epsilon": 1.0, "certificate": "worst"}, "certificate must be 'oscillation' or 'best'"),
    ],
)
def test_wishes_that_settle_nothing_are_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(**{**ROWS, **asked})


def test_the_words_of_a_plan_tell_its_numbers() -> None:
    told = explain(plan(**ROWS, epsilon=1.0, ledger=True))
    assert told.startswith("1 exact draw costs ε = 1, at δ = 0, by the ledger's composition rule.")
    assert "At least 86 %" in told and "For 90 % it takes ε = 1.307" in told
    assert "certificate “localised”" in explain(
        plan(**ROWS, epsilon=1.0, delta=1e-6, ridge=0.1, certificate="best")
    )
    path = plan_path(**ROWS, epsilon=1.0, delta=1e-6, n_draws=3)
    assert "3 chains cost ε = 1 together" in explain(path)
    assert "No hit rate" in explain(plan(**{**ROWS, "psi": 0.0}, epsilon=1.0))


@pytest.mark.parametrize("p", [1, 11, 200])
@pytest.mark.parametrize("wanted", [1e-6, 0.5, 0.9, 1 - 1e-9])
def test_the_least_temperature_of_a_hit_rate(p: int, wanted: float) -> None:
    beta = beta_for_hit_rate(p, 0.02, wanted)
    assert guaranteed_hit_rate(p, beta, 0.02) >= wanted
    assert guaranteed_hit_rate(p, beta * (1 - 1e-9), 0.02) < wanted * (1 + 1e-9)


def test_a_large_delta_pays_for_a_draw_of_its_own() -> None:
    """Total variation of η-bounded range is below η/2: δ = 0.3 alone covers η = 0.6."""
    assert affordable_eta(1e-8, 0.3, 1) > 0.5


@given(
    st.integers(10, 10**6),
    st.integers(1, 200),
    st.floats(0, 1),
    st.sampled_from(["logistic", "squared"]),
    st.floats(0.1, 10),
    st.floats(0.1, 3),
    st.floats(0.01, 50),
    st.sampled_from([0.0, 1e-9, 1e-5]),
    st.integers(1, 100),
)
def test_the_numbers_of_a_plan_agree(
    n: int,
    p: int,
    psi: float,
    loss: str,
    radius: float,
    row_norm: float,
    epsilon: float,
    delta: float,
    n_draws: int,
) -> None:
    bought = plan(
        n,
        p,
        psi,
        loss=loss,
        radius=radius,
        row_norm=row_norm,
        epsilon=epsilon,
        delta=delta,
        n_draws=n_draws,
    )
    constants = Constants.of(loss, n=n, p=p, domain=Ball(radius), row_bound=row_norm)
    assert bought.oscillation == constants.charged_oscillation > constants.osc
    assert bought.beta * bought.oscillation == pytest.approx(bought.eta)
    assert bought.guarantee.epsilon(delta) <= epsilon
    assert bought.guarantee.epsilon(delta) >= epsilon * (1 - 1e-9)
    assert bought.hit_rate_bound == guaranteed_hit_rate(p, bought.beta, psi)
    assert bought.excess_bound == sharp_excess_bound(p, bought.beta, psi)
    assert bought.loss == loss


def test_ridge_changes_no_price() -> None:
    bare = plan(1000, 5, 0.01, radius=2.0, row_norm=1.0, epsilon=1.0)
    ridged = plan(1000, 5, 0.01, radius=2.0, row_norm=1.0, epsilon=1.0, ridge=3.0)
    assert ridged.ridge == 3.0 and replace(ridged, ridge=bare.ridge) == bare


def test_a_configured_loss_is_priced_as_configured() -> None:
    wide = plan(
        1000, 5, 0.01, loss=SquaredLoss(target_bound=3.0), radius=2.0, row_norm=1.0, epsilon=1.0
    )
    usual = plan(1000, 5, 0.01, loss="squared", radius=2.0, row_norm=1.0, epsilon=1.0)
    assert wide.oscillation > usual.oscillation
    assert wide.beta < usual.beta


def test_twice_the_rows_are_twice_the_temperature() -> None:
    few, many = (plan(n, 5, 0.01, radius=2.0, row_norm=1.0, epsilon=1.0) for n in (1000, 2000))
    assert many.beta == pytest.approx(2 * few.beta)


GOOD: dict[str, Any] = {
    "n": 1000,
    "p": 5,
    "psi": 0.01,
    "radius": 2.0,
    "row_norm": 1.0,
    "epsilon": 1.0,
    "delta": 1e-6,
    "n_draws": 3,
}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n": 0}, "must be a whole number, at least 1"),
        ({"p": 0}, "must be a whole number, at least 1"),
        ({"psi": -0.01}, "psi must be"),
        ({"psi": math.nan}, "psi must be"),
        ({"psi": math.inf}, "psi must be"),
        ({"radius": 0.0}, "radius must be"),
        ({"row_norm": -1.0}, "row_norm must be"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": math.inf}, "epsilon must be"),
        ({"epsilon": math.nan}, "epsilon must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"delta": -1e-9}, "delta must be"),
        ({"n_draws": 0}, "n_draws must be"),
        ({"n_draws": 2.5}, "n_draws must be"),
        ({"loss": "no such loss"}, "loss must be one of"),
    ],
)
def test_errors_name_the_parameter(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(**{**GOOD, **bad})


@pytest.mark.parametrize("psi", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
@pytest.mark.parametrize("delta", [0.0, 1e-320, 1e-300])
def test_a_delta_too_small_for_doubles_buys_nothing(delta, loss, psi):
    """δ(ε) of Gaussian DP is never 0, though e^(−a²/2) may be: it is not pure DP."""
    settings = {"loss": loss, "radius": 4.0, "row_norm": 1.0, "ridge": 1.0}
    bought = plan(
        2000, 2, psi, **settings, epsilon=60.0, delta=delta, n_draws=2, certificate="best"
    )
    assert bought.guarantee.epsilon(delta) <= 60.0
    if delta == 0:
        plain = plan(2000, 2, psi, **settings, epsilon=60.0, n_draws=2)
        assert bought.certificate == "oscillation"
        assert bought.beta == pytest.approx(plain.beta)


def test_approximate_notions_have_a_delta_at_every_epsilon():
    for one in (gdp(mu=1e-3), zcdp(rho=1e-6), gdp(mu=1e-300)):
        assert 0 < one.delta(60.0) < 1e-300
        assert one.epsilon(0.0) == math.inf
