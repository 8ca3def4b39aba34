"""Piecewise-linear trade-off functions: from samples, from (ε, δ) pairs, and convex hulls."""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.privacy.tradeoff import curves


@dataclass(frozen=True)
class Piecewise(curves.TradeOff):
    """Convex piecewise-linear trade-off function, not necessarily symmetric; exact.

    Parameters
    ----------
    corners : tuple of (float, float)
        (α, β) with α increasing, β decreasing and convex, from α = 0 to β = 0.
    relation : {"replace", "add_or_remove"}, default="replace"
        Neighbour relation of the tables.

    Raises
    ------
    ValueError
        If the corners do not form a trade-off function.

    Examples
    --------
    >>> curve = Piecewise(((0.0, 1.0), (0.25, 0.5), (1.0, 0.0)))
    >>> float(curve(0.25)), float(curve.inverse()(0.5))
    (0.5, 0.25)
    """

    corners: tuple[tuple[float, float], ...]
    relation: str = field(default=curves.REPLACE, kw_only=True)
    kind: ClassVar[str] = "piecewise"

    def __post_init__(self) -> None:
        """Raise a ValueError if the corners belong to no pair of distributions."""
        curves.check_relation(self.relation)
        alpha, beta = self._axes()
        if not (np.all(np.isfinite(alpha)) and np.all(np.isfinite(beta))):
            raise ValueError("corners must be finite")
        inside = alpha[0] == 0 and beta[-1] == 0 and 0 <= alpha[-1] <= 1 and 0 <= beta[0] <= 1
        falling = np.all(np.diff(alpha) > 0) and np.all(np.diff(beta) <= 0)
        if not (inside and falling and np.all(beta <= 1 - alpha + 1e-12)):
            raise ValueError("corners must fall from (0, at most 1) to (at most 1, 0) below 1 - α")
        run, rise = np.diff(alpha), np.diff(beta)
        # By cross products, because slopes between corners that are 1e-20 apart are noise.
        if np.any(run[:-1] * rise[1:] - rise[:-1] * run[1:] < -1e-15):
            raise ValueError("corners must be convex")

    def _axes(self) -> tuple[FloatArray, FloatArray]:
        table = np.asarray(self.corners, dtype=float).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """Return δ(ε) for any real ε: the maximum of 1 − β − e^ε α over the corners."""
        epsilon = np.asarray(epsilon, dtype=float)
        alpha, beta = self._axes()
        with np.errstate(over="ignore"):
            slope = np.exp(np.minimum(epsilon, 700.0))
        result = np.full(epsilon.shape, max(0.0, 1 - beta[0]))
        for a, b in zip(alpha, beta, strict=True):
            result = np.maximum(result, 1 - b - slope * a)
        return result[()]

    _profile = delta

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Return f(α), exactly."""
        return np.asarray(np.interp(curves.type_one_errors(alpha), *self._axes()))[()]

    def inverse(self) -> "Piecewise":
        """Return f⁻¹."""
        alpha, beta = self._axes()
        return hull(beta, alpha, relation=self.relation)

    def symmetrised(self) -> "Piecewise":
        """Return min{f, f⁻¹}**."""
        alpha, beta = self._axes()
        both = np.concatenate([alpha, beta]), np.concatenate([beta, alpha])
        return hull(*both, relation=self.relation)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = super().to_dict()
        relation = plain.pop("relation")
        return plain if relation == curves.REPLACE else {**plain, "relation": relation}


def hull(alpha: ArrayLike, beta: ArrayLike, *, relation: str = curves.REPLACE) -> Piecewise:
    """Largest trade-off function below the points (α, β): their convex minorant."""
    alpha, beta = np.ravel(np.asarray(alpha, float)), np.ravel(np.asarray(beta, float))
    points = {(0.0, 1.0), (1.0, 0.0), *zip(alpha.tolist(), beta.tolist(), strict=True)}
    corners: list[tuple[float, float]] = []
    for point in sorted(points):
        if corners and point[0] == corners[-1][0]:
            continue  # of two points at one α the lower one came first
        while len(corners) > 1 and _turns_down(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    heights = [b for _, b in corners]
    lowest = heights.index(min(heights))
    return Piecewise(tuple(corners[: lowest + 1]), relation=relation)


def from_profile(
    epsilons: ArrayLike, deltas: ArrayLike, *, relation: str = curves.REPLACE
) -> Piecewise:
    """Largest symmetric trade-off function that finitely many (ε, δ)-DP pairs prove.

    The corners are intersections of the lines 1 − δ − e^ε α and their mirror images.

    Parameters
    ----------
    epsilons, deltas : array-like
        ε ≥ 0, increasing; δ in [0, 1].
    relation : {"replace", "add_or_remove"}, default="replace"
        Neighbour relation for which the pairs hold.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from rashomon_explorer.privacy.tradeoff import Gaussian
    >>> epsilons = np.linspace(0, 5, 501)
    >>> curve = from_profile(epsilons, Gaussian(1.0).delta(epsilons))
    >>> round(float(curve(0.05)), 3), round(float(curve.delta(1.0)), 6)
    (0.74, 0.126937)
    """
    slopes, deltas = np.exp(np.asarray(epsilons, float)), np.asarray(deltas, float)
    if np.any(slopes < 1) or np.any(np.diff(slopes) <= 0):
        raise ValueError("epsilons must be >= 0 and increasing")
    if not np.all((deltas >= 0) & (deltas <= 1)):
        raise ValueError("deltas must be in [0, 1]")
    # Steepest lines first, each y = height − slope·x, then their mirror images, ever flatter.
    lines = [(1 - d, s) for d, s in zip(deltas[::-1], slopes[::-1], strict=True)]
    lines += [((1 - d) / s, 1 / s) for d, s in zip(deltas, slopes, strict=True) if s > 1]
    lines_used: list[tuple[float, float]] = []
    for line in [*lines, (0.0, 0.0)]:
        while lines_used and (lines_used[-1][0] <= line[0] or _hidden(lines_used, line)):
            lines_used.pop()
        lines_used.append(line)
    corners = [(0.0, lines_used[0][0])]
    corners += [_meet(a, b) for a, b in pairwise(lines_used)]
    return hull([a for a, _ in corners], [b for _, b in corners], relation=relation)


def _meet(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the intersection of two lines height − slope·x."""
    x = (one[0] - other[0]) / (one[1] - other[1])
    return x, max(0.0, one[0] - one[1] * x)


