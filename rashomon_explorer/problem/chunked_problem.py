"""Convex problem on chunked rows, which are never in memory together."""

import math
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.losses.chunked import ChunkedRisk, ChunkLoss, chunked_risk
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import Problem, beyond, check_labels
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.cache import cache_chunks
from rashomon_explorer.rows.steps import ClipStep, Longer


class ChunkedProblem(Problem):
    """The problem of :class:`Problem`, for tables that do not fit in memory."""

    def __init__(
        self,
        table: ChunkedRows,
        *,
        loss: str | Loss = "logistic",
        radius: float = 4.0,
        row_norm: float = 1.0,
        ridge: float = 0.0,
        intercept: bool = True,
        domain: Domain | None = None,
    ) -> None:
        first, _ = next(table.chunks())
        shape = table.n, first.shape[1]
        self._declare(shape, loss, radius, row_norm, ridge, intercept, domain)
        checked = table.then(_Fit(self.loss))
        longer, far = checked.reduce(_Beyond(self.loss, Longer(row_norm)))
        self.clipped_share = float(longer[0]) / self.n
        self.targets_beyond = float(far[0]) / self.n
        self.table = cache_chunks(checked.then(ClipStep(row_norm, intercept)).with_checksums())
        self._objective = MinimisedObjective(chunked_risk(self.loss, self.table, self.p), ridge)

    @property
    def rows(self) -> NoReturn:
        """Raise an error: chunked rows are never in memory together."""
        raise TypeError(_NOT_WHOLE)

    @property
    def targets(self) -> NoReturn:
        """Raise an error: chunked targets are never in memory together."""
        raise TypeError(_NOT_WHOLE)

    def batches(self, n_batches: int, rng: np.random.Generator) -> NoReturn:
        """Raise an error: a random batch needs rows of all chunks."""
        raise TypeError(_NOT_WHOLE)

    def sampled(self, most: int) -> EmpiricalLoss:
        """Mean loss of a systematic sample of the rows, chosen by position (for the curator)."""
        every = math.ceil(self.n / most)
        rows, targets = self.table.reduce(_Every(every), merge=_stacked)
        return self.loss.empirical(rows, targets)

    def of_loss(self, loss: Loss) -> EmpiricalLoss:
        """Mean of another loss of the same clipped rows and targets."""
        return ChunkedRisk(self.table, ChunkLoss(loss), self.p)


_NOT_WHOLE = (
    "these rows are chunked and never in memory together: a selection of rows, such as a batch, "
    "needs an array"
)


@dataclass(frozen=True)
class _Fit:
    """Raise for targets that the loss does not accept."""

    loss: Loss

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        targets = np.ascontiguousarray(targets, dtype=np.float64)
        if not np.isfinite(targets).all():
            raise DataError("the target is NaN or infinity: remove or impute the row")
        check_labels(self.loss, targets)
        return rows, targets


@dataclass(frozen=True)
class _Beyond:
    """Count rows and targets beyond their declared bounds."""

    loss: Loss
    longer: Longer

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        (long,) = self.longer(rows, targets)
        return long, np.array([float(beyond(self.loss, targets).sum())])


@dataclass(frozen=True)
class _Every:
    """Select every k-th row of a chunk."""

    step: int

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        return rows[:: self.step].copy(), targets[:: self.step].copy()


def _stacked(
    one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
