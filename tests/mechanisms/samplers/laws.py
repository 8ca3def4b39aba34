"""Laws by quadrature, and problems small enough to integrate."""

import numpy as np
from scipy.stats import kstest

from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem

LEVEL = 1e-3  # seeds are fixed: a test that passes keeps passing, whatever the level
DIRECTIONS = ((1.0, 0.0), (0.0, 1.0), (0.6, -0.8))


def small_problem(
    p, loss="logistic", radius=2.0, n=60, seed=0, scale=1.0, ridge=0.0, domain=None, truth=None
):
    """Rows in p dimensions without an intercept; a large ``scale`` pushes θ* to the sphere."""
    rng = np.random.default_rng(seed)
    outputs = getattr(loss, "outputs", 1)
    X = rng.standard_normal((n, p // outputs))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    d = X.shape[1]
    score = X @ (scale * np.ones(d) / np.sqrt(d) if truth is None else np.array(truth))
    if outputs > 1:
        y = np.digitize(score + rng.logistic(size=n), [-0.8, 0.8])
    elif loss in ("squared", "absolute"):
        y = np.clip(score + 0.2 * rng.standard_normal(n), -1, 1)
    else:
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
        y = (y + 1) / 2 if isinstance(loss, SoftmaxLoss) else y
    settings = {"loss": loss, "radius": radius, "domain": domain, "ridge": ridge}
    return Problem(X, y, **settings, intercept=False)


def polar_grid(target, points=(60, 500)):
    """A point of each cell of the disc that matters, and its probability (p = 2).

    Points are anywhere in their cells: middles would lie in rows, with jumps between them. A first
    look, with fewer cells, finds the radii and angles at which there is any mass.
    """
    rng, radius = np.random.default_rng(0), target.problem.domain.radius
    facing = np.arctan2(*target.problem.minimum.theta[::-1])
    low, high = np.array([0.0, facing - np.pi]), np.array([radius, facing + np.pi])
    for count in points:
        width = (high - low)[:, None] / count
        cells = np.indices((count, count)).reshape(2, -1)
        r, turn = low[:, None] + (cells + rng.random(cells.shape)) * width
        theta = np.vstack([r * np.cos(turn), r * np.sin(turn)])
        density = np.exp(target.log_density(theta * (1 - 1e-12))) * r
        matters = cells[:, density > 1e-6 * density.max()]
        low, high = (
            np.maximum(low + (matters.min(axis=1) - 1) * width[:, 0], low),
            np.minimum(low + (matters.max(axis=1) + 2) * width[:, 0], high),
        )
    return theta, density / density.sum()


def line_law(target):
    """Places and probabilities of a one-dimensional target."""
    low, high = (sign * target.problem.domain.support(np.array([[sign]]))[0] for sign in (-1.0, 1))
    places = np.linspace(low, high, 40_001)
    density = np.exp(target.log_density(places[None, :] * (1 - 1e-12)))
    return places, density / density.sum()


def quadrature(target):
    """Models (p, K) and probabilities (K,) of a target of one or two parameters."""
    if target.problem.p == 1:
        places, probabilities = line_law(target)
        return places[None, :], probabilities
    return polar_grid(target)


def ks_against_quadrature(draws, places, probabilities):
    """p-value of one-dimensional draws against weighted places."""
    order = np.argsort(places)
    cumulative = np.cumsum(probabilities[order])
    return kstest(draws, lambda x: np.interp(x, places[order], cumulative)).pvalue


def agreement(draws, law):
    """Least p-value of models (K, p) along a few directions, against a target or its quadrature."""
    places, probabilities = quadrature(law) if isinstance(law, GibbsTarget) else law
    directions = DIRECTIONS if len(places) == 2 else ((1.0,),)
    return min(
        ks_against_quadrature(draws @ one, np.array(one) @ places, probabilities)
        for one in directions
    )


def uniform_target(problem, psi):
    """A target so cold that it is uniform on the Rashomon set, for all practical purposes."""
    return GibbsTarget(problem, beta=1e9, psi=psi)
