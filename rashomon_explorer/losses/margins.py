"""Rows of losses of y z·θ alone, with their labels folded in."""

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses.base import Loss

OF_MARGINS = ("logistic", "clipped_logistic", "hinge", "smoothed_hinge")
"""Losses that ask for y z·θ and for nothing else of a row."""


def folded(rows: FloatArray, labels: FloatArray) -> FloatArray:
    """Rows z_i = −y_i x_i (n, p); those given, uncopied, where every label is −1.

    Examples
    --------
    >>> folded(np.array([[1.0], [2.0]]), np.array([1.0, -1.0])).ravel()
    array([-1.,  2.])
    """
    if (labels == -1).all():
        return np.ascontiguousarray(rows)
    return np.ascontiguousarray(rows * -labels[:, None])


def of_margins(loss: Loss) -> bool:
    """Whether rows with labels folded in, and labels of −1, are all that the loss needs.

    Examples
    --------
    >>> from rashomon_explorer.losses import get_loss
    >>> of_margins(get_loss("logistic")), of_margins(get_loss("squared"))
    (True, False)
    """
    return loss.labels == (-1.0, 1.0) and loss.name in OF_MARGINS
