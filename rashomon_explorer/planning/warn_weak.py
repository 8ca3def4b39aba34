"""The one warning of plans that promise next to nothing, and who may keep it back."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rashomon_explorer.exceptions import LargeDeltaWarning, WeakGuaranteeWarning
from rashomon_explorer.planning.planned import Plan
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.planning.weakness import weakness
from rashomon_explorer.planning.wishes import wishes
from rashomon_explorer.users_line import users_line

# A context variable and not a filter of warnings: those are one list for all threads.
_SAID: ContextVar[bool] = ContextVar("_SAID", default=False)


def warn_if_weak(planned: Plan | TreePlan, what: str) -> None:
    """Warn of a plan that promises next to nothing, with what would promise more.

    ``what`` is what is weak, such as ``"this plan"``; silent where a caller says it elsewhere.

    >>> from rashomon_explorer.planning import plan
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> warn_if_weak(plan(**rows, epsilon=1.0), "this plan")
    """
    why = "" if is_said_elsewhere() else weakness(planned)
    if why:
        told = " ".join([f"{what} promises little: {why}.", *wishes(planned)])
        warnings.warn(told, WeakGuaranteeWarning, stacklevel=users_line())


def warn_of_large_delta(delta: float, n: int) -> None:
    """Warn where delta is at least 1/n; silent where a caller shows a plan's weakness itself.

    >>> warn_of_large_delta(1e-6, 10_000)
    """
    if delta * n >= 1 and not is_said_elsewhere():
        warnings.warn(
            f"delta={delta:g} is at least 1/n={1 / n:.2g}: it allows a mechanism to publish the "
            f"record of one person in {n:,}. Choose delta far below 1/n, such as "
            f"{min(1e-6, 0.01 / n):.0e}, or 0",
            LargeDeltaWarning,
            stacklevel=users_line(),
        )


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
