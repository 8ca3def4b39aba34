"""Width or noise of private trees: against the whole class listed, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import (
    decomposition_by_person,
    disagreement_decomposition,
    noise_by_budget,
)
from rashomon_explorer.mechanisms.planning.trees import energy_cap
from rashomon_explorer.sets import CuratorSet
from tests.trees.listed import errors_of, leaves_of, whole_class

N, PENALTY, PSI = 90, 0.01, 0.205
SURE = 0.9999


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(N, 3))
    return X, np.where(rng.random(N) < 0.75, X[:, 0] | X[:, 1], rng.integers(0, 2, size=N))


def fitted(table, **settings):
    asked = {"psi": PSI, "max_leaves": 3, "leaf_penalty": PENALTY, "n_draws": 300, "delta": 1e-6}
    clf = RashomonTreeClassifier(**{**asked, "random_state": 0, **settings})
    return clf, clf.fit(*table).rashomon_set_


@pytest.fixture(scope="module")
def private(table):
    """The law's threshold is below ψ, and about every fourth draw misses."""
    with pytest.warns(UserWarning):
        clf, models = fitted(table, epsilon=12.0, hit_rate=0.06)
    assert 0 < models.plan.law_psi < 0.9 * models.psi and 0.6 < models.hit_rate < 0.95
    return clf, models


@pytest.fixture(scope="module")
def reference(table, private):
    return private[0].counted(*table).draw(3000, PSI, random_state=1)


@pytest.fixture(scope="module")
def exact(table, private):
    """Disagreement of the law that is drawn from, and of the uniform one, over all trees."""
    X, y = table
    planned, trees = private[1].plan, whole_class(3, 3)
    losses = np.array([errors_of(tree, X, y) / N + PENALTY * leaves_of(tree) for tree in trees])
    says = np.array([private[1].models.__class__((tree,), 2).labels(X)[0] for tree in trees])
    excess = losses - losses.min()
    energy = planned.beta * np.maximum(excess - planned.law_psi, 0)
    laws = {
        "total": np.exp(-np.minimum(energy, energy_cap(planned.log_size))),
        "width": (excess <= PSI).astype(float),
    }
    found = {}
    for name, weights in laws.items():
        chance = (weights / weights.sum()) @ says
        found[name] = float((2 * chance * (1 - chance)).mean())
    return {**found, "noise": found["total"] - found["width"]}


def test_it_is_what_all_trees_together_say(table, private, reference, exact):
    found = disagreement_decomposition(private[1], table[0], reference=reference, confidence=SURE)
    for name in ("total", "width", "noise"):
        estimate = getattr(found, name)
        assert estimate.low <= exact[name] <= estimate.high
        assert estimate.high - estimate.low < 0.1
    assert exact["noise"] > 0.01 and found.n_reference == 3000
    assert found.cross_check is None  # draws inside are not alike: nothing to compare


@pytest.fixture(scope="module")
def counted(table, private):
    return private[0].counted(*table)


def test_the_width_of_all_trees_is_counted_and_not_estimated(table, private, counted, exact):
    found = disagreement_decomposition(private[1], table[0], reference=counted, confidence=SURE)
    width = found.width
    assert width.value == pytest.approx(exact["width"], abs=1e-12)
    assert width.low == width.value == width.high
    for name in ("total", "noise"):
        estimate = getattr(found, name)
        assert estimate.low <= exact[name] <= estimate.high
    assert found.counted and found.n_reference == counted.size(PSI) and found.cross_check is None
    assert f"that of all {counted.size(PSI):,} trees" in str(found)
    drawn = disagreement_decomposition(
        private[1], table[0], reference=counted.draw(60, PSI, random_state=1)
    )
    assert not drawn.counted and drawn.width.high - drawn.width.low > 0.01


def test_groups_and_people_have_their_own_counted_width(table, private, counted, reference):
    X, groups = table[0], table[0][:, 0]
    found = disagreement_decomposition(private[1], X, reference=counted, groups=groups)
    people = decomposition_by_person(private[1], X, reference=counted)
    beside = decomposition_by_person(private[1], X, reference=reference)
    assert people["width"].to_numpy() == pytest.approx(beside["width"].to_numpy(), abs=0.04)
    for name in ("total", "width", "noise"):
        assert people[name].mean() == pytest.approx(getattr(found, name).value)
    for group in (0, 1):
        of_group = people["width"][groups == group].mean()
        assert found.groups.loc[group, "width"] == pytest.approx(of_group)
        assert found.groups.loc[group, "width_high"] == pytest.approx(of_group)


def test_a_flat_law_is_held_against_the_counted_width(table):
    clf, models = fitted(table, epsilon=60.0, hit_rate=0.0)
    counted = clf.counted(*table)
    found = disagreement_decomposition(models, table[0], reference=counted)
    assert found.parts["value"].iloc[0] == found.width.value
    assert abs(found.cross_check) < 4  # the draws' own width, in standard errors
    half = disagreement_decomposition(models, table[0], reference=counted, measure="score_variance")
    assert half.width.value == pytest.approx(found.width.value / 2)


