"""Third and fourth moments of weighted rows in every direction, with certified upper bounds."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.spectrum import largest_eigenvalue

LARGEST_SPECTRUM = 64  # p(p+1)/2 = 2,080 columns; beyond, the eigenproblem takes minutes
_LARGEST_PAIRED = 40  # p⁴ numbers
_ROWS_AT_ONCE = 4096
_ROUNDING = 1 + 1e-9  # eigenvalues and sums are right to about 1e-14: keep the bounds above


@dataclass(frozen=True)
class FourthMoment:
    """The form Σ w_i (b_i·v)⁴, w_i ≥ 0, as a quadratic form of vvᵀ.

    >>> form = FourthMoment.of(np.array([[1.0], [-2.0]]), np.array([0.2, 0.2]))
    >>> round(form.supremum(), 6), form.at(np.array([[2.0]])).round(6).tolist()
    (3.4, [54.4])
    """

    # (q, q), q = p(p+1)/2: Σ w_i B_i B_iᵀ with B_i the coordinates of b_i b_iᵀ; see
    # :func:`outer_squares`
    gram: FloatArray
    p: int

    @classmethod
    def of(cls, rows: FloatArray, weights: FloatArray) -> "FourthMoment":
        """Form of rows (n, p) with nonnegative weights (n,)."""
        p = rows.shape[1]
        gram = np.zeros((p * (p + 1) // 2,) * 2)
        for low in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(low, low + _ROWS_AT_ONCE)
            squares = outer_squares(rows[part].T) * np.sqrt(weights[part])
            gram += squares @ squares.T
        return cls(gram, p)

    def at(self, points: FloatArray, squares: FloatArray | None = None) -> FloatArray:
        """Σ w_i (b_i·u)⁴ for each column u of ``points`` (p, K); shape (K,)."""
        squares = outer_squares(points) if squares is None else squares
        return np.maximum(np.einsum("ij,ij->j", squares, self.gram @ squares), 0.0) * _ROUNDING

    def supremum(self) -> float:
        """Upper bound of the form over unit vectors.

        With vvᵀ = I/p + S, S traceless and ‖S‖_F² = 1 − 1/p, t the coordinates of I and P the
        projection off t, it is at most tᵀGt/p² + (2/p)‖PGt‖√(1−1/p) + λ_max(PGP)(1−1/p)
        (own derivation, docs/theory.md §3).
        """
        identity = outer_squares(np.eye(self.p)).sum(axis=1)
        on_identity = self.gram @ identity
        total = float(identity @ on_identity)
        across = on_identity - identity * (total / self.p)  # off t: of rank one, so no product
        lost = np.outer(identity, across + identity * (total / (2 * self.p))) / self.p
        rest = 1 - 1 / self.p
        top = max(0.0, largest_eigenvalue(self.gram - (lost + lost.T)))
        cross = float(np.linalg.norm(across)) * math.sqrt(rest)
        return (total / self.p**2 + 2 / self.p * cross + top * rest) * _ROUNDING


@dataclass(frozen=True)
class ThirdMoment:
    """The form Σ κ_i (b_i·v)³ with weights of either sign.

    >>> form = ThirdMoment.of(np.array([[1.0], [-2.0]]), np.array([0.5, 0.5]))
    >>> round(form.supremum(), 6), form.at(np.array([[1.0]])).tolist()
    (3.5, [-3.5])
    """

    unfolded: FloatArray  # (q, p): Σ κ_i B_i b_iᵀ

    @classmethod
    def of(cls, rows: FloatArray, weights: FloatArray) -> "ThirdMoment":
        """Form of rows (n, p) with weights (n,)."""
        p = rows.shape[1]
        unfolded = np.zeros((p * (p + 1) // 2, p))
        for low in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(low, low + _ROWS_AT_ONCE)
            unfolded += outer_squares(rows[part].T) @ (rows[part] * weights[part, None])
        return cls(unfolded)

    def at(self, points: FloatArray, squares: FloatArray | None = None) -> FloatArray:
        """Σ κ_i (b_i·u)³ for each column u of ``points`` (p, K); shape (K,)."""
        squares = outer_squares(points) if squares is None else squares
        return np.asarray(np.einsum("ij,ij->j", self.unfolded.T @ squares, points))

    def supremum(self) -> float:
        """Upper bound of the form's size over unit vectors.

        The unfolding's largest singular value; or, with T_a the matrix of the derivative along
        coordinate a, over 3, |Σ_a v_a vᵀT_a v|² ≤ Σ_a (vᵀT_a v)² by Cauchy–Schwarz, which is a
        form of fourth order with the matrix Σ_a T_a ⊗ T_a: this pairs the coordinates otherwise
        than the unfolding's own square does, and its spectrum is smaller where many directions
        differ (a device of Hopkins, Shi and Steurer 2015).
        """
        unfolded = float(np.linalg.norm(self.unfolded, 2))
        p = self.unfolded.shape[1]
        if not 1 < p <= _LARGEST_PAIRED:
            return unfolded * _ROUNDING
        rows, columns = np.triu_indices(p)
        scale = np.where(rows == columns, 1.0, math.sqrt(0.5))[:, None]
        tensor = np.zeros((p, p, p))
        tensor[rows, columns] = tensor[columns, rows] = self.unfolded * scale
        # Entry (i, j), (k, l) of the pairing is Σ_a T_a[i, k]·T_a[j, l].
        flat = tensor.reshape(p * p, p)
        paired = (flat @ flat.T).reshape(p, p, p, p).transpose(0, 2, 1, 3)
        gram = paired[rows, columns][:, rows, columns]
        gram = gram + paired[rows, columns][:, columns, rows]
        weight = np.where(rows == columns, 0.5, math.sqrt(0.5))
        gram = gram * np.outer(weight, 2 * weight)
        fourth = FourthMoment((gram + gram.T) / 2, p).supremum()
        return min(unfolded, math.sqrt(max(fourth, 0.0))) * _ROUNDING

    def split(self) -> tuple[FloatArray, "ThirdMoment"]:
        """Vector m (p,) and a form without trace whose sum m·v‖v‖² + form(v) is this form.

        m = 3/(p + 2)·Σ κ_i‖b_i‖²b_i: the symmetric tensor of m·v‖v‖² has the trace (p + 2)m/3.

        Examples
        --------
        >>> line, rest = ThirdMoment.of(np.array([[3.0], [1.0]]), np.array([1.0, 2.0])).split()
        >>> line.tolist(), rest.supremum()
        ([29.0], 0.0)
        """
        p = self.unfolded.shape[1]
        identity = outer_squares(np.eye(p)).sum(axis=1)
        line = 3 / (p + 2) * (self.unfolded.T @ identity)
        # Unfolded, m·v‖v‖² is (I mᵀ + the symmetric part of the others)/3.
        paired = np.array([_paired(line, unit) for unit in np.eye(p)]).T
        return line, ThirdMoment(self.unfolded - (np.outer(identity, line) + 2 * paired) / 3)


def _paired(one: FloatArray, other: FloatArray) -> FloatArray:
    """Coordinates (q,) of the symmetric part of the matrix ``one otherᵀ``."""
    plus, minus = outer_squares(np.column_stack([one + other, one - other])).T
    return np.asarray((plus - minus) / 4)


def outer_squares(points: FloatArray) -> FloatArray:
    """Coordinates (q, K) of uuᵀ for each column u of ``points`` (p, K), as an isometry.

    Off-diagonal entries carry √2, so that inner products are those of the matrices.

    Examples
    --------
    >>> outer_squares(np.array([[3.0], [4.0]])).ravel().round(3).tolist()
    [9.0, 16.971, 16.0]
    """
    rows, columns = np.triu_indices(len(points))
    scale = np.where(rows == columns, 1.0, math.sqrt(2.0))
    return points[rows] * points[columns] * scale[:, None]
