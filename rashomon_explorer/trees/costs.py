"""What errors cost: whole numbers by the row's label, and by what is said of it."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import IntArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees.tree_class import TreeClass, allowed_memory

DEAREST = 1000

Costs = Mapping[Any, int] | ArrayLike
"""Costs by the row's label, or of every label (rows) that is said to be each (columns)."""


def cost_matrix(given: Costs | None, classes: Sequence[Any]) -> IntArray | None:
    """Cost (C, C) of saying each label (columns) of a row of each label (rows); None for 0 and 1.

    >>> cost_matrix({"ill": 5}, ["ill", "well"]).tolist()
    [[0, 5], [1, 0]]
    >>> cost_matrix([[0, 1], [0, 0]], [0, 1]).tolist()
    [[0, 1], [0, 0]]
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        return _by_label(given, list(classes))
    table = np.asarray(given, dtype=object)
    many = len(classes)
    if table.shape != (many, many):
        raise DataError(
            f"costs must be {many} rows of {many} numbers, the row's label by what is said, in "
            f"the order {[*classes]}, or a mapping from labels; got shape {table.shape}"
        )
    for cost in table.ravel().tolist():
        _check(cost, least=0)
    matrix = table.astype(np.int64)
    if np.diag(matrix).any():
        raise DataError("costs must be 0 on the diagonal: what is right costs nothing")
    if not matrix.any():
        raise DataError("costs are 0 everywhere: then every tree is as good")
    return np.asarray(matrix)


def dearest(given: Costs | None) -> int:
    """Cost of the dearest error.

    >>> dearest(None), dearest({"ill": 5}), dearest([[0, 2], [7, 0]])
    (1, 5, 7)
    """
    if given is None:
        return 1
    table = np.asarray([1, *given.values()] if isinstance(given, Mapping) else given, dtype=object)
    for cost in (told := table.ravel().tolist()):
        _check(cost, least=0)
    return max(1, *map(int, told))


def check_dear(trees: TreeClass, n: int, dear: int, most: int | None = None) -> None:
    """Refuse costs with which counting might not fit: one of k takes the memory of k rows.

    >>> check_dear(TreeClass(40, 6), 200, 1000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    rashomon_explorer.exceptions.DataError: counting ... costs of at most ... fit...
    """
    room, told = allowed_memory(most)
    if trees.memory(n * dear) <= room or trees.memory(n) > room:
        return
    fits = dear
    while trees.memory(n * fits) > room:
        fits -= max(1, fits // 50)
    needed = trees.memory(n * dear) / 2**30
    raise DataError(
        f"counting {n:,} rows with errors that cost up to {dear:,} may take {needed:,.3g} GiB, and "
        f"{room / 2**30:,.3g} GiB are {told}: costs of at most {fits:,} fit: in smaller units, "
        "or rounded"
    )


def _by_label(given: Mapping[Any, int], classes: list[Any]) -> IntArray:
    strange = [label for label in given if label not in classes]
    if strange:
        raise DataError(f"costs name the label {strange[0]!r}, which is not in {classes}")
    for label, cost in given.items():
        _check(cost, least=1, of=f" for {label!r}")
    each = np.array([int(given.get(label, 1)) for label in classes], dtype=np.int64)
    return np.asarray(each[:, None] * (1 - np.eye(len(classes), dtype=np.int64)))


def _check(cost: Any, *, least: int, of: str = "") -> None:
    whole = isinstance(cost, Integral) and not isinstance(cost, bool)
    if not whole or not least <= int(cost) <= DEAREST:
        raise DataError(
            f"costs must be whole numbers from {least} to {DEAREST:,}, got {cost!r}{of}"
        )
