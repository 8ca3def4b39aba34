"""One pass over the models gives a measure for every nested set of them."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray

_CELLS = 2**20  # models × rows × classes of one block: stays in the cache
_MOST_MODELS = 255  # a count over one block fits into a byte


class Tally(Protocol):
    """A measure of the models seen so far."""

    def add(self, block: NDArray[Any]) -> None:
        """See more models, (k, n_rows[, n_classes])."""
        ...

    def value(self) -> float:
        """Return the measure of all models seen."""
        ...


MakeTally = Callable[[], Tally]


def evaluate_nested(
    values: NDArray[Any],
    make: MakeTally,
    sizes: Sequence[int] | NDArray[np.int_] | None = None,
    order: NDArray[np.int_] | None = None,
) -> FloatArray:
    """Measure of the first ``sizes[j]`` models for each j, in one pass; all models by default.

    ``make`` makes an empty tally, and ``order`` says in which order models enter it. A set without
    models has the value NaN.

    >>> class Largest:
    ...     most = 0.0
    ...     def add(self, block):
    ...         self.most = max(self.most, block.max())
    ...     def value(self):
    ...         return self.most
    >>> evaluate_nested(np.array([[1.0], [3.0], [2.0]]), Largest, [1, 3, 0]).tolist()
    [1.0, 3.0, nan]
    """
    entering = np.arange(len(values)) if order is None else order
    wanted = np.asarray([len(entering)] if sizes is None else sizes)
    result = np.full(len(wanted), np.nan)
    tally, seen = make(), 0
    for size in np.unique(wanted[wanted > 0]):
        step = models_at_once(values)
        for start in range(seen, size, step):
            stop = min(start + step, size)
            # A slice is a view; places have to be copied, but only a block of them at a time.
            tally.add(values[start:stop] if order is None else values[order[start:stop]])
        seen = int(size)
        result[wanted == size] = tally.value()
    return result


def blocks(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Cut (n_models, …) into views of a few models each, small enough for the cache.

    Examples
    --------
    >>> [len(block) for block in blocks(np.zeros((600, 3)))]
    [255, 255, 90]
    """
    step = models_at_once(values)
    return [values[start : start + step] for start in range(0, len(values), step)]


def models_at_once(values: NDArray[Any]) -> int:
    """Models (of n_models, …) in a block: few enough for the cache, and for counts in a byte."""
    width = max(1, int(np.prod(values.shape[1:])))
    return int(np.clip(_CELLS // width, 1, _MOST_MODELS))
