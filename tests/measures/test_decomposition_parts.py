"""Intervals, references and sums over chunks that a decomposition is made of."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.measures import disagreement_decomposition
from rashomon_explorer.measures.decomposition import estimates, inputs
from rashomon_explorer.rows import chunk_rows

RNG = np.random.default_rng(4)
X = RNG.uniform(-0.6, 0.6, (80, 2))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(("hits", "n_draws"), [(7, 9), (0, 5), (40, 40), (3, 50)])
def test_the_interval_of_a_hit_rate_is_that_of_clopper_and_pearson(hits, n_draws):
    found = estimates.hit_interval(hits, n_draws, 0.95)
    exact = binomtest(hits, n_draws).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_a_pair_has_a_miss_unless_both_hit():
    layout = SimpleNamespace(hit=np.ones(10, dtype=bool), drawn=np.ones(10, dtype=bool))
    assert estimates._pairs_with_a_miss(layout, 0.9, 0.95) == pytest.approx(1 - 0.9**2)


def test_with_few_misses_two_statements_share_the_error(monkeypatch):
    asked = []
    pairs = estimates._pairs_with_a_miss
    monkeypatch.setattr(
        estimates,
        "_pairs_with_a_miss",
        lambda *given: (asked.append(given[-1]), pairs(*given))[1],
    )
    labels = RNG.integers(0, 2, (20, 30))
    disagreement_decomposition(labels, inside=[True] * 19 + [False], confidence=0.9)
    assert asked and set(asked) == {0.95}


def test_the_width_of_a_reference_is_of_its_models_inside():
    settings = {"psi": 0.05, "epsilon": 20.0, "n_draws": 60, "mechanism": "exact", "radius": 4.0}
    drawn, reference = (
        RashomonClassifier(**settings, ridge=0.0, random_state=seed).fit(X, Y).rashomon_set_
        for seed in (0, 1)
    )
    assert 0 < reference.hit_rate < 1
    found = inputs._reference(reference, drawn)
    assert found.n_draws == round(60 * reference.hit_rate)


def test_counted_trees_with_other_costs_are_named():
    rows = (X > 0).astype(int)
    settings = {"max_leaves": 3, "thresholds": [0.5], "classes": [0, 1]}
    clf = RashomonTreeClassifier(**settings, epsilon=60.0, n_draws=5, costs=[[0, 2], [5, 0]])
    drawn = clf.fit(rows, Y).rashomon_set_
    other = RashomonTreeClassifier(**settings).counted(rows, Y)
    with pytest.raises(ValueError, match="its costs differ"):
        disagreement_decomposition(drawn, rows, reference=other)


def test_a_row_without_a_group_is_refused_in_chunks_too():
    settings = {"psi": 0.05, "epsilon": 20.0, "n_draws": 20, "mechanism": "exact", "radius": 4.0}
    drawn = RashomonClassifier(**settings, ridge=0.0, random_state=0).fit(X, Y).rashomon_set_
    groups = np.array(["a", None] * 40, dtype=object)
    with pytest.raises(ValueError, match="groups has no group for row 1"):
        disagreement_decomposition(drawn, chunk_rows(X, labelled=False), groups=groups)
