"""Largest eigenvalue of a symmetric matrix, bounded above: certified by a Cholesky factor."""

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, eigsh

from rashomon_explorer.array_types import FloatArray

_ALL_AT_ONCE = 400  # rows up to which all eigenvalues are found in no time
_ABOVE = 1 + 1e-11  # more than a factorisation is off by


def largest_eigenvalue(matrix: FloatArray) -> float:
    """Upper bound of λ_max(A), for A ⪰ 0 right to about 1e-11.

    Lanczos finds λ from below in a few products; λI − A has a Cholesky factor only if no eigenvalue
    is larger. That is an eighth of the work of finding all of them.

    >>> largest_eigenvalue(np.diag([1.0, 3.0, 2.0]))
    3.0
    """
    size = len(matrix)
    if size > _ALL_AT_ONCE:
        start = np.cos(np.arange(size))  # always the same, and in no subspace of its own
        try:
            found = eigsh(matrix, k=1, which="LA", v0=start, return_eigenvectors=False)
        except ArpackError:
            found = np.zeros(1)
        above = float(found[0]) * _ABOVE
        if _none_above(above, matrix):
            return above
    return float(np.linalg.eigvalsh(matrix)[-1])


def _none_above(bound: float, matrix: FloatArray) -> bool:
    """Whether no eigenvalue of a matrix is above a bound, as far as rounding lets say."""
    gap = -matrix
    gap[np.diag_indices_from(gap)] += bound
    try:
        scipy.linalg.cholesky(gap, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True
