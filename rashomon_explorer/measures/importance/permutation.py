"""Rise of the loss when the values of a feature are shuffled between rows."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.utils import check_random_state

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.evaluation import checked_rows, need_linear
from rashomon_explorer.measures.features import Features, feature_groups
from rashomon_explorer.progress import progress
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet
from rashomon_explorer.validation import check_count


def permutation_importance(
    models: RashomonSet | ReleasedSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    n_repeats: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Rise of each model's loss when one feature is shuffled between rows.

    Log loss (nats a row) for classification, the share of wrong labels for models that know no
    probabilities (a sign link), half the mean squared error for regression; the same shuffles
    serve every model, so that models can be compared. Its mean over all shuffles is (n − 1)/n
    of :func:`model_reliance` where no shuffled row is longer than the row norm. Evaluated on
    private rows the result is the curator's.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
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
    check_count(n_repeats=n_repeats)
    need_linear(models)
    rows, targets = checked_rows(models, X, y)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
    rng = check_random_state(random_state)
    before = _losses(models, rows, targets)
    rise = np.zeros((models.n_draws, len(groups)))
    for _ in progress(range(n_repeats), "permutation importance"):
        order = rng.permutation(len(rows))
        for place, columns in enumerate(groups.values()):
            shuffled = rows.copy()
            shuffled[:, columns] = rows[np.ix_(order, columns)]
            rise[:, place] += _losses(models, shuffled, targets) - before
    return rise / n_repeats


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
