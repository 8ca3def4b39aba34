"""The table of measures over a Rashomon set."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import (
    ambiguity,
    disagreement,
    multiplicity_table,
    rashomon_capacity,
)
from rashomon_explorer.measures.multiplicity import MEASURES, range_width
from rashomon_explorer.sets import RashomonSet

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (80, 3))
Y = (X[:, 0] + 0.3 * RNG.standard_normal(80) > 0).astype(int)


@pytest.fixture(scope="module")
def models() -> RashomonSet:
    found = RashomonClassifier(
        n_draws=30, epsilon=160.0, psi=0.05, radius=4.0, mechanism="exact", random_state=0
    ).fit(X, Y)
    assert 0.2 < found.rashomon_set_.hit_rate < 0.9
    return found.rashomon_set_


def test_the_table_counts_draws_inside_only(models: RashomonSet) -> None:
    inside = models.losses <= models.minimum.value + models.psi
    labels, best = models.labels(X), (models.best_scores(X) > 0.5).astype(int)
    table = multiplicity_table(models, X, tolerance=0.1).set_index("measure")["value"]
    assert table["ambiguity"] == ambiguity(labels[inside], best)
    assert table["disagreement"] == pytest.approx(disagreement(labels[inside]))
    assert table["range_width"] == pytest.approx(range_width(models.scores(X)[inside]))
    everyone = multiplicity_table(models, X, tolerance=0.1, inside_only=False)
    outside = everyone.set_index("measure")["value"]
    assert outside["disagreement"] == pytest.approx(disagreement(labels))
    assert outside["disagreement"] > table["disagreement"]  # the mechanism's noise, not the set's
    assert outside["range_width"] > table["range_width"]
    assert set(table.index) == set(MEASURES)


def test_the_table_by_threshold_and_group(models: RashomonSet) -> None:
    groups = pd.Categorical(np.where(X[:, 1] > 0, "a", "b"), categories=["a", "b", "c"])
    table = multiplicity_table(
        models, X, psi=[0.05, 0.04], groups=groups, measures=["obscurity", "range_width"]
    )
    assert len(table) == 2 * 4 * 2
    assert list(table["group"].unique()) == ["all rows", "a", "b", "c"]
    assert table.loc[table["group"] == "c", "value"].isna().all()
    best = (models.best_scores(X) > 0.5).astype(int)
    one = table.query("psi == 0.04 and group == 'a' and measure == 'obscurity'").iloc[0]
    chosen = models.labels(X)[models.excess <= 0.04][:, groups == "a"]
    assert one["value"] == pytest.approx((chosen != best[groups == "a"]).mean())
    assert (one["models"], one["rows"]) == (len(chosen), (groups == "a").sum())
    kinds = dict(zip(table["measure"], table["sampled"], strict=True))
    assert kinds == {"obscurity": "estimate", "range_width": "lower bound"}
    assert table.attrs["view"] == "Curator: computed from private rows, not private"


def test_a_draw_on_the_very_edge_is_inside(models: RashomonSet) -> None:
    """(L* + ψ) − L* may round to more than ψ: the sampler's comparison decides."""
    least, psi = models.minimum.value, models.psi
    edge = replace(models, coef=models.coef[:2], losses=np.full(2, least + psi))
    assert multiplicity_table(edge, X, measures=["pattern_count"])["models"].tolist() == [2]
    beyond = np.nextafter(least + psi, 1.0)
    with pytest.raises(ValueError, match="none of the 2 draws lies in the Rashomon set"):
        multiplicity_table(replace(edge, losses=np.full(2, beyond)), X, measures=["pattern_count"])


def test_a_release_does_not_know_which_draws_are_inside(models: RashomonSet) -> None:
    released = models.release()
    with pytest.raises(CuratorOnlyError, match="use inside_only=False"):
        multiplicity_table(released, X)
    table = multiplicity_table(released, X, inside_only=False, measures=["disagreement"])
    assert table["value"][0] == pytest.approx(disagreement(models.labels(X)))
    assert table["sampled"].tolist() == ["all draws"]
    assert "outside the Rashomon set included" in table.attrs["view"]
    assert math.isnan(table["psi"][0])


def test_three_classes_have_every_measure() -> None:
    y = np.digitize(X[:, 0], [-0.15, 0.15])
    found = RashomonClassifier(n_draws=6, epsilon=400.0, psi=0.05, random_state=0).fit(X, y)
    models = found.rashomon_set_
    table = multiplicity_table(models, X, tolerance=0.1).set_index("measure")["value"]
    inside = models.losses <= models.minimum.value + models.psi
    best = models.best_scores(X).argmax(axis=1)
    assert inside.sum() > 1
    assert table["ambiguity"] == ambiguity(models.labels(X)[inside], best)
    capacity = rashomon_capacity(models.scores(X)[inside]).mean()
    assert table["rashomon_capacity"] == pytest.approx(capacity, abs=1e-8)
    far = np.abs(models.scores(X)[inside] - models.best_scores(X)).max(axis=2) >= 0.1
    assert table["delta_ambiguity"] == far.any(axis=0).mean()


def test_a_regression_has_the_measures_of_scores() -> None:
    model = RashomonRegressor(n_draws=5, epsilon=80.0, target_bounds=(0, 10), random_state=0)
    found = model.fit(X, np.clip(5 + 8 * X[:, 0], 0, 10)).rashomon_set_
    table = multiplicity_table(found, X, tolerance=0.5)
    assert set(table["measure"]) == {name for name in MEASURES if of_numbers(name)}
    with pytest.raises(TypeError, match="ambiguity needs classes: for a regression use"):
        multiplicity_table(found, X, measures=["ambiguity"])


def of_numbers(name: str) -> bool:
    return MEASURES[name].of == "scores"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"psi": 0.06}, ValueError, "psi must be between 0 and 0.05, the threshold of the draws"),
        ({"psi": -1.0}, ValueError, "psi must be between 0 and 0.05"),
        ({"psi": [math.nan]}, ValueError, "psi must be between 0 and 0.05"),
        ({"psi": 0.01, "inside_only": False}, ValueError, "omit psi for all draws"),
        ({"measures": ["volume"]}, ValueError, "measure must be one of"),
        ({"measures": []}, ValueError, "at least one"),
        ({"measures": "ambiguity"}, ValueError, "measures must be a list"),
        ({"measures": ["delta_ambiguity"]}, TypeError, "needs tolerance="),
        ({"groups": ["a"]}, ValueError, "one group for each of 80 rows"),
        ({"groups": ["all rows"] * 80}, ValueError, "must not contain 'all rows'"),
        ({"baseline": [0.5]}, ValueError, r"baseline must hold scores of shape \(80,\)"),
    ],
)
def test_a_table_of_nonsense_is_refused(
    models: RashomonSet, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        multiplicity_table(models, X, **change)
