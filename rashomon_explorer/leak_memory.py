"""Numbers that were made with what was learnt from rows, known again in whatever holds them."""

import hashlib
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint32]

_MOST_TABLES = 16  # the newest; each keeps 2¹⁸ values, a megabyte, and 16 bytes a column
_MOST_VALUES = 2**18
_MOST_ROWS = 2**12  # of a table that is looked up
_FEWEST = 8  # different values: a column of fewer says too little
_SHARE = 0.9


@dataclass(frozen=True)
class _Trace:
    """What is kept of a table: a digest of each column, and some of its values.

    Values are kept in single precision by a rule that looks at nothing but the value itself, so
    that the same ones are found again in part of the rows.
    """

    leak: str
    columns: frozenset[bytes]
    values: Bits
    level: int

    @classmethod
    def of(cls, table: Bits, leak: str) -> "_Trace":
        level = 0
        while table.size >> level > _MOST_VALUES:
            level += 1
        return cls(leak, frozenset(map(_digest, table.T)), np.unique(_kept(table, level)), level)

    def holds(self, column: "_Column") -> bool:
        """Whether a column is one of the table's, or made of values that are the table's."""
        if column.digest in self.columns:
            return True
        different = column.different(self.level)
        if len(different) < _FEWEST:
            return False
        place = np.minimum(np.searchsorted(self.values, different), len(self.values) - 1)
        return bool((self.values[place] == different).mean() >= _SHARE)


class _Column:
    """A column that is looked up in one trace after the other: each of its forms is made once."""

    def __init__(self, values: Bits, rows: NDArray[np.intp]) -> None:
        self.digest = _digest(values)
        self._some = values[rows]
        self._different: dict[int, Bits] = {}

    def different(self, level: int) -> Bits:
        """Different values among those that a table of this level keeps."""
        if level not in self._different:
            self._different[level] = np.unique(_kept(self._some, level))
        return self._different[level]


_LEARNT: deque[_Trace] = deque(maxlen=_MOST_TABLES)
_DECLARED: deque[_Trace] = deque(maxlen=_MOST_TABLES)


def remember(data: Any, leak: str) -> None:
    """Remember the numbers of a table that was made with what was learnt from rows.

    Tables made by declared settings alone are remembered too, once there is another to confuse
    them with: a column of 0 and 1 is scaled to the same numbers by either.

    ``leak`` is what was learnt, empty for nothing; what holds no numbers is passed over.

    >>> table = np.random.default_rng(7).normal(size=(50, 2))
    >>> remember(table, "bounds were learnt")
    >>> recall(np.column_stack([np.zeros(9), table[3:12, 1].astype(np.float32)]))
    'bounds were learnt'
    >>> recall(2 * table)
    ''
    """
    if not leak and not _LEARNT:
        return
    table = _bits(data)
    if table is not None:
        (_LEARNT if leak else _DECLARED).append(_Trace.of(table, leak))


def recall(data: Any) -> str:
    """Read what was learnt for a table that holds a remembered column, or rows of one.

    All reasons, each once; empty if there is none.
    """
    table = _bits(data) if _LEARNT else None
    if table is None:
        return ""
    rows = np.unique(np.linspace(0, len(table) - 1, _MOST_ROWS).astype(int))
    leaks = []
    for values in table.T:
        column = _Column(values, rows)
        learnt = [trace.leak for trace in _LEARNT if trace.holds(column)]
        if learnt and not any(trace.holds(column) for trace in _DECLARED):
            leaks += learnt
    return "; ".join(dict.fromkeys(leaks))


def _bits(data: Any) -> Bits | None:
    try:
        with np.errstate(over="ignore"):
            table = np.asarray(data, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    if table.ndim != 2 or table.size == 0:
        return None
    return (np.ascontiguousarray(table) + np.float32(0)).view(np.uint32)  # −0 is 0


def _digest(column: Bits) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(column).tobytes(), digest_size=16).digest()


def _kept(values: Bits, level: int) -> Bits:
    """One in 2^level of the values, whichever table they are in."""
    mixed = (values * np.uint32(2654435761)) >> np.uint32(12)
    return values[(mixed & np.uint32(2**level - 1)) == 0]
