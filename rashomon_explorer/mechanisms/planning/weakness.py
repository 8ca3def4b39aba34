"""What plans guarantee, and reasons why that is weak, from public numbers."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from rashomon_explorer._utils.formatting import Fact, ReprMixin, hit_rate_text, rounded_up
from rashomon_explorer.privacy.guarantee import Guarantee, epsilon_delta_text

WEAK_HIT_RATE = 0.2
"""Guaranteed hit rate below which a plan, a fit, a release and a report warn."""


WEAK_GAIN = 0.5
"""Expected share of the possible gain below which one linear model warns."""

GAINS = {("accuracy", "AUC"): "gain in accuracy and AUC", ("R²",): "gain in R²"}
"""Names of the gains over a constant model: of accuracy and AUC, their sum."""


class ExpectedGain(NamedTuple):
    """Share of the gain over a constant model that one private model keeps on simulated tables."""

    share: float  # median over the tables
    low: float  # quantiles of .1 and .9
    high: float
    tables: str
    least: float = WEAK_GAIN  # share below which a plan warns
    gain: str = "gain"
    scores: tuple[tuple[str, float, float, float], ...] = ()  # name, and the same quantiles

    @property
    def is_weak(self) -> bool:
        """Whether the median share is below ``least``."""
        return self.share < self.least

    @property
    def percent(self) -> int:
        """Median share in percent, between 0 and 100, to the nearest 5."""
        return _percent(self.share)

    @property
    def span(self) -> str:
        """Shares in percent that eight in ten tables lie between."""
        low, high = (_percent(share) for share in (self.low, self.high))
        return f"{low or 'none'} to {high} %" if high else "none"

    def __str__(self) -> str:
        scores = ", ".join(
            f"{name} {middle:.2f} ({low:.2f} to {high:.2f})"
            for name, middle, low, high in self.scores
        )
        return (
            f"{scores}{'; ' if scores else ''}{self.span} of the possible {self.gain}, by how "
            f"informative the columns are; {self.tables}; no guarantee"
        )


def _percent(share: float) -> int:
    return 5 * round(20 * min(1.0, max(0.0, share)))


@dataclass(frozen=True, repr=False, kw_only=True)
class BasePlan(ReprMixin):
    """Budget and guarantees that plans of linear models and of trees state."""

    n: int
    psi: float
    epsilon: float
    delta: float
    n_draws: int
    eta: float
    beta: float
    hit_rate_bound: float
    excess_bound: float
    guarantee: Guarantee
    ledger: bool | str = False
    expected: ExpectedGain | None = field(default=None, compare=False)

    @property
    def by_excess(self) -> bool:
        """Whether only an excess bound is guaranteed, and no hit rate."""
        return False

    @property
    def centre_excess(self) -> float | None:
        """Excess bound of the model around which all draws lie; None if there is none."""
        return None

    @property
    def weighed_excess(self) -> float:
        """Bound on the expected excess by which a plan is compared with others."""
        return self.excess_bound if self.centre_excess is None else self.centre_excess

    @property
    def zero_loss(self) -> float | None:
        """Bound on the loss of a model of zeros, if known."""
        raise NotImplementedError

    @property
    def why(self) -> str:
        """Reason why this plan was selected; empty if it was the only one."""
        raise NotImplementedError

    @property
    def privacy_sentence(self) -> str:
        """What the guarantee means for one person, for readers who know no ε."""
        return privacy_sentence(
            self.guarantee,
            "One model is" if self.n_draws == 1 else f"{self.n_draws:,} models are together",
            self.epsilon,
            self.delta,
        )

    def _facts(self) -> list[Fact]:
        """List what to expect, what is guaranteed, the cost and the time; then the mechanism."""
        weak = weak_guarantee_reason(self)
        if weak and self.expected is not None:
            weak = f"less than {self.expected.least:.0%} of the possible gain is expected"
        return [
            *([] if self.expected is None else [("expected", str(self.expected))]),
            *self._guaranteed(),
            ("privacy cost", self._cost()),
            ("privacy", self.privacy_sentence),
            ("time", self._time()),
            *([("chosen", self.why)] if self.why else []),
            *self._technical(),
            *([("warning", weak)] if weak else []),
        ]

    def _guaranteed(self) -> list[Fact]:
        """List the guarantees for the loss; one model without a hit rate has no such line."""
        facts = []
        if has_hit_rate(self):
            share = f"≥ {hit_rate_text(self.hit_rate_bound)} within ψ = {self.psi:g}"
            facts.append(("hit rate", share))
        elif self.n_draws > 1:
            facts.append(("hit rate", "none can be guaranteed"))
        if math.isfinite(self.excess_bound):
            facts.append(("excess loss", f"≤ {rounded_up(self.excess_bound)} on average"))
        return facts

    def _cost(self) -> str:
        return epsilon_delta_text(self.epsilon, self.delta)

    def _time(self) -> str:
        raise NotImplementedError

    def _technical(self) -> list[Fact]:
        """List the mechanism's own numbers."""
        raise NotImplementedError


