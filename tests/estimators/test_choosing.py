"""What ``mechanism="auto"`` selects: an answer, or a refusal before anything is charged."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gamma

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms import select
from rashomon_explorer.mechanisms.exact import ExactSampler, hit_rate_at
from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.mechanisms.plans import WEAK_HIT_RATE, Plan, Rejected
from rashomon_explorer.mechanisms.registry import MECHANISMS, mechanism_traits
from rashomon_explorer.mechanisms.request import OpenRequest, Request
from rashomon_explorer.mechanisms.simulation.feasibility import is_hopeless
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from tests.crossing import crossed

LENDING = {"n": 50_000, "p": 11, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
BUDGET = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6}
OPEN = {"radius": "auto", "ridge": "auto", "row_norm": 2.2}
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (2_000, 3))
Y = (X[:, 0] + 0.2 * RNG.standard_normal(2_000) > 0).astype(int)


def planned(**changed):
    return select.select(**{**LENDING, **BUDGET, "n_draws": 3, **changed})


@pytest.mark.slow
def test_public_numbers_decide_and_the_reason_is_stated():
    several, one = planned(), planned(n_draws=1)
    assert several.mechanism == "exact" and "uniformly" in several.reason
    assert several.hit_rate_bound >= 0.5
    assert (one.law_threshold, one.psi) == (0, LENDING["psi"])
    wide = planned(n=48_842, p=92, n_draws=20, epsilon=1.0, ridge=0.003, radius=8.0)
    assert wide.mechanism == "ellipsoid" and wide.hit_rate_bound == 0
    assert "no hit rate is proved" in wide.reason
    declined = [offer for offer in planned(delta=0.0).candidates if isinstance(offer, Rejected)]
    assert any(offer.reason == "needs delta > 0" for offer in declined)


@pytest.mark.parametrize(
    ("shape", "mechanism", "reason"),
    [
        ({"n": 50_000, "p": 4}, "langevin", "has the lowest expected loss"),
        (
            {"n": 50_000, "p": 4, "in_chunks": True},
            "objective_perturbation",
            "above that of langevin",
        ),
        ({"n": 1_000_000, "p": 31, "row_norm": 5.5}, "objective_perturbation", "is 0.0013 above"),
        ({"n": 1_000_000, "p": 31, "row_norm": 30.0}, "langevin", "has the lowest expected loss"),
    ],
)
def test_less_work_is_preferred_where_it_saves_seconds(shape, mechanism, reason):
    settings = {"psi": 0.0, "epsilon": 1.0, "delta": 1e-6, "n_draws": 1, **OPEN, **shape}
    best = select.select(loss="logistic", **settings)
    assert best.mechanism == mechanism and reason in best.reason


@crossed({"draws": [20, 1, 3, 200], "epsilon": [4.0, 0.1, 1.0, 16.0]})
def test_no_other_mechanism_guarantees_more(draws, epsilon):
    best = planned(n_draws=draws, epsilon=epsilon)
    others = [offer for offer in best.candidates if isinstance(offer, Plan)]
    if draws > 1 and best.hit_rate_bound >= 0.5 and best.mechanism == "exact":
        return
    if best.centre_excess is not None and not best.hit_rate_bound:
        assert max(offer.hit_rate_bound for offer in others) < WEAK_HIT_RATE
        if best.centre_excess <= best.psi:
            return
    if draws > 1 and best.hit_rate_bound >= WEAK_HIT_RATE:
        assert best.hit_rate_bound >= max(offer.hit_rate_bound for offer in others) - 0.01
    else:
        costs = {offer.mechanism: select.expected_loss(offer) for offer in others}
        assert costs[best.mechanism] <= 1.06 * min(costs.values())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(("n", "p"), [(400, 31), (40_000, 11)])
@pytest.mark.law
def test_each_mechanism_is_completed_by_the_rule_before_they_are_compared(n, p, epsilon):
    open_ = {"radius": "auto", "ridge": "auto", "n_draws": "auto"}
    settings = {**LENDING, "n": n, "p": p, **BUDGET, "epsilon": epsilon, **open_}
    best = select.select(**settings)
    mechanism = best.mechanism
    if mechanism_traits(mechanism).may_give_up:
        settings = {**settings, "ridge": 0.0}
    settled = select.resolve_auto(MECHANISMS[mechanism], OpenRequest(**settings))
    assert (best.radius, best.n_draws) == (settled.radius, settled.n_draws)
    others = [offer for offer in best.candidates if isinstance(offer, Plan)]
    if best.n_draws == 1:
        guaranteed = map(select.guarantees_the_set, others)
        several = (one.n_draws > 1 for one in others)
        assert not any(both == (True, True) for both in zip(several, guaranteed, strict=True))
        costs = {one.mechanism: select.expected_loss(one) for one in others}
        assert costs[mechanism] <= 1.06 * min(costs.values())
    else:  # fewer than five models are no set: one good model is better
        assert best.n_draws in (5, 10, 20, 400)
        assert select.guarantees_the_set(best, 0.49 if best.n_draws == 400 else select.LEAST_HITS)


def test_mechanisms_that_may_give_up_are_excluded_where_simulated_draws_fail(monkeypatch, tmp_path):
    message = "Draws did not come: use less."
    monkeypatch.setattr(select.feasibility, "infeasibility_message", lambda planned: message)
    monkeypatch.setattr(select.feasibility, "is_hopeless", lambda planned: True)
    select._plan_auto.cache_clear()
    assert not mechanism_traits(planned(epsilon=3.99).mechanism).may_give_up
    for name in ("objective_perturbation", "output_perturbation"):
        monkeypatch.setattr(MECHANISMS[name], "why_unsupported", lambda request: "not here")
    ledger = Ledger.create(tmp_path / "a.ledger")
    model = RashomonClassifier(epsilon=3.98, delta=0.0, classes=[0, 1], ledger=ledger)
    with pytest.raises(SamplerError, match=r"nothing was charged.*use less.*mechanism=\"exact\""):
        model.fit(X, Y)
    select._plan_auto.cache_clear()
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("n", "epsilon", "in_chunks", "long"),
    [
        (50_000, 4.0, False, False),
        (50_000, 4.0, True, True),  # each of many passes takes a moment to start
        (1_000_000, 1.0, False, True),
    ],
)
def test_a_quicker_mechanism_is_taken_where_the_best_takes_long(n, epsilon, in_chunks, long):
    chosen = planned(**OPEN, n=n, p=21, n_draws=1, epsilon=epsilon, in_chunks=in_chunks)
    plans = [one for one in chosen.candidates if isinstance(one, Plan)]
    best = min(plans, key=lambda one: select.expected_loss(one))
    assert (chosen.mechanism != best.mechanism) == long
    assert chosen.passes < best.passes / 20 or not long
    assert select.expected_loss(chosen) <= 1.05 * select.expected_loss(best)
    assert ("passes over the rows instead of" in chosen.reason) == long


@pytest.mark.parametrize(
    "name", ["unthresholded", pytest.param("langevin", marks=pytest.mark.slow)]
)
def test_draws_at_psi_zero_are_of_the_law_at_psi_zero_and_keep_the_psi_of_the_set(name):
    settings = {"epsilon": 20.0, "n_draws": 4, "random_state": 0}
    model = RashomonClassifier(mechanism=name, psi=0.05, **settings).fit(X, Y)
    assert model.rashomon_set_.psi == model.plan_.psi == 0.05
    assert model.plan_.law_threshold == 0
    if name == "unthresholded":
        plain = RashomonClassifier(mechanism="exact", psi=0.0, **settings).fit(X, Y)
        assert np.array_equal(model.rashomon_set_.coef, plain.rashomon_set_.coef)


@crossed({"n, p": [(40, 3), (400, 31), (34_000, 91)], "classes": [2, 3]})
def test_one_model_is_never_drawn_by_a_mechanism_that_may_give_up(n, p, classes):
    """Nor is anything simulated for it: pure DP has a mechanism that always succeeds."""
    loss = "logistic" if classes == 2 else SoftmaxLoss(classes)
    for epsilon in (0.01, 1.0, 20.0):
        budget = {"epsilon": epsilon, "delta": 0.0, "n_draws": 1}
        shape = {"n": n, "p": p * (classes - 1), "psi": 0.02, "loss": loss}
        best = select.select(**shape, **OPEN, **budget)
        assert best.mechanism == "objective_perturbation"
        assert best.reason.endswith("it never gives up")
        assert best.guarantee.epsilon(0.0) <= epsilon


@pytest.mark.parametrize(
    ("shape", "settings", "hopeless"),
    [
        # At n = 300, ε = 20 and radius 16 one in 10⁵ proposals comes.
        ((300, 11), {"radius": 16.0, "row_norm": 2.2, "n_draws": 5}, True),
        # At p = 3 and radius 32 hinge draws do not come: one in 10⁶² proposals.
        ((5_000, 3), {"radius": 32.0, "row_norm": 1.5, "loss": "hinge"}, True),
        ((5_000, 3), {"radius": 32.0, "row_norm": 1.5}, False),
    ],
)
def test_exact_draws_are_tried_on_simulated_rows(shape, settings, hopeless):
    assert is_hopeless(plan(*shape, 0.02, epsilon=20.0, **settings)) is hopeless


def test_giving_up_on_draws_at_psi_zero_is_as_likely_as_of_that_law():
    rows = {"n": 50_000, "p": 4, "loss": "logistic", "ridge": 0.0, **BUDGET, "n_draws": 5}
    at_zero = MECHANISMS["unthresholded"].plan(Request(psi=0.5, patience=200_000, **rows))
    same = MECHANISMS["exact"].plan(Request(psi=0.0, patience=200_000, **rows))
    assert (at_zero.beta, at_zero.excess_bound) == (same.beta, same.excess_bound)
    assert at_zero.guarantee.assumptions == same.guarantee.assumptions
    sampler = ExactSampler(patience=200_000, spread=0.5)
    assert sampler.giving_up(4, same.beta, 0.0, 5) > sampler.giving_up(4, same.beta, 0.5, 5)


@pytest.mark.parametrize("psi", [0.005, 0.02])
def test_the_hit_rate_of_draws_at_psi_zero_is_a_gamma_law(psi):
    request = Request(**{**LENDING, "psi": psi}, **BUDGET, n_draws=3)
    exact = MECHANISMS["unthresholded"].plan(request)
    assert exact.hit_rate_bound == pytest.approx(gamma(exact.p).cdf(exact.beta * psi), rel=1e-9)
    assert hit_rate_at(exact, exact.eta) == pytest.approx(exact.hit_rate_bound)
    path = MECHANISMS["langevin"].plan(replace(request, ridge=0.1))
    assert path.hit_rate_bound == pytest.approx(max(0, 1 - path.excess_bound / psi))


@crossed({"epsilon": [0.1, 100.0], "delta": [0.0, 1e-6], "n_draws": [1, 300], "n": [200, 10**6]})
def test_uniform_draws_of_the_set_have_a_ball_of_their_own(epsilon, delta, n_draws, n):
    budget = {"epsilon": epsilon, "delta": delta, "n_draws": n_draws, "mechanism": "hit_and_run"}
    shape = {"n": n, "p": 25, "psi": 0.02, "loss": "logistic", **OPEN, **budget}
    found = select.select(**shape)
    assert (found.radius, found.ridge) == (160.0, 0.0)
    declared = select.select(**{**shape, "radius": 3.0, "ridge": 0.25})
    assert (declared.radius, declared.ridge) == (3.0, 0.25)


def test_no_named_mechanism_adds_a_ridge_though_the_rule_would():
    shape = {"n": 6_000, "p": 12, "psi": 0.02, "loss": "logistic", **OPEN}
    budget = {"epsilon": 0.5, "delta": 1e-6, "n_draws": 20}
    several = {name for name, kind in MECHANISMS.items() if not kind.traits.one_model}
    for mechanism in several - {"finite_grid"}:  # which supports three parameters
        assert select.select(mechanism=mechanism, **shape, **budget).ridge == 0, mechanism
        declared = select.select(mechanism=mechanism, **{**shape, "ridge": 0.01}, **budget)
        assert declared.ridge == 0.01
    assert (
        select.resolve_auto(MECHANISMS["unthresholded"], OpenRequest(**shape, **budget)).ridge > 0
    )  # the control


def test_a_grid_claims_its_range_whatever_paid_for_the_plan():
    settings = {"ridge": 0.2, "delta": 1e-6, "epsilon": 2.0}
    grid = RashomonClassifier(**settings, n_draws=4, mechanism="finite_grid").fit(X[:, :2], Y)
    assert grid.guarantee_.pure_epsilon == pytest.approx(4 * grid.plan_.eta)
    best = plan(2000, 3, 0.02, radius=4.0, row_norm=1.0, **settings, certificate="best")
    assert best.certificate == "localised"
    assert grid.plan_.certificate == "oscillation"
