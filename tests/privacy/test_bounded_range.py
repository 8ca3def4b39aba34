"""Bounded range composes as proved: brute force over its worst pairs, adaptively chosen."""

import math

import numpy as np
import pytest

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.privacy import bounded_range, compose
from tests.privacy.analysts import adversary

ORDERS = np.concatenate([1 + np.geomspace(1e-3, 1, 20), np.geomspace(2.1, 200, 40)])


def two_point(eta: float, t: float) -> float:
    """P(log ratio = t) of the pair whose log ratios are t and t − η, both of mass 1."""
    return (math.exp(eta) - math.exp(t)) / math.expm1(eta)


def renyi(p: FloatArray, q: FloatArray, order: float) -> float:
    terms = np.where(p > 0, order * np.log(np.maximum(p, 1e-300)) - (order - 1) * np.log(q), -1e9)
    top = terms.max()
    return float((top + np.log(np.exp(terms - top).sum())) / (order - 1))


def worst_excess(eta: float, rho: float) -> float:
    """Largest D_α(P‖Q) − αρ over η-bounded-range pairs of two and of many points."""
    rng = np.random.default_rng(0)
    pairs = []
    for share in np.linspace(0.01, 0.99, 25):
        p = two_point(eta, share * eta)
        ratio = np.array([share * eta, (share - 1) * eta])
        pairs.append((np.array([p, 1 - p]), ratio))
    for _ in range(20):  # any ratios within η, shifted so that Q sums to one
        p = rng.dirichlet(np.ones(6) * rng.choice([0.1, 1.0]))
        raw = eta * rng.random(6)
        pairs.append((p, raw + math.log((p * np.exp(-raw)).sum())))
    return max(renyi(p, p * np.exp(-r), a) - a * rho for p, r in pairs for a in ORDERS)


@pytest.mark.parametrize("eta", [0.05, 0.5, 2.0, 6.0])
def test_no_pair_has_more_renyi_divergence(eta: float) -> None:
    assert worst_excess(eta, bounded_range(eta).rho) <= 1e-9
    # The controls: half of the range, and a tenth less of ρ for a small one.
    assert worst_excess(eta, bounded_range(eta / 2).rho) > 0
    assert eta > 0.5 or worst_excess(eta, 0.9 * bounded_range(eta).rho) > 0


def test_one_step_of_the_adversary_is_the_best_pair() -> None:
    eta, epsilon = 1.0, 0.2
    best = max(two_point(eta, t) * -math.expm1(epsilon - t) for t in np.linspace(epsilon, eta, 999))
    assert adversary(eta, 1, epsilon, steps=200) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize(("eta", "k"), [(0.1, 40), (1.0, 5), (1.0, 1), (3.0, 3)])
def test_composition_covers_the_adaptive_adversary_and_of_half_the_range_does_not(eta, k) -> None:
    claimed, half = compose([bounded_range(eta)] * k), compose([bounded_range(eta / 2)] * k)
    caught = False
    for share in np.linspace(0.0, 1.0, 11):
        epsilon = share * k * eta
        delta = adversary(eta, k, epsilon)
        assert delta <= claimed.delta(epsilon) * (1 + 1e-9) + 1e-15
        if 0 < delta < 1:
            assert epsilon <= claimed.epsilon(delta) * (1 + 1e-9) + 1e-12
        caught = caught or delta > half.delta(epsilon)
    assert caught
