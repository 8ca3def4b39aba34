"""Measures of multiplicity: one contract for all of the registry, and what is special to one."""

import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from rashomon_explorer.measures import multiplicity as rooms
from rashomon_explorer.measures import multiplicity_curve, multiplicity_table
from rashomon_explorer.measures.multiplicity import (
    MEASURES,
    abstention,
    ambiguity,
    by_group,
    cohen_kappa,
    decide_or_abstain,
    delta_ambiguity,
    delta_discrepancy,
    delta_obscurity,
    disagreement,
    discrepancy,
    linear_pattern_count,
    obscurity,
    pattern_count,
    pattern_diversity,
    pattern_ratio,
    range_width,
    rashomon_capacity,
    row_disagreement,
    score_variance,
    self_consistency,
    viable_prediction_range,
)
from rashomon_explorer.sets import from_predictions

Values = NDArray[Any]

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
EXCESS = RNG.random(40).round(2)
PSI = np.array([0.5, -0.1, 0.07, 0.5, 2.0, *RNG.random(6)])
GROUPS = RNG.choice(["old", "young"], 60)
LOWER_BOUNDS = [name for name, measure in MEASURES.items() if measure.sampled == "lower bound"]


def flips(labels: Values) -> Values:
    return np.array(
        [[label != first for label, first in zip(row, labels[0], strict=True)] for row in labels]
    )


def moves(scores: Values) -> Values:
    change = np.abs(scores - scores[0])
    return (change.max(axis=2) if change.ndim == 3 else change) >= 0.25


def mean_of_pairs(labels: Values, of: Callable[[Values, Values], float | None]) -> float:
    known = [x for a, b in itertools.combinations(labels, 2) if (x := of(a, b)) is not None]
    return float(np.mean(known)) if known else math.nan


def agreeing(labels: Values) -> Values:
    pairs = [a == b for a, b in itertools.combinations(labels, 2)]
    return np.mean(pairs, axis=0) if pairs else np.full(labels.shape[1], np.nan)


def kappa(a: Values, b: Values) -> float | None:
    agree, chance = np.mean(a == b), sum(np.mean(a == c) * np.mean(b == c) for c in range(3))
    return None if chance == 1 else (agree - chance) / (1 - chance)


def patterns(labels: Values) -> list[tuple[int, ...]]:
    return list({tuple(row) for row in labels.tolist()})


def distances(labels: Values) -> list[float]:
    every = itertools.product(patterns(labels), repeat=2)
    return [float(np.mean(np.array(a) != np.array(b))) for a, b in every]


def over_classes(values: Values, merge: Callable[..., Values]) -> Values:
    return merge(values, axis=1) if values.ndim == 2 else values


def variances(scores: Values) -> Values:
    if len(scores) == 1:
        return np.full(scores.shape[1], np.nan)
    return over_classes(scores.var(axis=0, ddof=1), np.sum)


DEFINITIONS: dict[str, Callable[[Values], Any]] = {
    "ambiguity": lambda labels: flips(labels).any(axis=0).mean(),
    "discrepancy": lambda labels: flips(labels).mean(axis=1).max(),
    "any_pair_discrepancy": lambda labels: max(discrepancy(labels, k) for k in range(len(labels))),
    "obscurity": lambda labels: flips(labels).mean(),
    "disagreement": lambda labels: mean_of_pairs(labels, lambda a, b: float((a != b).mean())),
    "self_consistency": lambda labels: agreeing(labels).mean(),
    "abstention": lambda labels: (
        math.nan if len(labels) == 1 else (agreeing(labels) < 0.75 - 1e-9).mean()
    ),
    "cohen_kappa": lambda labels: mean_of_pairs(labels, kappa),
    "pattern_count": lambda labels: len(patterns(labels)),
    "pattern_diversity": lambda labels: np.mean(distances(labels)),
    "delta_ambiguity": lambda scores: moves(scores).any(axis=0).mean(),
    "delta_discrepancy": lambda scores: moves(scores).mean(axis=1).max(),
    "delta_obscurity": lambda scores: moves(scores).mean(),
    "range_width": lambda scores: over_classes(np.ptp(scores, axis=0), np.max).mean(),
    "score_variance": lambda scores: variances(scores).mean(),
    "score_std": lambda scores: np.sqrt(variances(scores)).mean(),
}


