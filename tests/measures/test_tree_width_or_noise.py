"""Width or noise of private trees: against the whole class listed, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import decomposition_by_person as by_person
from rashomon_explorer.measures import disagreement_decomposition as decompose
from rashomon_explorer.measures import noise_by_budget
from rashomon_explorer.mechanisms.planning.trees import energy_cap
from rashomon_explorer.sets import CuratorSet
from tests.trees.listed import errors_of, leaves_of, whole_class

N, PENALTY, PSI = 90, 0.01, 0.205
SURE = 0.9999
PARTS = ("total", "width", "noise")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(N, 3))
    return X, np.where(rng.random(N) < 0.75, X[:, 0] | X[:, 1], rng.integers(0, 2, size=N))


SETTINGS = {"psi": PSI, "max_leaves": 3, "leaf_penalty": PENALTY, "n_draws": 300, "delta": 1e-6}


@pytest.fixture(scope="module")
def clf(table):
    """The law's threshold is below ψ, and about every fourth draw misses."""
    with pytest.warns(UserWarning):
        settings = {**SETTINGS, "epsilon": 12.0, "hit_rate": 0.06, "random_state": 0}
        clf = RashomonTreeClassifier(**settings).fit(*table)
    models = clf.rashomon_set_
    assert 0 < models.plan.law_psi < 0.9 * models.psi and 0.6 < models.hit_rate < 0.95
    return clf


@pytest.fixture(scope="module")
def models(clf):
    return clf.rashomon_set_


@pytest.fixture(scope="module")
def counted(table, clf):
    return clf.counted(*table)


@pytest.fixture(scope="module")
def reference(counted):
    return counted.draw(1500, PSI, random_state=1)


@pytest.fixture(scope="module")
def exact(table, models):
    """Disagreement of the law that is drawn from, and of the uniform one, over all trees."""
    X, y = table
    planned, trees = models.plan, whole_class(3, 3)
    losses = np.array([errors_of(tree, X, y) / N + PENALTY * leaves_of(tree) for tree in trees])
    labels = np.array([models.models.__class__((tree,), 2).labels(X)[0] for tree in trees])
    excess = losses - losses.min()
    energy = planned.beta * np.maximum(excess - planned.law_psi, 0)
    law = np.exp(-np.minimum(energy, energy_cap(planned.log_size)))
    chances = [weights @ labels / weights.sum() for weights in (law, (excess <= PSI) * 1.0)]
    total, width = (float((2 * chance * (1 - chance)).mean()) for chance in chances)
    return {"total": total, "width": width, "noise": total - width}


def test_it_is_what_all_trees_together_say(table, models, reference, exact):
    X = pd.DataFrame(table[0], columns=["x0", "x1", "x2"])
    found = decompose(models, X, reference=reference, confidence=SURE)
    for name in PARTS:
        estimate = getattr(found, name)
        assert estimate.low <= exact[name] <= estimate.high < estimate.low + 0.1
    assert exact["noise"] > 0.01 and found.n_reference == 1500
    assert found.cross_check is None  # draws inside are not alike: nothing to compare
    people = by_person(models, X, reference=reference)
    for name in PARTS:
        assert people[name].mean() == pytest.approx(getattr(found, name).value)
    half = decompose(models, X, reference=reference, measure="score_variance")
    assert half.width.value == pytest.approx(found.width.value / 2)
    # The control: draws inside are not taken to be uniform where they are not.
    hits = models.excess <= PSI
    naive = decompose(models.labels(X), inside=hits, confidence=SURE).width
    assert not naive.low <= exact["width"] <= naive.high


def test_the_width_of_all_trees_is_counted_and_not_estimated(table, models, counted, exact):
    X, groups = table[0], table[0][:, 0]
    found = decompose(models, X, reference=counted, groups=groups, confidence=SURE)
    width = found.width
    assert width.low == width.value == width.high == pytest.approx(exact["width"], abs=1e-12)
    for name in ("total", "noise"):
        assert getattr(found, name).low <= exact[name] <= getattr(found, name).high
    assert found.counted and found.n_reference == counted.size(PSI) and found.cross_check is None
    assert f"that of all {counted.size(PSI):,} trees" in str(found)
    drawn = decompose(models, X, reference=counted.draw(60, PSI, random_state=1))
    assert not drawn.counted and drawn.width.high - drawn.width.low > 0.01
    people = by_person(models, X, reference=counted)
    for name in PARTS:
        assert people[name].mean() == pytest.approx(getattr(found, name).value)
    for group in (0, 1):
        own = found.groups.loc[group, ["width", "width_high"]].tolist()
        assert own == pytest.approx([people["width"][groups == group].mean()] * 2)


