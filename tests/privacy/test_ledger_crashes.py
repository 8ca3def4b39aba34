"""However processes race and die, no acknowledged charge is lost and no budget is exceeded."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rashomon_explorer
from rashomon_explorer.privacy import Ledger, adaptive_epsilon
from tests.patience import LONG

SCRIPT = Path(__file__).with_name("ledger_killing.py")
LEDGERS = 8
RANK = ["reserved", "started", "committed"]


class Killer:
    """The script as a process, which answers one question after the other."""

    def __init__(self) -> None:
        # A script finds what is installed first, which need not be what is tested.
        place = {**os.environ, "PYTHONPATH": str(Path(rashomon_explorer.__file__).parents[1])}
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=place,
        )

    def run(self, ledger: Ledger, workers: int, kills: int, seed: int) -> dict[str, Any]:
        """Let the script do it, and return what it tells."""
        assert self._process.stdin is not None and self._process.stdout is not None
        words = json.dumps([str(ledger.path), workers, kills, seed])
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            pytest.fail(self._process.communicate(timeout=LONG)[1])
        told: dict[str, Any] = json.loads(answer)
        return told

    def end(self) -> None:
        """Let it end, which it must without a word."""
        try:
            _, errors = self._process.communicate(timeout=LONG)
        finally:
            self._process.kill()
        assert (self._process.returncode, errors) == (0, "")


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    """One for all tests, because a process that imports the package takes longer than a race."""
    started = Killer()
    yield started
    started.end()


@pytest.mark.parametrize(("workers", "kills"), [(1, 8), (3, 6)])
def test_kill_9_at_a_random_moment_loses_nothing(
    killer: Killer, tmp_path: Path, workers: int, kills: int
) -> None:
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=100.0, delta=1e-6)
    told = killer.run(ledger, workers, kills, seed=kills)
    assert told["words"]
    _check(ledger, told)
    assert ledger.remaining > 0  # or the kills would have met idle processes


@pytest.mark.law
@pytest.mark.timeout(1200)  # a machine that is busy otherwise takes its time
def test_a_thousand_kills_lose_nothing_whatever_they_interrupt(tmp_path: Path) -> None:
    """Several ledgers at once, because most of the time goes into waiting for the disk."""
    ledgers = [
        Ledger.create(tmp_path / f"{k}.ledger", epsilon=100.0, delta=1e-6) for k in range(LEDGERS)
    ]
    killers = [Killer() for _ in ledgers]
    with ThreadPoolExecutor(LEDGERS) as pool:
        runs = list(
            pool.map(
                lambda k: killers[k].run(ledgers[k], 2, 1000 // LEDGERS, seed=k), range(LEDGERS)
            )
        )
    for one in killers:
        one.end()
    hit: Counter[str] = Counter()
    for ledger, told in zip(ledgers, runs, strict=True):
        _check(ledger, told)
        assert ledger.remaining > 0
        hit.update(told["hit"])
    assert hit.total() == 1000
    assert min(hit[call] for call in ("reserving", "starting", "committing", "voiding")) >= 10


@pytest.mark.parametrize(
    ("workers", "kills", "epsilon"),
    [(4, 0, 0.01), (4, 6, 0.01), pytest.param(8, 100, 0.1, marks=pytest.mark.law)],
)
def test_a_race_ends_at_the_budget(
    killer: Killer, tmp_path: Path, workers: int, kills: int, epsilon: float
) -> None:
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=epsilon, delta=1e-6)
    _check(ledger, killer.run(ledger, workers, kills, seed=workers))
    _check(ledger, killer.run(ledger, workers, 0, seed=workers + 1))
    assert ledger.remaining < 0.002


def _check(ledger: Ledger, told: dict[str, Any]) -> None:
    ledger.check()
    entries = {entry.id: entry for entry in ledger.entries()}
    assert list(entries) == list(range(1, len(entries) + 1))
    assert "failed" not in [word for word, _, _ in told["words"]]
    tried = {int(number) for word, number, _ in told["words"] if word == "voiding"}
    for word, number, _ in told["words"]:
        if word == "voided":
            assert entries[int(number)].state == "voided"
        elif word in RANK and int(number) not in tried:
            assert RANK.index(entries[int(number)].state) >= RANK.index(word)
    kept = [e.guarantee for e in entries.values() if e.counts]
    spent = adaptive_epsilon(kept, 1e-6, order=ledger.order)
    assert ledger.spent() == spent
    assert max(told["most"], spent) <= told["budget"][0] * (1 + 1e-9)
