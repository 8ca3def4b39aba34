"""Rates that the papers print, upper and lower, as exponents of n, p and ε."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive

_RASHOMON = "Ganesh, Thakurta and Upadhyay 2023, Table 1"
_ERM = "Bassily, Smith and Thakurta 2014, Table 1"
_FINITE = "finite-time analysis, Table 1"
_BILEVEL = "Lowy and Liu, Theorem 3.10"

Powers = tuple[float, float, float]


@dataclass(frozen=True)
class Rate:
    """Excess of the mean loss ∝ n^a·p^b·ε^c, up to logarithms and constants."""

    problem: str
    notion: str
    upper: Powers
    lower: Powers
    source: str

    def guide(self, n: float, p: float, epsilon: float) -> float:
        """Shape of the lower bound, with 1 for its constant and no more than 1."""
        a, b, c = self.lower
        return min(1.0, n**a * p**b * epsilon**c)


_ALL = (
    Rate("convex", "pure", (-1, 1, -1), (-1, 1, -1), f"{_ERM}; {_RASHOMON}; {_FINITE}"),
    Rate("convex", "(ε, δ)", (-1, 0.5, -1), (-1, 0.5, -1), f"{_ERM}; {_FINITE}"),
    Rate("strongly convex", "pure", (-2, 2, -2), (-2, 2, -2), f"{_ERM}; {_FINITE}"),
    Rate("strongly convex", "(ε, δ)", (-2, 1, -2), (-2, 1, -2), f"{_ERM}; {_FINITE}"),
    Rate("not convex", "pure", (-1, 1, -1), (-1, 1, -1), f"{_FINITE}; Appendix F of {_RASHOMON}"),
    Rate("penalties", "pure", (-1, 1, -1), (-1, 1, -1), _BILEVEL),
    Rate("penalties", "(ε, δ)", (-1, 0.5, -1), (-1, 0.5, -1), _BILEVEL),
)
RATES: dict[tuple[str, str], Rate] = {(one.problem, one.notion): one for one in _ALL}
"""Every rate by problem and notion of privacy."""


def bilevel_instance_excess(temperature: float, slopes: FloatArray, diameter: float = 1.0) -> float:
    """Mean excess of exp(−kΦ) on [−D/2, D/2]^d for Φ = −Σ s_j x_j: the tables of Theorem 3.10."""
    check_positive(temperature=temperature, diameter=diameter)
    wide = np.asarray(slopes, dtype=float) * diameter
    cold = np.exp(-temperature * wide)  # no overflow, whatever the temperature
    return float((1 / temperature - wide * cold / (1 - cold)).sum())
