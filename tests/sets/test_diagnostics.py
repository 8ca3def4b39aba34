"""Diagnostics of chains: by law, beside a split R-hat written by hand, and what they refuse."""

import subprocess
import sys
import tomllib
from dataclasses import replace
from itertools import islice
from pathlib import Path

import arviz_stats
import numpy as np
import pytest
from packaging.requirements import Requirement
from scipy.special import ndtri
from scipy.stats import rankdata

from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.samplers.base import collect
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.sets.diagnostics import chain_diagnostics, to_data_tree
from tests.mechanisms.samplers.laws import small_problem, uniform_target

ROOT = Path(__file__).resolve().parents[2]


def autoregression(rho, shape, seed=0):
    """Chains with unit variance and correlation ρ between neighbours: ESS is n(1 − ρ)/(1 + ρ)."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(shape)
    chains = np.empty(shape)
    chains[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        chains[:, t] = rho * chains[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return chains


def split_r_hat(values):
    """√(pooled variance / within variance) of half chains (n_chains, n_draws)."""
    half = values.shape[1] // 2
    parts = np.concatenate([values[:, :half], values[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean()
    between = half * parts.mean(axis=1).var(ddof=1)
    return np.sqrt(((half - 1) / half * within + between / half) / within)


def rank_r_hat(values):
    """The larger split R-hat of the normal scores of the values and of their folds."""

    def scores(x):
        half = x.shape[1] // 2
        x = np.concatenate([x[:, :half], x[:, -half:]])
        return ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))

    def plain(parts):
        length = parts.shape[1]
        within = parts.var(axis=1, ddof=1).mean()
        between = length * parts.mean(axis=1).var(ddof=1)
        return np.sqrt(((length - 1) / length * within + between / length) / within)

    return max(plain(scores(values)), plain(scores(np.abs(values - np.median(values)))))


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (200, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(200) > 0).astype(int)
    return RashomonClassifier(
        psi=0.05, epsilon=20.0, n_draws=12, mechanism="exact", random_state=0
    ).fit(X, y)


def test_independent_draws_look_mixed():
    draws = np.random.default_rng(0).standard_normal((4, 1000, 5))
    table = chain_diagnostics(draws)
    assert list(table.columns) == ["r_hat", "ess_bulk", "ess_tail"]
    assert list(table.index) == ["x0", "x1", "x2", "x3", "x4"]
    assert np.all(np.abs(table["r_hat"] - 1) < 0.01)
    assert np.all(table["ess_bulk"].between(3000, 5000))
    assert np.all(table["ess_tail"].between(3000, 5000))


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_correlated_draws_count_for_as_many_as_they_are_worth(rho):
    found = chain_diagnostics(autoregression(rho, (4, 4000, 4)))["ess_bulk"].mean()
    assert found == pytest.approx(16_000 * (1 - rho) / (1 + rho), rel=0.15)


def test_chains_at_different_places_or_of_different_spread_are_seen():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4, 500, 3))
    draws[0, :, 0] += 3.0
    draws[0, :, 1] *= 5.0
    table = chain_diagnostics(draws, ["moved", "wide", "well"])
    assert table.loc["moved", "r_hat"] > 1.2
    assert table.loc["wide", "r_hat"] > 1.05
    assert table.loc["well", "r_hat"] < 1.01
    assert table.loc["moved", "ess_bulk"] < 100


@pytest.mark.parametrize("shape", [(2, 8), (3, 10), (4, 50)])
def test_r_hat_is_the_one_written_by_hand(shape):
    values = np.random.default_rng(1).standard_normal(shape) + np.arange(shape[0])[:, None]
    found = chain_diagnostics(values[:, :, None])["r_hat"].iloc[0]
    assert found == pytest.approx(rank_r_hat(values), rel=1e-10)
    # Ranks of normal draws are nearly the draws: the classical one is near.
    assert found == pytest.approx(split_r_hat(values), rel=0.35)


def test_ranks_make_it_blind_to_a_change_of_scale():
    draws = np.random.default_rng(2).standard_normal((4, 100, 1))
    bulk = chain_diagnostics(draws)["ess_bulk"].iloc[0]
    assert chain_diagnostics(np.exp(3 * draws))["ess_bulk"].iloc[0] == pytest.approx(bulk)


def test_a_single_chain_is_cut_in_two():
    rng = np.random.default_rng(0)
    still = rng.standard_normal((1, 1000, 1))
    moving = still + np.linspace(0, 4, 1000)[:, None]
    assert chain_diagnostics(still)["r_hat"].iloc[0] < 1.01
    assert chain_diagnostics(moving)["r_hat"].iloc[0] > 1.2


def test_a_parameter_that_never_moves_has_no_number():
    draws = np.random.default_rng(0).standard_normal((2, 50, 2))
    draws[:, :, 1] = 0.25
    table = chain_diagnostics(draws)
    assert table.loc["x0"].notna().all()
    assert table.loc["x1"].isna().all()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((4, 100), r"shape \(n_chains, n_draws, n_parameters\)"),
        ((0, 100, 2), "none of them 0"),
        ((2, 3, 1), "at least 4 draws each, got 3"),
        ((1, 7, 1), "at least 8 draws each, got 7"),
    ],
)
def test_other_shapes_are_refused(shape, words):
    with pytest.raises(ValueError, match=words):
        chain_diagnostics(np.zeros(shape))


def test_values_and_names_are_checked():
    draws = np.zeros((2, 10, 2))
    with pytest.raises(ValueError, match="names must name 2 parameters, got 1"):
        chain_diagnostics(draws, ["age"])
    draws[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="draws must be finite"):
        chain_diagnostics(draws)
    with pytest.raises(ValueError, match="losses must have the shape"):
        to_data_tree(draws, losses=np.zeros((2, 9)))


def test_a_set_goes_to_arviz_and_its_functions_read_it(models):
    given = models.rashomon_set_
    tree = given.to_arviz()
    np.testing.assert_array_equal(tree["posterior"]["coef"].values[0], given.coef)
    np.testing.assert_array_equal(tree["sample_stats"]["loss"].values[0], given.losses)
    assert list(tree["posterior"]["parameter"].values) == list(given.feature_names)
    assert tree.attrs["view"] == "curator: not private"
    assert tree.attrs["psi"] == given.psi
    assert tree.attrs["beta"] == given.beta
    assert tree.attrs["mechanism"] == "exact"
    assert tree.attrs["guarantee"] == str(given.guarantee)


def test_arviz_finds_in_the_tree_what_the_table_says(models):
    tree = models.rashomon_set_.to_arviz(n_chains=3)
    chains = tree["posterior"]["coef"].values
    assert chains.shape == (3, 4, 3)
    found = arviz_stats.rhat(tree)["coef"].values
    np.testing.assert_allclose(found, chain_diagnostics(chains)["r_hat"], rtol=1e-12)


def test_chains_of_a_sampler_are_told_apart(models):
    target = uniform_target(small_problem(2), psi=0.05)
    sampler = HitAndRunSampler(n_chains=4, burn_in=10, thin=1)
    draws = collect(sampler, target, 40, np.random.default_rng(0))
    stepped = sampler.batches(target, np.random.default_rng(0))
    batches = list(islice((batch for batch in stepped if len(batch.losses)), 10))
    given = replace(
        models.rashomon_set_, coef=draws.coef, losses=draws.losses, feature_names=("x", "y")
    )
    tree = given.to_arviz(n_chains=4)
    for chain in range(4):
        visited = np.array([batch.theta[:, chain] for batch in batches])
        found = tree["posterior"]["coef"].values[chain]
        np.testing.assert_allclose(found, visited, atol=2.0**-20)
        losses = [batch.losses[chain] for batch in batches]
        np.testing.assert_array_equal(tree["sample_stats"]["loss"].values[chain], losses)


@pytest.mark.parametrize("n_chains", [0, 5, 24])
def test_unequal_chains_are_refused(models, n_chains):
    with pytest.raises(ValueError, match="must divide the 12 draws"):
        models.rashomon_set_.to_arviz(n_chains=n_chains)


def test_a_release_has_no_diagnostics(models):
    with pytest.raises(CuratorOnlyError, match="to_arviz is computed from private rows"):
        models.rashomon_set_.release().to_arviz()


def test_without_arviz_the_error_says_what_to_install(monkeypatch, models):
    for name in ("arviz_stats", "arviz_stats.base", "arviz_base"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'rashomon-explorer\[diagnostics\]'"):
        chain_diagnostics(np.zeros((2, 10, 1)))
    with pytest.raises(ImportError, match=r"pip install 'rashomon-explorer\[diagnostics\]'"):
        models.rashomon_set_.to_arviz()


def test_importing_diagnostics_does_not_import_arviz():
    code = (
        "import rashomon_explorer.sets.diagnostics, rashomon_explorer.sets, sys; "
        "print([m for m in ('arviz_stats', 'arviz_base', 'xarray') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_tests_install_what_the_extra_does():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        name: {str(Requirement(line)) for line in lines}
        for name, lines in project["optional-dependencies"].items()
    }
    assert extras["diagnostics"] <= extras["test"]
