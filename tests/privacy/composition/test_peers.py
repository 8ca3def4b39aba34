"""Loss distributions against two other accountants, on Gaussians and on sampled Gaussians."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from rashomon_explorer.privacy.tradeoff import Composition, Gaussian
from rashomon_explorer.privacy.tradeoff.base import TradeOff

RATE, STEPS, DELTA = 0.01, 1000, 1e-5

# (lower, estimate, upper) of prv-accountant 0.2.0, delta_error 1e-10, at δ = 1e-5:
# PRVAccountant([prv], max_self_compositions=[1000], eps_error=0.01, delta_error=1e-10)
#     .compute_epsilon(delta=1e-5, num_self_compositions=[1000])
# with GaussianMechanism(noise_multiplier=1000**.5), and
# PoissonSubsampledGaussianMechanism(noise_multiplier=1, sampling_probability=.01).
PRV_GAUSSIAN = (4.36718, 4.37718, 4.38718)
PRV_SAMPLED = (1.81824, 1.82824, 1.83840)


class Sampled(TradeOff):
    """Poisson-sampled Gaussians with σ = 1, one direction: not symmetric, so no curve of ours."""

    def __init__(self, other):
        self.other = other  # where the second law's sampled record is: 0 if removed, −1 if replaced

    def delta(self, epsilon):
        """P(x > c) − e^ε Q(x > c) with c where the densities' ratio is e^ε; it grows with x."""
        flat = np.atleast_1d(np.asarray(epsilon, dtype=float))
        low, high = np.full(flat.shape, -2000.0), np.full(flat.shape, 2000.0)
        for _ in range(90):
            middle = (low + high) / 2
            below = self._log_ratio(middle) < flat
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        second = (1 - RATE) * ndtr(-high) + RATE * ndtr(self.other - high)
        first = (1 - RATE) * ndtr(-high) + RATE * ndtr(1 - high)
        delta = first - np.exp(np.minimum(flat, 700)) * second
        return np.clip(delta, 0, 1).reshape(np.shape(epsilon))[()]

    def _log_ratio(self, x):
        first = np.logaddexp(math.log1p(-RATE), math.log(RATE) + x - 0.5)
        if self.other == 0:
            return first
        return first - np.logaddexp(math.log1p(-RATE), math.log(RATE) - x - 0.5)

    def _profile(self, epsilon):
        return self.delta(epsilon)

    def to_dict(self):
        raise NotImplementedError


def test_a_thousand_gaussians():
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    google = PLDAccountant().compose(GaussianDpEvent(math.sqrt(STEPS)), STEPS)
    ours = Composition(((Gaussian(1 / math.sqrt(STEPS)), STEPS),)).epsilon(DELTA)
    exact = Gaussian(1.0).epsilon(DELTA)
    assert exact == pytest.approx(4.37718, abs=1e-5)
    assert exact <= ours <= exact + 1e-3
    assert google.get_epsilon(DELTA) == pytest.approx(ours, abs=1e-3)
    assert PRV_GAUSSIAN[0] <= exact <= PRV_GAUSSIAN[2]
    assert PRV_GAUSSIAN[1] == pytest.approx(ours, abs=1e-3)


@pytest.mark.parametrize(
    ("relation", "other", "known"), [("ADD_OR_REMOVE_ONE", 0, 1.8282), ("REPLACE_ONE", -1, 2.8434)]
)
def test_a_thousand_sampled_gaussians(relation, other, known):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    event = dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(1.0))
    google = PLDAccountant(getattr(dp_accounting.NeighboringRelation, relation))
    google.compose(event, STEPS)
    ours = Composition(((Sampled(other), STEPS),)).epsilon(DELTA)
    assert google.get_epsilon(DELTA) == pytest.approx(known, abs=1e-4)
    assert ours == pytest.approx(known, abs=2e-3)
    if other == 0:
        assert PRV_SAMPLED[0] <= ours <= PRV_SAMPLED[2]
        assert PRV_SAMPLED[1] == pytest.approx(ours, abs=2e-3)
