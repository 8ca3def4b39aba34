"""The best of several private models, chosen privately: laws of the choice and their prices."""

from rashomon_explorer.selection.dearer import dearer
from rashomon_explorer.selection.picks import PICKS, Exponential, PermuteAndFlip, Pick
from rashomon_explorer.selection.plan import WAYS, Candidate, SearchPlan
from rashomon_explorer.selection.runs import Runs

__all__ = [
    "PICKS",
    "WAYS",
    "Candidate",
    "Exponential",
    "PermuteAndFlip",
    "Pick",
    "Runs",
    "SearchPlan",
    "dearer",
]