def _hidden(lines: list[tuple[float, float]], line: tuple[float, float]) -> bool:
    """Whether the last line is nowhere above both the previous line and the new one."""
    return len(lines) > 1 and _meet(lines[-2], line)[0] <= _meet(lines[-2], lines[-1])[0]


def _turns_down(
    one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]
) -> bool:
    run, rise = two[0] - one[0], two[1] - one[1]
    return run * (three[1] - one[1]) <= rise * (three[0] - one[0])


def from_samples(
    first: ArrayLike,
    second: ArrayLike,
    *,
    confidence: float | None = None,
    relation: str = curves.REPLACE,
) -> Piecewise:
    """Trade-off function of the tests "the score is above x" between two samples of scores.

    The curve estimates what one attack achieves. It is no guarantee, because a better attack may
    exist. With a ``confidence``, both error rates are raised by their
    Dvoretzky-Kiefer-Wolfowitz-Massart bands; with that probability the true f is nowhere above it.

    Parameters
    ----------
    first, second : array-like of shape (n,), (m,)
        Scores under each neighbour; high scores indicate the second.
    confidence : float, optional
        Probability in (0, 1) that both bands hold.
    relation : {"replace", "add_or_remove"}, default="replace"
        Neighbour relation of the attack.

    Raises
    ------
    ValueError
        If a sample is empty or the confidence is out of range.

    Examples
    --------
    >>> float(from_samples([0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 4.0, 5.0])(0.25))
    0.25
    """
    first, second = (np.sort(np.ravel(np.asarray(s, float))) for s in (first, second))
    if not (first.size and second.size):
        raise ValueError("both samples must have at least one score")
    if confidence is not None:
        check_inner_share(confidence=confidence)
    cuts = np.unique(np.concatenate([first, second]))
    alpha = 1 - np.searchsorted(first, cuts, side="right") / first.size
    beta = np.searchsorted(second, cuts, side="right") / second.size
    if confidence is not None:
        # Each band is two-sided at half of the failure probability: 2 exp(−2 n x²).
        alpha = np.minimum(1, alpha + math.sqrt(math.log(4 / (1 - confidence)) / 2 / first.size))
        beta = np.minimum(1, beta + math.sqrt(math.log(4 / (1 - confidence)) / 2 / second.size))
    return hull(alpha, beta, relation=relation)
