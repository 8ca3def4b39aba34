"""Trees and the icicle of their rules: what they show, and to whom."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonTreeClassifier, plots
from rashomon_explorer.measures import permutation_importance
from rashomon_explorer.plots import importance
from rashomon_explorer.plots.trees import wrapped_lines
from rashomon_explorer.sets.models.written import tree_rules
from rashomon_explorer.trees import CountedTrees


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 4))
    return X, np.where(rng.random(300) < 0.9, X[:, 0] & X[:, 1], X[:, 2])


@pytest.fixture(scope="module")
def drawn(table):
    return CountedTrees(*table, max_leaves=4).draw(40, psi=0.2, random_state=0)


@pytest.fixture(scope="module")
def private(table):
    settings = {"epsilon": 4.0, "n_draws": 6, "max_leaves": 3, "hit_rate": 0.0, "random_state": 0}
    return RashomonTreeClassifier(**settings).fit(*table).rashomon_set_


def test_every_leaf_of_every_chosen_tree_is_drawn_and_the_best_come_first(drawn):
    figure = plots.plot_trees(drawn, [3, 5])
    boxes = {name: [] for name in ("leaf", "question", "heading")}
    for box in figure.layout.annotations:
        boxes[box.name].append(box)
    leaves = drawn.complexity()[[3, 5]].sum()
    assert [len(found) for found in boxes.values()] == [leaves, leaves - 2, 2]
    assert all(box.bgcolor for box in boxes["leaf"] + boxes["question"])
    assert len({box.bgcolor for box in boxes["leaf"]}) == len({box.text for box in boxes["leaf"]})
    assert figure.layout.meta["view"] == "none"  # uniform draws: no guarantee
    boxes = plots.plot_trees(drawn).layout.annotations
    headings = [box.text for box in boxes if box.name == "heading"]
    assert len(headings) == 9
    assert headings[0].startswith(f"<b>{int(np.argmin(drawn.losses))}</b>")


def test_leaves_state_the_share_of_rows_that_reach_them_except_in_a_release(table, drawn, private):
    X, _ = table
    boxes = plots.plot_trees(drawn, [3], rows=X).layout.annotations
    leaves = [box.text.split("<br>") for box in boxes if box.name == "leaf"]
    label = np.mean(drawn.labels(X)[3] == 1)
    shares = [float(share.rstrip("%")) / 100 for name, share in leaves if name == "1"]
    assert sum(shares) == pytest.approx(label, abs=0.02)
    with pytest.raises(TypeError, match="omit rows"):
        plots.plot_trees(private.release(), rows=X)


def test_a_question_is_whole_and_broken_at_the_ends_of_words():
    question = "a_very_long_name of something > -0.25"
    lines = wrapped_lines(question, 9)
    assert lines == ["a_very_", "long_name", "of", "something", "> -0.25"]
    assert wrapped_lines(question, 99) == [question]


def test_rules_are_counted_over_trees_and_a_search_greys_out_the_rest(drawn):
    rules = plots.rules_table(drawn)
    paths = [
        {tuple(s.question for s in path) for path, _ in tree_rules(t)} for t in drawn.models.trees
    ]
    icicle = plots.plot_rules(drawn).data[0]
    assert rules["trees"].sum() == sum(map(len, paths)) == sum(icicle.values)
    assert set(icicle.parents[1:]) <= set(icicle.ids)
    assert all(icicle.ids) and list(icicle.parents).count("") == 1  # one root, with its name
    assert icicle.type == "icicle"  # of whose texts none is too small to read
    figure = plots.plot_rules(drawn)
    assert figure.layout.uniformtext.mode == "hide" and figure.layout.uniformtext.minsize >= 10
    assert all(one in text for one, text in zip(icicle.ids[1:], icicle.hovertext[1:], strict=True))
    assert " of 40 trees ask first “" in figure.layout.title.text
    found = plots.rules_table(drawn, "X2")
    assert len(found) and all("x2" in rule for rule in found.index)
    for options in ({"search": "x2"}, {"highlight": [0]}):
        figure = plots.plot_rules(drawn, **options)
        assert len(set(figure.data[0].marker.colors[1:])) == 2
        assert ("x2" in figure.layout.title.text) == ("search" in options)
    assert plots.rules_table(drawn, "nothing of this name").empty


def test_a_release_shows_no_loss(private):
    assert plots.plot_trees(private).layout.meta["view"] == "curator"
    released = private.release()
    for figure in (plots.plot_trees(released), plots.plot_rules(released)):
        assert figure.layout.meta["view"] == "release"
        assert "loss" not in json.dumps(figure.to_dict(), default=str)
    assert "least loss" not in plots.rules_table(released).columns


def test_importance_of_trees_has_the_best_tree_beside_the_draws(table, drawn):
    found = importance.importance_ranges(importance.importances(drawn, *table))
    best = {"losses": np.array([drawn.least]), "names": ("best",)}
    alone = replace(drawn, models=drawn.reference, **best)
    expected = permutation_importance(alone, *table, random_state=0).to_numpy()[0]
    assert found["best"].to_numpy() == pytest.approx(expected)
    assert found.index.tolist() == ["x0", "x1", "x2", "x3"]
    assert plots.plot_importance(drawn, *table).layout.meta["view"] == "none"


def test_figures_of_one_family_say_where_the_other_goes(models, drawn, private, table):
    released = private.release()
    needed = "set of decision trees is needed"
    for error, call, message in (
        (TypeError, lambda: plots.plot_trees(models), needed),
        (ValueError, lambda: plots.plot_trees(drawn, range(10)), "at most 9 of 0 to 39"),
        (TypeError, lambda: plots.plot_coefficient_spread(released), "plot_trees, plot_rules"),
        (TypeError, lambda: plots.plot_importance(released, *table), "released trees to plot_tree"),
        (ValueError, lambda: plots.plot_bounds(private), r"plot_costs\(plan\)"),
        (ValueError, lambda: plots.plot_guarantee(private.plan), r"plot_costs\(plan\)"),
    ):
        with pytest.raises(error, match=message):
            call()
