"""Choosing penalties privately: fits, their validation loss, and what a record does to both."""

from rashomon_explorer.tuning.bilevel_constants import BilevelConstants
from rashomon_explorer.tuning.inner import InnerProblem, Solved
from rashomon_explorer.tuning.landscape import PenaltyLandscape, PenaltyTarget, first_draws
from rashomon_explorer.tuning.margins import MARGINS
from rashomon_explorer.tuning.mechanisms import Offered, offered, plan_mechanism
from rashomon_explorer.tuning.outer import OuterLoss
from rashomon_explorer.tuning.pairwise import GeneralisedTarget, pair_sensitivity
from rashomon_explorer.tuning.penalties import LOWEST, MEAN, PenaltyBox, column_groups
from rashomon_explorer.tuning.penalty_constants import PenaltyConstants
from rashomon_explorer.tuning.penalty_set import PenaltySet
from rashomon_explorer.tuning.planner import plan_tuning
from rashomon_explorer.tuning.split import validation_rows
from rashomon_explorer.tuning.stationary_plan import STATIONARY, StationaryPlan, walk_bound
from rashomon_explorer.tuning.stationary_planner import plan_stationary
from rashomon_explorer.tuning.tuning_plan import TuningPlan
from rashomon_explorer.tuning.walk import drawn_where_level, gradient_mapping, walk

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
