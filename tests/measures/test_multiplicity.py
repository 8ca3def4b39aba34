"""Measures of multiplicity: one contract for all of the registry, and what is special to one."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import multiplicity
from rashomon_explorer.measures.multiplicity import MEASURES, ambiguity, disagreement, discrepancy
from rashomon_explorer.measures.multiplicity.table import multiplicity_table

LABELS = arrays(
    np.int_, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.integers(0, 2)
)
SCORES = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=3, max_side=6),
    elements=st.integers(0, 8).map(lambda k: k / 8),
)
RNG = np.random.default_rng(0)
MANY = RNG.random((40, 60))
EXCESS = RNG.random(40).round(2) + 0.01
PSI = np.array([0.5, 0.0, 0.07, 0.5, 2.0, *RNG.random(2)])
GROUPS = RNG.choice(["old", "young"], 60)


def flips(labels):
    return labels != labels[0]


def moves(scores):
    change = np.abs(scores - scores[0])
    return (change.max(axis=2) if change.ndim == 3 else change) >= 0.25


def mean_of_pairs(labels, function):
    known = [x for pair in itertools.combinations(labels, 2) if (x := function(*pair)) is not None]
    return np.mean(known) if known else math.nan


def agreeing(labels):
    pairs = [a == b for a, b in itertools.combinations(labels, 2)]
    return np.mean(pairs, axis=0) if pairs else np.full(labels.shape[1], np.nan)


def kappa(a, b):
    agree, chance = np.mean(a == b), sum(np.mean(a == c) * np.mean(b == c) for c in range(3))
    return None if chance == 1 else (agree - chance) / (1 - chance)


def patterns(labels):
    return np.unique(labels, axis=0)


def over_classes(values, merge):
    return merge(values, axis=1) if values.ndim == 2 else values


def variances(scores):
    if len(scores) == 1:
        return np.full(scores.shape[1], np.nan)
    return over_classes(scores.var(axis=0, ddof=1), np.sum)


DEFINITIONS = {
    "ambiguity": lambda labels: flips(labels).any(axis=0).mean(),
    "discrepancy": lambda labels: flips(labels).mean(axis=1).max(),
    "any_pair_discrepancy": lambda labels: max(
        (a != b).mean() for a, b in itertools.product(labels, repeat=2)
    ),
    "obscurity": lambda labels: flips(labels).mean(),
    "disagreement": lambda labels: mean_of_pairs(labels, lambda a, b: (a != b).mean()),
    "self_consistency": lambda labels: agreeing(labels).mean(),
    "abstention": lambda labels: (
        math.nan if len(labels) == 1 else (agreeing(labels) < 0.75 - 1e-9).mean()
    ),
    "cohen_kappa": lambda labels: mean_of_pairs(labels, kappa),
    "pattern_count": lambda labels: len(patterns(labels)),
    "pattern_diversity": lambda labels: np.mean(
        [(a != b).mean() for a, b in itertools.product(patterns(labels), repeat=2)]
    ),
    "delta_ambiguity": lambda scores: moves(scores).any(axis=0).mean(),
    "delta_discrepancy": lambda scores: moves(scores).mean(axis=1).max(),
    "delta_obscurity": lambda scores: moves(scores).mean(),
    "range_width": lambda scores: over_classes(np.ptp(scores, axis=0), np.max).mean(),
    "score_variance": lambda scores: variances(scores).mean(),
    "score_std": lambda scores: np.sqrt(variances(scores)).mean(),
}


@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"rashomon_capacity"}))
@settings(max_examples=15)
@given(data=st.data())
def test_a_measure_is_its_definition(name, data):
    values = data.draw(LABELS if MEASURES[name].of == "labels" else SCORES)
    options = {"tolerance": 0.25} if "tolerance" in MEASURES[name].options else {}
    expected = pytest.approx(DEFINITIONS[name](values), nan_ok=True, abs=1e-12)
    assert MEASURES[name](values, **options) == expected
    function = getattr(multiplicity, name, lambda labels: discrepancy(labels, "any pair"))
    if len(values) > 1 or name != "abstention":  # a mask of one model is refused
        by_row = np.asarray(function(values, **options))
        assert over_classes(by_row, np.sum if name == "score_variance" else _root_sum).mean() == (
            expected
        )
    copies = np.repeat(values[:1], 4, axis=0)
    assert DEFINITIONS[name](copies) == pytest.approx(
        MEASURES[name](copies, **options), nan_ok=True
    )


def _root_sum(deviations, axis):
    return np.sqrt((deviations**2).sum(axis=axis))


def of(name):
    """Values that a measure asks for, and options it needs."""
    values = np.digitize(MANY, [0.2, 0.9]) if MEASURES[name].of == "labels" else MANY
    return values, {"tolerance": 0.3} if "tolerance" in MEASURES[name].options else {}


@pytest.mark.parametrize("name", MEASURES)
def test_orders_do_not_matter_and_a_baseline_is_an_index_or_predictions(name):
    values, options = of(name)
    rows, models, before = RNG.permutation(60), RNG.permutation(40), values.copy()
    value = MEASURES[name](values, **options)
    assert MEASURES[name](values[:, rows], **options) == pytest.approx(value)
    if "baseline" in MEASURES[name].options:
        for place in (0, -1, 39, np.int64(0)):
            by_place = MEASURES[name](values, baseline=place, **options)
            assert MEASURES[name](values, baseline=values[place].tolist(), **options) == by_place
        options["baseline"] = values[0]
    assert MEASURES[name](values[models], **options) == pytest.approx(value)
    assert np.array_equal(values, before)  # arrays given are left alone


@pytest.mark.parametrize("name", MEASURES)
def test_a_table_is_the_measure_of_each_nested_set_and_group_and_extremes_never_fall(name):
    values, options = of(name)
    given = {"labels": lambda X: values, "scores": lambda X: values, "excess": EXCESS, "psi": 2.0}
    models = SimpleNamespace(task="classification", n_draws=40, n_classes=3, **given)
    groups = pd.Categorical(GROUPS, categories=["old", "young", "nobody"])
    asked = {"measures": [name], "baseline": MANY[7], **options}
    table = multiplicity_table(models, psi=PSI, groups=groups, **asked)
    reference = MANY[7] if MEASURES[name].of == "scores" else (MANY[7] > 0.5).astype(int)
    for line in table.itertuples():
        inside, rows = EXCESS <= line.psi, (GROUPS == line.group) | (line.group == "all rows")
        own = {"baseline": reference[rows]} if "baseline" in MEASURES[name].options else {}
        expected = math.nan
        if inside.any() and rows.any():
            expected = MEASURES[name](values[inside][:, rows], **options, **own)
        assert (line.models, line.rows) == (inside.sum(), rows.sum())
        assert line.value == pytest.approx(expected, nan_ok=True)
    if MEASURES[name].sampled == "lower bound":
        rising = table[table["group"] == "all rows"].sort_values("psi")["value"].dropna()
        assert (np.diff(rising) >= 0).all() and rising.iloc[-1] > 0


@pytest.mark.parametrize(("ones", "models"), [(0, 9), (1, 8), (4, 8), (13, 101)])
def test_two_classes_have_the_published_self_consistency(ones, models):
    labels = (np.arange(models) < ones).astype(int)[:, None]
    expected = 1 - 2 * ones * (models - ones) / (models * (models - 1))
    assert multiplicity.self_consistency(labels)[0] == pytest.approx(expected)
    assert multiplicity.row_disagreement(labels)[0] == pytest.approx(1 - expected)
    assert multiplicity.abstention(labels)[0] == (expected < 0.75)


@settings(max_examples=15)
@given(LABELS)
def test_what_the_labels_are_called_does_not_matter(labels):
    called = np.array(["no", "yes", "perhaps"])[labels]
    for other in (called, called.astype(object), 2 * labels - 1, labels * 1000.5, labels + 300):
        for name in ("ambiguity", "disagreement", "cohen_kappa", "pattern_diversity"):
            assert MEASURES[name](other) == pytest.approx(MEASURES[name](labels), nan_ok=True)
        assert discrepancy(other, other[-1]) == discrepancy(labels, labels[-1])


def test_a_baseline_may_give_a_class_that_no_model_gives():
    assert ambiguity([["a", "b"], ["a", "a"]], ["c", "b"]) == 1.0
    assert discrepancy([[0, 1], [1, 1]], [7, 1]) == 0.5
    assert multiplicity.obscurity([[True, False]], [True, True]) == 0.5


@pytest.mark.parametrize("label", [2**62, -(2**63), 1e308, -1e308, 254, 255, 256, -1, 0.5])
def test_labels_may_be_any_numbers(label):
    labels = np.array([[label, 0], [0, 0], [label, label]])
    assert disagreement(labels) == disagreement(-labels) == pytest.approx(2 / 3)
    assert ambiguity(labels, [label, label]) == 1.0


def test_many_models_and_rows_go_through_many_blocks():
    """More models than one byte counts, and rows that are no whole number of words."""
    labels = np.random.default_rng(0).integers(0, 3, (520, 1003))
    counts = np.stack([(labels == c).sum(axis=0) for c in range(3)])
    agree = (counts * (counts - 1)).sum(axis=0) / (520 * 519)
    assert np.allclose(multiplicity.self_consistency(labels), agree)
    distances = [(labels[:i] != labels[i]).mean(axis=1).max() for i in range(1, 520)]
    assert discrepancy(labels, "any pair") == max(distances)
    assert discrepancy(labels) == (labels != labels[0]).mean(axis=1).max()


def test_a_variance_far_from_zero_does_not_cancel():
    """A thousand models in many blocks, about 1e8: squares about 0 would lose every digit."""
    scores = 1e8 + np.random.default_rng(0).standard_normal((1000, 7))
    expected = scores.astype(np.longdouble).var(axis=0, ddof=1).astype(float)
    assert np.allclose(multiplicity.score_variance(scores), expected, rtol=1e-7)
    assert not np.allclose((scores**2).mean(0) - scores.mean(0) ** 2, expected, rtol=0.1)
    one = multiplicity.score_variance(scores[:1], ddof=0)
    assert (one == 0).all() and np.isnan(multiplicity.score_variance(scores[:1])).all()


def test_decisions_need_a_lead_of_so_many_deviations():
    decide = multiplicity.decide_or_abstain
    scores = np.array([[0.95, 0.55, 0.1, 0.5], [0.85, 0.65, 0.3, 0.5], [0.9, 0.45, 0.2, 0.5]])
    lead, spread = np.abs(2 * scores.mean(axis=0) - 1), 2 * scores.std(axis=0, ddof=1)
    assert ((lead > 2 * spread) == [True, False, True, False]).all()
    assert decide(scores).tolist() == [1, -1, 0, -1]  # a tie is never decided
    assert decide(scores, deviations=0.0).tolist() == [1, 1, 0, -1]
    assert decide(np.stack([1 - scores, scores], axis=2)).tolist() == [1, -1, 0, -1]
    steady, torn = [[0.6, 0.3, 0.1], [0.62, 0.28, 0.1]], [[0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]
    assert decide(np.stack([steady, torn], axis=1)).tolist() == [0, -1]  # the first two of three


# The table of measures over a Rashomon set.
ROWS = RNG.uniform(-0.5, 0.5, (80, 3))
TARGETS = (ROWS[:, 0] + 0.3 * RNG.standard_normal(80) > 0).astype(int)


@pytest.fixture(scope="module")
def models():
    settings = {"epsilon": 160.0, "psi": 0.05, "radius": 4.0, "mechanism": "exact"}
    explorer = RashomonClassifier(n_draws=30, **settings, random_state=0)
    found = explorer.fit(ROWS, TARGETS).rashomon_set_
    assert 0.2 < found.hit_rate < 0.9
    return found


def test_the_table_counts_draws_inside_only(models):
    inside = models.losses <= models.minimum.value + models.psi
    labels, best = models.labels(ROWS), (models.best_scores(ROWS) > 0.5).astype(int)
    table = multiplicity_table(models, ROWS, tolerance=0.1).set_index("measure")["value"]
    assert table["ambiguity"] == multiplicity.ambiguity(labels[inside], best)
    assert table["disagreement"] == pytest.approx(multiplicity.disagreement(labels[inside]))
    width = multiplicity.range_width(models.scores(ROWS)[inside])
    assert table["range_width"] == pytest.approx(width)
    everyone = multiplicity_table(models, ROWS, tolerance=0.1, inside_only=False)
    every = everyone.set_index("measure")["value"]
    assert every["disagreement"] == pytest.approx(multiplicity.disagreement(labels))
    assert every["disagreement"] > table["disagreement"]  # the mechanism's noise, not the set's
    assert every["range_width"] > table["range_width"]
    assert set(table.index) == set(MEASURES)


def test_the_table_by_threshold_and_group(models):
    groups = pd.Categorical(np.where(ROWS[:, 1] > 0, "a", "b"), categories=["a", "b", "c"])
    table = multiplicity_table(
        models, ROWS, psi=[0.05, 0.04], groups=groups, measures=["obscurity", "range_width"]
    )
    assert len(table) == 2 * 4 * 2
    assert table.loc[table["group"] == "c", "value"].isna().all()
    best = (models.best_scores(ROWS) > 0.5).astype(int)
    one = table.query("psi == 0.04 and group == 'a' and measure == 'obscurity'").iloc[0]
    chosen = models.labels(ROWS)[models.excess <= 0.04][:, groups == "a"]
    assert one["value"] == pytest.approx((chosen != best[groups == "a"]).mean())
    assert (one["models"], one["rows"]) == (len(chosen), (groups == "a").sum())
    kinds = dict(zip(table["measure"], table["sampled"], strict=True))
    assert kinds == {"obscurity": "estimate", "range_width": "lower bound"}
    assert table.attrs["view"] == "Curator: computed from private rows, not private"


def test_a_draw_on_the_very_edge_is_inside(models):
    """(L* + ψ) − L* may round to more than ψ: the sampler's comparison decides."""
    edge = models.minimum.value + models.psi
    two = replace(models, coef=models.coef[:2], losses=np.full(2, edge))
    assert multiplicity_table(two, ROWS, measures=["pattern_count"])["models"].tolist() == [2]
    beyond = replace(two, losses=np.full(2, np.nextafter(edge, 1.0)))
    with pytest.raises(ValueError, match="none of the 2 draws lies in the Rashomon set"):
        multiplicity_table(beyond, ROWS, measures=["pattern_count"])


def test_a_release_does_not_know_which_draws_are_inside(models):
    released = models.release()
    with pytest.raises(CuratorOnlyError, match="use inside_only=False"):
        multiplicity_table(released, ROWS)
    table = multiplicity_table(released, ROWS, inside_only=False, measures=["disagreement"])
    assert table["value"][0] == pytest.approx(multiplicity.disagreement(models.labels(ROWS)))
    assert table["sampled"].tolist() == ["all draws"]
    assert "outside the Rashomon set included" in table.attrs["view"]
    assert math.isnan(table["psi"][0])
