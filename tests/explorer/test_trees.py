"""The page with sparse trees: settings, draws, figures, exact results, and what leaves."""

import json
import math
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rashomon_explorer import Explorer, RashomonTreeClassifier, load_dataset
from rashomon_explorer.data import TableSchema, YesNo
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.explorer import score
from rashomon_explorer.explorer.family import names_in_words
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.explorer.table_rows import tree_rows
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.plots.theme import ORANGE
from rashomon_explorer.sets import PredictorSet, ReleasedTrees
from rashomon_explorer.trees import TreeClass
from tests.explorer.pages import held_page, press, price_on, redrawn, set_state, unzipped
from tests.report.conftest import numbers_of

AS_OPENED = {"family": "trees", "max_leaves": 3, "max_depth": None, "leaf_penalty": 0.005}
AS_OPENED |= {"n_draws": 8, "goal": "set", "view": "curator", "page": "plan", "group_column": ""}


@cache
def _lending():
    """A tenth of the lending table: counting trees takes as long as it has rows."""
    data = load_dataset("lending")
    return TableEditor("lending", data.frame.head(5_000), data.schema).data()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    explorer = Explorer(_lending(), home=tmp_path_factory.mktemp("home"))
    set_state(explorer, **AS_OPENED)
    assert explorer.plan.of_trees and explorer.plan.request.most_leaves == 3
    explorer.draw()
    return explorer


@pytest.fixture
def page(drawn):
    """Drawn trees; what a test changes is undone."""
    schema = drawn.data.schema
    yield drawn
    if drawn.data.schema is not schema:
        drawn.session.redeclare(schema)
    set_state(drawn, **AS_OPENED)
    drawn.state.clear_selection()
    assert drawn.state.alert is None


def _offered(page):
    slots = [slot for view in page.shell.views.values() for slot in view.slots]
    shown = [slot for slot in slots if slot.widget.layout.display != "none"]
    return {slot.names[place] for slot in shown for _, place in slot.choice.options}


def _chosen(page, view):
    return [slot.names[slot.choice.value] for slot in page.shell.views[view].slots]


LINEAR = {"map", "ranges", "bounds", "pair"}
TREES = {"trees", "rules", "witness", "tree_sizes", "tree_questions", "tree_use"}
TREES |= {"tree_parity", "tree_list"}


@pytest.mark.slow
def test_figures_are_offered_that_have_something_to_show(page, tmp_path):
    assert _offered(page) >= TREES and not _offered(page) & LINEAR
    page.state.family = "linear"  # the set on screen is of trees still
    assert _offered(page) >= TREES | LINEAR
    linear = Explorer(load_dataset("breast_cancer"), home=tmp_path)
    assert not _offered(linear) & TREES and "start panel" in _offered(linear)
    press(linear.draw_panel)
    assert _offered(linear) >= LINEAR and not _offered(linear) & (TREES | {"start panel"})


def test_draws_are_paid_trees_of_the_tables_own_columns(page):
    models = page.rashomon_set
    assert page.state.phase == "done" and isinstance(models, PredictorSet)
    assert models.guarantee.holds
    assert models.labels(page.rows).shape == (8, len(page.rows))
    assert page.estimator.predict(page.data.frame).shape == (len(page.rows),)
    number = page.state.in_view
    page.state.family = "linear"
    assert not page.plan.of_trees
    page.session.open_saved(number)
    assert page.rashomon_set.models.trees == models.models.trees
    assert "RashomonTreeClassifier" in page.model_panel.lines()[1]  # a set brings its settings


@pytest.mark.slow
def test_models_are_told_apart_by_leaves_and_by_whom_they_label(page):
    labels, menu = page.rashomon_set.labels(page.rows.head(500)), page.models_panel.menu
    menu.chosen = "Most different"
    first, second = page.state.selection
    assert (labels[first] != labels[second]).mean() > 0
    page.state.view = "release"
    assert not menu.enabled("Most different")


def test_the_curators_report_of_trees_reads_the_rows(page):
    page.state.view = "curator"
    text = page.take_panel.curator_report.fetch().content.decode()
    assert "no rows were given" not in text and "one of the 8 models within ψ predicts" in text


