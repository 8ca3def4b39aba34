"""Clipped rows and targets of a problem, in memory or in chunks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.data.cells import ColumnMap, warn_if_clipped
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.losses.chunked import ChunkedRisk, ChunkLoss, chunked_risk
from rashomon_explorer.problem.losses.scores import BinaryLoss
from rashomon_explorer.rows.chunked import ChunkedRows, keep_chunks
from rashomon_explorer.rows.reduction import append_parts
from rashomon_explorer.rows.steps import ClipStep, LongRowCount, clip_features

Selection = slice | NDArray[np.intp]
"""Selection of rows."""

ALL = slice(None)
"""Selection of every row."""


@dataclass(frozen=True)
class ClippedRows:
    """Clipped rows (n, d) and targets (n,) in memory; labels may be folded into the rows."""

    stored: FloatArray
    targets: FloatArray
    are_folded: bool = False
    clipped_share: float = 0.0  # share of rows beyond the norm bound (curator)
    targets_beyond: float = 0.0  # share of targets beyond the loss's bound (curator)

    @classmethod
    def from_arrays(
        cls,
        features: FloatArray,
        targets: FloatArray,
        loss: Loss,
        row_norm: float,
        intercept: bool,
        scale: ColumnMap | None,
    ) -> "ClippedRows":
        """Clip rows and check targets; fold labels into copied rows of a loss of margins."""
        check_labels(loss, targets)
        bound, far = (
            getattr(loss, "target_bound", math.inf),
            float(exceeds_bound(loss, targets).mean()),
        )
        warn_if_clipped(
            far,
            f"targets are outside [−{bound:g}, {bound:g}]",
            "Map them to it by their public range first, or declare another bound: "
            f"{type(loss).__name__}(target_bound=...).",
        )
        rows, share = clip_features(features, row_norm, intercept, scale)
        fold = rows is not features and isinstance(loss, BinaryLoss)
        if fold:
            rows *= -targets[:, None]
        return cls(rows, targets, fold, share, far)

    def some(self, which: Selection) -> "ClippedRows":
        """Return a subset of the rows, in the same form."""
        return replace(self, stored=self.stored[which], targets=self.targets[which])

    def rows(self, which: Selection = ALL) -> FloatArray:
        """Return the clipped rows; a copy if labels are folded in."""
        rows = self.stored[which]
        return np.asarray(rows * -self.targets[which, None]) if self.are_folded else rows

    def mean_loss(self, loss: Loss, which: Selection = ALL) -> EmpiricalLoss:
        """Mean loss of some of the rows."""
        return ChunkLoss(loss, self.are_folded)(self.stored[which], self.targets[which])

    objective = mean_loss

    def sampled(self, loss: Loss, max_rows: int) -> EmpiricalLoss:
        """Mean loss of at most ``max_rows`` rows, sampled independently of their values."""
        n = len(self.stored)
        part = np.array_split(generator(0).permutation(n), math.ceil(n / max_rows))[0]
        return self.mean_loss(loss, part)


@dataclass(frozen=True)
class ClippedChunks:
    """Clipped rows and targets in chunks, never in memory together; labels may be folded in."""

    table: ChunkedRows
    p: int
    clipped_share: float
    targets_beyond: float
    are_folded: bool

    @classmethod
    def from_table(
        cls,
        table: ChunkedRows,
        loss: Loss,
        p: int,
        row_norm: float,
        intercept: bool,
        scale: ColumnMap | None = None,
    ) -> "ClippedChunks":
        """Check targets and clip rows, in one pass."""
        count_beyond = _Beyond(loss, LongRowCount(row_norm))
        clip = _ClipAndFold(ClipStep(row_norm, intercept, scale), isinstance(loss, BinaryLoss))
        checked = table.then(_CheckTargets(loss))
        clipped, (longer, far) = keep_chunks(checked, clip, count_beyond, p // loss.outputs)
        return cls(clipped, p, float(longer[0]) / table.n, float(far[0]) / table.n, clip.folds)

    def some(self, which: Selection) -> "ClippedRows":
        """Raise an error: a selection needs rows of all chunks."""
        raise TypeError(_NOT_WHOLE)

    def read(self, numbers: NDArray[np.intp]) -> ClippedRows:
        """Read some rows in one pass, by their sorted numbers."""
        rows, targets, first = list[FloatArray](), list[FloatArray](), 0
        for chunk, labels in self.table.chunks():
            low, high = np.searchsorted(numbers, [first, first + len(chunk)])
            within = numbers[low:high] - first
            rows.append(chunk[within])
            targets.append(labels[within])
            first += len(chunk)
        return ClippedRows(np.concatenate(rows), np.concatenate(targets), self.are_folded)

    def rows(self, which: Selection = ALL) -> FloatArray:
        """Raise an error: chunked rows are never in memory together."""
        raise TypeError(_NOT_WHOLE)

    @property
    def targets(self) -> FloatArray:
        """Raise an error: chunked targets are never in memory together."""
        raise TypeError(_NOT_WHOLE)

    def mean_loss(self, loss: Loss) -> ChunkedRisk:
        """Mean loss of all rows."""
        return ChunkedRisk(self.table, ChunkLoss(loss, self.are_folded), self.p)

    def objective(self, loss: Loss, which: Selection = ALL) -> EmpiricalLoss:
        """Mean loss of all rows, from sufficient statistics if there are any."""
        if which is not ALL:
            raise TypeError(_NOT_WHOLE)
        return chunked_risk(self.mean_loss(loss))

    def sampled(self, loss: Loss, max_rows: int) -> EmpiricalLoss:
        """Mean loss of a systematic sample of the rows, chosen by position."""
        parts = self.table.reduce(_Every(math.ceil(self.table.n / max_rows)), merge=append_parts)
        rows, targets = zip(*parts, strict=True)
        return ChunkLoss(loss, self.are_folded)(np.concatenate(rows), np.concatenate(targets))


_NOT_WHOLE = (
    "these rows are chunked and never in memory together: a selection of rows, such as a batch, "
    "needs an array"
)


@dataclass(frozen=True)
class _CheckTargets:
    """Raise for targets that the loss does not accept."""

    loss: Loss

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        targets = np.ascontiguousarray(targets, dtype=np.float64)
        if not np.isfinite(targets).all():
            raise DataError("the target is NaN or infinity: remove or impute the row")
        check_labels(self.loss, targets)
        return rows, targets


@dataclass(frozen=True)
class _ClipAndFold:
    """Clip rows, and fold labels into them, so that no pass repeats it."""

    clip: ClipStep
    folds: bool

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        clipped, targets = self.clip(rows, targets)
        if self.folds:
            output = None if clipped is rows else clipped
            clipped = np.multiply(clipped, -targets[:, None], out=output)
        return clipped, targets


@dataclass(frozen=True)
class _Beyond:
    """Count rows and targets beyond their declared bounds."""

    loss: Loss
    longer: LongRowCount

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        (long,) = self.longer(rows, targets)
        return long, np.array([float(exceeds_bound(self.loss, targets).sum())])


@dataclass(frozen=True)
class _Every:
    """Select every k-th row of a chunk."""

    step: int

    def __call__(self, rows: FloatArray, targets: FloatArray) -> Sequence[Any]:
        return ((rows[:: self.step].copy(), targets[:: self.step].copy()),)


def checked_arrays(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Features (n, d) and targets (n,) as finite float64 arrays."""
    features, targets = _numbers("X", X), _numbers("y", y)
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"X must be a table with rows and columns, got shape {features.shape}")
    if targets.shape != (len(features),):
        raise DataError(
            f"y must hold one target per row, got shape {targets.shape} for {len(features)} rows"
        )
    for name, values in (("X", features), ("y", targets)):
        if not np.isfinite(values).all():
            position = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise DataError(f"{name} holds NaN or infinity at {position}: remove or impute the row")
    return features, targets


def _numbers(name: str, values: ArrayLike) -> FloatArray:
    """Return the values as float64; raise an error if they are not numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cmM":  # complex numbers and dates would lose their meaning
            raise TypeError(f"got {array.dtype}")
        return array.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must hold numbers: {error}. Encode text, dates and classes as numbers first"
        ) from error


def exceeds_bound(loss: Loss, targets: FloatArray) -> Mask:
    """Whether targets (n,) exceed the bound of their loss, if it has one."""
    return np.asarray(np.abs(targets) > getattr(loss, "target_bound", math.inf))


def check_labels(loss: Loss, targets: FloatArray) -> None:
    """Raise for targets (n,) that are not labels of a loss with labels."""
    if loss.labels is None or np.isin(targets, loss.labels).all():
        return
    if loss.labels == (-1.0, 1.0):
        raise DataError("labels must be −1 or +1 here; the estimators encode classes for you")
    strange = targets[~np.isin(targets, loss.labels)][0]
    raise DataError(
        f"labels must be whole numbers from 0 to {len(loss.labels) - 1} for {loss.name} loss with "
        f"{len(loss.labels)} classes, got {strange:g}"
    )
