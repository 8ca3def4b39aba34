"""Aggregates of private rows as differentially private queries, charged to the ledger."""

from rashomon_explorer.measures.release.budget import Budget
from rashomon_explorer.measures.release.catalogue import QUERIES, get_query
from rashomon_explorer.measures.release.clipping import ClippedShare
from rashomon_explorer.measures.release.excess import Excess, SoftHits
from rashomon_explorer.measures.release.groups import BaseRates, GroupGaps, GroupSizes
from rashomon_explorer.measures.release.losses import Accuracies, LossDifferences, Losses
from rashomon_explorer.measures.release.multiplicity import Discrepancies, MultiplicityQuery
from rashomon_explorer.measures.release.plan import ReleasePlan, plan_release
from rashomon_explorer.measures.release.query import Query, Sensitivity
from rashomon_explorer.measures.release.refusals import REFUSED
from rashomon_explorer.measures.release.released import Answer, Released
from rashomon_explorer.measures.release.reliance import Reliance
from rashomon_explorer.measures.release.run import release
from rashomon_explorer.measures.release.statistic import Gap, Measured, Rate, Statistic

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