@pytest.mark.slow
def test_all_trees_of_a_small_set_are_listed_free(page):
    answers, charges = page.tree_answers, len(page.ledger.entries())
    page.state.psi = 0.0
    while answers.counted.size(page.state.psi) < 5:
        page.state.psi = round(page.state.psi + 0.002, 3)
    listed, n_trees = answers.listed(), answers.counted.size(page.state.psi)
    assert listed.n_draws == min(n_trees, 100) == len(set(listed.models.trees))
    assert listed.complete == (n_trees <= 100) and (np.diff(listed.losses) >= 0).all()
    assert listed.excess.max() <= page.state.psi + 1e-9
    asked = {question: answers.listed(asks=question) for question in answers.questions}
    question, those = max(asked.items(), key=lambda item: item[1].n_draws)
    assert those.n_draws
    assert those.n_draws + answers.listed(avoids=question).n_draws == listed.n_draws
    by_leaves = [answers.listed(leaves=leaves).n_draws for leaves in (1, 2, 3)]
    assert sum(by_leaves) == listed.n_draws and len(page.ledger.entries()) == charges
    card = page.cards["tree_list"]
    assert f"{n_trees:,} trees are within ψ" in redrawn(card)[0] and len(card.call.table())
    assert card.call.marks() == (("exact",) if listed.complete else ("sampled",))
    page.state.view = "release"
    assert "not part of the release" in redrawn(card)[1]


@pytest.mark.slow
def test_what_is_true_of_all_trees_is_shown_exactly(page):
    answers, psi, drawn = page.tree_answers, page.state.psi, page.rashomon_set
    sizes = answers.sizes()
    assert sizes[psi].sum() == answers.counted.size(psi) and set(sizes.index) == {1, 2, 3}
    assert drawn.least == pytest.approx(answers.counted.least)  # the class that draws come from
    page.state.people = (5,)
    for name in ("tree_sizes", "dots", "tree_questions", "witness"):
        assert redrawn(page.cards[name])[2] > 0, name
    view, flips = page.cards["dots"].view, answers.flips()["psi"]
    dots = view.figure["data"][0]
    people = [int(person) for person in numbers_of(dots["customdata"])]
    depends = [colour == ORANGE for colour in dots["marker"]["color"]]
    assert depends == (flips[people] <= psi).tolist() and 0 < sum(depends) < 100
    some = people[:60]
    view.selected = [{"id": one} for one in some]
    assert page.state.people == tuple(some)
    page.state.people = (5,)
    both = answers.flipping(5)
    labels = both.labels(page.rows.iloc[[5]])[:, 0]
    assert labels[0] != labels[1]
    assert both.excess[1] == pytest.approx(answers.flips()["psi"][5])
    table = answers.features()
    for method, column in (("asking", "psi_using"), ("without", "psi_avoiding")):
        losses = getattr(answers, method)(table.index[7]).losses
        assert losses[1] - losses[0] == pytest.approx(table[column].iloc[7], abs=1e-9)
    witness = page.cards["witness"]
    page.state.view = "release"
    assert "not part of the release" in redrawn(witness)[1]


def test_what_equal_rates_cost_is_exact_and_chosen_as_the_rest_is(page):
    card, answers = page.cards["tree_parity"], page.tree_answers
    page.state.group_column = "group"
    title, _, _ = redrawn(card)
    names = [one["name"] for one in card.view.figure["data"]]
    assert names == ["drawn trees", "least loss", "best tree", "least gap"]
    assert "exact: no tree does better" in title and "exact" in card._kinds.value
    front, both = answers.parity("group"), answers.fairest("group")
    positive = both.labels(tree_rows(page.data)) == 1
    groups = page.data.sensitive["group"].to_numpy()
    rates = [positive[:, groups == one].mean(axis=1) for one in np.unique(groups)]
    assert abs(rates[0] - rates[1])[[0, 1]] == pytest.approx(front["gap"].iloc[[0, -1]].to_numpy())
    assert both.excess[1] == pytest.approx(front["beyond"].iloc[-1])
    drawn = answers.drawn_gaps(page.rashomon_set, "group")  # none lies below the line
    for _, one in drawn[drawn["beyond"] <= page.state.psi].iterrows():
        reached = front["gap"][front["beyond"] <= one["beyond"] + 1e-9]
        assert reached.min() <= one["gap"] + 1e-9
    page.people_headline.column.value = "age_index"  # one choice for every figure
    assert page.state.group_column == "age_index" and page.cards["gaps"].column == "age_index"
    page.state.group_column = "group"


