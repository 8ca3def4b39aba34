"""How good a prediction is: losses of models that were not drawn here."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.rashomon_set.links import likeliest
from rashomon_explorer.rashomon_set.models.fitted import class_codes

LossRule = Callable[[NDArray[Any], FloatArray], float]

_TINY = float(np.finfo(float).eps)


def losses_of(
    scores: FloatArray,
    y: ArrayLike,
    *,
    classes: tuple[Any, ...],
    loss: str | LossRule | None,
    certain: bool,
) -> tuple[FloatArray, str]:
    """Loss of every model, and its name.  Curator: computed from private rows.

    ``loss`` is a key of ``PREDICTION_LOSSES``, or a function of the true classes' codes (or
    targets) and one model's scores. None is log loss for probabilities, the share of errors for
    labels (``certain``: scores 0 and 1, of which no log loss can be asked), and half the mean
    squared error for targets.

    >>> scores = np.array([[0.9, 0.4]])
    >>> losses_of(scores, [1, 1], classes=(0, 1), loss="zero_one", certain=False)
    (array([0.5]), 'zero_one')
    """
    truth = _truth(scores, y, classes)
    default = "squared" if not classes else "zero_one" if certain else "log_loss"
    chosen = default if loss is None else loss
    if callable(chosen):
        name = getattr(chosen, "__name__", "own loss")
        values = np.array([float(chosen(truth, model)) for model in scores])
    else:
        name = _checked(chosen, bool(classes), certain)
        values = PREDICTION_LOSSES[name](scores, truth)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} of model {int(np.argmin(np.isfinite(values)))} is not finite")
    return values, name


def _truth(scores: FloatArray, y: ArrayLike, classes: tuple[Any, ...]) -> NDArray[Any]:
    given = np.asarray(y)
    if given.shape != scores.shape[1:2]:
        raise ValueError(
            f"y must hold one value for each of {scores.shape[1]} rows, got shape {given.shape}"
        )
    if classes:
        return class_codes(given, classes, "y")
    targets = given.astype(float)
    if not np.isfinite(targets).all():
        raise ValueError("y holds NaN or infinity: remove the row")
    return targets


def _checked(name: str, classification: bool, certain: bool) -> str:
    if name not in PREDICTION_LOSSES or (name == "squared") == classification:
        fitting = ["log_loss", "zero_one"] if classification else ["squared"]
        raise ValueError(f"loss must be one of {fitting} or a function, got {name!r}")
    if name == "log_loss" and certain:
        raise ValueError("log_loss needs probabilities and these are labels: use 'zero_one'")
    return name


def _log_loss(scores: FloatArray, codes: NDArray[np.int_]) -> FloatArray:
    """Cross-entropy in nats a row; probabilities are kept 2⁻⁵² away from 0, or it were infinite."""
    if scores.ndim == 3:
        own = np.take_along_axis(scores, codes[None, :, None], axis=2)[..., 0]
    else:
        own = np.where(codes == 1, scores, 1 - scores)
    return np.asarray(-np.log(np.clip(own, _TINY, 1.0)).mean(axis=1))


def _zero_one(scores: FloatArray, codes: NDArray[np.int_]) -> FloatArray:
    return np.asarray((likeliest(scores) != codes).mean(axis=1))


def _squared(scores: FloatArray, targets: FloatArray) -> FloatArray:
    return np.asarray(((scores - targets) ** 2).mean(axis=1) / 2)


PREDICTION_LOSSES: dict[str, Callable[[FloatArray, NDArray[Any]], FloatArray]] = {
    "log_loss": _log_loss,
    "zero_one": _zero_one,
    "squared": _squared,
}