@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"rashomon_capacity"}))
@settings(max_examples=40)
@given(data=st.data())
def test_a_measure_is_its_definition(name: str, data: st.DataObject) -> None:
    values = data.draw(LABELS if MEASURES[name].of == "labels" else SCORES)
    options = {"tolerance": 0.25} if "tolerance" in MEASURES[name].options else {}
    expected = pytest.approx(DEFINITIONS[name](values), nan_ok=True, abs=1e-12)
    assert MEASURES[name](values, **options) == expected
    function = getattr(rooms, name, lambda labels: discrepancy(labels, "any pair"))
    if len(values) > 1 or name != "abstention":  # a mask of one model is refused
        by_row = np.asarray(function(values, **options))
        assert over_classes(by_row, np.sum if name == "score_variance" else _root_sum).mean() == (
            expected
        )
    copies = np.repeat(values[:1], 4, axis=0)
    assert DEFINITIONS[name](copies) == pytest.approx(
        MEASURES[name](copies, **options), nan_ok=True
    )


def _root_sum(deviations: Values, axis: int) -> Values:
    return np.sqrt((deviations**2).sum(axis=axis))


def of(name: str) -> tuple[Values, dict[str, Any]]:
    """Values that a measure asks for, and options it needs."""
    values = np.digitize(MANY, [0.2, 0.9]) if MEASURES[name].of == "labels" else MANY
    return values, {"tolerance": 0.3} if "tolerance" in MEASURES[name].options else {}


@pytest.mark.parametrize("name", MEASURES)
def test_orders_do_not_matter_and_a_baseline_is_an_index_or_predictions(name: str) -> None:
    values, options = of(name)
    rows, models = RNG.permutation(60), RNG.permutation(40)
    value = MEASURES[name](values, **options)
    assert MEASURES[name](values[:, rows], **options) == pytest.approx(value)
    if "baseline" in MEASURES[name].options:
        for place in (0, -1, 39, np.int64(0)):
            by_place = MEASURES[name](values, baseline=place, **options)
            assert MEASURES[name](values, baseline=values[place].tolist(), **options) == by_place
        options["baseline"] = values[0]
    assert MEASURES[name](values[models], **options) == pytest.approx(value)


@pytest.mark.parametrize("name", MEASURES)
def test_a_curve_is_the_measure_of_each_nested_set(name: str) -> None:
    values, options = of(name)
    if "baseline" in MEASURES[name].options:
        options["baseline"] = values[7]
    curve = multiplicity_curve(name, values, EXCESS, PSI, **options)
    function = multiplicity_curve(lambda x: MEASURES[name](x, **options), values, EXCESS, PSI)
    np.testing.assert_allclose(curve, function, equal_nan=True)
    for psi, value in zip(PSI, curve, strict=True):
        inside = values[EXCESS <= psi]
        if len(inside) == 0:
            assert math.isnan(value)
            continue
        anew = multiplicity_curve(name, inside, np.zeros(len(inside)), 1.0, **options)[0]
        assert value == pytest.approx(anew, nan_ok=True)


@pytest.mark.parametrize("name", LOWER_BOUNDS)
def test_extremes_never_fall_along_the_curve(name: str) -> None:
    values, options = of(name)
    curve = multiplicity_curve(name, values, EXCESS, np.linspace(0.05, 1, 30), **options)
    assert (np.diff(curve) >= 0).all()
    assert curve[-1] > 0


def test_several_classes_have_a_curve_of_capacity() -> None:
    scores = RNG.dirichlet([1, 1, 1], (12, 5))
    scores /= scores.sum(axis=2, keepdims=True)
    curve = multiplicity_curve("rashomon_capacity", scores, np.arange(12) / 12, [0.3, 0.99])
    expected = [rashomon_capacity(scores[:k]).mean() for k in (4, 12)]
    assert np.allclose(curve, expected)


