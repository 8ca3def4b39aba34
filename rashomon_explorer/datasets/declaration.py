"""What is said in public about a table before anybody looks at its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Declaration:
    """Public facts about a table: the part of a data set that is not private.

    Parameters
    ----------
    target : str
        Column to predict.
    sensitive : sequence of str
        Columns kept away from the models and used only to compare groups.
    bounds : mapping of str to (float, float)
        Range of every numeric feature, from knowledge of the domain. Values outside are clipped.
    categories : mapping of str to sequence
        Levels of every categorical column; a feature becomes one 0/1 column a level.
    task : {"classification", "regression"} or None
        None asks for it to be inferred from ``target_bounds`` and the target's labels.
    positive : object
        Class coded 1, all others 0. None keeps the sorted order of the classes.
    target_bounds : (float, float) or None
        Range of a regression target. Values outside are clipped.

    Examples
    --------
    >>> Declaration(target="repaid", bounds={"age": (18, 90)}).sensitive
    ()
    """

    target: str
    sensitive: Sequence[str] = ()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    task: str | None = None
    positive: Any = None
    target_bounds: Bounds | None = None
