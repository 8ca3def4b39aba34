"""Penalised problems: mean loss plus penalty over all of R^p, with a certified minimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges import level_set
from rashomon_explorer.problem import minimisation
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.logistic import LogisticLoss, LogisticRisk
from rashomon_explorer.problem.losses.scikit_learn import WeightedLogisticRisk, weighted_risk
from rashomon_explorer.problem.losses.squared import SquaredRisk
from rashomon_explorer.problem.lower_bounds import smooth
from rashomon_explorer.problem.problem import Problem

_MOST_STEPS = 100
_ROUNDING = 1e-13
_CONVERGED = 1e-15  # decrease of the objective that a Newton step predicts, relative to it
_DECIDED = 15.0  # margins above this are rare if a minimum exists; then check separability
_SEPARATES = 1e-6  # relative to the longest row, above the linear programme's tolerance


_UPDATED, _FEWEST_UPDATES = 32, 512  # a share of the rows, and the least number, of a Hessian

_TIGHT = 1.2  # of a quadratic's squared extent: an ellipsoid within it is not shrunk
_INSIDE = 1e-9  # of an inner ellipsoid's extent: above the rounding of its matrix
_CURVED = 1e-12  # share of the largest curvature of a lower bound that counts as rounding
_SHRINKS, _GAIN = 12, 0.05  # rounds of an outer ellipsoid, and the least gain of one

_CLEARLY_CURVED = 1e-6  # share of the largest eigenvalue of a Gram matrix of scaled columns
_IN_ROW_SPACE = 1e-9  # share of a direction's norm along the flat that counts as rounding


@dataclass(frozen=True)
class RowSpace:
    """Split of R^p, in columns of scale 1, into the flat directions and their complement."""

    scale: FloatArray  # (p,): > 0
    flat: FloatArray  # (p, f): orthonormal
    curved: FloatArray  # (p, r): orthonormal, orthogonal to ``flat``

    @classmethod
    def from_rows(cls, rows: FloatArray, penalised: Mask) -> RowSpace:
        """Split for a loss of the scores of ``rows`` (n, p) and a penalty of some parameters."""
        scale = np.sqrt(np.einsum("ij,ij->j", rows, rows) / len(rows))
        scale = np.where(scale > 0, scale, 1.0)
        free = np.flatnonzero(~penalised)
        null = _null_space(rows[:, free] / scale[free])
        flat = np.zeros((len(scale), null.shape[1]))
        flat[free] = null
        if not flat.shape[1]:
            return cls(scale, flat, np.eye(len(scale)))
        basis = np.linalg.qr(flat, mode="complete")[0]
        return cls(scale, flat, basis[:, flat.shape[1] :])

    def for_classes(self, classes: int, penalised: Mask, shift: bool) -> RowSpace:
        """Split for one score per class, where a common shift of all scores may be flat too."""
        scale, constant = np.tile(self.scale, classes), np.full((classes, 1), classes**-0.5)
        flat: FloatArray = np.kron(np.eye(classes), self.flat).astype(float)
        if shift:
            centred = np.linalg.qr(constant, mode="complete")[0][:, 1:]
            each = np.eye(len(self.scale))[:, ~penalised]
            flat = np.hstack([np.kron(centred, self.flat), np.kron(constant, each)])
        basis = np.linalg.qr(flat, mode="complete")[0]
        return RowSpace(scale, flat, basis[:, flat.shape[1] :])

    @property
    def frame(self) -> FloatArray:
        """Matrix (p, r) whose columns span the models that differ in some score or penalty."""
        return self.curved / self.scale[:, None]

    def contains(self, directions: FloatArray) -> Mask:
        """Whether a·θ is the same for equivalent models, for each column a of (p, K)."""
        scaled = directions / self.scale[:, None]
        along = np.linalg.norm(self.flat.T @ scaled, axis=0)
        return np.asarray(along <= _IN_ROW_SPACE * np.linalg.norm(scaled, axis=0))


def _null_space(table: FloatArray) -> FloatArray:
    """Orthonormal basis (p, f) of the directions along which all rows of (n, p) are 0."""
    n, p = table.shape
    if n >= p:
        eigenvalues = np.linalg.eigvalsh(table.T @ table) if p else np.ones(1)
        if eigenvalues[0] > _CLEARLY_CURVED * eigenvalues[-1]:
            return np.empty((p, 0))
        table = np.asarray(np.linalg.qr(table, mode="r"))
    _, sizes, vectors = np.linalg.svd(table)
    rounding = max(n, p) * np.finfo(float).eps * sizes[0]
    return np.asarray(vectors[int((sizes > rounding).sum()) :].T)


class _Penalised(minimisation.MinimisedObjective):
    """Mean loss plus ½ Σ ridge_j θ_j² + Σ l1_j |θ_j|, with a subgradient and the smooth Hessian."""

    def __init__(self, loss: Any, ridges: FloatArray, l1: FloatArray | None) -> None:
        super().__init__(loss, 0.0)
        self.ridges, self.l1 = ridges, l1

    def value(self, theta: FloatArray) -> FloatArray:
        value = np.asarray(self.loss.value(theta) + self.ridges @ theta**2 / 2)
        return value if self.l1 is None else value + self.l1 @ np.abs(theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self.loss.value_and_gradient(theta)
        value = value + self.ridges @ theta**2 / 2
        gradient = gradient + self.ridges[:, None] * theta
        if self.l1 is None:
            return value, gradient
        return value + self.l1 @ np.abs(theta), gradient + self.l1[:, None] * np.sign(theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self.loss.hessian(theta) + np.diag(self.ridges))


@dataclass(frozen=True, eq=False)
class PenalisedProblem:
    """Mean loss of linear scores plus ½ Σ ridge_j θ_j² + Σ l1_j |θ_j|, over all of R^p.

    The objective of scikit-learn's linear models, up to a factor. Curator: it holds private rows.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        With a constant 1 as the last column if ``intercept``.
    targets : ndarray of shape (n,)
    loss : Loss
        Logistic, squared, or squared hinge with every parameter penalised.
    ridges : ndarray of shape (p,)
        Squared penalty of each parameter, 0 for an unpenalised one.
    intercept : bool
    feature_names : tuple of str
        Names of the columns except the constant.
    weights : ndarray of shape (n,), optional
        Positive weights of the rows, of mean 1.
    l1 : ndarray of shape (p,), optional
        Absolute penalty of each parameter.
    classes : tuple, optional
        Labels of three or more classes. Then p counts the parameters of every class, in turn.

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
    l1: FloatArray | None = None
    classes: tuple[Any, ...] = ()

    @property
    def domain(self) -> level_set.Everywhere:
        """All of R^p."""
        return level_set.Everywhere()

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
        return int(self.rows.shape[1]) * self.loss.outputs

    @property
    def class_scores(self) -> FloatArray:
        """Matrix (classes, classes) from a row's scores to those that models differ in.

        Softmax losses do not change with all scores, so that these are centred.
        """
        count = self.loss.outputs
        return np.asarray(np.eye(count) - (1 / count if self._shift else 0.0))

    @property
    def parameter_directions(self) -> FloatArray:
        """Directions (p, p) of the parameters, centred over classes where only that is determined.

        An L1 penalty determines every parameter that it covers.
        """
        centred = np.asarray(np.kron(self.class_scores, np.eye(self.rows.shape[1])), dtype=float)
        if self.l1 is None:
            return centred
        return np.where(self.l1[:, None] > 0, np.eye(self.p), centred)

    def value(self, theta: FloatArray) -> FloatArray:
        """Objective (K,) of each column of ``theta`` (p, K)."""
        return self._objective.value(theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` (p, K)."""
        return self._objective.value_and_gradient(theta)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        return self._objective.hessian(theta)

    def nearby_hessians(self, theta: FloatArray) -> Iterator[FloatArray]:
        """Hessian at each model of (p, K); of a logistic loss nearly.

        It is that of the minimum, updated by the rows whose curvature changes most: a rare level's.
        """
        if not isinstance(self.loss, LogisticLoss):
            yield from map(self.hessian, theta.T)
            return
        hessian, curvature, squares = self._bend
        weights = 1.0 if self.weights is None else self.weights
        count = min(self.n, max(_FEWEST_UPDATES, self.n // _UPDATED))
        for scores in (self.rows @ theta).T:
            change = (level_set.curvature(scores) - curvature) * weights / self.n
            updated = np.argpartition(np.abs(change) * squares, self.n - count)[-count:]
            rows = self.rows[updated]
            yield hessian + (rows.T * change[updated]) @ rows

    @cached_property
    def _bend(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Hessian at the minimum, and each row's curvature there and squares by column scale."""
        best, rows, scale = self.minimum.theta, self.rows, self.row_space.scale
        squares = np.einsum("ij,ij,j->i", rows, rows, scale**-2)
        return self.hessian(best), level_set.curvature(rows @ best), squares

    @cached_property
    def minimum(self) -> minimisation.Minimum:
        """Minimum by Newton's method, with a proved gap (curator)."""
        return self._certified.minimum

    @cached_property
    def row_space(self) -> RowSpace:
        """Directions along which the objective is flat, and their complement."""
        penalised = self._penalties[: self.rows.shape[1]] > 0  # the same for every class
        space = RowSpace.from_rows(self.rows, penalised)
        if self.loss.outputs == 1:
            return space
        return space.for_classes(self.loss.outputs, penalised, self._shift)

    def reach(self, psi: float) -> level_set.EllipsoidReach:
        """Ellipsoid that contains every model with an excess loss of at most ``psi``.

        With u = A^{1/2}(θ − θ*) for the Hessian A at θ*, the excess is at least
        bound(‖u‖) − ‖A^{-1/2}∇L(θ*)‖·‖u‖ (docs/theory.md §3), nondecreasing when divided by ‖u‖.
        Flat directions are left out.
        """
        return self._certified.reach(psi + self._rounding)

    def outer_reach(self, psi: float) -> level_set.EllipsoidReach:
        """Ellipsoid of :meth:`reach`, for a logistic loss shrunk by the curvature of every row.

        A level that few rows have makes the first one very long; the rows' own bounds do not.
        """
        if psi not in self._outer_reaches:
            reach = self.reach(psi)
            if isinstance(self.loss, LogisticLoss) and reach.extent**2 > _TIGHT * 2 * psi:
                reach = self._shrunk(reach, psi)
            if isinstance(self._objective.loss, SquaredRisk | LogisticRisk | WeightedLogisticRisk):
                least = self._bounded_hessian(
                    reach, lambda scores, away: level_set.curvature(np.abs(scores) + away), 1.0
                )
                bends, vectors = np.linalg.eigh(reach.whiten.T @ least @ reach.whiten)
                bends = bends - _CURVED * bends[-1]  # rounding
                if bends[0] > 0:
                    reach = replace(reach, soft=reach.whiten @ vectors / np.sqrt(bends))
            self._outer_reaches[psi] = reach
        return self._outer_reaches[psi]

    def inner_reach(self, psi: float) -> level_set.EllipsoidReach | None:
        """Ellipsoid of models with an excess loss of at most ``psi``; None for other losses.

        Every row's loss lies below a quadratic on its scores in the outer ellipsoid.
        """
        if self.l1 is not None or self.outer_reach(psi).soft is None:
            return None
        if psi not in self._inner_reaches:
            best, outer = self.minimum.theta, self.outer_reach(psi)
            hessian = self._bounded_hessian(outer, level_set.largest_curvature, 2.0)
            curvature, vectors = np.linalg.eigh(outer.whiten.T @ hessian @ outer.whiten)
            whiten = outer.whiten @ vectors / np.sqrt(curvature)
            slope = self.value_and_gradient(best[:, None])[1][:, 0]
            pull = float(np.linalg.norm(whiten.T @ slope))
            room = max(psi - self._rounding, 0.0)
            extent = (1 - _INSIDE) * (math.sqrt(pull**2 + 2 * room) - pull)
            self._inner_reaches[psi] = level_set.EllipsoidReach(whiten, extent)
        return self._inner_reaches[psi]

    @cached_property
    def _inner_reaches(self) -> dict[float, level_set.EllipsoidReach]:
        return {}

    @cached_property
    def _outer_reaches(self) -> dict[float, level_set.EllipsoidReach]:
        return {}

    def _bounded_hessian(
        self, reach: level_set.EllipsoidReach, bound: Callable[..., FloatArray], factor: float
    ) -> FloatArray:
        """Hessian with a bound, times a factor, of a logistic row's curvature in an ellipsoid."""
        best = self.minimum.theta
        if isinstance(self._objective.loss, SquaredRisk):
            return self.hessian(best)
        away = reach.extent * level_set.row_norms(self.rows, reach.whiten)
        bend = bound(self.rows @ best, away) * factor
        bend = bend if self.weights is None else bend * self.weights
        return level_set.row_curvature(self.rows, bend) + np.diag(self.ridges)

    def _shrunk(self, reach: level_set.EllipsoidReach, psi: float) -> level_set.EllipsoidReach:
        best, whiten = self.minimum, reach.whiten
        slope = self.value_and_gradient(best.theta[:, None])[1][:, 0]
        slope = level_set.least_subgradient(slope, best.theta, self.l1)
        slack = best.gap + reach.extent * float(np.linalg.norm(whiten.T @ slope))
        small = level_set.refined_ellipsoid(
            level_set.Ellipsoid(np.eye(whiten.shape[1]), reach.extent**2),
            self.rows @ whiten,
            self.rows @ best.theta,
            np.ones(self.n) if self.weights is None else self.weights,
            (whiten.T * self.ridges) @ whiten,
            2 * (psi + slack) + 2 * self._rounding,
            rounds=_SHRINKS,
            gain=_GAIN,
        )
        curvature, vectors = np.linalg.eigh(small.matrix)
        return level_set.EllipsoidReach(
            whiten @ vectors / np.sqrt(curvature), math.sqrt(small.size)
        )

    @cached_property
    def _objective(self) -> _Penalised:
        if self.weights is None:
            risk = self.loss.empirical(self.rows, self.targets)
            return _Penalised(risk, self.ridges, self.l1)
        risk = weighted_risk(self.loss, self.rows, self.targets, self.weights)
        return _Penalised(risk, self.ridges, self.l1)

    @property
    def _shift(self) -> bool:
        """Whether a common change of all classes' scores leaves the loss as it is."""
        return self.loss.name == "symmetric_softmax"

    @property
    def _penalties(self) -> FloatArray:
        """Sum (p,) of both penalties of each parameter."""
        return self.ridges if self.l1 is None else self.ridges + self.l1

    @property
    def _rounding(self) -> float:
        return _ROUNDING * (1 + abs(self.minimum.value))

    @cached_property
    @one_blas_thread()
    def _certified(self) -> _Certified | SparseMinimum:
        frame = self.row_space.frame
        if self.l1 is not None:
            return SparseMinimum.minimise(self._objective, self.l1, frame)
        evaluation = self._objective.evaluate(np.zeros(self.p))
        for _ in range(_MOST_STEPS):
            hessian = frame.T @ self.hessian(evaluation.theta) @ frame
            step = frame @ np.linalg.lstsq(hessian, frame.T @ evaluation.gradient, rcond=1e-15)[0]
            moved = minimisation.step_towards(self._objective, evaluation, evaluation.theta - step)
            # Newton's method converges quadratically: the step after a tiny decrease is the last.
            last = moved is evaluation or float(evaluation.gradient @ step) <= _CONVERGED * abs(
                evaluation.value
            )
            evaluation = moved
            if last:
                break
        self._check_separable(evaluation.theta)
        return _Certified.at(self._objective, evaluation, frame)

    def _check_separable(self, theta: FloatArray) -> None:
        if self.loss.task == "regression" or self._penalties.any():
            return
        signed = self._margin_rows()
        margins = signed @ theta
        if (margins > 0).all():
            raise DataError(
                "the classes can be separated without error, so that the unpenalised loss has no "
                "minimum: fit with a finite C"
            )
        names = self.loss.outputs * [*self.feature_names, *["intercept"] * self.intercept]
        along = _separating(signed) if margins.max() > _DECIDED else ()
        if len(along):
            raise DataError(
                "the unpenalised loss has no minimum: along "
                f"{list(dict.fromkeys(names[j] for j in along))} no "
                "row's loss increases (quasi-complete separation, such as a column that "
                "is nonzero in only one class): fit with a finite C, or drop such a column"
            )

    def _margin_rows(self) -> FloatArray:
        """Rows (m, p) whose products with a model are the margins by which labels win."""
        if self.loss.outputs == 1:
            return self.targets[:, None] * self.rows
        every, codes = np.eye(self.loss.outputs), self.targets.astype(int)
        margins = [
            np.kron(every[codes[i]] - np.delete(every, codes[i], 0), row)
            for i, row in enumerate(self.rows)
        ]
        return np.vstack(margins)


ConvexProblem = Problem | PenalisedProblem


def _separating(margins: FloatArray) -> NDArray[np.intp]:
    """Parameters of a direction along which no margin falls and some rise (Konis 2007), or none."""
    size = np.abs(margins).max(axis=0)
    signed = margins / np.where(size > 0, size, 1.0)
    solution = linprog(-signed.mean(axis=0), -signed, np.zeros(len(signed)), bounds=(-1, 1))
    if solution.x is None or (signed @ solution.x).max() < _SEPARATES:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.abs(solution.x) > _SEPARATES)


@dataclass(frozen=True)
class _Certified:
    """A minimum, and a lower bound on the excess loss around it."""

    minimum: minimisation.Minimum
    whiten: FloatArray
    bound: smooth.ExcessBound
    pull: float

    @classmethod
    def at(
        cls, objective: _Penalised, evaluation: minimisation.Evaluation, frame: FloatArray
    ) -> _Certified:
        whiten, bound = _metric(objective, evaluation.theta, frame, np.zeros(objective.p))
        pull = float(np.linalg.norm(whiten.T @ evaluation.gradient))
        start = cls(
            minimisation.Minimum(evaluation.theta, evaluation.value, 0.0, 0.0, 0.0),
            whiten,
            bound,
            pull,
        )
        gap = pull * start.reach(0.0).extent + _ROUNDING * (1 + abs(evaluation.value))
        return replace(
            start, minimum=minimisation.Minimum(evaluation.theta, evaluation.value, gap, 0.0, gap)
        )

    def reach(self, psi: float) -> level_set.EllipsoidReach:
        """Ellipsoid that contains every model with an excess loss of at most ``psi``."""
        extent = level_set.radius_beyond(self.bound, self.pull, psi)
        return level_set.EllipsoidReach(self.whiten, _finite(extent, psi))


def _finite(extent: float, psi: float) -> float:
    if math.isinf(extent):
        raise DataError(
            f"no bounded set is known to contain all models within psi={psi:g} of the "
            "minimum: lower psi, or fit with a stronger penalty"
        )
    return extent


_FLATTEST = 1e-14  # least curvature of a metric


def _metric(
    objective: _Penalised, theta: FloatArray, frame: FloatArray, added: FloatArray
) -> tuple[FloatArray, smooth.ExcessBound]:
    """Inverse root (p, r) of the Hessian plus a diagonal, and the bound of the excess in it."""
    summed = type(objective.loss) in smooth.SUMS
    has_curvature = summed or isinstance(objective.loss, SquaredRisk)
    metric = objective.hessian(theta) if has_curvature else np.diag(objective.ridges)
    metric = metric + np.diag(added)
    scale = 1 / np.sqrt(np.maximum(np.diag(metric), 1e-300))
    # The frame leaves out flat directions, and its columns get the scale 1.
    frame = np.linalg.qr(frame / scale[:, None])[0] * scale[:, None]
    curvature, vectors = np.linalg.eigh(frame.T @ metric @ frame)
    curvature = curvature - len(curvature) * np.finfo(float).eps * curvature[-1]  # rounding
    if not curvature[0] > _FLATTEST * curvature[-1]:
        raise DataError(
            "the objective is nearly flat in some direction, too flat for its arithmetic: scale "
            "the columns, drop nearly collinear ones, or add an L2 penalty"
        )
    whiten = frame @ vectors / np.sqrt(curvature)
    return whiten, smooth.lever_bound(
        objective.loss, theta, whiten
    ) if summed else smooth.QuadraticBound()


_LARGEST_GAP = 1e-8
_CERTIFIED = 1e-3  # ψ of the set in which the minimum is certified, relative to the objective


@dataclass(frozen=True)
class SparseMinimum:
    """Minimum with an L1 penalty, and sets around it (docs/measures-proofs.md)."""

    objective: Any
    l1: FloatArray
    evaluation: minimisation.Evaluation
    residual: FloatArray  # (p,)
    frame: FloatArray  # (p, r)

    @classmethod
    def minimise(cls, objective: Any, l1: FloatArray, frame: FloatArray) -> SparseMinimum:
        """Minimise, and record the optimality conditions there."""
        evaluation = objective.evaluate(level_set.minimise_l1(objective, l1))
        residual = level_set.least_subgradient(evaluation.gradient, evaluation.theta, l1)
        return cls(objective, l1, evaluation, residual, frame)

    @property
    def minimum(self) -> minimisation.Minimum:
        """The minimum with its proved gap."""
        size = 1 + abs(self.evaluation.value)
        reach = self.reach(_CERTIFIED * size)
        gap = reach.extent * float(np.linalg.norm(reach.whiten.T @ self.residual))
        gap += _ROUNDING * size
        if not gap <= _LARGEST_GAP * size:
            raise DataError(
                f"the minimum is only known to within {gap:.2g} of the objective: scale the "
                "columns, or fit with a stronger penalty"
            )
        return minimisation.Minimum(self.evaluation.theta, self.evaluation.value, gap, 0.0, gap)

    def reach(self, psi: float) -> level_set.EllipsoidReach:
        """Ellipsoid that contains every model with an excess loss of at most ``psi``."""
        objective, theta = self.objective, self.evaluation.theta
        largest = self.evaluation.value + psi + float(self.l1 @ np.abs(theta))
        added = 2 * psi * (self.l1 / largest) ** 2
        whiten, bound = _metric(objective, theta, self.frame, added)
        pull = float(np.linalg.norm(whiten.T @ self.residual))
        extent = level_set.radius_beyond(bound, pull, 2 * psi)
        return level_set.EllipsoidReach(whiten, _finite(extent, psi))
