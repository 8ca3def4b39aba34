"""Penalised problems, including those of scikit-learn's estimators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges.level_set import EllipsoidReach, Everywhere
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.lower_bounds import excess_bound
from rashomon_explorer.problem.lower_bounds.smooth import ExcessBound
from rashomon_explorer.problem.minimisation import MinimisedObjective, Minimum, Place, step_towards
from rashomon_explorer.problem.problem import Problem, add_intercept

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
        Logistic or squared.
    ridges : ndarray of shape (p,)
        Penalty of each parameter, 0 for an unpenalised one.
    intercept : bool
    feature_names : tuple of str
        Names of the columns except the constant.

    Raises
    ------
    DataError
        From ``minimum``: if the objective has no unique minimum.
    """

    rows: FloatArray = field(repr=False)
    targets: FloatArray = field(repr=False)
    loss: Loss
    ridges: FloatArray
    intercept: bool
    feature_names: tuple[str, ...]

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

    def reach(self, psi: float) -> EllipsoidReach:
        """Ellipsoid that contains every model with an excess loss of at most ``psi``.

        With u = A^{1/2}(θ − θ*) for the Hessian A at θ*, the excess is at least
        bound(‖u‖) − ‖A^{-1/2}∇L(θ*)‖·‖u‖ (docs/theory.md §3), nondecreasing when divided by ‖u‖.
        """
        whiten = self._certified.whiten
        return EllipsoidReach(whiten, self._certified.extent(psi + self._rounding))

    @cached_property
    def _objective(self) -> _Penalised:
        return _Penalised(self.loss.empirical(self.rows, self.targets), self.ridges)

    @property
    def _rounding(self) -> float:
        return _ROUNDING * (1 + abs(self.minimum.value))

    @cached_property
    @one_blas_thread()
    def _certified(self) -> _Certified:
        place = Place.of(self._objective, np.zeros(self.p))
        for _ in range(_MOST_STEPS):
            step = np.linalg.lstsq(self.hessian(place.theta), place.gradient, rcond=1e-15)[0]
            moved = step_towards(self._objective, place, place.theta - step)
            # Newton's method converges quadratically: the step after a tiny decrease is the last.
            last = moved is place or float(place.gradient @ step) <= _CONVERGED * abs(place.value)
            place = moved
            if last:
                break
        self._check_separable(place.theta)
        return _Certified.at(self._objective, place)

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
    def at(cls, objective: _Penalised, place: Place) -> _Certified:
        curvature, vectors = np.linalg.eigh(objective.hessian(place.theta))
        if not curvature[0] > 1e-15 * curvature[-1]:
            raise DataError(
                "the objective is flat in some direction, so coefficients have no finite range: "
                "drop collinear columns, or fit with a penalty"
            )
        whiten = vectors / np.sqrt(curvature)
        bound = excess_bound(objective.loss, place.theta, whiten)
        pull = float(np.linalg.norm(whiten.T @ place.gradient))
        known = cls(Minimum(place.theta, place.value, 0.0, 0.0, 0.0), whiten, bound, pull)
        gap = pull * known.extent(0.0) + _ROUNDING * (1 + abs(place.value))
        return replace(known, minimum=Minimum(place.theta, place.value, gap, 0.0, gap))

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


_LOOSEST = 1e-3  # with a larger tol other objectives would pass the check
_AVERAGED = 2.0  # sag and saga stop by the change of weights: slopes up to 1.8·tol were observed
_EXACT = ("svd", "cholesky", "auto")


def stopping_slopes(estimator: Any, problem: PenalisedProblem, theta: FloatArray) -> FloatArray:
    """Upper bound (p,) on the slopes of the mean objective at convergence of the solver."""
    tol = min(float(getattr(estimator, "tol", 0.0)), _LOOSEST)
    solver = getattr(estimator, "solver_", getattr(estimator, "solver", "auto"))
    if problem.loss.task == "classification":
        own = _logistic(estimator, problem, solver, tol)
    else:
        own = _least_squares(problem, solver, tol, theta)
    return np.asarray(np.maximum(own, _rounding(estimator, problem, theta)))


def _logistic(estimator: Any, problem: PenalisedProblem, solver: str, tol: float) -> Any:
    rows = problem.rows
    if solver == "liblinear" and estimator.dual:
        return tol * np.abs(rows).mean(axis=0)
    if solver == "liblinear":
        rarer = min((problem.targets > 0).mean(), (problem.targets < 0).mean())
        return tol * max(rarer, 1 / problem.n) * _slope_without_weights(problem)
    if solver in ("sag", "saga"):
        return _AVERAGED * tol * np.sqrt((rows**2).mean(axis=0))
    return tol


