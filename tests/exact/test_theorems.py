"""Noisy gradient descent and Langevin laws: each theorem's number, written out beside it."""

import math

import pytest

from rashomon_explorer.papers import batch_theorems as b
from rashomon_explorer.papers import theorems as t
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled, compose_tradeoffs
from tests.exact.conftest import exactly

FULL = {"sensitivity": 2.0, "n": 100, "sigma": 0.1}  # s = 0.2
BATCH = {"sensitivity": 2.0, "batch_size": 10, "sigma": 0.5}  # s = 0.4
DOMAIN = {"diameter": 1.0, "step_size": 0.5, "smoothness": 4.0}


def test_gradient_descent():
    assert t.gd_composition(**FULL, n_steps=9).mu == exactly(0.6)
    steps = (1 - 0.9**9) / (1 + 0.9**9) * 1.9 / 0.1
    found = t.gd_strongly_convex(**FULL, contraction=0.9, n_steps=9)
    assert found.mu == exactly(0.2 * math.sqrt(steps))
    # c = max(1 − ηm, ηM − 1)
    assert t.contraction_factor(ridge=0.4, smoothness=4.0, step_size=0.25) == exactly(0.9)
    assert t.contraction_factor(ridge=1.0, smoothness=4.0, step_size=0.45) == exactly(0.8)
    needed = 1.0 * 100 / (0.5 * 2.0)
    mu = math.sqrt(3 * 0.2 * 1.0 / (0.5 * 0.1) + 0.04 * math.ceil(needed))
    assert t.gd_convex(**FULL, **DOMAIN, n_steps=1000).mu == exactly(mu)


def test_batches_in_turn():
    assert b.cyclic_composition(**BATCH, epochs=9).mu == exactly(1.2)
    c, batches, epochs = 0.9, 4, 3
    found = b.cyclic_strongly_convex(
        **BATCH, contraction=c, batches_per_epoch=batches, epochs=epochs
    )
    weight = c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2
    faded = c ** (batches * (epochs - 1))
    assert found.mu == exactly(0.4 * math.sqrt(1 + weight * (1 - faded) / (1 + faded)))
    needed = 1.0 * 10 / (0.5 * 2.0)
    far = 1.0 / (0.5 * 0.5)
    square = 0.16 + (3 * 0.4 * far + 0.16 * math.ceil(needed)) / 4
    found = b.cyclic_convex(**BATCH, **DOMAIN, batches_per_epoch=4, epochs=100)
    assert found.mu == exactly(math.sqrt(square))


def test_batches_drawn_anew():
    sampled = {**BATCH, "n": 100}
    paid = b.sgd_composition(**sampled, n_steps=1)
    assert paid.epsilon(1e-5) == pytest.approx(Subsampled(Gaussian(0.4), 0.1).epsilon(1e-5))
    assert b.sgd_composition(**sampled, n_steps=9).mu == exactly(1.2)
    found = b.sgd_strongly_convex(**sampled, contraction=0.5, n_steps=6, tau=3)
    wide = 2 * math.sqrt(2) * 0.4
    start = wide * (0.5**4 - 0.5**6) / 0.5
    assert found.mu == exactly(math.sqrt(start**2 + wide**2 + 3 * 0.8**2))
    parts = [Gaussian(start), Subsampled(Gaussian(wide), 0.1), (Subsampled(Gaussian(0.8), 0.1), 3)]
    assert found.epsilon(1e-5) == pytest.approx(compose_tradeoffs(parts).epsilon(1e-5), rel=1e-6)
    convex = b.sgd_convex(**sampled, **DOMAIN, n_steps=6, tau=3)
    start = math.sqrt(2 / 3) * 1.0 / (0.5 * 0.5)
    assert convex.mu == exactly(math.sqrt(start**2 + 3 * wide**2))


def test_laws_and_their_chains():
    convex = t.exponential_mechanism_convex
    assert convex(lipschitz=0.5, diameter=2.0).mu == exactly(2.0)
    chain = convex(lipschitz=0.5, diameter=2.0, step_size=0.1, smoothness=4.0)
    assert chain.mu == exactly(math.sqrt(4.0 + 0.05))
    strong = t.exponential_mechanism_strongly_convex
    assert strong(sensitivity=0.3, ridge=0.25).mu == exactly(0.6)
    found = t.lmc(sensitivity=0.3, ridge=0.25, smoothness=4.0, step_size=0.4)
    assert found.mu == exactly(math.sqrt((2 - 0.4 * 0.25) / 2) * 0.6)
