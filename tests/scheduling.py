"""Which process runs which tests when there are several: whole files, and processes apart.

The tests of one file stay together, since they share what its fixtures make. Those that start a
dashboard, a browser or an installation mostly wait for them: one worker has them all, so that there
is one dashboard and one browser, and two others have the files, a core each.
"""

from collections.abc import Sequence

import pytest
from xdist.scheduler import LoadScopeScheduling

# What takes longest comes first, in each list: nothing long is left when the others are done.
PROCESSES = ("tests/test_wheel.py", "tests/test_cli.py", "tests/browser/")
LONG = ("tests/estimators/test_sklearn_checks.py",)


class ByFile(LoadScopeScheduling):
    """Hands out files, and what is in `PROCESSES` as if it were one file."""

    def _split_scope(self, nodeid: str) -> str:
        return "processes" if nodeid.startswith(PROCESSES) else nodeid.split("::")[0]


def longest_first(items: list[pytest.Item]) -> None:
    """Sort tests by their place in the lists above; the rest keeps its order behind them."""
    items.sort(key=lambda item: _rank(item.nodeid, (*PROCESSES, *LONG)))


def _rank(nodeid: str, first: Sequence[str]) -> int:
    return next((k for k, start in enumerate(first) if nodeid.startswith(start)), len(first))
