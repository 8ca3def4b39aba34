"""Differentially private queries on private rows, charged to a ledger."""

from rashomon_explorer.release.coefficients import Coefficients
from rashomon_explorer.release.groups import GroupGaps
from rashomon_explorer.release.least_psi import LeastPsi
from rashomon_explorer.release.losses import Excess, Losses, Reliance, SoftHits
from rashomon_explorer.release.plan import Budget, plan_release
from rashomon_explorer.release.prediction_sets import ScoreThreshold
from rashomon_explorer.release.query import Query, Sensitivity
from rashomon_explorer.release.released import ReleasedAggregates
from rashomon_explorer.release.run import release
from rashomon_explorer.release.statistic import Coefficient, Measured, ReleasedThreshold

__all__ = [
    "Budget",
    "Coefficient",
    "Coefficients",
    "Excess",
    "GroupGaps",
    "LeastPsi",
    "Losses",
    "Measured",
    "Query",
    "ReleasedAggregates",
    "ReleasedThreshold",
    "Reliance",
    "ScoreThreshold",
    "Sensitivity",
    "SoftHits",
    "plan_release",
    "release",
]


def __dir__() -> list[str]:
    """List the public names."""
    return list(__all__)
