"""Penalised problems: mean loss plus penalty over all of R^p, with a certified minimum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges.flat import RowSpace
from rashomon_explorer.measures.ranges.level_set import EllipsoidReach, Everywhere
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.weighted import weighted_risk
from rashomon_explorer.problem.lower_bounds import excess_bound, has_envelope
from rashomon_explorer.problem.lower_bounds.smooth import ExcessBound, QuadraticBound
from rashomon_explorer.problem.minimisation import MinimisedObjective, Minimum, Place, step_towards
from rashomon_explorer.problem.problem import Problem

_MOST_STEPS = 100
_FURTHEST = 1e12
_ROUNDING = 1e-13
_CONVERGED = 1e-15  # decrease of the objective that a Newton step predicts, relative to it
_DECIDED = 15.0  # margins above this are rare if a minimum exists; then check separability
_SEPARATES = 1e-6  # relative to the longest row, above the linear programme's tolerance


class _Penalised(MinimisedObjective):
    """Mean loss plus ½ Σ ridge_j θ_j²."""

    def __init__(self, loss: Any, ridges: FloatArray) -> None:
        super().__init__(loss, 0.0)
        self.ridges = ridges

    def value(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self.loss.value(theta) + self.ridges @ theta**2 / 2)

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self.loss.value_and_gradient(theta)
        return value + self.ridges @ theta**2 / 2, gradient + self.ridges[:, None] * theta

    def hessian(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self.loss.hessian(theta) + np.diag(self.ridges))


@dataclass(frozen=True, eq=False)
class PenalisedProblem:
    """Mean loss of linear scores plus ½ Σ ridge_j θ_j², over all of R^p.

    The objective of scikit-learn's linear models, up to a factor. Curator: it holds private rows.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        With a constant 1 as the last column if ``intercept``.
    targets : ndarray of shape (n,)
    loss : Loss
        Logistic, squared, or squared hinge with every parameter penalised.
    ridges : ndarray of shape (p,)
        Penalty of each parameter, 0 for an unpenalised one.
    intercept : bool
    feature_names : tuple of str
        Names of the columns except the constant.
    weights : ndarray of shape (n,), optional
        Positive weights of the rows, of mean 1.

    Raises
    ------
    DataError
        From ``minimum``: if the objective has no minimum.

    Notes
    -----
    Without a penalty, collinear columns leave the objective flat in some direction. Models that
    differ along it have the same scores, and ``minimum`` is one of them.
    """

    rows: FloatArray = field(repr=False)
    targets: FloatArray = field(repr=False)
    loss: Loss
    ridges: FloatArray
    intercept: bool
    feature_names: tuple[str, ...]
    weights: FloatArray | None = field(default=None, repr=False)

    @property
    def domain(self) -> Everywhere:
        """All of R^p."""
        return Everywhere()

    @property
    def row_norm(self) -> float:
        """Infinite: rows are not clipped."""
        return math.inf

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def p(self) -> int:
        """Number of parameters, the intercept included."""
        return int(self.rows.shape[1])

    def value(self, theta: FloatArray) -> FloatArray:
        """Objective (K,) of each column of ``theta`` (p, K)."""
        return self._objective.value(theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` (p, K)."""
        return self._objective.value_and_gradient(theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        return self._objective.hessian(theta)

    @cached_property
    def minimum(self) -> Minimum:
        """Minimum by Newton's method, with a proved gap (curator)."""
        return self._certified.minimum

    @cached_property
    def row_space(self) -> RowSpace:
        """Directions along which the objective is flat, and their complement."""
        return RowSpace.of(self.rows, self.ridges > 0)

    def reach(self, psi: float) -> EllipsoidReach:
        """Ellipsoid that contains every model with an excess loss of at most ``psi``.

        With u = A^{1/2}(θ − θ*) for the Hessian A at θ*, the excess is at least
        bound(‖u‖) − ‖A^{-1/2}∇L(θ*)‖·‖u‖ (docs/theory.md §3), nondecreasing when divided by ‖u‖.
        Flat directions are left out.
        """
        whiten = self._certified.whiten
        return EllipsoidReach(whiten, self._certified.extent(psi + self._rounding))

    @cached_property
    def _objective(self) -> _Penalised:
        if self.weights is None:
            return _Penalised(self.loss.empirical(self.rows, self.targets), self.ridges)
        risk = weighted_risk(self.loss, self.rows, self.targets, self.weights)
        return _Penalised(risk, self.ridges)

    @property
    def _rounding(self) -> float:
        return _ROUNDING * (1 + abs(self.minimum.value))

    @cached_property
    @one_blas_thread()
    def _certified(self) -> _Certified:
        place, frame = Place.of(self._objective, np.zeros(self.p)), self.row_space.frame
        for _ in range(_MOST_STEPS):
            hessian = frame.T @ self.hessian(place.theta) @ frame
            step = frame @ np.linalg.lstsq(hessian, frame.T @ place.gradient, rcond=1e-15)[0]
            moved = step_towards(self._objective, place, place.theta - step)
            # Newton's method converges quadratically: the step after a tiny decrease is the last.
            last = moved is place or float(place.gradient @ step) <= _CONVERGED * abs(place.value)
            place = moved
            if last:
                break
        self._check_separable(place.theta)
        return _Certified.at(self._objective, place, frame)

    def _check_separable(self, theta: FloatArray) -> None:
        if self.loss.task != "classification" or self.ridges.any():
            return
        margins = self.targets * (self.rows @ theta)
        if (margins > 0).all():
            raise DataError(
                "the classes can be separated without error, so that the unpenalised loss has no "
                "minimum: fit with a finite C"
            )
        names = [*self.feature_names, "intercept"]
        along = _separating(self.rows, self.targets) if margins.max() > _DECIDED else ()
        if len(along):
            raise DataError(
                f"the unpenalised loss has no minimum: along {[names[j] for j in along]} no "
                "row's loss increases (quasi-complete separation, such as a column that "
                "is nonzero in only one class): fit with a finite C, or drop such a column"
            )


ConvexProblem = Problem | PenalisedProblem


def _separating(rows: FloatArray, targets: FloatArray) -> NDArray[np.intp]:
    """Parameters of a direction along which no margin falls and some rise; empty if there is none.

    The maximum likelihood estimate of a logistic model exists if and only if there is no such
    direction (Albert and Anderson 1984); a linear programme finds it (Konis 2007).
    """
    size = np.abs(rows).max(axis=0)
    signed = targets[:, None] * rows / np.where(size > 0, size, 1.0)
    found = linprog(-signed.mean(axis=0), -signed, np.zeros(len(rows)), bounds=(-1, 1))
    if found.x is None or (signed @ found.x).max() < _SEPARATES:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.abs(found.x) > _SEPARATES)


