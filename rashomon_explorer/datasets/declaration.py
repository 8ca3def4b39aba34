"""What is said in public about a table before anybody looks at its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Declaration:
    """Public facts about a table: the part of a data set that is not private.

    >>> Declaration(target="repaid", bounds={"age": (18, 90)}).sensitive
    ()
    """

    target: str  # column to predict
    # columns kept away from the models and used only to compare groups
    sensitive: Sequence[str] = ()
    # range of every numeric feature, from knowledge of the domain. Values outside are clipped.
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    # levels of every categorical column; a feature becomes one 0/1 column a level
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # None asks for it to be inferred from ``target_bounds`` and the target's labels
    task: str | None = None
    positive: Any = None  # class coded 1, all others 0. None keeps the sorted order of the classes.
    target_bounds: Bounds | None = None  # range of a regression target. Values outside are clipped.
