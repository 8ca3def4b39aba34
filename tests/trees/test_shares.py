"""Shares of all good trees that give each row each label, against every tree written out."""

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees import CountedTrees, label_shares
from tests.trees.listed import CLASSES, listing, some_rows


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
