"""Rows of each group side by side, so that one pass over the models sums all groups."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.measures.fairness.groups import Groups


@dataclass(frozen=True, eq=False)
class Cells:
    """Some rows in the order of their groups.

    >>> groups = Groups.of(["b", "a", "b"], 3)
    >>> cells, values = Cells.of(groups), np.array([[1, 0, 1]])
    >>> cells.sums(values[:, cells.order]).tolist()
    [[0, 2]]
    """

    order: NDArray[np.intp]  # (n_chosen,): rows, those of the first group first
    # starts, sizes: (n_groups,): where each group starts in ``order``, and how many rows it has
    # there, at least one
    starts: NDArray[np.intp]
    sizes: NDArray[np.int_]

    @classmethod
    def of(cls, groups: Groups, chosen: Mask | None = None, why: str = "") -> "Cells":
        """Order all rows, or those chosen.

        A group without any is an error whose message starts with ``why``.
        """
        rows = np.arange(len(groups.codes)) if chosen is None else np.flatnonzero(chosen)
        codes = groups.codes[rows]
        sizes = np.bincount(codes, minlength=len(groups.names))
        if not sizes.all():
            place = int(np.argmin(sizes))
            raise ValueError(
                f"{why}, of which the group {groups.names[place]!r} ({groups.sizes[place]} rows) "
                "has none, so that it is not defined there: join the group with another, leave "
                "its rows out, or leave the metric out"
            )
        order = rows[np.argsort(codes, kind="stable")]
        return cls(order, np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum (n_models, n_groups) of values (n_models, n_chosen) that are in this order."""
        kind = np.int64 if values.dtype.kind in "bui" else np.float64
        counted = values.view(np.uint8) if values.dtype == np.bool_ else values
        return np.add.reduceat(counted, self.starts, axis=1, dtype=kind)

    def means(self, values: NDArray[Any]) -> FloatArray:
        """Mean (n_models, n_groups) of values (n_models, n_chosen) that are in this order."""
        return np.asarray(self.sums(values) / self.sizes)
