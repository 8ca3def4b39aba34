"""A share of the laws: what runs of them at each commit, so that many commits run them all.

``make laws SHARE=3/40`` loads this file as a plugin. The id of a law alone says which share it is
in: it stays there whatever else is written, added or run. The laws of one file in a browser are the
steps of one visit, so the file's name says it for all of them.
"""

import re
from hashlib import sha256

import pytest


def read(words):
    """``"3/40"`` is the third of forty shares."""
    found = re.fullmatch(r"(\d+)/(\d+)", words)
    share, shares = map(int, found.groups()) if found else (0, 0)
    if not 1 <= share <= shares:
        raise pytest.UsageError(f"a share is k/N with 1 <= k <= N, as in SHARE=3/40; got {words!r}")
    return share, shares


def share_of(nodeid, shares):
    """In which of the shares, counted from one, a test is."""
    return int.from_bytes(sha256(nodeid.encode()).digest()[:8], "big") % shares + 1


def pytest_addoption(parser):
    parser.addoption("--share", metavar="k/N", default="1/1", help="run the k-th of N shares")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep one share of what the marks have left."""
    share, shares = read(config.getoption("--share"))
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        visit = item.get_closest_marker("browser") is not None
        name = item.nodeid.partition("::")[0] if visit else item.nodeid
        (chosen if share_of(name, shares) == share else others).append(item)
    if others:
        config.hook.pytest_deselected(items=others)
    items[:] = chosen
