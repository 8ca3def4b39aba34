"""Measures of multiplicity against their definitions, written as loops."""

import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from rashomon_explorer.measures import (
    ambiguity,
    by_group,
    disagreement,
    discrepancy,
    multiplicity_table,
    rashomon_capacity,
    viable_prediction_range,
)
from rashomon_explorer.measures.multiplicity import (
    abstention,
    cohen_kappa,
    linear_pattern_count,
    obscurity,
    pattern_count,
    pattern_diversity,
    pattern_ratio,
    row_disagreement,
    self_consistency,
)
from rashomon_explorer.sets import from_predictions

Labels = NDArray[np.int_]

SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=7)
LABELS = arrays(np.int_, SHAPES, elements=st.integers(0, 2))
SCORES = arrays(np.float64, SHAPES, elements=st.floats(-5, 5))
SEEDS = st.integers(0, 2**32 - 1)


@given(LABELS)
def test_ambiguity_is_the_share_of_rows_with_a_dissenter(labels: Labels) -> None:
    models, rows = labels.shape
    dissent = [any(labels[f, i] != labels[0, i] for f in range(models)) for i in range(rows)]
    assert ambiguity(labels) == pytest.approx(sum(dissent) / rows)


@given(LABELS)
def test_discrepancy_is_the_worst_dissenter(labels: Labels) -> None:
    models, rows = labels.shape
    shares = [sum(labels[f, i] != labels[0, i] for i in range(rows)) / rows for f in range(models)]
    assert discrepancy(labels) == pytest.approx(max(shares))


@given(LABELS)
def test_disagreement_is_the_mean_over_pairs(labels: Labels) -> None:
    pairs = list(itertools.combinations(labels, 2))
    if not pairs:
        assert math.isnan(disagreement(labels))
        return
    assert disagreement(labels) == pytest.approx(np.mean([(a != b).mean() for a, b in pairs]))


@given(SCORES)
def test_range_is_the_least_and_largest(scores: NDArray[np.float64]) -> None:
    expected = [[min(column), max(column)] for column in scores.T.tolist()]
    assert viable_prediction_range(scores).tolist() == expected


@given(LABELS)
def test_discrepancy_is_at_most_ambiguity_and_both_are_shares(labels: Labels) -> None:
    assert 0 <= discrepancy(labels) <= ambiguity(labels) <= 1


@given(LABELS)
def test_disagreement_is_at_most_twice_the_discrepancy(labels: Labels) -> None:
    """Two models that differ on a row cannot both agree with the baseline there."""
    if len(labels) > 1:
        assert disagreement(labels) <= 2 * discrepancy(labels) + 1e-12


@given(LABELS, SEEDS)
def test_the_order_of_rows_does_not_matter(labels: Labels, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(labels, axis=1)
    for measure in (ambiguity, discrepancy, disagreement):
        assert measure(shuffled) == pytest.approx(measure(labels), nan_ok=True)


@given(LABELS, SEEDS)
def test_the_order_of_models_does_not_matter(labels: Labels, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(labels, axis=0)
    assert disagreement(shuffled) == pytest.approx(disagreement(labels), nan_ok=True)
    for measure in (ambiguity, discrepancy):
        assert measure(shuffled, labels[0]) == pytest.approx(measure(labels, labels[0]))


@given(LABELS)
def test_a_baseline_by_place_or_by_labels(labels: Labels) -> None:
    for measure in (ambiguity, discrepancy):
        for place in (0, -1, len(labels) - 1):
            assert measure(labels, place) == measure(labels, labels[place].tolist())
        assert measure(labels, np.int64(0)) == measure(labels, 0)


@given(LABELS)
def test_more_models_are_never_less_ambiguous(labels: Labels) -> None:
    for measure in (ambiguity, discrepancy):
        assert measure(labels[:1]) == 0.0
        assert measure(labels[: len(labels) // 2 + 1]) <= measure(labels)


@given(LABELS)
def test_one_model_copied_agrees_with_itself(labels: Labels) -> None:
    copies = np.repeat(labels[:1], 4, axis=0)
    assert ambiguity(copies) == discrepancy(copies) == disagreement(copies) == 0.0


def test_disagreement_is_unbiased_for_the_chance_of_two_models() -> None:
    """Over all samples of 3 from a population of 5 models the mean is the population's."""
    population = np.random.default_rng(0).integers(0, 3, (5, 20))
    samples = [disagreement(population[list(s)]) for s in itertools.combinations(range(5), 3)]
    assert np.mean(samples) == pytest.approx(disagreement(population))


@given(LABELS)
def test_obscurity_is_the_mean_share_of_dissenters(labels: Labels) -> None:
    models, rows = labels.shape
    dissent = sum(labels[f, i] != labels[0, i] for f in range(models) for i in range(rows))
    assert obscurity(labels) == pytest.approx(dissent / models / rows)
    assert obscurity(labels) <= discrepancy(labels) + 1e-12


@given(LABELS)
def test_any_pair_is_the_worst_of_all_baselines(labels: Labels) -> None:
    expected = max(discrepancy(labels, place) for place in range(len(labels)))
    assert discrepancy(labels, "any pair") == expected
    assert discrepancy(labels) <= expected <= 2 * discrepancy(labels)


def kappa_by_hand(a: Labels, b: Labels) -> float | None:
    agree = np.mean(a == b)
    chance = sum(np.mean(a == c) * np.mean(b == c) for c in range(3))
    return None if chance == 1 else (agree - chance) / (1 - chance)


@given(LABELS)
def test_kappa_is_the_mean_over_pairs_that_have_one(labels: Labels) -> None:
    kappas = [kappa_by_hand(a, b) for a, b in itertools.combinations(labels, 2)]
    known = [kappa for kappa in kappas if kappa is not None]
    expected = np.mean(known) if known else math.nan
    assert cohen_kappa(labels) == pytest.approx(expected, nan_ok=True, abs=1e-12)


@given(LABELS)
def test_consistency_is_what_disagreement_leaves(labels: Labels) -> None:
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


@given(LABELS)
def test_patterns_by_hand(labels: Labels) -> None:
    patterns = list({tuple(row) for row in labels.tolist()})
    assert pattern_count(labels) == len(patterns)
    distances = [np.mean(np.array(a) != np.array(b)) for a in patterns for b in patterns]
    assert pattern_diversity(labels) == pytest.approx(np.mean(distances))
    assert pattern_ratio(labels, among=labels) == 1.0
    assert pattern_ratio(labels[:1], among=labels) == pytest.approx(1 / len(patterns))


@pytest.mark.parametrize("parameters", [1, 2, 3])
def test_linear_patterns_by_counting(parameters: int) -> None:
    """Signs of many random models on five rows in general position."""
    rng = np.random.default_rng(0)
    rows, models = rng.standard_normal((parameters, 5)), rng.standard_normal((40_000, parameters))
    assert pattern_count(models @ rows > 0) == linear_pattern_count(5, parameters)


@settings(max_examples=20)
@given(LABELS)
def test_what_the_labels_are_called_does_not_matter(labels: Labels) -> None:
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
    with pytest.raises(TypeError, match="must be a set of models, got ndarray"):
        multiplicity_table(np.zeros((2, 2)))
    with pytest.raises(TypeError, match=r"by_group\(measure, values, groups\)"):
        by_group([[0, 1], [1, 1]], ["a", "b"], "ambiguity")
    with pytest.raises(ValueError, match="or be a model's index, got None"):
        ambiguity([[0, 1], [1, 1]], baseline=None)
