"""Aggregates of private rows as differentially private queries, charged to the ledger."""

from rashomon_explorer.release.groups import GroupGaps
from rashomon_explorer.release.losses import Excess, Losses, SoftHits
from rashomon_explorer.release.plan import Budget, plan_release
from rashomon_explorer.release.query import Query, Sensitivity
from rashomon_explorer.release.released import ReleasedAggregates
from rashomon_explorer.release.reliance import Reliance
from rashomon_explorer.release.run import release
from rashomon_explorer.release.statistic import Measured

__all__ = [
    "Budget",
    "Excess",
    "GroupGaps",
    "Losses",
    "Measured",
    "Query",
    "ReleasedAggregates",
    "Reliance",
    "Sensitivity",
    "SoftHits",
    "plan_release",
    "release",
]


def __dir__() -> list[str]:
    """Names that are meant to be used."""
    return list(__all__)
