"""One end of a range: what some model attains, and what none exceeds."""

from typing import NamedTuple

from rashomon_explorer.array_types import FloatArray


class Extreme(NamedTuple):
    """Greatest value over a set of models, bracketed."""

    theta: FloatArray  # (p,): a model of the set
    attained: float  # its value
    bound: float  # no model of the set has a greater one