def test_draws_inside_are_not_taken_to_be_uniform_where_they_are_not(table, private, exact):
    """The control: their own disagreement is another number than the set's."""
    labels, hit = private[1].labels(table[0]), private[1].excess <= PSI
    naive = disagreement_decomposition(labels, inside=hit, confidence=SURE).width
    assert not naive.low <= exact["width"] <= naive.high


def test_scores_of_two_classes_vary_half_as_much(table, private, reference):
    X = table[0]
    half = disagreement_decomposition(private[1], X, reference=reference, measure="score_variance")
    whole = disagreement_decomposition(private[1], X, reference=reference)
    assert half.width.value == pytest.approx(whole.width.value / 2)


def test_a_flat_law_needs_no_reference(table):
    _, models = fitted(table, epsilon=60.0, hit_rate=0.0)
    assert models.plan.law_psi == models.psi
    found = disagreement_decomposition(models, table[0])
    inside = models.labels(table[0])[models.excess <= models.psi]
    chance, many = inside.mean(axis=0), len(inside)
    pairs = (2 * chance * (1 - chance) * many / (many - 1)).mean()
    assert found.width.value == pytest.approx(pairs) and found.guaranteed


def test_held_against_the_laws_own_threshold_no_reference_is_needed(table, private):
    models = private[1]
    with pytest.raises(
        ValueError, match=r"only up to an excess loss of s = .*counted\(X, y\), or uniform"
    ):
        disagreement_decomposition(models, table[0])
    narrower = models.rethreshold(models.plan.law_psi)
    found = disagreement_decomposition(narrower, table[0])
    assert found.hit_rate.value < models.hit_rate and found.width.value < found.total.value


def test_person_by_person_the_means_are_the_same(table, private, reference):
    X = pd.DataFrame(table[0], columns=["x0", "x1", "x2"])
    people = decomposition_by_person(private[1], X, reference=reference)
    whole = disagreement_decomposition(private[1], X, reference=reference)
    for name in ("total", "width", "noise"):
        assert people[name].mean() == pytest.approx(getattr(whole, name).value)


def test_questions_about_numbers_have_a_reference_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 80, 300), "owns": rng.integers(0, 2, 300)})
    y = np.where(X["age"] > 40, "old", "young")
    asked = {"thresholds": {"age": [30, 40, 60]}, "max_leaves": 3, "epsilon": 40.0}
    clf = RashomonTreeClassifier(**asked, n_draws=30, hit_rate=0.5, random_state=0).fit(X, y)
    counted = clf.counted(X, y)
    uniform = counted.draw(200, clf.psi, random_state=0)
    assert uniform.classes == clf.rashomon_set_.classes == ("old", "young")
    assert uniform.least == clf.rashomon_set_.least
    found = disagreement_decomposition(clf.rashomon_set_, X, reference=uniform)
    assert found.n_reference == 200 and (uniform.labels(X) == (y == "young")).mean() > 0.95


def test_what_cannot_answer_is_refused_in_words(table, private, reference, tmp_path):
    clf, models = private
    X, y = table
    wider = RashomonTreeClassifier(max_leaves=4, leaf_penalty=PENALTY).counted(X, y)
    linear = RashomonClassifier(n_draws=3, epsilon=80.0, row_norm=2.0).fit(X, y).rashomon_set_
    reference.save(tmp_path / "a.npz")
    assert disagreement_decomposition(
        models, X, reference=CuratorSet.load(tmp_path / "a.npz")
    ).n_reference
    cases = [
        (models, models, "reference must be a RashomonSet .*CountedTrees.draw"),
        (models, linear, "reference must be"),
        (models, wider.draw(200, PSI, random_state=0), "have more leaves"),
        (models, wider, "leaves, depth or questions differ"),
        (
            models,
            RashomonTreeClassifier(max_leaves=3).counted(X, y),
            f"its leaf_penalty is 0.005, the draws' {PENALTY:g}; its least is",
        ),
        (linear, clf.counted(X, y), "counted trees require drawn trees"),
        (models, clf.counted(X, y).draw(9, 0.1, random_state=0), "its psi is 0.1"),
        (models.inside(), reference, "must be all draws of a fit"),
        (replace(models, planned=None), None, "the law of these trees is unknown"),
        (replace(models, independent=False), reference, "or of RashomonTreeClassifier"),
        (linear, reference, "another set of models"),
    ]
    for given, beside, message in cases:
        with pytest.raises(ValueError, match=message):
            disagreement_decomposition(given, X, reference=beside)
    with pytest.raises(ValueError, match="fit again with the larger epsilon"):
        noise_by_budget(models, X, 60.0)
    with pytest.raises(CuratorOnlyError, match="not available for a release"):
        disagreement_decomposition(models.release(), X)


def test_counted_trees_with_other_costs_are_named(table):
    settings = {"max_leaves": 3, "thresholds": [0.5], "classes": [0, 1]}
    clf = RashomonTreeClassifier(**settings, epsilon=60.0, n_draws=5, costs=[[0, 2], [5, 0]])
    drawn = clf.fit(*table).rashomon_set_
    other = RashomonTreeClassifier(**settings).counted(*table)
    with pytest.raises(ValueError, match="its costs differ"):
        disagreement_decomposition(drawn, table[0], reference=other)