def test_a_baseline_by_place_is_the_same_model_for_every_threshold() -> None:
    labels = [[1, 1], [0, 1], [0, 0]]
    curve = multiplicity_curve("ambiguity", labels, [0.9, 0.1, 0.5], [0.2, 0.6, 1.0], baseline=0)
    assert curve.tolist() == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("name", MEASURES)
def test_a_group_is_the_measure_of_its_rows(name: str) -> None:
    values, options = of(name)
    table = by_group(name, values, GROUPS, **options)
    assert table["rows"].tolist() == [(GROUPS == g).sum() for g in table.index]
    for group, value in table["value"].items():
        part = values[:, GROUPS == group]
        anew = multiplicity_curve(name, part, np.zeros(40), 0.0, **options)[0]
        assert value == pytest.approx(anew)


def test_means_of_groups_make_the_whole() -> None:
    values, _ = of("disagreement")
    table = by_group(disagreement, values, GROUPS)
    assert np.average(table["value"], weights=table["rows"]) == pytest.approx(disagreement(values))
    baseline = values[3]
    table = by_group(
        "ambiguity", values, pd.Series(GROUPS, index=range(60, 0, -1)), baseline=baseline
    )
    whole = ambiguity(values, baseline)
    assert np.average(table["value"], weights=table["rows"]) == pytest.approx(whole)


def test_a_category_without_rows_is_listed_without_a_value() -> None:
    groups = pd.Categorical(["a", "b", "a"], categories=["a", "b", "nobody"])
    table = by_group("ambiguity", [[0, 0, 1], [1, 0, 1]], groups)
    assert table.loc["nobody", "rows"] == 0
    assert math.isnan(table.loc["nobody", "value"])
    assert table["value"].notna().sum() == 2


@given(LABELS)
def test_discrepancy_is_at_most_ambiguity_and_both_are_shares(labels: Values) -> None:
    assert 0 <= discrepancy(labels) <= ambiguity(labels) <= 1


@given(LABELS)
def test_disagreement_is_at_most_twice_the_discrepancy(labels: Values) -> None:
    """Two models that differ on a row cannot both agree with the baseline there."""
    if len(labels) > 1:
        assert disagreement(labels) <= 2 * discrepancy(labels) + 1e-12


def test_disagreement_is_unbiased_for_the_chance_of_two_models() -> None:
    """Over all samples of 3 from a population of 5 models the mean is the population's."""
    population = np.random.default_rng(0).integers(0, 3, (5, 20))
    samples = [disagreement(population[list(s)]) for s in itertools.combinations(range(5), 3)]
    assert np.mean(samples) == pytest.approx(disagreement(population))


@given(LABELS)
def test_consistency_is_what_disagreement_leaves(labels: Values) -> None:
    by_row = row_disagreement(labels)
    assert np.mean(by_row) == pytest.approx(disagreement(labels), nan_ok=True)
    assert np.allclose(self_consistency(labels), 1 - by_row, equal_nan=True)
    if len(labels) > 1:
        assert (abstention(labels) == (self_consistency(labels) < 0.75)).all()


@pytest.mark.parametrize(("ones", "models"), [(0, 9), (1, 8), (4, 8), (13, 101)])
def test_two_classes_have_the_published_self_consistency(ones: int, models: int) -> None:
    labels = (np.arange(models) < ones).astype(int)[:, None]
    expected = 1 - 2 * ones * (models - ones) / (models * (models - 1))
    assert self_consistency(labels)[0] == pytest.approx(expected)


@pytest.mark.parametrize("parameters", [1, 2, 3])
def test_linear_patterns_by_counting(parameters: int) -> None:
    """Signs of many random models on five rows in general position."""
    rng = np.random.default_rng(0)
    rows, models = rng.standard_normal((parameters, 5)), rng.standard_normal((40_000, parameters))
    assert pattern_count(models @ rows > 0) == linear_pattern_count(5, parameters)


