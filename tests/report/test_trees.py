"""Reports of trees tell class, questions, costs and guarantees, and count what trees ask."""

import re
from dataclasses import replace

import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.mechanisms.planner import explain
from rashomon_explorer.plots import plot_tree_use
from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.trees import tree_use_table
from rashomon_explorer.report import report
from rashomon_explorer.sets import CuratorSet
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf
from rashomon_explorer.trees import CountedTrees

from .conftest import TREES, figures_of, read, words_of


def test_class_questions_cost_and_guarantee_are_told(tree_release, tree_models):
    words, planned = " ".join(words_of(tree_release).split()), tree_models.plan
    assert "Ranges of coefficients" not in words.split("Not in this report, and why")[1]
    assert all(sentence in words for sentence in explain(planned).splitlines())
    (section,) = [one for one in tree_release.split("<section ") if one.startswith('id="trees"')]
    figures = figures_of(section)
    assert len(figures) == 3
    assert all("by itself" in str(figure["layout"]["shapes"]) for figure in figures)


def test_its_lines_make_such_trees_again(tree_release, tree_models, tree_rows, tmp_path):
    code = re.findall(r"<pre[^>]*><code>(.*?)</code>", tree_release, re.DOTALL)[-1]
    names = {"X": tree_rows[0], "y": tree_rows[1]}
    exec(code.replace("&#39;", "'"), names)
    assert names["models"].plan == tree_models.plan
    clf = RashomonTreeClassifier(**{**TREES, "costs": {1: 3}}).fit(*tree_rows)
    text = read(report(clf.rashomon_set_.release(), tmp_path / "c.html", interactive=False))
    assert clf.plan_.request.costs == ((0, 1), (3, 0))
    assert "0, 1; 3, 0" in text and "costs=[[0, 1], [3, 0]]" in text


def test_a_file_without_a_plan_has_a_report(tree_models, tree_rows, tmp_path):
    bare = replace(tree_models.release(), planned=None)
    with pytest.raises(AttributeError, match="stored no plan with trees"):
        _ = bare.plan
    words = words_of(read(report(bare, tmp_path / "c.html", interactive=False)))
    assert "no plan and no guarantee" in words and "were imported" in words
    tree_models.save(tmp_path / "a.npz")
    again = CuratorSet.load(tmp_path / "a.npz")
    assert again.plan == tree_models.plan and not again.uniform
    X = (tree_rows[0] > [40, 0]).astype(int)
    drawn = CountedTrees(X, tree_rows[1], max_leaves=3).draw(5, 0.05, random_state=0)
    assert drawn.uniform and not hasattr(drawn, "plan")
    with pytest.raises(AttributeError, match="privately have a plan"):
        _ = drawn.plan


def test_importance_and_width_are_measured_of_trees(tree_curator, tree_models):
    words = words_of(tree_curator)
    assert "Permutation importance" in words and '<section id="width"' in tree_curator
    assert "independent draws from one distribution" in words
    law_psi = tree_models.plan.law_psi
    assert tree_models.psi > law_psi and f"for the set of ψ = {number(law_psi)}" in words


def test_counts_are_of_the_trees(tree_models):
    table = tree_use_table(tree_models.release())
    texts = [tree_models.text(draw) for draw in range(tree_models.n_draws)]
    for words, row in table.iterrows():
        assert row["trees"] == sum(f"{words}?" in text for text in texts)
        assert row["first"] == sum(text.startswith(f"{words}?") for text in texts)
        assert row["low"] <= row["share"] <= row["high"]
    assert plot_tree_use(tree_models.release()).layout.meta["view"] == "release"
    assert "low" not in tree_use_table(tree_models.release()[:3])  # selected trees have no interval
    leaf = DecisionTrees((Leaf(1), Leaf(0)), 2, tree_models.models.feature_names)
    bare = replace(tree_models.release(), models=leaf)
    assert tree_use_table(bare).empty
    assert "No tree asks a question" in plot_tree_use(bare).layout.title.text
