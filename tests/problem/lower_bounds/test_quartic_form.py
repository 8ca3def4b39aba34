"""Quartic forms: their sums, their least values over directions, and the split of a cubic."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.problem.lower_bounds.quartic import QuarticForm
from rashomon_explorer.problem.lower_bounds.smooth import ThirdMoment, outer_squares


def random_form(seed, p, n=30):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, p)) * rng.exponential(1.0, (n, 1))
    coefficients = rng.standard_normal((5, n)) * rng.exponential(1.0, (5, 1))
    coefficients[4] = -np.abs(coefficients[4])
    coefficients[:, ::7] = 0
    return rows, coefficients, QuarticForm.of(rows, coefficients)


def directions(p, size, seed=0):
    points = np.random.default_rng(seed).standard_normal((p, size))
    return points / np.linalg.norm(points, axis=0)


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 5))
def test_a_form_is_the_sum_of_its_rows_and_its_least_value_covers_every_direction(seed, p):
    rows, coefficients, form = random_form(seed, p)
    points = directions(p, 400) * np.linspace(0, 2, 400)
    scores = rows @ points
    expected = sum(c @ scores**k for k, c in enumerate(coefficients))
    size = sum(np.abs(c) @ np.abs(scores) ** k for k, c in enumerate(coefficients))
    at = form.at(points)
    assert (np.abs(at - expected) <= 1e-8 * (1 + size)).all()
    assert (at <= expected + 1e-14 * size).all()
    assert (form.least(np.linspace(0, 2, 400)) <= at + 1e-9 * (1 + size)).all()


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 5))
def test_terms_are_added_and_blocks_of_points_do_not_matter(seed, p):
    rng = np.random.default_rng(seed)
    _, _, form = random_form(seed, p)
    constant, linear, quadratic = rng.standard_normal(), rng.standard_normal(p), np.eye(p) * 0.3
    points = rng.standard_normal((p, 2500))
    added = constant + linear @ points + 0.3 * np.sum(points**2, axis=0)
    whole = form.plus(constant, linear, quadratic).at(points)
    np.testing.assert_allclose(whole, form.at(points) + added, rtol=1e-9, atol=1e-9)
    one = np.concatenate([form.at(points[:, k : k + 1]) for k in (0, 1023, 1024, 2499)])
    np.testing.assert_allclose(form.at(points)[[0, 1023, 1024, 2499]], one, rtol=1e-10)


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_every_part_counts_in_the_least_value(power):
    """A least value that forgets a part is above the form in some direction."""
    rng = np.random.default_rng(power)
    rows, coefficients = rng.standard_normal((30, 3)), np.zeros((5, 30))
    coefficients[power] = -1.0
    form = QuarticForm.of(rows, coefficients)
    lowest = form.at(directions(3, 3000)).min()
    assert 2 * lowest < form.least(np.array([1.0]))[0] <= lowest
    forgotten = {
        1: {"linear": 0 * form.linear},
        2: {"quadratic": 0 * form.quadratic},
        3: {"third": replace(form.third, unfolded=0 * form.third.unfolded)},
        4: {"fourth": replace(form.fourth, gram=0 * form.fourth.gram)},
    }
    assert replace(form, **forgotten[power]).least(np.array([1.0]))[0] > lowest


def test_the_largest_value_of_three_waves_is_found_exactly():
    """Σ cos³(t − 2πk/3) = ¾ cos 3t, whose unfolding has √2 times its largest value."""
    turn = 2 * np.pi * np.arange(3) / 3
    form = ThirdMoment.of(np.column_stack([np.cos(turn), np.sin(turn)]), np.ones(3))
    assert form.supremum() == pytest.approx(0.75)
    assert np.linalg.norm(form.unfolded, 2) == pytest.approx(0.75 * np.sqrt(2))


@pytest.mark.parametrize("p", [6, 12])
def test_a_cubic_forms_largest_value_is_covered_and_nearer_than_by_its_unfolding(p):
    rng = np.random.default_rng(p)
    _, form = ThirdMoment.of(rng.standard_normal((60, p)), rng.standard_normal(60)).split()
    v = directions(p, 200, p)
    for _ in range(200):  # power steps towards the largest values
        v = form.unfolded.T @ outer_squares(v) + 1e-3 * v
        v /= np.linalg.norm(v, axis=0)
    largest = np.abs(form.at(v)).max()
    assert largest <= form.supremum() < 0.95 * np.linalg.norm(form.unfolded, 2)


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 6))
def test_a_cubic_form_is_split_into_a_line_and_a_form_without_trace(seed, p):
    rng = np.random.default_rng(seed)
    rows, weights = rng.standard_normal((20, p)), rng.standard_normal(20)
    form = ThirdMoment.of(rows, weights)
    line, rest = form.split()
    points = rng.standard_normal((p, 50))
    square = np.sum(points**2, axis=0)
    whole = line @ points * square + rest.at(points)
    np.testing.assert_allclose(whole, form.at(points), atol=1e-9 * (1 + square.max() ** 1.5))
    unit = points / np.sqrt(square)
    assert np.abs(rest.at(unit)).max() <= rest.supremum() + 1e-9
    # Harmonic: its mean over a sphere around any point is its value there.
    turned = np.linalg.qr(rng.standard_normal((p, p)))[0]
    around = [rest.at(points + s * turned[:, [k]]) for k in range(p) for s in (-0.1, 0.1)]
    tolerance = 1e-9 * (1 + square.max() ** 1.5)
    np.testing.assert_allclose(np.mean(around, axis=0), rest.at(points), atol=tolerance)