@settings(max_examples=20)
@given(LABELS)
def test_what_the_labels_are_called_does_not_matter(labels: Values) -> None:
    called = np.array(["no", "yes", "perhaps"])[labels]
    for other in (called, called.astype(object), 2 * labels - 1, labels * 1000.5, labels + 300):
        for measure in (
            *(ambiguity, discrepancy, obscurity, disagreement),
            *(cohen_kappa, pattern_count, pattern_diversity),
        ):
            assert measure(other) == pytest.approx(measure(labels), nan_ok=True)
        assert discrepancy(other, other[-1]) == discrepancy(labels, labels[-1])


def test_a_baseline_may_give_a_class_that_no_model_gives() -> None:
    assert ambiguity([["a", "b"], ["a", "a"]], ["c", "b"]) == 1.0
    assert discrepancy([[0, 1], [1, 1]], [7, 1]) == 0.5
    assert obscurity([[True, False]], [True, True]) == 0.5


@pytest.mark.parametrize("label", [2**62, -(2**63), 1e308, -1e308, 254, 255, 256, -1, 0.5])
def test_labels_may_be_any_numbers(label: float) -> None:
    labels = np.array([[label, 0], [0, 0], [label, label]])
    assert disagreement(labels) == pytest.approx(2 / 3)
    assert disagreement(-labels) == pytest.approx(2 / 3)
    assert ambiguity(labels, [label, label]) == 1.0


def test_many_models_and_rows_go_through_many_blocks() -> None:
    """More models than one byte counts, and rows that are no whole number of words."""
    labels = np.random.default_rng(0).integers(0, 3, (700, 1003))
    counts = np.stack([(labels == c).sum(axis=0) for c in range(3)])
    agree = (counts * (counts - 1)).sum(axis=0) / (700 * 699)
    assert np.allclose(self_consistency(labels), agree)
    distances = [(labels[:i] != labels[i]).mean(axis=1).max() for i in range(1, 700)]
    assert discrepancy(labels, "any pair") == max(distances)
    assert discrepancy(labels) == (labels != labels[0]).mean(axis=1).max()


def test_one_model_has_nobody_to_agree_with() -> None:
    one = [[0, 1, 1]]
    assert ambiguity(one) == discrepancy(one) == discrepancy(one, "any pair") == obscurity(one) == 0
    assert math.isnan(disagreement(one)) and math.isnan(cohen_kappa(one))
    assert np.isnan(self_consistency(one)).all()
    assert (pattern_count(one), pattern_diversity(one)) == (1, 0.0)


def test_models_that_all_give_one_class_have_no_kappa() -> None:
    assert math.isnan(cohen_kappa(np.zeros((4, 5), dtype=int)))
    assert cohen_kappa([[0, 0], [0, 0], [0, 1]]) == 0.0


def test_a_variance_far_from_zero_does_not_cancel() -> None:
    """A thousand models in many blocks, about 1e8: squares about 0 would lose every digit."""
    scores = 1e8 + np.random.default_rng(0).standard_normal((1000, 7))
    expected = scores.astype(np.longdouble).var(axis=0, ddof=1).astype(float)
    assert np.allclose(score_variance(scores), expected, rtol=1e-7)
    assert not np.allclose((scores**2).mean(0) - scores.mean(0) ** 2, expected, rtol=0.1)


def test_one_model_has_no_variance_but_a_range() -> None:
    assert np.isnan(score_variance([[0.1, 0.2]])).all()
    assert score_variance([[0.1, 0.2]], ddof=0).tolist() == [0.0, 0.0]
    assert range_width([[0.1, 0.2]]) == 0.0


def test_regression_takes_a_tolerance_in_its_units() -> None:
    prices = [[100.0, 250.0], [104.0, 250.0], [100.0, 280.0]]
    assert delta_ambiguity(prices, tolerance=10.0) == 0.5
    assert delta_discrepancy(prices, tolerance=4.0) == 0.5
    assert viable_prediction_range(prices).tolist() == [[100.0, 104.0], [250.0, 280.0]]
    assert range_width(prices) == 17.0


