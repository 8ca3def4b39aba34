"""What almost equally good models rely on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.utils import check_random_state

from rashomon_explorer.measures.checks import as_models_by_rows
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet

FloatArray = NDArray[np.float64]

_QUANTILES = {"min": 0.0, "q05": 0.05, "median": 0.5, "q95": 0.95, "max": 1.0}


def coefficient_spread(models: RashomonSet | ReleasedSet) -> pd.DataFrame:
    """Spread of each coefficient over the draws.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet

    Returns
    -------
    pandas.DataFrame
        One row a parameter, named by ``models.parameter_names``: columns min, q05, median, q95,
        max, and, for a curator's set, best: the certified best model's.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(random_state=0).fit(X, y).rashomon_set_
    >>> list(coefficient_spread(models).columns)
    ['min', 'q05', 'median', 'q95', 'max', 'best']
    >>> list(coefficient_spread(models.release()).columns)
    ['min', 'q05', 'median', 'q95', 'max']
    """
    table = importance_spread(models.coef, models.parameter_names)
    if isinstance(models, RashomonSet):
        table["best"] = models.best
    return table


def permutation_importance(
    models: RashomonSet | ReleasedSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_repeats: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Rise of each model's loss when one feature is shuffled between rows.

    Log loss (nats a row) for classification, the share of wrong labels for models that know no
    probabilities (a sign link), half the mean squared error for regression; the same shuffles
    serve every model, so that models can be compared. Evaluated on private rows the result is
    the curator's.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        Labels as the models were fitted to (``models.classes``; 0, 1, … if the set does not
        know them), or targets.
    n_repeats : int, default=5
        Shuffles averaged over.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of shape (n_draws, n_features)

    Raises
    ------
    ValueError
        If a shape is wrong, a label is not one of the classes, or ``n_repeats`` is below 1.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=3, random_state=0).fit(X, y).rashomon_set_
    >>> permutation_importance(models, X, y, random_state=0).shape
    (3, 1)
    """
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats!r}")
    rows = np.asarray(X, dtype=float)
    targets = np.asarray(y)
    if rows.ndim != 2 or targets.shape != (len(rows),):
        raise ValueError(f"X and y must have one target a row, got {rows.shape}, {targets.shape}")
    if len(rows) == 0:
        raise ValueError("X must have at least one row")
    numbers = targets if targets.dtype.kind == "f" else np.zeros(0)
    if not (np.isfinite(rows).all() and np.isfinite(numbers).all()):
        raise ValueError("X and y must be finite: remove or impute rows with NaN or infinity")
    targets = _targets(models, targets)
    rng = check_random_state(random_state)
    before = _losses(models, rows, targets)
    rise = np.zeros((models.n_draws, rows.shape[1]))
    for _ in range(n_repeats):
        order = rng.permutation(len(rows))
        for feature in range(rows.shape[1]):
            shuffled = rows.copy()
            shuffled[:, feature] = rows[order, feature]
            rise[:, feature] += _losses(models, shuffled, targets) - before
    return rise / n_repeats


def importance_spread(importances: ArrayLike, feature_names: Sequence[str]) -> pd.DataFrame:
    """Spread over the models of each feature's importance.

    Parameters
    ----------
    importances : array-like of shape (n_models, n_features)
    feature_names : sequence of str of length n_features

    Returns
    -------
    pandas.DataFrame
        One row a feature: columns min, q05, median, q95, max.

    Raises
    ------
    ValueError
        If the lengths differ or a value is not finite.

    Examples
    --------
    >>> importance_spread([[0.1, 0.5], [0.3, 0.4]], ["age", "income"]).loc["age", "max"]
    np.float64(0.3)
    """
    values = as_models_by_rows(importances, "importances")
    if len(feature_names) != values.shape[1]:
        raise ValueError(f"{len(feature_names)} names for {values.shape[1]} features")
    columns = {name: np.quantile(values, level, axis=0) for name, level in _QUANTILES.items()}
    return pd.DataFrame(columns, index=pd.Index(feature_names, name="feature"))


def _targets(models: RashomonSet | ReleasedSet, y: NDArray[Any]) -> FloatArray:
    """Codes 0, 1, … of labels (n_rows,), or targets as they are."""
    if models.task == "regression":
        return y.astype(float)
    code = {label: k for k, label in enumerate(models.classes or range(models.n_classes))}
    labels, rows = np.unique(y, return_inverse=True)
    strange = [label for label in labels.tolist() if label not in code]
    if strange:
        raise ValueError(f"y must hold the labels {[*code]} of the models, got {strange[0]!r}")
    return np.array([code[label] for label in labels.tolist()], dtype=float)[rows]


def _log_loss(margins: FloatArray, codes: FloatArray) -> FloatArray:
    # From the margins: 1 − p would round a confident model's small p to 0.
    return np.logaddexp(0.0, np.where(codes == 1, -1.0, 1.0) * margins)


def _cross_entropy(margins: FloatArray, codes: FloatArray) -> FloatArray:
    own = codes.astype(int)[None, :, None]
    return -np.take_along_axis(log_softmax(margins, axis=-1), own, axis=-1)[..., 0]


def _wrong(margins: FloatArray, codes: FloatArray) -> FloatArray:
    return ((margins > 0) != (codes == 1)).astype(float)


_CLASS_LOSSES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "logistic": _log_loss,
    "softmax": _cross_entropy,
    "sign": _wrong,
}


def _losses(models: RashomonSet | ReleasedSet, rows: FloatArray, targets: FloatArray) -> FloatArray:
    """Mean loss (n_draws,) of every model."""
    if models.task == "classification":
        each = _CLASS_LOSSES[models.link](models.margins(rows), targets)
        return np.asarray(each.mean(axis=1))
    return np.asarray(((models.scores(rows) - targets) ** 2).mean(axis=1) / 2)
