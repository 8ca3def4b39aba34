"""Certified lower bounds of the logistic excess loss around a model."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.moments import (
    LARGEST_SPECTRUM,
    FourthMoment,
    ThirdMoment,
    outer_squares,
)
from rashomon_explorer.losses.logistic import LogisticRisk

_QUARTIC = 1 / 192  # f'''' = u(1 − 6u) ≥ −1/8 for u = f'' in [0, 1/4], over 4!
_SERIES_BELOW = 1e-2


@dataclass(frozen=True)
class LogisticBound:
    """Lower bound of the logistic excess loss, by its derivatives at the minimiser.

    Three bounds hold along every ray, for f(v) = log(1 + eᵛ), whitened rows b_i and
    w_i = f''(a_i)/n, κ_i = f'''(a_i)/n; the largest is used (docs/theory.md §3):

    - quartic: r²/2 + T(u)/6 − Q(u)/192, T = Σ κ_i (b_i·u)³, Q = Σ (b_i·u)⁴/n, from f'''' ≥ −1/8;
    - cubic: r²/2 − C₃ r³/6 with C₃² ≥ sup Σ w_i (b_i·v)⁴, from |f'''| ≤ f'';
    - lever: r² (e^{−ℓr} + ℓr − 1)/(ℓr)² with ℓ = max ‖b_i‖, from f''(a + t) ≥ f''(a) e^{−|t|}.

    The first two go on linearly from where they grow less than proportionally, because a convex
    function that is 0 at 0 does not.
    """

    lever: float  # ℓ
    cubic: float  # C₃
    # third, fourth: T and Q; None for more than 64 parameters, where only the lever is used
    third: ThirdMoment | None
    fourth: FourthMoment | None
    # largest_third, largest_fourth: upper bounds of |T| and Q over unit vectors
    largest_third: float
    largest_fourth: float

    @classmethod
    def of(cls, rows: FloatArray, sigma: FloatArray) -> "LogisticBound":
        """Bound from whitened rows (n, p) and σ(a_i) (n,)."""
        sums = logistic_sums(rows, sigma)
        return cls.of_sums(*sums)

    @classmethod
    def of_sums(
        cls, square: FloatArray, third: FloatArray, fourth: FloatArray, second: FloatArray
    ) -> "LogisticBound":
        """Bound from what is a largest value, or a mean, over rows.

        Parameters
        ----------
        square : ndarray of shape ()
            ℓ².
        third : ndarray of shape (q, p)
            Of T, as :class:`ThirdMoment` has it; empty for more than 64 parameters.
        fourth, second : ndarray of shape (q, q)
            Of Q and of C₃², as :class:`FourthMoment` has them.
        """
        lever = float(np.sqrt(square))
        if third.size == 0:
            return cls(lever, lever, None, None, np.inf, np.inf)
        p = third.shape[1]
        skew, quartic = ThirdMoment(third), FourthMoment(fourth, p)
        cubic = float(np.sqrt(max(FourthMoment(second, p).supremum(), 0.0)))
        largest = skew.supremum(), quartic.supremum()
        return cls(lever, min(cubic, lever), skew, quartic, *largest)

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound by the radius alone, nondecreasing; same shape as ``radius``."""
        radius = np.asarray(radius, dtype=float)
        bounds = [self._by_lever(radius), _polynomial(radius, -self.cubic / 6, 0.0)]
        if self.fourth is not None:
            quartic = _QUARTIC * self.largest_fourth
            bounds.append(_polynomial(radius, -self.largest_third / 6, quartic))
        return np.asarray(np.max(bounds, axis=0))

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) at whitened points (p, K)."""
        radius = np.sqrt(np.einsum("ij,ij->j", points, points))
        radial = self.radial(radius)
        if self.third is None or self.fourth is None:
            return radial
        unit = points / np.maximum(radius, 1e-300)
        squares = outer_squares(unit)
        cubic = self.third.at(unit, squares) / 6
        # The sum of n signed terms is right to rounding: lowered by more than that.
        cubic -= 1e-12 * (1 + self.largest_third)
        quartic = _QUARTIC * self.fourth.at(unit, squares)
        return np.maximum(radial, _polynomial(radius, cubic, quartic))

    def _by_lever(self, radius: FloatArray) -> FloatArray:
        t = self.lever * radius
        safe = np.maximum(t, _SERIES_BELOW)
        # An alternating series cut after a negative term stays below; the closed form cancels.
        series = 0.5 - t / 6 + t**2 / 24 - t**3 / 120
        ratio = np.where(t > _SERIES_BELOW, (np.expm1(-safe) + safe) / safe**2, series)
        return np.asarray(radius**2 * ratio)


def logistic_sums(
    rows: FloatArray, sigma: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Arguments of :meth:`LogisticBound.of_sums`, of whitened rows (n, p) and σ(a_i) (n,)."""
    n, p = rows.shape
    square = np.einsum("ij,ij->i", rows, rows).max()
    if p > LARGEST_SPECTRUM:
        return square, *(np.empty(0),) * 3
    curvature = sigma * (1 - sigma) / n
    return (
        square,
        ThirdMoment.of(rows, curvature * (1 - 2 * sigma)).unfolded,
        FourthMoment.of(rows, np.full(n, 1 / n)).gram,
        FourthMoment.of(rows, curvature).gram,
    )


def logistic_bound(risk: LogisticRisk, theta: FloatArray, whiten: FloatArray) -> LogisticBound:
    """Bound around the model ``theta`` (p,) in the metric whitened by ``whiten`` (p, p)."""
    return LogisticBound.of(risk.z @ whiten, expit(risk.z @ theta))


def _polynomial(
    radius: FloatArray, cubic: FloatArray | float, quartic: FloatArray | float
) -> FloatArray:
    """r²/2 + cubic·r³ − quartic·r⁴ up to where it grows less than r, then linear.

    The slope r/2 + cubic·r² − quartic·r³ is largest at the positive root of
    1/2 + 2·cubic·r − 3·quartic·r².
    """
    cubic, quartic = np.asarray(cubic, dtype=float), np.asarray(quartic, dtype=float)
    root = np.sqrt(cubic**2 + 1.5 * quartic)
    # The form that does not cancel: (c + √…)/(3q) = ½/(√… − c) for c < 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(
            cubic > 0, (cubic + root) / (3 * quartic), 0.5 / np.maximum(root - cubic, 1e-300)
        )
    inner = np.minimum(radius, turn)
    slope = inner / 2 + cubic * inner**2 - quartic * inner**3
    return np.asarray(radius * np.maximum(slope, 0.0))
