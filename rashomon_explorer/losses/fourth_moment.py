"""A certified upper bound on the third absolute moment of weighted rows in any direction."""

import math

import numpy as np

from rashomon_explorer.losses.base import FloatArray

_LARGEST_SPECTRUM = 64  # p(p+1)/2 = 2,080 columns; beyond, the eigenproblem takes minutes
_ROWS_AT_ONCE = 4096
_ROUNDING = 1 + 1e-9  # eigvalsh and the sums are right to about 1e-14: keep the bound above


def third_moment_bound(rows: FloatArray, weights: FloatArray) -> float:
    """C₃ with Σ w_i |b_i·v|³ ≤ C₃ for every unit vector v.

    Cauchy-Schwarz with Σ w_i (b_i·v)² ≤ 1 gives C₃² = sup_v Σ w_i (b_i·v)⁴. Writing
    vvᵀ = I/p + S with S traceless, ‖S‖_F² = 1 − 1/p, and B_i⁰ for the traceless part of b_i b_iᵀ,

        C₃² ≤ A/p² + (2/p) ‖Σ w_i ‖b_i‖² B_i⁰‖_F √(1−1/p) + λ_max(Σ w_i B_i⁰⊗B_i⁰)(1−1/p)

    with A = Σ w_i ‖b_i‖⁴ (own derivation, docs/theory.md §3).

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Whitened rows b_i with Σ w_i b_i b_iᵀ ⪯ I.
    weights : ndarray of shape (n,)
        Nonnegative weights w_i.

    Returns
    -------
    float
        Infinity for more than 64 columns, where the longest row serves instead.

    Examples
    --------
    One column: the supremum is Σ w b⁴ itself.

    >>> round(third_moment_bound(np.array([[1.0], [-2.0]]), np.array([0.2, 0.2])) ** 2, 6)
    3.4
    """
    p = rows.shape[1]
    if p > _LARGEST_SPECTRUM:
        return math.inf
    upper = np.triu_indices(p)
    scale = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))  # an isometry onto R^{p(p+1)/2}
    trace = (upper[0] == upper[1]) / p
    size = len(scale)
    total, cross, gram = 0.0, np.zeros(size), np.zeros((size, size))
    for low in range(0, len(rows), _ROWS_AT_ONCE):
        b, w = rows[low : low + _ROWS_AT_ONCE], weights[low : low + _ROWS_AT_ONCE]
        norm2 = np.einsum("ij,ij->i", b, b)
        traceless = b[:, upper[0]] * b[:, upper[1]] * scale - np.outer(norm2, trace)
        total += float(w @ norm2**2)
        cross += (w * norm2) @ traceless
        gram += (traceless * w[:, None]).T @ traceless
    rest = 1 - 1 / p
    top = max(0.0, float(np.linalg.eigvalsh(gram)[-1]))
    square = total / p**2 + 2 / p * float(np.linalg.norm(cross)) * math.sqrt(rest) + top * rest
    return math.sqrt(square) * _ROUNDING
