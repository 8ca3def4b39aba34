"""With trees on screen every view shows something of trees, and nothing of coefficients."""

from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from rashomon_explorer import Explorer, load_dataset
from rashomon_explorer.data import TableSchema, YesNo
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.family import names_in_words
from rashomon_explorer.explorer.streamed_table import tree_rows
from rashomon_explorer.plots.tree_answers import plot_tree_guarantee, tree_guarantee_table


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    explorer = Explorer(load_dataset("lending"), home=tmp_path_factory.mktemp("home"))
    state = explorer.state
    state.family, state.max_leaves, state.n_draws = "trees", 3, 8
    explorer.draw()
    return explorer


def _offered(page):
    slots = [slot for view in page.shell.views.values() for slot in view.slots]
    return {slot.names[place] for slot in slots for _, place in slot.choice.options}


def _chosen(page, view):
    return [slot.names[slot.choice.value] for slot in page.shell.views[view].slots]


LINEAR = {"coefficients", "exact_ranges", "ranges", "bounds", "pair", "selection panel"}
TREES = {
    "trees",
    "rules",
    "witness",
    "tree_sizes",
    "tree_flips",
    "tree_questions",
    "tree_use",
    "tree_parity",
}


def test_figures_are_offered_that_have_something_to_show(page):
    assert _offered(page) >= TREES and not _offered(page) & LINEAR
    assert _chosen(page, "set") == ["losses", "models panel", "tree_sizes"]
    assert _chosen(page, "features") == ["tree_questions", "profile"]
    assert _chosen(page, "people")[0] == "tree_flips"
    page.state.family = "linear"  # the set on screen is of trees still
    assert _offered(page) >= TREES | LINEAR
    page.state.family = "trees"
    assert not _offered(page) & LINEAR


def test_a_linear_page_offers_no_trees(tmp_path):
    explorer = Explorer(load_dataset("breast_cancer"), home=tmp_path)
    assert _offered(explorer) >= LINEAR and not _offered(explorer) & TREES
    assert _chosen(explorer, "features")[0] == "importance"


def test_what_is_promised_of_a_tree_is_a_curve_that_reads_no_row(page):
    plan = page.plan
    table = tree_guarantee_table(plan)["at least"]
    assert table[plan.psi] == plan.hit_rate_bound and table.is_monotonic_increasing
    figure = plot_tree_guarantee(plan)
    assert "≥ 89%" in figure.layout.title.text and figure.layout.meta["view"] == "plan"
    card = page.cards["promise"]
    card.redraw()
    assert len(card.view.figure["data"]) == 2


def test_the_headline_says_what_is_exact_and_what_was_drawn(page):
    told = page.people_headline.find()
    share = (page.tree_answers.flips()["psi"] <= page.state.psi).mean()
    assert f"<b>{share:.0%}</b> of all 50,000 people" in told
    assert "two good models disagree" in told and "samplers" not in told


def test_models_are_told_apart_by_leaves_and_by_whom_they_label(page):
    columns = [one["name"] for one in page.models_panel.table.columns]
    assert "leaves" in columns
    labels = page.rashomon_set.labels(page.rows.head(500))
    simplest, nearest, apart = page.models_panel.pickers
    simplest.click()
    sizes = page.rashomon_set.complexity()
    assert sizes[list(page.state.selection)].max() <= np.sort(sizes)[4]
    apart.click()
    first, second = page.state.selection
    assert (labels[first] != labels[second]).mean() > 0
    nearest.click()
    assert len(page.state.selection) == 5
    page.state.view = "release"
    assert nearest.disabled and apart.disabled and not simplest.disabled
    assert "complexity" in page.models_panel.lines()[0]
    page.state.view = "curator"
    page.models_panel.aside.click()
    assert page.state.page == "set" and _chosen(page, "set")[1] == "trees"


def test_one_model_is_of_linear_models_alone(page):
    page.state.goal = "one"
    panel = page.goal_panel
    assert panel.goal.layout.display == "none" and page.draw_panel.widget.layout.display is None
    page.state.family = "linear"
    assert panel.goal.layout.display is None and page.draw_panel.widget.layout.display == "none"
    page.state.family, page.state.goal = "trees", "set"


