"""Waits last while a process gets on and end when it does not."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
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
    _start(running, WORK.format(1.5) + f"open({str(answer)!r}, 'w').write('here')")
    patience = Patience(work=60, idle=1)
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


def _spinning(running: list[subprocess.Popen[bytes]]) -> str:
    """Start a process that works without end, and return what it is called."""
    running.append(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
    return psutil.Process(running[-1].pid).name()


def test_work_of_what_is_looked_at_is_no_progress(running: list[subprocess.Popen[bytes]]) -> None:
    """A browser works whenever it is looked at, and kept every wait for it alive."""
    name = _spinning(running)
    patience = Patience(work=60, idle=2, ignored=name)
    with pytest.raises(pytest.fail.Exception, match=f"nothing happened for 2 s.*worked: {name} "):
        until(lambda: False, "it", patience=patience)


def test_it_is_progress_where_nobody_said_otherwise(
    running: list[subprocess.Popen[bytes]],
) -> None:
    """Negative control: the same process counts, up to the work that is allowed."""
    _spinning(running)
    patience = Patience(work=1.5, idle=1, ignored="chrom")
    with pytest.raises(pytest.fail.Exception, match=r"1\.5 s of work brought no answer"):
        until(lambda: False, "it", patience=patience)


def test_a_page_that_changes_gets_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else works: six changes, one that cannot be read, and then no more."""
    seconds = iter(range(100))
    monkeypatch.setattr("tests.patience.time.monotonic", lambda: float(next(seconds)))
    states = iter([0, 1, 1, 2, None, 3, 4, 4, 4, 4])
    patience = Patience(idle=2, state=lambda: next(states))
    patience.start()
    assert [patience.spent() for _ in range(9)] == [None] * 9
    assert patience.spent() == "nothing happened for 2 s"


def test_a_look_that_takes_long_counts_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too busy to answer is not idle: ten looks of an hour are twenty seconds."""
    hours = iter(range(0, 10**6, 3600))
    monkeypatch.setattr("tests.patience.time.monotonic", lambda: float(next(hours)))
    patience = Patience(idle=20)
    patience.start()
    assert [patience.spent() for _ in range(10)] == [None] * 10
    assert patience.spent() == "nothing happened for 20 s"


def _wall_clocks(source: str) -> list[str]:
    """Where `source` reads a clock that goes on while other work has the processor."""
    if not re.search(r"\btime\.|from time\b", source):
        return []
    clocks = {"time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns"}
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if (
            isinstance(node, ast.Attribute)
            and node.attr in clocks
            and isinstance(node.value, ast.Name)
            and node.value.id == "time"
        )
        or (isinstance(node, ast.ImportFrom) and node.module == "time")
    ]


def test_no_test_reads_the_wall_clock() -> None:
    """Nor asserts how long anything took, which is for the machine to say."""
    tests = Path(__file__).parent
    found = {
        str(path.relative_to(tests)): _wall_clocks(path.read_text(encoding="utf-8"))
        for path in tests.rglob("*.py")
        if path.name != "patience.py"
    }
    assert {name: places for name, places in found.items() if places} == {}


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import time\nassert time.monotonic() - start < 1", True),
        ("from time import perf_counter", True),
        ("import time\ntime.sleep(1)\ntime.process_time()", False),
    ],
)
def test_the_wall_clock_is_seen(source: str, seen: bool) -> None:
    assert bool(_wall_clocks(source)) == seen
