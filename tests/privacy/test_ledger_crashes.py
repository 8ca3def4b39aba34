"""However processes race and die, no acknowledged charge is lost and no budget is exceeded."""

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import rashomon_explorer
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.privacy.ledger.totals import running_epsilon
from tests.patience import LONG

SCRIPT = Path(__file__).with_name("ledger_killing.py")
LEDGERS = 8
RANK = ["reserved", "started", "committed"]


def kill(ledger, workers, kills, seed):
    """Run the script, which ends without an error, and check the ledger against its answer."""
    # A script finds what is installed first, which need not be what is tested.
    place = {**os.environ, "PYTHONPATH": str(Path(rashomon_explorer.__file__).parents[1])}
    words = [sys.executable, str(SCRIPT), *map(str, (ledger.path, workers, kills, seed))]
    done = subprocess.run(
        words, capture_output=True, text=True, env=place, timeout=LONG, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    _check(ledger, answer)
    return answer


@pytest.mark.parametrize(("workers", "kills"), [(1, 4), pytest.param(3, 6, marks=pytest.mark.law)])
def test_kill_9_at_a_random_moment_loses_nothing(tmp_path, workers, kills):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=100.0, delta=1e-6)
    assert kill(ledger, workers, kills, seed=kills)["words"]
    assert ledger.remaining > 0  # or the kills would have met idle processes


@pytest.mark.law
@pytest.mark.timeout(1200)  # a machine that is busy otherwise takes its time
def test_a_thousand_kills_lose_nothing_whatever_they_interrupt(tmp_path):
    """Several ledgers at once, because most of the time goes into waiting for the disk."""

    def run(k):
        ledger = Ledger.create(tmp_path / f"{k}.ledger", epsilon=100.0, delta=1e-6)
        answer = kill(ledger, 2, 1000 // LEDGERS, seed=k)
        assert ledger.remaining > 0
        return Counter(answer["hit"])

    with ThreadPoolExecutor(LEDGERS) as pool:
        hit = sum(pool.map(run, range(LEDGERS)), Counter())
    assert hit.total() == 1000
    assert min(hit[call] for call in ("reserving", "starting", "committing", "voiding")) >= 10


@pytest.mark.parametrize(
    ("workers", "kills", "epsilon"),
    [
        (2, 0, 0.005),
        *(pytest.param(*many, marks=pytest.mark.law) for many in ((4, 6, 0.01), (8, 100, 0.1))),
    ],
)
def test_a_race_ends_at_the_budget(tmp_path, workers, kills, epsilon):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=epsilon, delta=1e-6)
    kill(ledger, workers, kills, seed=workers)
    kill(ledger, workers, 0, seed=workers + 1)
    assert ledger.remaining < 0.002


def _check(ledger, answer):
    ledger.check()
    entries = {entry.id: entry for entry in ledger.entries()}
    assert list(entries) == list(range(1, len(entries) + 1))
    assert "failed" not in [word for word, _, _ in answer["words"]]
    tried = {int(number) for word, number, _ in answer["words"] if word == "voiding"}
    for word, number, _ in answer["words"]:
        if word == "voided":
            assert entries[int(number)].state == "voided"
        elif word in RANK and int(number) not in tried:
            assert RANK.index(entries[int(number)].state) >= RANK.index(word)
    counted = [e.guarantee for e in entries.values() if e.counts]
    budget, totals = ledger.budget[0], ledger.totals
    spent = running_epsilon(counted, 1e-6, totals=totals, budget=budget)[-1]
    assert ledger.spent() == pytest.approx(spent, rel=1e-12)  # equal charges are one sum
    assert max(answer["most"], spent) <= answer["budget"][0] * (1 + 1e-9)
