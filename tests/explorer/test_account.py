"""The dashboard's account says what the ledger says, to the last bit."""

import math

import pytest

from rashomon_explorer import privacy
from rashomon_explorer.explorer.account import Account, ledger_path, read_account
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.objective_perturbation.plan import plan_objective_perturbation
from rashomon_explorer.plots.budget import charges_table, plot_budget
from rashomon_explorer.privacy import Ledger, bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation
from tests.mechanisms.builders import request_of

DELTA = 1e-6
CURVE = GaussianObjectivePerturbation(0.1, 0.01, monotone=True)
PERTURBED = privacy.Guarantee("tradeoff", "objective perturbation", curve=CURVE)
NEXT = [pure(0.1), bounded_range(0.3), gdp(0.2), zcdp(1e-3), PERTURBED]
NEXT += [privacy.approximate(0.1, 1e-7)]
HISTORIES = {
    "nothing": [], "exact draws": [bounded_range(0.1)] * 10, "paths": [gdp(0.1)] * 9,
    "one path": [gdp(0.2)], "of all kinds": [pure(0.1), gdp(0.2), bounded_range(0.2), zcdp(1e-3)],
    "objective perturbation": [PERTURBED, gdp(0.2), PERTURBED],
    "with a delta": [privacy.approximate(0.3, 1e-7), pure(0.1), privacy.approximate(0.1, 1e-8)],
}  # fmt: skip


@pytest.fixture
def new(tmp_path):
    return Ledger.create(tmp_path / "data.ledger", epsilon=2.0, delta=DELTA)


@pytest.mark.parametrize("history", HISTORIES)
def test_account_figures_and_tables_are_the_ledgers(history, new):
    for guarantee in HISTORIES[history]:
        new.reserve(guarantee).commit()
        new.reserve(guarantee).void()
    account, spent = read_account(new.path, (9.0, 1e-3)), new.spent()
    assert account.exists and (account.budget, account.delta) == (2.0, DELTA)
    composed = privacy.adaptive_epsilon(account.guarantees, DELTA, order=new.order)
    assert account.spent == spent <= 1.03 * composed and account.left == new.remaining
    for guarantee in NEXT:
        after = new.epsilon_after(guarantee)
        assert account.after(guarantee) == after
        assert account.affords(guarantee) == new.can_afford(guarantee)
        assert account.adds(guarantee) == max(0.0, after - spent)
    if entries := new.entries():
        totals = charges_table(entries, DELTA, rule=new.totals)["ε in total"]
        assert totals.iloc[-1] == spent == totals.iloc[-2]  # the last one was voided
    bars = [bar for bar in plot_budget(new).data if bar.name == "spent"]
    assert sum(bar.x[0] for bar in bars) == pytest.approx(spent)


def test_plain_composition_would_promise_more_than_the_ledger_grants(new):
    """Negative control: Gaussian DP composes better in advance than as one goes."""
    for _ in range(9):
        new.reserve(gdp(0.1)).commit()
    account = read_account(new.path, (2.0, DELTA))
    assert privacy.compose(account.guarantees).epsilon(DELTA) < 0.95 * account.spent


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
    assert ledger_path(tmp_path, "../../etc/passwd").parent == tmp_path


def _objective_perturbation(epsilon, order):
    known = {"n": 4_000, "p": 11, "psi": 0.0, "radius": 8.0, "row_norm": 1.5, "delta": DELTA}
    return plan_objective_perturbation(request_of(**known, epsilon=epsilon, ledger=order))


def _path(epsilon, order):
    known = {"radius": 4.0, "row_norm": 1.5, "delta": DELTA, "ledger": True}
    return plan_path(50_000, 11, 0.0, epsilon=epsilon, **known)


@pytest.mark.parametrize("planned", [_objective_perturbation, _path])
def test_what_remains_buys_a_plan_of_the_epsilon_to_set(planned, new):
    new.reserve(gdp(0.3)).commit()
    account = read_account(new.path, (2.0, DELTA))
    most = account.affordable(planned(20.0 if planned is _path else 3.0, new.order))
    assert 0.5 < most < 2.0
    assert account.affords(planned(most * (1 - 1e-9), new.order).guarantee)
    assert not account.affords(planned(most * 1.1, new.order).guarantee)
