"""Problem: rows, loss, domain and ridge, with its certified minimum."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import (
    NUMPY,
    ArrayBackend,
    FloatArray,
    Mask,
    backend_for,
    is_foreign,
    on_host,
    to_host,
)
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.data.cells import ColumnMap, clip_rows, warn_if_clipped
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball, Domain
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.losses.scores import MarginLoss
from rashomon_explorer.problem.minimisation import MinimisedObjective, Minimum, minimise

_BLOCK = 1024


def numbers(name: str, values: ArrayLike) -> FloatArray:
    """Return the values as float64; raise an error if they are not numbers."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cmM":  # complex numbers and dates would lose their meaning
            raise TypeError(f"got {given.dtype}")
        return given.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must hold numbers: {error}. Encode text, dates and classes as numbers first"
        ) from error


def check_rows(features: FloatArray, targets: FloatArray) -> None:
    """Check that the shapes are (n, d) and (n,) and that all values are finite."""
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"X must be a table with rows and columns, got shape {features.shape}")
    if targets.shape != (len(features),):
        raise DataError(
            f"y must hold one target per row, got shape {targets.shape} for {len(features)} rows"
        )
    for name, values in (("X", features), ("y", targets)):
        if not np.isfinite(values).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise DataError(f"{name} holds NaN or infinity at {place}: remove or impute the row")


def beyond(loss: Loss, targets: FloatArray) -> Mask:
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


def warn_if_targets_clipped(loss: Loss, share: float) -> None:
    """Warn the curator if more than 1 % of the targets are beyond the loss's bound."""
    bound = getattr(loss, "target_bound", math.inf)
    warn_if_clipped(
        share,
        f"targets are outside [−{bound:g}, {bound:g}]",
        "Map them to it by their public range first, or declare another bound: "
        f"{type(loss).__name__}(target_bound=...).",
    )


def clip_features(
    features: FloatArray, row_norm: float, intercept: bool, scale: ColumnMap | None
) -> tuple[FloatArray, float]:
    """Clipped rows for the loss, and the share that exceeded the bound before any map."""
    if not intercept and scale is None:
        return clip_rows(features, row_norm)
    n, d = features.shape
    whole, longer = np.ones((n, d + intercept)), 0
    for start in range(0, n, _BLOCK):  # avoids several copies of the table
        some = slice(start, start + _BLOCK)
        block, share = clip_rows(features[some], row_norm)
        whole[some, :d] = block if scale is None else scale.rows(block)
        longer += round(share * len(block))
    return whole, longer / n


Some = slice | NDArray[np.intp]
"""Selection of rows."""

ALL = slice(None)
"""Selection of every row."""


@dataclass(frozen=True)
class ClippedRows:
    """Clipped rows (n, d) and targets (n,); labels may be folded into the rows."""

    held: FloatArray
    targets: FloatArray
    are_folded: bool = False

    @classmethod
    def of(cls, rows: FloatArray, targets: FloatArray, loss: Loss, *, owned: bool) -> "ClippedRows":
        """Fold labels into rows that are not shared, for a loss that needs only the product."""
        fold = owned and isinstance(loss, MarginLoss)
        if fold:
            rows *= -targets[:, None]
        return cls(rows, targets, fold)

    def some(self, which: Some) -> "ClippedRows":
        """Return a subset of the rows, in the same form."""
        return replace(self, held=self.held[which], targets=self.targets[which])

    def rows(self, some: Some = ALL) -> FloatArray:
        """Return the clipped rows; a copy if labels are folded in."""
        rows = self.held[some]
        return np.asarray(rows * -self.targets[some, None]) if self.are_folded else rows

    def empirical(self, loss: Loss, some: Some = ALL) -> EmpiricalLoss:
        """Mean loss of some of the rows; rows with a folded label have the label −1."""
        if self.are_folded and isinstance(loss, MarginLoss):
            held = self.held[some]
            return loss.empirical(held, np.full(len(held), -1.0))
        return loss.empirical(self.rows(some), self.targets[some])


