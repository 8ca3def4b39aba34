"""Convex sets of models."""

from rashomon_explorer.problem.domains.ball import Ball, Intersection
from rashomon_explorer.problem.domains.base import Domain

__all__ = ["Ball", "Domain", "Intersection"]
