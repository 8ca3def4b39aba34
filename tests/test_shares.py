"""Grids lose no combination, and the shares of the laws are all of them, each in one."""

import itertools
from types import SimpleNamespace

import pytest

from tests import shares
from tests.crossing import crossed

AXES = {"loss": ["a", "b", "c", "d"], "beta, psi": [(1.0, 0.0), (2.0, 0.5)], "ridge": [0.0, 0.3, 9]}


def test_every_combination_is_there_and_every_value_runs_always():
    (names, cases) = crossed(AXES).args
    assert names == ["loss", "beta", "psi", "ridge"]
    every = {(a, *b, c) for a, b, c in itertools.product(*AXES.values())}
    assert {case.values for case in cases} == every and len(cases) == len(every)
    always = [case.values for case in cases if not case.marks]
    assert len(always) == 4
    for place, name in enumerate(names):
        assert {case[place] for case in always} == {case[place] for case in every}, name
    assert len({case.id for case in cases}) == len(cases)


IDS = [f"tests/a.py::test_it[{k}]" for k in range(400)]
VISIT = [f"tests/browser/test_visit.py::test_step_{k}" for k in range(20)]


def _of_share(share, names):
    gone = []
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    config = SimpleNamespace(getoption=lambda _: share, hook=hook)
    browser = lambda name: lambda _: name.startswith("tests/browser/") or None  # noqa: E731
    items = [SimpleNamespace(nodeid=n, get_closest_marker=browser(n)) for n in names]
    shares.pytest_collection_modifyitems(config, items)
    assert len(items) + len(gone) == len(names)
    return [item.nodeid for item in items]


def test_every_law_is_in_one_share_and_a_visit_stays_together():
    parts = [_of_share(f"{k}/8", IDS) for k in range(1, 9)]
    assert sorted(name for part in parts for name in part) == sorted(IDS)
    assert all(25 <= len(part) <= 80 for part in parts)
    assert _of_share("1/1", IDS) == IDS
    assert sorted(len(_of_share(f"{k}/8", VISIT)) for k in range(1, 9)) == [0] * 7 + [20]


def test_a_law_stays_in_its_share_whatever_else_there_is():
    assert [shares.share_of(name, 40) for name in IDS[:4]] == [34, 18, 27, 14]


def test_what_is_no_share_is_refused():
    for words in ("0/4", "5/4", "4", "a/b", "1/0", "-1/3", ""):
        with pytest.raises(pytest.UsageError, match="k/N"):
            shares.read(words)
