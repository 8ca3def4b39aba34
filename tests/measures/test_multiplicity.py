"""Measures of multiplicity against their definitions, written as loops."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from rashomon_explorer.measures import (
    ambiguity,
    disagreement,
    discrepancy,
    viable_prediction_range,
)

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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ambiguity([0, 1]), r"labels must have shape .* got \(2,\)"),
        (lambda: discrepancy(np.zeros((0, 3))), "at least one of each"),
        (lambda: disagreement(np.zeros((3, 0))), "at least one of each"),
        (lambda: disagreement([["no", "yes"]]), "labels must be numbers"),
        (lambda: disagreement([[0, 1], [1]]), "labels must be numbers"),
        (lambda: ambiguity([[0, 1], [math.nan, 0]]), "NaN or infinity for model 1, row 0"),
        (lambda: viable_prediction_range([[math.inf]]), "scores holds NaN or infinity"),
        (lambda: ambiguity([[0, 1]], 1), "baseline must be a model below 1, got 1"),
        (lambda: ambiguity([[0, 1]], -2), "baseline must be a model below 1, got -2"),
        (lambda: discrepancy([[0, 1]], [0]), "one label for each of 2 rows"),
        (lambda: discrepancy([[0, 1]], ["no", "yes"]), "baseline must be"),
        (lambda: discrepancy([[0, 1]], [0, math.nan]), "baseline holds NaN"),
    ],
)
def test_what_cannot_be_measured_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_arrays_given_are_left_alone() -> None:
    labels = np.array([[0, 1, 1], [1, 1, 0]])
    before = labels.copy()
    ambiguity(labels), discrepancy(labels), disagreement(labels), viable_prediction_range(labels)
    assert np.array_equal(labels, before)