def privacy_sentence(guarantee: Guarantee, what: str, epsilon: float, delta: float) -> str:
    """Say how often anybody can guess one person's row from what is published.

    Of two equally likely rows, a guess from an (ε, δ)-DP output is right with probability at most
    (e^ε + δ)/(1 + e^ε), and at most (1 + δ(0))/2 for the privacy profile δ(·) (Wasserman and Zhou
    2010; Kairouz, Oh and Viswanath 2015).
    """
    if not guarantee.holds:
        return f"{what} not private: only a curator may see what is drawn."
    inverse = math.exp(-epsilon)
    right = min((1 + delta * inverse) / (1 + inverse), (1 + guarantee.delta(0.0)) / 2)
    shown = math.ceil(1000 * right - 1e-9) / 10
    return (
        f"{what} published with differential privacy, {epsilon_delta_text(epsilon, delta)}: "
        f"somebody who knows all other rows, and that a person's row is one of two, guesses which "
        f"one right in at most {shown:g} % of cases (50 % without the publication)."
    )


def weak_guarantee_reason(planned: BasePlan) -> str:
    """Reason why little is expected or guaranteed of a plan; empty if there is none."""
    if planned.expected is not None:
        if not planned.expected.is_weak:
            return ""
        return f"the model is expected to reach {planned.expected}"
    if not has_hit_rate(planned):
        return _no_better_than_nothing(planned) or _beyond_psi(planned)
    if planned.hit_rate_bound >= WEAK_HIT_RATE:
        return ""
    return (
        f"at least {hit_rate_text(planned.hit_rate_bound)} of the draws are within "
        f"ψ = {planned.psi:g} of the least loss, and no more is guaranteed: they may lie far "
        "outside the Rashomon set"
    )


def has_hit_rate(planned: BasePlan) -> bool:
    """Whether a hit rate is guaranteed; around a centre, only if it is proved."""
    unproved = planned.centre_excess is not None and not planned.hit_rate_bound
    return planned.psi > 0 and not planned.by_excess and not unproved


def _beyond_psi(planned: BasePlan) -> str:
    excess, psi = planned.weighed_excess, planned.psi
    if excess <= psi or psi == 0 or not math.isfinite(excess):
        return ""
    centre = planned.centre_excess is not None
    clipped = "" if centre or math.isfinite(planned.excess_bound) else " with clipped slopes"
    of, outside = ("the centre of all draws", "they") if centre else ("a draw", "draws")
    return (
        f"the loss of {of}{clipped} exceeds the least by up to {rounded_up(excess)} on average, "
        f"more than ψ = {psi:g}: {outside} may lie far outside the Rashomon set"
    )


def _no_better_than_nothing(planned: BasePlan) -> str:
    if planned.centre_excess is not None:
        return ""
    nothing, excess = planned.zero_loss, planned.weighed_excess
    unknown = not math.isfinite(planned.beta) and not planned.by_excess
    if nothing is None or unknown or excess < nothing:
        return ""
    of = "" if math.isfinite(planned.excess_bound) else " with clipped slopes"
    return (
        f"the loss of a draw{of} exceeds the least by up to {rounded_up(excess)} on average, and a "
        f"model of zeros has at most {rounded_up(nothing)}: the draws may be no better than it"
    )
