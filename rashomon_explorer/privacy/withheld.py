"""Run work on private rows so that a failure says no more than that it happened."""

from collections.abc import Callable
from typing import TypeVar

from rashomon_explorer.exceptions import FitError

T = TypeVar("T")


def withheld(work: Callable[[], T]) -> T:
    """Return what ``work`` returns; whatever it raises becomes one error without a reason.

    An exception is an output: its type, its words and the lines of its traceback may all depend on
    rows. The error that takes its place is raised outside the handler, so that nothing is chained
    to it, neither printed nor kept.

    Parameters
    ----------
    work : callable
        Reads private rows; its price was charged before.

    Raises
    ------
    FitError
        If the work raises an exception. Lack of memory passes through, and so do requests to end
        the process.

    Examples
    --------
    >>> withheld(lambda: 1 + 1)
    2
    >>> try:
    ...     withheld(lambda: {}["HIV"])
    ... except FitError as error:
    ...     "HIV" in str(error), error.__context__, error.detail
    (False, None, "KeyError: 'HIV'")
    """
    try:
        return work()
    except MemoryError:
        raise
    except Exception as error:
        reason = error.detail if isinstance(error, FitError) else f"{type(error).__name__}: {error}"
    raise FitError(reason)
