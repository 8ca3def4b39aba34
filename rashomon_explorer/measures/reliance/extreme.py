"""One end of a range: what some model attains, and what none exceeds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Extreme(NamedTuple):
    """Greatest value over a set of models, bracketed."""

    theta: NDArray[np.float64]  # (p,): a model of the set
    attained: float  # its value
    bound: float  # no model of the set has a greater one
