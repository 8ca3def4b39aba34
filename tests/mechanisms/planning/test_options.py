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
    np.testing.assert_allclose(table.hits, table.n_draws * table.hit_rate)
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


ONE_BY_ONE = {"localised": (0.1, 5e-6), "iterated": (0.1, 6e-5), "regularised": (0.0, 0.049)}


def asked_once(**changed: Any) -> Request:
    known = {**ASKED, "n_draws": 1, "delta": 0.0, "loss": "logistic", "ridge": 0.1}
    return Request(**{**known, **changed})


@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.law
def test_models_drawn_one_by_one_keep_what_their_option_promises(name: str) -> None:
    """At a ψ that about every other draw reaches, so that the rate could be missed."""
    ridge, psi = ONE_BY_ONE[name]
    plain, kind = one_model_problem(ridge), MECHANISMS[name]
    sizes = {"n": plain.n, "p": plain.p, "row_norm": plain.row_bound, "radius": 2.0}
    option = kind.offer(asked_once(**sizes, psi=psi, epsilon=30.0, ridge=ridge))
    assert option.plan is not None and option.guarantee is not None
    assert option.guarantee.pure_epsilon == pytest.approx(30.0)
    problem, rng = one_model_problem(option.plan.ridge), np.random.default_rng(0)
    mechanism = kind.for_plan(option.plan)
    theta = np.column_stack([mechanism.draw(problem, rng) for _ in range(60)])
    excess = plain.value(theta) - plain.minimum.value
    assert 0.1 < option.hit_rate <= np.mean(excess <= psi) + 3 * math.sqrt(0.25 / 60)
    assert excess.mean() <= option.excess


@pytest.mark.parametrize("n", [5_000, 1_000_000, 100_000_000])
def test_iterated_draws_offer_themselves_where_a_second_stage_pays(n: int) -> None:
    request = asked_once(n=n, epsilon=0.2)
    offer, plain = (MECHANISMS[name].offer(request) for name in ("iterated", "unthresholded"))
    planned: Any = MECHANISMS["iterated"].plan_for(request)
    assert offer.applies == (len(planned.settings.stages) > 1) == (n > 5_000)
    if not offer.applies:
        assert "unthresholded" in offer.why
        return
    assert offer.excess < plain.excess
    # A stage may lose the minimiser: the bound is below that of the last law alone.
    last = planned.settings
    alone = unthresholded_hit_rate(11, last.beta, 0.02 - last.tolerance)
    assert offer.hit_rate <= alone - last.failure


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge", "smoothed_hinge", "absolute"])
def test_one_model_at_a_time_is_offered_with_or_without_a_ridge(loss: str) -> None:
    plain, ridged = (
        {name: MECHANISMS[name].offer(asked_once(loss=loss, ridge=ridge)) for name in ONE_BY_ONE}
        for ridge in (0.0, 0.1)
    )
    assert [plain[name].applies for name in ONE_BY_ONE] == [True, False, True]
    assert [ridged[name].applies for name in ONE_BY_ONE] == [True, True, False]
    assert "ridge = 0" in ridged["regularised"].why
    for offer in (*plain.values(), *ridged.values()):
        assert offer.guarantee is None or offer.guarantee.epsilon(0.0) <= 4.0 * (1 + 1e-12)


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
