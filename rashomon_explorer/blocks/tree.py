"""Sums whose order is fixed by the number of parts alone, whoever adds them and when."""

from collections.abc import Callable, Iterator
from typing import Any

from rashomon_explorer.array_types import FloatArray

Merge = Callable[[Any, Any], Any]
Node = tuple[int, Any]
"""What 2^level consecutive parts come to, and the level."""


class Tree:
    """A binary tree over consecutive parts, of which only unfinished branches are held.

    Part i joins part i + 1 for even i, pairs join pairs, and so on; what is left at the end joins
    from the right. Which additions are made, and in which order, follows from how many parts there
    are: a branch that another process has added up is the same branch, to the last bit.

    Parameters
    ----------
    merge : callable
        Joins what two neighbours come to, the earlier one first.

    Examples
    --------
    >>> tree = Tree(lambda one, other: f"({one}{other})")
    >>> for letter in "abcde":
    ...     tree.push(0, letter)
    >>> tree.total()
    '(((ab)(cd))e)'
    """

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._nodes: list[Node] = []

    def push(self, level: int, value: Any) -> None:
        """Add the next branch, of 2^level parts, which begins at a multiple of 2^level."""
        while self._nodes and self._nodes[-1][0] == level:
            value = self._merge(self._nodes.pop()[1], value)
            level += 1
        self._nodes.append((level, value))

    def nodes(self) -> list[Node]:
        """Branches that wait for a neighbour, in the order of the parts."""
        return list(self._nodes)

    def total(self) -> Any:
        """Join what is left, from the right: what all parts come to.

        Raises
        ------
        ValueError
            If there was none.
        """
        if not self._nodes:
            raise ValueError("there is nothing to add up: no part was given")
        *earlier, (_, total) = self._nodes
        for _, value in reversed(earlier):
            total = self._merge(value, total)
        return total


def branches(n_parts: int, workers: int) -> Iterator[tuple[int, int]]:
    """Cut parts 0 to n into branches of the tree, a few for each worker.

    Examples
    --------
    >>> list(branches(10, workers=1))
    [(0, 4), (4, 8), (8, 10)]
    """
    size = 1
    while 4 * workers * size < n_parts:
        size *= 2
    for low in range(0, n_parts, size):
        yield low, min(low + size, n_parts)


def added(one: tuple[FloatArray, ...], other: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Arrays of two branches added up, each to its own.

    Examples
    --------
    >>> import numpy as np
    >>> added((np.ones(2), np.zeros(1)), (np.ones(2), np.ones(1)))
    (array([2., 2.]), array([1.]))
    """
    return tuple(left + right for left, right in zip(one, other, strict=True))