def test_decisions_need_a_lead_of_so_many_deviations() -> None:
    scores = np.array([[0.95, 0.55, 0.1, 0.5], [0.85, 0.65, 0.3, 0.5], [0.9, 0.45, 0.2, 0.5]])
    lead = np.abs(2 * scores.mean(axis=0) - 1)
    spread = 2 * scores.std(axis=0, ddof=1)
    expected = [1, -1, 0, -1]  # a tie is never decided
    assert lead[0] > 2 * spread[0] and lead[1] < 2 * spread[1] and lead[2] > 2 * spread[2]
    assert decide_or_abstain(scores).tolist() == expected
    assert decide_or_abstain(scores, deviations=0.0).tolist() == [1, 1, 0, -1]
    two = np.stack([1 - scores, scores], axis=2)
    assert decide_or_abstain(two).tolist() == expected


def test_decisions_among_three_classes_compare_the_first_two() -> None:
    steady = [[0.6, 0.3, 0.1], [0.62, 0.28, 0.1]]
    torn = [[0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]
    scores = np.stack([steady, torn], axis=1)
    assert decide_or_abstain(scores).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ambiguity([0, 1]), r"labels must have shape .* got \(2,\)"),
        (lambda: discrepancy(np.zeros((0, 3))), "at least one of each"),
        (lambda: disagreement(np.zeros((3, 0))), "at least one of each"),
        (lambda: disagreement([[0, 1], [1]]), "one label for each model and row"),
        (lambda: disagreement(np.zeros((2, 3, 2))), "scores.argmax"),
        (lambda: disagreement([["no", None]]), "missing label for model 0, row 1"),
        (lambda: disagreement(np.array([["no", 1]], dtype=object)), "all be of one kind"),
        (lambda: ambiguity(np.random.default_rng(0).random((9, 40))), "at most 255 .* got 360"),
        (lambda: ambiguity([[0, 1], [math.nan, 0]]), "NaN or infinity for model 1, row 0"),
        (lambda: viable_prediction_range([[math.inf]]), "scores holds NaN or infinity"),
        (lambda: ambiguity([[0, 1]], 1), "baseline must be a model index < 1, got 1"),
        (lambda: ambiguity([[0, 1]], -2), "baseline must be a model index < 1, got -2"),
        (lambda: discrepancy([[0, 1]], [0]), "one label for each of 2 rows"),
        (lambda: discrepancy([[0, 1]], ["no", "yes"]), "baseline must be labels like the models'"),
        (lambda: discrepancy([[0, 1]], [0, math.nan]), "baseline holds NaN"),
        (lambda: discrepancy([[0, 1]], "any"), "'any pair', got 'any'"),
        (lambda: obscurity([["a", "b"]], [0, 1]), "baseline must be labels like the models'"),
        (lambda: abstention([[0, 1]]), "at least two models"),
        (lambda: abstention([[0, 1]] * 2, kappa=1.5), r"kappa must be in \[0, 1\], got 1.5"),
        (lambda: pattern_ratio([[0, 1], [1, 1]], 1), "got 1 and the set has 2"),
        (lambda: linear_pattern_count(0, 3), "n_rows must be a whole number, at least 1, got 0"),
        (lambda: delta_ambiguity([[0.1]], tolerance=0.0), "tolerance must be a finite score"),
        (lambda: delta_ambiguity([[0.1]], tolerance=math.nan), "not a privacy parameter"),
        (lambda: delta_discrepancy([[0.1]], tolerance=1, baseline=1), "a model index < 1, got 1"),
        (lambda: delta_obscurity([[0.1]], tolerance=1, baseline=[1, 2]), r"shape \(1,\)"),
        (lambda: delta_obscurity([[0.1]], tolerance=1, baseline=[math.nan]), "baseline holds NaN"),
        (lambda: delta_obscurity([[0.1]], tolerance=1, baseline=["x"]), "index or its scores"),
        (lambda: score_variance(np.zeros((0, 3))), "at least one of each"),
        (lambda: score_variance([[0.1, math.nan]]), "NaN or infinity for model 0, row 1"),
        (lambda: score_variance([[0.1]], ddof=2), "ddof must be 0 or 1, got 2"),
        (lambda: range_width([0.1, 0.2]), "scores must have shape"),
        (lambda: range_width([["a"]]), "scores must be numbers"),
        (lambda: decide_or_abstain([[0.1, 1.2], [0.1, 0.2]]), r"in \[0, 1\], got 1.2"),
        (lambda: decide_or_abstain([[0.1, 0.2]]), "at least two models"),
        (lambda: decide_or_abstain([[0.1], [0.2]], deviations=-1), "deviations must be"),
        (lambda: decide_or_abstain([[[0.5, 0.2]]] * 2), "must sum to 1 .* got a sum of 0.7"),
    ],
)
def test_what_cannot_be_measured_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_an_array_is_three_calls_from_its_ambiguity() -> None:
    labels, depths, functions = np.array([[0, 1, 1], [1, 1, 0]]), [0], set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if "rashomon_explorer/measures/" in Path(frame.f_code.co_filename).as_posix():
            depths.append(depths[-1] + {"call": 1, "return": -1}.get(event, 0))
            functions.add(frame.f_code.co_qualname)

    ambiguity(labels)
    sys.setprofile(note)
    ambiguity(labels)
    sys.setprofile(None)
    assert max(depths) == 3
    assert functions == {
        "ambiguity",
        "Measure.__call__",
        "Predictions.from_labels",
        "model_steps",
        "ever_differs",
        "mean_over_rows",
    }


