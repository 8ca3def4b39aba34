"""Fairness over the Rashomon set: group gaps of many models, their range, frontier and burden.

Results on private rows are for the curator, who may see the rows: they are not private.
"""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.measures.fairness.audit import *
    from rashomon_explorer.measures.fairness.gaps import *
    from rashomon_explorer.measures.fairness.rates import *

__all__ = [
    "LABEL_RATES",
    "FairnessAudit",
    "fairness_audit",
    "fairness_gaps",
    "frontier",
    "multiplicity_by_person_group",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
