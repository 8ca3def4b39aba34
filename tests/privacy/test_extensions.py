"""Extended charges: the difference of two costs, counted once, and final once it was seen."""

import math

import pytest

from rashomon_explorer import privacy
from rashomon_explorer.privacy.ledger.charge import LedgerEntry, incremental_charge

DELTA = 1e-6


@pytest.fixture
def ledger(tmp_path):
    return privacy.Ledger.create(tmp_path / "chains.ledger", epsilon=5.0, delta=DELTA)


def price(*guarantees):
    return privacy.adaptive_epsilon(guarantees, DELTA)


def test_the_cost_of_the_last_state_does_not_cover_the_path():
    """Negative control: two chains θ ← cθ ± s/2 + ξ, whose log ratio over the path is exact."""
    contraction, shift, steps = 0.9, 0.1, 400
    path = shift * math.sqrt(steps)  # μ of all increments, which the states determine
    gain = sum(contraction**k for k in range(steps))
    noise = math.sqrt(sum(contraction ** (2 * k) for k in range(steps)))
    last = shift * gain / noise
    rest = incremental_charge(privacy.gdp(path), entry(privacy.gdp(last)))
    assert last < 0.3 * path
    assert privacy.compose([privacy.gdp(last), rest]).mu == pytest.approx(path, rel=1e-12)
    assert price(privacy.gdp(last), rest) >= price(privacy.gdp(path)) > price(privacy.gdp(last))
    # The difference of the μ themselves would be too little.
    assert privacy.compose([privacy.gdp(last), privacy.gdp(path - last)]).mu < 0.9 * path


def entry(guarantee, state="started"):
    return LedgerEntry(7, "", "", "", {}, guarantee, state)


def test_an_extension_counts_once_and_cannot_be_taken_back_after_looking(ledger):
    """Two wholes of ρ = 3 after one charge of 1 cost 6, and 1 + 2 + 2 would be 5."""
    charge = ledger.reserve(privacy.zcdp(0.01))
    with pytest.raises(privacy.LedgerError, match="void it and reserve the full cost"):
        ledger.reserve(privacy.zcdp(0.03), extends=charge)
    charge.start()
    with pytest.raises(ValueError, match="with its own δ cannot be extended"):
        ledger.reserve(privacy.approximate(1.0, 1e-8), extends=charge)
    ledger.reserve(privacy.zcdp(0.03), extends=charge).void("never shown")
    rest = ledger.reserve(privacy.zcdp(0.03), extends=charge)
    with pytest.raises(privacy.LedgerError, match=r"charge 1 was extended by charge \d"):
        ledger.reserve(privacy.zcdp(0.03), extends=charge)
    charge.commit()
    with pytest.raises(privacy.LedgerError, match=r"charge \d cannot be voided, because charge 1"):
        rest.void("on second thoughts")
    rest.start()  # it was settled before
    with pytest.raises(privacy.LedgerError, match=r"charge \d itself extends charge 1"):
        ledger.reserve(privacy.zcdp(0.05), extends=rest)
    assert float(ledger.totals.sums["rho"]) == pytest.approx(0.03)
    for finish, message in (("commit", "charge 4 was committed"), ("void", "was voided")):
        other = ledger.reserve(privacy.zcdp(0.01))
        if finish == "commit":
            other.start()
        getattr(other, finish)()
        with pytest.raises(privacy.LedgerError, match=message):
            ledger.reserve(privacy.zcdp(0.03), extends=other)
    with pytest.raises(ValueError, match="'extends' is reserved for the ledger"):
        ledger.reserve(privacy.zcdp(0.03), parameters={"extends": 1})
    ledger.check()
    rest = incremental_charge(privacy.gdp(1.0), entry(privacy.bounded_range(0.5)))
    assert rest.pure_epsilon == math.inf  # no cost in a notion is gained by extension
    assert privacy.compose([privacy.bounded_range(0.5), rest]).epsilon(0.0) == math.inf
