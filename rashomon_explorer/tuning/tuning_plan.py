"""What a budget buys of the choice of a penalty, before a row is read."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.planning import Plan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.label import price_of
from rashomon_explorer.rounding import hit_rate_text, rounded_up
from rashomon_explorer.shown import Fact, Shown
from rashomon_explorer.tuning.pairwise import pair_sensitivity
from rashomon_explorer.tuning.penalty_constants import PenaltyConstants

MECHANISMS = ("exponential", "generalised")
"""Ways to draw from the grid, both exact and pure."""

_MAY_BE = {"exponential": "nearly uniform", "generalised": "no better than a blind pick"}
SURE = 0.9
"""Share of draws for which an excess is promised in words."""
_NEAR = 0.1


@dataclass(frozen=True, repr=False)
class TuningPlan(Shown):
    """A draw of penalties on a public grid, and what is promised of it.

    Parameters
    ----------
    constants : PenaltyConstants
        Of the two sides of the split.
    d : int
        Penalties that are chosen.
    spacing : float
        Distance of neighbouring points of the grid, in log penalties.
    epsilon, delta : float
        Total price, a refit included.
    n_draws : int
    psi : float
        Penalties within ψ of the least validation loss are equally likely.
    eta : float
        Bounded range β·s of one draw.
    guarantee : Guarantee
        Of everything that is released.
    refit : Plan, optional
        Of the model that is fitted with the chosen penalties.
    mechanism : {"exponential", "generalised"}, default="exponential"
    why : str, default=""
        Why this mechanism was taken, where it was not named.
    """

    constants: PenaltyConstants
    d: int
    spacing: float
    epsilon: float
    delta: float
    n_draws: int
    psi: float
    eta: float
    guarantee: Guarantee
    refit: Plan | None = None
    mechanism: str = "exponential"
    why: str = ""

    @property
    def n(self) -> int:
        """Number of rows of both sides."""
        return self.constants.n_train + self.constants.n_val

    @property
    def beta(self) -> float:
        """Inverse temperature k = η/s, s with what inner errors cost.

        A generalised score is at least (excess − ψ)/s and weighs η/2: what is promised of it is
        what holds at half the temperature.
        """
        exponential = self.mechanism == "exponential"
        return self.eta / self.constants.priced_range / (1 if exponential else 2)

    @property
    def n_points(self) -> int:
        """Number N of points of the grid."""
        return points_of(self.constants, self.d, self.spacing)

    @property
    def loss_range(self) -> float:
        """Largest range of the validation loss over the penalties, for any rows."""
        known = self.constants
        path = math.log(known.high / known.low) * math.sqrt(self.d)
        return min(known.loss_range, known.slope * path)

    def excess_within(self, probability: float) -> float:
        """Excess over the grid's least validation loss that a draw keeps with this probability.

        Each of at most N − 1 other points weighs at most exp(−βu) at ψ + u, and the best weighs 1,
        for any function: P(excess ≥ ψ + u) ≤ (N − 1)·exp(−βu).

        Parameters
        ----------
        probability : float
            In (0, 1).
        """
        beyond = max(math.log((self.n_points - 1) / (1 - probability)), 0.0) / self.beta
        return min(self.psi + beyond, self.loss_range)

    @property
    def excess_bound(self) -> float:
        """Expected excess over the grid's least validation loss: the tail above, integrated."""
        return min(self.psi + (math.log(self.n_points - 1) + 1) / self.beta, self.loss_range)

    @property
    def from_uniform(self) -> float:
        """Total variation distance from a uniform pick, at most: tanh(β·range/4).

        Of a generalised score the largest is at most the range over the least Δ.
        """
        reach = max(self.loss_range - self.psi, 0.0)
        if self.mechanism == "exponential":
            return math.tanh(self.beta * reach / 4)
        return math.tanh(self.eta / 2 * reach / _least_pair(self.constants) / 4)

    @property
    def weakness(self) -> str:
        """Why the draw promises next to nothing; empty where it promises something."""
        if self.from_uniform <= _NEAR:
            return (
                "the draw is nearly uniform: whatever the rows are, it differs from a blind pick "
                f"by at most {rounded_up(self.from_uniform)} in total variation"
            )
        if self.excess_within(SURE) < self.constants.zero_loss:
            return ""
        return (
            f"the validation loss of a draw may exceed the least by {rounded_up(self._sure)}, and "
            f"that of a model of zeros is at most {rounded_up(self.constants.zero_loss)}: the draw "
            "may be "
            f"{_MAY_BE[self.mechanism]}"
        )

    @property
    def wish(self) -> str:
        """What would promise half of a model of zeros' loss; empty where ψ alone is beyond it."""
        goal = self.constants.zero_loss / 2 - self.psi
        if goal <= 0:
            return ""
        needed = math.log((self.n_points - 1) / (1 - SURE)) / goal
        times = needed / self.beta
        return (
            f"About {rounded_up(times)} times the rows would do, as many times the ε, or a higher "
            f"lowest penalty than {self.constants.low:g}"
        )

    @property
    def _sure(self) -> float:
        return self.excess_within(SURE)

    def _title(self) -> str:
        many = f"{self.n_draws:,} draw{'' if self.n_draws == 1 else 's'}"
        return f"TuningPlan: {many} of {self.d} penalties on {self.n:,} rows"

    def _facts(self) -> list[Fact]:
        known = self.constants
        dearer = "training" if known.training_range > known.validation_range else "validation"
        facts = [
            ("grid", f"{self.n_points:,} points, λ from {known.low:g} to {known.high:g}"),
            ("excess", f"≤ {rounded_up(self.excess_bound)} on average, over the grid's best"),
            ("surely", f"≤ {rounded_up(self._sure)} in {hit_rate_text(SURE)} of draws"),
            ("price", price_of(self.epsilon, self.delta)),
            ("law", f"{self.mechanism}, β = {self.beta:,.3g}; s = {known.range:.3g}, by {dearer}"),
            ("sides", f"{known.n_train:,} rows are fitted, {known.n_val:,} validate"),
        ]
        if self.why:
            facts.append(("chosen", self.why))
        if self.refit is not None:
            bound = self.refit.excess_bound
            promise = f"excess ≤ {rounded_up(bound)}" if math.isfinite(bound) else "no promise"
            facts.append(("refit", f"{promise}, by {self.refit.sampler}"))
        return facts + [("but", f"{self.weakness}. {self.wish}")] * bool(self.weakness)


def points_of(constants: PenaltyConstants, d: int, spacing: float) -> int:
    """Points of the grid of multiples of ``spacing`` in the cube of log penalties.

    >>> points_of(PenaltyConstants("ridge", 1.0, 0.1, 10.0, 10, 10), 2, 1.0)
    25
    """
    half = math.log(constants.high / constants.low) / 2
    return int((2 * math.floor(half / spacing * (1 + 1e-12)) + 1) ** d)


def _least_pair(known: PenaltyConstants) -> float:
    return float(pair_sensitivity(known, np.array([known.high]))[0, 0])
