"""A random number of runs, the best of which is kept at a price that is fixed beforehand."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy import Guarantee, pure
from rashomon_explorer.search import bisect


@dataclass(frozen=True)
class Runs:
    """How often candidates are run: K, geometric or logarithmic, whatever the rows are.

    Each run takes a candidate at random and returns its model and its score, (ε₀, 0)-DP together;
    the best of the K is kept, K and the others are not told. Whoever that is costs (2 + s)·ε₀ with
    s the ``shape``: 1 for a geometric K, 0 for a logarithmic one (Liu and Talwar 2019; Papernot and
    Steinke 2022, Corollary 3), however many runs there are on average.

    Let C be the probability that a run is better than some outcome, or as good and wins the draw.
    An outcome of probability q is kept with q·E f′(1 − C), f(x) = E x^K and f′(x) proportional to
    (1 − (1 − γ)x)^(−s−1). A neighbour's q is at most e^ε₀ times as large, and its γ + (1 − γ)C at
    least e^(−ε₀) times.

    Parameters
    ----------
    shape : {0, 1}
        Logarithmic or geometric.
    gamma : float
        γ in (0, 1).

    Examples
    --------
    >>> Runs(1, 0.1).mean, Runs(1, 0.1).factor, Runs(0, 0.1).factor
    (10.0, 3, 2)
    >>> round(Runs(0, 0.01).mean, 2)
    21.5
    """

    shape: int
    gamma: float

    def __post_init__(self) -> None:
        """Refuse what has no proof here."""
        if self.shape not in (0, 1):
            raise ValueError(f"shape must be 0 or 1, got {self.shape!r}")
        if not 0 < self.gamma < 1:
            raise ValueError(f"gamma must be in (0, 1), got {self.gamma!r}")

    @classmethod
    def of_mean(cls, shape: int, mean: float) -> "Runs":
        """K with so many runs on average.

        Parameters
        ----------
        shape : {0, 1}
        mean : float
            Above 1.

        Examples
        --------
        >>> round(Runs.of_mean(0, 20.0).mean, 6)
        20.0
        """
        if not mean > 1:
            raise ValueError(f"mean must be > 1, got {mean!r}")
        if shape == 1:
            return cls(1, 1 / mean)
        log_gamma = bisect(lambda t: cls(0, math.exp(t)).mean >= mean, -200.0, -1e-9, halvings=200)
        return cls(0, math.exp(log_gamma))

    @property
    def factor(self) -> int:
        """What is kept costs so many times ε₀."""
        return 2 + self.shape

    @property
    def mean(self) -> float:
        """E K."""
        if self.shape == 1:
            return 1 / self.gamma
        return (1 - self.gamma) / (self.gamma * -math.log(self.gamma))

    def pgf(self, x: ArrayLike) -> FloatArray:
        """f(x) = E x^K.

        Parameters
        ----------
        x : array-like
            In [0, 1].

        Examples
        --------
        >>> Runs(1, 0.5).pgf([0.0, 1.0]).tolist()
        [0.0, 1.0]
        """
        known = np.asarray(x, dtype=float)
        left = 1 - (1 - self.gamma) * known
        if self.shape == 1:
            return np.asarray(self.gamma * known / left)
        return np.asarray(np.log(left) / math.log(self.gamma))

    def missed(self, k: int) -> float:
        """Probability that one of k candidates is never run.

        Examples
        --------
        >>> round(Runs(1, 0.025).missed(4), 3)
        0.07
        """
        return float(self.pgf(1 - 1 / k))

    def law(self, probabilities: ArrayLike) -> FloatArray:
        """Law of the outcome that is kept.

        Parameters
        ----------
        probabilities : array-like of shape (N,)
            Of the outcomes of one run, the best first.

        Returns
        -------
        ndarray of shape (N,)
            Probabilities, in the same order.

        Examples
        --------
        >>> Runs(1, 0.5).law([0.5, 0.5]).round(4).tolist()
        [0.6667, 0.3333]
        """
        worse = 1 - np.cumsum(np.asarray(probabilities, dtype=float))
        return np.asarray(-np.diff(self.pgf(np.clip(np.concatenate([[1.0], worse]), 0, 1))))

    def draw(self, rng: np.random.Generator) -> int:
        """K ≥ 1."""
        if self.shape == 1:
            return int(rng.geometric(self.gamma))
        return int(rng.logseries(1 - self.gamma))

    def guarantee(self, epsilon: float) -> Guarantee:
        """Guarantee of what is kept, where a run with its score is ``epsilon``-DP.

        Parameters
        ----------
        epsilon : float
            ε₀ of one run.

        Examples
        --------
        >>> Runs(1, 0.1).guarantee(0.5).epsilon(0.0)
        1.5
        """
        kept = pure(self.factor * epsilon)
        return Guarantee(
            "pure",
            "the best of a random number of runs (Liu and Talwar 2019; Papernot and Steinke 2022)",
            pure_epsilon=kept.pure_epsilon,
            rho=kept.rho,
            assumptions=(
                *kept.assumptions,
                "how many runs there were, and so how long, is not told",
            ),
        )
