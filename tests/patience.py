"""Waiting for other processes for as long as they get on, however busy the machine is.

A wait that counts seconds fails where the machine has other work. These count what the processes
started here have done: a wait ends when they have worked for much longer than the answer can take,
or when they have done next to nothing for a while.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psutil
import pytest

T = TypeVar("T")

LONG = 900.0
"""Seconds for calls of libraries that count nothing else; the limit of a test comes before."""

_LOOK = 0.05
_NEXT_TO_NOTHING = 0.01
"""The part of a core that idle kernels, servers and pages use with their heartbeats."""


@dataclass
class Patience:
    """How long to wait for the processes that this one has started.

    Attributes
    ----------
    work : float
        Seconds of processor time after which an answer is overdue.
    idle : float
        Seconds without work after which none will come.
    """

    work: float = 60.0
    idle: float = 60.0
    _used: dict[int, float] = field(default_factory=dict)
    _done: float = 0.0
    _mark: tuple[float, float] = (0.0, 0.0)

    def start(self) -> None:
        """Count from now on."""
        self._used, self._done = processor_seconds(), 0.0
        self._mark = (time.monotonic(), 0.0)

    def spent(self) -> str | None:
        """Say why there is no sense in waiting on, if there is none."""
        now, used = time.monotonic(), processor_seconds()
        self._done += sum(max(0.0, used[pid] - self._used.get(pid, 0.0)) for pid in used)
        self._used = used
        since, done = self._mark
        if self._done - done > _NEXT_TO_NOTHING * self.idle:
            self._mark = (now, self._done)
        elif now - since > self.idle:
            return f"nothing happened for {self.idle:g} s"
        return f"{self.work:g} s of work brought no answer" if self._done > self.work else None


def until(
    condition: Callable[[], T],
    what: str,
    story: Callable[[], Any] = lambda: "",
    patience: Patience | None = None,
) -> T:
    """Wait for `condition` to return something true and return that; fail with `story` if not."""
    patience = patience or Patience()
    patience.start()
    looked = time.monotonic()
    while not (result := condition()):
        if time.monotonic() - looked > 1:
            looked = time.monotonic()
            if reason := patience.spent():
                pytest.fail(f"waited for {what}, but {reason}: {story()}", pytrace=False)
        time.sleep(_LOOK)
    return result


def processor_time(call: Callable[[], Any], times: int = 3) -> float:
    """Seconds that a processor needs for a call, other work aside: the least of a few."""
    needed = []
    for _ in range(times):
        before = time.process_time()
        call()
        needed.append(time.process_time() - before)
    return min(needed)


def processor_seconds() -> dict[int, float]:
    """Processor time of each process that descends from this one."""
    used = {}
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used[process.pid] = times.user + times.system
    return used
