"""The way to draw on the page: what it opens with, what it takes, what it refuses."""

import numpy as np
import pytest

from rashomon_explorer.data import load_csv
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.account import read_account
from rashomon_explorer.explorer.panels.settings import MECHANISM_LABELS
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.mechanisms.planning.registry import OF_SEVERAL_MODELS
from rashomon_explorer.privacy import Ledger, bounded_range

RULE = {"radius": AUTO, "ridge": AUTO, "n_draws": AUTO}


def test_every_sampler_is_offered_in_words():
    assert set(MECHANISM_LABELS) == {AUTO, *OF_SEVERAL_MODELS}


def test_a_large_table_opens_with_many_and_a_small_one_with_one_good_model(
    as_it_opens, tmp_path, cancer
):
    explorer = Explorer(home=tmp_path)
    assert explorer.plan.n_draws == 20 and explorer.plan.hit_rate_bound > 0.6
    assert "Selected: exact. At least" in explorer.model_panel.mechanism.why.value
    explorer.session.choose(cancer)
    assert {name: getattr(explorer.state, name) for name in RULE} == RULE
    assert explorer.plan.mechanism == "objective_perturbation" and explorer.plan.gaussian
    assert explorer.plan.n_draws == 1
    assert "Draw 1 model" in explorer.draw_panel.button.description
    dials = explorer.model_panel.dials
    assert dials["radius"].value == pytest.approx(explorer.plan.radius)
    assert explorer.model_panel.open["radius"].auto.value
    explorer.draw()
    assert explorer.state.alert is None and explorer.state.phase == "done"
    predicted = explorer.estimator.predict(cancer.frame)
    assert np.mean(predicted == cancer.y) > 0.8  # the majority has .63
    assert explorer.ledger.spent() == pytest.approx(4.0)


@pytest.mark.law
def test_what_was_touched_stays_and_moving_a_dial_leaves_the_rule(as_it_opens, tmp_path, cancer):
    explorer = Explorer(data=cancer, home=tmp_path)
    explorer.model_panel.dials["n_draws"].value = 5.0
    assert explorer.state.n_draws == 5 and not explorer.model_panel.open["n_draws"].auto.value
    assert explorer.plan.n_draws == 5 and explorer.state.radius == AUTO
    explorer.data_panel.name.value = "lending"
    assert explorer.state.n_draws == 5 and explorer.state.radius == AUTO
    explorer.model_panel.open["n_draws"].auto.value = True
    assert explorer.state.n_draws == AUTO


def test_a_way_that_cannot_be_had_is_refused_in_words_and_has_no_button(explorer, cancer):
    explorer.session.choose(cancer)
    explorer.state.delta = 0.0
    explorer.state.mechanism = "langevin_average"
    assert explorer.plan is None and "delta" in explorer.state.no_plan
    assert "This mechanism is unavailable" in explorer.model_panel.mechanism.why.value
    assert "Unavailable" in explorer.draw_panel.price.value and explorer.draw_panel.button.disabled
    explorer.state.mechanism = "exact"
    assert explorer.plan is not None and explorer.state.no_plan == ""
    assert not explorer.draw_panel.button.disabled


def test_the_curator_explores_without_a_charge_and_it_is_marked(explorer, table):
    declared = {"bounds": {"age": (18, 90), "debt": (0, 1)}, "classes": ["no", "yes"]}
    explorer.session.choose(load_csv(table, target="repaid", sensitive=["sex"], **declared))
    explorer.state.mechanism = "hit_and_run"
    assert "nothing is charged" in explorer.draw_panel.price.value
    facts = explorer.plan_panel.facts.value
    assert "hit_and_run reads the rows without noise and is not private" in facts
    explorer.draw()
    assert explorer.state.alert is None
    assert explorer.rashomon_set.hit_rate == 1.0 and not explorer.guarantee.holds
    assert explorer.ledger is None and "No guarantee and no privacy cost" in explorer.state.message
    title = str(explorer.cards["losses"].view.figure["layout"]["shapes"])
    assert "no privacy guarantee" in title


def test_what_a_path_may_still_cost_is_the_epsilon_to_set(tmp_path):
    path = tmp_path / "table.ledger"
    with Ledger.create(path, epsilon=8.0, delta=1e-6) as ledger:
        ledger.reserve(bounded_range(1.0))
    account = read_account(path, (8.0, 1e-6))
    rows = {"radius": 4.0, "row_norm": 1.5, "delta": 1e-6, "ledger": True}
    most = account.affordable(plan_path(50_000, 11, 0.0, epsilon=20.0, **rows))
    assert account.affords(plan_path(50_000, 11, 0.0, epsilon=most, **rows).guarantee)
    more = plan_path(50_000, 11, 0.0, epsilon=1.001 * most, **rows)
    assert not account.affords(more.guarantee)
