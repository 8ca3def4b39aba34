"""Private choice of penalties: fits, their validation loss, and its sensitivity."""

from rashomon_explorer.mechanisms.penalties.constants import BilevelConstants, PenaltyConstants
from rashomon_explorer.mechanisms.penalties.landscape import PenaltyLandscape
from rashomon_explorer.mechanisms.penalties.stationary import drawn_where_level, plan_stationary

__all__ = [
    "BilevelConstants",
    "PenaltyConstants",
    "PenaltyLandscape",
    "drawn_where_level",
    "plan_stationary",
]


def __dir__() -> list[str]:
    """Public names of the package."""
    return __all__
