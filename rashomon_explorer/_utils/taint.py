"""Provenance of arrays that were computed from data-dependent statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

_KEY = "privacy_leak"  # key in the ``attrs`` of a pandas object


class LeakyArray(np.ndarray):
    """Array that carries the reason why results computed from it have no guarantee."""

    leak: str

    def __array_finalize__(self, source: Any) -> None:
        """Copy the reason from the source array."""
        self.leak = getattr(source, "leak", "")

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
        reduced = super().__reduce__()
        return reduced[0], reduced[1], (reduced[2], self.leak)

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
    leaks = map(_leak, data)
    return "; ".join(dict.fromkeys(leak for leak in leaks if isinstance(leak, str) and leak))


def _leak(data: Any) -> Any:
    # A column or row named "leak" is also an attribute of a pandas object; its values are private
    # and not a taint.
    if isinstance(data, LeakyArray):
        return data.leak
    attributes = getattr(data, "attrs", None)
    return attributes.get(_KEY, "") if isinstance(attributes, dict) else ""


def _marked(result: Any, leak: str) -> Any:
    return mark(result, leak) if isinstance(result, np.ndarray) else result


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
    """Taint a result like the rows and the transformer; raise if its type cannot carry a taint."""
    reasons = "; ".join(dict.fromkeys(filter(None, (leak, find_leak(rows)))))
    result = mark(result, reasons)
    if reasons and not find_leak(result):
        kind = type(result)
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
