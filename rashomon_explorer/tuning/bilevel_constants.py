"""The constants of any bilevel problem, as Lowy and Liu name them, repaired where they fail."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rashomon_explorer.shown import Fact, Shown
from rashomon_explorer.validation import check_nonnegative_or_infinite, check_positive

FORMULAS: Mapping[str, str] = {
    "stability": "2·Lgy/μ: n·‖y*_Z − y*_Z'‖ is at most this",
    "slope": "L̄ = Lfx + βg,xy·Lfy/μ: ‖∇Φ‖ is at most this",
    "spread": "Ψ = Lfx·Dx + Lfy·Dy + Lfy·Lgy/μ: the scale of the exponential mechanism",
    "inexactness": "C = βf,xy + βf,yy·βg,xy/μ + Lfy·(Cg,xy/μ + Cg,yy·βg,xy/μ²): "
    "‖∇Φ(x) − ∇̄F(x, y)‖ ≤ C·‖y − y*‖ (equation 11)",
    "gradient_sensitivity": "K = 2·[βf,xy·Lgy/μ + 2·L̄ + βg,xy·βf,yy·Lgy/μ² + Lfy·Cg,xy·Lgy/μ² + "
    "Lfy·βg,xy·Lgy·Cg,yy/μ³ + Lfy·βg,yy·βg,xy/μ²]: n·‖∇Φ_Z − ∇Φ_Z'‖ is at most this (equation 12, "
    "which prints 2K)",
    "smoothness": "βΦ = βf,xx + 2·βf,xy·βg,xy/μ + βg,xy²·βf,yy/μ² + (Lfy·βg,xy/μ²)·(Mg,yy + "
    "Cg,yy·βg,xy/μ) + Lfy·Cg,xy·βg,xy/μ² + Lfy·Mg,xy/μ: Lipschitz constant of ∇Φ (equation 28)",
    "range": "s = 2·(Lfx·Dx + Lfy·D) + 4·Lfy·Lgy/μ, D = min(Dy, βg,xy·Dx/μ): n·(max − min) of "
    "Φ_Z − Φ_Z' is at most this",
}
"""What each number is, by the name of its property."""


@dataclass(frozen=True, repr=False)
class BilevelConstants(Shown):
    """Constants of Φ(x) = F(x, y*(x)) from bounds of one record's f and g.

    Neighbours replace one record, which enters F and G both; every property is for n records
    times 1/n where it is a sensitivity. All are data-free; what is not given is 0.

    Parameters
    ----------
    mu : float
        Strong convexity μ of g in y.
    f_x, f_y, g_y : float
        Lfx, Lfy, Lgy: Lipschitz constants of f in x and y, and of what of g depends on the record.
    f_xx, f_xy, f_yy, g_xy, g_yy : float
        βf,xx, …: bounds of the blocks of Hessians.
    g_xy_x, g_yy_x, g_xy_y, g_yy_y : float
        Mg,xy, Mg,yy, Cg,xy, Cg,yy: Lipschitz constants of blocks of g in x (M) and y (C).
    diameter_x, diameter_y : float
        Dx and Dy, of the domain of x and of a set that holds every y*.

    Examples
    --------
    >>> scalar = BilevelConstants(mu=1.0, f_x=1.0, f_y=1.0, g_y=100.0, g_xy=1.0, g_yy=100.0)
    >>> scalar.slope, scalar.stability, scalar.gradient_sensitivity
    (2.0, 200.0, 208.0)
    """

    mu: float
    f_x: float = 0.0
    f_y: float = 0.0
    g_y: float = 0.0
    f_xx: float = 0.0
    f_xy: float = 0.0
    f_yy: float = 0.0
    g_xy: float = 0.0
    g_yy: float = 0.0
    g_xy_x: float = 0.0
    g_yy_x: float = 0.0
    g_xy_y: float = 0.0
    g_yy_y: float = 0.0
    diameter_x: float = math.inf
    diameter_y: float = math.inf

    def __post_init__(self) -> None:
        """Refuse numbers that bound nothing."""
        check_positive(mu=self.mu)
        check_nonnegative_or_infinite(**{k: v for k, v in vars(self).items() if k != "mu"})

    @property
    def stability(self) -> float:
        """Lemma 3.1 of Lowy and Liu: both gradients at y*_Z differ by 2·Lgy/n."""
        return 2 * self.g_y / self.mu

    @property
    def slope(self) -> float:
        """L̄, by the chain rule with ‖∇y*‖ ≤ βg,xy/μ."""
        return self.f_x + self.g_xy * self.f_y / self.mu

    @property
    def spread(self) -> float:
        """Ψ, which only names rates: the price rests on :attr:`range`."""
        far = self.f_x * self.diameter_x + self.f_y * self.diameter_y
        return far + self.f_y * self.g_y / self.mu

    @property
    def inexactness(self) -> float:
        """C: what an inner error does to a hypergradient."""
        through_y = self.f_yy * self.g_xy / self.mu
        through_blocks = self.g_xy_y / self.mu + self.g_yy_y * self.g_xy / self.mu**2
        return self.f_xy + through_y + self.f_y * through_blocks

    @property
    def gradient_sensitivity(self) -> float:
        """K: how far n times a record moves ∇Φ. What is printed as 2K sums to this K."""
        mu = self.mu
        return 2 * (
            self.f_xy * self.g_y / mu
            + 2 * self.slope
            + self.g_xy * self.f_yy * self.g_y / mu**2
            + self.f_y * self.g_xy_y * self.g_y / mu**2
            + self.f_y * self.g_xy * self.g_y * self.g_yy_y / mu**3
            + self.f_y * self.g_yy * self.g_xy / mu**2
        )

    @property
    def smoothness(self) -> float:
        """βΦ."""
        ratio = self.g_xy / self.mu
        blocks = self.g_yy_x + self.g_yy_y * ratio
        return (
            self.f_xx
            + 2 * self.f_xy * ratio
            + ratio**2 * self.f_yy
            + self.f_y * ratio / self.mu * blocks
            + self.f_y * self.g_xy_y * ratio / self.mu
            + self.f_y * self.g_xy_x / self.mu
        )

    @property
    def range(self) -> float:
        """s: k = ε·n/s is the temperature of an ε-DP exponential mechanism.

        The printed s omits 1/n on its last term, and k = ε/2s is spent twice: h = Φ_Z − Φ_Z' has
        range s/n for whatever anchor, and that is what counts.
        """
        far = min(self.diameter_y, self.g_xy * self.diameter_x / self.mu)
        direct = self.f_x * self.diameter_x if self.f_x else 0.0
        return 2 * (direct + self.f_y * far) + 2 * self.f_y * self.stability

    def _title(self) -> str:
        return f"Bilevel constants: μ = {self.mu:g}"

    def _facts(self) -> list[Fact]:
        return [(name, f"{getattr(self, name):.4g}, {said}") for name, said in FORMULAS.items()]
