"""The whole privacy curve of two laws, by quadrature or sums: nothing is sampled."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.privacy.audit.exact_audit import ExactAudit

LogDensity = Callable[[FloatArray], FloatArray]

_POINTS = {1: 4001, 2: 401}  # an axis


def discrete(log_first: ArrayLike, log_second: ArrayLike) -> ExactAudit:
    """Audit of two laws on finitely many points, such as a grid of models.

    Parameters
    ----------
    log_first, log_second : array-like of shape (N,)
        Log weights, not necessarily normalised.

    Raises
    ------
    ValueError
        If the shapes differ, or a law has no weight at all.

    Examples
    --------
    >>> discrete([0.0, 0.0, 0.0], [0.0, 0.0, -1.0]).range
    1.0
    """
    laws = [np.ravel(np.asarray(each, dtype=float)) for each in (log_first, log_second)]
    if laws[0].shape != laws[1].shape:
        raise ValueError(
            f"both laws must live on the same points, got {laws[0].shape} and {laws[1].shape}"
        )
    one, other = (_normalised(law, np.zeros(1))[0] for law in laws)
    return ExactAudit(one, other)


def exact(
    first: LogDensity,
    second: LogDensity,
    *,
    box: Sequence[tuple[float, float]],
    points: int | None = None,
) -> ExactAudit:
    """Audit of two densities in one or two dimensions by the trapezoidal rule.

    The laws on the nodes are again normalised densities of the same mechanism, so that log ratios
    of an exponential mechanism keep its bounded range exactly; what quadrature gets wrong are
    the two normalising constants, by about the change from every second node to all (``error``).

    Parameters
    ----------
    first, second : callable
        Map points (d, K) to log densities (K,), up to a constant; −∞ off the support.
    box : sequence of (low, high)
        One interval a dimension, around all of the mass: what is outside is cut off.
    points : int, optional
        Nodes an axis, by default 4001 or 401; made odd.

    Raises
    ------
    ValueError
        If there are more than two dimensions, an interval is empty, or a density is NaN, +∞ or 0
        at every node.

    Examples
    --------
    >>> from rashomon_explorer.privacy import gdp
    >>> def normal(mean):
    ...     return lambda x: -((x[0] - mean) ** 2) / 2
    >>> audit = exact(normal(0.0), normal(1.0), box=[(-9, 10)])
    >>> audit.within(gdp(mu=1.0)), audit.within(gdp(mu=0.99))
    (True, False)
    """
    nodes, weights, coarse = _nodes(box, points)
    values = [_checked(density(nodes), nodes.shape[1]) for density in (first, second)]
    fine = [_normalised(each, weights) for each in values]
    # The cells of every second node are 2^d times as large.
    wider = weights[coarse] + len(box) * math.log(2)
    half = [_normalised(each[coarse], wider) for each in values]
    error = sum(abs(one[1] - other[1]) for one, other in zip(fine, half, strict=True))
    rough = ExactAudit(half[0][0], half[1][0])
    return ExactAudit(fine[0][0], fine[1][0], error=error, rough=rough)


def _nodes(
    box: Sequence[tuple[float, float]], points: int | None
) -> tuple[FloatArray, FloatArray, Mask]:
    """Nodes (d, N), log weights (N,) and whether each node is on the grid of half the points."""
    if len(box) not in _POINTS:
        raise ValueError(
            f"quadrature is for one or two dimensions, got {len(box)}: use monte_carlo, or audit "
            "one or two parameters at a time"
        )
    if not all(math.isfinite(low) and math.isfinite(high) and low < high for low, high in box):
        raise ValueError(f"box must hold finite intervals (low, high) with low < high, got {box!r}")
    count = _POINTS[len(box)] if points is None else points
    if count < 5:
        raise ValueError(f"points must be at least 5, got {points!r}")
    count += 1 - count % 2
    axes = [np.linspace(low, high, count) for low, high in box]
    ends = np.zeros(count)
    ends[[0, -1]] = -math.log(2)
    even = np.arange(count) % 2 == 0
    mesh = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(len(box), -1)
    weights = np.stack(np.meshgrid(*[ends] * len(box), indexing="ij")).sum(axis=0).ravel()
    coarse = np.stack(np.meshgrid(*[even] * len(box), indexing="ij")).all(axis=0).ravel()
    return mesh, weights, coarse


def _checked(log_density: ArrayLike, count: int) -> FloatArray:
    values = np.asarray(log_density, dtype=float)
    if values.shape != (count,):
        raise ValueError(
            f"a log density must map points (d, {count}) to ({count},) numbers, got {values.shape}"
        )
    return values


def _normalised(log_density: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
    if np.isnan(log_density).any() or (log_density == np.inf).any():
        raise ValueError("a log density must be a number or −∞ everywhere, got NaN or +∞")
    law = log_density + weights
    total = float(logsumexp(law))
    if not math.isfinite(total):
        raise ValueError("a law must have weight somewhere: is the box around its support?")
    return law - total, total
