"""Importances of trees: shuffles against all pairs, strata, Shapley values and RID."""

from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer import measures as m
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Split
from rashomon_explorer.sets.predictions import predictor_set
from rashomon_explorer.trees import CountedTrees
from tests.measures.test_model_reliance import shapley


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, size=(60, 4)), columns=["a", "b", "c", "d"])
    y = np.where(rng.random(60) < 0.8, X["a"] & X["b"], rng.integers(0, 2, 60))
    return X, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def drawn(table):
    return CountedTrees(*table, max_leaves=5).draw(12, psi=0.1, random_state=0)


def some_trees(*trees, columns, n_classes=2):
    kind = {"loss": "zero_one", "psi": None, "complete": False, "names": [*"ab"[: len(trees)]]}
    names = tuple(f"x{j}" for j in range(columns))
    models = DecisionTrees(trees, n_classes, names)
    return predictor_set(models, np.zeros(len(trees)), classes=range(n_classes), **kind)


def comparing(n_classes=2):
    """Trees that ask twice about a column of numbers, and of several classes."""
    inner = Split(0, Leaf(n_classes - 1), Split(1, Leaf(0), Leaf(1), ">", 0.1), ">", 0.6)
    asking = Split(0, inner, Split(2, Leaf(1), Leaf(0), "<=", -0.1), ">", -0.3)
    return some_trees(asking, Leaf(1), columns=3, n_classes=n_classes)


class EveryOrder(np.random.RandomState):
    """All orders of four rows in turn."""

    def __init__(self):
        super().__init__(0)
        self.orders = iter(permutations(range(4)))

    def permutation(self, n):
        return np.array(next(self.orders))


def test_over_all_shuffles_permutation_importance_is_reliance(table, drawn):
    X, y = table[0].iloc[:4], table[1][:4]
    found = m.permutation_importance(drawn, X, y, n_repeats=24, random_state=EveryOrder())
    expected = 3 / 4 * m.model_reliance(drawn, X, y).to_numpy()
    assert factorial(4) == 24 and found.to_numpy() == pytest.approx(expected, abs=1e-12)


def test_models_that_do_not_ask_do_not_move_and_columns_go_by_name(table, drawn):
    X, y = table
    features = {"ends": ["a", "d"], "c": ["c"]}
    found, same = (
        m.importance_cloud(
            drawn, X[columns], y, measure="permutation", features=features, random_state=0
        )
        for columns in (list("dcba"), list("abcd"))
    )
    asks = np.array(["c?" in drawn.text(draw) for draw in range(12)])
    assert list(found) == ["ends", "c"] and 0 < asks.mean() < 1
    assert (found["c"].to_numpy()[~asks] == 0).all()
    pd.testing.assert_frame_equal(found, same)


def test_a_release_is_measured_alike(table):
    clf = RashomonTreeClassifier(max_leaves=3, n_draws=4, hit_rate=0.0).fit(*table)
    one, other = (
        m.permutation_importance(models, *table, n_repeats=2, random_state=1)
        for models in (clf.rashomon_set_, clf.rashomon_set_.release())
    )
    pd.testing.assert_frame_equal(one, other)
    with pytest.raises(TypeError, match=r"CountedTrees\(X, y.*flip_psi"):
        m.declared_problem(clf, *table)


def shapley_of_rows(predict, rows, others, groups):
    """Shapley values (rows, groups) of v(S) = E_z f(x_S, z_rest)."""

    def game(x, coalition):
        mixed = others.copy()
        for group in coalition:
            mixed[:, groups[group]] = x[groups[group]]
        return predict(mixed).mean()

    return np.array([shapley(lambda some, x=x: game(x, some), len(groups)) for x in rows])


@pytest.mark.parametrize("groups", [None, {"two": ["a", "c"], "b": ["b"], "d": ["d"]}])
def test_shapley_values_are_those_over_all_coalitions(table, drawn, groups):
    rows, others = table[0].to_numpy(float)[:5], table[0].to_numpy(float)[10:25]
    found = m.tree_shap(drawn, rows, background=others, features=groups)
    columns = [[0], [1], [2], [3]] if groups is None else [[0, 2], [1], [3]]
    for draw in (0, 3, 8):
        predict = lambda mixed, one=drawn[draw]: one.labels(mixed)[0]  # noqa: E731
        expected = shapley_of_rows(predict, rows, others, columns)
        assert found[draw] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shapley_values_of_numbers_asked_twice_and_of_several_classes(n_classes):
    models, rng = comparing(n_classes), np.random.default_rng(1)
    rows, others = rng.uniform(-1, 1, (6, 3)), rng.uniform(-1, 1, (9, 3))
    found = m.tree_shap(models, rows, background=others)
    for label in range(n_classes) if n_classes > 2 else [1]:
        own = found[0] if n_classes == 2 else found[0, ..., label]
        predict = lambda mixed, label=label: models.labels(mixed)[0] == label  # noqa: E731
        expected = shapley_of_rows(predict, rows, others, [[0], [1], [2]])
        assert own == pytest.approx(expected, abs=1e-12)
    assert not found[1].any()  # a tree without questions
    sizes = np.abs(found).mean(axis=1)
    sizes = sizes if n_classes == 2 else sizes.sum(axis=-1)
    by_size = m.shap_importance(models, rows, background=others)
    assert by_size.to_numpy() == pytest.approx(sizes)


def test_shapley_values_of_trees_of_more_questions_than_a_whole_number_has_bits():
    tree = Leaf(1)
    for column in range(70):
        tree = Split(column, tree, Leaf(column % 2), ">", 0.5)
    rows = (np.random.default_rng(0).random((30, 70)) < 0.97).astype(float)
    models = some_trees(tree, columns=70)
    values, labels = m.tree_shap(models, rows)[0], models.scores(rows)[0]
    assert values.sum(axis=1) == pytest.approx(labels - labels.mean(), abs=1e-9)


def test_features_left_out_play(table, drawn):
    X, y = table
    values, scores = m.tree_shap(drawn, X), drawn.scores(X)
    assert values.sum(axis=2) == pytest.approx(scores - scores.mean(axis=1, keepdims=True))
    assert m.tree_shap(drawn, X, features=["c"])[..., 0] == pytest.approx(values[..., 2])
    sizes = m.importance_cloud(drawn, X, y, measure="shap").to_numpy()
    assert sizes == pytest.approx(np.abs(values).mean(axis=1))


def test_what_trees_cannot_be_asked_is_refused(table, drawn):
    X, y = table
    twice = {"one": ["a"], "two": ["a", "b"]}
    for error, call, words in (
        (TypeError, lambda: m.permutation_importance(drawn.stored(X), X, y), "or decision trees"),
        (TypeError, lambda: m.linear_shap(drawn, X), "tree_shap is for sets of trees"),
        (TypeError, lambda: m.tree_shap(drawn.stored(X), X), "needs a set of decision trees"),
        (ValueError, lambda: m.tree_shap(drawn, X, features=twice), "in two of the features"),
        (ValueError, lambda: m.tree_shap(drawn, X, background=X[:0]), "at least one row"),
    ):
        with pytest.raises(error, match=words):
            call()
