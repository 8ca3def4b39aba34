"""The hard threshold averaged over Gaussian steps, which only a chain can use."""

from dataclasses import dataclass
from typing import NoReturn

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.validation import check_count, check_positive


@dataclass(frozen=True)
class GaussianThreshold:
    """E[max{L(θ + λξ), min L + ψ}] for a standard normal ξ, its gradient by Monte Carlo.

    The smoothing of Theorem 3.2 and Lemma D.7 of Ganesh, Thakurta and Upadhyay (2023): within
    ψ + Mpλ²/2 of the thresholded loss (own constant; the printed minimum is a maximum), so that
    λ = √(ψ/(Mp)) moves it by 3ψ/2 at most. It looks at the loss outside the domain and therefore
    needs one that is Lipschitz everywhere, without a ridge. :class:`SmoothThreshold` is exactly
    uniform on the Rashomon set, needs no Monte Carlo and has a smaller sensitivity: this one is
    here because the paper has it.

    Parameters
    ----------
    scale : float, optional
        λ; by default √(ψ/(Mp)).
    n_samples : int, default=16
        Points at which a step looks for each of its chains.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Examples
    --------
    >>> GaussianThreshold(scale=0.05)
    GaussianThreshold(scale=0.05, n_samples=16, name='gaussian')
    """

    scale: float | None = None
    n_samples: int = 16
    name: str = "gaussian"

    def __post_init__(self) -> None:
        """Refuse a scale that smooths nothing, or a mean of nothing."""
        if self.scale is not None:
            check_positive(scale=self.scale)
        check_count(n_samples=self.n_samples)

    def energy(self, beyond: FloatArray) -> NoReturn:
        """Refuse: it is no function of the loss at one model."""
        raise SamplerError(_ONLY_CHAINS)

    def slope(self, beyond: FloatArray) -> NoReturn:
        """Refuse: it is no function of the loss at one model."""
        raise SamplerError(_ONLY_CHAINS)


_ONLY_CHAINS = (
    "the Gaussian threshold has no closed form: draw from it with a LangevinSampler, or take "
    'threshold="smooth"'
)
