"""The switching loss of logistic models as a convex function of the model."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.features import Columns
from rashomon_explorer.measures.reliance.softplus_kernel import (
    Function,
    SoftplusKernel,
    curvature,
    slope,
    softplus,
)


@dataclass(frozen=True)
class SwitchedLogistic:
    """e_switch(θ) = mean over i ≠ j of log(1 + e^s) − y_i·s, s = z_{i,R}·θ_R + z_{j,S}·θ_S.

    Value, gradient and Hessian cost O(n·m), through :class:`SoftplusKernel`.

    ``codes`` (n,) are 1 for the positive class and 0 for the other; ``columns`` are S.

    >>> one = SwitchedLogistic(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.array([0]))
    >>> bool(np.isclose(one.value(np.array([[2.0]]))[0], (np.log1p(np.exp(2)) + np.log(2)) / 2))
    True
    """

    rows: FloatArray  # (n, p)
    codes: FloatArray  # (n,): 1 for the positive class, 0 for the other
    columns: Columns  # S

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        """Number of parameters."""
        return int(self.rows.shape[1])

    def value(self, theta: FloatArray) -> FloatArray:
        """e_switch (K,) of each column of ``theta`` (p, K)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """e_switch (K,) and its gradient (p, K) for each column of ``theta`` (p, K)."""
        pairs = [self._one(model) for model in theta.T]
        return np.array([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs], axis=1)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of e_switch at one model (p,)."""
        return self.weighted(theta, curvature)

    def weighted(self, theta: FloatArray, weight: Function) -> FloatArray:
        """Mean over i ≠ j of weight(s_ij)·z_ij z_ijᵀ, with z_ij the switched row; (p, p)."""
        kernel, scores = self._kernel(theta)
        own = weight(scores)
        moved, rest = self.columns, self._rest
        stay, move = self._stay, self._move
        total = np.zeros((self.p, self.p))
        total[np.ix_(rest, rest)] = (stay.T * (kernel.of_left(weight) - own)) @ stay
        total[np.ix_(moved, moved)] = (move.T * (kernel.of_right(weight) - own)) @ move
        across = kernel.between(weight, stay, move) - (stay.T * own) @ move
        total[np.ix_(rest, moved)], total[np.ix_(moved, rest)] = across, across.T
        return total / self._pairs

    @cached_property
    def _rest(self) -> Columns:
        return np.setdiff1d(np.arange(self.p), self.columns)

    @cached_property
    def _stay(self) -> FloatArray:
        """What keeps its row (n, p − |S|)."""
        return np.asfortranarray(self.rows[:, self._rest])

    @cached_property
    def _move(self) -> FloatArray:
        """What moves (n, |S|)."""
        return np.asfortranarray(self.rows[:, self.columns])

    @cached_property
    def _linear(self) -> FloatArray:
        """Sum (p,) over pairs of the switched rows of the positive class."""
        linear = np.zeros(self.p)
        linear[self._rest] = (self.n - 1) * (self.codes @ self._stay)
        linear[self.columns] = (self.codes.sum() - self.codes) @ self._move
        return linear

    @property
    def _pairs(self) -> int:
        return self.n * (self.n - 1)

    def _kernel(self, theta: FloatArray) -> tuple[SoftplusKernel, FloatArray]:
        move = self._move @ theta[self.columns]
        stay = self._stay @ theta[self._rest]
        return SoftplusKernel.of(stay, move), stay + move

    def _one(self, theta: FloatArray) -> tuple[float, FloatArray]:
        kernel, scores = self._kernel(theta)
        total = kernel.total(softplus) - float(softplus(scores).sum())
        gradient, own = np.zeros(self.p), slope(scores)
        gradient[self._rest] = (kernel.of_left(slope) - own) @ self._stay
        gradient[self.columns] = (kernel.of_right(slope) - own) @ self._move
        value = total - float(self._linear @ theta)
        return value / self._pairs, (gradient - self._linear) / self._pairs
