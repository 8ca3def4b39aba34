"""Losses f(±z·θ + offset) of one score, from the function f alone."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import Delegated, FloatArray
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.problem.domains import inner
from rashomon_explorer.problem.losses.base import ALL_ROWS, TableRows


class ScoreFunction:
    """A convex function f of a score."""

    @property
    def bend(self) -> float:
        """Largest f''; infinite with a kink."""
        raise NotImplementedError

    def value(self, a: Any) -> Any:
        """Return f(a); same shape."""
        raise NotImplementedError

    def slope(self, a: Any) -> Any:
        """Return f'(a), with any subgradient at a kink; same shape."""
        raise NotImplementedError

    def curvature(self, a: Any) -> Any:
        """Return f''(a); same shape."""
        raise NotImplementedError

    def sums(self, a: Any, axis: int) -> Any:
        """Return the sums of f(a) along an axis; override it with a faster kernel."""
        return np.sum(self.value(a), axis=axis)

    def sums_and_slopes(self, a: Any, axis: int) -> tuple[Any, Any]:
        """Return the sums of f(a) along an axis, and f'(a)."""
        return self.sums(a, axis), self.slope(a)

    def expansion(self, a: Any, axis: int) -> tuple[Any, Any, Any]:
        """Return the sums of f(a) along an axis, f'(a) and f''(a)."""
        curvature = self.curvature(a)  # first: the other kernel may overwrite a
        return (*self.sums_and_slopes(a, axis), curvature)

    def within(self, reach: float) -> Self:
        """Return the form of f for scores up to ``reach``."""
        return self


@dataclass(frozen=True)
class ScoreRisk:
    """Mean of f(z_i·θ + offset_i) over rows z_i."""

    table: TableRows
    function: ScoreFunction
    offsets: Any = None  # a column of the table

    n = Delegated[int]("table.n")
    p = Delegated[int]("table.p")

    @property
    def rows(self) -> NDArray[Any]:
        return np.asarray(self.table.rows)

    def expansion(self, theta: FloatArray, moves: FloatArray) -> tuple[FloatArray, ...]:
        """Mean loss at models (p, K), its two derivatives along moves (p, K), largest |z·move|."""
        function, widest = self._function(theta), list[FloatArray]()

        def batch(part: slice) -> tuple[Any, ...]:
            along = self.table.scores(moves, part)
            widest.append(np.maximum(along.max(axis=-2), -along.min(axis=-2)))
            total, slopes, curvatures = function.expansion(self._scores(theta, part), -2)
            curvatures *= along
            return total, inner(slopes, along), inner(curvatures, along)

        sums = self.table.total(batch, np.concatenate([theta, moves], axis=1))
        return (*(total / self.n for total in sums), np.max(widest, axis=0))

    def hessian(self, theta: FloatArray) -> FloatArray:
        return self.table.mean_outer(
            lambda models, part: self.function.curvature(self._scores(models, part)), theta
        )

    def within(self, reach: float) -> Self:
        return replace(self, function=self.function.within(reach))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Scores z_i·θ + offset_i (n,) of one model (p,)."""
        return np.asarray(self._scores(theta[:, None], ALL_ROWS)[:, 0])

    def value(self, models: FloatArray) -> FloatArray:
        function, table = self._function(models), self.table

        def batch(part: slice) -> tuple[Any]:
            return (function.sums(self._scores(models, part), -2),)

        return table.total(batch, models)[0] / self.n

    def value_and_gradient(self, models: FloatArray) -> tuple[FloatArray, FloatArray]:
        function = self._function(models)

        def batch(part: slice) -> tuple[Any, Any]:
            total, slopes = function.sums_and_slopes(self._scores(models, part), -2)
            return total, self.table.pull(slopes, part)

        total, gradient = self.table.total(batch, models)
        return total / self.n, gradient / self.n

    def gradient(self, models: FloatArray) -> FloatArray:
        """Gradient (p, K) only, without the values."""
        function, table = self._function(models), self.table

        def batch(part: slice) -> tuple[Any]:
            return (table.pull(function.slope(self._scores(models, part)), part),)

        return table.total(batch, models)[0] / self.n

    def gradient_sum(self, theta: FloatArray, which: Any) -> FloatArray:
        """Sum (p,) of the gradients of some rows at one model (p,)."""
        rows = self.table.rows[which]
        scores = rows @ theta
        if self.offsets is not None:
            scores += self.offsets[which, 0]
        return np.asarray(self.function.slope(scores) @ rows)

    def _function(self, models: Any) -> Any:
        return self.function

    def _scores(self, models: Any, part: slice) -> Any:
        scores = self.table.scores(models, part)
        return scores if self.offsets is None else scores + self.offsets[part]


class ScoreLoss:
    """Loss of a linear score; a subclass defines ``function`` and how scores enter it."""

    function: ClassVar[Any]  # a ScoreFunction
    risk: ClassVar[type[ScoreRisk]] = ScoreRisk

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ScoreRisk:
        rows, offsets = self.linear_form(rows, targets)
        table = TableRows(np.ascontiguousarray(rows, dtype=float))
        return self.risk(table, self.function, None if offsets is None else offsets[:, None])

    def linear_form(
        self, rows: FloatArray, targets: FloatArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Rows z_i (n, p) and offsets (n,) with loss_i = f(z_i·θ + offset_i)."""
        raise NotImplementedError

    def row_losses(self, scores: FloatArray, targets: FloatArray) -> FloatArray:
        """Loss of each score, for targets that broadcast to the scores."""
        scores, targets = np.broadcast_arrays(scores, targets)
        flat, offsets = self.linear_form(scores.reshape(-1, 1), targets.ravel())
        a = flat[:, 0] if offsets is None else flat[:, 0] + offsets
        return np.asarray(self.function.value(a)).reshape(scores.shape)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²·max f''; infinite with a kink."""
        return float(row_bound**2 * self.function.bend)

    def _steepest(self, *a: float) -> float:
        """Largest |f'| at the given arguments, between which it is no larger."""
        return float(np.abs(self.function.slope(np.array(a))).max())


