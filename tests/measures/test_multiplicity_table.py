"""The table of measures over a Rashomon set."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import multiplicity
from rashomon_explorer.measures.multiplicity import MEASURES, multiplicity_table

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (80, 3))
Y = (X[:, 0] + 0.3 * RNG.standard_normal(80) > 0).astype(int)


@pytest.fixture(scope="module")
def models():
    settings = {"epsilon": 160.0, "psi": 0.05, "radius": 4.0, "mechanism": "exact"}
    found = RashomonClassifier(n_draws=30, **settings, random_state=0).fit(X, Y).rashomon_set_
    assert 0.2 < found.hit_rate < 0.9
    return found


def test_the_table_counts_draws_inside_only(models):
    inside = models.losses <= models.minimum.value + models.psi
    labels, best = models.labels(X), (models.best_scores(X) > 0.5).astype(int)
    table = multiplicity_table(models, X, tolerance=0.1).set_index("measure")["value"]
    assert table["ambiguity"] == multiplicity.ambiguity(labels[inside], best)
    assert table["disagreement"] == pytest.approx(multiplicity.disagreement(labels[inside]))
    width = multiplicity.range_width(models.scores(X)[inside])
    assert table["range_width"] == pytest.approx(width)
    everyone = multiplicity_table(models, X, tolerance=0.1, inside_only=False)
    every = everyone.set_index("measure")["value"]
    assert every["disagreement"] == pytest.approx(multiplicity.disagreement(labels))
    assert every["disagreement"] > table["disagreement"]  # the mechanism's noise, not the set's
    assert every["range_width"] > table["range_width"]
    assert set(table.index) == set(MEASURES)


def test_the_table_by_threshold_and_group(models):
    groups = pd.Categorical(np.where(X[:, 1] > 0, "a", "b"), categories=["a", "b", "c"])
    table = multiplicity_table(
        models, X, psi=[0.05, 0.04], groups=groups, measures=["obscurity", "range_width"]
    )
    assert len(table) == 2 * 4 * 2
    assert table.loc[table["group"] == "c", "value"].isna().all()
    best = (models.best_scores(X) > 0.5).astype(int)
    one = table.query("psi == 0.04 and group == 'a' and measure == 'obscurity'").iloc[0]
    chosen = models.labels(X)[models.excess <= 0.04][:, groups == "a"]
    assert one["value"] == pytest.approx((chosen != best[groups == "a"]).mean())
    assert (one["models"], one["rows"]) == (len(chosen), (groups == "a").sum())
    kinds = dict(zip(table["measure"], table["sampled"], strict=True))
    assert kinds == {"obscurity": "estimate", "range_width": "lower bound"}
    assert table.attrs["view"] == "Curator: computed from private rows, not private"


def test_a_draw_on_the_very_edge_is_inside(models):
    """(L* + ψ) − L* may round to more than ψ: the sampler's comparison decides."""
    edge = models.minimum.value + models.psi
    two = replace(models, coef=models.coef[:2], losses=np.full(2, edge))
    assert multiplicity_table(two, X, measures=["pattern_count"])["models"].tolist() == [2]
    beyond = replace(two, losses=np.full(2, np.nextafter(edge, 1.0)))
    with pytest.raises(ValueError, match="none of the 2 draws lies in the Rashomon set"):
        multiplicity_table(beyond, X, measures=["pattern_count"])


def test_a_release_does_not_know_which_draws_are_inside(models):
    released = models.release()
    with pytest.raises(CuratorOnlyError, match="use inside_only=False"):
        multiplicity_table(released, X)
    table = multiplicity_table(released, X, inside_only=False, measures=["disagreement"])
    assert table["value"][0] == pytest.approx(multiplicity.disagreement(models.labels(X)))
    assert table["sampled"].tolist() == ["all draws"]
    assert "outside the Rashomon set included" in table.attrs["view"]
    assert math.isnan(table["psi"][0])


def test_three_classes_have_every_measure():
    y = np.digitize(X[:, 0], [-0.15, 0.15])
    found = RashomonClassifier(n_draws=4, epsilon=400.0, psi=0.05, random_state=0).fit(X, y)
    models = found.rashomon_set_
    table = multiplicity_table(models, X[:30], tolerance=0.1).set_index("measure")["value"]
    inside = models.inside()
    labels, scores, best = inside.labels(X[:30]), inside.scores(X[:30]), models.best_scores(X[:30])
    assert len(inside) > 1
    assert table["ambiguity"] == multiplicity.ambiguity(labels, best.argmax(axis=1))
    capacity = multiplicity.rashomon_capacity(scores).mean()
    assert table["rashomon_capacity"] == pytest.approx(capacity, abs=1e-8)
    far = np.abs(scores - best).max(axis=2) >= 0.1
    assert table["delta_ambiguity"] == far.any(axis=0).mean()
