"""One end of a range: what some model attains, and what none exceeds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Extreme(NamedTuple):
    """Greatest value over a set of models, bracketed.

    Parameters
    ----------
    theta : ndarray of shape (p,)
        A model of the set.
    attained : float
        Its value.
    bound : float
        No model of the set has a greater one.
    """

    theta: NDArray[np.float64]
    attained: float
    bound: float
