"""Registry and selection of mechanisms that choose penalties."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.exceptions import SamplerError, WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms.penalties import plan
from rashomon_explorer.mechanisms.penalties.constants import PenaltyConstants
from rashomon_explorer.mechanisms.penalties.stationary import (
    STATIONARY,
    StationaryPlan,
    plan_stationary,
)
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.suggestions import weak_warnings_suppressed
from rashomon_explorer.mechanisms.planning.weakness import weak_guarantee_reason

REGULARISED = "regularised"
NAMES = (*plan.MECHANISMS, *STATIONARY, REGULARISED)
"""All mechanisms of the paper by name; the last one is refused with a reason."""


@dataclass(frozen=True)
class Offered:
    """Guarantee of one mechanism before a row is read, or the reason why there is none."""

    mechanism: str
    excess: float | None = None
    gradient: float | None = None
    why_not: str = ""


def plan_mechanism(
    constants: PenaltyConstants,
    d: int,
    *,
    mechanism: str,
    epsilon: float,
    delta: float,
    n_draws: int = 1,
    psi: float = 0.0,
    spacing: float | None = None,
    refit: Plan | None = None,
    ledger: bool = False,
) -> plan.TuningPlan | StationaryPlan:
    """Plan by one mechanism, or with ``"auto"`` by the best one according to public numbers."""
    shared: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "n_draws": n_draws}
    shared |= {"refit": refit, "ledger": ledger}
    if mechanism == REGULARISED:
        raise SamplerError(
            "the regularised mechanism is private only where the validation loss is convex on "
            "every table, and in log penalties it is not: use mechanism='auto'"
        )
    if mechanism in STATIONARY:
        if psi:
            raise ValueError(f"psi must be 0 for mechanism={mechanism!r}, got {psi!r}")
        on_grid = mechanism == "gradient_norm"
        if on_grid:  # raises the errors of every grid
            plan.plan_tuning(constants, d, epsilon=epsilon, spacing=spacing)
        few = d if on_grid or d <= plan.MOST_PENALTIES else 1
        apart = plan.log_spacing(constants, few, spacing)
        return plan_stationary(constants, d, mechanism, spacing=apart, **shared)
    if mechanism == "auto" and d > plan.MOST_PENALTIES and delta > 0 and not psi:
        return _walked(constants, d, spacing, shared)
    return plan.plan_tuning(constants, d, psi=psi, spacing=spacing, mechanism=mechanism, **shared)


def offered(constants: PenaltyConstants, d: int, **options: Any) -> tuple[Offered, ...]:
    """Bound of every mechanism, or why it does not apply; the options of `plan_mechanism`.

    Examples
    --------
    >>> known = PenaltyConstants("logistic", 1.5, 0.5, 10.0, 70_000, 30_000, margin_bound=4.0)
    >>> offers = offered(known, 8, epsilon=1.0, delta=1e-6)
    >>> [one.mechanism for one in offers if not one.why_not]
    ['hypergradient', 'warm_hypergradient']
    """
    return tuple(_offer(constants, d, name, options) for name in NAMES)


def _offer(constants: PenaltyConstants, d: int, name: str, options: dict[str, Any]) -> Offered:
    try:
        planned = plan_mechanism(constants, d, mechanism=name, **options)
    except (SamplerError, ValueError) as error:
        return Offered(name, why_not=str(error))
    if isinstance(planned, StationaryPlan):
        return Offered(name, gradient=planned.gradient_bound, why_not=planned.weakness)
    return Offered(name, excess=planned.excess_bound, why_not=planned.weakness)


def _walked(
    constants: PenaltyConstants, d: int, spacing: float | None, shared: dict[str, Any]
) -> StationaryPlan:
    """Plan the walk from a private start, or from the middle if only that has a useful bound."""
    apart = plan.log_spacing(constants, 1, spacing)
    cold, warm = (
        plan_stationary(constants, d, name, spacing=apart, **shared) for name in STATIONARY[:2]
    )
    best = cold if warm.weakness else warm
    if best.weakness:
        raise SamplerError(
            f"{d} penalties were requested, but a grid takes at most {plan.MOST_PENALTIES}; "
            "beyond, "
            f"noisy hypergradients apply, but {best.weakness}. {best.suggestion}. Or put the "
            "columns in up to three groups: penalty='group', groups=[[...], [...]]"
        )
    started = (
        f", from a start within {rounded_up(best.start_excess)} of the best shared penalty's loss"
        if best is warm
        else ""
    )
    why = (
        f"a grid takes at most {plan.MOST_PENALTIES} penalties, and noisy hypergradients "
        "guarantee a "
        f"gradient of at most {rounded_up(best.gradient_bound)}{started}"
    )
    return replace(best, why=why)


_WRITTEN = ("mechanism", "d", "spacing", "psi", "n_draws", "eta", "beta")
_OF_WALKS = ("mu", "n_steps")


def warn_if_nearly_uniform(planned: plan.TuningPlan | StationaryPlan) -> None:
    """Warn about a plan whose draw may be no better than a uniform choice, with suggestions."""
    message = f"{planned.weakness}. {planned.suggestion}" if planned.weakness else ""
    if planned.refit is not None and (why := weak_guarantee_reason(planned.refit)):
        message = f"{message + '. ' if message else ''}The refit: {why}"
    if message and not weak_warnings_suppressed():
        warnings.warn(
            f"this plan has a weak guarantee: {message}",
            WeakGuaranteeWarning,
            stacklevel=warn_stacklevel(),
        )


def as_parameters(planned: plan.TuningPlan | StationaryPlan) -> dict[str, Any]:
    """Public settings of a plan, as a ledger records them."""
    known = planned.constants
    return {
        "n_train": known.n_train,
        "n_val": known.n_val,
        "estimator": known.estimator,
        "bounds": [known.low, known.high],
        "margin_bound": known.margin_bound,
        **{k: getattr(planned, k) for k in _WRITTEN},
        **{k: getattr(planned, k) for k in _OF_WALKS if hasattr(planned, k)},
        "refit": None if planned.refit is None else planned.refit.certificate,
    }
