"""Quadratic functions of a model, and those that squared loss gives."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.features import Columns


@dataclass(frozen=True)
class Quadratic:
    """θᵀPθ + 2qᵀθ + r.

    >>> one = Quadratic(np.eye(2), np.array([0.0, 1.0]), 3.0)
    >>> (2.0 * one - one)(np.array([[1.0], [2.0]])).tolist()
    [12.0]
    """

    matrix: FloatArray  # (p, p): P, symmetric
    vector: FloatArray  # (p,)
    constant: float

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Value (K,) at each column of ``theta`` (p, K)."""
        return np.asarray(
            np.einsum("ik,ik->k", theta, self.matrix @ theta)
            + 2 * self.vector @ theta
            + self.constant
        )

    def __add__(self, other: "Quadratic") -> "Quadratic":
        return Quadratic(
            self.matrix + other.matrix, self.vector + other.vector, self.constant + other.constant
        )

    def __rmul__(self, factor: float) -> "Quadratic":
        return Quadratic(factor * self.matrix, factor * self.vector, factor * self.constant)

    def __sub__(self, other: "Quadratic") -> "Quadratic":
        return self + (-1.0) * other

    def shifted(self, amount: float) -> "Quadratic":
        """Add a constant."""
        return Quadratic(self.matrix, self.vector, self.constant + amount)


@dataclass(frozen=True)
class SquareMoments:
    """What half the mean squared error, switched or not, needs to know of n rows."""

    n: int
    gram: FloatArray  # (p, p): ZᵀZ/n
    cross: FloatArray  # (p,): Zᵀy/n
    energy: float  # yᵀy/n
    row_mean: FloatArray  # (p,)
    target_mean: float

    @classmethod
    def of(cls, rows: FloatArray, targets: FloatArray) -> "SquareMoments":
        """Moments of rows (n, p) and targets (n,)."""
        n = len(rows)
        return cls(
            n=n,
            gram=rows.T @ rows / n,
            cross=rows.T @ targets / n,
            energy=float(targets @ targets) / n,
            row_mean=rows.mean(axis=0),
            target_mean=float(targets.mean()),
        )

    def original(self) -> Quadratic:
        """e_orig(θ) = (1/2n) Σ (y_i − z_i·θ)²."""
        return Quadratic(self.gram / 2, -self.cross / 2, self.energy / 2)

    def rise(self, columns: Columns) -> Quadratic:
        """e_switch(θ) − e_orig(θ), the sample covariance of moving part and residual.

        With a_i = z_{i,S}·θ_S, b_i the rest of the score and r_i = y_i − b_i, expanding the mean
        of ½(r_i − a_j)² over i ≠ j gives

            e_switch − e_orig = (1/(n − 1)) Σ (a_i − ā)(r_i − r̄),

        a quadratic form in θ with the blocks of the covariance matrix across S and its
        complement (equal to Fisher, Rudin and Dominici 2019, equation 6.2, less e_orig).
        """
        scale = self.n / (self.n - 1)
        covariance = scale * (self.gram - np.outer(self.row_mean, self.row_mean))
        with_target = scale * (self.cross - self.row_mean * self.target_mean)
        moves = np.zeros(len(self.cross), dtype=bool)
        moves[columns] = True
        across = np.where(moves[:, None] != moves, -covariance / 2, 0.0)
        return Quadratic(across, np.where(moves, with_target / 2, 0.0), 0.0)
