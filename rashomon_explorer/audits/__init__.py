"""Audits of one fitted model: the models that are as good, and what they disagree on."""

from rashomon_explorer.audits.audit import Audit, audit

__all__ = ["Audit", "audit"]
