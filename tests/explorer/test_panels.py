"""Panels, clicked as objects; ipywidgets swallows exceptions, so the alert must stay empty."""

import asyncio
from unittest.mock import Mock
from urllib.error import URLError

import pandas as pd
import pytest
import traitlets
from sklearn.utils import Bunch

from rashomon_explorer.data import catalog
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.panels.data import OPENML
from rashomon_explorer.explorer.panels.settings import MECHANISMS
from rashomon_explorer.explorer.widgets import controls
from rashomon_explorer.mechanisms.registry import SET_MECHANISMS
from rashomon_explorer.mechanisms.request import AUTO
from tests.explorer.pages import press, set_state


def test_choosing_data_by_clicking(explorer):
    panel, estimator = explorer.data_panel, explorer.fitting_panel.choice
    for name, loss in (("diabetes", "squared"), ("breast_cancer", "logistic")):
        panel.name.value = name
        assert explorer.data.name == name and explorer.state.loss == loss
        assert ("sparse trees" in str(estimator.options).lower()) == (loss == "logistic")
    assert panel.positive.layout.display == "none"
    panel.name.value = "wine"  # three classes ask for the positive one
    assert panel.positive.layout.display is None and explorer.data.classes[1] == "class_0"
    panel.positive.value = "class_2"
    assert explorer.data.classes[1] == "class_2" and explorer.state.alert is None


def test_a_table_of_openml_is_proposed_or_its_failure_told(explorer, monkeypatch):
    panel, fetch = explorer.data_panel, "fetch_openml"
    target = pd.Series(pd.Categorical(["no", "yes", "yes"] * 20), name="class")
    found = Bunch(data=pd.DataFrame({"age": [20.0, 44.0, 31.0] * 20}), target=target)
    found.details = {"name": "loans", "id": "31"}
    monkeypatch.setattr(catalog.sklearn_datasets, fetch, lambda **_: found)
    panel.name.value = OPENML
    assert panel.schema.file.layout.display == "none"
    panel.openml.which.value = " 31 "
    panel.openml.fetch.click()
    assert explorer.state.alert is None and panel.schema.table.name == "loans-31"
    assert panel.schema.table.schema.target.name == "class"
    offline = Mock(side_effect=URLError("no route to host"))

    async def pressed():
        panel.openml.fetch.click()
        assert panel.openml.fetch.disabled
        await panel.openml.task.task

    monkeypatch.setattr(catalog.sklearn_datasets, fetch, offline)
    asyncio.run(pressed())
    assert "no route to host" in explorer.state.alert.reason and not panel.openml.fetch.disabled
    explorer.alert_panel.dismiss.click()
    assert explorer.alert_panel.text.html == ""


def test_sliders_and_state_are_one(cancer_page):
    page, dials = cancer_page, cancer_page.model_panel.dials
    dials["n_draws"].value = 40.0
    assert page.state.n_draws == 40
    assert page.draw_panel.button.description == "Draw 40 models (ε = 4)"
    page.state.epsilon = 2.0
    assert dials["epsilon"].value == 2.0 and "ε = 2" in page.plan_panel.facts.value
    dial = controls.Slider(value=1e-6, low=1e-12, high=1e-3, log=True, zero=True, label="δ")
    dial.value = 0.0
    with pytest.raises(traitlets.TraitError, match=r"δ must be between 1e-12 and 0\.001, got 1$"):
        dial.value = 1.0
    assert dial.value == 0.0


def test_single_models_add_up_and_models_that_do_not_exist_are_left_out(cancer_page):
    state, view = cancer_page.state, cancer_page.cards["map"].view
    cancer_page.draw()
    for at, draw in enumerate((3, 5)):
        view.clicked = {"id": draw, "at": at}
    assert state.selection == (3, 5)
    view.clicked = {"id": 3, "at": 3}
    assert state.selection == (5,)
    view.selected = [{"id": 1}, {"id": 2}, {"id": None}, {"id": 999}]
    assert state.selection == (1, 2)
    assert state.alert is None


