"""Problem: rows, loss, domain and ridge, with its certified minimum."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import Delegated, FloatArray
from rashomon_explorer._utils.containers import column_labels, rows_like
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.problem.clipped_rows import ClippedChunks, ClippedRows, checked_arrays
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball, Domain
from rashomon_explorer.problem.losses import chunked, get_loss, squared
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.minimisation import MinimisedObjective, Minimum, best_found, minimise
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import chunks_with_targets

SAMPLE = 4096
"""Rows on which searches run that need no certificate."""

# A minimisation starts on a sixteenth of many rows, where its error is that of sampling.
_SAMPLED, _ROWS_A_PARAMETER, _LEAST_SAMPLED, _MOST_SAMPLED, _COARSE = 16, 20, 512, 65_536, 1e-6


class Problem(ReprMixin):
    """Empirical risk of K linear models at once, on rows clipped to a declared norm."""

    data: ClippedRows | ClippedChunks

    def __init__(
        self,
        X: ArrayLike | ChunkedRows,
        y: Any = None,
        *,
        loss: str | Loss = "logistic",
        radius: float = 4.0,
        row_norm: float = 1.0,
        ridge: float = 0.0,
        intercept: bool = True,
        domain: Domain | None = None,
        scale: ColumnMap | None = None,
    ) -> None:
        if isinstance(X, ChunkedRows):
            table = chunks_with_targets(X, y)
            shape = table.n, next(table.chunks())[0].shape[1]
            self._declare(shape, loss, radius, row_norm, ridge, intercept, domain)
            self.data = ClippedChunks.from_table(
                table, self.loss, self.p, row_norm, intercept, scale
            )
        else:
            labels = column_labels(X)
            if labels is not None:  # of evaluation rows, which are found by them
                self.feature_names = tuple(map(str, labels))
                y = rows_like(X, "y", y)
            features, targets = checked_arrays(X, y)
            self._declare(features.shape, loss, radius, row_norm, ridge, intercept, domain)
            self.data = ClippedRows.from_arrays(
                features, targets, self.loss, row_norm, intercept, scale
            )
            del features  # otherwise they stay in memory in addition to the rows
        self._objective = MinimisedObjective(self.data.objective(self.loss), ridge)

    def _declare(
        self,
        shape: tuple[int, ...],
        loss: str | Loss,
        radius: float,
        row_norm: float,
        ridge: float,
        intercept: bool,
        domain: Domain | None,
    ) -> None:
        """Store the declarations and the constants for this number of rows and columns."""
        if not isinstance(intercept, bool | np.bool_):
            raise ValueError(f"intercept must be True or False, got {intercept!r}")
        if domain is not None and not hasattr(domain, "project"):
            raise ValueError(f"domain must be a set of models such as Ball(4.0), got {domain!r}")
        self.loss = get_loss(loss)
        self.domain: Domain = Ball(radius) if domain is None else domain
        self.ridge = ridge
        self.row_norm = row_norm
        self.intercept = intercept
        self.constants = Constants.from_loss(
            self.loss,
            n=shape[0],
            p=(shape[1] + intercept) * self.loss.outputs,
            domain=self.domain,
            row_bound=row_bound(row_norm, intercept),
            ridge=ridge,
        )

    def _copy_rows_and_loss(
        self, problem: "Problem", *, domain: Domain, ridge: float, constants: Constants
    ) -> None:
        """Take the clipped rows and the loss of another problem, for a subclass."""
        self.loss, self.row_norm, self.intercept = problem.loss, problem.row_norm, problem.intercept
        self.domain, self.ridge, self.constants = domain, ridge, constants
        self.data = problem.data
        self._objective = MinimisedObjective(problem._objective.loss, ridge)

    clipped_share = Delegated[float](
        "data.clipped_share", "Share of rows beyond the norm bound (for the curator)."
    )
    n = Delegated[int]("constants.n", "Number of rows; public under replace-one adjacency.")
    p = Delegated[int]("constants.p", "Number of parameters, including the intercept.")

    @property
    def row_bound(self) -> float:
        """Bound on the norm of a whole row, including a constant column."""
        return row_bound(self.row_norm, self.intercept)

    L = Delegated[float](
        "constants.L", "Lipschitz constant of one row's loss on the domain, including ridge·radius."
    )
    M = Delegated[float](
        "constants.M", "Smoothness: the Hessian of one row's loss is f''(score)·zzᵀ."
    )
    m = Delegated[float](
        "constants.m", "Strong convexity that holds for every data set: the ridge."
    )
    osc = Delegated[float](
        "constants.osc",
        "Largest max − min over the domain of L_D − L_D', for D and D' that differ in a record.",
    )

    @property
    def rows(self) -> FloatArray:
        """Clipped rows (n, p), or (n, p/outputs), including the constant (for the curator)."""
        return self.data.rows()

    targets = Delegated[FloatArray]("data.targets", "Targets (n,) as given (for the curator).")

    @cached_property
    def minimum(self) -> Minimum:
        """Certified constrained minimum (for the curator: computed from private rows)."""
        start = self.coarse_minimiser()
        return minimise(self._objective, self.domain, self.constants.gap_tolerance, start)

    def coarse_minimiser(self, tilt: FloatArray | None = None) -> FloatArray | None:
        """Least model (p,) of the objective plus tilt·θ on a sample of many rows; None for few."""
        loss, size = self._objective.loss, min(self.n // _SAMPLED, _MOST_SAMPLED)
        is_few = size < max(_LEAST_SAMPLED, _ROWS_A_PARAMETER * self.p)
        if is_few or isinstance(loss, squared.SquaredRisk) or chunked.is_kinked(loss):
            return None
        sample = self.data.sampled(self.loss, size)
        objective = MinimisedObjective(sample, self.ridge, tilt)
        return best_found(objective, self.domain, _COARSE).theta

    def value(self, theta: FloatArray) -> FloatArray:
        """Objective (K,) of each column of ``theta`` of shape (p, K)."""
        return self._objective.value(self._checked(theta))

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` of shape (p, K)."""
        return self._objective.value_and_gradient(self._checked(theta))

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model of shape (p,)."""
        return self._objective.hessian(theta)

    def evaluator(self) -> MinimisedObjective:
        """Objective for models of the domain; the result for one does not depend on the others."""
        reach = self.domain.reach(self.row_bound)
        return MinimisedObjective(self._objective.loss.within(reach), self.ridge)

    objective = Delegated[MinimisedObjective]("_objective", "Mean loss with the ridge's penalty.")

    def batches(self, n_batches: int, rng: np.random.Generator) -> list[MinimisedObjective]:
        """Objectives of batches of almost equal size, in an order that does not depend on rows."""
        parts = np.array_split(rng.permutation(self.n), n_batches)
        losses = [self.data.objective(self.loss, part) for part in parts]
        return [MinimisedObjective(loss, self.ridge) for loss in losses]

    @cached_property
    def sample(self) -> EmpiricalLoss:
        """Mean loss of some of the rows, sampled independently of their values (curator)."""
        return self.data.sampled(self.loss, SAMPLE)

    def mean_loss(self, loss: Loss) -> EmpiricalLoss:
        """Mean of another loss of the same clipped rows and targets."""
        return self.data.mean_loss(loss)

    def _title(self) -> str:
        return f"Problem: {self.n:,} rows, p = {self.p}, {self.loss.name} loss"

    def _facts(self) -> list[Fact]:
        """Facts from public constants only; no row is read."""
        return [
            ("domain", str(self.domain)),
            ("rows", f"‖x‖ ≤ {self.row_norm:g}{' and a constant 1' * self.intercept}"),
            ("ridge", f"{self.ridge:g}"),
            ("osc", f"{self.osc:.4g}"),
        ]

    def _checked(self, theta: FloatArray) -> FloatArray:
        theta = np.asarray(theta, dtype=float)
        if theta.ndim != 2 or theta.shape[0] != self.p:
            raise ValueError(
                f"theta must hold one model per column, shape ({self.p}, K), got {theta.shape}"
            )
        return theta


def add_intercept(rows: FloatArray) -> FloatArray:
    """Rows with a constant 1 as the last column."""
    design = np.empty((len(rows), rows.shape[1] + 1))
    design[:, :-1] = rows
    design[:, -1] = 1.0
    return design