def fold_labels(rows: FloatArray, labels: FloatArray) -> FloatArray:
    """Rows −y_i x_i (n, p); the given rows without a copy if every label is −1."""
    if (labels == -1).all():
        return np.ascontiguousarray(rows)
    return np.ascontiguousarray(rows * -labels[:, None])


class BinaryLoss(ScoreLoss):
    """Loss f(shift − y z·θ) of two classes y in {−1, +1}, for a nondecreasing f."""

    task: ClassVar[str] = "classification"
    link: ClassVar[str] = "sign"
    globally_lipschitz: ClassVar[bool] = True
    labels: ClassVar[tuple[float, ...]] = (-1.0, 1.0)
    outputs: ClassVar[int] = 1
    shift: ClassVar[float] = 0.0

    def linear_form(
        self, rows: FloatArray, targets: FloatArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Rows −y_i x_i, and offsets of ``shift``."""
        offsets = np.full(len(rows), self.shift) if self.shift else None
        return fold_labels(rows, targets), offsets

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·f'(shift + reach)."""
        return row_bound * self._steepest(self.shift + reach)

    def oscillation(self, reach: float) -> float:
        """Oscillation 2[f(shift + s) − f(shift − s)] of two rows' difference, s = reach."""
        low, high = self.function.value(np.array([self.shift - reach, self.shift + reach]))
        return 2 * float(high - low)


@dataclass(frozen=True)
class RegressionLoss(ScoreLoss):
    """Loss f(z·θ − y) of an error, for targets y that are clipped to ±target_bound."""

    target_bound: float = 1.0
    task: ClassVar[str] = "regression"
    link: ClassVar[str] = "identity"
    globally_lipschitz: ClassVar[bool] = True
    labels: ClassVar[None] = None
    outputs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_positive(target_bound=self.target_bound)

    def linear_form(
        self, rows: FloatArray, targets: FloatArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the rows, and the clipped targets times −1."""
        return rows, -np.clip(targets, -self.target_bound, self.target_bound)

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·max |f'| for errors up to Y + reach."""
        max_residual = self.target_bound + reach
        return row_bound * self._steepest(-max_residual, max_residual)

    def oscillation(self, reach: float) -> float:
        """Bound 2[f(Y + s) − f(max(Y − s, 0))] of two rows' difference, s = reach, f symmetric."""
        ends = np.array([max(self.target_bound - reach, 0.0), self.target_bound + reach])
        low, high = self.function.value(ends)
        return 2 * float(high - low)