def test_the_arrays_given_are_left_alone() -> None:
    labels = np.array([[0, 1, 1], [1, 1, 0]])
    before = labels.copy()
    ambiguity(labels), discrepancy(labels), disagreement(labels), viable_prediction_range(labels)
    assert np.array_equal(labels, before)


def test_sets_and_arrays_in_each_others_place_are_refused_with_advice():
    models = from_predictions([[0.9, 0.2], [0.4, 0.3]], [1, 0])
    with pytest.raises(TypeError, match=r"got a PredictorSet: use models\.labels\(X\)"):
        ambiguity(models)
    with pytest.raises(TypeError, match=r"got a PredictorSet: use models\.scores\(X\)"):
        rashomon_capacity(models)
    with pytest.raises(TypeError, match=r"got a PredictorSet: use models\.labels\(X\)"):
        by_group("ambiguity", models, ["a", "b"])
    with pytest.raises(ValueError, match=r"values must have shape .* got \(2,\)"):
        by_group("ambiguity", [0, 1], ["a", "b"])
    with pytest.raises(TypeError, match="must be a set of models, got ndarray"):
        multiplicity_table(np.zeros((2, 2)))
    with pytest.raises(TypeError, match=r"by_group\(measure, values, groups\)"):
        by_group([[0, 1], [1, 1]], ["a", "b"], "ambiguity")
    with pytest.raises(ValueError, match="or be a model's index, got None"):
        ambiguity([[0, 1], [1, 1]], baseline=None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: multiplicity_curve("ambiguity", [[0]], [0, 1], 1), ValueError, "each of 1 models"),
        (lambda: multiplicity_curve("ambiguity", [[0]], [math.nan], 1), ValueError, "holds NaN"),
        (lambda: multiplicity_curve("ambiguity", [[0]], [0], math.nan), ValueError, "psi must be"),
        (lambda: multiplicity_curve("kappa", [[0]], [0], 1), ValueError, "measure must be one of"),
        (
            lambda: multiplicity_curve("disagreement", [[0]], [0], 1, baseline=0),
            TypeError,
            r"disagreement takes the options \[\], got \['baseline'\]",
        ),
        (lambda: by_group("range_width", [[0.1, 0.2]], ["a"]), ValueError, "each of 2 rows"),
        (lambda: by_group("range_width", [[0.1, 0.2]], "ab"), ValueError, "each of 2 rows"),
        (lambda: by_group("range_width", [[0.1]], [None]), ValueError, "no group for row 0"),
        (
            lambda: by_group("ambiguity", [[0, 1]], ["a", "b"], baseline=[1]),
            ValueError,
            "one entry for each of 2 rows",
        ),
        (lambda: by_group("delta_ambiguity", [[0.1]], ["a"]), TypeError, "needs tolerance="),
    ],
)
def test_what_has_no_curve_or_group_is_refused(
    call: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
