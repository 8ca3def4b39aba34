"""Processor seconds of each folder of tests, printed when they end: a plugin of `make test`.

Those of processes that a test starts and waits for count as its own.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

_seconds: Counter[str] = Counter()


def used():
    """Processor seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def folder(path, root):
    """``tests/data`` or ``rashomon_explorer``: where a test is counted."""
    parts = Path(path).relative_to(root).parts
    return "/".join(parts[: 2 if parts[0] == "tests" and len(parts) > 2 else 1])


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    before = used()
    _seconds["start"] += before
    try:
        return (yield)
    finally:
        _seconds["collection"] += used() - before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = used()
    try:
        return (yield)
    finally:
        _seconds[folder(item.path, item.config.rootpath)] += used() - before


def pytest_sessionfinish(session):
    """Hand a worker's seconds to the process that started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["processor"] = dict(_seconds)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Add the seconds of a worker that ended."""
    _seconds.update(getattr(node, "workeroutput", {}).get("processor", {}))


def pytest_terminal_summary(terminalreporter):
    """Print the seconds, the most first."""
    terminalreporter.section(f"{sum(_seconds.values()):.0f} processor seconds")
    for name, seconds in _seconds.most_common():
        terminalreporter.write_line(f"{seconds:8.1f} s  {name}")
