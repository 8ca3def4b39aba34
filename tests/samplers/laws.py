"""Laws by quadrature, and problems small enough to integrate."""

import numpy as np
from scipy.stats import kstest

from rashomon_explorer.problem import Problem
from rashomon_explorer.target import GibbsTarget


def small_problem(p, loss="logistic", radius=2.0, n=60, seed=0, scale=1.0, ridge=0.0):
    """Rows in p dimensions without an intercept; a large ``scale`` pushes θ* to the sphere."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    truth = scale * np.ones(p) / np.sqrt(p)
    if loss == "logistic":
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-X @ truth)), 1.0, -1.0)
    else:
        y = np.clip(X @ truth + 0.2 * rng.standard_normal(n), -1, 1)
    return Problem(X, y, loss=loss, radius=radius, intercept=False, ridge=ridge)


def polar_grid(target, points=(1500, 360)):
    """Cells of the disc: radii, angles and probabilities under the target (p = 2)."""
    radius = target.problem.domain.radius
    r = (np.arange(points[0]) + 0.5) / points[0] * radius
    turn = (np.arange(points[1]) + 0.5) / points[1] * 2 * np.pi
    mesh_r, mesh_turn = np.meshgrid(r, turn, indexing="ij")
    theta = np.vstack([(mesh_r * np.cos(mesh_turn)).ravel(), (mesh_r * np.sin(mesh_turn)).ravel()])
    density = np.exp(target.log_density(theta * (1 - 1e-12))) * mesh_r.ravel()
    return theta, density / density.sum()


def ks_against_quadrature(draws, places, probabilities):
    """p-value of one-dimensional draws against weighted places."""
    order = np.argsort(places)
    cumulative = np.cumsum(probabilities[order])
    return kstest(draws, lambda x: np.interp(x, places[order], cumulative)).pvalue


def line_law(target):
    """Places and probabilities of a one-dimensional target."""
    radius = target.problem.domain.radius
    places = np.linspace(-radius, radius, 40_001)
    density = np.exp(target.log_density(places[None, :]))
    return places, density / density.sum()


def uniform_target(problem, psi):
    """A target so cold that it is uniform on the Rashomon set, for all practical purposes."""
    return GibbsTarget(problem, beta=1e9, psi=psi)
