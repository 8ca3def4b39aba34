"""Inner fits and outer validation losses."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import lambertw

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.losses.base import EmpiricalLoss
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss

MARGINS: Mapping[str, SquaredLoss | LogisticLoss] = {
    "ridge": SquaredLoss(),
    "logistic": LogisticLoss(),
}
"""Losses ℓ(m, b) of a margin m for targets |b| ≤ 1, by the name of the estimator that is tuned."""

# Least upper bound of −m·ℓ'(m, b): m(b − m) ≤ ¼, and t/(1 + eᵗ) ≤ W(1/e), W Lambert's function.
PULL = {"ridge": 0.25, "logistic": float(lambertw(math.exp(-1.0)).real)}
# Least upper bound of |ℓ'''|, of σ'' at σ = ½ ± 1/(2√3).
THIRD = {"ridge": 0.0, "logistic": 1 / (6 * math.sqrt(3))}


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
    estimator: str

    @property
    def n(self) -> int:
        """Number of training rows."""
        return len(self.rows)

    @cached_property
    def risk(self) -> EmpiricalLoss:
        """Mean loss of the rows."""
        return MARGINS[self.estimator].empirical(self.rows, self.targets)

    def gradient(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇_y G (p,) at penalties (p,) and a model (p,)."""
        return self.risk.value_and_gradient(y[:, None])[1][:, 0] + penalties * y

    def hessian(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇²_yy G (p, p) at penalties (p,) and a model (p,)."""
        return self.risk.hessian(y) + np.diag(penalties)

    def most_steps(self, penalties: FloatArray, tolerance: float) -> int:
        """Count of Newton steps that suffices for these rows, in exact arithmetic."""
        norm = float(np.linalg.norm(self.rows, axis=1).max(initial=0.0))
        scaled = norm / math.sqrt(float(penalties.min()))
        third = THIRD[self.estimator] * scaled**3
        start = max(MARGINS[self.estimator].lipschitz(0.0, 1.0) * scaled, tolerance)
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
    estimator: str
    margin_bound: float | None = None

    @property
    def n(self) -> int:
        """Number of validation rows."""
        return len(self.rows)

    @cached_property
    def _linear_form(self) -> tuple[FloatArray, FloatArray]:
        """Rows z_i = ±a_i (n, p) and offsets (n, 1) with ℓ(a_i·y, b_i) = f(z_i·y + offset_i)."""
        rows, offsets = MARGINS[self.estimator].linear_form(self.rows, self.targets)
        return rows, np.zeros((self.n, 1)) if offsets is None else offsets[:, None]

    def value(self, y: FloatArray) -> FloatArray:
        """Mean loss (K,) of each column of ``y`` (p, K)."""
        rows, offsets = self._linear_form
        margins, most = rows @ y, self.margin_bound
        margins = margins if most is None else np.clip(margins, -most, most)
        return np.asarray(MARGINS[self.estimator].function.value(margins + offsets).mean(axis=0))

    def gradient(self, y: FloatArray) -> FloatArray:
        """∇F (p,) at one model (p,); a clipped margin has slope 0."""
        rows, offsets = self._linear_form
        margins = rows @ y
        slopes = MARGINS[self.estimator].function.slope(margins + offsets[:, 0])
        if self.margin_bound is not None:
            slopes = np.where(np.abs(margins) < self.margin_bound, slopes, 0.0)
        return np.asarray(rows.T @ slopes / self.n)
