"""Many small cases of one claim as one test, which names every case that fails.

A test costs pytest more than such a case does.
"""

import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each(cases: Iterable[Any], check: Callable[..., Any], name: Callable[[Any], str] = str) -> None:
    """Check every case, then fail with the names of those that do not hold and why.

    A tuple is passed as several arguments. That there are no cases at all is a failure, too.
    """
    tried, failed = 0, []
    for case in cases:
        tried += 1
        try:
            check(*case) if isinstance(case, tuple) else check(case)
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{name(case)}: {_told(error)}")
    assert tried, "no case to check"
    if failed:
        told = "\n".join(failed)
        pytest.fail(f"{len(failed)} of {tried} cases:\n{told}", pytrace=False)


def _told(error: BaseException) -> str:
    """Where it failed, and what pytest or the error itself says of it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = "".join(traceback.format_exception_only(error)).strip()
    return f"{place.name}, line {place.lineno}: {words}"
