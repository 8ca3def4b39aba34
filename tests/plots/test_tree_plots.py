"""Trees and the sunburst of their rules: what they show, and to whom."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonTreeClassifier, plots
from rashomon_explorer.measures import permutation_importance
from rashomon_explorer.plots import plot_importance, plot_rules, plot_trees, rules_table
from rashomon_explorer.plots.importance import importance_table
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
def paid(table):
    settings = {"epsilon": 4.0, "n_draws": 6, "max_leaves": 3, "hit_rate": 0.0, "random_state": 0}
    return RashomonTreeClassifier(**settings).fit(*table).rashomon_set_


def test_every_leaf_of_every_chosen_tree_is_drawn(drawn):
    figure = plot_trees(drawn, [3, 5])
    leaves = [trace for trace in figure.data if trace.mode == "markers+text"]
    assert sum(len(trace.x) for trace in leaves) == drawn.complexity()[[3, 5]].sum()
    questions = next(trace for trace in figure.data if trace.mode == "text")
    assert len(questions.x) == drawn.complexity()[[3, 5]].sum() - 2
    assert figure.layout.meta["view"] == "none"  # uniform draws: no guarantee


def test_the_best_come_first_where_nobody_chose(drawn):
    figure = plot_trees(drawn)
    headings = [one.text for one in figure.layout.annotations]
    assert len(headings) == 9
    assert headings[0].startswith(f"<b>{int(np.argmin(drawn.losses))}</b>")


def test_rules_are_counted_over_trees(drawn):
    found = rules_table(drawn)
    written = drawn.to_timbertrek()["trie"]

    def ends(node):
        below = [ends(one) for one in node["c"] if one["f"] != "_"]
        return sum(one["f"] == "_" for one in node["c"]) + sum(below)

    assert found["trees"].sum() == ends(written)
    sunburst = plot_rules(drawn).data[0]
    assert sum(sunburst.values) == found["trees"].sum()
    assert set(sunburst.parents[1:]) <= set(sunburst.ids)


def test_search_and_picked_trees_grey_out_the_rest(drawn):
    found = rules_table(drawn, "X2")
    assert len(found) and all("x2" in rule for rule in found.index)
    colours = plot_rules(drawn, search="x2").data[0].marker.colors
    assert len(set(colours[1:])) == 2
    assert "x2" in plot_rules(drawn, search="x2").layout.title.text
    assert len(set(plot_rules(drawn, highlight=[0]).data[0].marker.colors[1:])) == 2
    assert rules_table(drawn, "nothing of this name").empty


def test_a_release_shows_no_loss(paid):
    assert plot_trees(paid).layout.meta["view"] == "curator"
    released = paid.release()
    for figure in (plot_trees(released), plot_rules(released)):
        assert figure.layout.meta["view"] == "release"
        assert "loss" not in json.dumps(figure.to_dict(), default=str)
    assert "least loss" not in rules_table(released).columns


def test_what_holds_no_trees_is_refused(models, drawn):
    for plot in (plot_trees, plot_rules, rules_table):
        with pytest.raises(TypeError, match="set of decision trees is needed"):
            plot(models)
    with pytest.raises(ValueError, match="at most 9 of 0 to 39"):
        plot_trees(drawn, range(10))


def test_importance_of_trees_has_the_best_tree_beside_the_draws(table, drawn):
    X, y = table
    importance, best = importance_table(drawn, X, y), drawn.reference
    alone = replace(drawn, models=best, losses=np.array([drawn.least]), names=("best",))
    found = permutation_importance(alone, X, y, random_state=0)[0]
    assert importance["best"].to_numpy() == pytest.approx(found)
    figure = plot_importance(drawn, X, y)
    assert figure.layout.meta["view"] == "none" and importance.index.tolist() == [
        f"x{j}" for j in range(4)
    ]


def test_figures_of_linear_models_say_where_trees_go(paid, table):
    released = paid.release()
    cases = [
        (TypeError, lambda: plots.plot_coefficient_spread(released), "plot_trees, plot_rules"),
        (
            TypeError,
            lambda: plots.plot_importance(released, *table),
            "released trees to plot_trees",
        ),
        (ValueError, lambda: plots.plot_bounds(paid), r"plot_costs\(plan\)"),
        (ValueError, lambda: plots.plot_guarantee(paid.plan), r"plot_costs\(plan\)"),
        (AttributeError, lambda: released.coef, "and this set has other models"),
        (AttributeError, lambda: released.anything, "no attribute 'anything'"),
    ]
    for kind, call, message in cases:
        with pytest.raises(kind, match=message):
            call()
