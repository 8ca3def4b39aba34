"""Polynomials of degree four of a whitened step that stay below a loss."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.cores import one_blas_thread
from rashomon_explorer.envelopes.moments import FourthMoment, ThirdMoment, outer_squares

_POINTS_AT_ONCE = 1024  # so that p² numbers a point stay in the cache
_ROUNDING = 1e-12  # of the sum of all terms' sizes: sums are right to about 1e-14 of it


@dataclass(frozen=True)
class QuarticForm:
    """P(w) = constant + linear·w + wᵀ·quadratic·w + third(w) − fourth(w)."""

    constant: float
    linear: FloatArray  # (p,)
    quadratic: FloatArray  # (p, p)
    third: ThirdMoment
    fourth: FourthMoment  # with nonnegative weights, so that P falls for long steps
    # (5,): sums of |terms| of each power for a unit step: rounding is a small share of them
    sizes: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, coefficients: FloatArray) -> "QuarticForm":
        """Form Σ_i c_i0 + c_i1 (b_i·w) + … + c_i4 (b_i·w)⁴ of rows b_i (n, p), c (5, n), c_i4 ≤ 0.

        Examples
        --------
        >>> form = QuarticForm.of(np.array([[2.0]]), np.array([[1.0], [1.0], [1.0], [0.0], [-1.0]]))
        >>> form.at(np.array([[1.0]])).round(6).tolist()
        [-9.0]
        """
        used = np.flatnonzero(coefficients.any(axis=0))
        rows, coefficients = rows[used], coefficients[:, used]
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return cls(
            constant=float(coefficients[0].sum()),
            linear=coefficients[1] @ rows,
            quadratic=(rows.T * coefficients[2]) @ rows,
            third=ThirdMoment.of(rows, coefficients[3]),
            fourth=FourthMoment.of(rows, -coefficients[4]),
            sizes=np.array([np.abs(c) @ length**k for k, c in enumerate(coefficients)]),
        )

    def plus(self, constant: float, linear: FloatArray, quadratic: FloatArray) -> "QuarticForm":
        """Form with these terms added."""
        added = [abs(constant), float(np.linalg.norm(linear)), float(np.linalg.norm(quadratic))]
        return QuarticForm(
            self.constant + constant,
            self.linear + linear,
            self.quadratic + quadratic,
            self.third,
            self.fourth,
            self.sizes + np.array([*added, 0.0, 0.0]),
        )

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) of P at steps (p, K), by no more than rounding."""
        parts = range(0, max(points.shape[1], 1), _POINTS_AT_ONCE)
        with one_blas_thread():
            return np.concatenate([self._at(points[:, k : k + _POINTS_AT_ONCE]) for k in parts])

    def _at(self, points: FloatArray) -> FloatArray:
        squares = outer_squares(points)
        value = self.linear @ points + np.einsum("ij,ij->j", points, self.quadratic @ points)
        value += self.constant + self.third.at(points, squares) - self.fourth.at(points, squares)
        return np.asarray(value - self._rounding(np.sqrt(np.einsum("ij,ij->j", points, points))))

    def least(self, radius: FloatArray) -> FloatArray:
        """Lower bound of P over all steps as long as each radius; same shape as ``radius``.

        A cubic form is the sum of m·w‖w‖², m = 3/(p + 2) times its trace, and a form without
        trace, which the largest singular value of its unfolding bounds; m is taken together
        with the linear part, which it may cancel (own derivation, docs/theory.md §3).
        """
        trace, rest = self.third.split()
        along = self.linear[:, None] + trace[:, None] * radius**2
        odd = np.linalg.norm(along, axis=0) * radius + rest.supremum() * radius**3
        even = float(np.linalg.eigvalsh(self.quadratic)[0]) * radius**2
        even -= self.fourth.supremum() * radius**4
        return np.asarray(self.constant + even - odd - self._rounding(radius))

    def _rounding(self, radius: FloatArray) -> FloatArray:
        return np.asarray(_ROUNDING * np.polynomial.polynomial.polyval(radius, self.sizes))
