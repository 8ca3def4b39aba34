"""What a budget buys of a penalty at which the validation loss is nearly level."""

import math
from dataclasses import dataclass, replace

from rashomon_explorer.planning import Plan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.label import price_of
from rashomon_explorer.rounding import rounded_up
from rashomon_explorer.shown import Fact, Shown
from rashomon_explorer.tuning.penalty_constants import PenaltyConstants
from rashomon_explorer.tuning.tuning_plan import points_of

STATIONARY = ("hypergradient", "warm_hypergradient", "gradient_norm")
"""Mechanisms that promise a small gradient of the validation loss instead of a small excess."""


def walk_bound(
    *, smoothness: float, drop: float, n_steps: int, noise: float, bias: float, slope: float
) -> float:
    """Bound of E‖G‖, G the gradient mapping at a uniform state of noisy projected steps 1/β.

    E‖G‖² ≤ 4βΔ₀/T + 6E‖e‖² + 4·bias·L̄ for gradient errors e of that bias: with x⁺ the next state
    and G̃ = β(x − x⁺), ⟨∇Φ + e, G̃⟩ ≥ ‖G̃‖² and smoothness give Φ(x⁺) ≤ Φ(x) − ‖G̃‖²/(2β) + ⟨e, G̃⟩/β,
    while ‖G̃ − G‖ ≤ ‖e‖. Unlike Lemma C.1 of Lowy and Liu it holds on a box.

    Parameters
    ----------
    smoothness : float
        β.
    drop : float
        Δ₀, a bound of Φ at the start over its minimum.
    n_steps : int
        T.
    noise : float
        Bound of E‖e‖².
    bias : float
        Bound of ‖E e‖.
    slope : float
        L̄, a bound of ‖∇Φ‖, which no gradient mapping exceeds either.

    Returns
    -------
    float
        At most L̄.

    Examples
    --------
    >>> walk_bound(smoothness=1.0, drop=1.0, n_steps=400, noise=0.0, bias=0.0, slope=9.0)
    0.1
    """
    square = 4 * smoothness * drop / n_steps + 6 * noise + 4 * bias * slope
    return min(math.sqrt(square), slope)


@dataclass(frozen=True, repr=False)
class StationaryPlan(Shown):
    """Penalties at which the validation loss is nearly level: walked to, or drawn from a grid.

    Parameters
    ----------
    constants : PenaltyConstants
        Of the two sides, without a clip: validation scores that are clipped have no gradient.
    d : int
        Penalties that are chosen.
    mechanism : {"hypergradient", "warm_hypergradient", "gradient_norm"}
    epsilon, delta : float
        Total price, a refit included.
    n_draws : int
    guarantee : Guarantee
        Of everything that is released.
    spacing : float
        Distance of the points of the grid that is drawn from, or started from, in log penalties.
    eta : float, default=0.0
        Bounded range of one draw from that grid.
    mu : float, default=0.0
        Gaussian DP of one step of a walk.
    n_steps : int, default=0
        Steps of one walk.
    refit : Plan, optional
    why : str, default=""
    """

    constants: PenaltyConstants
    d: int
    mechanism: str
    epsilon: float
    delta: float
    n_draws: int
    guarantee: Guarantee
    spacing: float
    eta: float = 0.0
    mu: float = 0.0
    n_steps: int = 0
    refit: Plan | None = None
    why: str = ""

    @property
    def n(self) -> int:
        """Number of rows of both sides."""
        return self.constants.n_train + self.constants.n_val

    @property
    def psi(self) -> float:
        """A walk has no threshold."""
        return 0.0

    @property
    def beta(self) -> float:
        """Inverse temperature of the draw from the grid; 0 where there is none."""
        moved = 2 * self.constants.priced_slope
        return self.eta / (moved if self.on_grid else self.constants.priced_range)

    @property
    def on_grid(self) -> bool:
        """Whether the penalties are drawn from a grid, not walked to."""
        return self.mechanism == "gradient_norm"

    @property
    def n_points(self) -> int:
        """Points of the grid: of all penalties, or of one that is shared where a walk starts."""
        few = self.d if self.on_grid or self.d <= 3 else 1
        return points_of(self.constants, few, self.spacing) if self.eta else 1

    @property
    def noise(self) -> float:
        """Largest noise a coordinate of one step; it is less wherever penalties are higher."""
        return self.constants.priced_slope / self.mu if self.mu else 0.0

    @property
    def start_excess(self) -> float:
        """Expected excess of a private start over the least loss of its grid, at most."""
        started = (math.log(self.n_points - 1) + 1) / self.beta
        return min(started, self.constants.loss_range)

    @property
    def drop(self) -> float:
        """Δ₀: how far a walk's start is above the least validation loss, at most."""
        known = self.constants
        width = math.log(known.high / known.low)
        if self.mechanism == "warm_hypergradient" and self.d <= 3:
            between = known.slope * self.spacing / 2 * math.sqrt(self.d)
            return min(self.start_excess + between, known.loss_range)
        middle = replace(known, low=math.sqrt(known.low * known.high))
        return min(middle.most_loss, known.slope * width / 2 * math.sqrt(self.d))

    @property
    def gradient_bound(self) -> float:
        """Expected size of the gradient mapping at the chosen penalties, at most.

        On a grid it is what the size exceeds the grid's least by.
        """
        known = self.constants
        if self.on_grid:
            return min((math.log(self.n_points - 1) + 1) / self.beta, known.slope)
        bias = known.inexactness * known.gradient_tolerance
        return walk_bound(
            smoothness=known.smoothness,
            drop=self.drop,
            n_steps=self.n_steps,
            noise=self.d * self.noise**2 + bias**2,
            bias=bias,
            slope=known.slope,
        )

    @property
    def weakness(self) -> str:
        """Why this promises next to nothing; empty where it promises something."""
        if self.gradient_bound < self.constants.slope:
            return ""
        return (
            f"the gradient of the validation loss at the chosen penalties is promised to be at "
            f"most {rounded_up(self.constants.slope)}, which it is anywhere: a public penalty "
            "promises as much"
        )

    @property
    def wish(self) -> str:
        """What would promise something."""
        return (
            "More rows would do, a larger ε, or a higher lowest penalty than "
            f"{self.constants.low:g}: a gradient tells of a record by the third power of 1/λ"
        )

    def _title(self) -> str:
        many = f"{self.n_draws:,} draw{'' if self.n_draws == 1 else 's'}"
        return f"StationaryPlan: {many} of {self.d} penalties on {self.n:,} rows"

    def _facts(self) -> list[Fact]:
        known, over = self.constants, ", over the grid's least" if self.on_grid else ""
        far = f"≤ {rounded_up(self.gradient_bound)} on average{over}, ≤ "
        facts = [
            ("gradient", f"{far}{rounded_up(known.slope)} anywhere"),
            ("excess", "no promise: a level place need not be the lowest"),
            ("price", price_of(self.epsilon, self.delta)),
            ("sides", f"{known.n_train:,} rows are fitted, {known.n_val:,} validate"),
        ]
        if self.n_steps:
            facts.append(("walk", f"{self.n_steps:,} steps, noise ≤ {self.noise:.3g} each"))
        if self.n_steps and self.eta:
            facts.append(
                ("start", f"excess ≤ {rounded_up(self.start_excess)} over its grid's best")
            )
        if self.eta:
            facts.append(("grid", f"{self.n_points:,} points, η = {self.eta:.3g}"))
        if self.why:
            facts.append(("chosen", self.why))
        return facts + [("but", f"{self.weakness}. {self.wish}")] * bool(self.weakness)
