"""Aggregates of private rows as differentially private queries, charged to the ledger."""

from rashomon_explorer.release.budget import Budget
from rashomon_explorer.release.catalogue import QUERIES, REFUSED, get_query
from rashomon_explorer.release.groups import BaseRates, GroupGaps, GroupSizes
from rashomon_explorer.release.losses import (
    Accuracies,
    ClippedShare,
    Excess,
    LossDifferences,
    Losses,
    SoftHits,
)
from rashomon_explorer.release.multiplicity import Discrepancies, MultiplicityQuery
from rashomon_explorer.release.plan import ReleasePlan, plan_release
from rashomon_explorer.release.query import Query, Sensitivity
from rashomon_explorer.release.released import Answer, Released
from rashomon_explorer.release.reliance import Reliance
from rashomon_explorer.release.run import release
from rashomon_explorer.release.statistic import Gap, Measured, Rate, Statistic

__all__ = [
    "QUERIES",
    "REFUSED",
    "Accuracies",
    "Answer",
    "BaseRates",
    "Budget",
    "ClippedShare",
    "Discrepancies",
    "Excess",
    "Gap",
    "GroupGaps",
    "GroupSizes",
    "LossDifferences",
    "Losses",
    "Measured",
    "MultiplicityQuery",
    "Query",
    "Rate",
    "ReleasePlan",
    "Released",
    "Reliance",
    "Sensitivity",
    "SoftHits",
    "Statistic",
    "get_query",
    "plan_release",
    "release",
]


def __dir__() -> list[str]:
    """Names that are meant to be used."""
    return list(__all__)
