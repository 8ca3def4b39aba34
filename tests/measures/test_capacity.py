"""Rashomon capacity: closed forms of channels, bounds that enclose, and invariances."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures import rashomon_capacity
from rashomon_explorer.measures.multiplicity import capacity_bounds
from rashomon_explorer.measures.multiplicity.capacity import channel_capacity

PROBABILITY = st.floats(0, 1)


def entropy(p: FloatArray) -> float:
    return -sum(x * math.log2(x) for x in np.ravel(p) if x > 0)


def simplex(models: int, rows: int, classes: int, spread: float, seed: int = 0) -> FloatArray:
    scores = np.random.default_rng(seed).dirichlet(np.full(classes, spread), (models, rows))
    return np.asarray(scores / scores.sum(axis=2, keepdims=True))


@pytest.mark.parametrize(
    ("scores", "bits"),
    [
        ([0.1, 0.9], 0.531004),  # binary symmetric channels
        ([0.25, 0.75], 0.188722),
        ([0.4, 0.6], 0.029049),
        ([0.0, 0.9], 0.762848),  # Z-channels
        ([0.1, 1.0], 0.762848),
        ([0.0, 0.5], 0.321928),
        ([0.0, 1.0], 1.0),
        ([0.0, 0.0], 0.0),
        ([1.0, 1.0], 0.0),
        ([0.3, 0.3], 0.0),
        ([0.3], 0.0),
        ([0.1, 0.5, 0.9, 0.3], 0.531004),  # models between the extremes add nothing
    ],
)
def test_two_classes_have_their_closed_form(scores: list[float], bits: float) -> None:
    column = np.array(scores)[:, None]
    assert rashomon_capacity(column)[0] == pytest.approx(bits, abs=5e-7)
    both = np.stack([1 - column, column], axis=2)
    assert rashomon_capacity(both)[0] == pytest.approx(bits, abs=5e-7)
    assert rashomon_capacity(column, unit="classes")[0] == pytest.approx(2**bits, abs=1e-6)


@pytest.mark.parametrize("classes", [3, 4, 7])
def test_symmetric_channels_of_many_classes(classes: int) -> None:
    """Each model errs to every other class alike: log c − H(1 − e, e/(c − 1), …)."""
    for error in (0.0, 0.1, 0.5, 0.9):
        rows = np.full((classes, classes), error / (classes - 1))
        np.fill_diagonal(rows, 1 - error)
        expected = math.log2(classes) - entropy(rows[0])
        assert rashomon_capacity(rows[:, None, :])[0] == pytest.approx(expected, abs=2e-9)


def test_an_erasure_channel_ignores_the_model_that_never_answers() -> None:
    scores = [[0.7, 0.3, 0.0], [0.0, 0.3, 0.7], [0.0, 1.0, 0.0], [0.35, 0.3, 0.35]]
    assert rashomon_capacity(np.array(scores)[:2, None])[0] == pytest.approx(0.7, abs=2e-9)
    assert rashomon_capacity(np.array(scores)[:, None])[0] > 0.7


@given(PROBABILITY, PROBABILITY)
def test_two_classes_bracket_and_agree_with_the_general_search(a: float, b: float) -> None:
    low, high = capacity_bounds([[a], [b]])[0]
    assert 0 <= low <= high <= low + 1e-10
    rows = np.array([[[1 - a, a], [1 - b, b]]])
    below, above = channel_capacity(rows, 1e-9)[0] / math.log(2)
    assert below <= high + 1e-10 and above >= low - 1e-10
    assert above - below <= 2e-9


@pytest.mark.parametrize("spread", [0.05, 1.0, 1000.0])
@pytest.mark.parametrize("classes", [3, 5])
@pytest.mark.law
def test_bounds_enclose_what_a_general_optimiser_finds(spread: float, classes: int) -> None:
    scores = simplex(5, 2, classes, spread)
    bounds = capacity_bounds(scores)
    assert (bounds[:, 1] - bounds[:, 0] <= 1e-9).all()
    for row, (_, high) in enumerate(bounds):
        f = scores[:, row]

        def information(weights: FloatArray, f: FloatArray = f) -> float:
            share = weights**2 / (weights**2).sum()
            return entropy(share @ f) - float(share @ [entropy(g) for g in f])

        found = max(
            -minimize(lambda w: -information(w), start, tol=1e-10).fun
            for start in np.random.default_rng(row).random((2, 5)) + 0.1
        )
        assert found <= high + 1e-9
        assert found >= high - 1e-4


def test_the_bracket_holds_for_thousands_of_models_and_degenerate_ones() -> None:
    scores = simplex(2000, 20, 3, 0.02)
    assert (scores == 0).any() or (scores < 1e-200).any()
    bounds = capacity_bounds(scores)
    assert (bounds[:, 1] - bounds[:, 0] <= 1e-9).all()
    assert (bounds[:, 1] <= math.log2(3) + 1e-9).all()


def test_a_wider_tolerance_gives_a_wider_bracket_about_the_same_number() -> None:
    scores = simplex(50, 30, 4, 1.0)
    sharp, blunt = capacity_bounds(scores, tolerance=1e-11), capacity_bounds(scores, tolerance=0.1)
    assert (blunt[:, 0] <= sharp[:, 1]).all() and (sharp[:, 0] <= blunt[:, 1] + 1e-11).all()
    assert (blunt[:, 1] - blunt[:, 0]).max() > 1e-4


def test_orders_of_models_and_classes_do_not_matter() -> None:
    scores, rng = simplex(12, 9, 4, 0.5), np.random.default_rng(1)
    expected = rashomon_capacity(scores)
    for axis in (0, 2):
        assert np.allclose(rashomon_capacity(rng.permutation(scores, axis=axis)), expected)
    rows = rng.permutation(9)
    assert np.allclose(rashomon_capacity(scores[:, rows]), expected[rows], atol=2e-9)


def test_more_models_never_have_less_capacity() -> None:
    scores = simplex(30, 40, 3, 1.0)
    capacities = [rashomon_capacity(scores[:k]) for k in (1, 2, 5, 30)]
    assert np.allclose(capacities[0], 0)
    for fewer, more in itertools.pairwise(capacities):
        assert (more >= fewer - 2e-9).all()


def test_models_between_others_add_nothing() -> None:
    """Capacity is convex in the channel: a mixture of models is no new corner."""
    scores = simplex(5, 10, 3, 1.0)
    mixtures = np.concatenate([scores, scores.mean(axis=0, keepdims=True)])
    assert np.allclose(rashomon_capacity(mixtures), rashomon_capacity(scores), atol=2e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rashomon_capacity([[0.1, 1.2]]), r"probabilities in \[0, 1\], got 1.2"),
        (lambda: rashomon_capacity([[0.1, -1.2]]), r"probabilities in \[0, 1\], got -1.2"),
        (lambda: rashomon_capacity([[[0.5, 0.2, 0.2]]]), "must sum to 1 .* got a sum of 0.9"),
        (lambda: rashomon_capacity([[math.nan]]), "NaN or infinity for model 0, row 0"),
        (lambda: rashomon_capacity(np.zeros((0, 2))), "at least one of each"),
        (lambda: rashomon_capacity([[0.1]], unit="nats"), "unit must be 'bits' or 'classes'"),
        (lambda: capacity_bounds([[0.1]], tolerance=0), "tolerance must be >= 1e-12"),
    ],
)
def test_what_has_no_capacity_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