def test_what_equal_rates_cost_is_exact_and_chosen_as_the_rest_is(page):
    card, answers, data = page.cards["tree_parity"], page.tree_answers, page.data
    card.redraw()
    figure = card.view.figure
    names = [one["name"] for one in figure["data"]]
    assert names == ["drawn trees", "least loss", "best tree", "least gap"]
    assert "exact: no tree does better" in figure["layout"]["title"]["text"]
    assert "exact" in card._kinds.value and figure["layout"]["meta"]["view"] == "curator"
    front = answers.parity("group")
    both = answers.fairest("group")
    says = both.labels(tree_rows(data)) == 1
    groups = data.sensitive["group"].to_numpy()
    rates = [says[:, groups == one].mean(axis=1) for one in np.unique(groups)]
    assert abs(rates[0] - rates[1])[[0, 1]] == pytest.approx(front["gap"].iloc[[0, -1]].to_numpy())
    assert both.excess[1] == pytest.approx(front["beyond"].iloc[-1])
    # No drawn tree lies below the line.
    drawn = answers.drawn_gaps(page.rashomon_set, "group")
    for _, one in drawn[drawn["beyond"] <= page.state.psi].iterrows():
        reached = front["gap"][front["beyond"] <= one["beyond"] + 1e-9]
        assert reached.min() <= one["gap"] + 1e-9
    card._by.value = "age_index"  # one choice for every figure
    assert page.state.group_column == "age_index" and page.cards["gaps"].column == "age_index"
    page.state.group_column = "group"
    page.state.selection = (2,)
    assert max(card.next_call().figure().data[0].marker.size) == 10
    page.state.selection = ()
    witness = page.cards["witness"]
    witness.does.value = "differs least between groups"
    assert "with the least gap by group" in witness.next_call().figure().layout.title.text


def test_a_front_of_draws_does_not_pass_for_exact(page, monkeypatch):
    page.tree_answers._results._results.clear()
    monkeypatch.setattr("rashomon_explorer.explorer.answers._MOST_KEPT", 1)
    for name in ("tree_parity", "witness"):
        card = page.cards[name]
        card.redraw()
        assert "sampled" in card._kinds.value and "exact</" not in card._kinds.value
        assert "of 2,000" in card.view.figure["layout"]["title"]["text"]
    page.tree_answers._results._results.clear()


def test_importance_and_noise_are_told_of_trees_too(page):
    card = page.cards["importance"]
    card.redraw()
    assert "rely most on" in card.view.figure["layout"]["title"]["text"]
    assert [value for _, value in card._what.options] == ["importance"]
    card = page.cards["decomposition"]
    card.redraw()
    assert len(card.view.figure["data"]) > 0
    page.state.leaf_penalty = 0.1  # another class: no reference for these draws
    card.redraw()
    said = str(card.view.figure["layout"]).replace("<br>", " ")
    assert "restore leaves, depth, leaf penalty and thresholds" in said
    page.state.leaf_penalty = 0.005


def test_importance_is_measured_on_resampled_tables_of_trees_too(page):
    assert "importance_distribution" in _offered(page)
    card = page.cards["importance_distribution"]
    card.redraw()
    figure = card.view.figure
    assert "is the most important in" in figure["layout"]["title"]["text"]
    assert set(card.next_call().table().index) == set(page.rashomon_set.models.feature_names)


def test_trees_of_another_class_are_no_reference_though_their_best_is_the_same(page):
    answers, models = page.tree_answers, page.rashomon_set
    assert answers.class_of_draws(models) is answers.counted
    planned = models.plan
    others = [
        {"questions": planned.questions[1:]},
        {"most_leaves": planned.most_leaves + 1},
        {"max_depth": 1},
        {"leaf_penalty": 0.1},
        {"costs": ((0, 1), (2, 0))},
    ]
    for other in others:
        strange = replace(models, planned=replace(planned, **other))
        assert strange.least == models.least
        with pytest.raises(DataError, match="restore leaves, depth, leaf penalty and thresholds"):
            answers.class_of_draws(strange)
    with pytest.raises(DataError, match="restore leaves, depth, leaf penalty and thresholds"):
        answers.class_of_draws(replace(models, planned=None))


def test_questions_read_by_themselves(page):
    assert names_in_words(["sex", "age"], TableSchema([YesNo("sex", ("f", "m"))])) == (
        "sex=m",
        "age",
    )
    figure = page.cards["trees"].next_call().figure()
    asked = [text for trace in figure.data if trace.mode == "text" for text in trace.text]
    assert asked and all(text.count("<br>") == 1 for text in asked)
    assert max(len(line) for text in asked for line in unescape(text).split("<br>")) <= 15
    witness = page.cards["witness"]
    witness.does.value = "asks"
    figure = witness.next_call().figure()
    assert tuple(figure.layout.xaxis.range) == (0, 1)  # one above the other: a phone has no room
