"""The thresholded Gibbs law exp(−β·max{L, min L + ψ}) on a set of models."""

import math
from dataclasses import InitVar, dataclass, field
from typing import Self

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_nonnegative, check_positive
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import Threshold, get_threshold


@dataclass(frozen=True)
class GibbsTarget:
    """Density proportional to exp(−β·energy(L(θ) − min L − ψ)) on the domain.

    Uniform on the Rashomon set G = {θ : L(θ) ≤ min L + ψ} and decreasing outside it
    (Definition 1.4 and Theorem 2.1 of Ganesh, Thakurta and Upadhyay, COLT 2023).

    Parameters
    ----------
    problem : Problem
    beta : float
        Inverse temperature, > 0.
    psi : float
        Rashomon threshold, ≥ 0, in units of the loss.
    threshold : {"hard", "smooth"} or Threshold, default="hard"
        How the energy rises outside G; ``"smooth"`` rises quadratically over ψ/2 first.

    Attributes
    ----------
    shape : Threshold
        The threshold asked for.

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
    threshold: InitVar[str | Threshold] = "hard"
    shape: Threshold = field(init=False)

    @classmethod
    def of(cls, problem: Problem, planned: Plan) -> Self:
        """Law that a plan is for; β = 1 where it has none, for samplers that ask for ψ alone.

        Examples
        --------
        >>> from rashomon_explorer.mechanisms.planning.planner import plan
        >>> problem = Problem([[0.5], [-0.5]] * 5_000, [1, -1] * 5_000)
        >>> public = {"radius": 4.0, "row_norm": problem.row_bound, "epsilon": 1.0}
        >>> GibbsTarget.of(problem, plan(10_000, 2, 0.02, **public)).beta > 100
        True
        """
        beta = planned.beta if math.isfinite(planned.beta) else 1.0
        return cls(problem, beta, planned.drawn_psi, planned.threshold)

    def __post_init__(self, threshold: str | Threshold) -> None:
        """Refuse parameters that define no law."""
        check_positive(beta=self.beta)
        check_nonnegative(psi=self.psi)
        object.__setattr__(self, "shape", get_threshold(threshold, self.psi))

    def excess(self, theta: FloatArray) -> FloatArray:
        """L(θ) − min L for each column of ``theta`` (p, K); curator: reads private rows."""
        return self.problem.value(theta) - self.problem.minimum.value

    def energy(self, excess: FloatArray) -> FloatArray:
        """β·energy at excess losses, 0 on G; same shape, nondecreasing."""
        return self.beta * self.shape.energy(excess - self.psi)

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density (K,) relative to G, −inf off the domain, of columns of ``theta`` (p, K)."""
        inside = self.problem.domain.contains(theta)
        return np.where(inside, -self.energy(self.excess(theta)), -np.inf)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) of −log density at columns of ``theta`` (p, K) in the domain."""
        value, gradient = self.problem.value_and_gradient(theta)
        slope = self.shape.slope(value - self.problem.minimum.value - self.psi)
        return gradient * (self.beta * slope)
