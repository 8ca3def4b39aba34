"""A file system that fails at one of its calls, or at which the process is killed there."""

import errno
import io
import os
import signal
from contextlib import contextmanager

import pytest

CALLS = ("open", "close", "fsync", "link", "unlink", "replace", "mkdir", "chmod", "listdir")


class Gate:
    """Counts the calls that change or flush files; `fail` is told the name of call `at`."""

    def __init__(self, at, fail):
        self.at = at
        self.calls: list[str] = []
        self._fail = fail

    def passed(self, name):
        """Count a call that is about to be made."""
        self.calls.append(name)
        if len(self.calls) == self.at:
            self._fail(name)

    @contextmanager
    def closed(self):
        """Let all calls of this process pass here."""
        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, self._watched(name, getattr(os, name)))
            patch.setattr(os, "fdopen", self._opened)
            yield self

    def _watched(self, name, call):
        def watched(*args, **kwargs):
            self.passed(name)
            return call(*args, **kwargs)

        return watched

    def _opened(self, handle, mode):
        assert mode == "wb"
        return io.BufferedWriter(_Raw(handle, self), buffer_size=2**30)


class _Raw(io.FileIO):
    """A file of which one half can be written when the failure comes."""

    def __init__(self, handle, gate):
        super().__init__(handle, "wb")
        self._gate = gate

    def write(self, content):
        half = len(content) // 2
        super().write(bytes(content[:half]))
        self._gate.passed("write")
        return half + super().write(bytes(content[half:]))


def full(name):
    """Fail as a full disk does; what is closed is closed."""
    if name != "close":
        raise OSError(errno.ENOSPC, "No space left on device")


def killed(name):
    """End the process as nobody can catch."""
    os.kill(os.getpid(), signal.SIGKILL)
