"""Waiting for other processes for as long as they get on, however busy the machine is.

A wait that counts seconds fails where the machine has other work. These count what the processes
started here have done: a wait ends when they have worked for much longer than the answer can take,
or when they have done next to nothing for a while, and it says what they did.
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

_LOOK, _RARELY = 0.05, 1.0
_NEXT_TO_NOTHING = 0.01
"""The part of a core that idle kernels, servers and pages use with their heartbeats."""
_ONE_LOOK = 2.0
"""Seconds that one look counts for at most, when what was looked at was too busy to answer."""


@dataclass
class Patience:
    """How long to wait for the processes that this one has started."""

    work: float = 60.0  # seconds of processor time after which an answer is overdue
    idle: float = 60.0  # seconds without progress after which none will come
    least: float = _NEXT_TO_NOTHING  # share of a core below which a process only keeps itself alive
    # Beginning of the names of processes whose work is no progress: a browser works whenever it is
    # looked at, so that a wait for a page would keep itself alive.
    ignored: str = ""
    # Returns what changes when there is progress; None where that cannot be read.
    state: Callable[[], Any] = lambda: None
    _used: dict[int, tuple[str, float]] = field(default_factory=dict)
    _by_name: dict[str, float] = field(default_factory=dict)
    _done: float = 0.0
    _mark: float = 0.0
    _still: float = 0.0
    _looked: float = 0.0
    _began: float = 0.0
    _state: Any = None

    def start(self):
        """Count from now on."""
        self._used, self._by_name = processor_seconds(), {}
        self._done = self._mark = self._still = 0.0
        self._began = self._looked = time.monotonic()
        self._state = None

    def spent(self):
        """Say why there is no sense in waiting on, if there is none."""
        now, state = time.monotonic(), self.state()
        self._count_work()
        changed = state is not None and state != self._state
        if changed or self._done - self._mark > self.least * self.idle:
            self._mark, self._still = self._done, 0.0
            self._state = state if changed else self._state
        else:
            self._still += min(now - self._looked, _ONE_LOOK)
        self._looked = now
        if self._still > self.idle:
            return f"nothing happened for {self.idle:g} s"
        return f"{self.work:g} s of work brought no answer" if self._done > self.work else None

    def seen(self):
        """Say how long the wait was, and which processes have worked."""
        worked = sorted(self._by_name.items(), key=lambda one: -one[1])
        told = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in worked if seconds > 0)
        waited = time.monotonic() - self._began
        return f"{waited:.0f} s, in which worked: {told or 'no process'}"

    def _count_work(self):
        used = processor_seconds()
        for pid, (name, seconds) in used.items():
            more = max(0.0, seconds - self._used.get(pid, (name, 0.0))[1])
            self._by_name[name] = self._by_name.get(name, 0.0) + more
            if not (self.ignored and name.startswith(self.ignored)):
                self._done += more
        self._used = used


def until(condition, what, story=lambda: "", patience=None):
    """Wait for `condition` to return something true and return that; fail with `story` if not.

    It is looked at less and less often: what is looked at works, too.
    """
    patience = patience or Patience()
    patience.start()
    began = looked = time.monotonic()
    while not (result := condition()):
        now = time.monotonic()
        if now - looked > _RARELY:
            looked = now
            if reason := patience.spent():
                told = f"waited for {what}, but {reason}: {story()} ({patience.seen()})"
                pytest.fail(told, pytrace=False)
        time.sleep(min(max(_LOOK, (now - began) / 20), _RARELY))
    return result


def processor_time(call, times=3):
    """Seconds that a processor needs for a call, other work aside: the least of a few."""
    needed = []
    for _ in range(times):
        before = time.process_time()
        call()
        needed.append(time.process_time() - before)
    return min(needed)


def processor_seconds():
    """Name and processor time of each process that descends from this one."""
    used = {}
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            name, times = process.name(), process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used[process.pid] = name, times.user + times.system
    return used
