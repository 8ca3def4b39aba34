"""Rise of the loss when the values of a feature are shuffled between rows."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.features import Features, feature_groups
from rashomon_explorer.measures.importance.judges import judge_of
from rashomon_explorer.progress import progress
from rashomon_explorer.validation import check_count


def permutation_importance(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    n_repeats: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Rise of each model's loss when one feature is shuffled between rows.

    Log loss (nats a row) for classification, the share of wrong labels for models that know no
    probabilities (a sign link, trees), half the mean squared error for regression; the same
    shuffles serve every model, so that models can be compared. Its mean over all shuffles is
    (n − 1)/n of :func:`model_reliance` where no shuffled row is longer than the row norm.
    Evaluated on private rows the result is the curator's.

    Parameters
    ----------
    models : RashomonSet, ReleasedSet, or a set of decision trees
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        Labels as the models were fitted to (``models.classes``; 0, 1, … if the set does not
        know them), or targets.
    features : sequence, mapping or "columns", optional
        Features or groups of them, see :func:`feature_groups`; by default each feature once,
        the columns of one category together.
    n_repeats : int, default=5
        Shuffles averaged over.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of shape (n_draws, n_groups)
        In units of the loss.

    Raises
    ------
    TypeError
        If the models are neither linear nor trees.
    ValueError
        If a shape is wrong, a label is not one of the classes, a feature is unknown, or
        ``n_repeats`` is below 1.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=3, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> permutation_importance(models, X, y, random_state=0).shape
    (3, 1)
    """
    table = permutation_table(
        models, X, y, features=features, n_repeats=n_repeats, random_state=random_state
    )
    return table.to_numpy()


def permutation_table(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    n_repeats: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> pd.DataFrame:
    """Measure as :func:`permutation_importance`, in a table with a column a group."""
    check_count(n_repeats=n_repeats)
    judge = judge_of(models, X, y)
    groups = feature_groups(features, judge.names, judge.groups)
    asking = {name: judge.asking(columns) for name, columns in groups.items()}
    rng = check_random_state(random_state)
    rows, every = judge.rows, np.arange(len(models))
    before = judge.losses(rows, every)
    rise = np.zeros((len(every), len(groups)))
    for _ in progress(range(n_repeats), "permutation importance"):
        order = rng.permutation(len(rows))
        for place, (name, columns) in enumerate(groups.items()):
            moved = asking[name]
            if not len(moved):
                continue
            shuffled = rows.copy()
            shuffled[:, columns] = rows[np.ix_(order, columns)]
            rise[moved, place] += judge.losses(shuffled, moved) - before[moved]
    table = pd.DataFrame(rise / n_repeats, columns=list(groups))
    return table.rename_axis(index="model", columns="feature")
