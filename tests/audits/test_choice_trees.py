"""Choices among counted trees, against every tree of a small class."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import audit
from rashomon_explorer.audits.choice import trees as choices
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.sets.models.trees import tree_columns
from rashomon_explorer.trees import CountedTrees
from tests.trees.listed import CLASSES, listing

CASES = [case for case in CLASSES if case[0][0] > 1]
ROUNDING = 1e-9


def check_choices(shape, costs, seed, psi):
    """Each value is the least over all listed trees, and the chosen tree has it."""
    known, rng = listing(shape, seed, 0.02, costs), np.random.default_rng(seed)
    groups, codes = rng.integers(0, 2, len(known.y)), rng.integers(0, 2, len(known.y))
    groups[:4], positive = [0, 0, 1, 1], known.y == 1
    old = SimpleNamespace(predict=lambda rows: codes)
    found = audit(
        known.counted, known.X, known.y, tolerance=psi, groups=groups, wanted=1, n_models=2
    )
    good = known.losses <= known.counted.least + psi + ROUNDING
    ratios = (known.labels[good][:, None] != known.labels).mean(axis=0)
    values = {
        "sparse": np.array([len(tree_columns(tree)) for tree in known.trees]),
        "fair": known.gaps(groups),
        "near": (known.labels != codes).sum(axis=1),
        "robust": ratios.max(axis=1),
    }
    fewest = good & (values["sparse"] == values["sparse"][good].min())
    if shape[3] > 2:
        del values["near"], values["robust"]
    orders = [([name], good) for name in values]
    orders += [(["sparse", name], fewest) for name in values if name != "sparse"]
    for order, left in orders:
        choice = found.choose(order, near=old)
        preferred, value = choice.preferred[-1], values[order[-1]]
        assert preferred.optimal and preferred.value == pytest.approx(value[left].min(), abs=1e-9)
        at = known.trees.index(choice.theta)
        assert left[at] and value[at] == pytest.approx(preferred.value, abs=1e-9)
        assert choice.excess == pytest.approx(known.losses[at] - known.counted.least, abs=1e-12)
        assert (choice.model.predict(known.X) == known.labels[at]).all()
    if positive[groups == 0].any() and positive[groups == 1].any():
        shares = [(known.labels[:, positive & (groups == g)] == 1).mean(axis=1) for g in (0, 1)]
        gap = found.choose("fair", gap="opportunity").preferred[0].value
        assert gap == pytest.approx(np.abs(shares[0] - shares[1])[good].min(), abs=1e-9)


@pytest.mark.parametrize(("shape", "costs"), CASES, ids=str)
def test_no_listed_tree_is_better(shape, costs):
    check_choices(shape, costs, seed=0, psi=0.2)


@pytest.mark.law
@pytest.mark.parametrize("seed", range(1, 9))
def test_no_listed_tree_is_better_on_many_tables(seed):
    for shape, costs in CASES:
        for psi in (0.05, 0.3):
            check_choices(shape, costs, seed, psi)


def test_a_front_within_half_of_the_tolerance_misses_trees(monkeypatch):
    front, missed = choices.loss_front, 0
    monkeypatch.setattr(
        choices,
        "loss_front",
        lambda counted, rates, label, psi, **kw: front(counted, rates, label, psi / 2, **kw),
    )
    for seed in range(6):
        try:
            check_choices(*CASES[1], seed, 0.3)
        except AssertionError:
            missed += 1
    assert missed


@pytest.fixture(scope="module")
def counted():
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 2, 200) for name in ("owns", "rents")}
    X = pd.DataFrame({"age": rng.integers(18, 80, 200), **columns})
    y = np.where((X["age"] > 40) & (X["owns"] == 1) | (rng.random(200) < 0.1), "no", "yes")
    settings = {"thresholds": {"age": [30, 40, 60]}, "max_leaves": 4, "leaf_penalty": 0.01}
    return CountedTrees.of_table(X, y, **settings), X, y


def test_an_audit_of_counted_trees_answers_and_reports(counted, tmp_path):
    trees, X, y = counted
    groups = X["rents"].map({0: "owner", 1: "tenant"}).rename("home")
    found = audit(trees, X, y, tolerance=0.15, groups=groups, wanted="no")
    choice = found.choose(["sparse", "fair"])
    assert isinstance(choice.model, DecisionTreeClassifier)
    assert "exact" in choice.certificate.loc["sparse", "proof"]
    assert choice.certificate.loc["sparse", "value"] <= 2  # three questions about age count once
    assert choice.costs.loc["accuracy", "chosen"] == (choice.model.predict(X) == y).mean()
    prices = found.price("sparse", [0.01, 0.1, 0.4])
    assert prices["value"].is_monotonic_decreasing and prices["optimal"].all()
    assert found.flips["flips"].any() and f"{trees.size(0.15):,} trees" in found.models.notes[0]
    text = found.report(tmp_path / "trees.html", choices=[choice], interactive=False).read_text()
    assert "Preferred: sparse, then fair" in text and "all trees are counted" in text
    early = found.choose("sparse", seconds=0.0).preferred[0]
    assert early.bound <= choice.preferred[0].value <= early.value


def test_what_has_no_meaning_for_trees_says_so(counted):
    trees, X, y = counted
    found = audit(trees, X, y, tolerance=0.05)
    with pytest.raises(MissingAnswerError, match="these are trees"):
        found.choose("card")
    with pytest.raises(MissingAnswerError, match="trees have labels"):
        found.choose("sparse", max_gap=0.1)
    with pytest.raises(MissingAnswerError, match="no good tree uses 0 features"):
        found.choose("robust", max_features=0)
    with pytest.raises(MissingAnswerError, match="no groups"):
        found.choose("fair")
    with pytest.raises(ValueError, match="leaves one tree"):
        found.choose(["robust", "sparse"])
    with pytest.raises(ValueError, match="rows whose trees were counted"):
        audit(trees, X, y[::-1], tolerance=0.05)
    with pytest.raises(ValueError, match="weigh rows alike"):
        audit(trees, X, y, tolerance=0.05, sample_weight=np.ones(200))
