"""The problem of a fitted Rashomon estimator, reconstructed from its rows."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray, scale_targets
from rashomon_explorer.data.encoder import declared_labels
from rashomon_explorer.measures.inputs import by_index, fitted_set, preprocessing, set_and_rows
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import chunks_with_targets, is_chunked
from rashomon_explorer.rows.steps import NumericStep
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.models.fitted import class_codes
from rashomon_explorer.sets.scores import encoded_rows


@by_index
def declared_problem(
    estimator: Any, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None
) -> Problem:
    """Problem of a fitted ``RashomonClassifier`` or ``RashomonRegressor`` and its rows.

    A set of draws holds no rows, so exact ranges need them again. Curator: it holds private
    rows.

    Parameters
    ----------
    estimator : RashomonClassifier or RashomonRegressor, or a Pipeline that ends in one
        Fitted.
    X : array-like of shape (n_rows, n_features), Dask collection or ChunkedRows
        Rows it was fitted to; a pipeline's steps transform them as in the fit. Chunked rows are not
        kept: ranges are then computed from sums over chunks.
    y : array-like of shape (n_rows,)
        Omitted for chunked rows, which have their own.

    Returns
    -------
    Problem
        With the estimator's loss, ball, clipping and ridge, and the names of its features; on
        mapped columns if the draws are (``rashomon_set_.scale``).

    Raises
    ------
    TypeError
        If the estimator holds no set of draws.
    ValueError
        If a label is not one of its classes, or these are not the rows it was fitted to.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> fitted = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y)
    >>> problem = declared_problem(fitted, X, y)
    >>> problem.minimum.value == fitted.rashomon_set_.minimum.value
    True
    """
    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted Rashomon estimator, got {estimator!r}")
    check_is_fitted(estimator)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    models = getattr(last, "rashomon_set_", None)
    if not isinstance(models, RashomonSet):
        raise TypeError(
            f"{type(last).__name__} holds no draws; for scikit-learn's own linear models use "
            "penalised_problem"
            if models is None
            else f"{type(last).__name__} holds no linear draws and has no convex problem: "
            f"{_COUNTED}"
        )
    return set_problem(estimator, X, y)


_COUNTED = (
    "for whole sets of sparse trees use trees.CountedTrees(X, y, max_leaves=...) with "
    "trees.flip_psi, best_tree_predicting, best_using and feature_table"
)


@by_index
def set_problem(
    models: Any, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None, *, resampled: bool = False
) -> Problem:
    """Problem of a set of linear draws, from the rows that its estimator took.

    Also for sets without their estimator, such as one loaded from a file. Curator: it holds
    private rows.

    Parameters
    ----------
    models : RashomonSet or fitted Rashomon estimator
        With the plan of its draws; an estimator as in :func:`declared_problem`.
    X : array-like of shape (n_rows, n_features), Dask collection or ChunkedRows
        Rows that they were fitted to: the raw table, or encoded rows.
    y : array-like of shape (n_rows,)
        Targets with the set's labels; omitted for chunked rows.
    resampled : bool, default=False
        Whether the rows differ intentionally, as in a bootstrap, and so does the minimal loss.

    Returns
    -------
    Problem
        With the draws' loss, ball, clipping and ridge, and the names of their features.

    Raises
    ------
    TypeError
        If ``models`` is not a set of linear draws, or its plan has no ball.
    ValueError
        If a label is not one of its classes, or these are not the rows it was drawn from.
    """
    source, steps, models = models, preprocessing(models), fitted_set(models)
    if not isinstance(models, RashomonSet) or models.plan.radius is None:
        raise TypeError(
            "models must be linear draws whose plan has a ball, got "
            f"{type(models).__name__}, which has no convex problem: {_COUNTED}"
        )
    is_raw, X = source is not models, X if steps is None else steps(X)
    declared: dict[str, Any] = {
        "loss": _loss(models),
        "radius": models.plan.radius,
        "row_norm": models.row_norm,
        "ridge": models.plan.ridge,
        "scale": models.scale,
    }
    if is_chunked(X):
        table = encoded_rows(models, chunks_with_targets(X, y), is_raw=is_raw)
        coded = table.then(NumericStep(), partial(_coded_step, models))
        problem = Problem(coded, **declared)
    else:
        rows: Any = encoded_rows(models, X, is_raw=is_raw)
        problem = Problem(rows, _targets(models, y), **declared)
    if not resampled:
        _check_same(problem, models)
    # Read by the ranges for parameter names; a problem itself stores none.
    vars(problem)["feature_names"] = models.feature_names[:-1]
    vars(problem)["scale"] = models.scale  # the map to apply to evaluation rows
    if steps is not None or models.schema is not None:
        vars(problem)["encode"] = partial(_source_rows, source)  # for a raw table's evaluation rows
    return problem


def _source_rows(source: Any, X: Any) -> Any:
    return set_and_rows(source, X)[1]


def _coded_step(models: RashomonSet, rows: Any, y: Any) -> tuple[Any, FloatArray]:
    return rows, _targets(models, y)


def _loss(models: RashomonSet) -> Loss:
    if models.link == "identity":
        return SquaredLoss()
    return SoftmaxLoss(models.n_classes) if models.link == "softmax" else LogisticLoss()


def _targets(models: RashomonSet, y: Any) -> FloatArray:
    """Targets for the loss of a set; labels may be written as in the schema's table."""
    schema = models.schema
    if schema is not None and schema.classes is not None:
        y = declared_labels(schema, y)
    y = np.asarray(y)
    if models.link == "identity":
        bounds = models.target_bounds
        return scale_targets(np.clip(y.astype(float), *bounds), bounds)
    codes = class_codes(y, models.classes, "y").astype(float)
    return codes if models.link == "softmax" else 2 * codes - 1


def _check_same(problem: Problem, models: RashomonSet) -> None:
    if problem.p != models.coef.shape[1]:
        raise ValueError(f"the rows give {problem.p} parameters, the draws {models.coef.shape[1]}")
    away = abs(problem.minimum.value - models.minimum.value)
    if away > problem.minimum.gap + models.minimum.gap + 1e-12:
        raise ValueError(
            f"the minimal loss on these rows differs by {away:.3g} from that of the draws: pass "
            "the rows that the estimator was fitted to, and do not change its parameters"
        )
