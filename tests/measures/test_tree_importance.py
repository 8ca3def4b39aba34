"""Importances of trees: shuffles against all pairs, strata, and Shapley values by brute force."""

from dataclasses import replace
from itertools import combinations, permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest

import rashomon_explorer.measures.importance.shap as module
from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.measures import (
    conditional_reliance,
    declared_problem,
    importance_cloud,
    linear_shap,
    model_reliance,
    permutation_importance,
    reliance_within,
    shap_importance,
    tree_shap,
)
from rashomon_explorer.measures.reliance import switching_loss
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Split
from rashomon_explorer.sets.sources.trees import tree_set
from rashomon_explorer.trees import CountedTrees


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, size=(60, 4)), columns=["a", "b", "c", "d"])
    y = np.where(rng.random(60) < 0.8, X["a"] & X["b"], rng.integers(0, 2, 60))
    return X, np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def drawn(table):
    return CountedTrees(*table, max_leaves=5).draw(12, psi=0.1, random_state=0)


def comparing(n_classes=2):
    """Trees that ask twice about a column of numbers, and of several classes."""
    last = n_classes - 1
    inner = Split(0, Leaf(last), Split(1, Leaf(0), Leaf(1), ">", 0.1), ">", 0.6)
    trees = (Split(0, inner, Split(2, Leaf(1), Leaf(0), "<=", -0.1), ">", -0.3), Leaf(1))
    kind = {"loss": "zero_one", "psi": None, "complete": False, "names": ["one", "two"]}
    return tree_set(
        trees, np.zeros(2), feature_names=("x", "y", "z"), classes=range(n_classes), **kind
    )


class EveryOrder(np.random.RandomState):
    """All orders of four rows in turn."""

    def __init__(self):
        super().__init__(0)
        self.orders = iter(permutations(range(4)))

    def permutation(self, n):
        assert n == 4
        return np.array(next(self.orders))


class TestPermutation:
    def test_over_all_shuffles_it_is_reliance(self, table, drawn):
        X, y = table[0].iloc[:4], table[1][:4]
        found = permutation_importance(
            drawn, X, y, n_repeats=factorial(4), random_state=EveryOrder()
        )
        assert found == pytest.approx(3 / 4 * model_reliance(drawn, X, y).to_numpy(), abs=1e-12)

    def test_models_that_do_not_ask_do_not_move_and_columns_go_by_name(self, table, drawn):
        X, y = table
        found = importance_cloud(
            drawn,
            X[["d", "c", "b", "a"]],
            y,
            measure="permutation",
            features={"ends": ["a", "d"], "c": ["c"]},
            random_state=0,
        )
        assert list(found) == ["ends", "c"]
        asks = ["c?" in drawn.text(draw) for draw in range(12)]
        assert any(asks) and not all(asks)
        assert (found["c"].to_numpy()[~np.array(asks)] == 0).all()
        assert (
            found
            == importance_cloud(
                drawn,
                X,
                y,
                measure="permutation",
                features={"ends": ["a", "d"], "c": ["c"]},
                random_state=0,
            )
        ).all(axis=None)

    def test_a_release_is_measured_alike(self, table):
        X, y = table
        clf = RashomonTreeClassifier(max_leaves=3, n_draws=4, hit_rate=0.0).fit(X, y)
        private = clf.rashomon_set_
        asked = {"n_repeats": 2, "random_state": 1}
        one = permutation_importance(private, X, y, **asked)
        assert (one == permutation_importance(private.release(), X, y, **asked)).all()

    def test_neither_linear_nor_trees_is_refused(self, table, drawn):
        with pytest.raises(TypeError, match="or decision trees"):
            permutation_importance(drawn.stored(table[0]), *table)


class TestWithinStrata:
    def test_switched_within_strata_one_by_one(self, table, drawn):
        X, y = table
        strata = X["d"].to_numpy()
        found = reliance_within(drawn, X, y, strata, features=["a", ["a", "b"]])
        for draw in (0, 5):
            one = drawn[draw]
            codes = (y == "yes").astype(int)
            own = (one.labels(X)[0] != codes).mean()
            for name, columns in (("a", [0]), ("a + b", [0, 1])):
                switched = 0.0
                for level in (0, 1):
                    chosen = strata == level
                    switched += chosen.mean() * switching_loss(
                        lambda rows, one=one: one.labels(rows)[0],
                        X.to_numpy()[chosen],
                        codes[chosen],
                        columns,
                        loss=lambda says, target: says != target,
                    )
                assert found.loc[draw, name] == pytest.approx(switched - own, abs=1e-12)

    def test_one_stratum_is_plain_reliance(self, table, drawn):
        everyone = np.zeros(len(table[1]))
        for form in ("difference", "ratio"):
            within = reliance_within(drawn, *table, everyone, form=form)
            plain = model_reliance(drawn, *table, form=form)
            assert within.to_numpy() == pytest.approx(plain.to_numpy())

    def test_bad_strata_and_conditional_reliance_are_refused_in_words(self, table, drawn):
        with pytest.raises(ValueError, match="has one row"):
            reliance_within(drawn, *table, np.arange(60))
        with pytest.raises(ValueError, match="strata must have shape"):
            reliance_within(drawn, *table, [0])
        with pytest.raises(TypeError, match=r"reliance_within\(models, X, y, strata\)"):
            conditional_reliance(drawn, *table)


