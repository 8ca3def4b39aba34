"""A page that comes after another one, and what a page's server is told of its draw."""

from pathlib import Path

import pytest

from rashomon_explorer.datasets import load_dataset
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.session import HOME_VARIABLE
from rashomon_explorer.under_way import FOLDER_VARIABLE, is_under_way, mark_under_way


@pytest.fixture
def explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    return Explorer(data=load_dataset("breast_cancer"), home=tmp_path)


def _come_back(explorer: Explorer, name: str) -> None:
    explorer.kernel_watch._asked(None, {"kind": "reopen", "name": name}, None)


def test_the_browser_is_told_what_is_on_screen(explorer: Explorer, tmp_path: Path) -> None:
    assert explorer.kernel_watch.served
    assert explorer.kernel_watch.last == "breast_cancer"
    _come_back(explorer, "diabetes")
    assert explorer.state.data.name == explorer.kernel_watch.last == "diabetes"


def test_ones_own_file_is_asked_for_again(explorer: Explorer) -> None:
    _come_back(explorer, "loans")
    assert "your own file, loans. Choose it again" in explorer.state.message
    assert explorer.kernel_watch.last == "loans"
    assert explorer.state.data.name == "breast_cancer"


def test_the_set_that_was_paid_for_meanwhile_is_found_and_opened(
    explorer: Explorer, tmp_path: Path
) -> None:
    other = Explorer(data=load_dataset("breast_cancer"), home=tmp_path)
    other.state.sampler, other.state.n_draws, other.state.epsilon = "exact", 2, 4.0
    other.draw()
    assert other.state.in_view == 1 and explorer.rashomon_set is None
    explorer.session.refresh_account()
    assert "was kept by another page" in explorer.state.message
    spent = explorer.state.account.spent
    _come_back(explorer, "breast_cancer")
    assert explorer.state.in_view == 1 and explorer.rashomon_set is not None
    assert explorer.state.account.spent == spent


def test_nothing_is_opened_during_a_draw(explorer: Explorer) -> None:
    explorer.state.phase = "drawing"
    _come_back(explorer, "diabetes")
    assert explorer.state.data.name == "breast_cancer"


def test_a_draw_is_marked_while_it_goes_on(
    explorer: Explorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv(FOLDER_VARIABLE, str(marks))
    seen = []
    explorer.state.observe(
        lambda change: seen.append((change["new"], [*marks.iterdir()] != [])), "phase"
    )
    explorer.state.sampler, explorer.state.n_draws = "exact", 1
    explorer.draw()
    assert ("reserved", True) in seen and seen[-1] == ("done", False)


def test_a_mark_is_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    mark_under_way(True)
    assert is_under_way(tmp_path, os.getpid()) and not is_under_way(tmp_path, os.getpid() + 1)
    mark_under_way(False)
    mark_under_way(False)
    assert not is_under_way(tmp_path, os.getpid())
