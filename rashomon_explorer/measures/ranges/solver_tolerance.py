"""How far from a minimum scikit-learn's solvers stop, by the rules of their own."""

from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem

_LOOSEST = 1e-3  # a larger tol leaves room for other objectives
_AVERAGED = 2.0  # sag and saga stop by a change of the weights: slopes of up to 1.8·tol were seen
_EXACT = ("svd", "cholesky", "auto")


def stopping_slopes(estimator: Any, problem: PenalisedProblem, theta: FloatArray) -> FloatArray:
    """Largest slope (p,) of the mean objective where the estimator's solver has converged.

    ``lbfgs``, ``newton-cg`` and ``newton-cholesky`` stop at max_j |∂F/∂θ_j| ≤ ``tol``;
    ``liblinear`` at ‖∇F‖ ≤ tol·(share of the rarer class)·‖∇F(0)‖, and its dual where every
    multiplier is within ``tol``, so that |∂F/∂θ_j| ≤ tol·mean|x_j|. ``lsqr`` stops at
    ‖Aᵀr‖ ≤ tol·‖A‖·‖r‖ and ``sparse_cg`` at a gradient of ``tol`` times that of zero weights. The
    other solvers of least squares are exact up to rounding.
    """
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
    """Slope that rounding of a backward stable solver leaves, in the precision of the fit."""
    kept = np.sqrt(np.finfo(np.asarray(estimator.coef_).dtype).eps)
    terms = 1.0
    if problem.loss.task == "regression":
        terms = np.abs(problem.targets) + np.abs(problem.rows) @ np.abs(theta)
    return np.asarray(kept * (np.abs(problem.rows) * np.reshape(terms, (-1, 1))).mean(axis=0))