def test_a_flat_law_needs_no_reference_and_is_held_against_the_counted_width(table):
    settings = {**SETTINGS, "epsilon": 60.0, "hit_rate": 0.0, "random_state": 0}
    clf = RashomonTreeClassifier(**settings).fit(*table)
    models = clf.rashomon_set_
    assert models.plan.law_psi == models.psi
    found = decompose(models, table[0])
    inside = models.labels(table[0])[models.excess <= models.psi]
    chance, many = inside.mean(axis=0), len(inside)
    pairs = (2 * chance * (1 - chance) * many / (many - 1)).mean()
    assert found.width.value == pytest.approx(pairs) and found.guaranteed
    exact = decompose(models, table[0], reference=clf.counted(*table))
    assert exact.parts["value"].iloc[0] == exact.width.value
    assert abs(exact.cross_check) < 4  # the draws' own width, in standard errors


def test_held_against_the_laws_own_threshold_no_reference_is_needed(table, models):
    words = r"only up to an excess loss of s = .*counted\(X, y\), or uniform"
    with pytest.raises(ValueError, match=words):
        decompose(models, table[0])
    narrower = models.rethreshold(models.plan.law_psi)
    found = decompose(narrower, table[0])
    assert found.hit_rate.value < models.hit_rate and found.width.value < found.total.value


def test_questions_about_numbers_have_a_reference_too():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 80, 300), "owns": rng.integers(0, 2, 300)})
    y = np.where(X["age"] > 40, "old", "young")
    settings = {"thresholds": {"age": [30, 40, 60]}, "max_leaves": 3, "epsilon": 40.0}
    clf = RashomonTreeClassifier(**settings, n_draws=30, hit_rate=0.5, random_state=0).fit(X, y)
    uniform = clf.counted(X, y).draw(200, clf.psi, random_state=0)
    assert uniform.classes == clf.rashomon_set_.classes == ("old", "young")
    assert uniform.least == clf.rashomon_set_.least
    assert decompose(clf.rashomon_set_, X, reference=uniform).n_reference == 200
    assert (uniform.labels(X) == (y == "young")).mean() > 0.95


def test_references_that_cannot_answer_are_refused(table, models, counted, tmp_path):
    X, y = table
    uniform = counted.draw(50, PSI, random_state=0)
    uniform.save(tmp_path / "a.npz")
    loaded = CuratorSet.load(tmp_path / "a.npz")
    assert decompose(models, X, reference=loaded).n_reference == 50
    wider = RashomonTreeClassifier(max_leaves=4, leaf_penalty=PENALTY).counted(X, y)
    other = RashomonTreeClassifier(max_leaves=3).counted(X, y)
    linear = RashomonClassifier(n_draws=3, epsilon=80.0, row_norm=2.0).fit(X, y).rashomon_set_
    penalties = f"its leaf_penalty is 0.005, the draws' {PENALTY:g}; its least is"
    for drawn, beside, message in (
        (models, models, "reference must be a RashomonSet .*CountedTrees.draw"),
        (models, linear, "reference must be"),
        (models, wider.draw(50, PSI, random_state=0), "have more leaves"),
        (models, wider, "leaves, depth or questions differ"),
        (models, other, penalties),
        (linear, counted, "counted trees require drawn trees"),
        (models, counted.draw(9, 0.1, random_state=0), "its psi is 0.1"),
        (models.inside(), uniform, "must be all draws of a fit"),
        (replace(models, planned=None), None, "the law of these trees is unknown"),
        (replace(models, independent=False), uniform, "or of RashomonTreeClassifier"),
        (linear, uniform, "another set of models"),
    ):
        with pytest.raises(ValueError, match=message):
            decompose(drawn, X, reference=beside)
    with pytest.raises(ValueError, match="fit again with the larger epsilon"):
        noise_by_budget(models, X, 60.0)
    with pytest.raises(CuratorOnlyError, match="not available for a release"):
        decompose(models.release(), X)
    settings = {"max_leaves": 3, "thresholds": [0.5], "classes": [0, 1]}
    clf = RashomonTreeClassifier(**settings, epsilon=60.0, n_draws=5, costs=[[0, 2], [5, 0]])
    with pytest.raises(ValueError, match="its costs differ"):
        costless = RashomonTreeClassifier(**settings).counted(X, y)
        decompose(clf.fit(X, y).rashomon_set_, X, reference=costless)
