"""Measures of scores against their definitions, written as loops."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures import decide_or_abstain, viable_prediction_range
from rashomon_explorer.measures.multiplicity import (
    delta_ambiguity,
    delta_discrepancy,
    delta_obscurity,
    range_width,
    score_std,
    score_variance,
)

SHAPES = array_shapes(min_dims=2, max_dims=3, max_side=6)
SCORES = arrays(np.float64, SHAPES, elements=st.integers(0, 8).map(lambda k: k / 8))


def change(scores: FloatArray, f: int, i: int) -> float:
    return float(np.max(np.abs(scores[f, i] - scores[0, i])))


@given(SCORES)
def test_tolerance_forms_by_hand(scores: FloatArray) -> None:
    models, rows = scores.shape[:2]
    far = [[change(scores, f, i) >= 0.25 for i in range(rows)] for f in range(models)]
    assert delta_ambiguity(scores, tolerance=0.25) == sum(map(any, zip(*far, strict=True))) / rows
    assert delta_discrepancy(scores, tolerance=0.25) == pytest.approx(max(map(sum, far)) / rows)
    mean = sum(map(sum, far)) / rows / models
    assert delta_obscurity(scores, tolerance=0.25) == pytest.approx(mean)


@given(SCORES)
def test_spread_by_hand(scores: FloatArray) -> None:
    for ddof in (0, 1):
        if len(scores) > ddof:
            assert np.allclose(score_variance(scores, ddof=ddof), scores.var(axis=0, ddof=ddof))
            assert np.allclose(score_std(scores, ddof=ddof), scores.std(axis=0, ddof=ddof))
    widths = scores.max(axis=0) - scores.min(axis=0)
    expected = widths if widths.ndim == 1 else widths.max(axis=1)
    assert range_width(scores) == pytest.approx(expected.mean())


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
