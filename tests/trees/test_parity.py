"""The best tree under a bound on gaps, against every tree written out."""

import numpy as np
import pytest

from rashomon_explorer.trees import best_with_parity, parity_front
from rashomon_explorer.trees.fronts import Fronts
from tests.trees.listed import CLASSES, leaves_of, listing


@pytest.mark.parametrize(("shape", "costs"), CLASSES, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("many", [2, 3])
def test_the_front_and_the_best_tree_under_a_bound(shape, costs, seed, many):
    known = listing(shape, seed, 0.02, costs)
    counted, losses = known.counted, known.losses
    groups = np.random.default_rng(seed).integers(0, many, size=len(known.y))
    gaps = known.gaps(groups)
    for bound in (0.0, 0.2, 0.5, 1.0):
        found = best_with_parity(counted, groups, bound)
        assert found.exact and found.at_least == found.loss
        assert found.loss == pytest.approx(losses[gaps <= bound + 1e-12].min(), abs=1e-12)
        assert known.loss_of(found.tree) == pytest.approx(found.loss, abs=1e-12)
        assert gaps[known.trees.index(found.tree)] == pytest.approx(found.gap)
        assert found.gap <= bound + 1e-12
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
    found = best_with_parity(counted, groups, 0.0, most=1, random_state=0)
    assert not found.exact and found.gap == 0
    assert found.at_least <= best_with_parity(counted, groups, 0.0).loss <= found.loss


@pytest.mark.parametrize(
    ("groups", "settings", "match"),
    [
        ([0] * 12, {}, "all rows are of the group"),
        ([0, 1], {}, "one per row, 12 in all"),
        ([0, 1] * 6, {"label": 2}, "label must be below 2"),
        ([0, 1] * 6, {"bound": -0.1}, "bound"),
    ],
)
def test_bad_questions_are_refused(groups, settings, match):
    counted = listing((2, 4, None, 2, False)).counted
    with pytest.raises(ValueError, match=match):
        best_with_parity(counted, groups, **{"bound": 0.1, **settings})


@pytest.mark.parametrize("large", [1, 2**57 + 3])
def test_weights_of_any_size_are_added_up_exactly(large):
    known = listing((3, 4, None, 2, True), 1, 0.02)
    counted, trees, losses = known.counted, known.trees, known.losses
    weights = np.arange(1, len(counted.rows.patterns) + 1, dtype=np.int64) * large
    of_rows = np.zeros(len(known.X), dtype=object)
    first = np.unique(counted.rows.place, return_index=True)[1]
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
