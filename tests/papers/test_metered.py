"""A shown trace costs the path, a hidden one the last state, and a refused one nothing."""

import math

import numpy as np
import pytest

from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.exceptions import FitError
from rashomon_explorer.mechanisms import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.metered import MeteredLangevin
from rashomon_explorer.privacy import (
    BudgetExceededError,
    Ledger,
    LedgerError,
    adaptive_epsilon,
    approximate,
    bounded_range,
    compose,
    gdp,
    zcdp,
)
from rashomon_explorer.privacy.ledger.charge import Charge, LedgerEntry, incremental_charge
from rashomon_explorer.problem.problem import Problem

DELTA = 1e-6
LAST = LangevinSampler(step_size=0.02, n_steps=400, n_chains=3, shown="last")
PATH = LangevinSampler(step_size=0.02, n_steps=400, n_chains=3)


@pytest.fixture(scope="module")
def target():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (500, 2))
    problem = Problem(X, np.sign(X[:, 0]), ridge=1.0, radius=2.0, row_norm=1.0)
    return GibbsTarget(problem, beta=20.0, psi=0.0)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "chains.ledger", epsilon=5.0, delta=DELTA)


def price(*guarantees):
    return adaptive_epsilon(guarantees, DELTA)


def rng():
    return np.random.default_rng(1)


def test_a_trace_that_is_never_shown_stays_at_the_price_of_the_last_state(target, ledger):
    chains = MeteredLangevin(LAST, target, rng(), ledger)
    assert [entry.state for entry in ledger.entries()] == ["started"]
    chains.advance(100)
    states = chains.last()
    np.testing.assert_array_equal(states, list(PATH.states(target, rng()))[-1])
    assert ledger.spent() == price(LAST.certificate(target)) < 0.5 * price(PATH.certificate(target))
    assert [entry.state for entry in ledger.entries()] == ["committed"]
    assert chains.guarantee == LAST.certificate(target).with_seed()


@pytest.mark.parametrize("steps", [0, 100, 400])
def test_a_shown_trace_costs_the_path_whenever_it_is_asked_for(target, ledger, steps):
    chains = MeteredLangevin(LAST, target, rng(), ledger, note="look")
    chains.advance(steps)
    trace = chains.trace()
    assert ledger.spent() == pytest.approx(price(PATH.certificate(target)), rel=1e-12)
    assert ledger.spent() >= price(PATH.certificate(target))
    np.testing.assert_array_equal(trace, list(PATH.states(target, rng()))[: len(trace)])
    assert len(trace) == chains.n_steps_run == (steps or 400)
    assert chains.guarantee == PATH.certificate(target).with_seed()
    chains.last(), chains.trace()
    assert len(chains.trace()) == 400
    first, rest = ledger.entries()
    assert (first.state, rest.state) == ("committed", "committed")
    assert rest.note == "look: the trace too"
    assert "rest of charge 1" in str(rest.guarantee)
    assert "counts only together with charge 1" in str(rest.guarantee)
    ledger.check()


def test_a_refused_trace_shows_and_costs_nothing(target, tmp_path):
    between = (price(LAST.certificate(target)) + price(PATH.certificate(target))) / 2
    ledger = Ledger.create(tmp_path / "small.ledger", epsilon=between, delta=DELTA)
    chains = MeteredLangevin(LAST, target, rng(), ledger)
    for _ in range(2):
        with pytest.raises(BudgetExceededError):
            chains.trace()
    with pytest.raises(BudgetExceededError):
        least = Ledger.create(tmp_path / "least.ledger", epsilon=1e-3, delta=DELTA)
        MeteredLangevin(LAST, target, rng(), least)
    with pytest.raises(ValueError, match='shown must be "last"'):
        MeteredLangevin(PATH, target, rng(), ledger)
    assert (len(ledger.entries()), chains.guarantee) == (1, LAST.certificate(target).with_seed())
    assert chains.last().shape == (3, 3)
    with pytest.raises(LedgerError, match=r"may have been seen.*charge for all results"):
        chains.trace()  # after the last states were shown it stays hidden
    assert ledger.spent() == price(LAST.certificate(target))


def test_the_price_of_the_last_state_does_not_cover_the_trace():
    """Negative control: two chains θ ← cθ ± s/2 + ξ, whose log ratio over the path is exact."""
    contraction, shift, steps = 0.9, 0.1, 400
    path = shift * math.sqrt(steps)  # μ of all increments, which the states determine
    gain = sum(contraction**k for k in range(steps))
    noise = math.sqrt(sum(contraction ** (2 * k) for k in range(steps)))
    last = shift * gain / noise
    rest = incremental_charge(gdp(path), entry(gdp(last)))
    assert last < 0.3 * path
    assert compose([gdp(last), rest]).mu == pytest.approx(path, rel=1e-12)
    assert price(gdp(last), rest) >= price(gdp(path)) > price(gdp(last))
    # The difference of the μ themselves would be too little.
    assert compose([gdp(last), gdp(path - last)]).mu < 0.9 * path


