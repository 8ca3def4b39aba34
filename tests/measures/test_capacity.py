"""Rashomon capacity: closed forms of channels, bounds that enclose, and invariances."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rashomon_explorer.measures.multiplicity import capacity_bounds, rashomon_capacity
from rashomon_explorer.measures.multiplicity.capacity import channel_capacity


def entropy(p):
    return -sum(x * math.log2(x) for x in np.ravel(p) if x > 0)


def simplex(models, rows, classes, spread, seed=0):
    scores = np.random.default_rng(seed).dirichlet(np.full(classes, spread), (models, rows))
    return scores / scores.sum(axis=2, keepdims=True)


BITS = [
    ([0.1, 0.9], 0.531004),  # binary symmetric channels
    ([0.25, 0.75], 0.188722),
    ([0.0, 0.9], 0.762848),  # Z-channels
    ([0.1, 1.0], 0.762848),
    ([0.0, 1.0], 1.0),
    ([0.0, 0.0], 0.0),
    ([1.0, 1.0], 0.0),
    ([0.3], 0.0),
    ([0.1, 0.5, 0.9, 0.3], 0.531004),  # models between the extremes add nothing
]


@pytest.mark.parametrize(("scores", "bits"), BITS)
def test_two_classes_have_their_closed_form(scores, bits):
    column = np.array(scores)[:, None]
    assert rashomon_capacity(column)[0] == pytest.approx(bits, abs=5e-7)
    both = np.stack([1 - column, column], axis=2)
    assert rashomon_capacity(both)[0] == pytest.approx(bits, abs=5e-7)
    assert rashomon_capacity(column, unit="classes")[0] == pytest.approx(2**bits, abs=1e-6)


@pytest.mark.parametrize("classes", [3, 4, 7])
def test_symmetric_channels_of_many_classes(classes):
    """Each model errs to every other class alike: log c − H(1 − e, e/(c − 1), …)."""
    for error in (0.0, 0.1, 0.5, 0.9):
        rows = np.full((classes, classes), error / (classes - 1))
        np.fill_diagonal(rows, 1 - error)
        expected = math.log2(classes) - entropy(rows[0])
        assert rashomon_capacity(rows[:, None, :])[0] == pytest.approx(expected, abs=2e-9)


def test_an_erasure_channel_ignores_the_model_that_never_answers():
    scores = np.array([[0.7, 0.3, 0.0], [0.0, 0.3, 0.7], [0.0, 1.0, 0.0], [0.35, 0.3, 0.35]])
    assert rashomon_capacity(scores[:2, None])[0] == pytest.approx(0.7, abs=2e-9)
    assert rashomon_capacity(scores[:, None])[0] > 0.7


@given(st.floats(0, 1), st.floats(0, 1))
def test_two_classes_bracket_and_agree_with_the_general_search(a, b):
    low, high = capacity_bounds([[a], [b]])[0]
    assert 0 <= low <= high <= low + 1e-10
    rows = np.array([[[1 - a, a], [1 - b, b]]])
    below, above = channel_capacity(rows, 1e-9)[0] / math.log(2)
    assert below <= high + 1e-10 and above >= low - 1e-10
    assert above - below <= 2e-9


@pytest.mark.parametrize("spread", [0.05, 1.0, 1000.0])
@pytest.mark.parametrize("classes", [3, 5])
@pytest.mark.law
def test_bounds_enclose_what_a_general_optimiser_finds(spread, classes):
    scores = simplex(5, 2, classes, spread)
    bounds = capacity_bounds(scores)
    assert (bounds[:, 1] - bounds[:, 0] <= 1e-9).all()
    for row, (_, high) in enumerate(bounds):

        def information(weights, f=scores[:, row]):
            share = weights**2 / (weights**2).sum()
            return entropy(share @ f) - float(share @ [entropy(g) for g in f])

        found = max(
            -minimize(lambda w: -information(w), start, tol=1e-10).fun
            for start in np.random.default_rng(row).random((2, 5)) + 0.1
        )
        assert high - 1e-4 <= found <= high + 1e-9


def test_the_bracket_holds_for_thousands_of_models_and_degenerate_ones():
    scores = simplex(2000, 20, 3, 0.02)
    assert (scores == 0).any() or (scores < 1e-200).any()
    bounds = capacity_bounds(scores)
    assert (bounds[:, 1] - bounds[:, 0] <= 1e-9).all()
    assert (bounds[:, 1] <= math.log2(3) + 1e-9).all()
    blunt = capacity_bounds(scores, tolerance=0.1)  # a wider bracket about the same number
    assert (blunt[:, 0] <= bounds[:, 1]).all() and (bounds[:, 0] <= blunt[:, 1] + 1e-9).all()
    assert (blunt[:, 1] - blunt[:, 0]).max() > 1e-4


def test_orders_and_mixtures_do_not_matter_and_more_models_never_have_less():
    """Capacity is convex in the channel: a mixture of models is no new corner."""
    scores, rng = simplex(12, 9, 4, 0.5), np.random.default_rng(1)
    expected = rashomon_capacity(scores)
    mixtures = np.concatenate([scores, scores.mean(axis=0, keepdims=True)])
    for same in (rng.permutation(scores, axis=0), rng.permutation(scores, axis=2), mixtures):
        np.testing.assert_allclose(rashomon_capacity(same), expected, atol=2e-9)
    capacities = [rashomon_capacity(scores[:k]) for k in (1, 2, 5, 12)]
    assert np.allclose(capacities[0], 0)
    for fewer, more in itertools.pairwise(capacities):
        assert (more >= fewer - 2e-9).all()
