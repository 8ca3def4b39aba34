"""Registry and selection of mechanisms that choose penalties."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.exceptions import SamplerError, WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms.penalties import plan, stationary
from rashomon_explorer.mechanisms.penalties.constants import PenaltyConstants

NAMES = (*plan.MECHANISMS, *stationary.STATIONARY, "regularised")
"""All mechanisms of the paper by name; the last one is refused with a reason."""


@dataclass(frozen=True)
class Offered:
    """Guarantee of one mechanism before a row is read, or the reason why there is none."""

    mechanism: str
    excess: float | None = None
    gradient: float | None = None
    why_not: str = ""


def plan_mechanism(
    constants: PenaltyConstants, d: int, *, mechanism: str, **options: Any
) -> plan.PenaltyPlan:
    """Plan by one mechanism, or with ``"auto"`` by the best one according to public numbers.

    ``options`` are those of :func:`plan_tuning`: budget, number of draws, ψ, spacing and refit.
    """
    if mechanism == "regularised":
        raise SamplerError(
            "the regularised mechanism is private only where the validation loss is convex on "
            "every table, and in log penalties it is not: use mechanism='auto'"
        )
    if mechanism in stationary.STATIONARY:
        return stationary.plan_stationary(constants, d, mechanism, **options)
    many = d > plan.MOST_PENALTIES and options["delta"] > 0 and not options.get("psi")
    if mechanism == "auto" and many:
        return _walked(constants, d, options)
    return plan.plan_tuning(constants, d, mechanism=mechanism, **options)


def offered(constants: PenaltyConstants, d: int, **options: Any) -> tuple[Offered, ...]:
    """Bound of every mechanism, or why it does not apply; the options of `plan_mechanism`."""
    return tuple(_offer(constants, d, name, options) for name in NAMES)


def _offer(constants: PenaltyConstants, d: int, name: str, options: dict[str, Any]) -> Offered:
    try:
        planned = plan_mechanism(constants, d, mechanism=name, **options)
    except (SamplerError, ValueError) as error:
        return Offered(name, why_not=str(error))
    if isinstance(planned, plan.TuningPlan):
        return Offered(name, excess=planned.excess_bound, why_not=planned.weakness)
    assert isinstance(planned, stationary.StationaryPlan)
    return Offered(name, gradient=planned.gradient_bound, why_not=planned.weakness)


def _walked(
    constants: PenaltyConstants, d: int, options: dict[str, Any]
) -> stationary.StationaryPlan:
    """Plan the walk from a private start, or from the middle if only that has a useful bound."""
    cold, warm = (
        stationary.plan_stationary(constants, d, name, **options)
        for name in stationary.STATIONARY[:2]
    )
    best = cold if warm.weakness else warm
    if best.weakness:
        raise SamplerError(
            f"{d} penalties were requested, but a grid takes at most {plan.MOST_PENALTIES}; "
            f"beyond, noisy hypergradients apply, but {best.weakness}. {best.suggestion}. Or put "
            "the columns in up to three groups: penalty='group', groups=[[...], [...]]"
        )
    excess = rounded_up(best.start_excess) if best is warm else ""
    start = f", from a start within {excess} of the best shared penalty's loss" if excess else ""
    why = (
        f"a grid takes at most {plan.MOST_PENALTIES} penalties, and noisy hypergradients "
        f"guarantee a gradient of at most {rounded_up(best.gradient_bound)}{start}"
    )
    return replace(best, why=why)


def warn_if_nearly_uniform(planned: plan.PenaltyPlan) -> None:
    """Warn about a plan whose draw may be no better than a uniform choice, with suggestions."""
    message = f"{planned.weakness}. {planned.suggestion}" if planned.weakness else ""
    if planned.refit is not None and (why := planned.refit.weakness):
        message = f"{message + '. ' if message else ''}The refit: {why}"
    if message:
        warnings.warn(
            f"this plan has a weak guarantee: {message}",
            WeakGuaranteeWarning,
            stacklevel=warn_stacklevel(),
        )