def test_a_front_of_draws_does_not_pass_for_exact(page, monkeypatch):
    page.tree_answers._results._results.clear()
    monkeypatch.setattr("rashomon_explorer.explorer.answers._MOST_KEPT", 1)
    page.state.group_column = "group"
    page.cards["witness"].controls["the best that"].value = "differs least between groups"
    for name in ("tree_parity", "witness"):
        assert "of 2,000" in redrawn(page.cards[name])[0]
        kinds = page.cards[name]._kinds.value
        assert "sampled" in kinds and "exact</" not in kinds
    page.tree_answers._results._results.clear()


def test_trees_of_another_class_are_no_reference_though_their_best_is_the_same(page):
    answers, models = page.tree_answers, page.rashomon_set
    assert len(answers.drawn_gaps(models, "group")) == models.n_draws
    planned = models.plan
    others = [
        {"questions": planned.request.questions[1:]},
        {"most_leaves": planned.request.most_leaves + 1},
        {"max_depth": 1},
        {"leaf_penalty": 0.1},
        {"costs": ((0, 1), (2, 0))},
    ]
    for strange in (None, *(planned.with_numbers(**other) for other in others)):
        assert answers.drawn_gaps(replace(models, planned=strange), "group").empty
    page.state.leaf_penalty = 0.02
    assert answers.counted.leaf_penalty == 0.02  # of the settings on screen


def test_rules_are_searched_and_questions_can_be_read(page):
    rules = page.cards["rules"]
    rules.controls["starred only"].value = True
    assert redrawn(rules)[2] == 0
    page.state.favourites = page.state.favourites.toggled(2)
    assert redrawn(rules)[2] > 0
    rules.controls["starred only"].value = False
    schema = TableSchema([YesNo("sex", ("f", "m"))])
    assert names_in_words(["sex", "age"], schema) == ("sex=m", "age")


def _bought(page):
    """An aggregate of these trees that was paid for."""
    panel = page.basket_panel
    if not page.state.releases:
        assert panel.group.value == "group" and "can be exported at no" in panel.price.value
        names = ("ambiguity", "mean_loss", "group_sizes", "psi_n_trees", "psi_avoiding")
        panel.table.ticked = dict.fromkeys(names, 1.0)
        before, price = page.ledger.spent(), price_on(panel.button)
        press(panel)
        assert cost_text(page.ledger.spent() - before) == price
    return page.state.releases[0]


@pytest.mark.slow
def test_aggregates_of_trees_are_paid_for_or_say_why_not_and_come_back(page):
    loss = _bought(page).released["mean loss of the draws"]
    exact = (page.rashomon_set.labels(page.rows) != np.asarray(page.targets)).mean()
    assert abs(loss.estimate - exact) < 6 * loss.noise.deviation
    rows = {row["name"]: row for row in page.basket_panel.table.rows}
    refused = {name for name, row in rows.items() if row["why"]}
    assert refused == {"soft_hits", "mean_excess", "largest_excess", "psi_sign", "coefficients"}
    assert _bought(page).released["psi of 10 trees"].note
    assert "linear models" in rows["soft_hits"]["why"]
    again = Explorer(_lending(), home=page.session.home)
    assert again.state.releases == (_bought(page),)
    assert "ambiguity" in again.take_panel.receipt.value


@pytest.mark.slow
def test_the_bundle_of_trees_is_used_without_the_page(page, tmp_path):
    _bought(page)
    content, models = page.take_panel.bundle.fetch().content, page.rashomon_set
    files = unzipped(content)
    plain = json.loads(files["trees.json"])
    assert "losses" not in plain and "loss 0." not in files["figures/trees.html"].decode()
    own = TableSchema.from_toml(files["schema.toml"].decode()).declare("repaid", role="ignore")
    labels = score.labels(plain, UnitEncoder(own).transform(page.data.frame.head(200)))
    assert np.array_equal(labels, np.array(page.data.classes)[models.labels(page.rows.head(200))])
    (tmp_path / "trees.npz").write_bytes(files["trees.npz"])
    again = ReleasedTrees.load(tmp_path / "trees.npz")
    assert again.models.trees == models.models.trees and again.classes == ("no", "yes")
    assert again.guarantee.epsilon(1e-6) == models.guarantee.epsilon(1e-6)
    assert files["trees.txt"].decode().count("tree ") == 8
    assert again.text(7) in files["trees.txt"].decode()
    together, words = json.loads(files["guarantee.json"])["together"], files["README.txt"].decode()
    assert cost_text(together["epsilon"], 1e-6) in words and "8 trees of 5,000 rows" in words
    assert {name for name in files if name in words} >= {"trees.json", "trees.txt", "score.py"}
    assert json.loads(files["aggregates.json"])[0]["answers"][0]["query"] == "ambiguity"
    assert {"figures/rules.html", "figures/one_record.json", "definitions.json"} <= set(files)
    assert b"ambiguity" in files["report.html"] and b"income_index" in files["report.html"]


