"""Where an error arose, without its message: messages of other libraries can quote cells."""

import errno
import logging
from collections.abc import Iterator
from traceback import walk_tb

_MOST_CHAINED = 20


def places(error: BaseException) -> str:
    """Describe an error by the types and code places of its chain, the cause first.

    Neither messages nor lines of source are shown.

    >>> try:
    ...     float("HIV positive")
    ... except ValueError as error:
    ...     print(places(error).splitlines()[-1])
    ValueError (message withheld)
    """
    return "\n".join(line for one in _chain(error) for line in _described(one))


def without_messages(record: logging.LogRecord) -> bool:
    """Filter of a logger that puts `places` in the place of a trace."""
    if record.exc_info and record.exc_info[1] is not None:
        record.exc_text = places(record.exc_info[1])
    record.exc_info = None
    return True


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and what led to it, first cause first."""
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
