"""Moments of rows, parabolas below functions of a score, and bowls below mean losses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.problem.losses import LOSSES, SoftmaxLoss, get_loss
from rashomon_explorer.problem.losses.kinked import ClippedSlope
from rashomon_explorer.problem.lower_bounds import quadratic as parabola
from rashomon_explorer.problem.lower_bounds import smooth
from tests.problem.rows import random_rows


@pytest.mark.parametrize("spread", [1e-14, 1e-3, 1.0])
def test_a_bound_is_above_and_close(spread):
    rng = np.random.default_rng(1)
    turned, _ = np.linalg.qr(rng.normal(size=(450, 450)))
    known = 3.0 - spread * np.linspace(0.0, 1.0, 450)  # many eigenvalues beside the largest
    matrix = turned * known @ turned.T
    found = smooth.largest_eigenvalue((matrix + matrix.T) / 2)
    assert 3.0 * (1 - 1e-13) <= found <= 3.0 * (1 + 1e-10)


def test_the_largest_value_of_three_waves_is_found_exactly():
    """Σ cos³(t − 2πk/3) = ¾ cos 3t, whose unfolding has √2 times its largest value."""
    turn = 2 * np.pi * np.arange(3) / 3
    waves = np.column_stack([np.cos(turn), np.sin(turn)])
    form = smooth.ThirdMoment(smooth.outer_squares(waves.T) @ waves)
    assert form.supremum() == pytest.approx(0.75)
    assert np.linalg.norm(form.unfolded, 2) == pytest.approx(0.75 * np.sqrt(2))


SHAPES = [
    ClippedSlope(0.0, 1.0), ClippedSlope(-1.0, 1.0), ClippedSlope(-0.4, 1.6),
    ClippedSlope(0.0, 1.0, smoothing=1.0), ClippedSlope(-1.0, 0.5, smoothing=1e-3),
    ClippedSlope(0.0, 2.0, smoothing=7.0),
]  # fmt: skip
SIZES = st.sampled_from([0.0, 1e-12, 1e-5, 1e-3, 0.02, 0.5, 3.0, 20.0, 400.0])


def intervals(seed, size, n=30):
    """Ends, means and spreads of n rows, and scores (n, 200) between the ends and at them."""
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal(n) * rng.choice([0.0, 0.5, 5.0], n)
    low, high = middle - size * rng.random(n), middle + size * rng.random(n)
    shares = np.append([0.0, 1.0], np.append(rng.random(150), np.geomspace(1e-9, 0.5, 48)))
    return (
        low,
        high,
        middle + rng.standard_normal(n),
        10.0 ** rng.uniform(-4, 2, n),
        low[:, None] + shares * (high - low)[:, None],
    )


def depths(found, value, scores):
    """How far each parabola lies below its function, in units of what is rounded."""
    away = scores - found.contact[:, None]
    terms = [found.value[:, None], found.slope[:, None] * away, found.bend[:, None] / 2 * away**2]
    room = 1e-14 * (1 + sum(np.abs(term) for term in terms))
    return (value(scores) - sum(terms)) / room


@given(seed=st.integers(0, 2**32 - 1), size=SIZES)
@settings(max_examples=80)
def test_logistic_parabolas_lie_below(seed, size):
    *ends, scores = intervals(seed, size)
    found = parabola.under_logistic(*ends)
    assert (found.bend >= 0).all()
    assert depths(found, lambda v: np.logaddexp(0.0, v), scores).min() >= -1


@given(seed=st.integers(0, 2**32 - 1), size=SIZES, shape=st.sampled_from(SHAPES))
@settings(max_examples=120)
def test_parabolas_of_clipped_slopes_lie_below(seed, size, shape):
    *ends, scores = intervals(seed, size)
    found = parabola.under_clipped_slope(shape, *ends)
    assert (found.bend >= 0).all()
    assert depths(found, shape.value, scores).min() >= -1


def test_parabolas_of_hinge_are_those_that_meet_it_at_both_ends():
    """Touching at the kink with slope (R − 1)/2R in the margin, bend 1/R: a closed form."""
    reach = np.array([4.0])
    found = parabola.under_clipped_slope(
        SHAPES[0], 1 - reach, 1 + reach, np.ones(1), np.full(1, 50.0)
    )
    for end in (1 - reach, 1 + reach):
        met = found.value + found.slope * end + found.bend / 2 * end**2
        assert met <= SHAPES[0].value(end)
    # The best of nine slopes is near the best of all.
    assert 0.9 / 4 < found.bend[0] <= 1 / 4


def test_a_parabola_bent_as_the_function_is_at_its_place_does_not_lie_below():
    *ends, scores = intervals(0, 20.0)
    found = parabola.under_logistic(*ends)
    bent = np.exp(-np.logaddexp(0, found.contact) - np.logaddexp(0, -found.contact))
    assert depths(replace(found, bend=bent), lambda v: np.logaddexp(0, v), scores).min() < -1e6


def where_of(p, rng, radius, off):
    mean = off + rng.standard_normal(p) * radius / np.sqrt(p)
    root = rng.standard_normal((p, p)) * rng.choice([0.01, 1.0]) * radius / p
    return parabola.Where(off, radius, mean, root @ root.T)


def posed(name, rng, p):
    loss = SoftmaxLoss(int(rng.integers(2, 5))) if name == "softmax" else get_loss(name)
    return loss.empirical(*random_rows(loss, rng, p=p, row_bound=2.0))


@given(
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from([*LOSSES]),
    p=st.integers(1, 5),
    radius=st.sampled_from([0.01, 0.5, 4.0, 30.0]),
    shifted=st.booleans(),
)
@settings(max_examples=60)
def test_bowls_lie_below_the_loss_on_their_ball(seed, name, p, radius, shifted):
    rng = np.random.default_rng(seed)
    risk = posed(name, rng, p)
    p = risk.p
    off = shifted * rng.standard_normal(p)
    bowls = [parabola.bowl_under(risk, where_of(p, rng, radius, off)) for _ in range(2)]
    directions = rng.standard_normal((p, 300))
    directions *= radius / np.linalg.norm(directions, axis=0)
    theta = off[:, None] + directions * np.where(rng.random(300) < 0.5, 1.0, rng.random(300))
    value = risk.value(theta)
    for bowl in (*bowls, bowls[0].towards(bowls[1], rng.random())):
        assert (bowl.value(theta) <= value + 1e-12 * (1 + value)).all()
        seen = bowl.relative_to(off).value(theta - off[:, None])
        assert seen == pytest.approx(bowl.value(theta), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["logistic", "hinge", "smoothed_hinge", "softmax"])
def test_a_bowl_for_a_smaller_ball_is_above_the_loss_on_a_larger_one(name):
    rng = np.random.default_rng(3)
    risk = posed(name, rng, 3)
    zero = np.zeros(risk.p)
    bowl = parabola.bowl_under(risk, parabola.Where(zero, 1.0, zero, np.eye(risk.p)))
    directions = rng.standard_normal((risk.p, 300))
    theta = 60 * directions / np.linalg.norm(directions, axis=0)
    assert (bowl.value(theta) > risk.value(theta)).any()


def test_squared_loss_is_its_own_bowl():
    rng = np.random.default_rng(0)
    risk = get_loss("squared").empirical(*random_rows("squared", rng))
    bowl = parabola.bowl_under(risk, where_of(3, rng, 1.0, np.zeros(3)))
    theta = rng.standard_normal((3, 20))
    assert bowl.value(theta) == pytest.approx(risk.value(theta))


@pytest.mark.parametrize("classes", [2, 4])
def test_on_a_small_ball_the_bowl_of_classes_is_the_second_order_model(classes):
    rng = np.random.default_rng(classes)
    risk = SoftmaxLoss(classes).empirical(*random_rows(SoftmaxLoss(classes), rng))
    mean = rng.standard_normal(risk.p)
    bowl = parabola.bowl_under(risk, parabola.Where(mean, 1e-3, mean, np.eye(risk.p)))
    assert bowl.bend == pytest.approx(risk.hessian(mean), rel=2e-3, abs=1e-6)
    assert (np.linalg.eigvalsh(risk.hessian(mean) - bowl.bend) > -1e-12).all()
