"""Sets from fitted estimators or from their predictions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer._utils.containers import column_labels
from rashomon_explorer._utils.validation import check_nonnegative_or_infinite
from rashomon_explorer.sets.models import fitted
from rashomon_explorer.sets.predictor import PredictorSet

Classes = tuple[Any, ...]
LossRule = Callable[[NDArray[Any], FloatArray], float]

_TINY = float(np.finfo(float).eps)


def predictor_set(
    models: Any,
    losses: FloatArray,
    *,
    loss: str,
    psi: float | None,
    classes: Sequence[Any],
    names: Sequence[str] | None,
    complete: bool = False,
) -> PredictorSet:
    """Set of models with the best as reference; all losses are NaN if none are known."""
    unknown = bool(np.isnan(losses).all())
    if not unknown and not np.isfinite(losses).all():
        raise ValueError(f"{loss} of model {int(np.argmin(np.isfinite(losses)))} is not finite")
    if names is None:
        names = [f"model {k}" for k in range(len(models))]
    if isinstance(names, str) or len(names) != len(models):
        raise ValueError(f"names must hold one for each of {len(models)} models, got {names!r}")
    best = 0 if unknown else int(np.argmin(losses))
    best_loss = float(losses[best])
    return PredictorSet(
        models=models,
        reference=models.take(np.array([best])),
        losses=losses,
        least=best_loss,
        psi=np.inf if psi is None and unknown else _threshold(psi, losses, best_loss),
        task="classification" if classes else "regression",
        classes=tuple(np.asarray(classes).tolist()),
        names=tuple(str(name) for name in names),
        loss="unknown" if unknown else loss,
        complete=complete,
    )


def known_losses(losses: ArrayLike, count: int) -> FloatArray:
    """Return the losses of the models; raise unless there is a finite one for each."""
    array = np.asarray(losses, dtype=float)
    if array.shape != (count,) or not np.isfinite(array).all():
        raise ValueError(f"losses must be finite, one for each of {count} models, got {losses!r}")
    return array


def sort_labels(*parts: ArrayLike) -> tuple[Any, ...]:
    """Distinct labels, sorted, as plain values."""
    arrays = [np.ravel(np.asarray(part)) for part in parts]
    distinct = [array if array.dtype == object else np.unique(array) for array in arrays]
    labels = list(dict.fromkeys(label for array in distinct for label in array.tolist()))
    missing = [label for label in labels if _is_missing(label)]
    if missing:
        raise ValueError(f"labels must not be missing, got {missing[0]!r}: remove the rows")
    texts = [label for label in labels if isinstance(label, str)]
    if texts and len(texts) < len(labels):
        numbers = [label for label in labels if not isinstance(label, str)]
        raise ValueError(
            f"labels must all be text or all be numbers, got {sorted(texts)[:3]} and "
            f"{numbers[:3]}: use one type for all"
        )
    return tuple(sorted(labels))


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA
        return True


def _threshold(psi: float | None, losses: FloatArray, least: float) -> float:
    """Return the given ψ, or the largest excess loss, which includes all models."""
    if psi is not None:
        check_nonnegative_or_infinite(psi=psi)
        return float(psi)
    excess = losses - least
    largest = float(excess.max())
    # least + (loss − least) may round to just below the loss, but that model must be inside.
    while (losses > least + largest).any():
        largest = float(np.nextafter(largest, np.inf))
    return largest


def model_losses(
    scores: FloatArray,
    y: ArrayLike,
    *,
    classes: tuple[Any, ...],
    loss: str | LossRule | None,
    certain: bool,
) -> tuple[FloatArray, str]:
    """Loss of every model, and its name; computed from private rows, for the curator only."""
    if not callable(loss):
        each, name = row_losses(scores, y, classes=classes, loss=loss, certain=certain)
        return each.mean(axis=1), name
    truth, name = _truth(scores, y, classes), getattr(loss, "__name__", "own loss")
    values = np.array([float(loss(truth, model)) for model in scores])
    if not np.isfinite(values).all():
        raise ValueError(f"{name} of model {int(np.argmin(np.isfinite(values)))} is not finite")
    return values, name


def row_losses(
    scores: FloatArray,
    y: ArrayLike,
    *,
    classes: tuple[Any, ...],
    loss: str | None = None,
    certain: bool,
) -> tuple[FloatArray, str]:
    """Loss of every model for every row, shape (n_models, n_rows), and its name."""
    truth = _truth(scores, y, classes)
    default = "squared" if not classes else "zero_one" if certain else "log_loss"
    name = _checked(default if loss is None else loss, bool(classes), certain)
    values = ROW_LOSSES[name](scores, truth)
    if not np.isfinite(values).all():
        model = int(np.argmin(np.isfinite(values).all(axis=1)))
        raise ValueError(f"{name} of model {model} is not finite")
    return values, name


def _truth(scores: FloatArray, y: ArrayLike, classes: tuple[Any, ...]) -> NDArray[Any]:
    array = np.asarray(y)
    if array.shape != scores.shape[1:2]:
        raise ValueError(
            f"y must hold one value for each of {scores.shape[1]} rows, got shape {array.shape}"
        )
    if classes:
        return fitted.class_codes(array, classes, "y")
    targets = array.astype(float)
    if not np.isfinite(targets).all():
        raise ValueError("y holds NaN or infinity: remove the row")
    return targets


def _checked(name: str, classification: bool, certain: bool) -> str:
    if name not in ROW_LOSSES or (name == "squared") == classification:
        fitting = ["log_loss", "zero_one"] if classification else ["squared"]
        raise ValueError(f"loss must be one of {fitting} or a function, got {name!r}")
    if name == "log_loss" and certain:
        raise ValueError("log_loss needs probabilities and these are labels: use 'zero_one'")
    return name


def _log_loss(scores: FloatArray, codes: NDArray[np.int_]) -> FloatArray:
    """Cross-entropy in nats; probabilities are at least 2⁻⁵², so it is finite."""
    if scores.ndim == 3:
        likelihood = np.take_along_axis(scores, codes[None, :, None], axis=2)[..., 0]
    else:
        likelihood = np.where(codes == 1, scores, 1 - scores)
    return np.asarray(-np.log(np.clip(likelihood, _TINY, 1.0)))


ROW_LOSSES: dict[str, Callable[[FloatArray, NDArray[Any]], FloatArray]] = {
    "log_loss": _log_loss,
    "zero_one": lambda scores, codes: np.asarray(likeliest(scores) != codes, dtype=float),
    "squared": lambda scores, targets: np.asarray((scores - targets) ** 2 / 2),
}


def from_estimators(
    models: Iterable[Any],
    X: Any,
    y: ArrayLike,
    *,
    loss: str | LossRule | None = None,
    psi: float | None = None,
    names: Sequence[str] | None = None,
) -> PredictorSet:
    """Create a set from fitted models with their losses on rows, for the curator: not private.

    Parameters
    ----------
    models : iterable of estimators, or mapping of names to them
        Fitted scikit-learn classifiers, or regressors, or anything with ``predict`` (and
        ``predict_proba``, ``classes_``); pipelines, trees and ensembles alike.
    X : array-like of shape (n_rows, n_features)
        Rows in the form that the models take.
    y : array-like of shape (n_rows,)
    loss : {"log_loss", "zero_one", "squared"}, callable or None, default=None
        By default log loss if all models predict probabilities, otherwise the error rate; half
        the mean squared error for regressors. A callable takes the codes of the true classes (or
        the targets) and one model's scores.
    psi : float, optional
        Rashomon threshold; by default the largest excess loss, so that all models are inside.
    names : sequence of str, optional
        Names of the models.

    Returns
    -------
    PredictorSet
        Excess loss is relative to the best of these models; better models may
        exist.

    Raises
    ------
    ValueError
        If there are no models, a length or a class does not match, or a prediction is not finite.
    TypeError
        If an object cannot predict, classifiers and regressors are mixed, or a single model is
        given instead of a list.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "no"]
    >>> each = [LogisticRegression().fit(X, y), DecisionTreeClassifier(max_depth=2).fit(X, y)]
    >>> models = from_estimators(each, X, y, loss="zero_one", psi=0.1)
    >>> models.losses.tolist(), models.class_names, str(models.guarantee)
    ([0.25, 0.0], ('no', 'yes'), 'no guarantee: these models were not drawn privately')
    """
    if hasattr(models, "predict"):  # an ensemble is iterable and would be split
        raise TypeError(f"models must be several models, got one {type(models).__name__}: [model]")
    if isinstance(models, dict):
        names = list(models) if names is None else names
        models = models.values()
    estimators = tuple(models)
    if not estimators:
        raise ValueError("models must hold at least one fitted model, got none")
    columns = tuple(map(str, column_labels(X) or ()))
    several = replace(fitted_models(estimators, y), columns=columns)
    classes, certain = several.classes, several.certain
    losses, name = model_losses(several.scores(X), y, classes=classes, loss=loss, certain=certain)
    return predictor_set(several, losses, loss=name, psi=psi, classes=classes, names=names)


def fitted_models(models: tuple[Any, ...], y: ArrayLike) -> fitted.FittedModels:
    """Fitted estimators with their classes and those of y; raise if they do not fit together."""
    for k, model in enumerate(models):
        if isinstance(model, type) or not hasattr(model, "predict"):
            raise TypeError(f"model {k} cannot predict: expected a fitted model, got {model!r}")
    regressors = [_regresses(model) for model in models]
    if all(regressors):
        return fitted.FittedModels(models, ())
    if any(regressors):
        raise TypeError("models must be all classifiers or all regressors, got both")
    labels = [getattr(model, "classes_", None) for model in models]
    classes = sort_labels(*([part for part in labels if part is not None] or [y]))
    if len(classes) < 2:
        raise ValueError(f"at least two classes are needed, got {list(classes)}")
    return fitted.FittedModels(models, classes)


def _regresses(model: Any) -> bool:
    if hasattr(model, "predict_proba") or hasattr(model, "classes_"):
        return False
    # Local import: scikit-learn would double the import time for reading a set.
    from sklearn.base import is_regressor

    # A model that is not from scikit-learn and has no classes predicts targets.
    return not hasattr(model, "__sklearn_tags__") or bool(is_regressor(model))


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
    declared = None if classes is None else tuple(np.asarray(classes).tolist())
    scores, labels = _KINDS[kind](np.asarray(predictions), declared, y)
    fitted.check_scores(scores, "predictions")
    if X is not None and len(X) != scores.shape[1]:
        raise ValueError(f"X has {len(X)} rows, and {scores.shape[1]} were predicted")
    name = loss if isinstance(loss, str) else "given"
    if y is not None:
        values, name = model_losses(scores, y, classes=labels, loss=loss, certain=kind == "labels")
    elif losses is not None:
        values = known_losses(losses, len(scores))
    else:
        values = np.full(len(scores), np.nan)
    stored = fitted.StoredPredictions(scores, "" if X is None else fitted.fingerprint(X))
    return predictor_set(
        stored, values, loss=name, psi=psi, classes=labels, names=names, complete=complete
    )


def _probabilities(
    predictions: NDArray[Any], classes: Classes | None, y: ArrayLike | None
) -> tuple[FloatArray, Classes]:
    if predictions.dtype.kind not in "biuf":
        some = list(dict.fromkeys(predictions.ravel().tolist()))[:3]
        raise ValueError(f"probabilities must be numbers, got {some}: labels need kind='labels'")
    if predictions.ndim not in (2, 3) or 0 in predictions.shape:
        raise ValueError(
            "probabilities must have the shape (n_models, n_rows) or (n_models, n_rows, n_classes) "
            f"with at least one of each, got {predictions.shape}"
        )
    scores = fitted.check_scores(predictions.astype(float), "predictions")
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            "probabilities must be from 0 to 1; for labels or targets write kind='labels' or "
            "kind='targets'"
        )
    if scores.ndim == 3 and np.abs(scores.sum(axis=2) - 1).max() > 1e-6:
        raise ValueError("the probabilities of a row's classes must sum to 1")
    count = scores.shape[2] if scores.ndim == 3 else 2
    names = classes or (() if y is None else sort_labels(y))
    if not classes and len(names) != count:
        names = tuple(range(count))
    if len(names) != count or count < 2:
        raise ValueError(f"{len(names)} classes are given for probabilities of {count}")
    return (scores[..., 1] if scores.ndim == 3 and count == 2 else scores), names


def _labels(
    predictions: NDArray[Any], classes: Classes | None, y: ArrayLike | None
) -> tuple[FloatArray, Classes]:
    if predictions.ndim != 2 or 0 in predictions.shape:
        raise ValueError(f"labels must have shape (n_models, n_rows), got {predictions.shape}")
    if predictions.dtype.kind == "f":
        fitted.check_scores(predictions, "predictions")
    names = classes or sort_labels(predictions, *([] if y is None else [y]))
    if len(names) < 2:
        raise ValueError(f"at least two classes are needed, got {list(names)}: name them all")
    return fitted.one_hot(fitted.class_codes(predictions, names, "predictions"), len(names)), names


def _targets(
    predictions: NDArray[Any], classes: Classes | None, y: ArrayLike | None
) -> tuple[FloatArray, Classes]:
    if predictions.dtype.kind not in "biuf" or predictions.ndim != 2 or 0 in predictions.shape:
        raise ValueError(
            f"targets must be numbers of shape (n_models, n_rows), got {predictions.dtype} of "
            f"shape {predictions.shape}"
        )
    if classes:
        raise ValueError(f"a regression has no classes, got {list(classes)}")
    return predictions.astype(float), ()


_KINDS: dict[
    str, Callable[[NDArray[Any], Classes | None, ArrayLike | None], tuple[FloatArray, Classes]]
] = {"probabilities": _probabilities, "labels": _labels, "targets": _targets}
