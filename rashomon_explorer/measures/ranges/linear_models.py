"""Penalised problems of scikit-learn's fitted linear models."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.containers import column_labels
from rashomon_explorer.exceptions import DataError, warn_stacklevel
from rashomon_explorer.measures.inputs import by_index
from rashomon_explorer.measures.ranges.level_set import least_subgradient
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem.losses import Loss, scikit_learn
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.sets.scores import rows_by_name

_LOOSEST = 1e-3  # with a larger tol other objectives would pass the check
_AVERAGED = 4.0  # sag and saga stop by the change of weights: slopes up to 3.9·tol were observed
_EXACT = ("svd", "cholesky", "auto")
_SQUARED = SquaredLoss | scikit_learn.SquaredLabelLoss | scikit_learn.SquaredLabelsLoss


def stopping_slopes(estimator: Any, problem: PenalisedProblem, theta: FloatArray) -> FloatArray:
    """Upper bound (p,) on the slopes of the mean objective at convergence of the solver."""
    tol = min(float(getattr(estimator, "tol", 0.0)), _LOOSEST)
    solver = getattr(estimator, "solver_", getattr(estimator, "solver", "auto"))
    if isinstance(problem.loss, _SQUARED):
        slopes = _least_squares(problem, solver, tol, theta)
    elif hasattr(estimator, "dual") and getattr(estimator, "solver", "liblinear") == "liblinear":
        slopes = _liblinear(estimator, problem, tol)
    else:
        slopes = _averaged(problem, tol, theta) if solver in ("sag", "saga") else tol
    slopes = np.maximum(slopes, _rounding(estimator, problem, theta))
    return np.resize(slopes, problem.p)  # the same for every class


def _liblinear(estimator: Any, problem: PenalisedProblem, tol: float) -> FloatArray | float:
    dual = estimator.dual
    if dual == "auto":  # as LinearSVC decides
        dual = problem.n < problem.p - problem.intercept
    if dual:
        steepest = 2.0 if isinstance(problem.loss, scikit_learn.SquaredHingeLoss) else 1.0
        return steepest * tol * _mean(problem, np.abs(problem.rows))
    rarer = min((problem.targets > 0).mean(), (problem.targets < 0).mean())
    scale = np.ones(problem.p)  # of the parameters that the solver sees
    if problem.intercept:
        scale[-1] = estimator.intercept_scaling
    start = scale * problem.value_and_gradient(np.zeros((problem.p, 1)))[1][:, 0]
    size = float(np.linalg.norm(start))
    if problem.l1 is not None:
        size = 2 * float(np.maximum(np.abs(start) - scale * problem.l1, 0.0).sum())
    return np.asarray(tol * max(rarer, 1 / problem.n) * size / scale)


def _averaged(problem: PenalisedProblem, tol: float, theta: FloatArray) -> FloatArray:
    """Slopes (p,) at which sag and saga stop: an epoch of n steps changes no weight by more."""
    squares = problem.rows**2
    curvature = 1.0 if isinstance(problem.loss, _SQUARED) else 0.25
    heaviest = 1.0 if problem.weights is None else float(problem.weights.max())
    epoch = 3 * curvature * heaviest * float(squares.sum(axis=1).max()) / problem.n
    slowest = epoch * float(np.abs(theta).max(initial=0.0))
    size = np.sqrt(_mean(problem, squares))
    if isinstance(problem.loss, _SQUARED):
        size = size * float(np.sqrt(_mean(problem, _centred(problem)[1] ** 2).max()))
    return np.asarray(tol * np.maximum(_AVERAGED * size, slowest))


def _centred(problem: PenalisedProblem) -> tuple[FloatArray, FloatArray]:
    """Rows without the constant, and targets (n, classes); centred if there is an intercept."""
    targets = problem.targets[:, None]
    if isinstance(problem.loss, scikit_learn.SquaredLabelsLoss):
        targets = problem.loss.signs(problem.targets)
    if not problem.intercept:
        return problem.rows, targets
    rows = problem.rows[:, :-1]
    return rows - _mean(problem, rows), targets - _mean(problem, targets)


def _mean(problem: PenalisedProblem, table: FloatArray) -> FloatArray:
    """Mean (p,) of a table (n, p) with the problem's weights."""
    return np.asarray(np.average(table, axis=0, weights=problem.weights))


