"""A set of fitted models, whoever fitted them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.rashomon_set.models import FittedModels
from rashomon_explorer.rashomon_set.predictor import PredictorSet
from rashomon_explorer.rashomon_set.sources.given import names_of, sort_labels, threshold
from rashomon_explorer.rashomon_set.sources.losses import LossRule, losses_of


def from_estimators(
    models: Iterable[Any],
    X: Any,
    y: ArrayLike,
    *,
    loss: str | LossRule | None = None,
    psi: float | None = None,
    names: Sequence[str] | None = None,
) -> PredictorSet:
    """Gather fitted models with their losses on given rows.  Curator: not private.

    Parameters
    ----------
    models : iterable of estimators, or mapping of names to them
        Fitted scikit-learn classifiers, or regressors, or anything with ``predict`` (and
        ``predict_proba``, ``classes_``); pipelines, trees and ensembles alike.
    X : array-like of shape (n_rows, n_features)
        Rows in the form that the models take.
    y : array-like of shape (n_rows,)
    loss : {"log_loss", "zero_one", "squared"}, callable or None, default=None
        By default log loss if all models know probabilities, the share of errors if not, half the
        mean squared error for regressors. A callable gets the codes of the true classes (or the
        targets) and one model's scores.
    psi : float, optional
        Rashomon threshold; by default the largest excess, so that all models are inside.
    names : sequence of str, optional
        Names of the models.

    Returns
    -------
    PredictorSet
        Excess is counted from the best of these models: how much better others could be is not
        known.

    Raises
    ------
    ValueError
        If there are no models, a length or a class does not fit, or a prediction is not finite.
    TypeError
        If something cannot predict, classifiers and regressors are mixed, or a single model is
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
    if hasattr(models, "predict"):  # an ensemble would be taken apart: it is iterable
        raise TypeError(f"models must be several models, got one {type(models).__name__}: [model]")
    if isinstance(models, dict):
        names = list(models) if names is None else names
        models = models.values()
    held = tuple(models)
    if not held:
        raise ValueError("models must hold at least one fitted model, got none")
    classes = _classes(held, y)
    fitted = FittedModels(held, classes)
    certain = bool(classes) and not all(hasattr(model, "predict_proba") for model in held)
    losses, name = losses_of(fitted.scores(X), y, classes=classes, loss=loss, certain=certain)
    best = int(np.argmin(losses))
    return PredictorSet(
        models=fitted,
        reference=fitted.take(np.array([best])),
        losses=losses,
        least=float(losses[best]),
        psi=threshold(psi, losses, float(losses[best])),
        task="classification" if classes else "regression",
        classes=classes,
        names=names_of(len(held), names),
        loss=name,
    )


def _classes(models: tuple[Any, ...], y: ArrayLike) -> tuple[Any, ...]:
    """Every class that a model or y knows; none for regression."""
    for place, model in enumerate(models):
        if isinstance(model, type) or not hasattr(model, "predict"):
            raise TypeError(f"model {place} cannot predict: expected a fitted model, got {model!r}")
    regressors = [_regresses(model) for model in models]
    if all(regressors):
        return ()
    if any(regressors):
        raise TypeError("models must be all classifiers or all regressors, got both")
    known = [model.classes_ for model in models if hasattr(model, "classes_")]
    classes = sort_labels(*(known or [y]))
    if len(classes) < 2:
        raise ValueError(f"at least two classes are needed, got {list(classes)}")
    return classes


def _regresses(model: Any) -> bool:
    if hasattr(model, "predict_proba") or hasattr(model, "classes_"):
        return False
    # Here and not at the top: scikit-learn would double the import time of who only reads a set.
    from sklearn.base import is_regressor

    # What is no scikit-learn model and knows no classes predicts targets.
    return not hasattr(model, "__sklearn_tags__") or bool(is_regressor(model))
