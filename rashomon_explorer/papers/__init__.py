"""Mechanisms and theorems that reproduce statements of papers; imported by name only."""

from importlib import import_module
from typing import Any

_HOMES = {
    "GridWalkSampler": "grid_walk",
    "Iterated": "localisation",
    "MalaSampler": "mala",
    "MeteredLangevin": "metered",
    "Regularised": "localisation",
}

__all__ = ["GridWalkSampler", "Iterated", "MalaSampler", "MeteredLangevin", "Regularised"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
