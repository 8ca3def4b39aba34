"""Choosing penalties privately: fits, their validation loss, and what a record does to both."""

from rashomon_explorer.mechanisms.penalties.constants import BilevelConstants, PenaltyConstants
from rashomon_explorer.mechanisms.penalties.landscape import (
    LOWEST,
    MEAN,
    GeneralisedTarget,
    PenaltyBox,
    PenaltyLandscape,
    PenaltyTarget,
    column_groups,
    first_draws,
    pair_sensitivity,
)
from rashomon_explorer.mechanisms.penalties.losses import MARGINS, InnerProblem, OuterLoss, Solved
from rashomon_explorer.mechanisms.penalties.mechanisms import Offered, offered, plan_mechanism
from rashomon_explorer.mechanisms.penalties.penalty_set import PenaltySet, validation_rows
from rashomon_explorer.mechanisms.penalties.plan import TuningPlan, plan_tuning
from rashomon_explorer.mechanisms.penalties.stationary import (
    STATIONARY,
    StationaryPlan,
    plan_stationary,
    walk_bound,
)
from rashomon_explorer.mechanisms.penalties.walk import drawn_where_level, gradient_mapping, walk

__all__ = [
    "LOWEST",
    "MARGINS",
    "MEAN",
    "STATIONARY",
    "BilevelConstants",
    "GeneralisedTarget",
    "InnerProblem",
    "Offered",
    "OuterLoss",
    "PenaltyBox",
    "PenaltyConstants",
    "PenaltyLandscape",
    "PenaltySet",
    "PenaltyTarget",
    "Solved",
    "StationaryPlan",
    "TuningPlan",
    "column_groups",
    "drawn_where_level",
    "first_draws",
    "gradient_mapping",
    "offered",
    "pair_sensitivity",
    "plan_mechanism",
    "plan_stationary",
    "plan_tuning",
    "validation_rows",
    "walk",
    "walk_bound",
]


def __dir__() -> list[str]:
    """Names that are meant to be used."""
    return __all__
