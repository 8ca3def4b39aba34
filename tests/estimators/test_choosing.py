"""Which sampler ``mechanism="auto"`` takes: an answer, or a refusal before anything is charged."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning import select as selection
from rashomon_explorer.mechanisms.planning.options import cost, guarantees_the_set, resolve_auto
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.registry import (
    MECHANISMS,
    mechanism_traits,
)
from rashomon_explorer.mechanisms.planning.select import select
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.planning.weakness import WEAK_HIT_RATE
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.samplers.feasibility import is_hopeless
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from tests.crossing import crossed

LENDING = {"n": 50_000, "p": 11, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
BUDGET = {"radius": 4.0, "row_norm": 1.5, "epsilon": 4.0, "delta": 1e-6}


def ask(**changed: Any) -> Any:
    return select(**{**LENDING, **BUDGET, "n_draws": 3, **changed})


def test_many_models_are_drawn_uniformly_where_most_are_promised_to_hit() -> None:
    bought = ask()
    assert bought.mechanism == "exact"
    assert bought.hit_rate_bound >= 0.5
    assert "uniformly" in bought.why


@crossed({"draws": [20, 1, 3, 200], "epsilon": [4.0, 0.1, 1.0, 16.0]})
def test_no_other_way_promises_more_of_what_was_asked_for(draws: int, epsilon: float) -> None:
    bought = ask(n_draws=draws, epsilon=epsilon)
    others = [offer for offer in bought.options if offer.applies]
    if draws > 1 and bought.hit_rate_bound >= 0.5 and bought.mechanism == "exact":
        return
    if bought.centre_excess is not None and not bought.hit_rate_bound:
        assert max(offer.hit_rate for offer in others) < WEAK_HIT_RATE
        if bought.centre_excess <= bought.psi:
            return
    if draws > 1 and bought.hit_rate_bound >= WEAK_HIT_RATE:
        assert bought.hit_rate_bound >= max(offer.hit_rate for offer in others) - 0.01
    else:
        costs = {offer.name: cost(offer.name, offer.plan) for offer in others}
        assert costs[bought.mechanism] <= 1.06 * min(costs.values())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(("n", "p"), [(400, 31), (40_000, 11)])
@pytest.mark.law
def test_each_way_is_completed_by_the_rule_before_they_are_compared(
    n: int, p: int, epsilon: float
) -> None:
    open_ = {"radius": "auto", "ridge": "auto", "n_draws": "auto"}
    asked = {**LENDING, "n": n, "p": p, **BUDGET, "epsilon": epsilon, **open_}
    bought = select(**asked)
    mechanism = bought.mechanism
    if mechanism_traits(mechanism).may_give_up:
        asked = {**asked, "ridge": 0.0}
    settled = resolve_auto(mechanism, **asked)
    assert (bought.radius, bought.n_draws) == (settled.radius, settled.n_draws)
    if bought.n_draws == 1:
        others = [offer for offer in bought.options if offer.applies]
        assert not any(one.plan.n_draws > 1 and guarantees_the_set(one.plan) for one in others)
        costs = {one.name: cost(one.name, one.plan) for one in others}
        assert costs[mechanism] <= 1.06 * min(costs.values())
    else:
        assert bought.n_draws in (5, 10, 20) and guarantees_the_set(bought)


def test_fewer_than_five_models_are_no_set() -> None:
    """Two may be promised in a smaller ball; one good model is better."""
    asked = {**LENDING, **BUDGET, "delta": 0.0, "radius": "auto", "n_draws": "auto"}
    counts = {select(**{**asked, "epsilon": e}).n_draws for e in (1.0, 2.0, 3.0)}
    assert counts <= {1, 5, 10, 20}


def test_many_columns_are_answered_around_a_private_centre() -> None:
    bought = ask(n=48_842, p=92, n_draws=20, epsilon=1.0, ridge=0.003, radius=8.0)
    assert bought.mechanism == "ellipsoid"
    assert bought.hit_rate_bound == 0
    assert "no hit rate is proved" in bought.why


def test_one_model_is_asked_of_a_law_without_a_threshold() -> None:
    bought = ask(n_draws=1)
    assert bought.drawn_psi == 0
    assert bought.psi == LENDING["psi"]


def test_options_show_what_was_passed_over_and_why() -> None:
    bought = ask(delta=0.0)
    declined = [offer for offer in bought.options if not offer.applies]
    assert len(bought.options) == sum(kind.traits.compared for kind in MECHANISMS.values())
    assert any(offer.why == "needs delta > 0" for offer in declined)


def test_what_may_give_up_is_not_taken_where_simulated_rows_say_that_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _nothing_comes(monkeypatch)
    bought = ask(epsilon=3.99)
    selection._best.cache_clear()
    assert not mechanism_traits(bought.mechanism).may_give_up


def test_nothing_is_charged_for_ways_that_are_all_hopeless(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _nothing_comes(monkeypatch)
    _no_tilt(monkeypatch)
    X, y = _rows()
    ledger = Ledger.create(tmp_path / "a.ledger")
    model = RashomonClassifier(epsilon=3.98, delta=0.0, classes=[0, 1], ledger=ledger)
    with pytest.raises(SamplerError, match=r"nothing was charged.*use less.*mechanism=\"exact\""):
        model.fit(X, y)
    selection._best.cache_clear()
    assert ledger.entries() == []


@pytest.mark.parametrize("draws", [1, 4])
def test_what_was_chosen_is_drawn_charged_and_said(draws: int, tmp_path: Path) -> None:
    X, y = _rows()
    ledger = Ledger.create(tmp_path / "a.ledger")
    model = RashomonClassifier(epsilon=8.0, n_draws=draws, classes=[0, 1], ledger=ledger).fit(X, y)
    planned = model.plan_
    assert planned == model.plan(*X.shape)
    assert model.rashomon_set_.mechanism == planned.mechanism
    assert model.rashomon_set_.n_draws == draws
    (entry,) = ledger.entries()
    assert entry.parameters["sampler"] == planned.mechanism
    assert planned.why in str(planned)


@pytest.mark.parametrize("name", ["unthresholded", "langevin_average"])
def test_draws_at_psi_zero_keep_the_psi_of_the_set(name: str, tmp_path: Path) -> None:
    X, y = _rows()
    model = RashomonClassifier(mechanism=name, psi=0.05, epsilon=20.0, n_draws=4).fit(X, y)
    models = model.rashomon_set_
    assert models.psi == model.plan_.psi == 0.05
    assert model.plan_.drawn_psi == 0
    assert mechanism_traits(name).planned_law == (name == "unthresholded")
    assert not mechanism_traits(name).uniform_on
    models.save(tmp_path / "set.npz")
    assert type(models).load(tmp_path / "set.npz").plan == model.plan_


def test_draws_at_psi_zero_are_those_of_the_law_at_psi_zero() -> None:
    X, y = _rows()
    asked = {"epsilon": 20.0, "n_draws": 4, "random_state": 0}
    crowded = RashomonClassifier(mechanism="unthresholded", psi=0.05, **asked).fit(X, y)
    plain = RashomonClassifier(mechanism="exact", psi=0.0, **asked).fit(X, y)
    assert np.array_equal(crowded.rashomon_set_.coef, plain.rashomon_set_.coef)


def _nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "Draws did not come: use less."
    monkeypatch.setattr(selection, "infeasibility_message", lambda planned: told)
    monkeypatch.setattr(selection, "is_hopeless", lambda planned: True)
    selection._best.cache_clear()


def _no_tilt(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("objective_perturbation", "output_perturbation"):
        kind = MECHANISMS[name]
        monkeypatch.setattr(kind, "offer", lambda request, kind=kind: kind.declined("not here"))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("n", "p"), [(40, 3), (400, 31), (21_000, 22), (34_000, 91)])
def test_one_model_is_never_asked_of_a_way_that_may_refuse(n: int, p: int, classes: int) -> None:
    """Nor is anything simulated for it: pure DP has a way that always answers."""
    loss = "logistic" if classes == 2 else SoftmaxLoss(classes)
    asked = {"psi": 0.02, "loss": loss, "radius": "auto", "ridge": "auto", "row_norm": 2.2}
    for epsilon in (0.01, 1.0, 20.0):
        budget = {"epsilon": epsilon, "delta": 0.0, "n_draws": 1}
        bought = select(n=n, p=p * (classes - 1), **asked, **budget)
        assert bought.mechanism == "objective_perturbation"
        assert bought.why.endswith("it never gives up")
        assert bought.guarantee.epsilon(0.0) <= epsilon


def test_exact_draws_of_few_columns_are_tried_too_before_they_are_taken_unasked() -> None:
    """At n = 300, ε = 20 and radius 16 one in 10⁵ proposals comes; a name is not in the way."""
    shape = {"psi": 0.02, "radius": 16.0, "row_norm": 2.2, "epsilon": 20.0, "n_draws": 5}
    with suppress_weak_warnings():
        planned = plan(300, 11, **shape)
    assert is_hopeless(planned)


def _rows() -> tuple[FloatArray, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (2_000, 3))
    return X, (X[:, 0] + 0.2 * rng.standard_normal(2_000) > 0).astype(int)


def test_giving_up_on_draws_at_psi_zero_is_as_likely_as_of_that_law() -> None:
    rows = {"n": 50_000, "p": 4, "loss": "logistic", "ridge": 0.0, **BUDGET, "n_draws": 5}
    known = MECHANISMS["unthresholded"](patience=200_000, spread=0.5)
    crowded = MECHANISMS["unthresholded"].plan_for(Request(psi=0.5, **rows))
    plain = MECHANISMS["exact"].plan_for(Request(psi=0.0, **rows))
    assert known.giving_up(crowded) == known.giving_up(plain)
    assert known.giving_up(plain) > known.giving_up(replace(plain, psi=0.5))


@pytest.mark.parametrize("psi", [0.005, 0.02])
def test_what_is_promised_of_draws_at_psi_zero_is_a_gamma_law(psi: float) -> None:
    asked = {**LENDING, "psi": psi}
    bought = MECHANISMS["unthresholded"].plan_for(Request(**asked, **BUDGET, n_draws=3))
    assert bought.hit_rate_bound == pytest.approx(gamma(bought.p).cdf(bought.beta * psi), rel=1e-9)
    assert bought.at(bought.eta)[1] == pytest.approx(bought.hit_rate_bound)
    asked = {**LENDING, "psi": psi, "ridge": 0.1}
    path = MECHANISMS["langevin_average"].plan_for(Request(**asked, **BUDGET, n_draws=3))
    assert path.hit_rate_bound == pytest.approx(max(0, 1 - path.excess_bound / psi))


def test_draws_of_a_loss_with_kinks_are_tried_at_any_number_of_columns() -> None:
    """At p = 3 and radius 32 hinge draws do not come: one in 10⁶² proposals on simulated rows."""
    asked = {"radius": 32.0, "row_norm": 1.5, "epsilon": 20.0}
    with suppress_weak_warnings():
        planned = {loss: plan(5_000, 3, 0.02, loss=loss, **asked) for loss in ("hinge", "logistic")}
    assert is_hopeless(planned["hinge"]) and not is_hopeless(planned["logistic"])


OPEN = {"radius": "auto", "ridge": "auto", "row_norm": 2.2}


@pytest.mark.parametrize("epsilon", [0.1, 100.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_draws", [1, 300])
@pytest.mark.parametrize("n", [200, 10**6])
def test_uniform_draws_of_the_set_have_a_ball_of_their_own(
    epsilon: float, delta: float, n_draws: int, n: int
) -> None:
    budget = {"epsilon": epsilon, "delta": delta, "n_draws": n_draws}
    asked = {"n": n, "p": 25, "psi": 0.02, "loss": "logistic", **OPEN, **budget}
    planned = select(mechanism="hit_and_run", **asked)
    assert (planned.radius, planned.ridge) == (160.0, 0.0)
    given = select(mechanism="hit_and_run", **{**asked, "radius": 3.0, "ridge": 0.25})
    assert (given.radius, given.ridge) == (3.0, 0.25)


@pytest.mark.parametrize(
    "mechanism", [name for name, kind in MECHANISMS.items() if not kind.traits.one_model]
)
@pytest.mark.parametrize("given", [{"n": 6_000, "p": 24}, {"n": 50_000, "p": 11, "epsilon": 8.0}])
def test_a_ridge_comes_unasked_to_no_named_sampler(mechanism: str, given: dict[str, Any]) -> None:
    asked = {"psi": 0.02, "loss": "logistic", **OPEN, "epsilon": 1.0, "delta": 1e-6, "n_draws": 20}
    asked |= given
    assert select(mechanism=mechanism, **asked).ridge == 0
    assert select(mechanism=mechanism, **{**asked, "ridge": 0.01}).ridge == 0.01


def test_the_rule_by_itself_takes_a_ridge_for_draws_without_a_threshold() -> None:
    """The control: there is a ridge that a named sampler leaves out."""
    asked = {"n": 6_000, "p": 24, "psi": 0.02, "loss": "logistic", **OPEN}
    assert resolve_auto("unthresholded", **asked, epsilon=1.0, delta=1e-6, n_draws=20).ridge > 0
