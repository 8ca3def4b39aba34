"""Certified lower bounds of the loss around a model, by the type of the loss in ``ENVELOPES``.

Rejection sampling uses them for proposals, and ranges of penalised models use them as limits.
For a loss without such a bound, tangent planes are the proposals.
"""

from collections.abc import Callable
from typing import Any

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.losses.base import EmpiricalLoss
from rashomon_explorer.problem.losses.chunked import ChunkedRisk, loss_kind
from rashomon_explorer.problem.losses.kinked import ClippedSlopeRisk
from rashomon_explorer.problem.losses.squared import SquaredRisk
from rashomon_explorer.problem.lower_bounds import smooth
from rashomon_explorer.problem.lower_bounds.clipped_slope import clipped_slope_bound

ENVELOPES: dict[type, Callable[[Any, FloatArray, FloatArray], smooth.ExcessBound]] = {
    **dict.fromkeys(smooth.SUMS, smooth.bound_of_sums),
    SquaredRisk: lambda risk, theta, whiten: smooth.QuadraticBound(),  # exact around every model
    ClippedSlopeRisk: clipped_slope_bound,
}


def has_envelope(risk: EmpiricalLoss) -> bool:
    """Whether a lower bound of a mean loss is known, for a table in memory or in chunks.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.problem.losses import get_loss
    >>> has_envelope(get_loss("logistic").empirical(np.eye(2), np.array([1.0, -1.0])))
    True
    """
    return loss_kind(risk) in (smooth.SUMS if isinstance(risk, ChunkedRisk) else ENVELOPES)


def excess_bound(risk: EmpiricalLoss, theta: FloatArray, whiten: FloatArray) -> smooth.ExcessBound:
    """Certified lower bound of the excess of a mean loss around a model.

    Parameters
    ----------
    risk : EmpiricalLoss
        Of a type in ``ENVELOPES``, or chunked with a type in ``SUMS``.
    theta : ndarray of shape (p,)
    whiten : ndarray of shape (p, p)
        A^{-1/2} of a metric A that dominates the Hessian at ``theta``.

    Raises
    ------
    SamplerError
        If the loss has no such bound; the message names samplers that work instead.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.problem.losses import get_loss
    >>> risk = get_loss("logistic").empirical(np.eye(2), np.array([1.0, -1.0]))
    >>> bound = excess_bound(risk, np.zeros(2), np.sqrt(8.0) * np.eye(2))
    >>> bound.radial(np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.3333]
    """
    # Compare exact types: a subclass may be another function, which the bound does not cover.
    if not has_envelope(risk):
        raise SamplerError(
            f"no envelope of {loss_kind(risk).__name__} is known: proposals from planes need none"
        )
    return ENVELOPES[loss_kind(risk)](risk, theta, whiten)


__all__ = ["ENVELOPES", "excess_bound", "has_envelope"]


def __dir__() -> list[str]:
    """Public names of the module."""
    return list(__all__)
