"""The dashboard's account says what the ledger says, to the last bit."""

import math

import pytest

from rashomon_explorer.explorer.account import Account, ledger_path, read_account
from rashomon_explorer.mechanisms.objective_perturbation.plan import plan_objective_perturbation
from rashomon_explorer.plots.budget import charges_table, plot_budget
from rashomon_explorer.privacy import (
    Guarantee,
    Ledger,
    adaptive_epsilon,
    approximate,
    bounded_range,
    compose,
    gdp,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

DELTA = 1e-6
TILT = Guarantee(
    "tradeoff", "a tilt", curve=GaussianObjectivePerturbation(0.1, 0.01, monotone=True)
)
NEXT = [pure(0.1), bounded_range(0.3), gdp(0.2), zcdp(1e-3), approximate(0.1, 1e-7), TILT]
HISTORIES = {
    "nothing": [],
    "exact draws": [bounded_range(0.1)] * 10,
    "paths": [gdp(0.1)] * 9,
    "one path": [gdp(0.2)],
    "of all kinds": [pure(0.1), gdp(0.2), bounded_range(0.2), zcdp(1e-3)],
    "tilts": [TILT, gdp(0.2), TILT],
    "with a delta": [approximate(0.3, 1e-7), pure(0.1), approximate(0.1, 1e-8)],
}


@pytest.fixture(params=HISTORIES)
def ledger(request, tmp_path):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=2.0, delta=DELTA)
    for guarantee in HISTORIES[request.param]:
        ledger.reserve(guarantee).commit()
        ledger.reserve(guarantee).void()
    return ledger


def test_it_is_the_ledgers_figure_and_not_one_of_its_own(ledger):
    account = read_account(ledger.path, (9.0, 1e-3))
    assert account.exists and (account.budget, account.delta) == (2.0, DELTA)
    assert (
        account.spent
        == ledger.spent()
        == adaptive_epsilon(account.guarantees, DELTA, order=ledger.order)
    )
    assert account.left == ledger.remaining
    for guarantee in NEXT:
        assert account.after(guarantee) == ledger.epsilon_after(guarantee)
        assert account.affords(guarantee) == ledger.can_afford(guarantee)
        assert account.adds(guarantee) == max(0.0, ledger.epsilon_after(guarantee) - ledger.spent())


def test_figures_and_tables_say_the_same(ledger):
    entries = ledger.entries()
    if entries:
        table = charges_table(entries, DELTA, order=ledger.order)
        assert table["ε in total"].iloc[-1] == ledger.spent()
        assert table["ε in total"].iloc[-1] == table["ε in total"].iloc[-2]  # it was voided
    spent = [bar for bar in plot_budget(ledger).data if bar.name == "spent"]
    assert sum(bar.x[0] for bar in spent) == pytest.approx(ledger.spent())


def test_plain_composition_would_promise_more_than_the_ledger_grants(tmp_path):
    """Negative control: Gaussian DP composes better in advance than as one goes."""
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=2.0, delta=DELTA)
    for _ in range(9):
        ledger.reserve(gdp(0.1)).commit()
    account = read_account(ledger.path, (2.0, DELTA))
    assert compose(account.guarantees).epsilon(DELTA) < 0.95 * account.spent


def test_before_the_first_draw_and_without_a_budget(tmp_path):
    planned = read_account(tmp_path / "none", (1.0, DELTA))
    empty = Totals(order=filter_order(1.0, DELTA))
    assert planned == Account(tmp_path / "none", False, 1.0, DELTA, totals=empty)
    assert (planned.spent, planned.left) == (0.0, 1.0)
    assert planned.affords(bounded_range(eta=1.0))
    assert not planned.affords(bounded_range(eta=1.01))
    ledger = Ledger.create(tmp_path / "own.ledger")
    ledger.reserve(bounded_range(0.5))
    account = read_account(ledger.path, (1.0, DELTA))
    assert account.budget == math.inf and account.spent == ledger.spent(DELTA)
    assert account.affords(bounded_range(1e6))


def test_what_is_left_buys_a_tilt_of_the_price_it_says(tmp_path):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=2.0, delta=DELTA)
    ledger.reserve(gdp(0.3)).commit()
    account = read_account(ledger.path, (2.0, DELTA))
    asked = {"n": 4_000, "p": 11, "psi": 0.0, "radius": 8.0, "row_norm": 1.5, "delta": DELTA}

    def planned(epsilon):
        return plan_objective_perturbation(**asked, epsilon=epsilon, ledger=ledger.order)

    most = account.affordable(planned(3.0))
    assert 0.5 < most < 2.0
    assert account.affords(planned(most * (1 - 1e-9)).guarantee)
    assert not account.affords(planned(most * 1.001).guarantee)


def test_a_name_cannot_lead_out_of_the_folder(tmp_path):
    assert ledger_path(tmp_path, "../../etc/passwd").parent == tmp_path
