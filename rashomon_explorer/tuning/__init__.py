"""Choosing penalties privately: fits, their validation loss, and what a record does to both."""

from rashomon_explorer.tuning.bilevel_constants import BilevelConstants
from rashomon_explorer.tuning.inner import InnerProblem, Solved
from rashomon_explorer.tuning.landscape import PenaltyLandscape, PenaltyTarget
from rashomon_explorer.tuning.margins import MARGINS
from rashomon_explorer.tuning.outer import OuterLoss
from rashomon_explorer.tuning.pairwise import GeneralisedTarget, pair_sensitivity
from rashomon_explorer.tuning.penalties import LOWEST, PenaltyBox, column_groups
from rashomon_explorer.tuning.penalty_constants import PenaltyConstants
from rashomon_explorer.tuning.penalty_set import PenaltySet
from rashomon_explorer.tuning.planner import plan_tuning
from rashomon_explorer.tuning.split import validation_rows
from rashomon_explorer.tuning.tuning_plan import TuningPlan

__all__ = [
    "LOWEST",
    "MARGINS",
    "BilevelConstants",
    "GeneralisedTarget",
    "InnerProblem",
    "OuterLoss",
    "PenaltyBox",
    "PenaltyConstants",
    "PenaltyLandscape",
    "PenaltySet",
    "PenaltyTarget",
    "Solved",
    "TuningPlan",
    "column_groups",
    "pair_sensitivity",
    "plan_tuning",
    "validation_rows",
]


def __dir__() -> list[str]:
    """Names that are meant to be used."""
    return __all__