def _least_squares(
    problem: PenalisedProblem, solver: str, tol: float, theta: FloatArray
) -> FloatArray | float:
    if solver in _EXACT:
        return 0.0
    if solver in ("sag", "saga"):
        return _averaged(problem, tol, theta)
    root = np.sqrt(1.0 if problem.weights is None else problem.weights)
    rows, spread = _centred(problem)
    rows, spread = (table * np.reshape(root, (-1, 1)) for table in (rows, spread))
    size = float(np.sqrt((rows**2).sum() / problem.n + problem.ridges.sum()))
    if solver == "lsqr":
        return tol * size * float(np.sqrt(2 * problem.value(theta[:, None])[0]))
    if rows.shape[1] > problem.n:
        return tol * size * float(np.sqrt((spread**2).mean(axis=0).max()))
    return tol * float(np.linalg.norm(rows.T @ spread, axis=0).max()) / problem.n


def _rounding(estimator: Any, problem: PenalisedProblem, theta: FloatArray) -> FloatArray:
    """Slope due to rounding in a backward stable solver, in the precision of the fit."""
    precision = np.sqrt(np.finfo(np.asarray(estimator.coef_).dtype).eps)
    terms = 1.0
    if isinstance(problem.loss, _SQUARED):
        each = theta.reshape(problem.loss.outputs, -1).T
        label = np.abs(problem.targets) if problem.loss.outputs == 1 else 1.0
        terms = (np.abs(problem.rows) @ np.abs(each)).max(axis=1) + label
    return precision * _mean(problem, np.abs(problem.rows) * np.reshape(terms, (-1, 1)))


_FAR = 0.01  # largest accepted excess, as a share of the decrease in objective by fitting
_NEAR = 1e-9  # same share: below it a logistic fit counts as the minimum at any slope


