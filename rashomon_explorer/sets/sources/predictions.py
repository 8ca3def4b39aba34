"""Set from stored predictions, without the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.sets.models.fitted import (
    StoredPredictions,
    check_scores,
    class_codes,
    fingerprint,
    one_hot,
)
from rashomon_explorer.sets.predictor import PredictorSet
from rashomon_explorer.sets.sources.estimators import (
    LossRule,
    model_losses,
    model_names,
    sort_labels,
    threshold,
)

Classes = tuple[Any, ...]


def from_predictions(
    predictions: ArrayLike,
    y: ArrayLike | None = None,
    *,
    kind: str = "probabilities",
    losses: ArrayLike | None = None,
    loss: str | LossRule | None = None,
    psi: float | None = None,
    classes: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    X: Any = None,
    complete: bool = False,
) -> PredictorSet:
    """Create a set from predictions of models for the same rows, for the curator: not private.

    Parameters
    ----------
    predictions : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    y : array-like of shape (n_rows,), optional
        True labels or targets, from which losses are computed.
    kind : {"probabilities", "labels", "targets"}, default="probabilities"
        Type of the predictions: probabilities of the second class, or of each class on the third
        axis; labels; or targets of a regression.
    losses : array-like of shape (n_models,), optional
        Known losses, instead of ``y``. Without either, quantities that need a loss (``excess``,
        ``hit_rate``, ``inside``) raise an error.
    loss : {"log_loss", "zero_one", "squared"}, callable or None, default=None
        See :func:`rashomon_explorer.sets.from_estimators`.
    psi : float, optional
        Rashomon threshold; by default the largest excess loss, or infinity without losses.
    classes : sequence, optional
        Labels of the classes in the order of their probabilities; by default those in ``y`` and
        the predicted labels, sorted, or 0, 1, ….
    names : sequence of str, optional
        Names of the models.
    X : array-like of shape (n_rows, n_features), optional
        The predicted rows. Their values are not stored, only a fingerprint: ``scores(X)`` then
        recognises them, and figures that need rows can be drawn.
    complete : bool, default=False
        Whether these are all models within ψ, such as an enumeration: measures over them are then
        exact, not lower bounds.

    Returns
    -------
    PredictorSet
        The reference is the model of least loss, or the first without losses.

    Raises
    ------
    ValueError
        If a shape, length, class or value does not match.

    Examples
    --------
    >>> models = from_predictions([["a", "b"], ["a", "a"]], ["a", "b"], kind="labels")
    >>> models.labels().tolist(), models.losses.tolist(), models.psi
    ([[0, 1], [0, 0]], [0.0, 0.5], 0.5)
    >>> models.scores([[1.0], [2.0]])
    Traceback (most recent call last):
        ...
    ValueError: these are predictions stored for 2 rows, and X holds rows, which were not ...
    """
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {[*_KINDS]}, got {kind!r}")
    if losses is not None and y is not None:
        raise ValueError("give losses or y from which they are computed, not both")
    known = None if classes is None else tuple(np.asarray(classes).tolist())
    scores, labels = _KINDS[kind](np.asarray(predictions), known, y)
    check_scores(scores, "predictions")
    if X is not None and len(X) != scores.shape[1]:
        raise ValueError(f"X has {len(X)} rows, and {scores.shape[1]} were predicted")
    rules = {"classes": labels, "loss": loss, "certain": kind == "labels"}
    found, name = _losses(scores, y, losses, rules)
    best = 0 if np.isnan(found[0]) else int(np.argmin(found))
    stored = StoredPredictions(scores, "" if X is None else fingerprint(X))
    return PredictorSet(
        models=stored,
        reference=stored.take(np.array([best])),
        losses=found,
        least=float(found[best]),
        psi=np.inf if psi is None and np.isnan(found[0]) else threshold(psi, found, found[best]),
        task="classification" if labels else "regression",
        classes=labels,
        names=model_names(len(scores), names),
        loss=name,
        complete=complete,
    )


def _losses(
    scores: FloatArray, y: ArrayLike | None, losses: ArrayLike | None, rules: dict[str, Any]
) -> tuple[FloatArray, str]:
    if y is not None:
        return model_losses(scores, y, **rules)
    if losses is None:
        return np.full(len(scores), np.nan), "unknown"
    given = np.asarray(losses, dtype=float)
    if given.shape != (len(scores),) or not np.isfinite(given).all():
        raise ValueError(
            f"losses must be finite, one for each of {len(scores)} models, got {losses!r}"
        )
    return given, rules["loss"] if isinstance(rules["loss"], str) else "given"


def _probabilities(
    given: NDArray[Any], classes: Classes | None, y: ArrayLike | None
) -> tuple[FloatArray, Classes]:
    if given.dtype.kind not in "biuf" or given.ndim not in (2, 3) or 0 in given.shape:
        raise ValueError(
            "probabilities must be numbers of shape (n_models, n_rows) or (n_models, n_rows, "
            f"n_classes), none of them 0, got {given.dtype} of shape {given.shape}"
        )
    scores = check_scores(given.astype(float), "predictions")
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            "probabilities must be from 0 to 1; for labels or targets write kind='labels' or "
            "kind='targets'"
        )
    if scores.ndim == 3 and np.abs(scores.sum(axis=2) - 1).max() > 1e-6:
        raise ValueError("the probabilities of a row's classes must sum to 1")
    count = scores.shape[2] if scores.ndim == 3 else 2
    names = classes or _sorted_or_counted(y, count)
    if len(names) != count or count < 2:
        raise ValueError(f"{len(names)} classes are given for probabilities of {count}")
    return (scores[..., 1] if scores.ndim == 3 and count == 2 else scores), names


def _sorted_or_counted(y: ArrayLike | None, count: int) -> Classes:
    names = () if y is None else sort_labels(y)
    return names if len(names) == count else tuple(range(count))


def _labels(
    given: NDArray[Any], classes: Classes | None, y: ArrayLike | None
) -> tuple[FloatArray, Classes]:
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(f"labels must have shape (n_models, n_rows), got {given.shape}")
    if given.dtype.kind == "f":
        check_scores(given, "predictions")
    names = classes or sort_labels(given, *([] if y is None else [y]))
    if len(names) < 2:
        raise ValueError(f"at least two classes are needed, got {list(names)}: name them all")
    return one_hot(class_codes(given, names, "predictions"), len(names)), names


def _targets(
    given: NDArray[Any], classes: Classes | None, y: ArrayLike | None
) -> tuple[FloatArray, Classes]:
    if given.dtype.kind not in "biuf" or given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"targets must be numbers of shape (n_models, n_rows), got {given.dtype} of shape "
            f"{given.shape}"
        )
    if classes:
        raise ValueError(f"a regression has no classes, got {list(classes)}")
    return given.astype(float), ()


_KINDS: dict[
    str,
    Callable[[NDArray[Any], Classes | None, ArrayLike | None], tuple[FloatArray, Classes]],
] = {"probabilities": _probabilities, "labels": _labels, "targets": _targets}