def entry(guarantee, state="started"):
    return LedgerEntry(7, "", "", "", {}, guarantee, state)


def test_an_extension_counts_once_and_cannot_be_taken_back_after_looking(ledger):
    """Two wholes of ρ = 3 after one charge of 1 cost 6, and 1 + 2 + 2 would be 5."""
    charge = ledger.reserve(zcdp(0.01))
    with pytest.raises(LedgerError, match="void it and reserve the full cost"):
        ledger.reserve(zcdp(0.03), extends=charge)
    charge.start()
    with pytest.raises(ValueError, match="with its own δ cannot be extended"):
        ledger.reserve(approximate(1.0, 1e-8), extends=charge)
    ledger.reserve(zcdp(0.03), extends=charge).void("never shown")
    rest = ledger.reserve(zcdp(0.03), extends=charge)
    with pytest.raises(LedgerError, match=r"charge 1 was extended by charge \d"):
        ledger.reserve(zcdp(0.03), extends=charge)
    charge.commit()
    with pytest.raises(LedgerError, match=r"charge \d cannot be voided, because charge 1"):
        rest.void("on second thoughts")
    rest.start()  # it was settled before
    with pytest.raises(LedgerError, match=r"charge \d itself extends charge 1"):
        ledger.reserve(zcdp(0.05), extends=rest)
    assert float(ledger.totals.sums["rho"]) == pytest.approx(0.03)
    for finish, message in (("commit", "charge 4 was committed"), ("void", "was voided")):
        other = ledger.reserve(zcdp(0.01))
        if finish == "commit":
            other.start()
        getattr(other, finish)()
        with pytest.raises(LedgerError, match=message):
            ledger.reserve(zcdp(0.03), extends=other)
    with pytest.raises(ValueError, match="'extends' is reserved for the ledger"):
        ledger.reserve(zcdp(0.03), parameters={"extends": 1})
    ledger.check()
    rest = incremental_charge(gdp(1.0), entry(bounded_range(0.5)))
    assert rest.pure_epsilon == math.inf  # no cost in a notion is gained by extension
    assert compose([bounded_range(0.5), rest]).epsilon(0.0) == math.inf


def test_a_start_that_fails_shows_nothing_and_is_made_up_for(target, ledger, monkeypatch):
    chains = MeteredLangevin(LAST, target, rng(), ledger)
    with monkeypatch.context() as patch:
        patch.setattr(Charge, "start", refuse_to_write)
        for _ in range(2):
            with pytest.raises(LedgerError, match="disk"):
                chains.trace()
    assert chains.n_steps_run == 0
    assert ledger.entries()[-1].state == "reserved"
    chains.trace()
    assert ledger.entries()[-1].state == "started"
    assert chains.guarantee == PATH.certificate(target).with_seed()


def refuse_to_write(charge):
    raise LedgerError("the disk is full")


def test_a_known_generator_is_marked_and_a_fresh_one_is_not(target, ledger):
    """Whoever holds the seed can make the hidden states again, for nothing."""
    known = MeteredLangevin(LAST, target, rng(), ledger)
    fresh = MeteredLangevin(LAST, target, generator(), ledger)
    assert known.guarantee.seeded and not fresh.guarantee.seeded
    known.trace()
    assert [entry.guarantee.seeded for entry in ledger.entries()] == [True, False, True]


@pytest.mark.parametrize("show", ["advance", "trace", "last"])
def test_a_forked_copy_shows_no_second_draw_for_one_charge(target, ledger, monkeypatch, show):
    chains = MeteredLangevin(LAST, target, generator(), ledger)
    with monkeypatch.context() as patch:
        patch.setattr("os.getpid", lambda: -1)
        with pytest.raises(LedgerError, match="a second draw for one charge"):
            getattr(chains, show)()
    assert [entry.state for entry in ledger.entries()] == ["started"]
    assert chains.n_steps_run == 0
    getattr(chains, show)()


def test_a_step_that_fails_says_no_more_than_that(target, ledger, monkeypatch):
    chains = MeteredLangevin(LAST, target, generator(), ledger)

    def broken(*args):
        raise FloatingPointError("row 7 holds HIV")

    monkeypatch.setattr(chains, "_steps", map(broken, range(3)))
    with pytest.raises(FitError) as caught:
        chains.last()
    assert "HIV" not in repr(caught.value) and "HIV" in caught.value.detail
    assert [entry.state for entry in ledger.entries()] == ["started"]
