"""A score learnt from outputs of two neighbours: high where they speak for the second."""

from collections.abc import Callable

import numpy as np

from rashomon_explorer.array_types import FloatArray

Statistic = Callable[[FloatArray], FloatArray]

_MOST_FOR_SQUARES = 12  # columns, beyond which squares and products are too many to learn


def learnt_statistic(first: FloatArray, second: FloatArray) -> Statistic:
    """Return the output itself if it is one number, otherwise a logistic regression on it.

    Of the standardised entries, and of their squares and products where they are few, so that
    laws that differ in spread are told apart too. A score that learns badly finds less: what an
    audit proves stays true.

    ``first`` and ``second`` are outputs that are used for nothing else.

    >>> rng = np.random.default_rng(0)
    >>> one, other = rng.standard_normal((2, 500, 3)) + [[[0.0, 0, 0]], [[3.0, 0, 0]]]
    >>> score = learnt_statistic(one, other)
    >>> bool(score(other).mean() > score(one).mean() + 3)
    True
    """
    flat = [outputs.reshape(len(outputs), -1) for outputs in (first, second)]
    if not all(np.isfinite(each).all() for each in flat):
        raise ValueError(
            "outputs must be finite: let the mechanism map NaN and infinity to numbers"
        )
    if flat[0].shape[1] == 1:
        return lambda outputs: outputs.reshape(len(outputs), -1)[:, 0]
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    degree = 2 if flat[0].shape[1] <= _MOST_FOR_SQUARES else 1
    model = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        LogisticRegression(max_iter=5000),
    )
    labels = np.repeat([0, 1], [len(flat[0]), len(flat[1])])
    model.fit(np.concatenate(flat), labels)
    return lambda outputs: np.asarray(model.decision_function(outputs.reshape(len(outputs), -1)))
