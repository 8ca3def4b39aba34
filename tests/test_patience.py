"""Waits last while a process gets on and end when it does not."""

import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.patience import Patience, until

WORK = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"


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
    start(sys.executable, "-c", WORK.format(1.2) + f"open({str(answer)!r}, 'w').write('here')")
    patience = Patience(work=60, idle=1)
    assert until(lambda: answer.exists() and answer.read_text(), "it", patience=patience) == "here"


SHELL = ("sh", "-c", "while :; do :; done")


@pytest.mark.parametrize(
    ("command", "patience", "reason"),
    [
        (("sleep", "900"), {"work": 60, "idle": 1}, "nothing happened for 1 s: the story"),
        # A browser works whenever it is looked at, so that its own work is no progress …
        (SHELL, {"work": 60, "idle": 1, "ignored": "{name}"}, "nothing happened for 1 s.*{name} "),
        # … while that of the same process counts if it is not ignored, and ends the wait, too.
        (SHELL, {"work": 0.5, "idle": 1, "ignored": "chrom"}, r"0\.5 s of work brought no answer"),
    ],
    ids=["idle", "ignored", "counted"],
)
def test_what_hangs_is_given_up(command, patience, reason, start):
    name = psutil.Process(start(*command).pid).name()
    if patience.get("ignored") == "{name}":
        patience = {**patience, "ignored": name}
    with pytest.raises(
        pytest.fail.Exception, match="waited for it, but " + reason.format(name=name)
    ):
        until(lambda: False, "it", lambda: "the story", Patience(**patience))  # type: ignore[arg-type]


WALL_CLOCK = re.compile(r"(?<![\w.])time\.(time|monotonic|perf_counter)(_ns)?\b|\bfrom time import")
"""Clocks that go on while other work has the processor."""


def test_no_test_reads_the_wall_clock():
    """Nor asserts how long anything took, which is for the machine to say."""
    tests = {path.name: path for path in Path(__file__).parent.rglob("*patience.py")}
    others = [path for path in Path(__file__).parent.rglob("*.py") if path.name not in tests]
    assert [path.name for path in others if WALL_CLOCK.search(path.read_text("utf-8"))] == []
    assert WALL_CLOCK.search("assert time.monotonic() - start < 1")
    assert not WALL_CLOCK.search("time.sleep(1), time.process_time()")
