"""Answers of the curator, shares and fronts, against every tree of a small class."""

import io
import sys
from itertools import product
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer._utils import progress as bars
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.trees import tree_columns
from rashomon_explorer.trees import (
    CountedTrees,
    best_avoiding,
    best_tree_predicting,
    best_using,
    counting,
    feature_table,
    flip_psi,
    label_shares,
    least_losses,
    parity_front,
    possible_labels,
)
from rashomon_explorer.trees.parity import Fronts
from tests.trees.listed import CLASSES, leaves_of, listing, says, some_rows


def least(losses, mask):
    return losses[mask].min() if mask.any() else np.inf


@pytest.mark.parametrize(("shape", "costs"), CLASSES, ids=str)
@pytest.mark.parametrize(("seed", "penalty"), [(0, 0.0), (1, 0.04)])
class TestBruteForce:
    def test_every_flip_and_the_best_tree_that_predicts_it(self, shape, costs, seed, penalty):
        known = listing(shape, seed, penalty, costs)
        counted, labels = known.counted, range(shape[3])
        wanted = np.array(
            [[least(known.losses, row == b) for b in labels] for row in known.labels.T]
        )
        assert least_losses(counted) == pytest.approx(wanted, abs=1e-12)
        second = np.sort(wanted, axis=1)[:, 1]
        assert flip_psi(counted) == pytest.approx(second - counted.least, abs=1e-12)
        for row in (0, 5, 11):
            for label in labels:
                tree = best_tree_predicting(counted, row, label)
                assert says(tree, known.X[row]) == label
                assert known.loss_of(tree) == pytest.approx(wanted[row, label], abs=1e-12)

    def test_labels_that_are_possible_also_for_rows_that_the_table_lacks(
        self, shape, costs, seed, penalty
    ):
        known = listing(shape, seed, penalty, costs)
        every = np.array(list(product([0, 1], repeat=shape[0])))
        for psi in (0.0, 0.1, 0.3):
            within = np.flatnonzero(known.losses <= known.counted.least + psi + 1e-12)
            said = [{says(known.trees[at], row) for at in within} for row in every]
            wanted = [[label in labels for label in range(shape[3])] for labels in said]
            assert possible_labels(known.counted, psi, every).tolist() == wanted

    def test_features_used_and_avoided(self, shape, costs, seed, penalty):
        known = listing(shape, seed, penalty, costs)
        counted, losses = known.counted, known.losses
        uses = np.array([[f in tree_columns(t) for f in range(shape[0])] for t in known.trees])
        inside = losses <= counted.least + 0.2
        found = feature_table(counted, 0.2)
        for feature in range(shape[0]):
            using, row = uses[:, feature], found.iloc[feature]
            wanted, without = least(losses, using), least(losses, ~using)
            assert row["psi_using"] == pytest.approx(wanted - counted.least, abs=1e-12)
            assert row["psi_avoiding"] == pytest.approx(without - counted.least, abs=1e-12)
            assert row["share_using"] == pytest.approx((inside & using).sum() / inside.sum())
            tree = best_avoiding(counted, feature)
            assert feature not in tree_columns(tree)
            assert known.loss_of(tree) == pytest.approx(without, abs=1e-12)
            if not using.any():
                with pytest.raises(DataError, match="no tree of the class tests column"):
                    best_using(counted, feature)
                continue
            tree = best_using(counted, feature)
            assert feature in tree_columns(tree)
            assert known.loss_of(tree) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_feature_that_is_tested_in_an_empty_branch_alone_gives_no_better_tree(seed):
    """Fifteen thousand trees, of which many test a feature only where no row comes."""
    known = listing((4, 6, 3, 2, True), seed, 0.01)
    for feature in range(4):
        using = np.array([feature in tree_columns(tree) for tree in known.trees])
        found = known.loss_of(best_using(known.counted, feature))
        assert found == pytest.approx(least(known.losses, using), abs=1e-12)


@pytest.mark.parametrize(("shape", "costs"), CLASSES, ids=str)
@pytest.mark.parametrize(("seed", "many"), [(0, 2), (1, 3)])
def test_the_front_of_losses_and_gaps(shape, costs, seed, many):
    known = listing(shape, seed, 0.02, costs)
    counted, losses = known.counted, known.losses
    groups = np.random.default_rng(seed).integers(0, many, size=len(known.y))
    gaps = known.gaps(groups)
    for psi in (0.0, 0.15, 1.0):
        front = parity_front(counted, groups, psi)
        inside = losses <= counted.least + psi + 1e-12
        assert front.exact and front.losses[0] == pytest.approx(counted.least)
        assert (np.diff(front.losses) > 0).all() and (np.diff(front.gaps) < 0).all()
        # No tree lies below the front, and each of its points is a tree.
        for loss, gap in zip(losses[inside], gaps[inside], strict=True):
            assert front.gaps[front.losses <= loss + 1e-9].min() <= gap + 1e-9
        for place in range(len(front.losses)):
            at = known.trees.index(front.tree(place))
            assert losses[at] == pytest.approx(front.losses[place], abs=1e-12)
            assert gaps[at] == pytest.approx(front.gaps[place], abs=1e-12)


