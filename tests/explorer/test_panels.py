"""Panels, clicked as objects; ipywidgets swallows exceptions, so the alert must stay empty."""

from html import escape

import pytest
import traitlets

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.panels.budget import BudgetGauge
from rashomon_explorer.explorer.panels.plan import PlanPanel
from rashomon_explorer.explorer.panels.settings import ModelPanel, losses_for
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets.controls import Slider
from rashomon_explorer.mechanisms.planning.options import plan_candidates
from tests.explorer.pressing import press


def test_choosing_data_by_clicking(explorer):
    explorer.data_panel.name.value = "breast_cancer"
    assert explorer.state.alert is None
    assert explorer.data.name == "breast_cancer"
    assert "569 rows, 30 features" in explorer.data_panel.about.value
    assert explorer.data_panel.positive.layout.display == "none"


def test_three_classes_ask_for_the_positive_one(explorer):
    explorer.data_panel.name.value = "wine"
    assert explorer.data_panel.positive.layout.display is None
    assert explorer.data.classes[1] == "class_0"
    explorer.data_panel.positive.value = "class_2"
    assert explorer.data.classes[1] == "class_2"
    assert explorer.state.alert is None


def test_a_data_set_that_cannot_be_loaded_is_explained(explorer, monkeypatch):
    def offline(name, **_):
        raise DataError(f"{name} could not be fetched: no network")

    monkeypatch.setattr("rashomon_explorer.explorer.panels.data.load_dataset", offline)
    explorer.data_panel.name.value = "adult"
    assert explorer.state.alert.reason == "adult could not be fetched: no network"
    assert "adult could not be fetched" in explorer.alert_panel.text.html
    explorer.alert_panel.dismiss.click()
    assert explorer.alert_panel.text.html == ""


