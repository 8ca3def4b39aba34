"""Exact privacy of draws of trees: every probability on every pair of small neighbouring tables."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.trees import CountedTrees
from rashomon_explorer.trees.private import counted_like
from rashomon_explorer.trees.sampling import CappedEnergy, gibbs, integer_weights
from tests.trees.listed import leaves_of, whole_class

ROUNDING = 4 * 2.0**-38  # of the weights, which are whole numbers


def probabilities(trees, X, y, *, beta, psi, penalty=0.0, max_leaves=3, cap=None, costs=None):
    """Exact probability of every tree, from the masses of the law that is drawn from."""
    settings = {"max_leaves": max_leaves, "leaf_penalty": penalty, "costs": costs}
    counted = CountedTrees(np.array(X), np.array(y), classes=(0, 1), **settings)
    public = {"beta": beta, "psi": psi, "leaf_penalty": penalty}
    energy = CappedEnergy.for_class(counted.trees, counted.unit, **public)
    if cap is not None:
        energy = CappedEnergy(counted.unit, beta, psi, penalty, cap)
    within = energy.limits(counted.least, counted.trees.most_leaves)
    law = gibbs(counted.counted_within(within).by_leaves(), counted.trees, energy, counted.least)
    floor = integer_weights(np.array([energy.cap]))[0]
    masses = np.diff(np.array([0, *law._ends], dtype=object))
    cells = dict(zip(law._cells, masses, strict=True))
    alike = {}
    for tree in trees:
        cell = leaves_of(tree), counted.errors(tree)
        alike.setdefault(cell, []).append(tree)
    found = {}
    for cell, same in alike.items():
        for tree in same:
            found[tree] = Fraction(cells.get(cell, 0), len(same)) + floor
    assert sum(found.values()) == law.total  # nothing lies outside the class
    return {tree: weight / law.total for tree, weight in found.items()}


def neighbours(n=3, m=2):
    """Every table of n rows whose first two are settled, and all that replace the last row."""
    rows = [(*x, y) for x in product((0, 1), repeat=m) for y in (0, 1)]
    for kept in ([rows[0], rows[-1]], [rows[1], rows[5]], [rows[3]] * 2, [rows[0], rows[6]]):
        yield [[*kept[: n - 1], last] for last in rows]


def log_ratio(one, other):
    return {t: float(np.log(float(one[t])) - np.log(float(other[t]))) for t in one}


def parted(table):
    return [row[:-1] for row in table], [row[-1] for row in table]


@pytest.mark.parametrize(
    "settings",
    [
        *({"psi": psi, "penalty": penalty} for psi in (0.0, 0.4) for penalty in (0.0, 0.05)),
        *({"psi": 0.0, "costs": costs} for costs in ({0: 3}, [[0, 2], [5, 0]])),
        {"psi": 0.1, "cap": 1.0},  # which cuts into the law
    ],
    ids=str,
)
def test_no_neighbour_moves_a_probability_further_than_its_price(settings):
    """η = 2β/n, all neighbours of some tables; and the price is attained.

    Errors are shares of what the dearest error costs: one row moves them by 1/n, and no further.
    """
    trees, beta = whole_class(2, 3), 4.0
    eta, widest = 2 * beta / 3, 0.0
    for tables in neighbours():
        laws = [probabilities(trees, *parted(t), beta=beta, **settings) for t in tables]
        for one, other in product(laws, laws):
            found = log_ratio(one, other).values()
            assert max(found) - min(found) <= eta + ROUNDING
            assert max(map(abs, found)) <= eta + ROUNDING  # a draw is η-DP
            widest = max(widest, max(found) - min(found))
    if settings == {"psi": 0.0, "penalty": 0.0}:
        assert widest == pytest.approx(eta, rel=1e-6)
    if "cap" not in settings:  # half the oscillation is not enough: negative control
        assert widest > eta / 2 + ROUNDING


def sides(tree, rows):
    """Rows that answer a tree's question with yes, and the others."""
    return [[row for row in rows if bool(row[tree.feature]) is answer] for answer in (True, False)]


def reaches_every_leaf(tree, rows):
    """No question leaves one side without rows."""
    if not hasattr(tree, "feature"):
        return len(rows) > 0
    return all(map(reaches_every_leaf, (tree.if_true, tree.if_false), sides(tree, rows)))


def has_majority_labels(tree, rows):
    if hasattr(tree, "feature"):
        return all(map(has_majority_labels, (tree.if_true, tree.if_false), sides(tree, rows)))
    return 2 * sum(row[-1] == tree.prediction for row in rows) >= len(rows)


@pytest.mark.parametrize("keeps", [reaches_every_leaf, has_majority_labels])
def test_classes_that_look_at_rows_are_not_private(keeps):
    """Negative control: some tree is possible on one table and impossible on its neighbour."""
    trees = whole_class(2, 3)
    holds = [{tree for tree in trees if keeps(tree, table)} for table in next(neighbours())]
    assert any(one != other for one in holds for other in holds)


def test_no_tree_is_impossible_however_cold():
    X, y = [(0, 0)] * 20 + [(1, 1)] * 20, [0] * 20 + [1] * 20
    law = probabilities(whole_class(2, 2), X, y, beta=1e6, psi=0.0, max_leaves=2)
    assert 0 < min(law.values()) < math.exp(-20)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_class_of_drawn_trees_is_counted_again_with_their_costs_and_depth(depth):
    """Counted on the same rows, it is the class that the draws came from."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    settings = {"max_leaves": 4, "max_depth": depth, "leaf_penalty": 0.03}
    settings |= {"costs": [[0, 2], [5, 0]], "classes": [0, 1]}
    draws = {"epsilon": 500.0, "n_draws": 3, "psi": 0.1, "thresholds": [0.5]}
    clf = RashomonTreeClassifier(**draws, **settings).fit(X, y)
    again = counted_like(clf.rashomon_set_, X, y)
    direct = CountedTrees((X > 0.5).astype(int), y, **settings)
    assert again.least == pytest.approx(direct.least, abs=1e-12)
    for psi in (0.0, 0.2, 1.0):
        assert again.size(psi) == direct.size(psi)
