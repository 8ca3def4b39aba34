"""Audits: what two neighbours' outputs really tell apart, beside what is claimed."""

from rashomon_explorer.privacy.audit.event import Event
from rashomon_explorer.privacy.audit.exact import discrete, exact
from rashomon_explorer.privacy.audit.exact_audit import ExactAudit
from rashomon_explorer.privacy.audit.monte_carlo import MonteCarloAudit, monte_carlo
from rashomon_explorer.privacy.audit.search import Worst, search

__all__ = [
    "Event",
    "ExactAudit",
    "MonteCarloAudit",
    "Worst",
    "discrete",
    "exact",
    "monte_carlo",
    "search",
]
