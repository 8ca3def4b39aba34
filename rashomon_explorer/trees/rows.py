"""Rows of yes-or-no features, with equal rows merged."""

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer.exceptions import DataError

BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(float)
"""Table (256, 8) of the eight answers in each packed byte."""


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Combinations of features that occur, and the number of rows of each label with each."""

    patterns: Mask  # (U, m), distinct
    counts: IntArray  # (U, C): rows of each label
    place: IntArray  # (n,): the combination of each row
    costs: IntArray | None = None  # (C, C): by the row's and the predicted label; None for 1

    @classmethod
    def of(
        cls, X: ArrayLike, codes: ArrayLike, n_labels: int, costs: IntArray | None = None
    ) -> "MergedRows":
        """Merge the rows (n, m) of 0 and 1, with labels (n,) 0, 1, …."""
        table = yes_or_no(X)
        labels = np.asarray(codes).astype(np.int64)
        if labels.shape != (len(table),):
            raise DataError(f"{len(table)} rows need as many labels, got shape {labels.shape}")
        patterns, place = np.unique(table, axis=0, return_inverse=True)
        place = place.reshape(-1).astype(np.int64)
        flat = np.bincount(place * n_labels + labels, minlength=len(patterns) * n_labels)
        return cls(patterns, flat.reshape(-1, n_labels).astype(np.int64), place, costs)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.place)

    @cached_property
    def wrong(self) -> IntArray:
        """Cost (U, C) of each label on the rows of each combination."""
        return wrong(self.counts, self.costs)

    @cached_property
    def packed(self) -> NDArray[np.uint8]:
        """Answers (m/8, U) of each combination, eight questions per byte."""
        return np.packbits(self.patterns.T, axis=0)

    @cached_property
    def masks(self) -> list[int]:
        """Set of combinations with each feature, as the bits of an integer."""
        return [as_bits(column) for column in self.patterns.T]

    @cached_property
    def everything(self) -> int:
        """The set of all combinations."""
        return as_bits(np.ones(len(self.patterns), dtype=bool))

    @cached_property
    def weights(self) -> FloatArray:
        """Rows (U, (m + 1)·C) of each label with each feature, and all of them."""
        having = self.patterns[:, :, None] * self.counts[:, None, :]
        every = np.concatenate([having, self.counts[:, None, :]], axis=1)
        dtype = np.float32 if self.counts.sum() < 2**24 else np.float64  # both exact up to there
        return np.asarray(every.reshape(len(self.patterns), -1), dtype=dtype)


def merged(one: MergedRows, other: MergedRows) -> MergedRows:
    """Rows of two tables with the same features and labels, the first table's first."""
    every = np.concatenate([one.patterns, other.patterns])
    patterns, place = np.unique(every, axis=0, return_inverse=True)
    place = place.reshape(-1)
    counts = np.zeros((len(patterns), one.counts.shape[1]), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([one.counts, other.counts]))
    first, second = np.split(place, [len(one.patterns)])
    return MergedRows(patterns, counts, np.concatenate([first[one.place], second[other.place]]))


def wrong(rows: IntArray, costs: IntArray | None) -> IntArray:
    """Cost (…, C) of predicting each label for rows (…, C) of each label."""
    if costs is not None:
        return np.asarray(rows @ costs)
    if rows.shape[-1] == 2:
        return rows[..., ::-1]
    return np.asarray(all_labels(rows)[..., None] - rows)


def all_labels(rows: NDArray[Any]) -> IntArray:
    """Sum of rows (…, C) over the labels; numpy is slow over a short last axis."""
    return np.asarray(reduce(np.add, np.moveaxis(rows, -1, 0)))


def yes_or_no(X: Any) -> Mask:
    """Return a Boolean array; raise for values other than 0 and 1."""
    table = np.asarray(X)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"X must have rows and columns of 0 and 1, got shape {table.shape}")
    if table.dtype == bool:
        return table
    strange = ~np.isin(table, (0, 1))
    if strange.any():
        row, column = np.argwhere(strange)[0]
        value = table[row : row + 1, column].tolist()[0]
        raise DataError(
            f"column {column} of X holds {value!r} in row {row}, expected 0 or 1: "
            "CountedTrees.of_table(X, y, thresholds=...) asks about numbers, and schema=... "
            "about its levels"
        )
    return table.astype(bool)


def as_bits(mask: Mask) -> int:
    """Set of indices as the bits of an integer, index 0 the highest."""
    return int.from_bytes(np.packbits(mask).tobytes(), "big")


def as_masks(sets: list[int], size: int) -> NDArray[np.uint8]:
    """Inverse of :func:`as_bits` for many sets: 0 and 1 of shape (len(sets), size)."""
    width = (size + 7) // 8
    written = b"".join(one.to_bytes(width, "big") for one in sets)
    packed = np.frombuffer(written, dtype=np.uint8).reshape(len(sets), width)
    return np.unpackbits(packed, axis=1, count=size)
