"""Convex sets of models: one file each, found by name in ``DOMAINS``."""

from rashomon_explorer.problem.domains.ball import Ball, Intersection
from rashomon_explorer.problem.domains.base import Domain
from rashomon_explorer.problem.domains.polyhedral import Box, L1Ball, Simplex

DOMAINS: dict[str, type[Domain]] = {
    "ball": Ball,
    "box": Box,
    "l1_ball": L1Ball,
    "simplex": Simplex,
    "intersection": Intersection,
}

__all__ = ["DOMAINS", "Ball", "Box", "Domain", "Intersection", "L1Ball", "Simplex"]
