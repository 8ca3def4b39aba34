"""Waits last while a process gets on and end when it does not."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import Patience, until

WORK = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"


@pytest.fixture
def running() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def _start(running: list[subprocess.Popen[bytes]], code: str) -> None:
    running.append(subprocess.Popen([sys.executable, "-c", code]))


def test_work_is_waited_for_longer_than_idleness(
    running: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    answer = tmp_path / "answer"
    _start(running, WORK.format(2.5) + f"open({str(answer)!r}, 'w').write('here')")
    patience = Patience(work=60, idle=2)
    assert until(lambda: answer.exists() and answer.read_text(), "it", patience=patience) == "here"


@pytest.mark.parametrize(
    ("code", "patience", "reason"),
    [
        (
            "import time; time.sleep(900)",
            Patience(work=60, idle=2),
            "nothing happened for 2 s: the story",
        ),
        (WORK.format(1e9), Patience(work=0.5, idle=60), "0.5 s of work brought no answer"),
    ],
    ids=["idle", "spinning"],
)
def test_what_hangs_is_given_up(
    code: str, patience: Patience, reason: str, running: list[subprocess.Popen[bytes]]
) -> None:
    _start(running, code)
    with pytest.raises(pytest.fail.Exception, match=f"waited for it, but {reason}"):
        until(lambda: False, "it", lambda: "the story", patience)
