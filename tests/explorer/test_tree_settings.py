"""Settings of trees on the page: depth, thresholds, and what can be counted beforehand."""

import math

import pytest

from rashomon_explorer import Explorer, RashomonTreeClassifier, load_dataset
from rashomon_explorer.data import TableSchema
from rashomon_explorer.trees import TreeClass


@pytest.fixture
def page(tmp_path):
    explorer = Explorer(load_dataset("lending"), home=tmp_path)
    explorer.state.family = "trees"
    return explorer


def test_controls_are_those_of_the_family(page):
    panel, state = page.model_panel, page.state
    hidden = {name for name, dial in panel.dials.items() if dial.layout.display == "none"}
    assert hidden == set() and panel.loss.layout.display == "none"
    state.family = "linear"
    hidden = {name for name, dial in panel.dials.items() if dial.layout.display == "none"}
    assert hidden == {"max_leaves", "max_depth", "leaf_penalty"}
    assert panel.questions.widget.layout.display == "none"
    assert panel.loss.layout.display is None


def test_depth_narrows_the_class_and_its_end_means_any(page):
    panel, state = page.model_panel, page.state
    assert state.max_depth is None and "max_depth=None" in panel.lines()[1]
    assert page.plan.log_size == pytest.approx(TreeClass(30, 4).log_size)
    panel.dials["max_depth"].value = 2.0
    assert state.max_depth == 2 and "max_depth=2" in panel.lines()[1]
    assert page.plan.log_size == pytest.approx(TreeClass(30, 4, 2).log_size)
    panel.dials["max_depth"].value = panel.dials["max_depth"].high
    assert state.max_depth is None
    state.max_leaves = 40  # beyond the slider
    assert panel.dials["max_leaves"].value == 12 and state.max_leaves == 40


def test_the_size_of_the_class_is_said_and_whether_it_can_be_counted(page):
    size, state = page.model_panel.questions.size, page.state
    assert f"30 questions, {TreeClass(30, 4).size:,} trees. They can be counted" in size.value
    state.max_leaves = 8
    assert "cannot be counted here" in size.value and "they fit" in size.value
    assert page.draw_panel.button.disabled and "they fit" in state.no_plan
    assert page.draw_panel.button.description == "Draw"  # of what, the plan would say
    assert "most_memory" not in state.no_plan + size.value
    for name in ("plan", "promise"):
        page.cards[name].redraw()
        assert "No valid plan" in str(page.cards[name].view.figure["layout"])
    state.max_leaves = 5
    assert "can be counted here, in at most" in size.value and not state.no_plan


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
    assert page.plan.log_size == pytest.approx(TreeClass(29, 4).log_size)
    saved = TableSchema.from_toml(page.data_panel.schema.saver.fetch().content.decode())
    assert saved[first.name].thresholds == (-0.1, 0.3)
    box.value = "0.3, 7"
    assert "must lie within its bounds" in editor._problem.value
    assert state.data.schema[first.name].thresholds == (-0.1, 0.3) and state.alert is None
    box.value = ""
    assert state.data.schema[first.name].thresholds == () and not editor._problem.value


def test_thresholds_reach_the_draws_and_leave_the_screen_as_it_is(page):
    state = page.state
    state.n_draws, state.max_leaves = 3, 2
    page.draw()
    drawn, spent = page.rashomon_set, page.ledger.spent()
    schema = page.data.schema
    for one in schema.features:
        schema = schema.declare(one.name, thresholds=[0.125])
    page.session.redeclare(schema)
    assert page.rashomon_set is drawn and page.ledger.spent() == spent
    # Figures of the draws say what they were drawn with.
    assert page.cards["losses"]._settings.value == "drawn with thresholds = even"
    state.max_leaves = 3
    assert "drawn with leaves = 2, " in page.cards["losses"]._settings.value
    state.max_leaves = 2
    page.draw()
    assert page.cards["losses"]._settings.value == ""
    asked = {
        tree.reference for tree in page.rashomon_set.models.trees if hasattr(tree, "reference")
    }
    assert asked == {0.125}
    known = {"RashomonTreeClassifier": RashomonTreeClassifier, "explorer": page}
    fitted = eval(page.model_panel.lines()[1], known)
    assert fitted.plan(len(page.rows)).log_size == pytest.approx(math.log(TreeClass(10, 2).size))
