"""The certified minimum of a convex loss on a convex set of models."""

import numpy as np

from rashomon_explorer.cores import one_blas_thread
from rashomon_explorer.domains import Ball, Domain
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses.of_blocks import is_kinked
from rashomon_explorer.minimum.ball import minimise_on_ball
from rashomon_explorer.minimum.certificate import Minimum
from rashomon_explorer.minimum.general import minimise_on
from rashomon_explorer.minimum.kinked import minimise_kinked
from rashomon_explorer.minimum.objective import Objective


def minimise(empirical: Objective, domain: Domain, tolerance: float) -> Minimum:
    """Minimise on the domain, by the method that the loss and the domain allow.

    Parameters
    ----------
    empirical : Objective
        Convex objective with ``value_and_gradient`` of (p, K) blocks and ``hessian``.
    domain : Domain
    tolerance : float
        Duality gap to reach; it is a public constant, because the price of a draw depends on it.

    Raises
    ------
    SamplerError
        If the gap cannot be certified.
    """
    with one_blas_thread():
        best = _best(empirical, domain, tolerance)
    if best.gap > tolerance:
        raise SamplerError(
            f"the minimum could not be certified to a duality gap of {tolerance:.2e}: add some "
            "ridge or drop collinear columns"
        )
    return best


def _best(empirical: Objective, domain: Domain, tolerance: float) -> Minimum:
    loss, start = empirical.loss, np.zeros(empirical.p)
    if is_kinked(loss):
        return minimise_kinked(loss, empirical.ridge, domain, tolerance, start)
    if isinstance(domain, Ball):
        return minimise_on_ball(empirical, domain, tolerance, start)
    return minimise_on(empirical, domain, tolerance, start)


__all__ = ["Minimum", "Objective", "minimise"]
