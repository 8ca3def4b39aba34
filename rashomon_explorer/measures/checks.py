"""Shapes and values that every measure asks for."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.nested import blocks

_ROUNDING = 1e-6  # of probabilities that were computed in single precision


def as_models_by_rows(values: ArrayLike, name: str) -> FloatArray:
    """Numbers of shape (n_models, n_rows), finite and not empty.

    >>> as_models_by_rows([[0, 1]], "labels").shape
    (1, 2)
    """
    array = _numbers(values, name, "(n_models, n_rows)")
    if array.ndim == 3:
        raise ValueError(
            f"{name} must have shape (n_models, n_rows), got {array.shape}: for several classes "
            f"choose one, {name}[:, :, k]"
        )
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have shape (n_models, n_rows) with at least one of each, got "
            f"{array.shape}"
        )
    _refuse_missing(array, name)
    return array


def as_scores(values: ArrayLike) -> FloatArray:
    """Finite scores of shape (n_models, n_rows) or (n_models, n_rows, n_classes).

    >>> as_scores([[[0.2, 0.8]]]).shape
    (1, 1, 2)
    """
    array = _numbers(values, "scores", "(n_models, n_rows) or (n_models, n_rows, n_classes)")
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ValueError(
            "scores must have shape (n_models, n_rows) or (n_models, n_rows, n_classes) with at "
            f"least one of each, got {array.shape}"
        )
    _refuse_missing(array, "scores")
    return array


def as_probabilities(values: ArrayLike) -> FloatArray:
    """Scores in [0, 1] that, for several classes, sum to 1.

    >>> as_probabilities([[0.0, 1.0]]).shape
    (1, 2)
    """
    array = as_scores(values)
    for block in blocks(array):
        if block.min() < 0 or block.max() > 1:
            worst = block.min() if block.min() < 0 else block.max()
            raise ValueError(
                f"scores must be probabilities in [0, 1], got {worst:.6g}; for predicted numbers "
                "use viable_prediction_range or score_std"
            )
    if array.ndim == 3:
        _check_sums(array)
    return array


def only_labels(scores: FloatArray) -> bool:
    """Whether all scores are 0 or 1: certain labels, whose spread is that of labels.

    Examples
    --------
    >>> only_labels(np.array([[0.0, 1.0]])), only_labels(np.array([[0.0, 0.9]]))
    (True, False)
    """
    return bool(((scores == 0) | (scores == 1)).all())


def as_reference(scores: FloatArray, baseline: int | ArrayLike) -> FloatArray:
    """Scores (n_rows[, n_classes]) of the reference model, by its place or by its scores.

    >>> as_reference(np.array([[0.0, 1.0], [1.0, 1.0]]), 1).tolist()
    [1.0, 1.0]
    """
    if isinstance(baseline, int | np.integer) and not isinstance(baseline, bool):
        if not -len(scores) <= baseline < len(scores):
            raise ValueError(f"baseline must be a model below {len(scores)}, got {baseline}")
        return np.asarray(scores[baseline])
    try:
        reference = np.asarray(baseline, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"baseline must be a model's place or its scores: {error}") from error
    if reference.shape != scores.shape[1:]:
        raise ValueError(
            f"baseline must hold scores of shape {scores.shape[1:]}, or be a model's place, got "
            f"shape {reference.shape}"
        )
    if not np.isfinite(reference).all():
        raise ValueError("baseline holds NaN or infinity")
    return reference


def refuse_sets(values: object, name: str) -> None:
    """Refuse a set of models where its labels or scores are wanted."""
    if hasattr(type(values), "n_draws"):
        raise TypeError(
            f"{name} must be an array, got a {type(values).__name__}: take models.{name}(X), or "
            "multiplicity_table(models, X) for all measures"
        )


def need_set(models: object) -> None:
    """Refuse arrays where a set of models is wanted."""
    if not hasattr(models, "n_draws"):
        raise TypeError(
            f"models must be a set of models, got {type(models).__name__}: arrays are for the "
            "functions of labels and scores, such as ambiguity and fairness_gaps, or for "
            "rashomon_set.from_predictions"
        )


def _numbers(values: ArrayLike, name: str, shape: str) -> FloatArray:
    refuse_sets(values, "scores")
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers of shape {shape}: {error}") from error


def _refuse_missing(array: FloatArray, name: str) -> None:
    # A sum is finite only if its terms are, and a sum is faster; it may overflow, hence the look.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = all(np.isfinite(block.sum()) for block in blocks(array))
    if not finite and not np.isfinite(array).all():
        model, row = (int(i) for i in np.argwhere(~np.isfinite(array))[0][:2])
        raise ValueError(f"{name} holds NaN or infinity for model {model}, row {row}")


def _check_sums(array: NDArray[Any]) -> None:
    for block in blocks(array):
        wrong = np.abs(block.sum(axis=2) - 1) > _ROUNDING
        if wrong.any():
            total = float(block.sum(axis=2)[wrong][0])
            raise ValueError(
                f"scores of the {array.shape[2]} classes must sum to 1 for each model and row, "
                f"got a sum of {total:.6g}"
            )
