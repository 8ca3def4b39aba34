"""What is said of a plan before a row is read: a warning, and what a ledger writes down."""

import warnings
from typing import Any

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.planning.weakness import weakness
from rashomon_explorer.tuning.stationary_plan import StationaryPlan
from rashomon_explorer.tuning.tuning_plan import TuningPlan
from rashomon_explorer.users_line import users_line

_WRITTEN = ("mechanism", "d", "spacing", "psi", "n_draws", "eta", "beta")
_OF_WALKS = ("mu", "n_steps")


def warn_if_nearly_uniform(planned: TuningPlan | StationaryPlan) -> None:
    """Warn of a plan whose draw may be no better than a blind pick, with what would be.

    >>> from rashomon_explorer.tuning import PenaltyConstants, plan_tuning
    >>> known = PenaltyConstants("logistic", 1.5, 0.1, 10.0, 200_000, 100_000, margin_bound=4.0)
    >>> warn_if_nearly_uniform(plan_tuning(known, 1, epsilon=1.0))
    """
    told = f"{planned.weakness}. {planned.wish}" if planned.weakness else ""
    if planned.refit is not None and (why := weakness(planned.refit)):
        told = f"{told + '. ' if told else ''}The refit: {why}"
    if told:
        warnings.warn(
            f"this plan promises little: {told}", WeakGuaranteeWarning, stacklevel=users_line()
        )


def as_parameters(planned: TuningPlan | StationaryPlan) -> dict[str, Any]:
    """Public settings of a plan, as a ledger writes them.

    >>> from rashomon_explorer.tuning import PenaltyConstants, plan_tuning
    >>> known = PenaltyConstants("ridge", 1.0, 0.1, 10.0, 100, 100, margin_bound=1.0)
    >>> as_parameters(plan_tuning(known, 1, epsilon=1.0))["beta"] > 0
    True
    """
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
