"""A charge can be taken back by its holder before anything ran, and by nobody else or later."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from rashomon_explorer.privacy import (
    BudgetExceededError,
    Charge,
    Ledger,
    LedgerError,
    adaptive_epsilon,
    approximate,
    bounded_range,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.notions import no_guarantee


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "data.ledger", epsilon=1.0, delta=1e-6)


def test_a_voided_charge_stays_and_does_not_count(ledger: Ledger) -> None:
    ledger.reserve(pure(0.1)).commit()
    ledger.reserve(pure(0.9), note="too much").void("chose another ψ")
    kept, voided = ledger.entries()
    assert kept.counts and not voided.counts
    assert (voided.state, voided.note, voided.voided_why) == (
        "voided",
        "too much",
        "chose another ψ",
    )
    assert str(os.getpid()) in str(voided.voided_by)
    assert str(voided.voided_when).endswith("+00:00")
    assert ledger.spent() == 0.1
    ledger.reserve(pure(0.9))
    with pytest.raises(BudgetExceededError):
        ledger.reserve(pure(0.1))
    ledger.check()


@pytest.mark.parametrize("step", [Charge.start, Charge.commit, Charge.void])
def test_what_was_started_or_voided_cannot_be_voided(
    ledger: Ledger, step: Callable[[Charge], None]
) -> None:
    charge = ledger.reserve(pure(0.5))
    step(charge)
    state, spent = ledger.entries()[0].state, ledger.spent()
    with pytest.raises(LedgerError, match="cannot become voided"):
        charge.void()
    assert (ledger.entries()[0].state, ledger.spent()) == (state, spent)


@pytest.mark.parametrize("step", [Charge.start, Charge.commit])
def test_nothing_runs_under_a_voided_charge(ledger: Ledger, step: Callable[[Charge], None]) -> None:
    charge = ledger.reserve(pure(0.5))
    charge.void()
    with pytest.raises(LedgerError, match="reserve again before anything runs"):
        step(charge)
    assert ledger.spent() == 0.0


def test_another_process_cannot_void(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    charge = ledger.reserve(pure(0.5))
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(charge)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(LedgerError, match="only by the process that reserved it"):
        charge.void()
    assert ledger.spent() == 0.5


def test_voids_do_not_move_delta_after_something_was_seen(ledger: Ledger) -> None:
    first = ledger.reserve(approximate(0.1, 1e-8))
    ledger.reserve(bounded_range(0.1)).commit()
    first.void()
    assert not ledger.can_afford(zcdp(1e-6))
    ledger.reserve(approximate(0.1, 1e-8))  # δ still pays for leaks, as the first charge chose
    assert ledger.spent() == 0.2
    ledger.check()


def test_with_every_charge_voided_the_choice_is_open_again(ledger: Ledger) -> None:
    ledger.reserve(approximate(0.1, 1e-8)).void()
    ledger.reserve(bounded_range(0.1))
    with pytest.raises(LedgerError, match="begins with one"):
        ledger.reserve(approximate(0.1, 1e-8))


def test_the_running_totals_are_the_sum_of_the_entries(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "data.ledger")
    prices = [pure(0.1), bounded_range(1 / 3), zcdp(1e-9), pure(1e12), no_guarantee("chain")]
    for k in range(60):
        charge = ledger.reserve(prices[k % len(prices)])
        if k % len(prices) >= 3:  # what is large or infinite goes again, and leaves no trace
            charge.void()
        counted = [entry.guarantee for entry in ledger.entries() if entry.counts]
        for delta in (0.0, 1e-6):
            assert ledger.spent(delta) == adaptive_epsilon(counted, delta)
    ledger.check()
    assert 0 < ledger.spent(1e-6) < 20
