"""Losses of many models at once, each computed as if it were alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses.blocks import STACK_COLUMNS

_WIDTH = 32  # models in a group, of few rows more
_FEWEST_CELLS, _WIDEST = 2**15, 1024


class Columns:
    """A loss evaluated on groups of exactly so many models, the last one filled up.

    How a matrix product rounds depends on its shape. With one shape for all, what comes out for a
    model is the same to the last bit whichever models are evaluated with it, so that leaving some
    out changes nothing for the others.

    Parameters
    ----------
    value_and_gradient : callable
        Maps a stack of models (G, p, K) to their losses (G, K) and gradients (G, p, K).
    n_rows : int
        Rows that it reads: groups are wider where one of 64 models is hardly any work.

    Examples
    --------
    >>> square = Columns(lambda theta: ((theta**2).sum(axis=-2), 2 * theta), n_rows=1000)
    >>> square.value_and_gradient(np.array([[1.0, 2.0]]))
    (array([1., 4.]), array([[2., 4.]]))
    """

    def __init__(
        self,
        value_and_gradient: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
        n_rows: int,
    ) -> None:
        self._evaluate = value_and_gradient
        self.width = min(max(1, _FEWEST_CELLS // (n_rows * _WIDTH)) * _WIDTH, _WIDEST)

    def value_and_gradient(self, theta: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """Losses (K,) and gradients (p, K) of the columns of ``theta`` (p, K)."""
        p, count = theta.shape
        groups = -(-count // self.width)
        filled = np.zeros((p, groups * self.width))
        filled[:, :count] = theta
        stack = np.ascontiguousarray(filled.reshape(p, groups, self.width).swapaxes(0, 1))
        at_once = max(1, STACK_COLUMNS // self.width)
        parts = [self._evaluate(stack[low : low + at_once]) for low in range(0, groups, at_once)]
        value = np.concatenate([part[0] for part in parts]).ravel()
        gradient = np.concatenate([part[1] for part in parts]).swapaxes(0, 1).reshape(p, -1)
        return value[:count], gradient[:, :count]
