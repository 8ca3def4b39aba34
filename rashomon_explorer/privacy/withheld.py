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


def may_fail(what: str, *, charged: bool) -> str:
    """Say that some rows make work fail, which is seen; there is no bound, for some always do.

    Parameters
    ----------
    what : str
        What may fail.
    charged : bool
        Whether a ledger is charged, so that the error says no more than that.

    Examples
    --------
    >>> may_fail("fit", charged=True)
    'the fit returned: rows not finite or labels not declared make it fail'
    """
    error = "" if charged else ", with an error that only the curator may see"
    return f"the {what} returned: rows not finite or labels not declared make it fail{error}"
