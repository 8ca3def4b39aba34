"""Predictions of rows that are never held: block by block, or as a Dask array."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import is_in_blocks
from rashomon_explorer.rows.columns import each_row
from rashomon_explorer.rows.source import named

Form = Callable[[Any], tuple[tuple[int, ...], Any]]
"""Shape of what a fitted estimator says of a row, and its type."""


def a_label(model: Any) -> tuple[tuple[int, ...], Any]:
    """Form of a label."""
    return (), model.classes_.dtype


def a_number(model: Any) -> tuple[tuple[int, ...], Any]:
    """Form of a number."""
    return (), np.dtype(float)


def chances(model: Any) -> tuple[tuple[int, ...], Any]:
    """Form of a probability for each class."""
    return (len(model.classes_),), np.dtype(float)


def decisions(model: Any) -> tuple[tuple[int, ...], Any]:
    """Form of a decision: one number for two classes, otherwise one for each."""
    return () if len(model.classes_) == 2 else (len(model.classes_),), np.dtype(float)


def over_blocks(form: Form) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a method that predicts rows take them in blocks and as Dask collections too."""

    def deco(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def predicts(self: Any, X: Any) -> Any:
            if not is_in_blocks(X):
                return method(self, X)
            of_rows = _OfRows(self, method.__name__)
            if isinstance(X, ChunkedRows):
                names = X.source.names if hasattr(self, "feature_names_in_") else None
                return each_row(X.then(_Predicted(of_rows, names)), np.asarray)
            return _on_dask(X, of_rows, *form(self))

        return predicts

    return deco


@dataclass(frozen=True, eq=False)
class _OfRows:
    model: Any
    method: str

    def __call__(self, rows: Any) -> NDArray[Any]:
        found: NDArray[Any] = getattr(self.model, self.method)(rows)
        return found


@dataclass(frozen=True, eq=False)
class _Predicted:
    """A step, so that a row which cannot be used is named with its place."""

    of_rows: _OfRows
    names: Any

    def __call__(self, rows: Any, targets: Any) -> tuple[NDArray[Any], Any]:
        return self.of_rows(named(rows, self.names)), targets


def _on_dask(X: Any, of_rows: _OfRows, shape: tuple[int, ...], dtype: Any) -> Any:
    import dask.array as da

    if hasattr(X, "chunks"):
        X, lengths = X.rechunk({1: -1}), X.chunks[0]
        parts = X.to_delayed().ravel()
    else:
        parts = X.to_delayed()
        lengths = (np.nan,) * len(parts)  # nobody knows before they are computed
    from dask import delayed

    made = [
        da.from_delayed(delayed(of_rows)(part), (rows, *shape), dtype)
        for part, rows in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(made, allow_unknown_chunksizes=True)
