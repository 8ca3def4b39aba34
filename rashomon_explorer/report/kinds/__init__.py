"""Kinds of models, each of which tells a report what is public of it: a new one is a line here."""

from typing import Any

from rashomon_explorer.report.kinds.base import Kind, Rows
from rashomon_explorer.report.kinds.linear import Linear
from rashomon_explorer.report.kinds.others import Others
from rashomon_explorer.report.kinds.trees import Trees

KINDS: tuple[Kind, ...] = (Linear(), Trees(), Others())
"""The first that holds a set is its kind."""


def kind_of(models: Any) -> Kind:
    """Kind of a set, the curator's or a release.

    >>> kind_of("anything else").terms
    ('Rashomon set',)
    """
    return next(kind for kind in KINDS if kind.holds(models))


__all__ = ["KINDS", "Kind", "Rows", "kind_of"]
