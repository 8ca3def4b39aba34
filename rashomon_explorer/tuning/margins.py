"""Losses of one margin m = a·y and target b, with the derivatives and bounds that tuning needs."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, lambertw

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import get_loss


class MarginLoss(Protocol):
    """A convex loss ℓ(m, b) of a margin, smooth in m, for targets |b| ≤ 1."""

    @property
    def name(self) -> str:
        """Key of the same loss in ``rashomon_explorer.losses``."""
        ...

    @property
    def curvature_bound(self) -> float:
        """Least upper bound of ℓ''."""
        ...

    @property
    def third_bound(self) -> float:
        """Least upper bound of |ℓ'''|."""
        ...

    @property
    def pull(self) -> float:
        """Least upper bound of −m·ℓ'(m, b): how hard a row can pull against a penalty."""
        ...

    def value(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """Loss at margins (n, K) of targets (n, 1)."""
        ...

    def slope(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """Give ℓ', the derivative in the margin."""
        ...

    def curvature(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """Second derivative ℓ''."""
        ...

    def steepest(self, reach: float) -> float:
        """Largest |ℓ'| at margins of at most ``reach``."""
        ...


@dataclass(frozen=True)
class SquaredMargin:
    """½(m − b)², |b| ≤ 1.

    Examples
    --------
    >>> SquaredMargin().steepest(2.0), SquaredMargin().pull
    (3.0, 0.25)
    """

    name: str = "squared"
    curvature_bound: float = 1.0
    third_bound: float = 0.0
    pull: float = 0.25  # m(b − m) ≤ b²/4

    def value(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """½(m − b)²."""
        return np.asarray((margins - targets) ** 2 / 2)

    def slope(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """Residual m − b."""
        return margins - targets

    def curvature(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """1 everywhere."""
        return np.ones(np.broadcast_shapes(margins.shape, targets.shape))

    def steepest(self, reach: float) -> float:
        """1 + reach."""
        return 1.0 + reach


@dataclass(frozen=True)
class LogisticMargin:
    """log(1 + exp(−bm)), b in {−1, 1}.

    Examples
    --------
    >>> LogisticMargin().steepest(0.0), round(LogisticMargin().pull, 4)
    (0.5, 0.2785)
    """

    name: str = "logistic"
    curvature_bound: float = 0.25
    third_bound: float = 1 / (6 * math.sqrt(3))  # of σ'' at σ = ½ ± 1/(2√3)

    @property
    def pull(self) -> float:
        """Maximum of t/(1 + eᵗ), which is W(1/e) at t = 1 + W(1/e), W Lambert's function."""
        return float(lambertw(math.exp(-1.0)).real)

    def value(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """log(1 + exp(−bm)), without overflow."""
        return np.asarray(np.logaddexp(0.0, -targets * margins))

    def slope(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """−b·σ(−bm)."""
        return np.asarray(-targets * expit(-targets * margins))

    def curvature(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """σ(m)·σ(−m)."""
        likely = expit(margins) * np.ones_like(targets)
        return np.asarray(likely * (1 - likely))

    def steepest(self, reach: float) -> float:
        """σ(reach): |ℓ'| grows as the margin turns against the label."""
        return float(expit(reach))


MARGINS: dict[str, MarginLoss] = {"ridge": SquaredMargin(), "logistic": LogisticMargin()}
"""Losses by the name of the estimator that is tuned."""


def widest(loss: MarginLoss, reach: float) -> float:
    """Largest range, over margins of at most ``reach``, of the difference of two rows' losses.

    Examples
    --------
    >>> widest(SquaredMargin(), 1.0), widest(LogisticMargin(), 1.0)
    (4.0, 2.0)
    """
    return float(get_loss(loss.name).oscillation(reach))
