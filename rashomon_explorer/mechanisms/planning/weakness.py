"""Reasons why a plan has a weak guarantee, from public numbers."""

import math
from typing import Protocol

from rashomon_explorer._utils.formatting import hit_rate_text, rounded_up

WEAK_HIT_RATE = 0.2
"""Guaranteed hit rate below which a plan, a fit, a release and a report warn."""


class PlanGuarantee(Protocol):
    """Guarantees of a plan, from which its weakness is computed."""

    @property
    def psi(self) -> float:
        """Rashomon threshold."""

    @property
    def beta(self) -> float:
        """Inverse temperature."""

    @property
    def by_excess(self) -> bool:
        """Whether only an excess bound is guaranteed, and no hit rate."""

    @property
    def hit_rate_bound(self) -> float:
        """Guaranteed hit rate."""

    @property
    def excess_bound(self) -> float:
        """Bound on the expected excess loss."""

    @property
    def zero_loss(self) -> float | None:
        """Bound on the loss of a model of zeros, if known."""

    @property
    def centre_excess(self) -> float | None:
        """Excess bound of the model around which all draws lie; None if there is none."""


def weak_guarantee_reason(planned: PlanGuarantee) -> str:
    """Reason why the guarantee of a plan is weak; empty if it is not."""
    if planned.centre_excess is not None and not planned.hit_rate_bound:
        return _off_centre(planned.centre_excess, planned.psi)
    if not has_hit_rate(planned):
        return _no_better_than_nothing(planned)
    if planned.hit_rate_bound >= WEAK_HIT_RATE:
        return ""
    return (
        f"at least {hit_rate_text(planned.hit_rate_bound)} of the draws are within "
        f"ψ = {planned.psi:g} of the least loss, and no more is guaranteed: they may lie far "
        f"outside "
        "the Rashomon set"
    )


def has_hit_rate(planned: PlanGuarantee) -> bool:
    """Whether a hit rate is guaranteed; around a centre, only if it is proved."""
    unproved = planned.centre_excess is not None and not planned.hit_rate_bound
    return planned.psi > 0 and not planned.by_excess and not unproved


def _off_centre(excess: float, psi: float) -> str:
    if excess <= psi or psi == 0:
        return ""
    return (
        f"the loss of the centre of all draws exceeds the least by up to "
        f"{rounded_up(excess)} on average, more than ψ = {psi:g}: they may lie far outside the "
        "Rashomon set"
    )


def _no_better_than_nothing(planned: PlanGuarantee) -> str:
    nothing = planned.zero_loss
    unknown = not math.isfinite(planned.beta) and not planned.by_excess
    if nothing is None or unknown or _promised_excess(planned) < nothing:
        return ""
    of = "" if math.isfinite(planned.excess_bound) else " with clipped slopes"
    most = rounded_up(_promised_excess(planned))
    return (
        f"the loss of a draw{of} exceeds the least by up to {most} on average, and a model of "
        f"zeros has at most {rounded_up(nothing)}: the draws may be no better than it"
    )


def _promised_excess(planned: PlanGuarantee) -> float:
    """Excess bound of the loss, or of the clipped loss if the loss itself has none."""
    return float(getattr(planned, "weighed_excess", planned.excess_bound))
