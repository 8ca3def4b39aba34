"""Which process runs which tests when there are several: whole files, what takes longest first.

The tests of one file stay together, since they share what its fixtures make. Those that start a
dashboard, a browser or an installation are run beside them, see the Makefile.
"""

import pytest

LONG = (
    "tests/estimators/test_sklearn_checks.py",
    "tests/explorer/test_session.py",
    "tests/explorer/test_app.py",
    "tests/explorer/test_orders.py",
    "tests/explorer/",
    "tests/estimators/",
)
"""Nothing long is left when the other worker is done."""


def longest_first(items: list[pytest.Item]) -> None:
    """Sort tests by their place in the list above; the rest keeps its order behind them."""
    items.sort(key=lambda item: _rank(item.nodeid))


def _rank(nodeid: str) -> int:
    return next((k for k, start in enumerate(LONG) if nodeid.startswith(start)), len(LONG))