def test_depth_narrows_the_class_and_its_end_means_any(page):
    panel, state, dial = page.model_panel, page.state, page.model_panel.dials["max_depth"]
    assert page.plan.request.log_size == pytest.approx(TreeClass(30, 3).log_size)
    dial.value = 2.0
    assert state.max_depth == 2 and "max_depth=2" in panel.lines()[1]
    state.max_leaves = 4
    assert page.plan.request.log_size == pytest.approx(TreeClass(30, 4, 2).log_size)
    dial.value = dial.high
    assert state.max_depth is None and "max_depth=None" in panel.lines()[1]
    state.max_leaves = 40  # beyond the slider
    assert panel.dials["max_leaves"].value == 12 and state.max_leaves == 40


def test_thresholds_are_typed_into_the_one_declaration(page):
    editor, state = page.model_panel.questions, page.state
    assert not editor.boxes  # made when they are opened
    editor.opened.value = True
    first = page.data.schema.features[0]
    box = editor.boxes[first.name]
    assert box.value == "" and box.placeholder == "-0.25, 0, 0.25"
    box.value = "0.3, -0.1"
    assert state.data.schema[first.name].thresholds == (-0.1, 0.3)
    assert box.value == "-0.1, 0.3" and "29 questions" in editor.size.value
    assert page.tree_answers.questions[:2] == (f"{first.name} > -0.1", f"{first.name} > 0.3")
    assert page.plan.request.log_size == pytest.approx(TreeClass(29, 3).log_size)
    saved = TableSchema.from_toml(page.data_panel.schema.saver.fetch().content.decode())
    assert saved[first.name].thresholds == (-0.1, 0.3)
    box.value = "0.3, 7"
    assert "must lie within its bounds" in editor._problem.value
    assert state.data.schema[first.name].thresholds == (-0.1, 0.3)
    box.value = ""
    assert state.data.schema[first.name].thresholds == () and not editor._problem.value


@pytest.mark.slow
def test_thresholds_reach_the_draws_and_leave_the_screen_as_it_is(tmp_path):
    page = Explorer(_lending(), home=tmp_path)
    set_state(page, family="trees", max_leaves=2, n_draws=3)
    page.draw()
    drawn, spent, schema = page.rashomon_set, page.ledger.spent(), page.data.schema
    for one in schema.features:
        schema = schema.declare(one.name, thresholds=[0.125])
    page.session.redeclare(schema)
    assert page.rashomon_set is drawn and page.ledger.spent() == spent
    page.draw()
    trees = page.rashomon_set.models.trees
    assert {tree.reference for tree in trees if hasattr(tree, "reference")} == {0.125}
    known = {"RashomonTreeClassifier": RashomonTreeClassifier, "explorer": page}
    fitted = eval(page.model_panel.lines()[1], known)
    assert fitted.plan(len(page.rows)).request.log_size == pytest.approx(
        math.log(TreeClass(10, 2).size)
    )


@pytest.mark.law
def test_a_fitted_estimator_of_trees_opens(tmp_path):
    data = _lending()
    settings = {"schema": data.schema, "n_draws": 2, "max_leaves": 2, "psi": 0.1}
    frame = data.frame
    fitted = RashomonTreeClassifier(**settings).fit(frame, frame[data.schema.target.name])
    explorer = Explorer(fitted, data=data, home=tmp_path)
    assert explorer.rashomon_set.n_draws == 2 and explorer.state.family == "trees"
    with pytest.raises(TypeError, match="got a release"):
        Explorer(fitted.rashomon_set_.release())


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_given_back_after_trees_and_after_a_change_of_table(tmp_path, cancer):
    page = held_page(tmp_path)
    set_state(page, family="trees", max_leaves=4, n_draws=3, psi=0.05)
    before = _resident()
    page.draw()
    for name in ("tree_sizes", "dots", "tree_parity"):
        page.cards[name].redraw()
    old, results = page.data, page.session.tree_answers._results
    assert results._keys[0] is old
    page.state.family = "linear"
    page.session.choose(cancer)
    assert (results._keys or (None,))[0] is not old and not results._results
    assert _resident() - before < 150 * 2**20
