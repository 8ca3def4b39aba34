"""The view Plan: what a price promises and risks, and buttons for what would change it."""

import pytest

from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.html import DEFINITIONS
from rashomon_explorer.plots.prices import draws_at, guarantee_at
from rashomon_explorer.plots.text import at_most, guaranteed_hits, plural
from rashomon_explorer.privacy import best_attack


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    return Explorer(home=tmp_path_factory.mktemp("home"))  # lending: 50,000 rows


@pytest.fixture
def page(planned):
    before = planned.state.settings()
    yield planned
    for name, value in before.items():
        setattr(planned.state, name, value)
    assert planned.state.alert is None and planned.ledger is None


def _remedies(page):
    return {button.description: button for button in page.draw_panel.suggestions.buttons}


@pytest.mark.law
def test_a_remedy_sets_its_slider_and_the_promise_is_kept(page):
    assert page.plan.hit_rate_bound < 0.8
    assert "For 80 % it takes:" in page.draw_panel.suggestions.words
    assert "rows" in page.draw_panel.suggestions.words  # no slider makes rows
    for words in list(_remedies(page)):
        before = page.state.settings()
        _remedies(page)[words].click()
        changed = {n for n, value in page.state.settings().items() if value != before[n]}
        assert len(changed) == 1, words
        assert page.plan.hit_rate_bound >= 0.8 * (1 - 1e-3), words
        for name in changed:
            setattr(page.state, name, before[name])


def test_a_number_that_no_slider_reaches_has_no_button(page):
    page.state.epsilon = 0.5
    offered = page.draw_panel.suggestions
    assert all(button.description != "ε = 0.5" for button in offered.buttons)
    page.state.psi, page.state.n_draws, page.state.mechanism = 0.001, 500, "exact"
    assert not any(button.description.startswith("ε") for button in offered.buttons)
    assert "ε = " in offered.words


def test_the_first_number_is_what_is_promised(page):
    def lead():
        return page.plan_panel.facts.value.split("rx-lead")[1].split("</div>")[0]

    assert "Guaranteed hit rate" in lead() and "≥ 66%" in lead()
    page.state.mechanism = "langevin_average"
    assert page.plan.by_excess and "≥" not in page.plan_panel.facts.value
    assert "Expected excess loss" in lead() and at_most(page.plan.weighed_excess) in lead()
    assert page.plan_panel.facts.value.count("Expected excess loss") == 1


def test_what_epsilon_risks_is_told_and_true(page):
    most = best_attack(page.plan.guarantee, 0.05)
    assert 0.05 < most < 0.5
    told = page.plan_panel.facts.value
    assert "Attack risk" in told and "at a false-positive rate of 5%, the best attack" in told
    shown = float(told.split("finds at most ")[1].split("%")[0]) / 100
    assert most <= shown < most + 0.01
    line = DEFINITIONS["attack risk"].line
    assert eval(line, {"explorer": page, "best_attack": best_attack}) == most


def test_a_point_of_a_curve_sets_price_and_draws(page):
    card = page.cards["plan"]
    card.redraw()
    draws = card.view.figure["layout"]["meta"]["draws"]
    assert draws == [1, 5, 20, 100]
    card.view.clicked = {"trace": 1, "point": 3, "x": 2.3456, "y": 0.5, "at": 1}
    assert page.state.n_draws == 5 and page.state.epsilon == 2.35
    assert "ε = 2.35 for 5 draws" in card.view.figure["layout"]["title"]["text"]
    card.view.clicked = {"trace": len(draws), "point": 0, "x": 9.0, "y": 0.5, "at": 2}
    assert page.state.epsilon == 2.35  # the plan's own dot


def test_the_papers_bounds_are_folded_away_below_the_stronger(page):
    card = page.cards["promise"]
    card.redraw()
    first, folded = card.facts.value.rsplit("<details>", 1)
    assert "Draws within ψ<" in first and "the paper" not in first
    assert "GTU Theorem D.6" in folded


def test_one_private_model_has_its_curve_too(page):
    page.state.mechanism = "langevin_clipped"
    page.cards["plan"].redraw()
    figure = page.cards["plan"].view.figure
    assert "for 20 draws, excess loss ≤" in figure["layout"]["title"]["text"]
    assert len(figure["data"]) > 3


def test_a_draw_that_may_buy_nothing_is_asked_about_once(page, monkeypatch):
    drawn = []
    panel = page.draw_panel
    monkeypatch.setattr(panel.question, "_go_on", lambda: drawn.append("asked"))
    page.state.epsilon, page.state.mechanism = 0.5, "exact"
    assert panel.button.button_style == ""
    panel.button.click()
    assert panel.question.open and not drawn and page.state.phase == "planning"
    assert "This cannot be undone" in panel.question.said.html
    panel.question.no.click()
    assert not panel.question.open
    panel.button.click()
    page.state.epsilon = 0.6  # other settings are another question
    assert not panel.question.open
    panel.button.click()
    panel.question.yes.click()
    assert drawn == ["asked"] and not panel.question.open


@pytest.mark.parametrize("curve", [1, 5, None])
def test_the_plan_is_dragged_and_its_promise_follows(page, curve):
    card = page.cards["plan"]
    card.redraw()
    page.state.n_draws, page.state.mechanism = 20, "exact"
    card.view.dragged = {"x": 2.3456, "y": 0.5, "curve": curve, "at": 1}
    wanted = draws_at(page.plan, 2.3456, 0.5) if curve is None else curve
    assert (page.state.epsilon, page.state.n_draws) == (2.35, wanted)
    dials = page.model_panel.dials
    assert (dials["epsilon"].value, dials["n_draws"].value) == (2.35, wanted)
    again = page.session.make_estimator(ledger=page.session._ledger_path).plan(*page.data.X.shape)
    assert page.plan.hit_rate_bound == again.hit_rate_bound
    assert guaranteed_hits(again) in page.plan_panel.facts.value
    if curve is None:
        assert page.plan.hit_rate_bound >= 0.5 > guarantee_at(page.plan, 2.35, wanted + 2)
    figure = card.view.figure
    handle = figure["layout"]["meta"]["handle"]
    point = figure["data"][handle["trace"]]
    assert list(point["x"]) == [2.35] and list(point["y"]) == [again.hit_rate_bound]
    assert handle["curves"][handle["own"]] == wanted
    assert f"for {plural(wanted, 'draw')}" in handle["words"]


def test_a_drag_beyond_the_scale_ends_at_its_end_and_in_a_draw_it_does_nothing(page):
    card = page.cards["plan"]
    card.redraw()
    card.view.dragged = {"x": 1e9, "y": 0.5, "curve": 5, "at": 1}
    assert page.state.epsilon == 100.0
    phase = page.state.phase
    page.state.phase = "drawing"
    card.view.dragged = {"x": 1.0, "y": 0.5, "curve": 1, "at": 2}
    page.state.phase = phase
    assert (page.state.epsilon, page.state.n_draws) == (100.0, 5)


def test_price_and_draws_that_move_together_are_planned_once(page, monkeypatch):
    made = []
    really = page.session.make_estimator
    monkeypatch.setattr(page.session, "make_estimator", lambda **_: made.append(1) or really(**_))
    page.cards["plan"].redraw()
    page.cards["plan"].view.dragged = {"x": 3.0, "y": 0.5, "curve": 100, "at": 1}
    assert (page.state.epsilon, page.state.n_draws) == (3.0, 100)
    assert len(made) == 1
