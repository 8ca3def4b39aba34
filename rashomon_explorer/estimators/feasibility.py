"""Checks before the ledger is charged."""

import os
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np

from rashomon_explorer import exceptions
from rashomon_explorer._utils.sklearn_compat import Interval, validate_parameter_constraints
from rashomon_explorer._utils.validation import MOST_EPSILON, plain_number
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.mechanisms.request import AUTO, GDP, ZCDP
from rashomon_explorer.mechanisms.simulation import feasibility as simulated
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.privacy.ledger.charge import PendingLedger

_LONG = 60.0
"""Expected duration of the draws, in seconds, from which a fit warns."""


def check_feasibility(planned: Plan, mechanism: str, patience: int | str | None) -> None:
    """Raise if draws are expected to fail; warn if they may fail or are slow; charge nothing."""
    refuse_if_hopeless(planned, mechanism, patience)
    if not mechanism_traits(mechanism).may_give_up or not simulated.is_tried(planned):
        return
    message = simulated.infeasibility_message(planned)
    kind: type[Warning] = exceptions.HopelessDrawWarning if message else exceptions.SlowDrawWarning
    if not message:
        found = simulated.preflight(planned)
        message = found.in_words if found is not None and found.seconds > _LONG else ""
    if message:
        warnings.warn(
            f"{message} Nothing is charged yet.", kind, stacklevel=exceptions.warn_stacklevel()
        )


def refuse_if_hopeless(planned: Plan, mechanism: str, patience: int | str | None) -> None:
    """Raise, before a charge, if draws fail on every kind of simulated rows of this shape."""
    named = mechanism_traits(mechanism)
    if patience != AUTO or not named.may_give_up or not simulated.is_tried(planned):
        return
    if simulated.is_infeasible(planned):
        raise exceptions.SamplerError(
            f"{simulated.infeasibility_message(planned)} They failed on every kind of simulated "
            'rows, so nothing was charged. mechanism="auto" selects a mechanism that is expected '
            "to succeed; patience=5_000_000 or patience=None tries this mechanism nevertheless; "
            "its privacy cost then stays spent"
        )


def ledger_rule(ledger: str | os.PathLike[str] | Ledger | None, delta: float) -> bool | str:
    """Whether costs must compose in a ledger, or the mark of its rule; see :class:`Request`."""
    if ledger is None or delta == 0:
        return ledger is not None
    if isinstance(ledger, PendingLedger):
        return ZCDP if ledger.order is None else True
    try:
        totals = (ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)).totals
    except exceptions.LedgerError:
        return True
    if totals.accounting == "gdp":
        return GDP
    return ZCDP if totals.order is None or totals.leaks else True


def refuse_without_room(
    ledger: str | os.PathLike[str] | Ledger | None, epsilon: float, delta: float
) -> None:
    """Raise if the ledger can admit no plan for (ε, δ), of any table: before one is looked at."""
    if ledger is None or isinstance(ledger, PendingLedger):
        return
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    if not opened.may_admit(epsilon, delta):
        raise exceptions.BudgetExceededError(
            "the ledger has no room for the least that a fit with this epsilon and delta costs, "
            "so the rows were not looked at. Nothing was drawn and nothing was spent; choose a "
            "smaller epsilon (ledger.remaining)"
        )


LEAST_EPSILON = 1e-9


class NumberRange(Interval):
    """Interval of numbers that excludes bool, which Python counts as an integer."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is a number in the interval."""
        return not isinstance(val, bool | np.bool_) and bool(
            super().is_satisfied_by(plain_number(val))
        )


class _EpsilonRange(NumberRange):
    def __str__(self) -> str:
        return (
            f"a number from {self.left:g} to {self.right:g}, usually 0.1 to 10 (no privacy? "
            'RashomonClassifier or RashomonRegressor with mechanism="hit_and_run")'
        )


EPSILON = _EpsilonRange(Real, LEAST_EPSILON, MOST_EPSILON, closed="both")
DELTA = NumberRange(Real, 0, 1, closed="left")
N_DRAWS = NumberRange(Integral, 1, None, closed="left")


def check_budget(estimator: Any) -> None:
    """Raise the same error as `fit` for a budget out of range, before a plan is made."""
    ranges = {"epsilon": [EPSILON], "delta": [DELTA]}
    budget = {name: getattr(estimator, name) for name in ranges}
    validate_parameter_constraints(ranges, budget, caller_name=type(estimator).__name__)