def _least_squares(
    problem: PenalisedProblem, solver: str, tol: float, theta: FloatArray
) -> FloatArray | float:
    if solver in _EXACT:
        return 0.0
    rows = problem.rows[:, :-1] if problem.intercept else problem.rows
    spread = problem.targets - problem.targets.mean() * problem.intercept
    centred = rows - rows.mean(axis=0) * problem.intercept
    size = float(np.sqrt((centred**2).sum() / problem.n + problem.ridges.sum()))
    if solver == "lsqr":
        return tol * size * float(np.sqrt(2 * problem.value(theta[:, None])[0]))
    deviation = float(np.sqrt((spread**2).mean()))
    if solver == "sparse_cg" and rows.shape[1] > problem.n:
        return tol * size * deviation
    if solver == "sparse_cg":
        return tol * float(np.linalg.norm(centred.T @ spread)) / problem.n
    return _AVERAGED * tol * deviation * np.sqrt((problem.rows**2).mean(axis=0))


def _slope_without_weights(problem: PenalisedProblem) -> float:
    _, gradient = problem.value_and_gradient(np.zeros((problem.p, 1)))
    return float(np.linalg.norm(gradient))


def _rounding(estimator: Any, problem: PenalisedProblem, theta: FloatArray) -> FloatArray:
    """Slope due to rounding in a backward stable solver, in the precision of the fit."""
    precision = np.sqrt(np.finfo(np.asarray(estimator.coef_).dtype).eps)
    terms = 1.0
    if problem.loss.task == "regression":
        terms = np.abs(problem.targets) + np.abs(problem.rows) @ np.abs(theta)
    return np.asarray(precision * (np.abs(problem.rows) * np.reshape(terms, (-1, 1))).mean(axis=0))


_FAR = 0.01  # largest accepted excess, as a share of the decrease in objective by fitting
_NEAR = 1e-9  # same share: below it a logistic fit counts as the minimum at any slope


def penalised_problem(estimator: Any, X: ArrayLike, y: ArrayLike) -> PenalisedProblem:
    """Problem that a fitted scikit-learn linear model solved.  Curator: it holds private rows.

    ``LogisticRegression`` minimises (1/n) Σ log loss + ‖w‖²/(2nC) with an unpenalised intercept
    (``solver="liblinear"`` penalises it too); ``Ridge`` and ``LinearRegression`` minimise
    (1/n) Σ ½(y − ŷ)² + α‖w‖²/(2n), with an unpenalised intercept. These are scikit-learn's
    objectives divided by nC and 2n, and ψ is in that unit.

    The fitted model must be a minimum of that objective up to its solver's tolerance: the slopes
    there must not exceed those at which the solver stops. This check detects other rows, sample
    weights and unfinished fits.

    Parameters
    ----------
    estimator : LogisticRegression, Ridge or LinearRegression
        Fitted, of two classes or one target, without weights and without an L1 penalty.
    X : array-like of shape (n_rows, n_features)
        Rows it was fitted to; for a pipeline's last step, the transformed rows.
    y : array-like of shape (n_rows,)

    Raises
    ------
    TypeError
        If the estimator is of another kind.
    ValueError
        If it minimised another objective (L1 penalty, weights, several outputs), or is further
        from the minimum on these rows than its solver's tolerance allows.
    DataError
        If the rows are not a finite table, or the objective has no unique minimum.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 1.0]
    >>> problem = penalised_problem(Ridge(alpha=3.0).fit(X, y), X, y)
    >>> problem.minimum.theta.round(6).tolist(), problem.ridges.tolist()
    ([0.2, 0.466667], [1.0, 0.0])
    """
    maker = next((make for kind, make in _makers().items() if type(estimator) is kind), None)
    if maker is None:
        known = ", ".join(kind.__name__ for kind in _makers())
        steps = ": pass a pipeline's last step and its transformed rows" * isinstance(
            getattr(estimator, "steps", None), list
        )
        raise TypeError(f"estimator must be one of {known}, got {type(estimator).__name__}{steps}")
    check_is_fitted(estimator)
    _check_names(estimator, X)
    rows, y = _table(X), np.asarray(y)
    if y.shape != (len(rows),):
        raise ValueError(f"y must hold one target per row, got {y.shape} for {len(rows)} rows")
    loss, targets, ridge, intercept_ridge = maker(estimator, y, len(rows))
    intercept = bool(estimator.fit_intercept)
    names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(rows.shape[1])])
    ridges = np.full(rows.shape[1], ridge)
    problem = PenalisedProblem(
        rows=add_intercept(rows) if intercept else rows,
        targets=targets,
        loss=loss,
        ridges=np.append(ridges, intercept_ridge) if intercept else ridges,
        intercept=intercept,
        feature_names=tuple(str(name) for name in names),
    )
    _check_fit(problem, estimator)
    return problem


_Made = tuple[Loss, FloatArray, float, float]


def _makers() -> dict[type, Callable[[Any, NDArray[Any], int], _Made]]:
    # Imported lazily: linear models would double the time to import measures.
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

    return {
        LogisticRegression: _sklearn_problem_logistic,
        Ridge: _ridge,
        LinearRegression: _ordinary,
    }


