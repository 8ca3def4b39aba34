"""A plan spends its budget, all of it, and never more; and it promises what the laws allow."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.losses import SquaredLoss
from rashomon_explorer.privacy import (
    affordable_eta,
    bounded_range,
    compose,
    expected_excess_bound,
    guaranteed_hit_rate,
    plan,
)

EPSILONS = st.floats(-8, 3).map(lambda power: 10.0**power)
DELTAS = st.one_of(st.just(0.0), st.floats(-300, math.log10(0.9)).map(lambda power: 10.0**power))
DRAWS = st.integers(1, 300)


def price(eta: float, delta: float, n_draws: int) -> float:
    return compose([bounded_range(eta)] * n_draws).epsilon(delta)


@given(EPSILONS, DELTAS, DRAWS)
def test_spends_at_most_the_budget_and_almost_all_of_it(
    epsilon: float, delta: float, n_draws: int
) -> None:
    eta = affordable_eta(epsilon, delta, n_draws)
    assert eta > 0
    assert price(eta, delta, n_draws) <= epsilon
    assert price(eta * (1 + 1e-9), delta, n_draws) > epsilon * (1 - 1e-9)


@given(EPSILONS, DELTAS, DRAWS, st.floats(1.01, 10))
def test_monotone_in_every_argument(
    epsilon: float, delta: float, n_draws: int, factor: float
) -> None:
    eta = affordable_eta(epsilon, delta, n_draws)
    assert affordable_eta(epsilon * factor, delta, n_draws) >= eta
    assert affordable_eta(epsilon, delta / factor, n_draws) <= eta * (1 + 1e-12)
    assert affordable_eta(epsilon, delta, n_draws + 1) <= eta


@given(EPSILONS, DRAWS)
def test_without_delta_the_price_is_an_equal_share(epsilon: float, n_draws: int) -> None:
    assert affordable_eta(epsilon, 0.0, n_draws) == pytest.approx(epsilon / n_draws, rel=1e-15)


def test_many_draws_are_cheap_with_delta() -> None:
    assert affordable_eta(1.0, 1e-6, 10_000) > 10 * affordable_eta(1.0, 0.0, 10_000)


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
    assert bought.oscillation == constants.priced_osc > constants.osc
    assert bought.beta * bought.oscillation == pytest.approx(bought.eta)
    assert bought.guarantee.epsilon(delta) <= epsilon
    assert bought.guarantee.epsilon(delta) >= epsilon * (1 - 1e-9)
    assert bought.hit_rate_bound == guaranteed_hit_rate(p, bought.beta, psi)
    assert bought.excess_bound == expected_excess_bound(p, bought.beta, psi)
    assert bought.loss == loss


def test_ridge_changes_no_price() -> None:
    bare = plan(1000, 5, 0.01, radius=2.0, row_norm=1.0, epsilon=1.0)
    assert plan(1000, 5, 0.01, radius=2.0, row_norm=1.0, epsilon=1.0, ridge=3.0) == bare


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
