"""Counts, best trees and draws against every tree of a small class, and TreeFARMS's conventions."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.trees import Leaf
from rashomon_explorer.trees import (
    CountedTrees,
    TreeClass,
    best_avoiding,
    counting,
    flip_psi,
    tree_class,
)
from rashomon_explorer.trees import sampling as trees_law
from rashomon_explorer.trees.private import gibbs_draws
from rashomon_explorer.trees.sampling import (
    CappedEnergy,
    CellLaw,
    Walks,
    gibbs,
    integer_weights,
    limits,
    uniform_tree,
)
from tests.mechanisms.builders import planned_trees
from tests.trees.listed import (
    CLASSES,
    THREE,
    errors_of,
    leaves_of,
    listed,
    listing,
    some_rows,
    whole_class,
)

CASES = [
    *CLASSES,
    ((3, 8, 2, 2, False), None),
    ((4, 4, 2, 2, True), {0: 2, 1: 5}),
    ((3, 4, None, 3, True), THREE),
]
SHAPES = [shape for shape, _ in CASES]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sizes_of_the_class_are_those_of_its_list(shape):
    m, leaves, depth, labels, _ = shape
    found = Counter(map(leaves_of, whole_class(m, leaves, depth, labels)))
    public = TreeClass(m, leaves, depth, labels)
    assert list(public.sizes) == [found[k] for k in range(1, public.most_leaves + 1)]
    assert public.size == sum(found.values())


@pytest.mark.parametrize(("shape", "costs"), CASES, ids=str)
@pytest.mark.parametrize(("seed", "penalty"), [(0, 0.0), (1, 0.03)])
def test_counts_draws_and_the_best_tree_are_those_of_the_list(shape, costs, seed, penalty):
    known = listing(shape, seed, penalty, costs)
    counted, losses = known.counted, known.losses
    assert counted.least == pytest.approx(losses.min(), abs=1e-12)
    for psi in (0.0, 0.07, 0.3):  # the smallest first: pruning by the allowance loses no tree
        within = Counter(known.sizes[losses <= losses.min() + psi + 1e-12].tolist())
        sizes = counted.sizes(psi)
        assert list(sizes) == [within[k] for k in range(1, len(sizes) + 1)]
    drawn = counted.draw(40, 0.3, random_state=0)
    for tree, loss, said in zip(
        drawn.models.trees, drawn.losses, drawn.labels(known.X), strict=True
    ):
        at = known.trees.index(tree)
        assert losses[at] == pytest.approx(loss, abs=1e-12)
        assert loss <= counted.least + 0.3 + 1e-12
        assert counted.errors(tree) == known.costs[at]
        assert (said == known.labels[at]).all()
    assert known.loss_of(counted.best()) == pytest.approx(losses.min(), abs=1e-12)
    every = {
        (leaves, one[0] + at): int(number)
        for leaves, one in enumerate(counted.histogram(psi=9.0), start=1)
        for at, number in enumerate(one[1])
        if number
    }
    assert every == dict(known.cells)


class Known:
    """Bits that are given: every outcome of a draw can be asked for by its number.

    It stands for a generator too: a number below each total that is asked about.
    """

    def __init__(self, places):
        self.places, self.asked = list(places), []

    def below(self, total):
        place = self.places.pop(0) if self.places else 0
        self.asked.append(total)
        return place

    def integers(self, totals):
        places = [self.below(total) for total in np.ravel(totals).tolist()]
        return places[0] if np.ndim(totals) == 0 else np.array(places)


def every_draw(run, monkeypatch):
    """Exact probabilities of what ``run(rng)`` returns, by giving every outcome of every choice.

    Each choice is uniform among so many; the probability of a path is one over their product.
    """
    law = Counter()
    waiting = [()]
    while waiting:
        given = waiting.pop()
        known = Known(given)
        for room in (trees_law, counting):
            monkeypatch.setattr(
                room, "uniform_below", lambda total, rng, known=known: known.below(total)
            )
        outcome = run(known)
        asked = known.asked
        if len(asked) > len(given):  # a choice that was not given: take all of its outcomes
            waiting += [(*given, place) for place in range(asked[len(given)])]
            continue
        weight = Fraction(1)
        for total in asked:
            weight /= total
        law[outcome] += weight
    return law


@pytest.mark.parametrize(
    "largest", [tree_class.EXACT, 0.0], ids=["doubles", "integers of any size"]
)
@pytest.mark.parametrize(
    "shape",
    [
        *((2, 3, None, 2, False), (3, 3, None, 2, True), (2, 4, 2, 2, True)),
        pytest.param((2, 3, None, 3, True), marks=pytest.mark.law),
    ],
    ids=str,
)
def test_draws_of_a_cell_are_exactly_uniform(shape, largest, monkeypatch):
    monkeypatch.setattr(tree_class, "EXACT", largest)
    known = listing(shape, 6)
    counts, cells = known.counted.counts(1.0), known.cells
    small = sorted(cell for cell in cells if cells[cell] <= 60)[::-1][:6]
    assert small[0][0] >= 3
    for cell in small:
        law = every_draw(lambda rng, cell=cell: Walks(counts, rng).draw([cell])[0], monkeypatch)
        assert set(law) == set(known.members(cell))
        assert all(probability * cells[cell] == 1 for probability in law.values())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_trees_drawn_together_are_as_those_drawn_one_by_one(shape):
    """Each of its own cell; every tree of a cell comes, about as often as the others."""
    known = listing(shape, 8)
    counts, cells = known.counted.counts(1.0), known.cells
    asked = [cell for cell in sorted(cells) for _ in range(3)]
    drawn = Walks(counts, np.random.default_rng(0)).draw(asked)
    assert [(leaves_of(t), errors_of(t, known.X, known.y)) for t in drawn] == asked
    cell = max(cells, key=lambda one: (one[0], cells[one] if cells[one] <= 150 else 0))
    same = known.members(cell)
    many = 40 * len(same)
    found = Counter(Walks(counts, np.random.default_rng(1)).draw([cell] * many))
    assert set(found) == set(same)
    assert sum((found[t] - 40) ** 2 / 40 for t in same) < len(same) + 6 * len(same) ** 0.5 + 20


def test_any_tree_of_the_class_is_exactly_uniform(monkeypatch):
    for shape in ((2, 3, None, 2), (2, 4, 2, 2), (1, 2, None, 3)):
        public = TreeClass(*shape)
        law = every_draw(lambda rng, public=public: uniform_tree(public, rng), monkeypatch)
        assert set(law) == set(whole_class(*shape))
        assert all(probability * public.size == 1 for probability in law.values())


def test_leaves_are_shared_as_many_trees_share_them(monkeypatch):
    """Of four leaves three on one side, or two on both: every outcome of that one choice."""
    found, total = Counter(), 1
    while sum(found.values()) < total:
        known = Known([0, sum(found.values())])
        monkeypatch.setattr(
            trees_law, "uniform_below", lambda total, rng, known=known: known.below(total)
        )
        found[leaves_of(uniform_tree(TreeClass(3, 4), None, leaves=4).if_true)] += 1
        total = known.asked[1]
    same = Counter(leaves_of(tree.if_true) for tree in listed([0, 1, 2], 4, 3))
    assert {k: found[k] * sum(same.values()) for k in same} == {k: same[k] * total for k in same}


@pytest.mark.parametrize("cap", [None, 2.0, 11.0])
def test_the_law_of_cells_is_the_thresholded_gibbs_law(cap):
    """Exact masses, class floor included, against the definition in doubles."""
    known = listing((3, 4, None, 2, False), 7, 0.02)
    counted, cells = known.counted, known.cells
    energy = CappedEnergy.for_class(counted.trees, counted.n, beta=30.0, psi=0.1, leaf_penalty=0.02)
    energy = energy if cap is None else replace(energy, cap=cap)
    within = energy.limits(counted.least, counted.trees.most_leaves)
    histograms = counted.counted_within(within).by_leaves()
    law = gibbs(histograms, counted.trees, energy, counted.least)
    floor = integer_weights(np.array([energy.cap]))[0]
    beyond = law._ends[-1] - law._ends[-2]
    assert beyond == floor * len(known.trees)
    masses = dict(zip(law._cells[:-1], np.diff([0, *law._ends[:-1]]), strict=True))
    wanted = {}
    for cell, number in cells.items():
        excess = max(cell[1] / counted.n + 0.02 * cell[0] - counted.least - 0.1, 0.0)
        wanted[cell] = number * np.exp(-min(30.0 * excess, energy.cap))
    total = sum(wanted.values())
    for cell, number in cells.items():
        mass = (masses.get(cell, 0) + floor * number) / law.total
        assert mass == pytest.approx(wanted[cell] / total, rel=1e-11)


def test_cells_own_as_many_places_as_they_weigh():
    law = CellLaw([(1, 0, 2, 3), (2, 1, 1, 1)], floor=1, size=4)
    owners = Counter(law.at(place) for place in range(law.total))
    assert owners == {(1, 0): 6, (2, 1): 1, None: 4}


@pytest.mark.parametrize("total", [2**62, 3 * 2**150, 2**296 - 1])
def test_places_of_a_law_are_drawn_to_their_last_bit(total):
    """A double has 53 bits: a place that is made of one is a multiple of some power of two."""

    class Places(CellLaw):
        def at(self, place):
            found.append(place)

    found = []
    law = Places([(1, 0, 1, total)], floor=0, size=1)
    assert law.total == total
    rng = np.random.default_rng(0)
    law.draw(2_000, rng)
    assert all(0 <= place < total for place in found)
    assert np.mean([place % 2 for place in found]) == pytest.approx(0.5, abs=0.06)
    assert np.mean([place / total for place in found]) == pytest.approx(0.5, abs=0.04)
    rounded = [int(rng.random() * total) for _ in range(100)]
    assert all(place % 2 == 0 for place in rounded)  # negative control


def test_limits_take_the_edge_as_a_set_does():
    """At .1 + .2 sums of doubles are not what they are on paper."""
    for penalty in (0.0, 0.1, 0.07):
        for most in (0.1 + 0.2, 0.3, 0.7, 1.0):
            found = limits(10, penalty, 3, most)
            for leaves, limit in enumerate(found, start=1):
                errors = [e for e in range(11) if e / 10 + penalty * leaves <= most]
                assert limit == (errors[-1] if errors else -1)


def is_listed(tree, X, y):
    """Every leaf has rows, and the label that most have; of labels as frequent, the last."""
    if isinstance(tree, Leaf):
        many = Counter(y)
        return len(y) > 0 and tree.prediction == max(many, key=lambda label: (many[label], label))
    sides = [], []
    for row, label in zip(X, y, strict=True):
        sides[0 if row[tree.feature] else 1].append((row, label))
    branches = (tree.if_true, tree.if_false)
    return all(
        is_listed(branch, [r for r, _ in side], [c for _, c in side])
        for branch, side in zip(branches, sides, strict=True)
    )


@pytest.mark.parametrize("shape", [(2, 4, None), (3, 4, None), (3, 5, 2), (4, 3, None)], ids=str)
@pytest.mark.parametrize(("seed", "idle"), [(0, False), (1, True), (2, False), (3, True)])
def test_counts_are_those_of_the_list(shape, seed, idle):
    m, leaves, depth = shape
    X, y = some_rows(seed, m=m, idle=idle)
    settings = {"max_leaves": leaves, "max_depth": depth, "leaf_penalty": 0.03}
    counted = CountedTrees(X, y, classes=(0, 1), convention="treefarms", **settings)
    trees = [tree for tree in whole_class(m, leaves, depth) if is_listed(tree, X, y)]
    losses = np.array([errors_of(t, X, y) / len(y) + 0.03 * leaves_of(t) for t in trees])
    assert counted.least == losses.min()
    for psi in (0.0, 0.1, 1.0):
        inside = [t for t, loss in zip(trees, losses, strict=True) if loss <= losses.min() + psi]
        found = Counter(map(leaves_of, inside))
        sizes = counted.sizes(psi)
        assert list(sizes) == [found[k] for k in range(1, len(sizes) + 1)]
        assert set(counted.draw(40, psi, random_state=0).models.trees) <= set(inside)
    assert counted.best() in trees
    assert best_avoiding(counted, 0) in trees


# Seed, rows, columns, most questions on a path: trees by leaves that treefarms 0.2.4 listed for
# regularization .03 and rashomon_bound .62. Ties are frequent in tables so small.
PRINTED = {
    (0, 12, 3, 2): [1, 1, 8, 4], (0, 12, 3, 3): [1, 1, 8, 12, 12, 7],
    (0, 30, 4, 3): [1, 2, 14, 64, 118, 212, 178, 24], (1, 12, 3, 3): [1, 1, 6, 20, 24, 30, 12],
    (1, 16, 4, 2): [1, 3, 16, 17], (1, 16, 4, 3): [1, 3, 16, 63, 116, 167, 116, 13],
    (2, 16, 4, 3): [1, 0, 10, 32, 37, 60, 18], (3, 12, 3, 3): [1, 2, 8, 17, 19, 17, 6],
    (3, 16, 4, 3): [1, 0, 6, 19, 9, 16],
}  # fmt: skip


@pytest.mark.parametrize("task", PRINTED, ids=str)
def test_counts_are_those_that_the_program_printed(task):
    seed, n, m, depth = task
    X, y = some_rows(seed, n=n, m=m)
    settings = {"max_leaves": 2**depth, "max_depth": depth, "leaf_penalty": 0.03}
    counted = CountedTrees(X, y, convention="treefarms", **settings)
    sizes = counted.sizes(0.62 - counted.least)
    assert [*sizes[: len(PRINTED[task])]] == PRINTED[task]
    assert not any(sizes[len(PRINTED[task]) :])


def test_nothing_private_comes_of_it():
    X, y = some_rows(0)
    counted = CountedTrees(X, y, max_leaves=3, convention="treefarms")
    public = {"log_size": counted.trees.log_size, "most_leaves": 3}
    planned = planned_trees(12, **public, psi=0.0, epsilon=1.0)
    with pytest.raises(ValueError, match="depends on no row"):
        gibbs_draws(counted, planned, np.random.default_rng(0))
    with pytest.raises(DataError, match="majority labels"):
        flip_psi(counted)
