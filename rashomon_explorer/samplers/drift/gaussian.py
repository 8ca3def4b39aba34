"""The gradient of the Gaussian-smoothed threshold, by Monte Carlo."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.sensitivity import gradient_sensitivity
from rashomon_explorer.samplers.drift.base import Gradient
from rashomon_explorer.samplers.drift.gibbs import GibbsDrift
from rashomon_explorer.threshold import GaussianThreshold

_MEAN_DEVIATION = (2 / np.pi) ** 0.5  # E|ξ| of a standard normal


@dataclass(frozen=True)
class GaussianDrift(GibbsDrift):
    """Mean, over a few points θ + λξ, of the hard-thresholded gradient there.

    An unbiased gradient of E[max{L(θ + λξ), min L + ψ}] (Theorem 3.2 of Ganesh, Thakurta and
    Upadhyay, 2023). The points are noise that no record influences, so that given them one record
    moves the mean by no more than it moves one thresholded gradient: the sensitivity is that of
    the hard threshold, taken on all of ℝᵖ because the points leave the domain.

    Parameters
    ----------
    target : GibbsTarget
        With a :class:`GaussianThreshold`.

    Raises
    ------
    ValueError
        If the loss is not Lipschitz everywhere, has a ridge, or needs a scale to be given.
    """

    def __post_init__(self) -> None:
        """Refuse losses whose gradient is unbounded outside the domain."""
        problem = self.target.problem
        if not problem.loss.globally_lipschitz or problem.ridge > 0:
            raise ValueError(
                "the Gaussian threshold looks outside the domain, where only a loss that is "
                "Lipschitz everywhere, without a ridge, has a bounded gradient: take "
                'threshold="smooth"'
            )
        if self._threshold.scale is None and not (np.isfinite(problem.M) and self.target.psi > 0):
            raise ValueError(
                "scale must be given for a loss with kinks and for ψ = 0: the default is √(ψ/(Mp))"
            )

    @property
    def scale(self) -> float:
        """λ: the threshold's own, or √(ψ/(Mp))."""
        if self._threshold.scale is not None:
            return self._threshold.scale
        return float(np.sqrt(self.target.psi / (self.target.problem.M * self.p)))

    @property
    def largest_step(self) -> float:
        """2λ/(β·√(2/π)·L): a gradient of norm L or less, averaged, has slope E|ξ|·L/λ or less."""
        return 2 * self.scale / (self.beta * _MEAN_DEVIATION * self._lipschitz)

    def sensitivity(self, n_steps: int) -> float:
        """L on all of ℝᵖ, or 2L/n at ψ = 0."""
        problem = self.target.problem
        if self.target.psi == 0:
            return 2 * self._lipschitz / problem.n
        within = gradient_sensitivity(problem.constants, self.target.psi, width=0.0)
        return max(within, self._lipschitz)

    def contraction(self, step_size: float) -> float:
        """Refuse: a Monte Carlo gradient jumps."""
        raise ValueError(
            "the Gaussian threshold's Monte Carlo gradient jumps, so that steps do not contract: "
            'take threshold="smooth" or shown="path"'
        )

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the gradient at points drawn from ``rng``."""
        count, scale = self._threshold.n_samples, self.scale

        def gradient(theta: FloatArray) -> FloatArray:
            p, chains = theta.shape
            xp, noise = self.arrays.xp, rng.standard_normal((p, count, chains))
            points = theta[:, None, :] + self.arrays.put(scale * noise)
            value, gradients = self.target.problem.value_and_gradient(
                xp.reshape(points, (p, count * chains))
            )
            kept = xp.where(value > self._edge, gradients, xp.zeros_like(gradients))
            mean: FloatArray = xp.mean(xp.reshape(kept, (p, count, chains)), axis=1)
            return self.beta * mean

        return gradient

    @cached_property
    def _edge(self) -> float:
        # At ψ = 0 nothing is thresholded, and the minimum must not be looked at.
        psi = self.target.psi
        return self.target.problem.minimum.value + psi if psi > 0 else -np.inf

    @property
    def _threshold(self) -> GaussianThreshold:
        assert isinstance(self.target.shape, GaussianThreshold)
        return self.target.shape

    @property
    def _lipschitz(self) -> float:
        problem = self.target.problem
        return problem.loss.lipschitz(np.inf, problem.row_bound)
