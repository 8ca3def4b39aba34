"""Random allocation: closed form, quadrature, an adaptive adversary and samples."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from rashomon_explorer.privacy import tradeoff
from rashomon_explorer.privacy.tradeoff.allocation import epoch_delta


def normal_grid(shift, size):
    """Points of a standard normal variable and their masses, for means up to ``shift``."""
    w, step = np.linspace(-9 - shift, 9 + shift, size, retstep=True)
    return w, np.exp(-(w**2) / 2) * step / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("shift", [0.01, 0.3, 1.0, 3.0])
def test_one_batch_is_gaussian(shift):
    for multiple in (0.0, 0.5, 2.0, 6.0):
        epsilon = multiple * shift
        exact = float(tradeoff.Gaussian(2 * shift).delta(epsilon))
        assert 1 <= epoch_delta(shift, 1, epsilon) / exact <= 1 + 1e-3
        assert epoch_delta(shift / 2, 1, epsilon) < exact  # the control: twice the noise
    curve = tradeoff.AllocatedBatches(1 / shift, 1)
    assert curve.epsilon(1e-6) == pytest.approx(tradeoff.Gaussian(2 * shift).epsilon(1e-6))
    assert tradeoff.AllocatedBatches(0.1, 8).epsilon(1e-6) == pytest.approx(
        tradeoff.Gaussian(20.0).epsilon(1e-6)
    )


@pytest.mark.parametrize("shift", [0.1, 1.0, 2.0])
def test_two_batches_are_a_double_integral(shift):
    w, mass = normal_grid(shift, 2001)
    for multiple in (0.0, 1.0, 3.0):
        epsilon = multiple * shift
        term = np.exp(shift * w - shift**2 / 2) - np.exp(epsilon - shift**2 / 2 - shift * w)
        exact = mass @ np.maximum(0.0, term[:, None] + term) @ mass / 2
        bound = epoch_delta(shift, 2, epsilon)
        assert 1 - 2e-5 <= bound / exact <= 1 + 3e-3
        assert epoch_delta(shift / 2, 2, epsilon) < 0.9 * exact  # the control
    if shift == 1.0:
        chord = tradeoff.AllocatedBatches(1 / shift, 2).delta(epsilon)
        assert bound * (1 - 1e-12) <= chord <= bound * (1 + 2e-3)


@pytest.mark.parametrize(("shift", "epsilon"), [(1.0, 0.0), (1.0, 1.5), (0.5, 0.4)])
def test_no_adversary_who_sees_the_first_step_tells_more(shift, epsilon):
    """Contributions of any size and angle to the second step, the best after each first result."""
    claim = epoch_delta(shift, 2, epsilon)
    w, mass = normal_grid(shift, 61)
    fine, fine_mass = normal_grid(shift, 241)
    x, y = np.meshgrid(fine, fine)
    near = x**2 + y**2 < 49
    plane, x, y = np.outer(fine_mass, fine_mass)[near], x[near], y[near]
    odds, sizes = math.exp(epsilon), (0.0, 0.6 * shift, shift)
    actions = [
        np.exp(a * x - a**2 / 2)
        - odds * np.exp(b * (x * math.cos(angle) + y * math.sin(angle)) - b**2 / 2)
        for a, b, angle in product(sizes, sizes, np.linspace(0.0, math.pi, 3))
    ]
    best = []
    for a, b in shift * np.array([(1.0, -1.0), (1.0, 0.0), (0.3, -1.0), (1.0, 1.0)]):
        earlier = np.exp(a * w - a**2 / 2) - odds * np.exp(b * w - b**2 / 2)
        gains = [max(plane @ np.maximum(0.0, k + action) for action in actions) for k in earlier]
        best.append(mass @ gains / 2)
    assert max(best) <= claim * (1 + 2e-3)  # the grid's error
    assert best[0] >= claim * (1 - 2e-3)
    assert best[0] > 1.05 * epoch_delta(shift / 2, 2, epsilon)  # the control


MANY = [pytest.param(m, k, 0.2 * m, marks=pytest.mark.law) for m, k in ((0.3, 100), (3.0, 1000))]


@pytest.mark.parametrize(
    ("shift", "count", "epsilon"), [(0.5, 8, 0.3), (1.0, 8, 0.0), (1.0, 8, 1.5), *MANY]
)
def test_batches_are_as_sampled(shift, count, epsilon):
    noise = np.random.default_rng(7).standard_normal((40_000, count))
    noise[:, 0] += shift
    loss = logsumexp(shift * noise, axis=1) - logsumexp(-shift * noise, axis=1)
    values = np.maximum(0.0, -np.expm1(epsilon - loss))
    mean, error = values.mean(), values.std() / math.sqrt(len(values))
    assert mean - 5 * error <= epoch_delta(shift, count, epsilon) <= (mean + 5 * error) * 1.01
    assert epoch_delta(shift / 2, count, epsilon) < mean - 5 * error  # the control


def test_cost_falls_with_noise_and_batches():
    for epsilon in (0.0, 0.7, 3.0):
        by_noise = [epoch_delta(1 / sigma, 16, epsilon) for sigma in (0.5, 1.0, 1.1, 4.0)]
        by_batches = [epoch_delta(1.0, batches, epsilon) for batches in (1, 2, 3, 16, 200, 3000)]
        assert np.all(np.diff(by_noise) < 0) and np.all(np.diff(by_batches) < 0)


@pytest.mark.slow
def test_several_epochs_cost_about_what_poisson_samples_do():
    epoch = tradeoff.AllocatedBatches(1.0, 16)
    curves = [tradeoff.compose_tradeoffs([(epoch, count)]) for count in (1, 2, 10)]
    costs = [curve.epsilon(1e-5) for curve in curves]
    assert np.all(np.diff(costs) > 0)
    assert 0.9 < costs[2] / tradeoff.PoissonSampled(1.0, 1 / 16, 160).epsilon(1e-5) < 1.01
    assert costs[2] < 0.5 * tradeoff.Gaussian(2 * math.sqrt(10)).epsilon(1e-5)
    assert curves[2].rho == pytest.approx(20.0)
