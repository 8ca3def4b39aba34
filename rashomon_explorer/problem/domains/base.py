"""Protocol of a convex set of models."""

from typing import Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask


class Domain(Protocol):
    """A closed bounded convex set C of models, full-dimensional, that holds the origin.

    Blocks hold one model, or one direction, a column: shape (p, K).
    """

    @property
    def dimension(self) -> int | None:
        """Number of parameters the set is made for; None for any."""
        ...

    @property
    def radius(self) -> float:
        """Largest ‖θ‖, the same as ``radius_bound``: radius of the least centred ball around C."""
        ...

    @property
    def radius_bound(self) -> float:
        """Largest ‖θ‖."""
        ...

    @property
    def diameter(self) -> float:
        """Largest distance of two models, or for an intersection an upper bound of it."""
        ...

    def reach(self, row_bound: float) -> float:
        """Largest |z·θ| over models and rows with ‖z‖ ≤ row_bound."""
        ...

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in C; shape (K,)."""
        ...

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of C to each column of ``theta`` (p, K)."""
        ...

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Find a point of C furthest along each column of ``direction`` (p, K)."""
        ...

    def support(self, direction: FloatArray) -> FloatArray:
        """Support function max_{θ in C} g·θ of each column g of ``direction`` (p, K); (K,)."""
        ...

    def gauge(self, theta: FloatArray) -> FloatArray:
        """Least t ≥ 0 with θ in t·C, for each column (p, K); at most 1 in C, perhaps infinite."""
        ...

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in C, for each column (p, K) of models in C and of d ≠ 0."""
        ...

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the volume in R^p, or for an intersection an upper bound of it."""
        ...

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size), uniform on C."""
        ...


def inner(a: FloatArray, b: FloatArray) -> FloatArray:
    """Inner product (K,) of matching columns of two (p, K) blocks."""
    return np.asarray(np.einsum("ij,ij->j", a, b))