def test_what_is_too_much_work_is_marked_and_nowhere_below_the_exact_front():
    known = listing((3, 4, None, 2, False), 1, 0.02)
    counted, groups = known.counted, np.arange(len(known.y)) % 2
    exact = parity_front(counted, groups, 0.3)
    drawn = parity_front(counted, groups, 0.3, most=1, random_state=0)
    assert exact.exact and not drawn.exact
    for loss, gap in zip(drawn.losses, drawn.gaps, strict=True):
        assert exact.gaps[exact.losses <= loss + 1e-12].min() <= gap + 1e-12


@pytest.mark.parametrize("large", [1, 2**57 + 3])
def test_weights_of_any_size_are_added_up_exactly(large):
    known = listing((3, 4, None, 2, True), 1, 0.02)
    counted, trees, losses = known.counted, known.trees, known.losses
    weights = np.arange(1, len(counted.rows.patterns) + 1, dtype=np.int64) * large
    of_rows = np.zeros(len(known.X), dtype=object)
    first = np.unique(counted.rows.pattern_index, return_index=True)[1]
    of_rows[first] = [int(weight) for weight in weights]
    fronts = Fronts(counted, weights, 1, 1.0, 10_000)
    leaves = np.array([leaves_of(tree) for tree in trees])
    for many in (1, 2, 3, 4):
        best = {}
        for at in np.flatnonzero(leaves == many):
            key = sum(of_rows[known.labels[at] == 1])
            best[key] = min(best.get(key, np.inf), losses[at])
        keys, errors = fronts.front(many)
        assert sorted(best) == keys.tolist()
        assert [best[key] for key in keys.tolist()] == pytest.approx(errors / 12 + 0.02 * many)
        key, wrong = int(keys[-1]), int(errors[-1])
        assert fronts.tree(0, 0, many, (key, wrong)) in trees


@pytest.mark.parametrize(("shape", "costs"), [*CLASSES, ((9, 3, None, 2, True), None)], ids=str)
def test_shares_are_those_of_every_tree_written_out(shape, costs):
    known = listing(shape, 3, 0.02, costs)
    counted, labels = known.counted, range(shape[3])
    for psi in (1.0, 0.0, 0.08, 0.3):  # the largest first: less is asked of what was counted then
        inside = known.labels[known.losses <= counted.least + psi + 1e-12]
        wanted = np.stack([(inside == label).mean(axis=0) for label in labels], axis=1)
        assert label_shares(counted, psi) == pytest.approx(wanted, abs=1e-12)
        times = counted.labelled(psi)
        assert (times.sum(axis=1) == counted.size(psi)).all()  # each tree says one label of a row


def test_trees_of_the_convention_of_treefarms_have_shares_too():
    X, y = some_rows(1, n=30, m=3)
    counted = CountedTrees(X, y, max_leaves=3, convention="treefarms")
    psi = 0.2
    drawn = counted.draw(4000, psi, random_state=0).labels(X)
    times = counted.labelled(psi)
    assert (times.sum(axis=1) == counted.size(psi)).all()
    assert label_shares(counted, psi)[:, 1] == pytest.approx((drawn == 1).mean(axis=0), abs=0.04)


def test_rows_of_the_table_in_any_order_and_no_others():
    table = pd.DataFrame({"age": [25, 35, 55, 70], "owns": [0, 1, 1, 0]})
    counted = CountedTrees.of_table(table, [0, 1, 1, 0], thresholds={"age": [30, 60]}, max_leaves=3)
    every = label_shares(counted, 0.3)
    assert np.array_equal(label_shares(counted, 0.3, table[::-1]), every[::-1])
    with pytest.raises(DataError, match="row 1 of X has answers that no row"):
        label_shares(counted, 0.3, [[25, 0], [25, 1]])


HALF = {"groups": [0, 1] * 6, "psi": 0.1}


@pytest.mark.parametrize(
    ("call", "settings", "match"),
    [
        (best_avoiding, {"feature": 2}, "feature must be below 2"),
        (best_tree_predicting, {"row": 12, "label": 0}, "row must be below 12"),
        (parity_front, {**HALF, "groups": [0] * 12}, "all rows are of the group"),
        (parity_front, {**HALF, "groups": [0, 1]}, "one per row, 12 in all"),
        (parity_front, {**HALF, "label": 2}, "label must be below 2"),
        (parity_front, {**HALF, "psi": -0.1}, "psi"),
    ],
)
def test_bad_questions_are_refused(call, settings, match):
    with pytest.raises(ValueError, match=match):
        call(listing((2, 4, None, 2, False)).counted, **settings)


def test_every_stage_of_a_count_has_a_bar_and_an_interrupted_count_can_be_repeated(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(bars, "_SECONDS", 0.0)
    counted = listing((3, 4, None, 2, False), 6).counted
    fresh = CountedTrees(counted.rows, None, max_leaves=4, classes=counted.classes)
    with monkeypatch.context() as stopped:
        stopped.setattr(counting, "stump_errors", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fresh.size(0.5)
    assert not bars._OPEN
    assert fresh.size(0.5) == counted.size(0.5)
    label_shares(fresh, 0.5), flip_psi(fresh), possible_labels(fresh, 0.5, [[0, 1, 1]])
    stages = [
        "conjunctions",
        "sets of rows",
        "counts of trees",
        "labels of trees",
        "costs of labels",
    ]
    assert all(stage in stream.getvalue() for stage in [*stages, "least losses"])
