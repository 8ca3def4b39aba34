"""The thresholded Gibbs law exp(−β·max{L, min L + ψ}) on a set of models."""

import math
from dataclasses import InitVar, dataclass, field
from typing import Self

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_nonnegative, check_positive
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import Threshold, get_threshold


@dataclass(frozen=True)
class GibbsTarget:
    """Density ∝ exp(−β·energy(L(θ) − min L − ψ)) on the domain (Ganesh et al. 2023, §2)."""

    problem: Problem
    beta: float
    psi: float
    threshold: InitVar[str | Threshold] = "hard"
    shape: Threshold = field(init=False)

    @classmethod
    def of(cls, problem: Problem, planned: Plan) -> Self:
        """Law of a plan; β = 1 if it has none, for samplers that use only ψ."""
        beta = planned.beta if math.isfinite(planned.beta) else 1.0
        threshold = planned.details.threshold(planned)
        return cls(problem, beta, planned.law_threshold, threshold)

    def __post_init__(self, threshold: str | Threshold) -> None:
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
        """Log density (K,) relative to G at columns of ``theta`` (p, K); −inf off the domain."""
        inside = self.problem.domain.contains(theta)
        return np.where(inside, -self.energy(self.excess(theta)), -np.inf)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) of −log density at columns of ``theta`` (p, K) in the domain."""
        value, gradient = self.problem.value_and_gradient(theta)
        slope = self.shape.slope(value - self.problem.minimum.value - self.psi)
        return gradient * (self.beta * slope)
