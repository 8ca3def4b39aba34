"""Quadratic functions below a mean loss on a ball, from second moments of the rows alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.parabola import (
    Parabolas,
    under_clipped_slope,
    under_logistic,
)
from rashomon_explorer.losses import EmpiricalLoss
from rashomon_explorer.losses.blocks import sum_row_blocks
from rashomon_explorer.losses.clipped_slope_risk import ClippedSlopeRisk
from rashomon_explorer.losses.logistic import LogisticRisk
from rashomon_explorer.losses.of_blocks import BlockRisk
from rashomon_explorer.losses.softmax import SoftmaxRisk
from rashomon_explorer.losses.squared import SquaredRisk

_BLOCK = 4096  # rows at a time: a block and what is made of it stay small
_OUTWARD = 1 + 1e-12  # a row's scores reach this much further than its rounded norm says


@dataclass(frozen=True)
class Bowl:
    """The quadratic function height + slope·θ + ½θᵀ·bend·θ.

    Parameters
    ----------
    height : float
    slope : ndarray of shape (p,)
    bend : ndarray of shape (p, p)
        Symmetric.
    """

    height: float
    slope: FloatArray
    bend: FloatArray

    def value(self, theta: FloatArray) -> FloatArray:
        """Values (K,) at models (p, K)."""
        bent = np.einsum("ij,ij->j", theta, self.bend @ theta) / 2
        return np.asarray(self.height + self.slope @ theta + bent)

    def plus(self, height: float, ridge: float) -> "Bowl":
        """Bowl with a height and ½·ridge·‖θ‖² added."""
        return Bowl(self.height + height, self.slope, self.bend + ridge * np.eye(len(self.slope)))

    def towards(self, other: "Bowl", share: float) -> "Bowl":
        """Bowl between two: below a function that both are below."""
        return Bowl(
            (1 - share) * self.height + share * other.height,
            (1 - share) * self.slope + share * other.slope,
            (1 - share) * self.bend + share * other.bend,
        )

    def seen_from(self, centre: FloatArray) -> "Bowl":
        """Return the same function of θ − centre."""
        height = float(self.value(centre[:, None])[0])
        return Bowl(height, self.slope + self.bend @ centre, self.bend)


@dataclass(frozen=True)
class Where:
    """The ball on which a bowl must hold, and the law of models for which it should be good.

    Parameters
    ----------
    centre : ndarray of shape (p,)
    radius : float
    mean : ndarray of shape (p,)
        Of the law; any mean and covariance give a bowl that holds.
    covariance : ndarray of shape (p, p)
    """

    centre: FloatArray
    radius: float
    mean: FloatArray
    covariance: FloatArray


def bowl_under(risk: EmpiricalLoss, where: Where) -> Bowl:
    """Bowl below a mean loss on a ball.

    Parameters
    ----------
    risk : EmpiricalLoss
        Of a type in ``BOWLS``, or in blocks of such a type.
    where : Where

    Returns
    -------
    Bowl
        With nearly the largest mean over the law, among those that add up parabolas of rows.

    Examples
    --------
    >>> from rashomon_explorer.losses import get_loss
    >>> risk = get_loss("logistic").empirical(np.eye(2), np.array([1.0, -1.0]))
    >>> bowl = bowl_under(risk, Where(np.zeros(2), 4.0, np.zeros(2), np.eye(2)))
    >>> theta = np.array([[0.0, 4.0], [0.0, 0.0]])
    >>> bowl.value(theta).round(4).tolist(), risk.value(theta).round(4).tolist()
    ([0.6931, 0.3556], [0.6931, 0.3556])
    """
    if isinstance(risk, BlockRisk):
        height, slope, bend = risk.mean(_OfBlock(where))
        return Bowl(float(height), slope, bend)
    return BOWLS[type(risk)](risk, where)


@dataclass(frozen=True)
class _OfBlock:
    """A block's bowl: the mean of bowls below blocks is one below their mean."""

    where: Where

    def __call__(self, risk: EmpiricalLoss) -> tuple[float, FloatArray, FloatArray]:
        bowl = bowl_under(risk, self.where)
        return bowl.height, bowl.slope, bowl.bend