def _sklearn_problem_logistic(estimator: Any, y: NDArray[Any], n: int) -> _Made:
    if len(estimator.classes_) != 2:
        raise ValueError(f"two classes are needed, got {len(estimator.classes_)}")
    if estimator.class_weight is not None:
        raise ValueError("class weights are not supported: fit with class_weight=None")
    if getattr(estimator, "multi_class", "auto") == "multinomial":
        raise ValueError("multi_class='multinomial' has another objective: fit without it")
    strange = ~np.isin(y, estimator.classes_)
    if strange.any():
        raise ValueError(f"y must hold the labels {estimator.classes_}, got {y[strange][0]!r}")
    ridge = 1 / (n * _inverse_penalty(estimator))
    penalised = estimator.solver == "liblinear"
    if penalised and estimator.fit_intercept and estimator.intercept_scaling != 1:
        raise ValueError("intercept_scaling must be 1")
    targets = np.where(y == estimator.classes_[1], 1.0, -1.0)
    return LogisticLoss(), targets, ridge, ridge if penalised else 0.0


def _inverse_penalty(estimator: Any) -> float:
    """C of the L2 penalty, infinite for none, for every supported version of scikit-learn."""
    # "deprecated" from 1.8 on and absent from 1.10 on, where only l1_ratio decides.
    penalty = getattr(estimator, "penalty", "deprecated")
    if penalty is None or math.isinf(estimator.C):
        return math.inf
    share: Any = getattr(estimator, "l1_ratio", None)
    shares = {"l2": 0.0, "l1": 1.0, "elasticnet": share, "deprecated": share or 0.0}
    if penalty not in shares or shares[penalty] != 0:
        raise ValueError(
            f"L1 penalties are not supported, got penalty={penalty!r} with l1_ratio={share!r}: fit "
            "with an L2 penalty or none"
        )
    return float(estimator.C)


def _ridge(estimator: Any, y: NDArray[Any], n: int) -> _Made:
    if np.ndim(estimator.alpha) or estimator.positive:
        raise ValueError("Ridge needs one alpha and positive=False")
    loss, targets, _, _ = _ordinary(estimator, y, n)
    return loss, targets, float(estimator.alpha) / n, 0.0


def _ordinary(estimator: Any, y: NDArray[Any], n: int) -> _Made:
    if estimator.positive:
        raise ValueError(f"{type(estimator).__name__} must be fitted with positive=False")
    targets = _table(y[:, None])[:, 0]
    return SquaredLoss(max(float(np.abs(targets).max()), 1e-300)), targets, 0.0, 0.0


def _table(X: ArrayLike) -> FloatArray:
    try:
        rows = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"rows and targets must hold numbers: {error}") from error
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise DataError(f"rows must be a finite table without NaN, got shape {rows.shape}")
    return rows


def _check_names(estimator: Any, X: Any) -> None:
    fitted, columns = getattr(estimator, "feature_names_in_", None), getattr(X, "columns", None)
    if fitted is not None and columns is not None and list(fitted) != list(columns):
        raise ValueError(
            "X must have the columns that the estimator was fitted to, in their order: "
            f"{list(fitted)}, got {list(columns)}"
        )


def _check_fit(problem: PenalisedProblem, estimator: Any) -> None:
    fitted = np.ravel(estimator.coef_).astype(float)
    if problem.intercept:
        fitted = np.append(fitted, estimator.intercept_)
    if len(fitted) != problem.p:
        raise ValueError(
            f"the estimator has {len(fitted)} parameters, but the rows need {problem.p}"
        )
    value, gradient = problem.value_and_gradient(fitted[:, None])
    excess = float(value[0]) - problem.minimum.value
    gain = float(problem.value(np.zeros((problem.p, 1)))[0]) - problem.minimum.value
    rounding = 1e-12 * (1 + abs(problem.minimum.value))
    if problem.loss.task == "classification" and excess <= _NEAR * gain + rounding:
        return
    slopes, limits = np.abs(gradient[:, 0]), stopping_slopes(estimator, problem, fitted)
    if excess <= _FAR * gain + rounding and (slopes <= limits * 1.01).all():
        return
    names = (*problem.feature_names, "intercept")
    worst = int(np.argmax(slopes / np.maximum(limits, 1e-300)))
    raise ValueError(
        f"the estimator's objective on these rows is {max(excess, 0.0):.3g} above the minimum: "
        "pass the rows that it was fitted to (a pipeline's last step was fitted to transformed "
        "rows), fit without sample weights, and let the solver converge "
        f"({_convergence(estimator)}). The slope along {names[worst]!r} is {slopes[worst]:.3g}, "
        f"and a converged solver leaves at most {limits[worst]:.3g}"
    )


def _convergence(estimator: Any) -> str:
    steps, most = getattr(estimator, "n_iter_", None), getattr(estimator, "max_iter", None)
    if steps is not None and most is not None and np.max(steps) >= most:
        return f"it stopped after max_iter={most} steps: raise max_iter or scale the columns"
    return "a smaller tol and scaled columns help"
