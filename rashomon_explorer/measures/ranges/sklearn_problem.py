"""The problem that a fitted scikit-learn linear model solved."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.losses import LogisticLoss, Loss, SquaredLoss
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.ranges.solver_tolerance import stopping_slopes
from rashomon_explorer.problem import add_intercept

_FAR = 0.01  # of what fitting gained: a solver whose own rule lets it stop further is not trusted
_NEAR = 1e-9  # of that: here a logistic fit is at the minimum, whatever its slope


def penalised_problem(estimator: Any, X: ArrayLike, y: ArrayLike) -> PenalisedProblem:
    """Problem that a fitted scikit-learn linear model solved.  Curator: it holds private rows.

    ``LogisticRegression`` minimises (1/n) Σ log loss + ‖w‖²/(2nC) with the intercept free (but
    for ``solver="liblinear"``, which penalises it too); ``Ridge`` and ``LinearRegression``
    minimise (1/n) Σ ½(y − ŷ)² + α‖w‖²/(2n), with the intercept free. These are their objectives
    over nC and 2n, and ψ is in that unit.

    The fitted model must be as near to the minimum of that objective as its solver goes: the
    objective's slopes there must be those at which the solver stops. Other rows, sample weights
    and unfinished fits are found so.

    Parameters
    ----------
    estimator : LogisticRegression, Ridge or LinearRegression
        Fitted, of two classes or one target, without weights and without an L1 penalty.
    X : array-like of shape (n_rows, n_features)
        Rows it was fitted to; of a pipeline's last step, the transformed rows.
    y : array-like of shape (n_rows,)

    Raises
    ------
    TypeError
        If the estimator is of another kind.
    ValueError
        If it minimised something else (L1 penalty, weights, several outputs), or is further from
        the minimum on these rows than its solver stops.
    DataError
        If the rows are no finite table, or the objective has no single minimum.

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
        steps = ": give a pipeline's last step, and the rows that it sees" * isinstance(
            getattr(estimator, "steps", None), list
        )
        raise TypeError(f"estimator must be one of {known}, got {type(estimator).__name__}{steps}")
    check_is_fitted(estimator)
    _check_names(estimator, X)
    rows, y = _table(X), np.asarray(y)
    if y.shape != (len(rows),):
        raise ValueError(f"y must hold one target a row, got {y.shape} for {len(rows)} rows")
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
    # Here and not at the top: linear models would double the time it takes to import measures.
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

    return {LogisticRegression: _logistic, Ridge: _ridge, LinearRegression: _ordinary}


def _logistic(estimator: Any, y: NDArray[Any], n: int) -> _Made:
    if len(estimator.classes_) != 2:
        raise ValueError(f"two classes are needed, got {len(estimator.classes_)}")
    if estimator.class_weight is not None:
        raise ValueError("class weights are not supported: fit with class_weight=None")
    if getattr(estimator, "multi_class", "auto") == "multinomial":
        raise ValueError("multi_class='multinomial' is another objective: fit without it")
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
    """C of the L2 penalty, infinite for none, as every version of scikit-learn spells it."""
    # "deprecated" from 1.8 on and absent from 1.10 on, where l1_ratio alone decides.
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
        raise DataError(f"rows must form a finite table without gaps, got shape {rows.shape}")
    return rows


def _check_names(estimator: Any, X: Any) -> None:
    fitted, given = getattr(estimator, "feature_names_in_", None), getattr(X, "columns", None)
    if fitted is not None and given is not None and list(fitted) != list(given):
        raise ValueError(
            "X must have the columns that the estimator was fitted to, in their order: "
            f"{list(fitted)}, got {list(given)}"
        )


def _check_fit(problem: PenalisedProblem, estimator: Any) -> None:
    fitted = np.ravel(estimator.coef_).astype(float)
    if problem.intercept:
        fitted = np.append(fitted, estimator.intercept_)
    if len(fitted) != problem.p:
        raise ValueError(
            f"the estimator has {len(fitted)} parameters, the rows ask for {problem.p}"
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
        "give the rows that it was fitted to (a pipeline's last step was fitted to transformed "
        "rows), fit without sample weights, and let the solver converge "
        f"({_convergence(estimator)}). The slope along {names[worst]!r} is {slopes[worst]:.3g}, "
        f"and a converged solver leaves at most {limits[worst]:.3g}"
    )


def _convergence(estimator: Any) -> str:
    steps, most = getattr(estimator, "n_iter_", None), getattr(estimator, "max_iter", None)
    if steps is not None and most is not None and np.max(steps) >= most:
        return f"it stopped after max_iter={most} steps: raise max_iter or scale the columns"
    return "a smaller tol and scaled columns help"