@by_index
def penalised_problem(
    estimator: Any, X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> PenalisedProblem:
    """Problem that a fitted scikit-learn linear model solved.  Curator: it holds private rows.

    The objective is scikit-learn's, divided so that the loss is a mean over rows, weighted by
    sample and class weights: ψ is in that unit.

    - ``LogisticRegression``: mean log loss + [½(1 − ρ)‖w‖² + ρ‖w‖₁]/(CΣw_i), w_i the rows' weights
      (1 without), ρ the share of the L1 penalty.
    - ``Ridge``, ``RidgeClassifier``, ``LinearRegression``: mean ½(y − ŷ)² + α‖w‖²/(2Σw_i), with
      labels −1 and 1.
    - ``Lasso``, ``ElasticNet``: mean ½(y − ŷ)² + α·ρ‖w‖₁ + ½α(1 − ρ)‖w‖², ρ = ``l1_ratio``.
    - ``LinearSVC(loss="squared_hinge")``: mean max(0, 1 − yŷ)² + ‖w‖²/(2CΣw_i).

    The twins with ``CV`` in their names have the penalty that they chose. The intercept is not
    penalised, except by liblinear, which divides it by ``intercept_scaling`` first.

    The fitted model must be a minimum of that objective up to its solver's tolerance: the slopes
    there must not exceed those at which the solver stops. Otherwise the estimator is fitted again:
    if it stops at the same model, its solver left it above the minimum, and a warning says so. If
    not, it was fitted to other rows or with other weights.

    Parameters
    ----------
    estimator : estimator of scikit-learn
        ``LogisticRegression``, ``Ridge``, ``RidgeClassifier``, ``LinearRegression``, ``Lasso``,
        ``ElasticNet``, ``LinearSVC`` or a CV twin; fitted to one target. ``LogisticRegression``
        and ``RidgeClassifier`` may have three classes or more.
    X : array-like of shape (n_rows, n_features)
        Rows it was fitted to; for a pipeline's last step, the transformed rows.
    y : array-like of shape (n_rows,)
        Its targets.
    sample_weight : array-like of shape (n_rows,), optional
        Weights it was fitted with, ≥ 0; class weights are read from the estimator. Rows of weight
        0 are left out.

    Returns
    -------
    PenalisedProblem
        The objective that the estimator minimised.

    Raises
    ------
    TypeError
        If the estimator is of another type.
    ValueError
        If it has another objective, or was not fitted to these rows.
    DataError
        If the rows are not a finite table, or the objective has no unique minimum.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped above the minimum.

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
        kinds = ", ".join(kind.__name__ for kind in _makers())
        steps = ": pass a pipeline's last step and its transformed rows" * isinstance(
            getattr(estimator, "steps", None), list
        )
        raise TypeError(f"estimator must be one of {kinds}, got {type(estimator).__name__}{steps}")
    check_is_fitted(estimator)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", column_labels(X) or ())]
    X, y = rows_by_name(X, names) if names else X, np.asarray(y)
    rows, fit_inputs = _table(X), (X, y, sample_weight)
    names = names or [f"x{j}" for j in range(rows.shape[1])]
    if y.shape != (len(rows),):
        raise ValueError(f"y must hold one target per row, got {y.shape} for {len(rows)} rows")
    weights = row_weights(estimator, y, sample_weight)
    if weights is not None:
        rows, y, weights = rows[weights > 0], y[weights > 0], weights[weights > 0]
    objective = maker(estimator, y, len(rows) if weights is None else float(weights.sum()))
    intercept = bool(estimator.fit_intercept)
    ridges, l1 = (np.full(rows.shape[1], size) for size in (objective.ridge, objective.l1))
    if intercept:
        ridges = np.append(ridges, objective.ridge * objective.intercept**2)
        l1 = np.append(l1, objective.l1 * objective.intercept)
    several = tuple(estimator.classes_) if objective.loss.outputs > 1 else ()
    problem = PenalisedProblem(
        rows=add_intercept(rows) if intercept else rows,
        targets=objective.targets,
        loss=objective.loss,
        ridges=np.tile(ridges, objective.loss.outputs),
        intercept=intercept,
        feature_names=tuple(names),
        weights=None if weights is None else weights / weights.mean(),
        l1=np.tile(l1, objective.loss.outputs) if l1.any() else None,
        classes=several,
    )
    _check_fit(problem, estimator, *fit_inputs)
    return problem


def has_problem(estimator: Any) -> bool:
    """Whether :func:`penalised_problem` knows the objective of a kind of estimator."""
    return any(type(estimator) is kind for kind in _makers())


@dataclass(frozen=True)
class _Objective:
    """Loss and penalty of an estimator, in units of the mean loss."""

    loss: Loss
    targets: FloatArray
    ridge: float = 0.0
    l1: float = 0.0
    intercept: float = 0.0  # factor of the intercept as the penalty sees it


def _makers() -> dict[type, Callable[[Any, NDArray[Any], float], _Objective]]:
    # Imported lazily: linear models would double the time to import measures.
    from sklearn import linear_model
    from sklearn.svm import LinearSVC

    return {
        linear_model.LogisticRegression: _log_loss,
        linear_model.LogisticRegressionCV: _log_loss,
        linear_model.Ridge: _ridge,
        linear_model.RidgeCV: _ridge,
        linear_model.RidgeClassifier: _ridge_labels,
        linear_model.RidgeClassifierCV: _ridge_labels,
        linear_model.LinearRegression: _ordinary,
        linear_model.Lasso: _lasso,
        linear_model.LassoCV: _lasso,
        linear_model.ElasticNet: _lasso,
        linear_model.ElasticNetCV: _lasso,
        LinearSVC: _squared_hinge,
    }


def row_weights(
    estimator: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> FloatArray | None:
    """Sample weight times class weight (n,) of each row; None without weights."""
    weights = np.ones(len(y))
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=float)
        if weights.shape != y.shape or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(
                f"sample_weight must hold one finite number ≥ 0 per row, shape {y.shape}"
            )
        if not weights.any():
            raise ValueError("sample_weight must hold a positive weight")
    by_class = getattr(estimator, "class_weight", None)
    if by_class is None:
        return None if sample_weight is None else weights
    classes = estimator.classes_
    _check_labels(classes, y)
    parameters = signature(compute_class_weight).parameters
    # RidgeClassifier balances the rows, the other classifiers their weights.
    has_strength = hasattr(estimator, "C") or hasattr(estimator, "Cs")
    weighed = "sample_weight" in parameters and has_strength
    more = {"sample_weight": weights} if weighed and by_class == "balanced" else {}
    per_class = compute_class_weight(by_class, classes=classes, y=y, **more)
    return np.asarray(weights * per_class[np.searchsorted(classes, y)])


def _signs(estimator: Any, y: NDArray[Any]) -> FloatArray:
    classes = estimator.classes_
    if len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} needs two classes, got {len(classes)}: for more fit a "
            "LogisticRegression or RidgeClassifier"
        )
    _check_labels(classes, y)
    return np.where(y == classes[1], 1.0, -1.0)


def _codes(estimator: Any, y: NDArray[Any]) -> FloatArray:
    _check_labels(estimator.classes_, y)
    return np.searchsorted(estimator.classes_, y).astype(float)


def _check_labels(classes: NDArray[Any], y: NDArray[Any]) -> None:
    strange = ~np.isin(y, classes)
    if strange.any():
        raise ValueError(f"y must hold the labels {classes}, got {y[strange][0]!r}")


def _tuned(estimator: Any, name: str) -> Any:
    """Parameter of an estimator, or the value that its CV twin chose."""
    return getattr(estimator, f"{name}_", getattr(estimator, name, None))


def _log_loss(estimator: Any, y: NDArray[Any], weight: float) -> _Objective:
    classes, spelled = estimator.classes_, getattr(estimator, "multi_class", "auto")
    loss: Loss = LogisticLoss()
    if len(classes) > 2:
        if estimator.solver == "liblinear" or spelled == "ovr":
            raise ValueError(
                f"one model for each of {len(classes)} classes has no common objective: fit with "
                "solver='lbfgs' and no multi_class"
            )
        loss, targets = scikit_learn.SymmetricSoftmaxLoss(len(classes)), _codes(estimator, y)
    elif spelled == "multinomial":
        raise ValueError("multi_class='multinomial' has another objective: fit without it")
    else:
        targets = _signs(estimator, y)
    inverse, share = _inverse_penalty(estimator)
    size = 1 / (weight * inverse)
    penalties = (1 - share) * size, share * size
    return _Objective(loss, targets, *penalties, _intercept_factor(estimator))


def _intercept_factor(estimator: Any) -> float:
    """Inverse of the intercept's scale if liblinear penalises it, 0 otherwise."""
    if getattr(estimator, "solver", "liblinear") != "liblinear":
        return 0.0
    return 1 / float(estimator.intercept_scaling)


def _inverse_penalty(estimator: Any) -> tuple[float, float]:
    """C, infinite for no penalty, and its L1 share, as every version of scikit-learn spells it."""
    # "deprecated" from 1.8 on and absent from 1.10 on, where only l1_ratio decides.
    penalty, inverse = getattr(estimator, "penalty", "deprecated"), _tuned(estimator, "C")
    inverse = float(np.ravel(inverse)[0])  # a CV twin may repeat it for each class
    if penalty is None or math.isinf(inverse):
        return math.inf, 0.0
    share: Any = np.ravel(_tuned(estimator, "l1_ratio"))[0]
    shares = {"l2": 0.0, "l1": 1.0, "elasticnet": share, "deprecated": share or 0.0}
    if penalty not in shares:
        raise ValueError(f"penalty must be one of {list(shares)} or None, got {penalty!r}")
    return inverse, float(shares[penalty])


def _squared_hinge(estimator: Any, y: NDArray[Any], weight: float) -> _Objective:
    if estimator.loss != "squared_hinge":
        raise ValueError(
            f"LinearSVC must have loss='squared_hinge', got {estimator.loss!r}: fit with this "
            "loss, whose minimum can be certified"
        )
    size = 1 / (weight * float(estimator.C))
    penalties = (0.0, size) if estimator.penalty == "l1" else (size, 0.0)
    factor = _intercept_factor(estimator)
    return _Objective(scikit_learn.SquaredHingeLoss(), _signs(estimator, y), *penalties, factor)


def _ridge(estimator: Any, y: NDArray[Any], weight: float) -> _Objective:
    return replace(_ordinary(estimator, y, weight), ridge=_alpha(estimator) / weight)


def _lasso(estimator: Any, y: NDArray[Any], weight: float) -> _Objective:
    share = _tuned(estimator, "l1_ratio")
    share = 1.0 if share is None else float(share)  # LassoCV has none
    alpha = _alpha(estimator)
    return replace(_ordinary(estimator, y, weight), ridge=(1 - share) * alpha, l1=share * alpha)


def _ridge_labels(estimator: Any, y: NDArray[Any], weight: float) -> _Objective:
    ridge, count = _alpha(estimator) / weight, len(estimator.classes_)
    if count > 2:
        return _Objective(scikit_learn.SquaredLabelsLoss(count), _codes(estimator, y), ridge)
    return _Objective(scikit_learn.SquaredLabelLoss(), _signs(estimator, y), ridge)


def _alpha(estimator: Any) -> float:
    alpha = _tuned(estimator, "alpha")
    if np.ndim(alpha) or getattr(estimator, "positive", False):
        raise ValueError(f"{type(estimator).__name__} needs one alpha and positive=False")
    return float(alpha)


def _ordinary(estimator: Any, y: NDArray[Any], weight: float) -> _Objective:
    if getattr(estimator, "positive", False):
        raise ValueError(f"{type(estimator).__name__} must be fitted with positive=False")
    targets = _table(y[:, None])[:, 0]
    return _Objective(SquaredLoss(max(float(np.abs(targets).max()), 1e-300)), targets)


def _table(X: ArrayLike) -> FloatArray:
    try:
        rows = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"rows and targets must hold numbers: {error}") from error
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise DataError(f"rows must be a finite table without NaN, got shape {rows.shape}")
    return rows


