"""Rows, targets and linear models in the units that their loss is measured in."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.sets import RashomonSet, ReleasedSet, ReleasedTrees

_LOSS_OF_LINK = {
    "logistic": "logistic",
    "softmax": "softmax",
    "sign": "zero_one",
    "identity": "squared",
}
_OTHER_LOSSES = {
    "logistic": ("zero_one",),
    "softmax": ("zero_one",),
    "sign": ("hinge",),
    "identity": ("absolute",),
}
_POWER = {"squared": 2, "absolute": 1}


@dataclass(frozen=True)
class LinearTask:
    """Linear models with the rows that they are judged on."""

    coef: FloatArray
    rows: FloatArray
    targets: FloatArray
    loss: str
    scale: float

    @classmethod
    def of(
        cls, models: RashomonSet | ReleasedSet, X: ArrayLike, y: ArrayLike, loss: str | None
    ) -> "LinearTask":
        """Rows and targets as the models see them."""
        need_linear(models)
        if models.n_draws == 0:
            raise ValueError("the set has no models, so there is nothing to measure")
        rows, targets = checked_rows(models, X, y)
        n_features = len(models.feature_names) - 1
        if rows.shape[1] != n_features:
            raise ValueError(f"X must have shape (n_rows, {n_features}), got {rows.shape}")
        own = _LOSS_OF_LINK[models.link]
        allowed = (own, *_OTHER_LOSSES[models.link])
        loss = own if loss is None else loss
        if loss not in allowed:
            raise ValueError(f"loss must be one of {allowed} for these models, got {loss!r}")
        scale = 1.0
        if models.task == "regression":
            low, high = models.target_bounds
            half = (high - low) / 2
            targets, scale = (targets - (low + high) / 2) / half, half ** _POWER[loss]
        coef = models.coef.reshape(models.n_draws, models.outputs, n_features + 1)
        return cls(coef, add_intercept(models.rows(rows)), targets, loss, scale)


def need_linear(models: object) -> None:
    """Refuse models that have no coefficients."""
    if not isinstance(models, RashomonSet | ReleasedSet):
        raise TypeError(
            "this importance needs linear models, a RashomonSet or a ReleasedSet, or decision "
            f"trees, got {type(models).__name__}: for other models use switching_loss or "
            "divided_loss with the predict function of each model"
        )


def checked_rows(
    models: RashomonSet | ReleasedSet | ReleasedTrees, X: ArrayLike, y: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Rows as numbers, and targets or codes of labels, one a row and finite."""
    rows = np.asarray(X, dtype=float)
    targets = np.asarray(y)
    if rows.ndim != 2 or targets.shape != (len(rows),):
        raise ValueError(f"X and y must have one target a row, got {rows.shape}, {targets.shape}")
    if len(rows) == 0:
        raise ValueError("X must have at least one row")
    numbers = targets if targets.dtype.kind == "f" else np.zeros(0)
    if not (np.isfinite(rows).all() and np.isfinite(numbers).all()):
        raise ValueError("X and y must be finite: remove or impute rows with NaN or infinity")
    return rows, _codes(models, targets)


def _codes(models: RashomonSet | ReleasedSet | ReleasedTrees, y: NDArray[Any]) -> FloatArray:
    """Codes 0, 1, … of labels (n_rows,), or targets as they are."""
    if models.task == "regression":
        return y.astype(float)
    code = {label: k for k, label in enumerate(models.classes or range(models.n_classes))}
    labels, rows = np.unique(y, return_inverse=True)
    strange = [label for label in labels.tolist() if label not in code]
    if strange:
        raise ValueError(f"y must hold the labels {[*code]} of the models, got {strange[0]!r}")
    return np.array([code[label] for label in labels.tolist()], dtype=float)[rows]
