"""Waits last while a process gets on and end when it does not."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.patience import Patience, until

WORK = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start():
    processes = []

    def started(*command):
        processes.append(subprocess.Popen(command))
        return processes[-1]

    yield started
    for process in processes:
        process.kill()
        process.wait()


def test_work_is_waited_for_longer_than_idleness(start, tmp_path):
    answer = tmp_path / "answer"
    start(sys.executable, "-c", WORK.format(1.5) + f"open({str(answer)!r}, 'w').write('here')")
    patience = Patience(work=60, idle=1)
    assert until(lambda: answer.exists() and answer.read_text(), "it", patience=patience) == "here"


SHELL = ("sh", "-c", "while :; do :; done")


@pytest.mark.parametrize(
    ("command", "patience", "reason"),
    [
        (("sleep", "900"), {"work": 60, "idle": 2}, "nothing happened for 2 s: the story"),
        (SHELL, {"work": 0.5, "idle": 60}, "0.5 s of work brought no answer"),
        # A browser works whenever it is looked at, so that its own work is no progress …
        (SHELL, {"work": 60, "idle": 2, "ignored": "{name}"}, "nothing happened for 2 s.*{name} "),
        # … while that of the same process counts if it is not ignored.
        (SHELL, {"work": 1.5, "idle": 1, "ignored": "chrom"}, r"1\.5 s of work brought no answer"),
    ],
    ids=["idle", "spinning", "ignored", "counted"],
)
def test_what_hangs_is_given_up(command, patience, reason, start):
    name = psutil.Process(start(*command).pid).name()
    if patience.get("ignored") == "{name}":
        patience = {**patience, "ignored": name}
    with pytest.raises(
        pytest.fail.Exception, match="waited for it, but " + reason.format(name=name)
    ):
        until(lambda: False, "it", lambda: "the story", Patience(**patience))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("second", "states", "idle"),
    [
        (1, [0, 1, 1, 2, None, 3, 4, 4, 4, 4], 2),  # a page that changes gets on, until it stops
        (3600, [None] * 11, 20),  # what is too busy to answer is not idle: an hour counts as 2 s
    ],
)
def test_progress_and_long_looks(second, states, idle, monkeypatch):
    seconds, found = iter(range(0, 10**6, second)), iter(states)
    monkeypatch.setattr("tests.patience.time.monotonic", lambda: float(next(seconds)))
    patience = Patience(idle=idle, state=lambda: next(found))
    patience.start()
    assert [patience.spent() for _ in states[1:]] == [None] * (len(states) - 1)
    assert patience.spent() == f"nothing happened for {idle} s"


WALL_CLOCK = re.compile(r"(?<![\w.])time\.(time|monotonic|perf_counter)(_ns)?\b|\bfrom time import")
"""Clocks that go on while other work has the processor."""


def test_no_test_reads_the_wall_clock():
    """Nor asserts how long anything took, which is for the machine to say."""
    tests = {path.name: path for path in Path(__file__).parent.rglob("*patience.py")}
    others = [path for path in Path(__file__).parent.rglob("*.py") if path.name not in tests]
    assert [path.name for path in others if WALL_CLOCK.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import time\nassert time.monotonic() - start < 1", True),
        ("from time import perf_counter", True),
        ("import time\ntime.sleep(1)\ntime.process_time()", False),
    ],
)
def test_the_wall_clock_is_seen(source, seen):
    assert bool(WALL_CLOCK.search(source)) == seen