class Problem(ReprMixin):
    """Empirical risk of K linear models at once, on rows clipped to a declared norm."""

    arrays: ArrayBackend = NUMPY
    _held: ClippedRows | None = None  # None for chunked rows

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        loss: str | Loss = "logistic",
        radius: float = 4.0,
        row_norm: float = 1.0,
        ridge: float = 0.0,
        intercept: bool = True,
        domain: Domain | None = None,
        arrays: ArrayBackend | None = None,
        scale: ColumnMap | None = None,
    ) -> None:
        self.arrays = backend_for(X) if arrays is None else arrays
        features, targets = numbers("X", on_host(X)), numbers("y", on_host(y))
        check_rows(features, targets)
        self._declare(features.shape, loss, radius, row_norm, ridge, intercept, domain)
        check_labels(self.loss, targets)
        warn_if_targets_clipped(self.loss, float(beyond(self.loss, targets).mean()))
        rows, self.clipped_share = clip_features(features, row_norm, intercept, scale)
        owned = rows is not features and self.arrays.on_host
        del features  # otherwise they stay in memory in addition to the rows
        self._held = ClippedRows.of(rows, targets, self.loss, owned=owned)
        self._objective = MinimisedObjective(self._empirical(ALL), ridge)

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
        self.constants = Constants.of(
            self.loss,
            n=shape[0],
            p=(shape[1] + intercept) * self.loss.outputs,
            domain=self.domain,
            row_bound=row_bound(row_norm, intercept),
            ridge=ridge,
        )

    def _pose_again(
        self, problem: "Problem", *, domain: Domain, ridge: float, constants: Constants
    ) -> None:
        """Take the clipped rows and the loss of another problem, for a subclass."""
        self.loss, self.row_norm, self.intercept = problem.loss, problem.row_norm, problem.intercept
        self.domain, self.ridge, self.constants = domain, ridge, constants
        self._held = problem._held
        self.arrays = problem.arrays
        self.clipped_share = problem.clipped_share
        self._objective = MinimisedObjective(problem._objective.loss, ridge)

    @property
    def n(self) -> int:
        """Number of rows; public under replace-one adjacency."""
        return self.constants.n

    @property
    def p(self) -> int:
        """Number of parameters, including the intercept."""
        return self.constants.p

    @property
    def row_bound(self) -> float:
        """Bound on the norm of a whole row, including a constant column."""
        return row_bound(self.row_norm, self.intercept)

    @property
    def L(self) -> float:
        """Lipschitz constant of one row's loss on the domain, including ridge·radius."""
        return self.constants.L

    @property
    def M(self) -> float:
        """Smoothness: the Hessian of one row's loss is f''(score)·zzᵀ."""
        return self.constants.M

    @property
    def m(self) -> float:
        """Strong convexity that holds for every data set: the ridge."""
        return self.constants.m

    @property
    def osc(self) -> float:
        """Largest max − min over the domain of L_D − L_D', for D and D' that differ in one record.

        The ridge cancels, so this is the range of (ℓ_d − ℓ_d')/n: 2s/n for logistic loss
        (one record's loss has range log(1 + eˢ) − log(1 + e⁻ˢ) = s) and
        [(Y + s)² − max(Y − s, 0)²]/n for squared loss; both are attained (docs/theory.md §1).
        """
        return self.constants.osc

    @property
    def rows(self) -> FloatArray:
        """Clipped rows (n, p), or (n, p/outputs), including the constant (for the curator)."""
        return self._rows.rows()

    @property
    def targets(self) -> FloatArray:
        """Targets (n,) as given (for the curator)."""
        return self._rows.targets

    @cached_property
    def minimum(self) -> Minimum:
        """Certified constrained minimum (for the curator: computed from private rows)."""
        # The certificate of a loss with kinks needs its rows; single precision certifies nothing.
        exact = math.isfinite(self.loss.smoothness(1.0)) and self.arrays.dtype == "float64"
        asked = self._objective if exact else self.on_host
        return minimise(asked, self.domain, self.constants.gap_tolerance)

    def value(self, theta: FloatArray) -> FloatArray:
        """Objective (K,) of each column of ``theta`` of shape (p, K)."""
        return self._objective.value(self._checked(theta))

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` of shape (p, K)."""
        return self._objective.value_and_gradient(self._checked(theta))

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model of shape (p,)."""
        return self._objective.hessian(theta)

    def curvature_bound(self) -> FloatArray | None:
        """Matrix (p, p) that dominates every Hessian; None for a loss with kinks (curator)."""
        bound = self._objective.loss.curvature_bound()
        return None if bound is None else bound + self.ridge * np.eye(self.p)

    def evaluator(self, dtype: type[np.floating[Any]] = np.float64) -> MinimisedObjective:
        """Objective for models of the domain; the result for one does not depend on the others."""
        reach = self.domain.reach(self.row_bound)
        return MinimisedObjective(self.on_host.loss.within(reach, dtype), self.ridge)

    @cached_property
    def on_host(self) -> MinimisedObjective:
        """Objective that is computed on the host."""
        there = not self.arrays.on_host
        return MinimisedObjective(self.of_loss(self.loss), self.ridge) if there else self._objective

    @cached_property
    def on_device(self) -> MinimisedObjective:
        """Objective for models of the domain on the device of ``arrays``."""
        found = self._objective.loss.within(self.domain.reach(self.row_bound))
        return MinimisedObjective(found, self.ridge)

    def batches(self, n_batches: int, rng: np.random.Generator) -> list[MinimisedObjective]:
        """Objectives of batches of almost equal size, in an order that does not depend on rows."""
        parts = np.array_split(rng.permutation(self.n), n_batches)
        return [MinimisedObjective(self._empirical(part), self.ridge) for part in parts]

    def sampled(self, most: int) -> EmpiricalLoss:
        """Mean loss of some of the rows, sampled independently of their values (curator)."""
        part = np.array_split(generator(0).permutation(self.n), math.ceil(self.n / most))[0]
        return self._rows.empirical(self.loss, part)

    def of_loss(self, loss: Loss) -> EmpiricalLoss:
        """Mean of another loss of the same clipped rows and targets."""
        return self._rows.empirical(loss)

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

    def _empirical(self, some: Some) -> EmpiricalLoss:
        if self.arrays.on_host:
            return self._rows.empirical(self.loss, some)
        held = self._rows
        return place_loss(self.loss, held.rows(some), held.targets[some], self.arrays)

    @property
    def _rows(self) -> ClippedRows:
        assert self._held is not None  # of a problem in blocks nothing asks for them
        return self._held

    def _checked(self, theta: FloatArray) -> FloatArray:
        if self.arrays.on_host or not is_foreign(theta):
            theta = np.asarray(to_host(theta), dtype=float)
        if theta.ndim != 2 or theta.shape[0] != self.p:
            raise ValueError(
                f"theta must hold one model per column, shape ({self.p}, K), got {theta.shape}"
            )
        return theta


def add_intercept(rows: FloatArray) -> FloatArray:
    """Rows with a constant 1 as the last column."""
    whole = np.empty((len(rows), rows.shape[1] + 1))
    whole[:, :-1] = rows
    whole[:, -1] = 1.0
    return whole


def place_loss(
    loss: Loss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> EmpiricalLoss:
    """Mean loss of ``rows`` (n, p) with ``targets`` (n,), computed on a backend's device."""
    make: Any = loss.empirical
    if "arrays" not in signature(make).parameters:
        raise ValueError(
            f'{loss.name} loss is computed on the host only: use array_backend("numpy"), or give '
            "X as a NumPy array"
        )
    risk: EmpiricalLoss = make(rows, targets, arrays=arrays)
    return risk
