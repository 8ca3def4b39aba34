"""Audits of one fitted model: the models that are as good, and what they disagree on."""

from rashomon_explorer.audits.audit import audit
from rashomon_explorer.audits.result import Audit
from rashomon_explorer.audits.summary import json_schema

__all__ = ["Audit", "audit", "json_schema"]
