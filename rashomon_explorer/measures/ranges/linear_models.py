"""Penalised problems of scikit-learn's fitted linear models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import add_intercept

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
