"""Losses of many models at once, none of which changes the digits of another."""

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

    How a matrix product rounds a column depends on its shape and on the column's place. With one
    shape for all, and a place in it that follows from a model's number alone, what comes out for a
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

    def value_and_gradient(
        self, theta: NDArray[Any], numbers: NDArray[np.integer[Any]] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Losses (K,) and gradients (p, K) of the columns of ``theta`` (p, K).

        Parameters
        ----------
        theta : ndarray of shape (p, K)
            One model at least.
        numbers : ndarray of shape (K,), optional
            Number of each model among all of them; 0 to K − 1 by default.
        """
        p, count = theta.shape
        group, place = self._places(np.arange(count) if numbers is None else numbers)
        stack = np.zeros((int(group.max()) + 1, p, self.width))
        stack[group, :, place] = theta.T
        at_once = max(1, STACK_COLUMNS // self.width)
        lows = range(0, len(stack), at_once)
        parts = [self._evaluate(stack[low : low + at_once]) for low in lows]
        value = np.concatenate([part[0] for part in parts])[group, place]
        gradient = np.concatenate([part[1] for part in parts])[group, :, place]
        return value, np.ascontiguousarray(gradient.T)

    def _places(self, numbers: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Group of each model, and its place there: the number modulo the width."""
        place = numbers % self.width
        order = np.argsort(place, kind="stable")
        taken = np.bincount(place, minlength=self.width)
        before = np.cumsum(taken) - taken
        group = np.empty(len(numbers), dtype=np.intp)
        group[order] = np.arange(len(numbers)) - before[place[order]]
        return group, place
