"""An enumerated set is exact; a sample, a choice of it or another loss is not said to be."""

import itertools

import numpy as np
import pytest

from rashomon_explorer import RashomonSet
from rashomon_explorer.measures import fairness_audit, multiplicity_table
from rashomon_explorer.sets import from_predictions, from_treefarms
from tests.sets.made import make

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (60, 3)).astype(float)
Y = ((X[:, 0] + X[:, 1] + (RNG.random(60) < 0.2)) > 1).astype(int)


def _stump(feature, label):
    return {
        **{"feature": feature, "relation": "==", "reference": "true"},
        **{"true": {"prediction": label}, "false": {"prediction": 1 - label}},
    }


TREES = [{"prediction": 0}, {"prediction": 1}]
TREES += [_stump(feature, label) for feature, label in itertools.product(range(3), (0, 1))]
OBJECTIVES = [0.5, 0.55, 0.30, 0.72, 0.31, 0.71, 0.52, 0.54]
TRIE = {
    "0": {
        "-2 -1": {"objective": 0.30, "loss": 0.28, "complexity": 0.02},
        "-1 -2": {"objective": 0.72, "loss": 0.70, "complexity": 0.02},
    },
    "-1": {"objective": 0.5, "loss": 0.49, "complexity": 0.01},
}


@pytest.mark.parametrize(
    ("source", "settings", "complete"),
    [
        (lambda **k: from_treefarms(TRIE, **k), {}, True),
        # A list has no objective; its errors on the rows did not decide what was enumerated.
        (lambda **k: from_treefarms(TREES, **k), {}, False),
        (lambda **k: from_treefarms(TREES, **k), {"X": X, "y": Y}, False),
        (lambda **k: from_treefarms(TREES, **k), {"X": X, "y": Y, "psi": 0.05}, False),
        (lambda **k: from_treefarms(TREES, **k), {"X": X, "y": Y, "complete": True}, True),
        (lambda **k: from_treefarms(TRIE, **k), {"psi": 0.1}, True),
        # Beyond the worst tree others may be missing.
        (lambda **k: from_treefarms(TRIE, **k), {"psi": 0.5}, False),
        (lambda **k: from_treefarms(TRIE, **k), {"psi": 0.5, "complete": True}, True),
        # Another loss did not decide what was enumerated.
        (lambda **k: from_treefarms(TRIE, **k), {"criterion": "loss"}, False),
        (lambda **k: from_treefarms(TREES, losses=OBJECTIVES, **k), {}, False),
        (lambda **k: from_treefarms(TREES, losses=OBJECTIVES, **k), {"complete": True}, True),
        (lambda **k: from_treefarms(TRIE, **k), {"complete": False}, False),
        (lambda **k: from_predictions([[0.1, 0.9]], [0, 1], **k), {}, False),
        (lambda **k: from_predictions([[0.1, 0.9]], [0, 1], **k), {"complete": True}, True),
    ],
)
def test_what_was_enumerated_by_its_own_loss_is_complete(source, settings, complete):
    assert source(**settings).complete is complete


@pytest.fixture
def trees():
    return from_treefarms(TREES, losses=OBJECTIVES, complete=True, psi=0.25)


def test_a_choice_of_a_complete_set_is_not_complete_but_what_is_inside_is(trees, tmp_path):
    assert trees.inside().complete and trees.inside(0.05).complete
    assert trees.stored(X).complete
    assert not trees[:3].complete
    assert not trees.sample(2, random_state=0).complete
    assert trees[::-1].complete  # all of them, in another order
    trees.save(tmp_path / "trees.npz")
    assert RashomonSet.load(tmp_path / "trees.npz").complete
    assert not make().complete


def test_measures_of_a_complete_set_are_exact_and_those_of_a_sample_bounds(trees):
    table = multiplicity_table(trees, X, psi=[0.1, 0.25])
    assert set(table["sampled"]) == {"exact"}
    inside = [i for i, loss in enumerate(OBJECTIVES) if loss <= 0.30 + 0.25]
    labels = trees.labels(X)[inside]
    by_hand = np.mean((labels != trees.labels(X)[2]).any(axis=0))
    last = table[(table["measure"] == "ambiguity") & (table["psi"] == 0.25)]
    assert last["value"].item() == by_hand
    listed = from_treefarms(TREES, X=X, y=Y)
    assert "exact" not in multiplicity_table(listed, X, measures=["ambiguity"])["sampled"].tolist()
    some = multiplicity_table(trees[:5], X, measures=["ambiguity", "disagreement"])
    assert some["sampled"].tolist() == ["lower bound", "estimate"]
    groups = np.where(X[:, 2] > 0, "a", "b")
    for models, sampled in ((trees, "exact"), (trees[:5], "inner bound")):
        assert set(fairness_audit(models, X, Y, groups).ranges()["sampled"]) == {sampled}
