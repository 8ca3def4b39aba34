"""The shares of the laws are all of them, each in one, and stay as they are."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import shares

IDS = [f"tests/a.py::test_it[{k}]" for k in range(400)]


def _item(name: str) -> SimpleNamespace:
    in_browser = name.startswith("tests/browser/")
    return SimpleNamespace(nodeid=name, get_closest_marker=lambda _: in_browser or None)


def _kept(share: str, names: list[str] = IDS) -> list[str]:
    gone: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    config: Any = SimpleNamespace(getoption=lambda _: share, hook=hook)
    items: list[Any] = [_item(name) for name in names]
    shares.pytest_collection_modifyitems(config, items)
    assert len(items) + len(gone) == len(names)
    return [item.nodeid for item in items]


def test_every_law_is_in_one_share() -> None:
    parts = [_kept(f"{k}/8") for k in range(1, 9)]
    assert sorted(name for part in parts for name in part) == sorted(IDS)
    assert all(25 <= len(part) <= 80 for part in parts)
    assert _kept("1/1") == IDS


def test_a_law_stays_in_its_share_whatever_else_there_is() -> None:
    assert [shares.share_of(name, 40) for name in IDS[:4]] == [34, 18, 27, 14]


def test_the_laws_of_one_visit_in_a_browser_stay_together() -> None:
    visit = [f"tests/browser/test_visit.py::test_step_{k}" for k in range(20)]
    assert sorted(len(_kept(f"{k}/8", visit)) for k in range(1, 9)) == [0] * 7 + [20]


@pytest.mark.parametrize("words", ["0/4", "5/4", "4", "a/b", "1/0", "-1/3", ""])
def test_what_is_no_share_is_refused(words: str) -> None:
    with pytest.raises(pytest.UsageError, match="k/N"):
        shares.read(words)


@pytest.mark.parametrize("failed", [0, 2])
def test_the_end_says_how_to_repeat_it(failed: int) -> None:
    told: list[str] = []
    stats = {"passed": [1] * 5, "failed": [1] * failed}
    reporter = SimpleNamespace(stats=stats, write_line=lambda line, **_: told.append(line))
    config: Any = SimpleNamespace(getoption=lambda _: "3/40")
    shares.pytest_terminal_summary(reporter, config)
    assert f"{5 + failed} laws" in told[0] and "make laws SHARE=3/40" in told[0]
    assert len(told) == (2 if failed else 1)