def test_sliders_and_state_are_one(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.model_panel.dials["n_draws"].value = 40.0
    assert explorer.state.n_draws == 40
    assert explorer.draw_panel.button.description == "Draw 40 models (ε = 4)"
    explorer.state.epsilon = 2.0
    assert explorer.model_panel.dials["epsilon"].value == 2.0
    assert "ε = 2" in explorer.plan_panel.facts.value
    assert explorer.state.alert is None


def test_model_panel_offers_the_losses_of_the_task(explorer):
    assert losses_for("regression") == ("squared",)
    explorer.data_panel.name.value = "diabetes"
    assert tuple(explorer.model_panel.loss.options) == ("squared",)
    explorer.data_panel.name.value = "breast_cancer"
    assert tuple(explorer.model_panel.loss.options) == ("logistic",)


def test_controls_are_locked_while_drawing(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.state.drawn_settings = explorer.state.settings()
    explorer.state.phase = "drawing"
    assert explorer.draw_panel.button.disabled
    assert not explorer.draw_panel.stop.disabled
    assert explorer.data_panel.name.disabled
    assert all(dial.disabled for dial in explorer.model_panel.dials.values())
    assert "<progress" in explorer.draw_panel.progress.value
    explorer.state.phase = "done"
    assert not explorer.draw_panel.button.disabled
    assert explorer.draw_panel.stop.disabled


def test_the_plan_tells_itself_in_words_when_asked(explorer, cancer):
    explorer.session.choose(cancer)
    panel = explorer.plan_panel
    words = panel.widget.children[3]
    assert words.value == "" and words.layout.display == "none"
    panel.explanation.value = True
    assert "exact draws cost ε = " in words.value
    assert escape("by the ledger's composition rule") in words.value
    assert "simulated rows of this shape" in words.value
    before = words.value
    explorer.state.psi = 0.05
    assert words.value != before and "ψ = 0.05" in words.value
    panel.explanation.value = False
    assert words.layout.display == "none"


def test_the_plan_lists_every_offer_of_the_planner_when_asked(explorer, cancer):
    explorer.session.choose(cancer)
    ways = explorer.plan_panel.alternatives
    assert ways.offers.value == "" and ways.offers.layout.display == "none"
    ways.button.value = True
    for offer in plan_candidates(explorer.plan):
        assert escape(offer.summary) in ways.offers.value and escape(offer.why) in ways.offers.value
    assert ways.offers.value.count("this plan") == 1
    assert ways.offers.value.count("not applicable") == sum(
        not offer.applies for offer in plan_candidates(explorer.plan)
    )
    before = ways.offers.value
    explorer.state.epsilon = 2 * explorer.state.epsilon
    assert ways.offers.value != before
    ways.button.value = False
    assert ways.offers.layout.display == "none"


def test_gauge_shows_spent_planned_and_left(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.draw()
    gauge = explorer.budget_panel.gauge.value
    assert 'role="meter"' in gauge
    assert 'aria-valuenow="4"' in gauge
    assert '<b class="rx-left-value">4</b>' in gauge
    assert explorer.budget_panel.epsilon.layout.display == "none"


def test_panels_work_alone():
    state = ExplorerState()
    for panel in (ModelPanel, PlanPanel, BudgetGauge):
        assert panel(state).widget is not None


def test_view_switch_hides_what_only_the_curator_sees(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.draw()
    assert "Hit rate" in explorer.numbers_panel.facts.value
    explorer.numbers_panel.view.value = "release"
    for hidden in ("Hit rate", "Best loss", "Clipped rows"):
        assert hidden not in explorer.numbers_panel.facts.value
    assert "within ψ of the best" not in explorer.draw_panel.status.html


def test_selection_compares_draws_with_the_best(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.draw()
    view = explorer.cards["coefficients"].view
    view.clicked = {"id": 3, "at": 1}
    view.clicked = {"id": 5, "at": 2}
    assert explorer.state.selection == (3, 5)
    table = explorer.selection_panel.table
    assert "draw 3" in table.value
    models = explorer.rashomon_set
    outside = sum(models.excess[[3, 5]] > models.psi)
    assert table.value.count("outside ψ") == outside
    explorer.state.view = "release"
    assert "outside" not in table.value
    explorer.state.view = "curator"
    explorer.state.selection = tuple(range(15))
    assert "12 of 15 selected models shown" in table.value
    explorer.state.selection = (3, 5)
    view.clicked = {"id": 3, "at": 3}
    assert explorer.state.selection == (5,)
    view.selected = [{"id": 1}, {"id": 2}, {"id": None}, {"id": 999}]
    assert explorer.state.selection == (1, 2)
    ringed = explorer.cards["losses"].view.figure["data"]
    assert any(trace["name"] == "draw" for trace in ringed)
    explorer.selection_panel.clear.click()
    assert "No models are selected" in explorer.selection_panel.table.value
    assert explorer.state.alert is None


def test_figures_that_sliders_have_left_behind_say_so(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.state.psi = 0.05
    stale = explorer.numbers_panel.stale
    assert stale.value == ""  # nothing was drawn yet
    explorer.draw()
    assert stale.value == ""
    explorer.state.psi, explorer.state.epsilon = 0.1, 3.0
    assert "made with ψ = 0.05, ε = 4." in stale.value
    assert "sliders are at ψ = 0.1, ε = 3:" in stale.value
    assert stale.layout.display is None
    explorer.state.psi, explorer.state.epsilon = 0.05, 4.0
    assert stale.value == "" and stale.layout.display == "none"


def test_draws_outside_the_set_leave_words_in_the_figures_of_the_set(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.draw()
    models = explorer.rashomon_set
    assert models.hit_rate == 0  # as the plan said: at this price nothing is guaranteed
    assert "0 of 20 inside ψ" in explorer.numbers_panel.facts.value
    for name in ("people", "importance"):
        card = explorer.cards[name]
        assert not card.view.figure["data"]
        assert "None of 20 draws lies inside" in str(card.view.figure["layout"])
        assert card._table_button.disabled
        assert any(name in line for line in card.lines)
    explorer.state.view = "release"
    explorer.cards["importance"]._what.value = "coef"
    title = str(explorer.cards["importance"].view.figure["layout"])
    assert "of all 20 draws (guaranteed hit rate" in title and "inside ψ" not in title
    assert explorer.state.alert is None


def test_dial_refuses_what_is_off_its_scale():
    dial = Slider(value=1e-6, low=1e-12, high=1e-3, log=True, zero=True, label="δ")
    dial.value = 0.0
    with pytest.raises(traitlets.TraitError, match=r"δ must be between 1e-12 and 0\.001, got 1$"):
        dial.value = 1.0
    assert dial.value == 0.0


def test_the_promise_and_a_shortage_stand_beside_the_button(tmp_path):
    explorer = Explorer(home=tmp_path)
    panel = explorer.draw_panel
    assert "This will spend <b>ε = 4</b>" in panel.price.value
    assert "≥ 66%" in panel.price.value
    explorer.state.epsilon = 9.0
    assert "Over the budget</b>: This adds ε = 9, and ε = 8 remains" in panel.price.value
    assert panel.button.disabled and panel.button.button_style == ""
    most = float(panel.price.value.split("Set ε to ")[1].split()[0])
    assert 7.9 < most <= 8.0
    assert "over the budget" in explorer.budget_panel.gauge.value
    explorer.state.epsilon = most  # the remedy, as it is said
    assert not panel.button.disabled and panel.button.button_style == "primary"


def test_a_price_that_promises_little_has_a_quiet_button_and_says_why(tmp_path, cancer):
    explorer = Explorer(data=cancer, home=tmp_path)
    panel = explorer.draw_panel
    assert explorer.plan.hit_rate_bound < 0.2
    assert not panel.button.disabled and panel.button.button_style == ""
    assert "guarantee is weak" in panel.price.value and "within ψ" in panel.price.value
    assert "Weak guarantee" in explorer.plan_panel.facts.value
    explorer.state.psi = 0.65
    explorer.state.epsilon = 90.0
    assert explorer.plan.hit_rate_bound >= 0.2
    assert "Weak guarantee" not in explorer.plan_panel.facts.value


def test_draws_that_are_not_to_be_expected_are_refused_once_before_the_charge(
    tmp_path, cancer, monkeypatch
):
    monkeypatch.setattr(
        "rashomon_explorer.explorer.drawing.infeasibility_message",
        lambda planned: "No draw would come.",
    )
    explorer = Explorer(data=cancer, home=tmp_path)
    press(explorer.draw_panel)
    assert "No draw would come. Nothing was charged." in explorer.state.alert.reason
    assert explorer.ledger is None
    explorer.draw()
    assert explorer.rashomon_set.n_draws == 20 and len(explorer.ledger.entries()) == 1