@pytest.mark.slow
def test_before_a_draw_the_map_says_what_it_waits_for(as_it_opens, tmp_path, caplog):
    explorer = Explorer(home=tmp_path)
    card = explorer.cards["map"]

    def words():
        card.redraw()
        return str(card.view.figure["layout"])

    assert "The set before any draw" in words()
    explorer.state.phase = "drawing"
    assert "The set before any draw" in words()  # until the first state of a path
    explorer.state.phase = "planning"
    for label in ("across", "up"):
        card.controls[label].value = "intercept"
    assert "Choose two different directions" in words()
    assert not caplog.records


@pytest.mark.slow
def test_every_table_opens_with_a_path_or_an_ellipsoid_and_one_model_is_a_goal_of_its_own(
    as_it_opens, tmp_path, cancer
):
    assert set(MECHANISMS) == {AUTO, *SET_MECHANISMS}
    explorer = Explorer(home=tmp_path)
    assert explorer.plan.n_draws == 400 and explorer.plan.hit_rate_bound >= 0.5
    assert explorer.plan.mechanism == "langevin" and explorer.plan.cost[0] < 1
    explorer.session.choose(cancer)
    state = explorer.state
    assert state.goal == "set" and state.n_draws == 400
    assert explorer.plan.mechanism == "ellipsoid"
    assert "Draw 400 models" in explorer.draw_panel.button.description
    assert explorer.draw_panel.button.button_style == ""  # its excess is above ψ
    state.goal = "one"
    assert "Make one model" in explorer.goal_panel.one.button.description
    state.goal = "set"
    state.radius = AUTO
    dials = explorer.model_panel.dials
    assert dials["radius"].value == pytest.approx(explorer.plan.radius)
    assert explorer.model_panel.open["radius"].auto.value
    state.radius = 4.0
    press(explorer.draw_panel)
    assert state.alert is None and state.phase == "done"
    predicted = explorer.estimator.predict(cancer.frame)
    assert predicted.shape == cancer.y.shape
    assert explorer.ledger.spent() == pytest.approx(1.0)


@pytest.mark.law
def test_what_was_touched_stays_and_moving_a_dial_leaves_the_rule(as_it_opens, tmp_path, cancer):
    explorer = Explorer(data=cancer, home=tmp_path)
    explorer.model_panel.dials["n_draws"].value = 5.0
    assert explorer.state.n_draws == 5 and not explorer.model_panel.open["n_draws"].auto.value
    assert explorer.plan.n_draws == 5 and explorer.state.radius == 4.0
    explorer.model_panel.open["n_draws"].auto.value = True
    assert explorer.state.n_draws == AUTO


def test_a_mechanism_that_cannot_be_had_is_refused_and_has_no_button(cancer_page):
    set_state(cancer_page, delta=0.0, mechanism="langevin")
    assert cancer_page.plan is None and "delta" in cancer_page.state.no_plan
    assert cancer_page.draw_panel.button.disabled
    cancer_page.state.mechanism = "exact"
    assert cancer_page.plan is not None and cancer_page.state.no_plan == ""
    assert not cancer_page.draw_panel.button.disabled


def test_the_curator_explores_without_a_charge_and_it_is_marked(explorer, cancer_page):
    cancer_page.state.mechanism = "hit_and_run"
    assert "nothing is charged" in explorer.draw_panel.price.value
    reason = "hit and run reads the rows without noise and is not private"
    assert reason in explorer.plan_panel.facts.value
    explorer.draw()
    assert explorer.state.alert is None and not explorer.guarantee.holds
    assert explorer.ledger is None and "No guarantee and no privacy cost" in explorer.state.message
    shapes = str(explorer.cards["losses"].view.figure["layout"]["shapes"])
    assert "no privacy guarantee" in shapes


def test_where_little_is_guaranteed_a_look_is_free_and_private_draws_come_back(cancer_page):
    page, look = cancer_page, cancer_page.draw_panel.look
    page.state.epsilon = 0.1
    assert page.drawing.quote().weakness and look.layout.display == "none"  # the start offers it
    page.draw_panel.first_look.click()
    assert page.rashomon_set.n_draws == 20 and not page.guarantee.holds and page.ledger is None
    assert look.description == "Back to private draws" and look.layout.display is None
    look.click()
    assert page.state.mechanism == AUTO and not page.state.uncharged
    page.state.view = "release"
    assert look.layout.display == "none"
