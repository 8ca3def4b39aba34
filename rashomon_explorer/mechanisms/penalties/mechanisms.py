"""Mechanisms that choose penalties, their selection, and the sets that they release."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import Fact, ReprMixin, rounded_up
from rashomon_explorer.exceptions import SamplerError, WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms.penalties import plan, stationary
from rashomon_explorer.mechanisms.penalties.constants import PenaltyConstants
from rashomon_explorer.privacy import Guarantee


@dataclass(frozen=True, repr=False)
class PenaltySet(ReprMixin):
    """Private draws from the Rashomon set of penalties."""

    penalties: FloatArray
    names: tuple[str, ...]
    plan: plan.PenaltyPlan
    guarantee: Guarantee
    walks: FloatArray | None = None

    @property
    def n_draws(self) -> int:
        return len(self.penalties)

    @property
    def best(self) -> FloatArray:
        """Draw (d,) nearest, in logarithms, to the median of the draws."""
        logs = np.log(self.penalties)
        gaps = ((logs - np.median(logs, axis=0)) ** 2).sum(axis=1)
        return np.asarray(self.penalties[int(gaps.argmin())])

    @property
    def range(self) -> FloatArray:
        """Least and largest draw of each penalty, of shape (2, d)."""
        return np.stack([self.penalties.min(axis=0), self.penalties.max(axis=0)])

    def _title(self) -> str:
        return f"PenaltySet: {self.n_draws:,} private draw{'' if self.n_draws == 1 else 's'}"

    def _facts(self) -> list[Fact]:
        low, high = self.range
        return [
            (name, f"{best:.3g}, drawn from {least:.3g} to {most:.3g}")
            for name, best, least, most in zip(self.names, self.best, low, high, strict=True)
        ]


def validation_rows(n: int, fraction: float) -> Mask:
    """Mask (n,) of the validation rows, which are spread evenly over the table."""
    if n < 2:
        raise ValueError(
            f"n_samples={n}: tuning needs at least 2 rows, to fit some and validate on others"
        )
    many = min(max(round(fraction * n), 1), n - 1)
    ends = np.arange(n + 1) * many // n
    return np.asarray(np.diff(ends) == 1)


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
    """Plan by one mechanism, or with ``"auto"`` by the best one according to public numbers."""
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
