"""Provenance of arrays that were computed from data-dependent statistics."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

_KEY = "privacy_leak"  # key in the ``attrs`` of a pandas object

ONE_BY_ONE = "each row was prepared by itself, from declared settings only"
"""Assumption of guarantees on rows, whose origin cannot be verified."""


class LeakyArray(np.ndarray):
    """Array that carries the reason why results computed from it have no guarantee."""

    leak: str

    def __array_finalize__(self, other: Any) -> None:
        """Copy the reason from the source array."""
        self.leak = getattr(other, "leak", "")

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any, kwargs: Any
    ) -> Any:
        """Taint results: functions that join several arrays drop attributes."""
        result = super().__array_function__(func, types, args, kwargs)
        if isinstance(result, list | tuple):
            return type(result)(_marked(part, self.leak) for part in result)
        return _marked(result, self.leak)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the reason with the numbers."""
        plain = super().__reduce__()
        return plain[0], plain[1], (plain[2], self.leak)

    def __setstate__(self, state: Any) -> None:
        """Restore the values and the reason."""
        numbers, self.leak = state
        super().__setstate__(numbers)


def mark(data: Any, leak: str) -> Any:
    """Taint an array or a pandas object as data-dependent, with ``leak`` as the reason."""
    if not leak:
        return data
    if isinstance(data, np.ndarray):
        data = data.view(LeakyArray)
        data.leak = leak
    elif isinstance(getattr(data, "attrs", None), dict):
        data.attrs[_KEY] = leak
    return data


def find_leak(*data: Any) -> str:
    """Reasons why any of the data is tainted, or ""; reads no values."""
    leaks = map(_written_on, data)
    return "; ".join(dict.fromkeys(leak for leak in leaks if isinstance(leak, str) and leak))


def _written_on(data: Any) -> Any:
    # A column or row named "leak" is also an attribute of a pandas object; its values are private
    # and not a taint.
    return data.leak if isinstance(data, LeakyArray) else _attributes(data).get(_KEY, "")


def _attributes(data: Any) -> dict[Any, Any]:
    attributes = getattr(data, "attrs", None)
    return attributes if isinstance(attributes, dict) else {}


def _marked(result: Any, leak: str) -> Any:
    return mark(result, leak) if isinstance(result, np.ndarray) else result


Bits = NDArray[np.uint32]

_MOST_TABLES = 16  # latest tables; each stores 2¹⁸ values (1 MB) and 16 bytes a column
_MOST_VALUES = 2**18
_MOST_ROWS = 2**12  # of a table that is checked
_FEWEST = 8  # distinct values: a column with fewer is not conclusive
_SHARE = 0.9


@dataclass(frozen=True)
class _Trace:
    """Trace of a table: a digest of each column, and some of its values."""

    leak: str
    columns: frozenset[bytes]
    values: Bits
    level: int

    @classmethod
    def of(cls, table: Bits, leak: str) -> _Trace:
        level = 0
        while table.size >> level > _MOST_VALUES:
            level += 1
        return cls(
            leak, frozenset(map(_digest, table.T)), np.unique(_sampled_bits(table, level)), level
        )

    def holds(self, column: _Column) -> bool:
        """Whether a column is one of the table's, or consists mostly of the table's values."""
        if column.digest in self.columns:
            return True
        different = column.different(self.level)
        if len(different) < _FEWEST:
            return False
        place = np.minimum(np.searchsorted(self.values, different), len(self.values) - 1)
        return bool((self.values[place] == different).mean() >= _SHARE)


class _Column:
    """Column to check against several traces; caches its samples."""

    def __init__(self, values: Bits, rows: NDArray[np.intp]) -> None:
        self.digest = _digest(values)
        self._some = values[rows]
        self._different: dict[int, Bits] = {}

    def different(self, level: int) -> Bits:
        """Distinct values among those sampled at this level."""
        if level not in self._different:
            self._different[level] = np.unique(_sampled_bits(self._some, level))
        return self._different[level]


_LEARNT: deque[_Trace] = deque(maxlen=_MOST_TABLES)
_DECLARED: deque[_Trace] = deque(maxlen=_MOST_TABLES)


def remember(data: Any, leak: str) -> None:
    """Store a trace of a table, tainted if ``leak`` is not empty."""
    if not leak and not _LEARNT:
        return
    table = _bits(data)
    if table is not None:
        (_LEARNT if leak else _DECLARED).append(_Trace.of(table, leak))


def recall(data: Any) -> str:
    """Reasons why a table is tainted, if it contains a stored column or rows of one."""
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


def _sampled_bits(values: Bits, level: int) -> Bits:
    """Sample one in 2^level of the values, by the same rule for all tables."""
    mixed = (values * np.uint32(2654435761)) >> np.uint32(12)
    return values[(mixed & np.uint32(2**level - 1)) == 0]


class CarriesLeaks:
    """Mixin that taints the result of ``transform``, in the container that scikit-learn selects."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        transform: Callable[..., Any] = cls.transform  # type: ignore[attr-defined]

        @wraps(transform)
        def marking(self: Any, X: Any) -> Any:
            check_is_fitted(self)
            return with_leak(_with_names(self, X, transform(self, X)), X, self._leak())

        cls.transform = marking  # type: ignore[attr-defined]


def with_leak(result: Any, rows: Any, leak: str = "") -> Any:
    """Taint a result like the rows and the transformer, and store its trace."""
    known = (leak, find_leak(rows) or recall(rows))
    reasons = "; ".join(dict.fromkeys(filter(None, known)))
    result = mark(result, reasons)
    remember(result, reasons)
    kind = type(result)
    if reasons and not (find_leak(result) or recall(result)):
        raise TypeError(
            f"a {kind.__module__} {kind.__name__} cannot carry the mark that {reasons}: "
            "choose set_output(transform='default') or 'pandas'"
        )
    return result


def _with_names(transformer: Any, X: Any, result: Any) -> Any:
    """Return a DataFrame for a DataFrame, to keep column names."""
    container = getattr(transformer, "_sklearn_output_config", {}).get("transform")
    if (
        container is not None
        or not isinstance(X, pd.DataFrame)
        or not isinstance(result, np.ndarray)
    ):
        return result
    frame = pd.DataFrame(result, index=X.index, columns=transformer.get_feature_names_out())
    frame.attrs.update(getattr(transformer, "frame_attributes", {}))
    return frame
