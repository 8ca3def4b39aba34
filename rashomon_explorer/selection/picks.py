"""One of several by its loss, privately: two laws, each with its price."""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy import Guarantee, bounded_range, pure


class Pick(Protocol):
    """A law on k candidates that prefers small losses.

    ``epsilon`` is the price, ``sensitivity`` the most that one record moves a candidate's loss.
    """

    name: ClassVar[str]

    @property
    def epsilon(self) -> float:
        """ε > 0."""
        ...

    @property
    def sensitivity(self) -> float:
        """Δ > 0."""
        ...

    def law(self, losses: ArrayLike) -> FloatArray:
        """Probabilities (k,) of being picked."""
        ...

    def draw(self, losses: ArrayLike, rng: np.random.Generator) -> int:
        """Place of the one that is picked."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What the place tells of one record."""
        ...


@dataclass(frozen=True)
class PermuteAndFlip:
    """Candidates in random order, each taken with probability exp(−ε(u − min u)/2Δ).

    ε-DP, and no worse than the exponential mechanism for any losses (McKenna and Sheldon 2020,
    Theorems 1 and 2). A candidate comes at a time t that is uniform on [0, 1], and each other one
    is before it and refused, or after it, with probability 1 − a_i t:
    P(j) = a_j ∫₀¹ Π_{i≠j}(1 − a_i t) dt.

    Parameters
    ----------
    epsilon : float
        ε > 0.
    sensitivity : float
        Δ > 0: one record moves no loss by more.

    Examples
    --------
    >>> PermuteAndFlip(2.0, 1.0).law([0.0, 0.0, 1.0]).round(4).tolist()
    [0.4387, 0.4387, 0.1226]
    """

    name: ClassVar[str] = "permute_and_flip"
    epsilon: float
    sensitivity: float

    def law(self, losses: ArrayLike) -> FloatArray:
        """See :class:`Pick`."""
        taken = self._taken(losses)
        nodes, weights = np.polynomial.legendre.leggauss(len(taken) // 2 + 1)  # exact: a polynomial
        factors = 1 - np.outer(taken, (nodes + 1) / 2)
        others = np.array([np.delete(factors, j, axis=0).prod(axis=0) for j in range(len(taken))])
        return np.asarray(taken * (others @ weights) / 2)

    def draw(self, losses: ArrayLike, rng: np.random.Generator) -> int:
        """See :class:`Pick`."""
        taken = self._taken(losses)
        for place in rng.permutation(len(taken)):
            if rng.random() < taken[place]:
                return int(place)
        raise AssertionError("the best candidate is always taken when it comes")

    @property
    def guarantee(self) -> Guarantee:
        """Pure ε-DP."""
        return pure(self.epsilon)

    def _taken(self, losses: ArrayLike) -> FloatArray:
        known = np.asarray(losses, dtype=float)
        return np.asarray(np.exp(-self.epsilon * (known - known.min()) / (2 * self.sensitivity)))


@dataclass(frozen=True)
class Exponential:
    """Probability ∝ exp(−ε u/2Δ): ε-bounded range, so ε-DP and ε²/8-zCDP.

    One record moves each loss by at most Δ up or down, so that losses relative to each other move
    by an interval of width 2Δ at most.

    Parameters
    ----------
    epsilon, sensitivity : float
        As for :class:`PermuteAndFlip`.

    Examples
    --------
    >>> Exponential(2.0, 1.0).law([0.0, 0.0, 1.0]).round(4).tolist()
    [0.4223, 0.4223, 0.1554]
    """

    name: ClassVar[str] = "exponential"
    epsilon: float
    sensitivity: float

    def law(self, losses: ArrayLike) -> FloatArray:
        """See :class:`Pick`."""
        known = np.asarray(losses, dtype=float)
        weights = np.exp(-self.epsilon * (known - known.min()) / (2 * self.sensitivity))
        return np.asarray(weights / weights.sum())

    def draw(self, losses: ArrayLike, rng: np.random.Generator) -> int:
        """See :class:`Pick`."""
        ends = np.cumsum(self.law(losses))
        return int(np.searchsorted(ends[:-1], rng.random(), side="right"))

    @property
    def guarantee(self) -> Guarantee:
        """ε-bounded range."""
        return bounded_range(self.epsilon)


PICKS: dict[str, type[PermuteAndFlip | Exponential]] = {
    kind.name: kind for kind in (PermuteAndFlip, Exponential)
}
"""Ways to pick, by name."""


def regret(pick: Pick, k: int) -> float:
    """Bound 2Δ·log(k)/ε of the expected loss of what is picked, above the least.

    The exponential mechanism's law π has the least E_π u + (2Δ/ε)·KL(π, uniform), which is at most
    min u + (2Δ/ε)·log k; permute-and-flip is never worse.

    Examples
    --------
    >>> regret(Exponential(1.0, 0.01), 1), round(regret(Exponential(1.0, 0.01), 8), 4)
    (0.0, 0.0416)
    """
    return 2 * pick.sensitivity * math.log(k) / pick.epsilon
