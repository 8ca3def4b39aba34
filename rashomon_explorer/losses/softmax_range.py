"""How large a row's cross-entropy can be, and how much it can vary, for bounded scores."""

import math
from functools import lru_cache

import numpy as np

from rashomon_explorer.array_types import FloatArray

_ANGLES = 2**14


@lru_cache(maxsize=256)
def largest_and_range(classes: int, reach: float) -> tuple[float, float]:
    """Upper bounds of max f and of max f − min f, for one row's cross-entropy f.

    Over scores (a_1, …, a_{C−1}) of Euclidean norm at most s, a_0 = 0, and the worst label.

    - *Label 0*: f = log(1 + Σ e^{a_c}) is largest where Σ e^{a_c} is, and least where all a_c are
      −s/√(C − 1), by Jensen's inequality.
    - *Another label y*: f = log(1 + e^{−a_y}(1 + Σ_{c ≠ 0, y} e^{a_c})). With a_y = −s·cos t the
      other m = C − 2 scores have norm s·sin t; for the least value a_y = s·cos t and the others
      are −s·sin t/√m. The one angle left is searched on a grid, and what lies between two
      points of it is covered by the Lipschitz constant √2·s.

    Σ e^{a_c} over m scores of norm ρ is at most m + √m·ρ + e^ρ − 1 − ρ: the series of the
    exponential, with Σ a_c ≤ √m·ρ and Σ a_c^k ≤ ρ^k for k ≥ 2. Exact for m = 1.

    >>> [round(bound, 6) for bound in largest_and_range(2, 3.0)]
    [3.048587, 3.0]
    """
    others = classes - 1
    top = float(np.logaddexp(0.0, _log_sum(others, np.array(reach))))
    least = math.log1p(others * math.exp(-reach / math.sqrt(others)))
    own_top, own_least = _own_label(classes - 2, reach)
    return max(top, own_top), max(top - least, own_top - own_least)


def _own_label(others: int, reach: float) -> tuple[float, float]:
    """Bounds of the largest and least loss of a label that is not the reference."""
    if others == 0:
        return float(np.logaddexp(0.0, reach)), float(np.logaddexp(0.0, -reach))
    angle = np.linspace(0.0, math.pi / 2, _ANGLES)
    along, across = reach * np.cos(angle), reach * np.sin(angle)
    between = math.sqrt(2) * reach * (angle[1] - angle[0]) / 2
    rest = np.logaddexp(0.0, _log_sum(others, across))
    top = float(np.logaddexp(0.0, along + rest).max()) + between
    rest = np.logaddexp(0.0, math.log(others) - across / math.sqrt(others))
    least = float(np.logaddexp(0.0, rest - along).min()) - between
    return top, max(least, 0.0)


def _log_sum(others: int, radius: FloatArray) -> FloatArray:
    """Logarithm of m + √m·ρ + e^ρ − 1 − ρ."""
    small = (others - 1 + (math.sqrt(others) - 1) * radius) * np.exp(-radius)
    return np.asarray(radius + np.log1p(small))
