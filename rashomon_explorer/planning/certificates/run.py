"""The public description of a run of noisy gradient chains."""

import math
from dataclasses import dataclass

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Domain
from rashomon_explorer.planning.localisation import data_slope
from rashomon_explorer.planning.sensitivity import gradient_sensitivity
from rashomon_explorer.threshold import (
    GaussianThreshold,
    HardThreshold,
    SmoothThreshold,
    Threshold,
    get_threshold,
)
from rashomon_explorer.validation import check_count, check_nonnegative, check_positive


@dataclass(frozen=True)
class PathRun:
    """Chains θ ← Π(θ − hβg(θ) + √(2h) ξ) of full gradients, by their public numbers.

    Parameters
    ----------
    constants : Constants
    domain : Domain
        The one that the constants are of.
    psi : float
        Rashomon threshold ψ ≥ 0.
    beta : float
        Inverse temperature β > 0.
    step_size : float
        h.
    n_steps : int
        N, settled beforehand.
    threshold : Threshold
    n_chains : int, default=1
    interior : bool, default=False
        Whether for every data set the minimiser over ℝᵖ is inside the domain.

    Raises
    ------
    ValueError
        If a number is out of range, or the constants are not those of the domain.
    """

    constants: Constants
    domain: Domain
    psi: float
    beta: float
    step_size: float
    n_steps: int
    threshold: Threshold
    n_chains: int = 1
    interior: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers for which no theorem is stated."""
        check_nonnegative(psi=self.psi)
        check_positive(beta=self.beta, step_size=self.step_size)
        check_count(n_steps=self.n_steps, n_chains=self.n_chains)
        data_slope(self.constants, self.domain)
        object.__setattr__(self, "threshold", get_threshold(self.threshold, self.psi))

    @property
    def hard(self) -> bool:
        """Whether the gradient jumps at the edge."""
        return isinstance(self.threshold, HardThreshold)

    @property
    def gaussian(self) -> bool:
        """Whether the gradient is a mean over random points."""
        return isinstance(self.threshold, GaussianThreshold)

    @property
    def width(self) -> float:
        """Width s of the smooth threshold, or 0."""
        return self.threshold.width if isinstance(self.threshold, SmoothThreshold) else 0.0

    @property
    def bare(self) -> bool:
        """Whether nothing is thresholded."""
        return not (self.hard or self.gaussian or self.width)

    @property
    def sensitivity(self) -> float:
        """Δ of the gradient that runs.

        Random points are noise that no record influences; given them each point's gradient moves
        by the hard threshold's Δ, and they leave the domain, so that ``interior`` does not help.
        """
        psi = 0.0 if self.bare else self.psi
        inside = self.interior and not self.gaussian
        return gradient_sensitivity(
            self.constants,
            psi,
            width=self.width,
            interior=inside,
            data_slope=data_slope(self.constants, self.domain),
        )

    @property
    def bend(self) -> float:
        """Smoothness M + L²/s of the energy; infinite where the gradient jumps."""
        if self.hard or self.gaussian:
            return math.inf
        return self.constants.M + (self.constants.L**2 / self.width if self.width else 0.0)

    @property
    def time(self) -> float:
        """T = Nh."""
        return self.n_steps * self.step_size

    def in_words(self) -> str:
        """Say which run it is."""
        shape = "no" if self.bare else f"the {self.threshold.name}"
        return (
            f"{self.n_steps} steps of {self.step_size:.3g} at β = {self.beta:.4g} with {shape} "
            f"threshold, {self.n_chains} chains"
        )
