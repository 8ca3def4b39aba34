"""Diagnostics of chains: the size of known chains, containers for ArviZ, and what is refused."""

from dataclasses import replace
from itertools import islice

import arviz_stats
import numpy as np
import pytest

from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
from rashomon_explorer.sets.linear import effective_size, to_data_tree
from tests.mechanisms.samplers.laws import small_problem, uniform_target


def autoregression(rho, shape, seed=0):
    """Chains with unit variance and correlation ρ between neighbours: ESS is n(1 − ρ)/(1 + ρ)."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(shape)
    chains = np.empty(shape)
    chains[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return chains


DRAWS = np.zeros((2, 10, 2))


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (200, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(200) > 0).astype(int)
    settings = {"psi": 0.05, "epsilon": 20.0, "n_draws": 12, "mechanism": "exact"}
    return RashomonClassifier(**settings, random_state=0).fit(X, y).rashomon_set_


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_correlated_draws_count_for_as_many_as_they_are_worth(rho):
    found = [effective_size(autoregression(rho, (4, 4000), seed)) for seed in range(4)]
    assert np.mean(found) == pytest.approx(16_000 * (1 - rho) / (1 + rho), rel=0.15)


def test_a_single_chain_is_cut_in_two_and_a_constant_has_no_size():
    still = np.random.default_rng(0).standard_normal((1, 1000))
    assert effective_size(still) > 800
    assert effective_size(still + np.linspace(0, 4, 1000)) < 20
    assert np.isnan(effective_size(np.ones((2, 50))))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: effective_size(np.zeros((0, 100))), "none of them 0"),
        (lambda m: effective_size(np.zeros((2, 3))), "at least 4 draws each, got 3"),
        (lambda m: effective_size(np.zeros((1, 7))), "at least 8 draws each, got 7"),
        (lambda m: effective_size(np.full((2, 10), np.nan)), "draws must be finite"),
        (lambda m: to_data_tree(DRAWS, losses=DRAWS[..., 0], names=["age"]), "name 2 parameters"),
        (lambda m: to_data_tree(DRAWS, losses=np.zeros((2, 9))), "losses must have the shape"),
        (lambda m: m.to_arviz(n_chains=0), "must divide the 12 draws"),
        (lambda m: m.to_arviz(n_chains=5), "must divide the 12 draws"),
        (lambda m: m.to_arviz(n_chains=24), "must divide the 12 draws"),
    ],
)
def test_bad_chains_are_refused(models, call, message):
    with pytest.raises(ValueError, match=message):
        call(models)


def test_a_set_goes_to_arviz_and_its_functions_read_it(models):
    tree = models.to_arviz()
    np.testing.assert_array_equal(tree["posterior"]["coef"].values[0], models.coef)
    np.testing.assert_array_equal(tree["sample_stats"]["loss"].values[0], models.losses)
    assert list(tree["posterior"]["parameter"].values) == list(models.feature_names)
    assert (tree.attrs["view"], tree.attrs["mechanism"]) == ("curator: not private", "exact")
    assert (tree.attrs["psi"], tree.attrs["beta"]) == (models.psi, models.beta)
    assert tree.attrs["guarantee"] == str(models.guarantee)
    chains = models.to_arviz(n_chains=3)
    assert chains["posterior"]["coef"].values.shape == (3, 4, 3)
    assert np.isfinite(arviz_stats.rhat(chains)["coef"].values).all()


def test_chains_of_a_sampler_are_told_apart(models):
    target = uniform_target(small_problem(2), psi=0.05)
    sampler = HitAndRunSampler(n_chains=4, burn_in=10, thin=1)
    draws = collect(sampler, target, 40, np.random.default_rng(0))
    stepped = sampler.batches(target, np.random.default_rng(0))
    batches = list(islice((batch for batch in stepped if len(batch.losses)), 10))
    given = replace(models, coef=draws.coef, losses=draws.losses, feature_names=("x", "y"))
    tree = given.to_arviz(n_chains=4)
    for chain in range(4):
        visited = np.array([batch.theta[:, chain] for batch in batches])
        found = tree["posterior"]["coef"].values[chain]
        np.testing.assert_allclose(found, visited, atol=2.0**-20)
        losses = [batch.losses[chain] for batch in batches]
        np.testing.assert_array_equal(tree["sample_stats"]["loss"].values[chain], losses)
