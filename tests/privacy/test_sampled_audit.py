"""Audit of the whole road, from rows to rounded draws: a lower bound of ε from samples."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betaincinv

from rashomon_explorer import RashomonClassifier, RashomonRegressor

FloatArray = NDArray[np.float64]

DRAWS, ETA = 20_000, 2.0
CONFIDENCE = 1e-6  # chance that a true bound is reported as broken


def draws(kind: type, flipped: bool, price: float) -> FloatArray:
    """Position of every draw along the direction in which the neighbours differ most."""
    rows, y = np.ones((3, 1)), [-1.0, -1.0 if flipped else 1.0, 1.0]
    model = kind(
        psi=0.01,
        epsilon=price * DRAWS,
        delta=0.0,
        n_draws=DRAWS,
        radius=1.0,
        random_state=int(flipped),  # two seeds, or the neighbours would share their noise
    )
    coef = model.fit(rows, y).rashomon_set_.coef
    return np.asarray(coef.sum(axis=1) / math.sqrt(2))


def least_epsilon(one: FloatArray, other: FloatArray) -> float:
    """Clopper–Pearson lower bound of the largest log ratio of an event's probabilities.

    The event is picked on the first half of the draws and counted on the second.
    """
    half = len(one) // 2

    def ratio(level: float, a: FloatArray, b: FloatArray) -> float:
        hits, misses = int((a <= level).sum()), int((b <= level).sum())
        low = betaincinv(hits, len(a) - hits + 1, CONFIDENCE / 2) if hits else 0.0
        high = betaincinv(misses + 1, len(b) - misses, 1 - CONFIDENCE / 2)
        return math.log(max(low, 1e-300) / high)

    levels = np.quantile(np.concatenate([one, other]), np.linspace(0.005, 0.9, 60))
    level = max(levels, key=lambda at: ratio(at, one[:half], other[:half]))
    return ratio(level, one[half:], other[half:])


@pytest.mark.law
@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_sampled_draws_leak_no_more_than_their_price(kind: type) -> None:
    found = least_epsilon(draws(kind, True, ETA), draws(kind, False, ETA))
    assert 0.1 * ETA < found <= ETA


@pytest.mark.law
@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_draws_at_six_times_the_temperature_are_caught(kind: type) -> None:
    """Negative control: draws bought at 6η and sold as η."""
    assert least_epsilon(draws(kind, True, 6 * ETA), draws(kind, False, 6 * ETA)) > ETA