def _logistic(risk: LogisticRisk, where: Where) -> Bowl:
    return _of_rows(np.asarray(risk.z, dtype=float), np.zeros(risk.n), under_logistic, where)


def _clipped_slope(risk: ClippedSlopeRisk, where: Where) -> Bowl:
    def under(*scores: FloatArray) -> Parabolas:
        return under_clipped_slope(risk.shape, *scores)

    return _of_rows(risk.rows, risk.offsets, under, where)


def _squared(risk: SquaredRisk, where: Where) -> Bowl:
    """Return the loss itself."""
    return Bowl(risk.energy / 2, -risk.moment, risk.gram)


def _softmax(risk: SoftmaxRisk, where: Where) -> Bowl:
    """Bend the second-order model at the mean less: f'' falls no faster than e^{−kt} on a ray.

    |f'''| ≤ k·f'' for the range k of a step's score changes (:func:`softmax_bound`), so that
    f ≥ tangent + f''·(e^{−k} + k − 1)/k², which decreases in k; k is at most the range of scores
    at the mean and the largest on the ball, √2·‖row‖·‖θ‖.
    """
    rows, classes = risk.rows, len(risk.own)
    probability = risk.probabilities(where.mean)
    parts = where.mean.reshape(classes, rows.shape[1])
    middle = where.centre.reshape(classes, rows.shape[1])
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    away = _range((parts - middle) @ rows.T)
    reach = (away + np.sqrt(2.0) * length * where.radius) * _OUTWARD
    left = 2 * _fall(reach)
    hessian = np.block(
        [
            [
                (rows * (left * ((a == b) * one - one * other))[:, None]).T @ rows
                for b, other in enumerate(probability)
            ]
            for a, one in enumerate(probability)
        ]
    )
    bend = (hessian + hessian.T) / (2 * risk.n)
    value, gradient = risk.value_and_gradient(where.mean[:, None])
    bent = bend @ where.mean
    height = float(value[0] - gradient[:, 0] @ where.mean + where.mean @ bent / 2)
    return Bowl(height, gradient[:, 0] - bent, bend)


BOWLS: dict[type, Callable[[Any, Where], Bowl]] = {
    LogisticRisk: _logistic,
    SoftmaxRisk: _softmax,
    SquaredRisk: _squared,
    ClippedSlopeRisk: _clipped_slope,
}


def _of_rows(
    rows: FloatArray, offsets: FloatArray, under: Callable[..., Parabolas], where: Where
) -> Bowl:
    """Mean of the rows' parabolas in their scores rows_i·θ + offset_i."""

    def block(part: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        z = rows[part]
        centre = z @ where.centre + offsets[part]
        reach = np.sqrt(np.einsum("ij,ij->i", z, z)) * (where.radius * _OUTWARD)
        spread = np.sqrt(np.maximum(np.einsum("ij,ij->i", z @ where.covariance, z), 0.0))
        found = under(centre - reach, centre + reach, z @ where.mean + offsets[part], spread)
        # As a function of z·θ, which is less than the score by the offset.
        away = offsets[part] - found.place
        slope = found.slope + found.bend * away
        height = found.value + found.slope * away + found.bend / 2 * away**2
        return height.sum(keepdims=True), slope @ z, (z * found.bend[:, None]).T @ z

    n, p = rows.shape
    height, slope, bend = sum_row_blocks(block, n, p, block=_BLOCK)
    return Bowl(float(height[0]) / n, slope / n, (bend + bend.T) / (2 * n))


def _range(scores: FloatArray) -> FloatArray:
    """Largest difference (n,) of two of a row's scores (C − 1, n), the reference's 0 included."""
    return np.maximum(scores.max(axis=0), 0.0) - np.minimum(scores.min(axis=0), 0.0)


def _fall(k: FloatArray) -> FloatArray:
    """(e^{−k} + k − 1)/k² for k ≥ 0, by its series near 0."""
    far = np.maximum(k, 1e-2)
    series = 0.5 - k / 6 + k**2 / 24 - k**3 / 120
    return np.where(k > 1e-2, (np.expm1(-far) + far) / far**2, series)
