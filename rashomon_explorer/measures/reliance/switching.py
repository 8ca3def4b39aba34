"""Switching loss of any model, and reliance over draws of trees."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.measures import inputs
from rashomon_explorer.measures.reliance.pair_losses import MOST_PAIRS
from rashomon_explorer.measures.reliance.set_reliance import find_trees, model_reliance
from rashomon_explorer.measures.stopping import ConfidenceSequence

Rows = FloatArray | pd.DataFrame
FeatureColumns = int | str | Sequence[int | str]
Predict = Callable[[Any], NDArray[Any]]
LossOfRows = Callable[[NDArray[Any], NDArray[Any]], ArrayLike]

_ROWS_AT_ONCE = 200_000


class DividedLoss(NamedTuple):
    """An estimate of the switching loss.

    Parameters
    ----------
    value : float
        Mean over ⌊n/2⌋ disjoint pairs of rows, each switched in both directions.
    standard_error : float
        Standard error of ``value`` for independent rows; NaN for a single pair.
    """

    value: float
    standard_error: float


@inputs.by_index
def switching_loss(
    predict: Predict,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    features: FeatureColumns,
    *,
    loss: LossOfRows,
) -> float:
    """Mean loss over all pairs i ≠ j when row i takes the columns of row j.

    e_switch of Fisher, Rudin and Dominici (2019, equation 3.3) for any model, with n(n − 1)
    predictions. For the linear models of a set :func:`model_reliance` is much faster.
    Results on private rows are not private.

    Parameters
    ----------
    predict : callable
        Rows (m, n_features) → predictions of length m, such as ``model.predict``.
    X : array-like of shape (n_rows, n_features)
        A DataFrame is passed to ``predict`` unchanged, with columns of any type.
    y : array-like of shape (n_rows,)
    features : int, str or sequence of them
        FeatureColumns that are switched together, by index or, for a DataFrame, by name.
    loss : callable
        (predictions, targets) → losses (m,).

    Raises
    ------
    ValueError
        If there are fewer than two rows or too many pairs, or a shape or a column is wrong.
    TypeError
        If ``predict`` or ``loss`` is not callable.

    Examples
    --------
    >>> square = lambda prediction, target: (target - prediction) ** 2
    >>> switching_loss(lambda rows: rows[:, 0], [[0.0], [1.0]], [0.0, 1.0], 0, loss=square)
    1.0
    """
    rows, targets, moved = _checked(X, y, features)
    _check_functions(predict, loss)
    n = len(rows)
    if n * n > MOST_PAIRS:
        raise ValueError(
            f"{n:,} rows have {n * n:,} pairs, more than {MOST_PAIRS:,}: pass fewer rows, or "
            "estimate by divided_loss"
        )
    total = 0.0
    step = max(1, _ROWS_AT_ONCE // n)
    for start in progress(range(0, n, step), "switching loss"):
        block = np.arange(start, min(n, start + step))
        mixed = _mixed(rows, np.repeat(block, n), np.tile(np.arange(n), len(block)), moved)
        each = _losses(predict, mixed, np.repeat(targets[block], n), loss).reshape(len(block), n)
        each[np.arange(len(block)), block] = 0.0
        total += float(each.sum())
    return total / (n * (n - 1))


@inputs.by_index
def divided_loss(
    predict: Predict,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    features: FeatureColumns,
    *,
    loss: LossOfRows,
    random_state: int | np.random.RandomState | None = None,
) -> DividedLoss:
    """Estimate the switching loss from ⌊n/2⌋ disjoint pairs of rows.

    e_divide of Fisher, Rudin and Dominici (2019, equation 3.4) after a random permutation of the
    rows, over which its expectation is e_switch. It needs n predictions instead of n(n − 1).

    Parameters
    ----------
    predict, X, y, features, loss
        As for :func:`switching_loss`.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    DividedLoss
        ``value`` and ``standard_error``.
    """
    rows, targets, moved = _checked(X, y, features)
    _check_functions(predict, loss)
    order = check_random_state(random_state).permutation(len(rows))
    half = len(rows) // 2
    first, second = order[:half], order[half : 2 * half]
    both = [
        _losses(predict, _mixed(rows, receivers, donors, moved), targets[receivers], loss)
        for receivers, donors in ((first, second), (second, first))
    ]
    pairs = (both[0] + both[1]) / 2
    error = float(pairs.std(ddof=1)) / math.sqrt(half) if half > 1 else math.nan
    return DividedLoss(float(pairs.mean()), error)


def _mixed(
    rows: Rows, receivers: NDArray[np.intp], donors: NDArray[np.intp], moved: NDArray[np.intp]
) -> Rows:
    if isinstance(rows, pd.DataFrame):
        table = rows.take(receivers).reset_index(drop=True)
        for column in moved.tolist():
            table.isetitem(column, rows.iloc[:, column].take(donors).array)
        return table
    mixed = rows[receivers]
    mixed[:, moved] = rows[np.ix_(donors, moved)]
    return mixed


def _losses(predict: Predict, rows: Rows, targets: NDArray[Any], loss: LossOfRows) -> FloatArray:
    each = np.array(loss(np.asarray(predict(rows)), targets), dtype=float)
    if each.shape != targets.shape or not np.isfinite(each).all():
        raise ValueError(
            f"loss must return one finite number for each of {len(targets)} rows, got shape "
            f"{each.shape} or numbers that are not finite"
        )
    return each


def _checked(
    X: ArrayLike | pd.DataFrame, y: ArrayLike, features: FeatureColumns
) -> tuple[Rows, NDArray[Any], NDArray[np.intp]]:
    rows: Rows = X if isinstance(X, pd.DataFrame) else np.asarray(X, dtype=float)
    targets = np.asarray(y)
    inputs.check_targets(rows, targets)
    inputs.check_two_rows(len(rows))
    if isinstance(rows, pd.DataFrame):  # missing values are left to the model
        names = [str(name) for name in rows.columns]
    else:
        if not np.isfinite(rows).all():
            raise ValueError("X must be finite: remove or impute rows with NaN or infinity")
        names = [f"column {j}" for j in range(rows.shape[1])]
    columns = [features] if isinstance(features, int | np.integer | str) else list(features)
    (moved,) = inputs.feature_groups({"moved": columns}, names).values()
    return rows, targets, moved


def _check_functions(predict: object, loss: object) -> None:
    if not callable(predict):
        raise TypeError(
            f"predict must be a function of rows such as model.predict, got {predict!r}"
        )
    if not callable(loss):
        raise TypeError(
            "loss must be a function of predictions and targets, such as "
            f"lambda p, t: p != t, got {loss!r}"
        )


@inputs.by_index
def reliance_over_draws(
    models: object,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: inputs.Features = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Reliance of drawn trees on each feature or group of columns.  Curator: not private.

    The table gives the mean under the law of the draws, such as uniform within ψ, with an interval
    that is valid under optional stopping. It also gives the smallest and largest reliance of the
    draws, an inner bound on the range over the whole set.

    Parameters
    ----------
    models : PredictorSet
        Independent draws of trees: ``CountedTrees.draw(...)``, or of ``RashomonTreeClassifier``.
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    features : sequence, mapping or "columns", optional
        Features or groups of columns, see :func:`feature_groups`.
    confidence : float, default=0.95
        Level of each feature's interval separately.

    Returns
    -------
    pandas.DataFrame
        One row per feature: ``mean``, ``low``, ``high``, ``least``, ``most``, and the draws
        ``draw_least`` and ``draw_most`` that attain the latter two.

    Raises
    ------
    TypeError
        If the models are not independent draws of trees.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> X, y = [[0, 1], [1, 1], [0, 0], [1, 0]] * 25, [0, 1, 0, 1] * 25
    >>> counted = CountedTrees(X, y, max_leaves=3)
    >>> draws = counted.draw(50, psi=0.0, random_state=0)
    >>> reliance_over_draws(draws, X, y)[["mean", "least", "most"]].round(2).rename_axis(None)
        mean  least  most
    x0  0.51   0.51  0.51
    x1  0.00   0.00  0.00
    """
    models, X = inputs.set_and_rows(models, X)
    if find_trees(models) is None or not getattr(models, "independent", True):
        raise TypeError(
            "intervals need independent draws of trees from CountedTrees.draw or "
            f"RashomonTreeClassifier, got {type(models).__name__}"
        )
    table = model_reliance(models, X, y, features=features)
    rows = {}
    for name, values in table.items():
        sequence = ConfidenceSequence(confidence, (-1.0, 1.0))
        sequence.update(values.to_numpy())
        low, high = int(np.argmin(values)), int(np.argmax(values))
        rows[name] = {
            "mean": float(values.mean()),
            "low": sequence.low,
            "high": sequence.high,
            "least": float(values.iloc[low]),
            "most": float(values.iloc[high]),
            "draw_least": low,
            "draw_most": high,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("feature")
