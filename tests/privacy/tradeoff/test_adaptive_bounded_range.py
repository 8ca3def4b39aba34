"""Mechanisms of bounded range chosen as one goes: above every analyst, below what zCDP proves."""

import numpy as np
import pytest

from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.privacy.tradeoff import (
    AdaptiveBoundedRange,
    BoundedRange,
    RepeatedBoundedRange,
)
from rashomon_explorer.privacy.tradeoff.curves import from_dict
from tests.privacy.analysts import adversary

CASES = [(0.2, 12), (0.5, 8), (1.0, 4), (3.0, 3), (2.0, 1)]


@pytest.mark.parametrize(("eta", "count"), CASES)
@pytest.mark.parametrize("share", [0.0, 0.15, 0.4, 0.8])
def test_it_covers_the_best_analyst_closely(eta, count, share):
    epsilon = share * count * eta
    reached = adversary(eta, count, epsilon, steps=24)
    claimed = float(AdaptiveBoundedRange(eta, count).delta(epsilon))
    assert reached <= claimed
    # The analyst on a grid is somewhat below the best, the claim somewhat above.
    assert claimed <= reached * 1.05 or claimed < 1e-4


@pytest.mark.parametrize(("eta", "count"), CASES)
def test_half_the_range_is_caught(eta, count):
    claimed = AdaptiveBoundedRange(eta / 2, count)
    epsilon = 0.15 * count * eta
    assert adversary(eta, count, epsilon, steps=12) > 1.3 * float(claimed.delta(epsilon))


def test_choosing_as_one_goes_gains_something():
    """Why the optimum of independent draws must not be used for an analyst who looks."""
    fixed = float(RepeatedBoundedRange(0.5, 8).delta(2.4))
    assert adversary(0.5, 8, 2.4, steps=24) > 1.1 * fixed


@pytest.mark.parametrize(("eta", "count"), [*CASES, (0.1, 100), (20.0, 30)])
def test_it_lies_between_independent_draws_and_the_plain_sums(eta, count):
    curve, fixed = AdaptiveBoundedRange(eta, count), RepeatedBoundedRange(eta, count)
    for delta in (1e-3, 1e-6):
        epsilon = curve.epsilon(delta)
        assert fixed.epsilon(delta) <= epsilon <= count * eta
        if eta <= 3:
            assert epsilon < zcdp_epsilon(count * eta**2 / 8, delta)
    assert curve.epsilon(1e-6) == pytest.approx(fixed.epsilon(1e-6), rel=0.02)


def test_one_mechanism_is_the_closed_form_from_above():
    epsilon = np.linspace(0, 1, 57)
    found, exact = AdaptiveBoundedRange(1.0, 1).delta(epsilon), BoundedRange(1.0).delta(epsilon)
    assert np.all(found >= exact)
    assert found == pytest.approx(exact, abs=1e-4)


def test_a_profile_falls_and_a_curve_is_no_worse_than_guessing():
    curve = AdaptiveBoundedRange(0.4, 6)
    assert np.all(np.diff(curve.delta(np.linspace(0, 2.4, 400))) <= 0)
    alpha = np.linspace(0, 1, 50)
    assert np.all(curve(alpha) <= 1 - alpha)
    assert curve.delta(6 * 0.4) == 0 and AdaptiveBoundedRange(0.0, 3).epsilon(1e-9) == 0
    assert from_dict(curve.to_dict()) == curve


@pytest.mark.parametrize(
    ("eta", "count", "message"),
    [(0.1, 401, "at most 400, got 401"), (10.0, 61, "at most 600.0, got 610"), (-1, 2, "eta must")],
)
def test_too_much_work_is_refused(eta, count, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveBoundedRange(eta, count)
