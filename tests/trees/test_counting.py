"""Counts, best trees and draws against every tree of a small class written out."""

from collections import Counter

import numpy as np
import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees import CountedTrees, TreeClass, counting
from rashomon_explorer.trees.law import (
    CappedEnergy,
    CellLaw,
    any_tree,
    gibbs,
    integer_weights,
    limits,
)
from rashomon_explorer.trees.rows import MergedRows
from rashomon_explorer.trees.sampling import Walks
from tests.trees.listed import errors_of, leaves_of, listed, says, some_rows, whole_class

# Features, most leaves, most depth, labels; whether a column is constant and one repeated.
CLASSES = [
    (2, 4, None, 2, False),
    (3, 4, None, 2, False),
    (3, 5, None, 2, True),
    (3, 8, 2, 2, False),
    (4, 4, 2, 2, True),
    (4, 1, None, 2, False),
    (3, 4, None, 3, True),
    (1, 5, None, 2, False),
]


def made(shape, seed=0, penalty=0.0):
    m, leaves, depth, labels, idle = shape
    X, y = some_rows(seed, m=m, n_labels=labels, idle=idle and m > 1)
    settings = {"max_leaves": leaves, "max_depth": depth, "leaf_penalty": penalty}
    return CountedTrees(X, y, classes=range(labels), **settings), X, y


def by_force(shape, X, y):
    m, leaves, depth, labels, _ = shape
    trees = whole_class(m, leaves, depth, labels)
    return trees, Counter((leaves_of(tree), errors_of(tree, X, y)) for tree in trees)


@pytest.mark.parametrize("shape", CLASSES, ids=str)
def test_sizes_of_the_class_are_those_of_its_list(shape):
    m, leaves, depth, labels, _ = shape
    found = Counter(map(leaves_of, whole_class(m, leaves, depth, labels)))
    public = TreeClass(m, leaves, depth, labels)
    assert list(public.sizes) == [found[k] for k in range(1, public.most_leaves + 1)]
    assert public.size == sum(found.values())


