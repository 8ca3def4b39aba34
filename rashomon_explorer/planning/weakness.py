"""When public numbers promise so little that draws may be useless, and what would promise more."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.planning.wishes import wishes
from rashomon_explorer.rounding import hit_rate_text, rounded_up
from rashomon_explorer.users_line import users_line

if TYPE_CHECKING:
    from rashomon_explorer.planning.planner import Plan

WEAK_HIT_RATE = 0.2
"""Guaranteed hit rate below which a plan, a fit, a release and a report say so."""

# A context variable and not a filter of warnings: those are one list for all threads.
_SAID: ContextVar[bool] = ContextVar("_SAID", default=False)


def weakness(planned: "Plan") -> str:
    """Say in a sentence why a plan may buy nothing of use; empty where it promises enough.

    With ψ > 0 a plan is weak if its guaranteed hit rate is below .2. A set without width, and a
    path, have no hit rate: there a plan is weak if its excess bound is no less than the loss of
    the model that is all zeros, so that what is promised of a draw could be had without data.

    Parameters
    ----------
    planned : Plan

    Returns
    -------
    str

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> rows = {"p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "epsilon": 1.0}
    >>> weakness(plan(50_000, **rows))
    ''
    >>> with said_elsewhere():
    ...     weak = plan(500, **rows)
    >>> print(weakness(weak))
    at least 0% of the draws are within ψ = 0.02 of the least loss, and no more is \
promised: they may lie far outside the Rashomon set
    """
    if not has_hit_rate(planned):
        return _no_better_than_nothing(planned)
    if planned.hit_rate_bound >= WEAK_HIT_RATE:
        return ""
    return (
        f"at least {hit_rate_text(planned.hit_rate_bound)} of the draws are within "
        f"ψ = {planned.psi:g} of the least loss, and no more is promised: they may lie far outside "
        "the Rashomon set"
    )


def has_hit_rate(planned: "Plan") -> bool:
    """Whether a hit rate is what the plan can promise: ψ > 0, and no path."""
    return planned.psi > 0 and planned.certificate != "path"


def warn_if_weak(planned: "Plan", what: str) -> None:
    """Warn of a plan that promises next to nothing, with what would promise more.

    Parameters
    ----------
    planned : Plan
        Of public numbers alone, and so is the warning.
    what : str
        What is to be weak: ``"this plan"``.

    Warns
    -----
    WeakGuaranteeWarning
        If :func:`weakness` says anything and no caller says it elsewhere.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> warn_if_weak(plan(**rows, epsilon=1.0), "this plan")
    """
    why = "" if is_said_elsewhere() else weakness(planned)
    if why:
        told = " ".join([f"{what} promises little: {why}.", *wishes(planned)])
        warnings.warn(told, WeakGuaranteeWarning, stacklevel=users_line())


@contextmanager
def said_elsewhere() -> Iterator[None]:
    """Keep weak plans from warning, in this thread: whoever asks shows :func:`weakness` itself.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> with said_elsewhere():
    ...     weak = plan(100, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=1.0)
    >>> weakness(weak) != ""
    True
    """
    before = _SAID.set(True)
    try:
        yield
    finally:
        _SAID.reset(before)


def is_said_elsewhere() -> bool:
    """Whether :func:`said_elsewhere` is in force.

    Examples
    --------
    >>> with said_elsewhere():
    ...     inside = is_said_elsewhere()
    >>> inside, is_said_elsewhere()
    (True, False)
    """
    return _SAID.get()


def _no_better_than_nothing(planned: "Plan") -> str:
    nothing = planned.zero_loss
    if nothing is None or not math.isfinite(planned.beta) or planned.excess_bound < nothing:
        return ""
    return (
        f"the loss of a draw exceeds the least by up to {rounded_up(planned.excess_bound)} on "
        f"average, and a model of zeros has at most {rounded_up(nothing)}: the draws may be no "
        "better than it"
    )