def fitted_parameters(estimator: Any, problem: PenalisedProblem) -> FloatArray:
    """Parameters (p,) of a fitted estimator as its problem orders them."""
    fitted = np.atleast_2d(estimator.coef_).astype(float)
    if problem.intercept:
        fitted = np.column_stack([fitted, np.atleast_1d(estimator.intercept_)])
    if fitted.size != problem.p:
        raise ValueError(
            f"the estimator has {fitted.size} parameters, but the rows need {problem.p}"
        )
    return np.asarray(fitted.ravel())


def _check_fit(
    problem: PenalisedProblem, estimator: Any, X: Any, y: NDArray[Any], sample_weight: Any
) -> None:
    fitted = fitted_parameters(estimator, problem)
    value, gradient = problem.value_and_gradient(fitted[:, None])
    excess = float(value[0]) - problem.minimum.value
    gain = float(problem.value(np.zeros((problem.p, 1)))[0]) - problem.minimum.value
    rounding = 1e-12 * (1 + abs(problem.minimum.value))
    if problem.loss.task != "regression" and excess <= _NEAR * gain + rounding:
        return
    if hasattr(estimator, "dual_gap_") and excess <= _proved_gap(estimator, problem) + rounding:
        return
    slopes = np.abs(least_subgradient(gradient[:, 0], fitted, problem.l1))
    limits = stopping_slopes(estimator, problem, fitted)
    if excess <= _FAR * gain + rounding and (slopes <= limits * 1.01).all():
        return
    if excess <= gain + rounding and _stops_again(problem, estimator, X, y, sample_weight):
        warnings.warn(
            f"the objective of the estimator is {excess:.3g} above the minimum: its solver stopped "
            f"early ({solver_advice(estimator)})",
            ConvergenceWarning,
            stacklevel=warn_stacklevel(),
        )
        return
    names = problem.loss.outputs * [*problem.feature_names, *["intercept"] * problem.intercept]
    worst = int(np.argmax(slopes / np.maximum(limits, 1e-300)))
    raise ValueError(
        f"the estimator's objective on these rows is {max(excess, 0.0):.3g} above the minimum, and "
        "a refit to them gives another model: pass the rows that it was fitted to (a pipeline's "
        "last step was fitted to transformed rows), in their order, and its sample_weight. The "
        f"slope along {names[worst]!r} is {slopes[worst]:.3g}, and a converged solver leaves at "
        f"most {limits[worst]:.3g} ({solver_advice(estimator)})"
    )


