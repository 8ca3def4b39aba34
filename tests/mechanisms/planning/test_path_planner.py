"""Plans of noisy paths: the budget kept, the bound true, and close to the best there is."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.bounds import accelerated_path_excess
from rashomon_explorer.mechanisms.certificates.sensitivity import gradient_sensitivity
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.privacy.composition import adaptive_epsilon
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

PLANS = {
    "n": st.sampled_from([100, 6_000, 50_000, 10**6]),
    "p": st.integers(1, 60),
    "psi": st.sampled_from([0.0, 0.005, 0.02, 0.3]),
    "radius": st.floats(0.1, 20.0),
    "row_norm": st.floats(0.2, 3.0),
    "epsilon": st.floats(0.05, 20.0),
    "delta": st.sampled_from([1e-9, 1e-6, 1e-3]),
    "n_draws": st.integers(1, 100),
    "max_steps": st.sampled_from([1, 50, 10_000]),
}


@given(**PLANS)
@settings(max_examples=80)
def test_the_budget_is_kept_and_the_bound_is_the_theorems(n, p, psi, max_steps, **given):
    planned = plan_path(n, p, psi, max_steps=max_steps, **given)
    assert planned.guarantee.epsilon(given["delta"]) <= given["epsilon"]
    assert 1 <= planned.n_steps <= max_steps
    constants = Constants.of(
        "logistic", n=n, p=p, domain=Ball(given["radius"]), row_bound=given["row_norm"]
    )
    bound = accelerated_path_excess(
        p=p,
        beta=planned.beta,
        M=constants.M + (constants.L**2 / planned.width if planned.width else 0),
        distance=given["radius"],
        step_size=planned.step_size,
        n_steps=planned.n_steps,
        psi=psi,
        width=planned.width,
    )
    assert planned.excess_bound == pytest.approx(bound)


@pytest.mark.parametrize("psi", [0.0, 0.02])
@pytest.mark.parametrize("max_steps", [100, 10_000])
def test_no_other_temperature_time_and_width_promise_much_more(psi, max_steps):
    n, p, radius, budget = 50_000, 11, 4.0, {"epsilon": 1.0, "delta": 1e-6}
    planned = plan_path(n, p, psi, radius=radius, row_norm=1.5, max_steps=max_steps, **budget)
    constants = Constants.of("logistic", n=n, p=p, domain=Ball(radius), row_bound=1.5)
    best, mu = math.inf, gdp_mu(1.0, 1e-6)
    for width in [0.0] if psi == 0 else np.geomspace(1e-3, 10, 60):
        delta = gradient_sensitivity(constants, psi, width=width)
        for beta in np.geomspace(1, 1e6, 120):
            time = 2 * mu**2 / (beta * delta) ** 2
            bend = constants.M + (constants.L**2 / width if width else 0)
            if 4 * bend * beta * time >= (max_steps + 1) ** 2:
                continue  # not stable
            bound = accelerated_path_excess(
                p=p,
                beta=beta,
                M=bend,
                distance=radius,
                step_size=time / max_steps,
                n_steps=max_steps,
                psi=psi,
                width=width,
            )
            best = min(best, bound)
    assert planned.excess_bound <= 1.12 * best


def test_more_budget_rows_and_steps_promise_more():
    common = {"radius": 4.0, "row_norm": 1.5, "delta": 1e-6}
    base = plan_path(50_000, 11, 0.02, epsilon=1.0, **common).excess_bound
    assert plan_path(50_000, 11, 0.02, epsilon=2.0, **common).excess_bound < base
    assert plan_path(200_000, 11, 0.02, epsilon=1.0, **common).excess_bound < base
    assert plan_path(50_000, 11, 0.02, epsilon=1.0, n_draws=5, **common).excess_bound > base
    assert plan_path(50_000, 11, 0.02, epsilon=1.0, max_steps=50, **common).excess_bound > base


def test_a_ledger_takes_what_was_planned_for_it():
    common = {"radius": 4.0, "row_norm": 1.5, "epsilon": 1.0, "delta": 1e-6}
    for ledger in (False, True):
        planned = plan_path(50_000, 11, 0.02, ledger=ledger, **common)
        assert (adaptive_epsilon([planned.guarantee], 1e-6) <= 1.0) == ledger


def test_a_plan_is_a_plan_without_a_pure_price():
    planned = plan_path(1000, 3, 0.02, radius=2.0, row_norm=1.0, epsilon=1.0, delta=1e-6)
    assert planned.eta == math.inf and planned.hit_rate_bound == 0.0
    charged = path_guarantee(
        beta=planned.beta,
        sensitivity=planned.sensitivity,
        step_size=planned.step_size,
        n_steps=planned.n_steps,
    )
    assert charged == planned.guarantee


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"psi": -1.0}, "psi must be finite and >= 0"),
        ({"width": 0.0}, "width must be finite, and > 0 exactly if psi is"),
        ({"psi": 0.0, "width": 0.1}, "width must be finite, and > 0 exactly if psi is"),
        ({"delta": 0.0}, r"delta must be in \(0, 1\)"),
        ({"n_draws": 0}, "n_draws must be a whole number, at least 1"),
        ({"max_steps": 1.5}, "max_steps must be a whole number, at least 1"),
        ({"loss": "hinge"}, "hinge loss has kinks"),
    ],
)
def test_plans_that_cannot_be_made_are_refused(change, message):
    common = {"n": 100, "p": 3, "psi": 0.02, "radius": 2.0, "row_norm": 1.0, "epsilon": 1.0}
    with pytest.raises(ValueError, match=message):
        plan_path(**{**common, "delta": 1e-6, **change})
