"""The view Plan: what a price promises and risks, and what would change it."""

import math
import re
from html import unescape

import pytest

from rashomon_explorer.data import load_dataset
from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.account import read_account
from rashomon_explorer.explorer.html import DEFINITIONS
from rashomon_explorer.explorer.panels.plan import attack_on_all
from rashomon_explorer.mechanisms.bounds import convex_law, population_risk
from rashomon_explorer.plots import list_guarantees, prices, text
from rashomon_explorer.privacy import Ledger, approximate, best_attack, gdp, zcdp
from tests.explorer.pages import set_state


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    return Explorer(data=load_dataset("lending"), home=tmp_path_factory.mktemp("home"))


@pytest.fixture
def page(planned):
    before = planned.state.settings()
    yield planned
    set_state(planned, **before)
    assert planned.state.alert is None and planned.ledger is None


@pytest.mark.law
def test_a_remedy_sets_its_slider_and_the_promise_is_kept(page):
    set_state(page, n_draws=20, mechanism="exact", epsilon=4.0)
    offered = page.draw_panel.suggestions
    assert page.plan.hit_rate_bound < 0.8 and "For 80 % it takes:" in offered.words
    for words in [button.description for button in offered.buttons]:
        before = page.state.settings()
        next(one for one in offered.buttons if one.description == words).click()
        changed = {n for n, value in page.state.settings().items() if value != before[n]}
        assert len(changed) == 1 and page.plan.hit_rate_bound >= 0.8 * (1 - 1e-3), words
        set_state(page, **{name: before[name] for name in changed})


def test_what_epsilon_risks_is_told_and_true(page):
    most = best_attack(page.plan.guarantee, 0.05)
    assert 0.05 < most < 0.5
    told = page.plan_panel.facts.value
    shown = float(told.split("finds at most ")[1].split("%")[0]) / 100
    assert most <= shown < most + 0.01
    line = DEFINITIONS["attack risk"].line
    assert eval(line, {"explorer": page, "best_attack": best_attack}) == most


@pytest.mark.parametrize("curve", [1, 5, None])
def test_the_plan_is_dragged_and_its_promise_follows(page, curve):
    card = page.cards["plan"]
    set_state(page, n_draws=20, mechanism="exact")
    card.redraw()
    draws = card.view.figure["layout"]["meta"]["draws"]
    card.view.clicked = {"trace": 1, "point": 3, "x": 3.4567, "y": 0.5, "at": 1}
    assert (page.state.n_draws, page.state.epsilon) == (draws[1], 3.46)
    card.view.clicked = {"trace": len(draws), "point": 0, "x": 9.0, "y": 0.5, "at": 2}
    assert page.state.epsilon == 3.46  # the plan's own dot
    set_state(page, n_draws=20)
    card.view.dragged = {"x": 2.3456, "y": 0.5, "curve": curve, "at": 1}
    wanted = prices.draws_at(page.plan, 2.3456, 0.5) if curve is None else curve
    assert (page.state.epsilon, page.state.n_draws) == (2.35, wanted)
    again = page.session.make_estimator(ledger=page.session._ledger_path).plan(*page.data.X.shape)
    assert page.plan.hit_rate_bound == again.hit_rate_bound
    assert text.guaranteed_hits(again) in page.plan_panel.facts.value


def _words(page):
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", " ", page.cards["bounds"].facts.value)))


def _traces(page):
    return {trace["name"] for trace in page.cards["bounds"].view.figure["data"]}


def test_the_promises_follow_the_sliders(page, explorer):
    assert explorer.constants is None and _words(explorer) == ""  # without data
    page.state.mechanism = "exact"
    page.cards["bounds"].redraw()
    assert _traces(page) == {"guaranteed, at least", "a quadratic loss", "guaranteed"}
    assert "needs ridge > 0" in _words(page) and "measured" not in _words(page)
    page.state.ridge = 0.1
    plan, known = page.plan, page.constants
    assert known == RashomonClassifier(ridge=0.1, radius=4.0).constants(*page.data.X.shape)
    risk = population_risk(p=plan.p, beta=plan.beta, L=known.L, m=0.1, n=plan.n, psi=plan.psi)
    assert text.at_most(risk) in _words(page)
    before, page.state.psi = _words(page), 0.5
    law = convex_law(p=plan.p, beta=page.plan.beta, psi=0.5)
    assert text.at_most(law.mean) in _words(page) != before


@pytest.mark.slow
def test_after_a_draw_promises_stand_beside_what_was_measured_and_alone_in_the_release(cancer_page):
    page = cancer_page
    page.state.ridge = 0.1
    page.draw()
    models, words, known = page.rashomon_set, _words(page), page.constants
    for promise in list_guarantees(models, known):
        assert f"{promise.theorem} {promise.promised} {promise.found}" in words
    assert "measured" in _traces(page) and "not private" in words
    set_state(page, psi=0.5, ridge=1.0)  # sliders change nothing that was promised of the draws
    assert _words(page) == words and page.constants == known
    page.state.view = "release"
    words = _words(page)
    assert "measured" not in {words, *_traces(page)} and "private" not in words
    assert text.number(float(models.excess.mean())) not in words
    assert text.at_least(models.plan.hit_rate_bound) in words


@pytest.mark.parametrize("mechanism", ["langevin", "ellipsoid", "objective_perturbation"])
def test_an_excess_above_psi_warns_and_asks_whatever_the_mechanism(cancer_page, mechanism):
    page = cancer_page
    set_state(page, mechanism=mechanism, psi=0.02, epsilon=1.0, n_draws=4)
    plan = page.plan
    assert plan.psi < plan.stated_excess
    quote = page.drawing.quote()
    assert "more than ψ = 0.02" in quote.weakness or "model of zeros" in quote.weakness
    assert page.draw_panel.button.button_style == ""
    page.draw_panel.button.click()
    assert page.draw_panel.question.open and page.ledger is None
    page.state.psi = 2 * plan.stated_excess + 1  # the control
    assert "more than ψ" not in page.drawing.quote().weakness


def test_the_risk_of_all_charges_is_composed_at_every_delta(tmp_path):
    """For Gaussian noise the bound cannot be below the exact trade-off, and is close to it."""
    ledger = Ledger.create(tmp_path / "table.ledger", epsilon=20.0, delta=1e-6)
    for _ in range(3):
        ledger.reserve(zcdp(0.05)).start()
    account = read_account(ledger.path, (20.0, 1e-6))
    found = attack_on_all(account, zcdp(0.05))
    exact = best_attack(gdp(math.sqrt(2 * 4 * 0.05)), 0.05)
    at_one_delta = best_attack(approximate(account.after(zcdp(0.05)), 1e-6), 0.05)
    assert exact <= found < min(2.5 * exact, 0.6 * at_one_delta)
