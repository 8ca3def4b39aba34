"""Ranges of a privacy budget."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from rashomon_explorer.sklearn_compat import Interval, validate_parameter_constraints
from rashomon_explorer.validation import MOST_EPSILON

LEAST_EPSILON = 1e-9


class NumberRange(Interval):
    """An interval of numbers, without truth values, which Python counts as whole numbers."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a parameter is a number of the interval."""
        return not isinstance(val, bool | np.bool_) and bool(super().is_satisfied_by(val))


class _EpsilonRange(NumberRange):
    def __str__(self) -> str:
        return (
            f"a number from {self.left:g} to {self.right:g}, usually 0.1 to 10 (no privacy? "
            'RashomonClassifier or RashomonRegressor with sampler="hit_and_run")'
        )


EPSILON = _EpsilonRange(Real, LEAST_EPSILON, MOST_EPSILON, closed="both")
DELTA = NumberRange(Real, 0, 1, closed="left")
N_DRAWS = NumberRange(Integral, 1, None, closed="left")


def check_budget(estimator: Any) -> None:
    """Refuse a budget out of range, in the words of `fit`, before a plan is made for it.

    >>> from rashomon_explorer import DPClassifier
    >>> check_budget(DPClassifier(epsilon=1.0))
    """
    ranges = {"epsilon": [EPSILON], "delta": [DELTA]}
    budget = {name: getattr(estimator, name) for name in ranges}
    validate_parameter_constraints(ranges, budget, caller_name=type(estimator).__name__)
