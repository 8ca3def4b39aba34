"""Mechanisms and theorems that reproduce statements of papers; imported by name only."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.papers.grid_walk import GridWalkSampler
    from rashomon_explorer.papers.localisation import Iterated, Regularised
    from rashomon_explorer.papers.mala import MalaSampler
    from rashomon_explorer.papers.metered import MeteredLangevin

__all__ = ["GridWalkSampler", "Iterated", "MalaSampler", "MeteredLangevin", "Regularised"]

__getattr__, __dir__ = lazy_names(__name__, __all__)