@pytest.mark.parametrize("shape", CLASSES, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_counts_are_those_of_the_list(shape, seed):
    counted, X, y = made(shape, seed)
    _, cells = by_force(shape, X, y)
    everything = counted.histogram(psi=1.0)
    found = {
        (leaves, one[0] + at): int(number)
        for leaves, one in enumerate(everything, start=1)
        for at, number in enumerate(one[1])
        if number
    }
    assert found == dict(cells)


@pytest.mark.parametrize("shape", CLASSES[:7], ids=str)
@pytest.mark.parametrize("psi", [0.0, 0.1, 0.25])
@pytest.mark.parametrize("penalty", [0.0, 0.03])
def test_a_window_holds_what_the_whole_holds(shape, psi, penalty):
    """Pruning by what is left of the allowance loses no tree within ψ."""
    counted, X, y = made(shape, seed=3, penalty=penalty)
    _, cells = by_force(shape, X, y)
    losses = {cell: cell[1] / counted.n + penalty * cell[0] for cell in cells}
    assert counted.least == min(losses.values())
    within = Counter()
    for cell, number in cells.items():
        if losses[cell] <= counted.least + psi:
            within[cell[0]] += number
    sizes = counted.sizes(psi)
    assert list(sizes) == [within[k] for k in range(1, len(sizes) + 1)]


@pytest.mark.parametrize("shape", CLASSES, ids=str)
@pytest.mark.parametrize("seed", [0, 4])
def test_the_best_tree_is_of_the_class_and_has_the_least_loss(shape, seed):
    counted, X, y = made(shape, seed, penalty=0.01)
    best = counted.best()
    assert best in whole_class(*shape[:4])
    assert errors_of(best, X, y) / counted.n + 0.01 * leaves_of(best) == counted.least


@pytest.mark.parametrize("shape", CLASSES[:7], ids=str)
def test_a_draw_has_the_leaves_and_errors_of_its_cell(shape):
    counted, X, y = made(shape, seed=5)
    models = counted.draw(60, psi=0.3, random_state=1)
    assert len(models.names) == 60
    for tree, loss in zip(models.models.trees, models.losses, strict=True):
        assert errors_of(tree, X, y) / counted.n == loss <= counted.least + 0.3


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
    from fractions import Fraction

    import rashomon_explorer.trees.counting as walk
    import rashomon_explorer.trees.law as uniform

    law = Counter()
    waiting = [()]
    while waiting:
        given = waiting.pop()
        known = Known(given)
        for room in (uniform, walk):
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


@pytest.mark.parametrize("largest", [counting.EXACT, 0.0], ids=["doubles", "integers of any size"])
@pytest.mark.parametrize(
    "shape",
    [(2, 3, None, 2, False), (3, 3, None, 2, True), (2, 4, 2, 2, True), (2, 3, None, 3, True)],
    ids=str,
)
def test_draws_of_a_cell_are_exactly_uniform(shape, largest, monkeypatch):
    monkeypatch.setattr(counting, "EXACT", largest)
    counted, X, y = made(shape, seed=6)
    counts = counted.counts(1.0)
    trees, cells = by_force(shape, X, y)
    small = sorted(cell for cell in cells if cells[cell] <= 60)[::-1][:6]
    assert small[0][0] >= 3
    for cell in small:
        law = every_draw(lambda rng, cell=cell: Walks(counts, rng).draw([cell])[0], monkeypatch)
        same = [t for t in trees if (leaves_of(t), errors_of(t, X, y)) == cell]
        assert set(law) == set(same)
        assert all(probability * len(same) == 1 for probability in law.values())


@pytest.mark.parametrize("shape", CLASSES, ids=str)
def test_trees_drawn_together_are_as_those_drawn_one_by_one(shape):
    """Each of its own cell; every tree of a cell comes, about as often as the others."""
    counted, X, y = made(shape, seed=8)
    counts = counted.counts(1.0)
    trees, cells = by_force(shape, X, y)
    asked = [cell for cell in sorted(cells) for _ in range(3)]
    drawn = Walks(counts, np.random.default_rng(0)).draw(asked)
    assert [(leaves_of(t), errors_of(t, X, y)) for t in drawn] == asked
    cell = max(cells, key=lambda one: (one[0], cells[one] if cells[one] <= 150 else 0))
    same = [t for t in trees if (leaves_of(t), errors_of(t, X, y)) == cell]
    many = 40 * len(same)
    found = Counter(Walks(counts, np.random.default_rng(1)).draw([cell] * many))
    assert set(found) == set(same)
    assert sum((found[t] - 40) ** 2 / 40 for t in same) < len(same) + 6 * len(same) ** 0.5 + 20


def test_any_tree_of_the_class_is_exactly_uniform(monkeypatch):
    for shape in ((2, 3, None, 2), (2, 4, 2, 2), (1, 2, None, 3)):
        public = TreeClass(*shape)
        law = every_draw(lambda rng, public=public: any_tree(public, rng), monkeypatch)
        assert set(law) == set(whole_class(*shape))
        assert all(probability * public.size == 1 for probability in law.values())


def test_leaves_are_shared_as_many_trees_share_them(monkeypatch):
    """Of four leaves three on one side, or two on both: every outcome of that one choice."""
    import rashomon_explorer.trees.law as uniform

    found, total = Counter(), 1
    while sum(found.values()) < total:
        known = Known([0, sum(found.values())])
        monkeypatch.setattr(
            uniform, "uniform_below", lambda total, rng, known=known: known.below(total)
        )
        found[leaves_of(any_tree(TreeClass(3, 4), None, leaves=4).if_true)] += 1
        total = known.asked[1]
    same = Counter(leaves_of(tree.if_true) for tree in listed([0, 1, 2], 4, 3))
    assert {k: found[k] * sum(same.values()) for k in same} == {k: same[k] * total for k in same}


def test_the_law_of_cells_is_the_thresholded_gibbs_law():
    """Exact masses, class floor included, against the definition in doubles."""
    shape = (3, 4, None, 2, False)
    counted, X, y = made(shape, seed=7, penalty=0.02)
    trees, cells = by_force(shape, X, y)
    energy = CappedEnergy.of(counted.trees, counted.n, beta=30.0, psi=0.1, leaf_penalty=0.02)
    within = energy.limits(counted.least, counted.trees.most_leaves)
    histograms = counted.counted_within(within).by_leaves()
    law = gibbs(histograms, counted.trees, energy, counted.least)
    floor = integer_weights(np.array([energy.cap]))[0]
    beyond = law._ends[-1] - law._ends[-2]
    assert beyond == floor * len(trees)
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


def test_equal_rows_are_one_combination():
    X, y = some_rows(8, n=200, m=4)
    rows = MergedRows.of(X, y, 2)
    assert len(rows.patterns) == 16 and rows.counts.sum() == 200
    assert (rows.patterns[rows.place] == X).all()
    every = CountedTrees(X, y, max_leaves=3)
    found = [errors_of(tree, X, y) for tree in listed([0, 1, 2, 3], 3, 4)]
    assert every.sizes(1.0)[2] == len(found)
    assert every.least_errors.best_errors[2] == min(found)


def test_order_of_rows_and_a_second_label_say_nothing():
    X, y = some_rows(9, n=50, m=4)
    order = np.random.default_rng(0).permutation(50)
    one = CountedTrees(X, y, max_leaves=4).sizes(0.1)
    assert CountedTrees(X[order], y[order], max_leaves=4).sizes(0.1) == one
    assert CountedTrees(X, 1 - y, max_leaves=4).sizes(0.1) == one
    assert CountedTrees(1 - X, y, max_leaves=4).sizes(0.1) == one


@pytest.mark.parametrize(
    ("X", "y", "settings", "match"),
    [
        ([[0, 2], [1, 0]], [0, 1], {}, "column 1 of X holds"),
        ([[0, 1], [1, 0]], [1, 1], {}, "one class"),
        (np.empty((0, 3)), [], {}, "rows and columns"),
        ([[0, 1], [1, 0]], [0, 1], {"leaf_penalty": -1.0}, "leaf_penalty"),
        ([[0, 1], [1, 0]], [0, 1], {"max_leaves": 0}, "max_leaves"),
        ([[0, 1], [1, 0]], [0, 1], {"feature_names": ["a"]}, "2 columns"),
        ([[0, 1], [1, 0]], [0, 1, 1], {}, "as many labels"),
    ],
)
def test_bad_input_is_refused(X, y, settings, match):
    with pytest.raises(ValueError, match=match):
        CountedTrees(X, y, **{"max_leaves": 3, **settings})


def test_what_would_not_fit_is_refused_before_a_value_is_looked_at():
    class Unreadable:
        shape = (5000, 60)

        def __array__(self, *args, **kwargs):
            raise AssertionError("read")

    with pytest.raises(DataError, match=r"10 leaves on 60 features .* GiB .* 5 leaves fit"):
        CountedTrees(Unreadable(), np.zeros(5000), max_leaves=10)


def test_memory_stays_below_what_was_said():
    import tracemalloc

    X, y = some_rows(10, n=3000, m=8)
    public = TreeClass(8, 5)
    tracemalloc.start()
    trees = CountedTrees(X, y, max_leaves=5)
    before = tracemalloc.get_traced_memory()[0]
    trees.counts(1.0)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert taken < public.memory(3000)


def test_people_agree_with_predictions_of_the_set():
    counted, X, _ = made((3, 4, None, 2, False), seed=11)
    models = counted.draw(5, psi=0.2, random_state=0)
    labels = models.labels(X)
    for place, tree in enumerate(models.models.trees):
        assert labels[place].tolist() == [says(tree, row) for row in X]


@pytest.mark.parametrize("shape", CLASSES[:7], ids=str)
@pytest.mark.parametrize("costs", [{1: 3}, {0: 2, 1: 5}])
def test_errors_that_cost_more_are_counted_so(shape, costs):
    """As if each row stood there as often as an error on it costs, by every tree written out."""
    m, leaves, depth, labels, idle = shape
    X, y = some_rows(12, m=m, n_labels=labels, idle=idle and m > 1)
    settings = {"max_leaves": leaves, "max_depth": depth, "classes": range(labels)}
    counted = CountedTrees(X, y, costs=costs, leaf_penalty=0.02, **settings)
    weights = np.array([costs.get(label, 1) for label in y])
    unit = len(y) * max(costs.values())
    trees = whole_class(m, leaves, depth, labels)
    paid = [sum(w for r, c, w in zip(X, y, weights, strict=True) if says(t, r) != c) for t in trees]
    losses = np.array(paid) / unit + 0.02 * np.array([leaves_of(t) for t in trees])
    assert counted.least == pytest.approx(losses.min(), abs=1e-12)
    for psi in (0.0, 0.07, 0.3):
        assert counted.size(psi) == (losses <= losses.min() + psi + 1e-12).sum()
    best = counted.best()
    assert losses[trees.index(best)] == pytest.approx(counted.least, abs=1e-12)
    drawn = counted.draw(30, 0.3, random_state=0)
    for tree, loss in zip(drawn.models.trees, drawn.losses, strict=True):
        assert losses[trees.index(tree)] == pytest.approx(loss, abs=1e-12)
        assert counted.errors(tree) == paid[trees.index(tree)]


@pytest.mark.parametrize("costs", [{2: 1}, {0: 0}, {0: 1.5}, {0: True}, {0: 10_000}])
def test_costs_that_are_none_are_refused(costs):
    with pytest.raises(DataError, match="costs"):
        CountedTrees([[0, 1], [1, 0]], [0, 1], max_leaves=2, costs=costs)
