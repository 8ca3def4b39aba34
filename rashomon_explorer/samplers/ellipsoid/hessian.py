"""The curvature at a released model, made private."""

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.ellipsoid import EllipsoidPlan
from rashomon_explorer.problem import Problem


def released_hessian(
    problem: Problem, theta: FloatArray, planned: EllipsoidPlan, rng: np.random.Generator
) -> FloatArray:
    """Hessian (p, p) of the rows' mean loss at a released model, with symmetric Gaussian noise.

    Entries beside the diagonal have noise of half the variance, which makes the law one of the
    Frobenius norm alone. The ridge is public and left out.

    Parameters
    ----------
    problem : Problem
    theta : ndarray of shape (p,)
        Released before, or public.
    planned : EllipsoidPlan
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (p, p)
        Symmetric, in multiples of ``planned.grid``; it may have negative eigenvalues.
    """
    exact = problem.hessian(theta) - problem.ridge * np.eye(problem.p)
    noise = rng.standard_normal(exact.shape)
    noisy = (exact + exact.T) / 2 + planned.hessian_noise * (noise + noise.T) / 2
    return np.asarray(np.round(noisy / planned.grid) * planned.grid + 0.0)


def lifted(noisy: FloatArray, planned: EllipsoidPlan) -> FloatArray:
    """Matrix A = H̃ + sI + mI, its eigenvalues without mI kept above s/1000.

    It is made of what was released and of public numbers, and with probability .95 at least the
    true Hessian with its ridge.

    Parameters
    ----------
    noisy : ndarray of shape (p, p)
        From :func:`released_hessian`.
    planned : EllipsoidPlan
    """
    values, vectors = np.linalg.eigh(noisy)
    kept = np.maximum(values + planned.lift, planned.lift / 1000) + planned.ridge
    matrix = (vectors * kept) @ vectors.T
    return np.asarray((matrix + matrix.T) / 2)
