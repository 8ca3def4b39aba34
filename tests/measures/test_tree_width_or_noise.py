"""Width or noise of private trees: against the whole class listed, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import disagreement_decomposition as decompose
from rashomon_explorer.mechanisms.sparse_trees import energy_cap
from tests.measures.test_decomposition import decompose as decompose_draws
from tests.trees.listed import errors_of, leaves_of, whole_class

N, PENALTY, PSI = 90, 0.01, 0.205
SURE = 0.9999


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
def exact(table, models):
    """Disagreement of the law that is drawn from, and of the uniform one, over all trees."""
    X, y = table
    planned, trees = models.plan, whole_class(3, 3)
    losses = np.array([errors_of(tree, X, y) / N + PENALTY * leaves_of(tree) for tree in trees])
    labels = np.array([models.models.__class__((tree,), 2).labels(X)[0] for tree in trees])
    excess = losses - losses.min()
    energy = planned.beta * np.maximum(excess - planned.law_psi, 0)
    law = np.exp(-np.minimum(energy, energy_cap(planned.request.log_size)))
    chances = [weights @ labels / weights.sum() for weights in (law, (excess <= PSI) * 1.0)]
    total, width = (float((2 * chance * (1 - chance)).mean()) for chance in chances)
    return {"total": total, "width": width, "noise": total - width}


@pytest.mark.parametrize("measure", ["disagreement", "score_variance"])
def test_the_width_of_all_trees_is_counted_and_not_estimated(
    table, models, counted, exact, measure
):
    X, groups, half = table[0], table[0][:, 0], 1 if measure == "disagreement" else 2
    split = decompose(models, X, reference=counted, groups=groups, measure=measure, confidence=SURE)
    width = split.width
    assert width.low == width.value == width.high == pytest.approx(exact["width"] / half)
    for name in ("total", "noise"):
        estimate = getattr(split, name)
        assert estimate.low <= exact[name] / half <= estimate.high < estimate.low + 0.1
    assert exact["noise"] > 0.01 and split.n_counted == counted.size(PSI)
    assert f"that of all {counted.size(PSI):,} trees" in str(split)
    for group in (0, 1):
        ends = split.table.loc[group, ["width_low", "width", "width_high"]]
        assert ends.nunique() == 1
    sizes = split.table["rows"].iloc[1:]
    assert np.average(split.table["width"].iloc[1:], weights=sizes) == pytest.approx(width.value)
    # The control: draws inside are not taken to be uniform where they are not.
    hits = models.excess <= PSI
    values = models.labels(X) if half == 1 else models.scores(X)
    naive = decompose_draws(values, inside=hits, measure=measure, confidence=SURE).width
    assert not naive.low <= exact["width"] / half <= naive.high


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
    exact = decompose(models, table[0], reference=clf.counted(*table), confidence=SURE).width
    estimate = decompose(models, table[0], confidence=SURE).width
    assert estimate.low < exact.value < estimate.high


def test_held_against_the_laws_own_threshold_no_reference_is_needed(table, models):
    words = r"only up to an excess loss of s = .*counted\(X, y\), or decompose"
    with pytest.raises(ValueError, match=words):
        decompose(models, table[0])
    narrower = models.rethreshold(models.plan.law_psi)
    found = decompose(narrower, table[0])
    assert found.hit_rate.value < models.hit_rate and found.width.value < found.total.value


def test_references_that_cannot_answer_are_refused(table, models, counted):
    X, y = table
    wider = RashomonTreeClassifier(max_leaves=4, leaf_penalty=PENALTY).counted(X, y)
    other = RashomonTreeClassifier(max_leaves=3).counted(X, y)
    linear = RashomonClassifier(n_draws=3, epsilon=80.0, row_norm=2.0).fit(X, y).rashomon_set_
    penalties = f"its leaf_penalty is 0.005, the draws' {PENALTY:g}; its least is"
    for drawn, beside, message in (
        (models, models, "must be all trees of the class"),
        (models, counted.draw(50, PSI, random_state=0), "must be all trees of the class"),
        (models, wider, "leaves, depth or questions differ"),
        (models, other, penalties),
        (models.inside(), counted, "must be all draws of a fit"),
        (replace(models, planned=None), None, "the law of these trees is unknown"),
        (replace(models, independent=False), counted, "depend on each other"),
        (linear, counted, "the class of drawn trees"),
    ):
        with pytest.raises(ValueError, match=message):
            decompose(drawn, X, reference=beside)
    with pytest.raises(CuratorOnlyError, match="not available for a release"):
        decompose(models.release(), X)
    settings = {"max_leaves": 3, "thresholds": [0.5], "classes": [0, 1]}
    clf = RashomonTreeClassifier(**settings, epsilon=60.0, n_draws=5, costs=[[0, 2], [5, 0]])
    with pytest.raises(ValueError, match="its costs differ"):
        costless = RashomonTreeClassifier(**settings).counted(X, y)
        decompose(clf.fit(X, y).rashomon_set_, X, reference=costless)
