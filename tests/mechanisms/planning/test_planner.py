"""Plans spend their budget, all of it and never more; options are sorted, and form a front."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.bounds import convex_law, hit_rate
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.options import pareto_table, plan_options
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.pricing import affordable_eta, draws_guarantee
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import ZCDP
from rashomon_explorer.privacy import adaptive_epsilon, compose, gdp, zcdp
from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import request_of
from tests.papers.by_hand import regularised

EPSILONS = st.floats(-8, 3).map(lambda power: 10.0**power)
DELTAS = st.one_of(st.just(0.0), st.floats(-30, math.log10(0.9)).map(lambda power: 10.0**power))
ROWS = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
FEW = {"n": 1000, "p": 5, "psi": 0.01, "radius": 2.0, "row_norm": 1.0, "epsilon": 1.0}
BUDGET = {**ROWS, "epsilon": 4.0, "delta": 1e-6, "n_draws": 20}


@given(EPSILONS, DELTAS, st.integers(1, 300), st.floats(1.01, 10), st.booleans())
@settings(max_examples=50)
def test_draws_spend_at_most_the_budget_and_almost_all_of_it(
    epsilon, delta, n_draws, factor, ledger
):
    def affordable(epsilon=epsilon, delta=delta, n_draws=n_draws, ledger=ledger):
        return affordable_eta(epsilon, delta, n_draws, ledger=ledger)

    eta = affordable()
    assert eta > 0 and draws_guarantee(eta, n_draws, ledger=ledger).epsilon(delta) <= epsilon
    more = draws_guarantee(eta * (1 + 1e-6), n_draws, ledger=ledger)
    assert more.epsilon(delta) > epsilon * (1 - 1e-6)
    assert affordable(epsilon=epsilon * factor) >= eta * (1 - 1e-9)
    assert affordable(delta=delta / factor) <= eta * (1 + 1e-9)
    assert affordable(n_draws=n_draws + 1) <= eta * (1 + 1e-9)
    # One batch costs no more than a ledger charges, and without δ the cost is an equal share.
    assert affordable(ledger=False) >= affordable(ledger=True) * (1 - 1e-9)
    equal = affordable(delta=0.0, ledger=False)
    assert equal == pytest.approx(epsilon / n_draws, rel=1e-15)


def test_a_large_delta_pays_for_a_draw_of_its_own():
    """Total variation of η-bounded range is below η/2: δ = 0.3 alone covers η = 0.6."""
    assert affordable_eta(1e-8, 0.3, 1) > 0.5
    assert affordable_eta(1.0, 1e-6, 10_000) > 10 * affordable_eta(1.0, 0.0, 10_000)


@pytest.mark.parametrize("certificate", ["oscillation", "best"])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_two_of_budget_draws_and_hit_rate_settle_the_third(certificate, ridge):
    public = {**ROWS, "delta": 1e-6, "ridge": ridge, "certificate": certificate}
    cheapest = plan(**public, hit_rate=0.9, n_draws=7)
    assert cheapest.n_draws == 7
    assert 0.9 <= cheapest.hit_rate_bound < 0.9 + 1e-9
    assert cheapest.guarantee.epsilon(1e-6) == cheapest.epsilon
    bought = plan(**public, epsilon=cheapest.epsilon, n_draws=7)
    assert bought.hit_rate_bound == pytest.approx(0.9, rel=1e-6)
    most = plan(**public, epsilon=cheapest.epsilon * (1 + 1e-9), hit_rate=0.9)
    assert most.n_draws == 7
    assert most.guarantee.epsilon(1e-6) <= most.epsilon
    assert plan(**public, hit_rate=0.9, n_draws=8).epsilon > most.epsilon


def test_a_ridge_makes_the_best_certificate_colder():
    public = {**BUDGET, "ridge": 0.1}
    plain, best = plan(**public), plan(**public, certificate="best")
    assert (plain.certificate, best.certificate) == ("oscillation", "localised")
    assert best.beta > 2 * plain.beta
    assert best.guarantee.epsilon(1e-6) <= 4.0
    assert best.guarantee.epsilon(0.0) == math.inf  # and not the pure DP of bounded range
    for change in ({"delta": 0.0}, {"ledger": True}):  # the best one loses some δ outright
        assert plan(**{**public, **change}, certificate="best").certificate == "oscillation"


def test_a_ledger_takes_the_best_certificate_that_proves_zcdp():
    public = {**BUDGET, "ridge": 0.1, "psi": 0.0, "n_draws": 3, "ledger": True}
    plain, best = (plan(**public, certificate=one) for one in ("oscillation", "best"))
    assert best.certificate == "gaussian_gibbs" and best.beta > 10 * plain.beta
    found = best.guarantee
    assert math.isinf(found.mu) and found.approximate_delta == 0.0
    assert found.requested == (4.0, 1e-6)
    assert 3.9999 < adaptive_epsilon([found], 1e-6) <= 4.0
    assert adaptive_epsilon([found], 1e-6, order=filter_order(20.0, 1e-6)) <= 4.0
    assert plan(**{**public, "delta": 0.0}, certificate="best").by_bounded_range


@pytest.mark.parametrize(
    ("plan_by", "bad", "message"),
    [
        (plan, {"epsilon": None}, "give epsilon, hit_rate, or both"),
        (plan, {"hit_rate": 0.9, "n_draws": 3}, "determine the third: omit one"),
        (plan, {"epsilon": 0.1, "hit_rate": 0.9}, "one draw with a hit rate of at least 0.9 costs"),
        (plan, {"hit_rate": 1.0}, r"hit_rate must be in \(0, 1\)"),
        (plan, {"hit_rate": 0.9, "psi": 0.0}, "psi must be finite and > 0 for a guaranteed"),
        (plan, {"certificate": "worst"}, "certificate must be 'oscillation' or 'best'"),
        *((plan, {name: 0}, "must be a whole number, at least 1") for name in ("n", "p")),
        *((plan, {"psi": bad}, "psi must be") for bad in (-0.01, math.nan, math.inf)),
        *((plan, {"epsilon": bad}, "epsilon must be") for bad in (0.0, math.nan, math.inf)),
        *((plan, {"delta": bad}, "delta must be") for bad in (1.0, -1e-9)),
        *((plan, {"n_draws": bad}, "n_draws must be") for bad in (0, 2.5)),
        *((plan, {name: -1.0}, f"{name} must be") for name in ("radius", "row_norm", "ridge")),
        (plan, {"loss": "no such loss"}, "loss must be one of"),
        (plan_options, {"epsilon": -1.0}, "epsilon must be"),
        (pareto_table, {"epsilon": [1.0], "radius": 0.0}, "radius must be"),
    ],
)
def test_errors_name_the_parameter(plan_by, bad, message):
    public = {**FEW, **bad}
    if plan_by is pareto_table:
        public["epsilons"] = public.pop("epsilon")
    with pytest.raises(ValueError, match=message):
        plan_by(**public)


def test_the_words_of_a_plan_tell_its_numbers():
    words = explain(plan(**ROWS, epsilon=1.0, ledger=True))
    assert words.startswith("1 exact draw costs ε = 1, at δ = 0, by the ledger's composition rule.")
    assert "At least 86 %" in words and "For 90 % it takes ε = 1.307" in words
    for name, kind in MECHANISMS.items():
        offer = kind.offer(request_of(**{**BUDGET, "n_draws": 1}, ridge=0.1))
        if offer.plan is not None and not kind.traits.curator_only:
            words = explain(offer.plan)
            assert "ε = 4" in words, name


@given(
    st.fixed_dictionaries(
        {
            "n": st.integers(10, 10**6),
            "p": st.integers(1, 200),
            "psi": st.floats(0, 1),
            "loss": st.sampled_from(["logistic", "squared"]),
            "radius": st.floats(0.1, 10),
            "row_norm": st.floats(0.1, 3),
            "epsilon": st.floats(0.01, 50),
            "delta": st.sampled_from([0.0, 1e-9, 1e-5]),
            "n_draws": st.integers(1, 100),
            "ridge": st.sampled_from([0.0, 3.0]),
        }
    )
)
def test_the_numbers_of_a_plan_agree(public):
    bought, p, psi = plan(**public), public["p"], public["psi"]
    constants = request_of(**{**public, "ridge": 0.0}).constants  # a ridge changes no cost
    assert bought.oscillation == constants.charged_oscillation > constants.osc
    assert bought.beta * bought.oscillation == pytest.approx(bought.eta)
    spent = bought.guarantee.epsilon(public["delta"])
    assert public["epsilon"] * (1 - 1e-9) <= spent <= public["epsilon"]
    assert bought.hit_rate_bound == hit_rate.guaranteed_hit_rate(p, bought.beta, psi)
    assert bought.excess_bound == convex_law(p=p, beta=bought.beta, psi=psi).mean
    assert (bought.loss, bought.ridge) == (public["loss"], public["ridge"])


def test_a_configured_loss_is_priced_as_configured():
    wide, usual = (plan(**FEW, loss=loss) for loss in (SquaredLoss(target_bound=3.0), "squared"))
    assert wide.oscillation > usual.oscillation
    assert wide.beta < usual.beta


@pytest.mark.parametrize("psi", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
@pytest.mark.parametrize("delta", [0.0, 1e-320, 1e-300])
def test_a_delta_too_small_for_doubles_buys_nothing(delta, loss, psi):
    """δ(ε) of Gaussian DP is never 0, though e^(−a²/2) may be: it is not pure DP."""
    public = {"n": 2000, "p": 2, "psi": psi, "loss": loss, "radius": 4.0, "row_norm": 1.0}
    public |= {"ridge": 1.0, "epsilon": 60.0, "n_draws": 2}
    bought = plan(**public, delta=delta, certificate="best")
    assert bought.guarantee.epsilon(delta) <= 60.0
    if delta == 0:
        assert bought.certificate == "oscillation"
        assert bought.beta == pytest.approx(plan(**public).beta)


def test_approximate_notions_have_a_delta_at_every_epsilon():
    for one in (gdp(mu=1e-3), zcdp(rho=1e-6), gdp(mu=1e-300)):
        assert 0 < one.delta(60.0) < 1e-300
        assert one.epsilon(0.0) == math.inf


def by_name(**changed):
    return {option.name: option for option in plan_options(**{**BUDGET, **changed})}


def test_options_are_those_of_the_registry_the_best_first():
    options = plan_options(**BUDGET, ridge=0.1)
    assert [option.name for option in options[:2]] == ["exact", "finite_grid"]
    assert options[0].hit_rate > options[1].hit_rate and not options[2].uniform
    applies = [option.applies for option in options]
    assert applies == sorted(applies, reverse=True)
    private = {name for name, kind in MECHANISMS.items() if not kind.traits.curator_only}
    assert set(by_name(n_draws=1)) == private
    several = {name for name in private if not MECHANISMS[name].traits.one_model}
    assert set(by_name()) == several
    for option in plan_options(**BUDGET, ledger=True):
        if option.guarantee is not None:
            assert compose([option.guarantee]).epsilon(1e-6) <= 4.0 * (1 + 1e-12)
    best = MECHANISMS["exact"].offer(request_of(**BUDGET, ridge=0.1, ledger=ZCDP))
    assert best.why == "oscillation"


def test_less_applies_or_is_promised_without_ridge_delta_or_width():
    assert by_name()["exact"].why == "oscillation" != by_name(ridge=0.1)["exact"].why
    pure = by_name(delta=0.0, ridge=0.1)
    assert not pure["langevin_average"].applies and "delta" in pure["langevin_average"].why
    assert pure["exact"].beta == plan(**{**BUDGET, "delta": 0.0}).beta
    assert all(option.hit_rate == 0 for option in by_name(psi=0.0).values())


def test_the_front_is_what_no_other_row_beats():
    table = pareto_table(**ROWS, ridge=0.1, delta=1e-6, epsilons=[1.0, 4.0], n_draws=[1, 10])
    budgets = [{"epsilon": e, "n_draws": k, "ridge": 0.1} for e in (1.0, 4.0) for k in (1, 10)]
    assert len(table) == sum(one.applies for some in budgets for one in by_name(**some).values())
    qualities = np.array([-table.epsilon, table.n_draws, table.hit_rate, table.uniform], float).T
    for own, front in zip(qualities, table.front, strict=True):
        beaten = (qualities >= own).all(axis=1) & (qualities > own).any(axis=1)
        assert front == (not beaten.any())
    np.testing.assert_allclose(table.hits, table.n_draws * table.hit_rate)
    # With ridge and several draws, bounded range alone is beaten.
    assert not table[(table.option == "finite_grid") & (table.n_draws > 1)].front.any()


def problem_of(radius, ridge):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3)) / 3
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    return Problem(X, y, radius=radius, row_norm=1.0, ridge=ridge)


ONE_BY_ONE = {"localised": (0.1, 5e-6), "iterated": (0.1, 6e-5), "regularised": (0.0, 0.049)}


def one_request(**changed):
    return request_of(**{**BUDGET, "n_draws": 1, "delta": 0.0, "ridge": 0.1, **changed})


@pytest.mark.law
@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_models_drawn_one_by_one_keep_what_their_option_promises(name):
    """At a ψ that about every other draw reaches, so that the rate could be missed."""
    ridge, psi = ONE_BY_ONE[name]
    plain, kind = problem_of(2.0, ridge), MECHANISMS[name]
    sizes = {"n": plain.n, "p": plain.p, "row_norm": plain.row_bound, "radius": 2.0}
    option = kind.offer(one_request(**sizes, psi=psi, epsilon=30.0, ridge=ridge))
    assert option.guarantee.pure_epsilon == pytest.approx(30.0)
    problem, rng = problem_of(2.0, option.plan.ridge), np.random.default_rng(0)
    mechanism = kind.for_plan(option.plan)
    theta = np.column_stack([mechanism.draw(problem, rng) for _ in range(60)])
    excess = plain.value(theta) - plain.minimum.value
    assert 0.1 < option.hit_rate <= np.mean(excess <= psi) + 3 * math.sqrt(0.25 / 60)
    assert excess.mean() <= option.excess


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge", "smoothed_hinge", "absolute"])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_one_model_at_a_time_is_offered_with_or_without_a_ridge(loss, ridge):
    offers = [MECHANISMS[name].offer(one_request(loss=loss, ridge=ridge)) for name in ONE_BY_ONE]
    assert [one.applies for one in offers] == [True, ridge > 0, ridge == 0]
    assert ridge == 0 or "ridge = 0" in offers[-1].why


def test_a_ridge_s_own_cost_is_in_its_promise():
    """Negative control: under a large ridge draws keep the promise, and not that without ½mR²."""
    problem = problem_of(2.0, ridge=0.0)
    one = regularised(epsilon=30.0, ridge=2.0)
    bought, rng = one.plan(problem), np.random.default_rng(0)
    theta = np.column_stack([one.draw(problem, rng) for _ in range(8)])
    excess = problem.value(theta) - problem.minimum.value
    assert bought.p / bought.beta < excess.mean() <= bought.excess_bound
    assert bought.hit_rate(excess.min() / 2) == 0.0
    assert hit_rate.unthresholded_hit_rate(bought.p, bought.beta, excess.min() / 2) > 0.5
