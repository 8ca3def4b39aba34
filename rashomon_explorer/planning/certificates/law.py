"""The public description of a thresholded Gibbs law."""

from dataclasses import dataclass

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Domain
from rashomon_explorer.planning.localisation import data_lipschitz, data_slope
from rashomon_explorer.planning.sensitivity import gradient_sensitivity
from rashomon_explorer.validation import check_nonnegative, check_positive


@dataclass(frozen=True)
class GibbsLaw:
    """Law ∝ exp(−β·φ(L − L̂ − ψ)) on a convex domain, by its public numbers.

    φ is the hard threshold max(v, 0) or the smooth one of width s, L convex, and L̂ a minimum
    known to within τ = ``constants.gap_tolerance`` from above.

    Parameters
    ----------
    constants : Constants
    domain : Domain
        The one that the constants are of.
    psi : float
        Rashomon threshold ψ ≥ 0.
    beta : float
        Inverse temperature β > 0.
    width : float, default=0.0
        Width s of the smooth threshold, 0 for the hard one.
    interior : bool, default=False
        Whether for every data set the minimiser over ℝᵖ is inside the domain.

    Raises
    ------
    ValueError
        If a number is out of range, or the constants are not the domain's.

    Examples
    --------
    >>> from rashomon_explorer.domains import Ball
    >>> ball = Ball(1.0)
    >>> constants = Constants.of("logistic", n=500, p=2, domain=ball, row_bound=1.0, ridge=0.1)
    >>> round(GibbsLaw(constants, ball, psi=0.1, beta=100.0).slope, 6)
    0.002924
    """

    constants: Constants
    domain: Domain
    psi: float
    beta: float
    width: float = 0.0
    interior: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers for which no theorem is stated."""
        check_nonnegative(psi=self.psi, width=self.width)
        check_positive(beta=self.beta)
        data_lipschitz(self.constants, self.domain)

    @property
    def slope(self) -> float:
        """Δ = 2L₀/n, Lipschitz constant of L_D − L_D'; the ridge cancels and is not in L₀."""
        return data_slope(self.constants, self.domain)

    @property
    def energy_slope(self) -> float:
        """Δ_ψ, Lipschitz constant of the difference of the thresholded losses."""
        return gradient_sensitivity(
            self.constants,
            self.psi,
            width=self.width,
            interior=self.interior,
            data_slope=self.slope,
        )

    @property
    def tolerance(self) -> float:
        """τ."""
        return self.constants.gap_tolerance

    @property
    def lowered(self) -> float:
        """ψ + τ + s/2: φ(L − L̂ − ψ) differs from L by a range of at most this."""
        return self.psi + self.tolerance + self.width / 2

    def in_words(self) -> str:
        """Say which law it is."""
        shape = f", width s = {self.width:.3g}" if self.width else ""
        return f"β = {self.beta:.4g}, ψ = {self.psi:.3g}{shape}, n = {self.constants.n}"
