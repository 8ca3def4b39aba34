"""Exact privacy of draws of trees: every probability on every pair of small neighbouring tables."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rashomon_explorer.trees import CountedTrees
from rashomon_explorer.trees.law import CappedEnergy, gibbs, integer_weights
from tests.trees.listed import leaves_of, says, whole_class

ROUNDING = 4 * 2.0**-38  # of the weights, which are whole numbers


def probabilities(trees, X, y, *, beta, psi, penalty=0.0, max_leaves=3, cap=None, costs=None):
    """Exact probability of every tree, from the masses of the law that is drawn from."""
    settings = {"max_leaves": max_leaves, "leaf_penalty": penalty, "costs": costs}
    counted = CountedTrees(np.array(X), np.array(y), classes=(0, 1), **settings)
    public = {"beta": beta, "psi": psi, "leaf_penalty": penalty}
    energy = CappedEnergy.of(counted.trees, counted.unit, **public)
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


@pytest.mark.parametrize("psi", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_no_neighbour_moves_a_probability_further_than_its_price(psi, penalty):
    """η = 2β/n, all neighbours of some tables; and the price is attained."""
    trees, beta = whole_class(2, 3), 4.0
    eta = 2 * beta / 3
    widest = 0.0
    for tables in neighbours():
        laws = [
            probabilities(trees, *parted(table), beta=beta, psi=psi, penalty=penalty)
            for table in tables
        ]
        for one in laws:
            for other in laws:
                found = log_ratio(one, other).values()
                assert max(found) - min(found) <= eta + ROUNDING
                assert max(map(abs, found)) <= eta + ROUNDING  # a draw is η-DP
                widest = max(widest, max(found) - min(found))
    if psi == 0 and penalty == 0:
        assert widest == pytest.approx(eta, rel=1e-6)
    assert widest > eta / 2 + ROUNDING  # half the oscillation is not enough: negative control


@pytest.mark.parametrize("costs", [{0: 3}, {0: 1, 1: 2}, [[0, 2], [5, 0]]])
def test_costs_change_no_price(costs):
    """Errors are shares of what the dearest cost: one row moves them by 1/n, and no further."""
    trees, beta = whole_class(2, 3), 4.0
    widest = 0.0
    for tables in neighbours():
        laws = [probabilities(trees, *parted(t), beta=beta, psi=0.0, costs=costs) for t in tables]
        for other in laws:
            found = log_ratio(laws[0], other).values()
            assert max(found) - min(found) <= 2 * beta / 3 + ROUNDING
            widest = max(widest, max(found) - min(found))
    assert widest > beta / 3 + ROUNDING  # half the oscillation is not enough: negative control


def test_a_cap_that_cuts_into_the_law_costs_nothing():
    trees, beta = whole_class(2, 3), 4.0
    for tables in neighbours():
        laws = [probabilities(trees, *parted(t), beta=beta, psi=0.1, cap=1.0) for t in tables]
        for one in laws:
            found = log_ratio(one, laws[0]).values()
            assert max(found) - min(found) <= 2 * beta / 3 + ROUNDING


def reaches_every_leaf(tree, X):
    """No question leaves one side without rows."""
    if not hasattr(tree, "feature"):
        return len(X) > 0
    yes = [row for row in X if row[tree.feature]]
    no = [row for row in X if not row[tree.feature]]
    return reaches_every_leaf(tree.if_true, yes) and reaches_every_leaf(tree.if_false, no)


def has_majority_labels(tree, X, y):
    if hasattr(tree, "feature"):
        parts = [
            [(r, c) for r, c in zip(X, y, strict=True) if bool(r[tree.feature]) is s]
            for s in (True, False)
        ]
        sides = [([r for r, _ in part], [c for _, c in part]) for part in parts]
        return has_majority_labels(tree.if_true, *sides[0]) and has_majority_labels(
            tree.if_false, *sides[1]
        )
    return 2 * sum(c == tree.prediction for c in y) >= len(y)


@pytest.mark.parametrize(
    "keeps",
    [
        lambda tree, X, y: reaches_every_leaf(tree, X),
        lambda tree, X, y: has_majority_labels(tree, X, y),
    ],
    ids=["without empty leaves", "labels by majority"],
)
def test_classes_that_look_at_rows_are_not_private(keeps):
    """Negative control: some tree is possible on one table and impossible on its neighbour."""
    trees = whole_class(2, 3)
    holds = [
        {tree for tree in trees if keeps(tree, *parted(table))} for table in next(neighbours())
    ]
    assert any(one != other for one in holds for other in holds)


def test_draws_have_the_law_that_was_priced():
    """What leaves is a tree of the class; labels of the drawn are those of the walked."""
    X, y = [(0, 0), (0, 1), (1, 1)], [0, 1, 1]
    trees = whole_class(2, 3)
    law = probabilities(trees, X, y, beta=6.0, psi=0.0)
    assert sum(law.values()) == 1 and min(law.values()) > 0
    assert set(law) == set(trees)
    best = max(law, key=law.__getitem__)
    assert [says(best, row) for row in X] == y


def test_no_tree_is_impossible_however_cold():
    X, y = [(0, 0)] * 20 + [(1, 1)] * 20, [0] * 20 + [1] * 20
    law = probabilities(whole_class(2, 2), X, y, beta=1e6, psi=0.0, max_leaves=2)
    assert 0 < min(law.values()) < math.exp(-20)