_SAME_SCORES = 0.01  # largest distance of two runs of a random solver, relative to the scores
_SAME_EXCESS = 1.5  # largest ratio of their excess


def _stops_again(
    problem: PenalisedProblem, estimator: Any, X: Any, y: NDArray[Any], sample_weight: Any
) -> bool:
    """Whether a refit with the same settings to the rows stops at the same model."""
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refit = clone(estimator).fit(X, y, **weights)
    except Exception:  # it cannot be fitted again, so nothing shows where its solver stops
        return False
    tuned = [name for name in ("C_", "alpha_", "l1_ratio_") if hasattr(estimator, name)]
    if any(np.any(getattr(estimator, name) != getattr(refit, name)) for name in tuned):
        return False
    both = np.stack([fitted_parameters(model, problem) for model in (estimator, refit)], axis=1)
    excess = problem.value(both) - problem.minimum.value
    scores = problem.rows @ both.T.reshape(2, problem.loss.outputs, -1).transpose(0, 2, 1)
    spread = float(scores[1].std(axis=0).max())
    distance = float(np.sqrt(((scores[1] - scores[0]) ** 2).mean(axis=0)).max())
    return bool(distance <= _SAME_SCORES * spread and excess[0] <= _SAME_EXCESS * excess[1])


def _proved_gap(estimator: Any, problem: PenalisedProblem) -> float:
    """Excess of a fit by coordinate descent: its dual gap, at most what its tolerance allows."""
    spread = _centred(problem)[1] ** 2
    allowed = min(float(estimator.tol), _LOOSEST) * float(_mean(problem, spread)[0])
    return 1.01 * min(float(estimator.dual_gap_), allowed)


def solver_advice(estimator: Any) -> str:
    """Return where the solver stopped, and what leads it to the minimum."""
    steps, max_iter = getattr(estimator, "n_iter_", None), getattr(estimator, "max_iter", None)
    if steps is not None and max_iter is not None and np.max(steps) >= max_iter:
        return f"it stopped after max_iter={max_iter:,} steps: scale the columns or raise max_iter"
    return "a smaller tol and scaled columns help"
