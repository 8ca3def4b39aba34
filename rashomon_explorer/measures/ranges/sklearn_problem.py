"""The problem that a fitted scikit-learn linear model solved."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.losses import LogisticLoss, Loss, SquaredLoss
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem import add_intercept

_FAR = 0.01  # of what fitting gained; an unfinished fit is nearer, other rows are further


def penalised_problem(estimator: Any, X: ArrayLike, y: ArrayLike) -> PenalisedProblem:
    """Problem that a fitted scikit-learn linear model solved.  Curator: it holds private rows.

    ``LogisticRegression`` minimises (1/n) Σ log loss + ‖w‖²/(2nC) with the intercept free (but
    for ``solver="liblinear"``, which penalises it too); ``Ridge`` and ``LinearRegression``
    minimise (1/n) Σ ½(y − ŷ)² + α‖w‖²/(2n), with the intercept free. These are their objectives
    over nC and 2n, and ψ is in that unit.

    Parameters
    ----------
    estimator : LogisticRegression, Ridge or LinearRegression
        Fitted, of two classes or one target, without weights and without an L1 penalty.
    X : array-like of shape (n_rows, n_features)
        Rows it was fitted to.
    y : array-like of shape (n_rows,)

    Raises
    ------
    TypeError
        If the estimator is of another kind.
    ValueError
        If it minimised something else (L1 penalty, weights, several outputs), or is far from the
        minimum on these rows.
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
    if estimator.class_weight is not None or estimator.l1_ratio not in (None, 0, 0.0):
        raise ValueError("class weights and L1 penalties are not supported: fit without them")
    strange = ~np.isin(y, estimator.classes_)
    if strange.any():
        raise ValueError(f"y must hold the labels {estimator.classes_}, got {y[strange][0]!r}")
    ridge = 0.0 if estimator.penalty is None else 1 / (n * estimator.C)
    penalised = estimator.solver == "liblinear"
    if penalised and estimator.intercept_scaling != 1:
        raise ValueError("intercept_scaling must be 1")
    targets = np.where(y == estimator.classes_[1], 1.0, -1.0)
    return LogisticLoss(), targets, ridge, ridge if penalised else 0.0


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


def _check_fit(problem: PenalisedProblem, estimator: Any) -> None:
    fitted = np.ravel(estimator.coef_)
    if problem.intercept:
        fitted = np.append(fitted, estimator.intercept_)
    if len(fitted) != problem.p:
        raise ValueError(
            f"the estimator has {len(fitted)} parameters, the rows ask for {problem.p}"
        )
    empty, now = problem.value(np.column_stack([np.zeros(problem.p), fitted]))
    excess, gain = now - problem.minimum.value, empty - problem.minimum.value
    if excess > _FAR * gain + 1e-9 * (1 + abs(problem.minimum.value)):
        raise ValueError(
            f"the estimator's objective on these rows is {excess:.3g} above the minimum: give the "
            "rows that it was fitted to (without sample weights), and let it converge"
        )
