"""Ways to spend a budget: each true to its plan, sorted, and a front that none beats."""

import math
from typing import Any

import numpy as np
import pytest

from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.bounds.hit_rate import unthresholded_hit_rate
from rashomon_explorer.mechanisms.planning.options import pareto_table, plan_options
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import ZCDP, Offer, Request
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import compose
from rashomon_explorer.problem.problem import Problem
from tests.papers.by_hand import regularised

ROWS: dict[str, Any] = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
ASKED: dict[str, Any] = {**ROWS, "epsilon": 4.0, "delta": 1e-6, "n_draws": 20}


def by_name(**asked: Any) -> dict[str, Offer]:
    return {option.name: option for option in plan_options(**{**ASKED, **asked})}


def test_every_option_stays_within_the_budget_and_says_why() -> None:
    for ridge in (0.0, 0.1):
        for option in plan_options(**ASKED, ridge=ridge):
            assert option.why
            if option.applies:
                assert option.guarantee is not None
                assert option.guarantee.epsilon(1e-6) <= 4.0 * (1 + 1e-12)
                assert 0 <= option.hit_rate <= 1
            else:
                assert option.guarantee is None
    private = {name for name, kind in MECHANISMS.items() if not kind.traits.curator_only}
    assert {option.name for option in plan_options(**{**ASKED, "n_draws": 1})} == private
    several = {name for name in private if not MECHANISMS[name].traits.one_model}
    assert {option.name for option in plan_options(**ASKED)} == several


def test_the_best_comes_first_and_what_shows_the_whole_set_before_what_does_not() -> None:
    options = plan_options(**ASKED, ridge=0.1)
    assert [option.name for option in options[:2]] == ["exact", "finite_grid"]
    assert options[0].hit_rate > options[1].hit_rate
    assert not options[2].uniform
    assert not options[-1].applies or all(option.applies for option in options)


def test_without_ridge_or_delta_less_applies() -> None:
    assert by_name()["exact"].why == "oscillation" != by_name(ridge=0.1)["exact"].why
    pure = by_name(delta=0.0, ridge=0.1)
    assert not pure["langevin_average"].applies and "delta" in pure["langevin_average"].why
    assert not by_name(loss="hinge")["langevin_average"].applies
    assert pure["exact"].beta == plan(**{**ASKED, "delta": 0.0}).beta


def test_nothing_is_promised_of_a_set_without_width() -> None:
    assert all(option.hit_rate == 0 for option in plan_options(**{**ASKED, "psi": 0.0}))


def test_the_front_is_what_no_other_row_beats() -> None:
    table = pareto_table(**ROWS, ridge=0.1, delta=1e-6, epsilons=[1.0, 4.0], n_draws=[1, 10])
    asked = [{"epsilon": e, "n_draws": k, "ridge": 0.1} for e in (1.0, 4.0) for k in (1, 10)]
    assert len(table) == sum(one.applies for some in asked for one in by_name(**some).values())
    for _, row in table.iterrows():
        beaten = (
            (table.epsilon <= row.epsilon)
            & (table.n_draws >= row.n_draws)
            & (table.hit_rate >= row.hit_rate)
            & (table.uniform >= row.uniform)
            & (
                (table.epsilon < row.epsilon)
                | (table.n_draws > row.n_draws)
                | (table.hit_rate > row.hit_rate)
                | (table.uniform > row.uniform)
            )
        )
        assert row.front == (not beaten.any())
    # With ridge and several draws, bounded range alone is beaten.
    assert not table[(table.option == "finite_grid") & (table.n_draws > 1)].front.any()


@pytest.mark.parametrize("name", ["exact", "finite_grid", "unthresholded"])
def test_exact_draws_keep_what_their_option_promises(name: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3)) / 3
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    problem = Problem(X, y, radius=4.0, row_norm=1.0, ridge=0.1)
    sizes = {"n": 3000, "p": problem.p, "psi": 0.02, "radius": 4.0, "row_norm": problem.row_bound}
    found = plan_options(**sizes, ridge=0.1, epsilon=6.0, delta=1e-6, n_draws=2)
    option = next(option for option in found if option.name == name)
    psi = 0.0 if name == "unthresholded" else 0.02
    draws = collect(ExactSampler(), GibbsTarget(problem, option.beta, psi), 400, rng)
    excess = draws.losses - problem.minimum.value
    assert np.mean(excess <= 0.02) >= option.hit_rate - 3 * math.sqrt(0.25 / 400)
    assert excess.mean() <= option.excess * 1.1
    assert option.hit_rate > 0.1


def one_model_problem(ridge: float) -> Problem:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3)) / 3
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    return Problem(X, y, radius=2.0, row_norm=1.0, ridge=ridge)


def test_a_ridge_s_own_cost_is_in_its_promise() -> None:
    """Negative control: under a large ridge draws keep the promise, and not that without ½mR²."""
    problem = one_model_problem(0.0)
    one = regularised(epsilon=30.0, ridge=2.0)
    bought, rng = one.plan(problem), np.random.default_rng(0)
    theta = np.column_stack([one.draw(problem, rng) for _ in range(8)])
    excess = problem.value(theta) - problem.minimum.value
    assert bought.p / bought.beta < excess.mean() <= bought.excess_bound
    assert bought.hit_rate(excess.min() / 2) == 0.0
    assert unthresholded_hit_rate(bought.p, bought.beta, excess.min() / 2) > 0.5


def test_bad_numbers_are_refused_as_in_a_plan() -> None:
    with pytest.raises(ValueError, match="epsilon must be"):
        plan_options(**{**ASKED, "epsilon": -1.0})
    with pytest.raises(ValueError, match="radius must be"):
        pareto_table(**{**ROWS, "radius": 0.0})


def test_a_ledger_s_offers_stay_within_the_budget_as_it_adds_up() -> None:
    for ridge in (0.0, 0.1):
        for offer in plan_options(**ASKED, ridge=ridge, ledger=True):
            if offer.guarantee is not None:
                assert compose([offer.guarantee]).epsilon(1e-6) <= 4.0 * (1 + 1e-12)
    best = MECHANISMS["exact"].offer(Request(**ASKED, loss="logistic", ridge=0.1, ledger=ZCDP))
    assert best.why == "oscillation"


def test_an_offer_is_carried_out_by_its_plan() -> None:
    for ridge in (0.0, 0.1):
        for offer in plan_options(**ASKED, ridge=ridge):
            assert offer.applies == (offer.plan is not None)
            if isinstance(offer.plan, Plan):
                assert offer.beta == offer.plan.beta and offer.guarantee == offer.plan.guarantee
