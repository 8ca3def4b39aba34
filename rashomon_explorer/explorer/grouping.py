"""In which group somebody is, by what stands in a column: a rule, learnt once and then applied."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.plots.text import number

MOST_LEVELS = 12
"""More groups than this are put together: numbers in quarters, the rarest levels in one group."""

NO_VALUE = "no value"


@dataclass(frozen=True)
class Grouping:
    """Groups of one column.

    Parameters
    ----------
    edges : tuple of float
        Where quarters of numbers end; none where levels are told apart.
    levels : tuple of str
        Levels that are groups of their own.
    rest : str
        What all others are called.

    Examples
    --------
    >>> Grouping.of(pd.Series(["f", "m", None]))(pd.Series(["m", "x"])).tolist()
    ['m', 'others']
    """

    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    rest: str = "others"

    @classmethod
    def of(cls, values: "pd.Series[Any]") -> "Grouping":
        """Learn the groups of a column."""
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST_LEVELS:
            quarters = np.nanquantile(values.astype(float), [0.25, 0.5, 0.75])
            return cls(edges=tuple(np.unique(quarters).tolist()))
        counts = _words(values).value_counts()
        if len(counts) <= MOST_LEVELS:
            return cls(levels=tuple(counts.index))
        common = tuple(counts.index[: MOST_LEVELS - 1])
        return cls(levels=common, rest=f"{len(counts) - len(common)} others")

    @property
    def names(self) -> Sequence[str]:
        """All groups there can be."""
        own = _quarters(self.edges) if self.edges else [*self.levels, self.rest]
        return list(dict.fromkeys([*own, NO_VALUE]))

    def __call__(self, values: "pd.Series[Any]") -> "pd.Series[Any]":
        """Say in which group each value is, as text."""
        if not self.edges:
            words = _words(values)
            return words.where(words.isin(self.levels), self.rest)
        numbers = values.astype(float)
        places = np.searchsorted(np.array(self.edges), numbers, side="left")
        names = np.array(_quarters(self.edges), dtype=object)
        told = pd.Series(names[places], index=values.index, name=values.name)
        return told.where(values.notna(), NO_VALUE)

    def codes(self, values: "pd.Series[Any]") -> "np.ndarray[Any, np.dtype[np.int8]]":
        """Place of each value's group among the names: a byte a row."""
        return np.asarray(pd.Index(self.names).get_indexer(pd.Index(self(values))), dtype=np.int8)


def _words(values: "pd.Series[Any]") -> "pd.Series[Any]":
    return values.astype(object).where(values.notna(), NO_VALUE).map(_word)


def _word(value: Any) -> str:
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _quarters(edges: Sequence[float]) -> list[str]:
    """Name four groups of about as many people each."""
    ends = [number(float(edge)) for edge in edges]
    middle = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"up to {ends[0]}", *middle, f"over {ends[-1]}"]
