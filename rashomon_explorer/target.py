"""The thresholded Gibbs law exp(−β·max{L, min L + ψ}) on a ball of models."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.problem import Problem

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class GibbsTarget:
    """Density proportional to exp(−β·max{L(θ), min L + ψ}) on the ball.

    Uniform on the Rashomon set G = {θ : L(θ) ≤ min L + ψ} and decreasing outside it
    (Definition 1.4 and Theorem 2.1 of Ganesh, Thakurta and Upadhyay, COLT 2023).

    Parameters
    ----------
    problem : Problem
    beta : float
        Inverse temperature, > 0.
    psi : float
        Rashomon threshold, ≥ 0, in units of the loss.
    threshold : {"hard"}, default="hard"
        Shape of the threshold.

    Raises
    ------
    ValueError
        If ``beta``, ``psi`` or ``threshold`` is out of range.

    Examples
    --------
    >>> target = GibbsTarget(Problem([[0.5], [-0.5]], [1, -1]), beta=10.0, psi=0.1)
    >>> target.log_density(target.problem.minimum.theta[:, None]).tolist()
    [-0.0]
    """

    problem: Problem
    beta: float
    psi: float
    threshold: Literal["hard"] = "hard"

    def __post_init__(self) -> None:
        """Refuse parameters that define no law."""
        if not (np.isfinite(self.beta) and self.beta > 0):
            raise ValueError(f"beta must be finite and > 0, got {self.beta!r}")
        if not (np.isfinite(self.psi) and self.psi >= 0):
            raise ValueError(f"psi must be finite and >= 0, got {self.psi!r}")
        if self.threshold != "hard":
            raise ValueError(f"threshold must be 'hard', got {self.threshold!r}")

    def excess(self, theta: FloatArray) -> FloatArray:
        """L(θ) − min L for each column of ``theta`` (p, K); curator: reads private rows."""
        return self.problem.value(theta) - self.problem.minimum.value

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density (K,) relative to G, −inf off the ball, of columns of ``theta`` (p, K)."""
        log_density = -self.beta * np.maximum(self.excess(theta) - self.psi, 0.0)
        return np.where(self.problem.domain.contains(theta), log_density, -np.inf)
