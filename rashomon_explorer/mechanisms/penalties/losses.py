"""Inner fits and outer validation losses."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, lambertw

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.losses import get_loss


class MarginLoss(Protocol):
    """A convex loss ℓ(m, b) of a margin, smooth in m, for targets |b| ≤ 1."""

    @property
    def name(self) -> str:
        """Key of the same loss in ``rashomon_explorer.problem.losses``."""
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
        """Least upper bound of −m·ℓ'(m, b), which bounds yᵀΛy of a fit."""
        ...

    def value(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """Loss at margins (n, K) of targets (n, 1)."""
        ...

    def slope(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """First derivative ℓ' in the margin."""
        ...

    def curvature(self, margins: FloatArray, targets: FloatArray) -> FloatArray:
        """Second derivative ℓ''."""
        ...

    def steepest(self, reach: float) -> float:
        """Largest |ℓ'| at margins of at most ``reach``."""
        ...


@dataclass(frozen=True)
class SquaredMargin:
    """½(m − b)², |b| ≤ 1."""

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
    """log(1 + exp(−bm)), b in {−1, 1}."""

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
        """σ(reach): |ℓ'| is largest where the margin opposes the label."""
        return float(expit(reach))


MARGINS: dict[str, MarginLoss] = {"ridge": SquaredMargin(), "logistic": LogisticMargin()}
"""Losses by the name of the estimator that is tuned."""


def widest(loss: MarginLoss, reach: float) -> float:
    """Largest range, over margins of at most ``reach``, of the difference of two rows' losses."""
    return float(get_loss(loss.name).oscillation(reach))


_HALVINGS = 60


@dataclass(frozen=True)
class Solved:
    """Model near y*(λ), with a bound on its error."""

    y: FloatArray
    error: float


@dataclass(frozen=True)
class InnerProblem:
    """G(λ, y) = (1/n) Σ ℓ(a_i·y, b_i) + ½ Σ λ_j y_j² of given rows."""

    rows: FloatArray
    targets: FloatArray
    loss: MarginLoss

    @property
    def n(self) -> int:
        """Number of training rows."""
        return len(self.rows)

    def gradient(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇_y G (p,) at penalties (p,) and a model (p,)."""
        if self._moments is not None:
            second, first = self._moments
            return np.asarray(second @ y - first + penalties * y)
        slopes = self.loss.slope(self.rows @ y, self.targets)
        return np.asarray(self.rows.T @ slopes / self.n + penalties * y)

    def hessian(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇²_yy G (p, p) at penalties (p,) and a model (p,)."""
        if self._moments is not None:
            return np.asarray(self._moments[0] + np.diag(penalties))
        weights = self.loss.curvature(self.rows @ y, self.targets) / self.n
        return np.asarray((self.rows * weights[:, None]).T @ self.rows + np.diag(penalties))

    def most_steps(self, penalties: FloatArray, tolerance: float) -> int:
        """Count of Newton steps that suffices for these rows, in exact arithmetic."""
        norm = float(np.linalg.norm(self.rows, axis=1).max(initial=0.0))
        scaled = norm / math.sqrt(float(penalties.min()))
        third = self.loss.third_bound * scaled**3
        start = max(self.loss.steepest(0.0) * scaled, tolerance)
        return math.ceil(4 * third * start + 4 * math.log(start / tolerance)) + 8

    def solve(self, penalties: FloatArray, tolerance: float) -> Solved:
        """Minimise by damped Newton steps from 0 until the error is at most ``tolerance``."""
        check_positive(tolerance=tolerance)
        y = np.zeros(len(penalties))
        gradient = self.gradient(penalties, y)
        error = _scaled(gradient, penalties)
        steps = self.most_steps(penalties, tolerance)
        while error > tolerance:
            if steps == 0:
                raise _unconverged(error, tolerance)
            steps -= 1
            step = cho_solve(cho_factor(self.hessian(penalties, y)), gradient)
            y, gradient, error = self._shortened(penalties, y, step, error, tolerance)
        return Solved(y, error)

    def _shortened(
        self, penalties: FloatArray, y: FloatArray, step: FloatArray, error: float, goal: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """Take the longest of the steps 1, ½, ¼, … that shortens the gradient enough."""
        length = 1.0
        for _ in range(_HALVINGS):
            tried = y - length * step
            gradient = self.gradient(penalties, tried)
            now = _scaled(gradient, penalties)
            if now <= (1 - length / 2) * error:
                return tried, gradient, now
            length /= 2
        raise _unconverged(error, goal)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray] | None:
        """Second moments (p, p) and cross moments (p,) for squared loss; otherwise None."""
        if self.loss.name != "squared":
            return None
        return self.rows.T @ self.rows / self.n, self.rows.T @ self.targets / self.n


def _scaled(gradient: FloatArray, penalties: FloatArray) -> float:
    return float(np.linalg.norm(gradient / np.sqrt(penalties)))


def _unconverged(error: float, goal: float) -> SamplerError:
    return SamplerError(
        f"an inner fit did not converge: its error is {error:.2g}, and {goal:.2g} was required. "
        f"Raise the lowest penalty, or scale the rows"
    )


@dataclass(frozen=True)
class OuterLoss:
    """F(y) = (1/n) Σ ℓ(clip(a_i·y), b_i) of validation rows."""

    rows: FloatArray
    targets: FloatArray
    loss: MarginLoss
    margin_bound: float | None = None

    @property
    def n(self) -> int:
        """Number of validation rows."""
        return len(self.rows)

    def value(self, y: FloatArray) -> FloatArray:
        """Mean loss (K,) of each column of ``y`` (p, K)."""
        margins = self.rows @ y
        if self.margin_bound is not None:
            margins = np.clip(margins, -self.margin_bound, self.margin_bound)
        return np.asarray(self.loss.value(margins, self.targets[:, None]).mean(axis=0))

    def gradient(self, y: FloatArray) -> FloatArray:
        """∇F (p,) at one model (p,); a clipped margin has slope 0."""
        margins = self.rows @ y
        slopes = self.loss.slope(margins, self.targets)
        if self.margin_bound is not None:
            slopes = np.where(np.abs(margins) < self.margin_bound, slopes, 0.0)
        return np.asarray(self.rows.T @ slopes / self.n)
