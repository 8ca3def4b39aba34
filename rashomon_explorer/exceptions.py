"""Exceptions and warnings of the package."""

from __future__ import annotations

import errno
import functools
import logging
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from typing import ClassVar


class DataError(ValueError):
    """The rows are invalid; the message names the column or line and what to correct."""


class RowsChangedError(DataError):
    """The rows changed after processing began."""


# FileNotFoundError first: in the other order no instance can be made from a pickle.
class RowsGoneError(FileNotFoundError, RowsChangedError):
    """A file of the rows was removed or is no longer readable."""


class ClusterError(RuntimeError):
    """Workers were lost during a computation; the message states the consequences."""


class MemoryLimitError(MemoryError):
    """Not enough memory to process the rows; the message states how much is needed."""


class SamplerError(RuntimeError):
    """A sampler cannot draw from this target; the message names the setting to change."""


class EnvelopeError(SamplerError):
    """A certified envelope was found above the loss: the draws would not be exact."""


class FitError(SamplerError, ValueError):
    """Work on private rows failed after its privacy cost was charged; the cost stays spent."""

    MESSAGE: ClassVar[str] = (
        "this failed after its privacy cost was charged, and the cost stays spent. The reason may "
        "depend on private rows and is withheld here; the message is the same for every cause: "
        "NaN or "
        "infinity, text where a number belongs, an undeclared label, rows from which exact draws "
        "are impossible with these settings, a failed callback, or a stop before "
        "the first draw. Only the curator may read the reason in error.detail, and check rows "
        "before a charge with an estimator's check_rows(X, y)"
    )

    def __init__(self, detail: str = "") -> None:
        super().__init__(self.MESSAGE)
        self.detail = detail

    def __reduce__(self) -> tuple[type[FitError], tuple[str]]:
        """Pickle the reason too, so that an error in a worker reaches the curator."""
        return type(self), (self.detail,)


class LedgerError(RuntimeError):
    """The privacy ledger cannot be opened or written."""


class BudgetExceededError(LedgerError):
    """A charge would pass the ledger's budget; nothing was run and nothing was spent."""


class CuratorOnlyError(AttributeError):
    """A value computed from private rows was requested from an object meant for release."""


class MissingAnswerError(AttributeError, TypeError, ValueError):
    """An audit has no answer of this kind; the message states what it needs."""


class PrivacyLeakWarning(UserWarning):
    """A bound was computed from the rows, so no privacy guarantee holds."""


class SameTableWarning(UserWarning):
    """A table was charged to two ledgers, whose budgets add up (curator information)."""


class LedgerWarning(UserWarning):
    """A ledger does less than may be expected; the message states what."""


class RowsClippedWarning(UserWarning):
    """More than 1 % of rows or targets were outside a declared bound and were clipped (curator)."""


class UndeclaredValueWarning(UserWarning):
    """More than 1 % of rows have a value that their schema does not declare (curator)."""


class WeakGuaranteeWarning(UserWarning):
    """The guarantee at these public numbers is so weak that draws may be useless for any rows."""


class LargeDeltaWarning(WeakGuaranteeWarning):
    """delta is 1/n or more: the guarantee would allow the publication of one person's record."""


class HiddenAnswerWarning(WeakGuaranteeWarning):
    """The noise of a planned release hides answers whatever the rows say; nothing is spent yet."""


class HopelessDrawWarning(UserWarning):
    """Exact draws fail on simulated rows of this shape: the privacy cost may be spent in vain."""


class SlowDrawWarning(UserWarning):
    """Draws on simulated rows of this shape took over a minute; the message states how long."""


class RadiusBindsWarning(UserWarning):
    """The Rashomon set reaches the ball's boundary: models beyond it are excluded (curator)."""


_ABOVE = ("sklearn", "joblib")

# Frames of scikit-learn, and of joblib for transformers, lie between a user's ``pipeline.fit``
# and a warning of this package. Their paths are found without importing them, which is slow.
_INSIDE = (
    *(str(Path(str(found.origin)).parent) for found in map(find_spec, _ABOVE) if found),
    str(Path(__file__).parent),
    functools.__file__,
)


def warn_stacklevel() -> int:
    """``stacklevel`` with which a warning refers to the line that called the package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
        level += 1
    return level


_MOST_CHAINED = 20


def places(error: BaseException) -> str:
    """Return the exception types and code positions of an error's chain, the cause first."""
    return "\n".join(line for one in _chain(error) for line in _described(one))


def without_messages(record: logging.LogRecord) -> bool:
    """Replace the traceback in a log record with `places`; a filter for loggers."""
    if record.exc_info and record.exc_info[1] is not None:
        record.exc_text = places(record.exc_info[1])
    record.exc_info = None
    return True


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and its causes, the first cause first."""
    chain: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and len(chain) < _MOST_CHAINED and all(one is not of for of in chain):
        chain.append(one)
        hidden = one.__suppress_context__ or one.__cause__ is not None
        one = one.__cause__ if hidden else one.__context__
    return chain[::-1]


def _described(error: BaseException) -> Iterator[str]:
    for frame, line in walk_tb(error.__traceback__):
        yield f"  {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    number = errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else ""
    yield f"{name} ({f'{number}, ' if number else ''}message withheld)"
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _described(part)
