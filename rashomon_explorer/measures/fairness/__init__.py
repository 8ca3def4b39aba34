"""Fairness over the Rashomon set: group gaps of many models, their range, frontier and burden.

Results on private rows are for the curator, who may see the rows: they are not private.
"""

from rashomon_explorer.measures.fairness.audit import (
    FairnessAudit,
    fairness_audit,
    fairness_frame,
    multiplicity_by_person_group,
)
from rashomon_explorer.measures.fairness.gaps import (
    fairness_gaps,
    frontier,
    group_rates,
    score_gaps,
)
from rashomon_explorer.measures.fairness.rates import LABEL_RATES

__all__ = [
    "LABEL_RATES",
    "FairnessAudit",
    "fairness_audit",
    "fairness_frame",
    "fairness_gaps",
    "frontier",
    "group_rates",
    "multiplicity_by_person_group",
    "score_gaps",
]
