"""Diagnostics of chains: the effective size of known chains."""

import numpy as np
import pytest

from rashomon_explorer.measures.stopping import effective_size


def autoregression(rho, shape, seed=0):
    """Chains with unit variance and correlation ρ between neighbours: ESS is n(1 − ρ)/(1 + ρ)."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(shape)
    chains = np.empty(shape)
    chains[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return chains


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_correlated_draws_count_for_as_many_as_they_are_worth(rho):
    sizes = [effective_size(autoregression(rho, (4, 4000), seed)) for seed in range(4)]
    assert np.mean(sizes) == pytest.approx(16_000 * (1 - rho) / (1 + rho), rel=0.15)


def test_a_single_chain_is_cut_in_two_and_a_constant_has_no_size():
    still = np.random.default_rng(0).standard_normal((1, 1000))
    assert effective_size(still) > 800
    assert effective_size(still + np.linspace(0, 4, 1000)) < 20
    assert np.isnan(effective_size(np.ones((2, 50))))
