"""Certificates of last iterates against chains whose laws are known exactly."""

import numpy as np
import pytest

from rashomon_explorer.papers.batch_theorems import (
    cyclic_convex,
    sgd_composition,
    sgd_convex,
    sgd_strongly_convex,
)
from rashomon_explorer.papers.theorems import exponential_mechanism_convex
from tests.mechanisms import chains

EPSILONS = (0.0, 0.1, 0.3, 1.0, 2.0)


def law_of(step, deviation, radius, steps, rates=(1.0,)):
    """Exact law of X ← clip(Σ rates_j N(step_j(X), deviation²)) from 0, with atoms at the ends."""
    places = np.linspace(-radius, radius, 403)
    law, moves = (places == 0).astype(float), {}
    for turn in range(steps):
        kinds = tuple(step(turn))
        if kinds not in moves:
            kernels = [chains.kernel(places, c * places + m, deviation) for c, m in kinds]
            moves[kinds] = np.tensordot(rates, kernels, 1)
        law = law @ moves[kinds]
    return law


def worst(one, other, claimed):
    """Largest excess of the exact δ over the claimed one, both ways."""
    return max(chains.delta(one, other, e) - claimed.delta(e) for e in EPSILONS)


@pytest.mark.parametrize("place", [0, 2])
def test_projected_chains_on_batches_in_turn_keep_theorem_4_6(place):
    """The record is in one of three batches; the other two have slope 0."""
    radius, eta, sensitivity, sigma, batches, epochs = 0.3, 0.1, 1.0, 0.7, 3, 30

    def step(turn, sign):
        return [(1.0, sign * eta * sensitivity / 2 if turn % batches == place else 0.0)]

    pair = [
        law_of(lambda turn, s=s: step(turn, s), eta * sigma, radius, batches * epochs)
        for s in (1, -1)
    ]
    settings = {"batch_size": 1, "batches_per_epoch": batches, "epochs": epochs, "sigma": sigma}
    domain = {"step_size": eta, "smoothness": 1.0}
    claimed = cyclic_convex(**settings, **domain, sensitivity=sensitivity, diameter=2 * radius)
    assert worst(*pair, claimed) <= 1e-9
    if place == 2:
        half = cyclic_convex(**settings, **domain, sensitivity=0.5, diameter=radius / 4)
        assert worst(*pair, half) > 0


@pytest.mark.parametrize("steps", [2, pytest.param(8, marks=pytest.mark.law), 60])
@pytest.mark.law
def test_sampled_chains_keep_theorems_4_8_to_4_10(steps):
    """Batches of one row out of four, drawn anew: the record's slope is ±L/2, the others' 0."""
    radius, eta, sensitivity, sigma, c = 1.0, 0.2, 1.0, 0.7, 0.8
    rates = (0.25, 0.75)
    settings = {"n": 4, "batch_size": 1, "n_steps": steps, "sensitivity": sensitivity}
    for factor in (c, 1.0):
        pair = [
            law_of(
                lambda _, s=s, f=factor: [(f, s * eta * sensitivity / 2), (f, 0.0)],
                eta * sigma,
                radius,
                steps,
                rates=rates,
            )
            for s in (1, -1)
        ]
        claims = [sgd_composition(**settings, sigma=sigma)]
        if factor < 1:
            claims.append(sgd_strongly_convex(**settings, sigma=sigma, contraction=c))
        domain = {"diameter": 2 * radius, "step_size": eta, "smoothness": 1.0}
        claims.append(sgd_convex(**settings, **domain, sigma=sigma))
        for claimed in claims:
            assert worst(*pair, claimed) <= 1e-9
        if steps == 2 and factor == 1.0:
            assert worst(*pair, sgd_composition(**settings, sigma=2 * sigma)) > 0


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_exponential_mechanisms_on_an_interval_keep_corollary_5_4(slope):
    """e^(∓Lx) on [−1, 1]: F is L-Lipschitz and convex, and D = 2."""
    grid = np.linspace(-1, 1, 4001)
    pair = [np.exp(s * slope * grid) for s in (1, -1)]
    pair = [law / law.sum() for law in pair]
    claimed = exponential_mechanism_convex(lipschitz=slope, diameter=2.0)
    assert worst(*pair, claimed) <= 1e-9
    assert worst(*pair, exponential_mechanism_convex(lipschitz=slope / 20, diameter=2.0)) > 0