@dataclass(frozen=True)
class _Certified:
    """A minimum, and a lower bound on the excess loss around it."""

    minimum: Minimum
    whiten: FloatArray
    bound: ExcessBound
    pull: float

    @classmethod
    def at(cls, objective: _Penalised, place: Place, frame: FloatArray) -> _Certified:
        known = has_envelope(objective.loss)
        # Without a bound of the loss, its convexity and the curvature of the penalty are left.
        metric = objective.hessian(place.theta) if known else np.diag(objective.ridges)
        curvature, vectors = np.linalg.eigh(frame.T @ metric @ frame)
        if not curvature[0] > 1e-15 * curvature[-1]:
            raise DataError(
                "the objective is nearly flat in some direction, too flat for its arithmetic: "
                "drop nearly collinear columns, or fit with a stronger penalty"
            )
        whiten = frame @ vectors / np.sqrt(curvature)
        bound = excess_bound(objective.loss, place.theta, whiten) if known else QuadraticBound()
        pull = float(np.linalg.norm(whiten.T @ place.gradient))
        start = cls(Minimum(place.theta, place.value, 0.0, 0.0, 0.0), whiten, bound, pull)
        gap = pull * start.extent(0.0) + _ROUNDING * (1 + abs(place.value))
        return replace(start, minimum=Minimum(place.theta, place.value, gap, 0.0, gap))

    def extent(self, psi: float) -> float:
        """Radius beyond which the excess loss is above ``psi``."""
        low, high = 0.0, 1.0
        while self._excess(high) <= psi:
            low, high = high, 2 * high
            if high > _FURTHEST:
                raise DataError(
                    f"no bounded set is known to contain all models within psi={psi:g} of the "
                    "minimum: lower psi, or fit with a stronger penalty"
                )
        return bisect(lambda radius: not self._excess(radius) <= psi, high, low, halvings=80)

    def _excess(self, radius: float) -> float:
        return float(self.bound.radial(np.array([radius]))[0]) - self.pull * radius
