"""Mechanisms and theorems that reproduce statements of papers; imported by name only."""

from rashomon_explorer._utils.imports import lazy_names

_HOMES = {
    "GridWalkSampler": "grid_walk",
    "Iterated": "localisation",
    "MalaSampler": "mala",
    "MeteredLangevin": "metered",
    "Regularised": "localisation",
}

__all__ = ["GridWalkSampler", "Iterated", "MalaSampler", "MeteredLangevin", "Regularised"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__)
