"""Ranges of a privacy budget, and the warning of a delta that protects nobody."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np

from rashomon_explorer.exceptions import LargeDeltaWarning
from rashomon_explorer.planning.warn_weak import is_said_elsewhere
from rashomon_explorer.sklearn_compat import Interval, validate_parameter_constraints
from rashomon_explorer.users_line import users_line

LEAST_EPSILON, MOST_EPSILON = 1e-9, 1e9


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


def warn_of_large_delta(delta: float, n: int) -> None:
    """Warn where delta is at least 1/n; silent where a caller shows a plan's weakness itself.

    >>> warn_of_large_delta(1e-6, 10_000)
    """
    if delta * n >= 1 and not is_said_elsewhere():
        warnings.warn(
            f"delta={delta:g} is at least 1/n={1 / n:.2g}: it allows a mechanism to publish the "
            f"record of one person in {n:,}. Choose delta far below 1/n, such as 1e-6, or 0",
            LargeDeltaWarning,
            stacklevel=users_line(),
        )
