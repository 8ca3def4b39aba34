"""Convex sets of models: one file each, found by name in ``DOMAINS``."""

from rashomon_explorer.domains.ball import Ball
from rashomon_explorer.domains.base import Domain
from rashomon_explorer.domains.box import Box
from rashomon_explorer.domains.intersection import Intersection
from rashomon_explorer.domains.l1_ball import L1Ball
from rashomon_explorer.domains.simplex import Simplex

DOMAINS: dict[str, type[Domain]] = {
    "ball": Ball,
    "box": Box,
    "l1_ball": L1Ball,
    "simplex": Simplex,
    "intersection": Intersection,
}

__all__ = ["DOMAINS", "Ball", "Box", "Domain", "Intersection", "L1Ball", "Simplex"]
