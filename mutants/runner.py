"""Run the tests that should notice, on a copy of the tree with one thing wrong."""

import itertools
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutants.mutation import ROOT, Mutation

_COPIED = ("rashomon_explorer", "tests", "apps", "benchmarks", "datasets", "docs")
_COPIED += (
    "pyproject.toml",
    "constraints.txt",
    "Dockerfile",
    ".dockerignore",
    "README.md",
    "LICENSE",
)
_NO_FAILURE, _FAILURE = 0, 1
_ENVIRONMENT = {"PYTHONPATH": "", "OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "laws"}
_LATER = itertools.count(4_000_000_000)  # seconds: no compiled file is taken for a changed one's


class UntestableError(RuntimeError):
    """The tests fail, or do not run, with nothing made wrong: they could catch anything."""


@dataclass(frozen=True)
class Result:
    """What became of a mutation."""

    mutation: Mutation
    caught_by: str = ""
    broken: str = ""

    @property
    def survived(self) -> bool:
        """Whether no test noticed."""
        return not self.caught_by and not self.broken


def run(mutations: list[Mutation], *, workers: int = 2, timeout: float = 300.0) -> Iterator[Result]:
    """Results in the order of the mutations, as soon as they are there.

    Parameters
    ----------
    mutations : list of Mutation
    workers : int, default=2
        Copies of the tree, each with one change at a time.
    timeout : float, default=300.0
        Seconds for the tests of one mutation; a test that no longer ends has noticed.

    Yields
    ------
    Result

    Raises
    ------
    StaleMutationError
        If a list is not up to date; nothing was run.
    UntestableError
        If a test fails on the tree as it is.
    """
    for mutation in mutations:
        mutation.applied()  # refuse a stale list before anything runs
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ExitStack() as stack:
        free: SimpleQueue[_Place] = SimpleQueue()
        for number in range(workers):
            place = _Place(_copy(Path(folder) / str(number)))
            stack.callback(place.close)
            free.put(place)
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        _check_green(mutations, free, pool, timeout)
        yield from pool.map(lambda each: _tried(each, free, timeout), mutations)


class _Place:
    """A copy of the tree and the process that runs its tests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._process: subprocess.Popen[str] | None = None

    def outcome(self, test: str, timeout: float) -> int:
        """Exit status of pytest; a run past its time counts as a failure."""
        if self._process is None:
            self._process = self._started()
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{test}\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            self.close()
            return _FAILURE
        return int(self._process.stdout.readline() or -1)

    def close(self) -> None:
        """End the process, and the test that it may be running."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            self._process = None

    def _started(self) -> "subprocess.Popen[str]":
        environment = os.environ | _ENVIRONMENT
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm.py"))],
            cwd=self.root,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )


def _copy(place: Path) -> Path:
    place.mkdir()
    for name in _COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        if source.exists():
            copy(source, place / name)
    return place


def _check_green(
    mutations: list[Mutation], free: "SimpleQueue[_Place]", pool: ThreadPoolExecutor, timeout: float
) -> None:
    def outcome(test: str) -> tuple[str, int]:
        place = free.get()
        try:
            return test, place.outcome(test, timeout)
        finally:
            free.put(place)

    tests = dict.fromkeys(test for mutation in mutations for test in mutation.tests)
    failed = [test for test, found in pool.map(outcome, tests) if found != _NO_FAILURE]
    again = [outcome(test) for test in failed]  # alone: no other run takes its time
    ended = [(test, found) for test, found in again if found != _NO_FAILURE]
    if ended:
        listed = ", ".join(f"{test} (exit status {found})" for test, found in ended)
        raise UntestableError(f"tests must pass on the unchanged tree, but these do not: {listed}")


def _tried(mutation: Mutation, free: "SimpleQueue[_Place]", timeout: float) -> Result:
    place = free.get()
    try:
        with _changed(mutation, place.root):
            for test in mutation.tests:
                found = place.outcome(test, timeout)
                if found == _FAILURE:
                    return Result(mutation, caught_by=test)
                if found != _NO_FAILURE:
                    return Result(mutation, broken=f"pytest ended with {found} on {test}")
        return Result(mutation)
    finally:
        free.put(place)


@contextmanager
def _changed(mutation: Mutation, root: Path) -> Iterator[None]:
    path = root / mutation.file
    kept, times = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(mutation.applied(root), encoding="utf-8")
    later = next(_LATER)
    os.utime(path, (later, later))
    try:
        yield
    finally:
        path.write_text(kept, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