def shapley(says, rows, others, groups):
    """Shapley values (rows, groups) of v(S) = E_z f(x_S, z_rest), over all coalitions."""
    found = np.zeros((len(rows), len(groups)))
    many = len(groups)

    def worth(x, chosen):
        mixed = others.copy()
        for group in chosen:
            mixed[:, groups[group]] = x[groups[group]]
        return says(mixed).mean()

    for place, x in enumerate(rows):
        for player in range(many):
            rest = [one for one in range(many) if one != player]
            for size in range(many):
                weight = factorial(size) * factorial(many - size - 1) / factorial(many)
                for chosen in combinations(rest, size):
                    gain = worth(x, (*chosen, player)) - worth(x, chosen)
                    found[place, player] += weight * gain
    return found


class TestShapley:
    @pytest.mark.parametrize("groups", [None, {"two": ["a", "c"], "b": ["b"], "d": ["d"]}])
    def test_as_over_all_coalitions(self, table, drawn, groups):
        rows, others = table[0].to_numpy(float)[:5], table[0].to_numpy(float)[10:25]
        found = tree_shap(drawn, rows, background=others, features=groups)
        columns = [[0], [1], [2], [3]] if groups is None else [[0, 2], [1], [3]]
        for draw in (0, 3, 8):
            one = drawn[draw]
            wanted = shapley(lambda given, one=one: one.labels(given)[0], rows, others, columns)
            assert found[draw] == pytest.approx(wanted, abs=1e-12)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_numbers_asked_twice_and_several_classes(self, n_classes):
        models, rng = comparing(n_classes), np.random.default_rng(1)
        rows, others = rng.uniform(-1, 1, (6, 3)), rng.uniform(-1, 1, (9, 3))
        found = tree_shap(models, rows, background=others)
        for label in range(n_classes) if n_classes > 2 else [1]:
            mine = found[0] if n_classes == 2 else found[0, ..., label]
            wanted = shapley(
                lambda given, label=label: models.labels(given)[0] == label,
                rows,
                others,
                [[0], [1], [2]],
            )
            assert mine == pytest.approx(wanted, abs=1e-12)
        assert not found[1].any()  # a tree without questions

    def test_trees_of_many_questions_have_them_too(self):
        """More questions than a whole number has bits: a comb that asks 70 columns."""
        tree = Leaf(1)
        for column in range(70):
            tree = Split(column, tree, Leaf(column % 2), ">", 0.5)
        rng = np.random.default_rng(0)
        rows = (rng.random((30, 70)) < 0.97).astype(float)
        kind = {"loss": "zero_one", "psi": None, "complete": False, "names": ["comb"]}
        names = tuple(f"x{j}" for j in range(70))
        models = tree_set((tree,), np.zeros(1), feature_names=names, classes=range(2), **kind)
        values, says = tree_shap(models, rows)[0], models.scores(rows)[0]
        assert values.sum(axis=1) == pytest.approx(says - says.mean(), abs=1e-9)

    def test_they_add_up_and_left_out_features_play(self, table, drawn):
        X, _ = table
        values = tree_shap(drawn, X)
        says = drawn.scores(X)
        assert values.sum(axis=2) == pytest.approx(says - says.mean(axis=1, keepdims=True))
        assert tree_shap(drawn, X, features=["c"])[..., 0] == pytest.approx(values[..., 2])

    def test_importance_is_their_mean_size(self, table, drawn):
        X, y = table
        sizes = np.abs(tree_shap(drawn, X)).mean(axis=1)
        assert shap_importance(drawn, X).to_numpy() == pytest.approx(sizes)
        assert importance_cloud(drawn, X, y, measure="shap").to_numpy() == pytest.approx(sizes)
        rows = np.random.default_rng(0).uniform(-1, 1, (20, 3))
        several = np.abs(tree_shap(comparing(3), rows)).mean(axis=1).sum(axis=-1)
        assert shap_importance(comparing(3), rows).to_numpy() == pytest.approx(several)

    def test_what_cannot_be_is_refused_in_words(self, table, drawn):
        X, _ = table
        with pytest.raises(TypeError, match="tree_shap is for sets of trees"):
            linear_shap(drawn, X)
        with pytest.raises(TypeError, match="needs a set of decision trees"):
            tree_shap(drawn.stored(X), X)
        with pytest.raises(ValueError, match="in two of the features"):
            tree_shap(drawn, X, features={"one": ["a"], "two": ["a", "b"]})
        with pytest.raises(ValueError, match="at least one row"):
            tree_shap(drawn, X, background=X[:0])


def test_what_is_asked_of_whole_sets_names_the_counted_trees(table):
    clf = RashomonTreeClassifier(max_leaves=2, n_draws=2, hit_rate=0.0).fit(*table)
    with pytest.raises(TypeError, match=r"CountedTrees\(X, y.*flip_psi"):
        declared_problem(clf, *table)


def test_equal_trees_are_measured_once(table, drawn, monkeypatch):
    many = DecisionTrees(drawn.models.trees[:1] * 50, 2, drawn.models.feature_names)
    calls = []
    measure = module.tree_shap_values
    monkeypatch.setattr(
        module, "tree_shap_values", lambda *given: calls.append(0) or measure(*given)
    )
    same = replace(drawn, models=many, losses=np.zeros(50), names=("t",) * 50)
    assert len(tree_shap(same, table[0])) == 50 and len(calls) == 1
