"""Uniform models of a level set: the law of a grid, with and without steps of hit-and-run."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rashomon_explorer import measures as m
from rashomon_explorer.mechanisms import hit_and_run

N_MODELS = 16_000


@pytest.fixture(scope="module")
def skewed():
    """A level that few rows have, so that the set is no ellipsoid; its grid of models."""
    X = (np.arange(60) < 3)[:, None].astype(float)
    y = (np.arange(60) % 3 == 0) ^ (np.arange(60) < 2)
    problem = m.penalised_problem(LogisticRegression(C=100.0, tol=1e-10).fit(X, y), X, y)
    psi = 0.05
    ends = m.exact_coefficient_ranges(problem, psi)
    axes = [np.linspace(*ends.loc[name, ["low", "high"]].astype(float), 301) for name in ends.index]
    grid = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(2, -1)
    inside = problem.value(grid) <= problem.minimum.value + psi
    return problem, psi, grid[:, inside].T


def distance(models, grid):
    """Largest distance of first and second moments, in standard errors."""
    moments = [
        np.column_stack([t, t**2, t[:, :1] * t[:, 1:]])
        for t in (each - grid.mean(axis=0) for each in (models, grid))
    ]
    error = moments[1].std(axis=0) / np.sqrt(len(models))
    return np.abs((moments[0].mean(axis=0) - moments[1].mean(axis=0)) / error).max()


@pytest.mark.parametrize("enough", [0.0, 2.0], ids=["rays", "chains"])
def test_uniform_models_have_the_law_of_a_grid(skewed, enough, monkeypatch):
    problem, psi, grid = skewed
    monkeypatch.setattr(hit_and_run, "_ENOUGH", enough)
    models = hit_and_run.uniform_models(problem, psi, N_MODELS, np.random.default_rng(0))
    assert (problem.value(models.T) <= problem.minimum.value + psi * (1 + 1e-12)).all()
    assert distance(models, grid) < 5


def test_rays_that_all_count_the_same_have_another_law(skewed, monkeypatch):
    problem, psi, grid = skewed
    monkeypatch.setattr(hit_and_run, "_ENOUGH", 0.0)
    monkeypatch.setattr(hit_and_run.np, "log", np.zeros_like)
    models = hit_and_run.uniform_models(problem, psi, N_MODELS, np.random.default_rng(0))
    assert distance(models, grid) > 8


def test_rays_end_on_the_boundary_of_the_set(skewed):
    problem, psi, _ = skewed
    moves = np.random.default_rng(1).normal(size=(2, 200)) * np.array([[1e-3], [10.0]])
    ends = problem.minimum.theta[:, None] + hit_and_run.ray_lengths(problem, psi, moves) * moves
    excess = problem.value(ends) - problem.minimum.value
    assert (excess <= psi * (1 + 1e-12)).all() and (excess >= psi * (1 - 1e-5)).all()
