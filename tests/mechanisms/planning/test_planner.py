"""Plans spend their budget, all of it and never more; options; and the rule for open settings."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import rule as simulation
from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.mechanisms.bounds import hit_rate
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning import options
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.options import pareto_table, plan_options, resolve_auto
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
    ("bad", "message"),
    [
        ({"epsilon": None}, "give epsilon, hit_rate, or both"),
        ({"hit_rate": 0.9, "n_draws": 3}, "determine the third: omit one"),
        ({"epsilon": 0.1, "hit_rate": 0.9}, "one draw with a hit rate of at least 0.9 costs"),
        ({"hit_rate": 1.0}, r"hit_rate must be in \(0, 1\)"),
        ({"hit_rate": 0.9, "psi": 0.0}, "psi must be finite and > 0 for a guaranteed"),
        ({"certificate": "worst"}, "certificate must be 'oscillation' or 'best'"),
        *(({name: 0}, "must be a whole number, at least 1") for name in ("n", "p")),
        *(({"psi": bad}, "psi must be") for bad in (-0.01, math.nan, math.inf)),
        *(({name: -1.0}, f"{name} must be") for name in ("radius", "row_norm", "ridge")),
        ({"loss": "no such loss"}, "loss must be one of"),
    ],
)
def test_errors_name_the_parameter(bad, message):
    with pytest.raises(ValueError, match=message):
        plan(**{**FEW, **bad})


def test_the_words_of_a_plan_tell_its_numbers():
    words = explain(plan(**ROWS, epsilon=1.0, ledger=True))
    assert words.startswith("1 exact draw costs ε = 1, at δ = 0, by the ledger's composition rule.")
    assert "At least 86 %" in words and "For 90 % it takes ε = 1.307" in words
    for name, kind in MECHANISMS.items():
        offer = kind.offer(request_of(**{**BUDGET, "n_draws": 1}, ridge=0.1))
        if offer.plan is not None and not kind.traits.curator_only:
            words = explain(offer.plan)
            assert "ε = 4" in words, name


def test_a_configured_loss_is_priced_as_configured():
    wide, usual = (plan(**FEW, loss=loss) for loss in (SquaredLoss(target_bound=3.0), "squared"))
    assert wide.oscillation > usual.oscillation and wide.beta < usual.beta


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
    for one in (gdp(mu=1e-300), zcdp(rho=1e-6)):
        assert 0 < one.delta(60.0) < 1e-300 and one.epsilon(0.0) == math.inf


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


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge", "smoothed_hinge", "absolute"])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_one_model_at_a_time_is_offered_with_or_without_a_ridge(loss, ridge):
    names, pure = ("localised", "iterated", "regularised"), {"n_draws": 1, "delta": 0.0}
    request = request_of(**{**BUDGET, **pure, "loss": loss, "ridge": ridge})
    offers = [MECHANISMS[name].offer(request) for name in names]
    assert [one.applies for one in offers] == [True, ridge > 0, ridge == 0]


def test_a_ridge_s_own_cost_is_in_its_promise():
    """Negative control: under a large ridge draws keep the promise, and not that without ½mR²."""
    one, rng = regularised(epsilon=30.0, ridge=2.0), np.random.default_rng(3)
    X = rng.normal(size=(3000, 3)) / 3
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    bought = one.plan(problem := Problem(X, y, radius=2.0, row_norm=1.0))
    theta = np.column_stack([one.draw(problem, rng) for _ in range(8)])
    excess = problem.value(theta) - problem.minimum.value
    assert bought.p / bought.beta < excess.mean() <= bought.excess_bound
    assert bought.hit_rate(excess.min() / 2) == 0.0
    assert hit_rate.unthresholded_hit_rate(bought.p, bought.beta, excess.min() / 2) > 0.5


RULE_ROWS = {"n": 4_000, "p": 21, "psi": 0.02, "row_norm": 1.5}
RULE_FEW = {**RULE_ROWS, "n": 400, "psi": 0.0, "epsilon": 1.0}


def excess_of(mechanism, **settings):
    planned = MECHANISMS[mechanism].plan_for(resolve_auto(mechanism, **settings))
    return planned.excess_bound + planned.ridge * planned.radius**2 / 2


@pytest.mark.parametrize("mechanism", ["exact", "langevin"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_radius_has_the_least_bound_and_worth_of_a_larger_ball(mechanism, epsilon):
    delta, worth, make = (1e-6, 30, plan_path) if mechanism == "langevin" else (0.0, 6, plan)
    numbers = {**RULE_FEW, "epsilon": epsilon, "delta": delta}
    best = resolve_auto(mechanism, **numbers)
    radii = options.RADII
    costs = [make(**numbers, radius=R).excess_bound + worth * math.log(2) / R for R in radii]
    assert best.radius == radii[int(np.argmin(costs))]
    assert best.ridge == 0.0 and 1 < best.radius < 32


def test_a_ball_is_made_smaller_where_that_guarantees_several_hits():
    settings = {"p": 11, "psi": 0.02, "row_norm": 1.5, "epsilon": 4.0}
    few, some, many = (resolve_auto("exact", n=n, **settings) for n in (5_000, 70_000, 10**7))
    hits = [plan(**one.numbers).hit_rate_bound >= options.LEAST_HITS for one in (few, some, many)]
    assert hits == [False, True, True]
    assert [one.n_draws for one in (few, some, many)] == [1, 5, options.MOST_DRAWS]
    assert few.radius > 8 > some.radius >= 4 and many.radius > 8
    wider = {**some.numbers, "radius": some.radius * 1.5}
    assert plan(**wider).hit_rate_bound < options.LEAST_HITS


def test_draws_around_a_centre_are_weighed_by_the_centre_and_cost_nothing_more():
    settings = {**RULE_ROWS, "epsilon": 4.0, "delta": 1e-6, "ridge": 0.0}
    many, few = (resolve_auto("ellipsoid", **{**settings, "n": n}) for n in (200_000, 2_000))
    assert many.n_draws == options.MOST_DRAWS and few.n_draws == 1
    around = MECHANISMS["ellipsoid"].plan_for(many)
    assert around.centre_excess <= RULE_ROWS["psi"] and options.guarantees_the_set(around)
    assert around.weighed_excess == around.centre_excess


@pytest.mark.parametrize(
    "settings",
    [
        {"radius": 3.0, "ridge": 0.2, "n_draws": 7},
        {"psi": 0.0, "n": 10**7, "epsilon": 9.0, "n_draws": "auto"},  # without width, one draw
        # A ridge helps only where a certificate may use it.
        {"radius": 4.0, "n_draws": 1, "delta": 0.0},
        {"radius": 4.0, "n_draws": 1, "delta": 1e-6, "ledger": True},
    ],
)
def test_declared_settings_stay_and_others_are_plain_where_nothing_is_gained(settings):
    found = resolve_auto("exact", **{**RULE_ROWS, "epsilon": 1.0, **settings})
    expected = {"ridge": 0.0, **settings, **({"n_draws": 1} if "psi" in settings else {})}
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(("n", "epsilon"), [(4_000, 1.0), (10**6, 1.0), (10**6, 2.0)])
def test_there_are_as_many_draws_as_are_guaranteed_to_hit(n, epsilon):
    found = resolve_auto("exact", **{**RULE_ROWS, "n": n}, epsilon=epsilon, radius=4.0)
    least, bound = options.LEAST_HITS, plan(**found.numbers).hit_rate_bound
    if found.n_draws > 1:
        assert bound >= least
    if found.n_draws < options.MOST_DRAWS:
        more = {**found.numbers, "n_draws": math.ceil(found.n_draws * 2.5)}
        assert plan(**more).hit_rate_bound < least
    assert (found.n_draws == 1) == (n == 4_000)


def test_a_ridge_is_chosen_with_what_it_biases():
    settings = {**RULE_FEW, "n": 700, "p": 101, "delta": 1e-6, "radius": 4.0, "n_draws": 1}
    ridge = resolve_auto("exact", **settings).ridge
    # The shares were tried at radius 1: they hold at others nearly.
    others = [excess_of("exact", **settings, ridge=one) for one in (0.0, 10 * ridge)]
    assert ridge > 0 and excess_of("exact", **settings) < min(others)


def test_estimators_plan_by_the_rule_before_a_row_is_read(tmp_path):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (600, 3))
    y = (X[:, 0] > 0).astype(int)
    ledger = Ledger.create(tmp_path / "rule.ledger", epsilon=20.0, delta=1e-6)
    settings = {"epsilon": 8.0, "delta": 0.0, "classes": [0, 1], "ledger": ledger}
    clf = RashomonClassifier(**settings, random_state=0)
    planned = clf.plan(600, 3)
    clf.fit(X, y)
    assert clf.plan_ is planned
    found = resolve_auto("exact", n=600, p=4, psi=0.02, row_norm=2**0.5, epsilon=8.0, ledger=True)
    assert (planned.radius, planned.n_draws) == (found.radius, found.n_draws)
    assert ledger.entries()[0].parameters["radius"] == planned.radius
    assert clf.constants(600, 3).charged_oscillation == pytest.approx(planned.oscillation)
    # A regression by its own loss.
    found = RashomonRegressor(mechanism="langevin", psi=0.0, n_draws=1).plan(5_000, 4)
    numbers = {"n": 5_000, "p": 5, "psi": 0.0, "row_norm": 2**0.5, "epsilon": 1.0, "delta": 1e-6}
    assert found.radius == resolve_auto("langevin", **numbers, loss="squared").radius


@pytest.mark.law
def test_the_simulation_behind_the_rule_runs(monkeypatch):
    small = {"BUDGETS": (4.0,), "_REPEATS": 1, "_CHAIN_STEPS": 20, "COUNTS": (1, 2)}
    for name, value in small.items():
        monkeypatch.setattr(simulation, name, value)
    measured = simulation.measure(((150, 3),))
    assert {entry["way"] for entry in measured["worth"]} == {"exact", "langevin"}
    assert all(one["best in hindsight"] <= one["worth 6"] for one in measured["worth"])
    assert len(measured["draws"]) == 2
