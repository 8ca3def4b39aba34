"""A small neural network as the target of a noisy path: privacy without convexity."""

from dataclasses import InitVar, dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.data.clipping import clip_rows
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.problem.constants import LARGEST_REACH
from rashomon_explorer.problem.domains.ball import Ball
from rashomon_explorer.problem.losses.base import sum_row_blocks
from rashomon_explorer.problem.problem import add_intercept


@dataclass(frozen=True, eq=False)
class NetworkTarget:
    """Density ∝ exp(−β·L(θ)) over networks with one hidden layer, ‖θ‖ ≤ radius."""

    X: InitVar[ArrayLike]
    y: InitVar[ArrayLike]
    beta: float
    hidden: int = 8
    clip: float = 1.0
    radius: float = 20.0
    ridge: float = 0.0
    row_norm: float = 1.0
    domain: Ball = field(init=False)
    _rows: FloatArray = field(init=False, repr=False)
    _labels: FloatArray = field(init=False, repr=False)

    def __post_init__(self, X: ArrayLike, y: ArrayLike) -> None:
        """Refuse rows and settings that make no path."""
        rows, labels = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
            raise DataError(
                f"X must be a table of finite numbers, got shape {rows.shape}: remove or impute "
                "what is missing"
            )
        if labels.shape != (len(rows),) or not np.isin(labels, (-1.0, 1.0)).all():
            raise DataError("y must hold one label a row, −1 or +1")
        check_positive(beta=self.beta, clip=self.clip, radius=self.radius, row_norm=self.row_norm)
        for name in ("clip", "radius", "row_norm"):  # sums of squares of them must not overflow
            if getattr(self, name) > LARGEST_REACH:
                raise ValueError(
                    f"{name} must be at most {LARGEST_REACH:g}, got {getattr(self, name)!r}"
                )
        check_nonnegative(ridge=self.ridge)
        check_count(hidden=self.hidden)
        object.__setattr__(self, "_rows", self._prepared(rows))
        object.__setattr__(self, "_labels", labels)
        object.__setattr__(self, "domain", Ball(self.radius))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._labels)

    @property
    def p(self) -> int:
        """Number of parameters, hidden·(d + 2) + 1."""
        return self.hidden * (self._rows.shape[1] + 1) + 1

    def scores(self, X: ArrayLike, theta: FloatArray) -> FloatArray:
        """Scores f(x; θ) of every network for every row."""
        rows = self._prepared(np.asarray(X, dtype=float))
        return self._forward(rows, self._layers(theta))[0]

    def value(self, theta: FloatArray) -> FloatArray:
        """Loss L (K,) of each column of ``theta`` (p, K) (curator)."""
        layers = self._layers(theta)

        def block(rows: slice) -> tuple[FloatArray]:
            scores = self._forward(self._rows[rows], layers)[0]
            return (np.logaddexp(0, -self._labels[rows] * scores).sum(axis=1),)

        (total,) = sum_row_blocks(block, self.n, theta.shape[1] * self.hidden)
        return total / self.n + self.ridge / 2 * np.einsum("ij,ij->j", theta, theta)

    def gradient(self, theta: FloatArray, rows: NDArray[np.intp] | None = None) -> FloatArray:
        """Mean of the clipped gradients of L's records, plus the ridge's."""
        X, y = (
            (self._rows, self._labels) if rows is None else (self._rows[rows], self._labels[rows])
        )
        layers = self._layers(theta)
        (total,) = sum_row_blocks(
            lambda block: (self._clipped_sum(X[block], y[block], layers),),
            len(y),
            theta.shape[1] * self.hidden,
        )
        return total.T / len(y) + self.ridge * theta

    def _clipped_sum(
        self, rows: FloatArray, labels: FloatArray, layers: tuple[FloatArray, ...]
    ) -> FloatArray:
        """Sum of the records' clipped gradients, (K, p)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._sum_of_finite(rows, labels, layers)

    def _sum_of_finite(
        self, rows: FloatArray, labels: FloatArray, layers: tuple[FloatArray, ...]
    ) -> FloatArray:
        scores, units = self._forward(rows, layers)
        outer = -labels * expit(-labels * scores)  # (K, m): dℓ/df
        inner = layers[1][:, None, :] * (1 - units**2)  # (K, m, hidden): df/d(W₁x)
        squares = 1 + np.einsum("kmh,kmh->km", units, units)
        squares += np.einsum("kmh,kmh->km", inner, inner) * self._squares(rows)
        length = np.abs(outer) * np.sqrt(squares)
        outer *= np.minimum(1.0, self.clip / np.maximum(length, 1e-300))
        strange = ~np.isfinite(length)
        if strange.any():  # NaN times 0 is NaN: all that the sums below multiply must be finite
            outer[strange], inner[strange], units[strange] = 0.0, 0.0, 0.0
        first = rows.T @ (inner * outer[:, :, None])
        second = (outer[:, None, :] @ units)[:, 0, :]
        parts = [first.reshape(len(outer), -1), second, outer.sum(axis=1, keepdims=True)]
        return np.concatenate(parts, axis=1)

    def _forward(
        self, rows: FloatArray, layers: tuple[FloatArray, ...]
    ) -> tuple[FloatArray, FloatArray]:
        """Scores (K, m) and hidden units (K, m, hidden) of rows (m, d + 1)."""
        first, second, last = layers
        units = np.tanh(rows @ first)
        return (units @ second[:, :, None])[:, :, 0] + last, units

    def _layers(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """W₁ with b₁ (K, d + 1, hidden), w₂ (K, hidden) and b₂ (K, 1)."""
        theta = np.asarray(theta, dtype=float)
        if theta.ndim != 2 or theta.shape[0] != self.p:
            raise ValueError(
                f"theta must hold one network a column, shape ({self.p}, K), got {theta.shape}"
            )
        flat = np.ascontiguousarray(theta.T)
        cut = self._rows.shape[1] * self.hidden
        first = flat[:, :cut].reshape(len(flat), -1, self.hidden)
        return first, flat[:, cut:-1], flat[:, -1:]

    def _prepared(self, rows: FloatArray) -> FloatArray:
        """Rows of norm at most ``row_norm``, with the constant that carries b₁."""
        return add_intercept(clip_rows(rows, self.row_norm)[0])

    @staticmethod
    def _squares(rows: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->i", rows, rows))
