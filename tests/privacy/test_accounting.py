"""Ledgers that are told what to count: each rule is a filter and refuses what it cannot count."""

import json
import math
import shutil
import sqlite3
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.cli import main
from rashomon_explorer.estimators.feasibility import ledger_rule
from rashomon_explorer.plots.budget import charges_table
from rashomon_explorer.privacy import BudgetExceededError, Ledger, LedgerError, compose, rdp
from rashomon_explorer.privacy.conversions import conversion, filter_order, gdp_epsilon, gdp_mu
from rashomon_explorer.privacy.guarantee import gaussian_mu
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.privacy.notions import approximate, bounded_range, gdp, pure, zcdp
from rashomon_explorer.release import release
from tests.privacy.analysts import STEP, of_range
from tests.privacy.test_adaptive import used_share
from tests.release.cases import models_of

GDP = {"epsilon": 4.0, "delta": 1e-6, "accounting": "gdp"}


def total_of(parts, delta, *, rule, share=1.0):
    """Total ε of a told ledger; with a share of what it counts beside pure DP, for controls."""
    totals = rule
    for part in parts:
        entered = totals.charge_divergence(part)
        totals = totals.plus(part, entered._replace(value=share * entered.value))
    return totals.epsilon(delta)


RULES = [Totals(accounting="gdp"), *(Totals(order=a, accounting="rdp") for a in (3.5, 9.0))]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.notion)
def test_no_adaptive_analyst_passes_the_budget_of_a_told_ledger(rule):
    """By backward induction over every choice; with half of what is counted one does."""
    menu = [of_range(5), of_range(10)], [bounded_range(s * STEP) for s in (5, 10)]
    assert 0.05 < used_share(partial(total_of, rule=rule), 3.0, 1e-2, *menu) <= 1
    assert used_share(partial(total_of, rule=rule, share=0.5), 3.0, 1e-2, *menu) > 1


def test_gaussian_dp_is_spent_to_its_end_without_loss(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", **GDP)
    most = gdp_mu(4.0, 1e-6)
    charges = [gdp(0.6 * most), bounded_range(0.2), pure(0.1)]
    for charge in charges:
        ledger.reserve(charge).start()
    squares = sum(Fraction(gaussian_mu(one) ** 2) for one in charges)
    assert 0 <= ledger.totals.divergences.finite - squares < 1e-15
    assert ledger.spent() == gdp_epsilon(math.sqrt(ledger.totals.divergences.finite), 1e-6)
    rest = math.sqrt(most**2 - float(squares))
    assert not ledger.can_afford(gdp(rest * (1 + 1e-6)))
    with pytest.raises(BudgetExceededError, match=r"μ=.* of Gaussian DP \(ε=2\.9.* is left"):
        ledger.reserve(gdp(3.0))
    ledger.reserve(gdp(rest * (1 - 1e-9))).start()
    assert ledger.spent() == pytest.approx(4.0, rel=1e-6) and not ledger.can_afford(gdp(0.01))
    ledger.check()
    assert str(ledger).splitlines()[4].split() == ["counts", "Gaussian", "DP"]
    assert json.loads(ledger.export())["accounting"] == ledger.accounting == "gdp"
    table = charges_table(ledger.entries(), 1e-6, rule=ledger.totals)
    assert table["ε in total"].iloc[-1] == ledger.spent()
    for change in ("UPDATE accounting SET value = 'rdp'", "DELETE FROM accounting"):
        with (
            sqlite3.connect(ledger.path) as connection,
            pytest.raises(sqlite3.IntegrityError, match="what a ledger counts is settled once"),
        ):
            connection.execute(change)
        connection.close()
    again = Ledger(shutil.copy(ledger.path, tmp_path / "copy"))
    assert (again.accounting, again.totals) == ("gdp", ledger.totals)


def test_pure_charges_alone_may_spend_a_told_ledger_too(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", **GDP)
    for _ in range(4):
        ledger.reserve(pure(1.0)).start()
    assert ledger.spent() == 4.0 < gdp_epsilon(2 * gaussian_mu(pure(1.0)), 1e-6)
    extended = Ledger.create(tmp_path / "b.ledger", **GDP)
    part = extended.reserve(gdp(0.3))
    part.start()
    extended.reserve(gdp(0.5), extends=part).start()
    assert extended.spent() == pytest.approx(gdp_epsilon(0.5, 1e-6))
    extended.reserve(gdp(0.4)).void()
    extended.check()
    assert extended.spent() == pytest.approx(gdp_epsilon(0.5, 1e-6))


def test_a_chosen_order_counts_by_itself(tmp_path):
    budget = {"epsilon": 4.0, "delta": 1e-6, "accounting": "rdp"}
    ledger = Ledger.create(tmp_path / "a.ledger", **budget, order=16.0)
    assert ledger.order == 16.0 != filter_order(4.0, 1e-6)
    curve = rdp([16.0], [0.2])
    ledger.reserve(curve).start()
    assert ledger.spent() == pytest.approx(0.2 + conversion(16.0, 1e-6))
    ledger.reserve(zcdp(0.01)).start()
    assert ledger.spent() == pytest.approx(0.36 + conversion(16.0, 1e-6))
    steady = Totals(order=16.0, accounting="rdp").plus(zcdp(0.01)).epsilon(1e-6)
    assert steady == pytest.approx(0.16 + conversion(16.0, 1e-6))  # nor at a larger order
    usual = Ledger.create(tmp_path / "b.ledger", **budget)
    assert usual.order == filter_order(4.0, 1e-6)


@pytest.mark.parametrize(
    ("accounting", "charge"),
    [
        ("gdp", zcdp(0.01)),
        ("gdp", approximate(0.1, 1e-8)),
        ("gdp", compose([gdp(0.1), approximate(0.1, 1e-8)])),
        ("rdp", approximate(0.1, 1e-8)),
        ("rdp", rdp([2.0], [0.1])),
        ("pure", gdp(0.1)),
    ],
)
def test_what_it_has_no_number_for_is_refused_in_words(tmp_path, accounting, charge):
    delta = None if accounting == "pure" else 1e-6
    ledger = Ledger.create(tmp_path / "a", epsilon=4.0, delta=delta, accounting=accounting)
    assert not ledger.can_afford(charge)
    with pytest.raises(LedgerError, match=r"this ledger counts .* in which nothing is proved"):
        ledger.reserve(charge)
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"accounting": "renyi"}, "accounting must be one of"),
        ({"epsilon": None, "delta": None, "accounting": "gdp"}, "accounting needs a budget"),
        ({"delta": None, "accounting": "gdp"}, "needs delta > 0"),
        ({"accounting": "pure"}, "has no delta"),
        ({"accounting": "gdp", "order": 3.0}, "has no order"),
        ({"order": 3.0}, "order belongs to"),
        *(({"accounting": "rdp", "order": a}, "leaves nothing") for a in (1.0, 1.5, math.inf)),
    ],
)
def test_settings_that_do_not_fit_create_no_file(tmp_path, settings, words):
    with pytest.raises(ValueError, match=words):
        Ledger.create(tmp_path / "a.ledger", **{"epsilon": 4.0, "delta": 1e-6, **settings})
    assert list(tmp_path.iterdir()) == []


def test_plans_and_releases_use_what_gaussian_dp_leaves(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", **{**GDP, "epsilon": 9.0})
    assert ledger_rule(ledger, 1e-6) == "gdp"
    X, y = [[0.4], [0.3], [-0.4], [-0.2]] * 50, [1, 1, 0, 0] * 50
    settings = {"mechanism": "langevin", "epsilon": 1.0, "delta": 1e-6, "classes": (0, 1)}
    fit = RashomonClassifier(**settings, n_draws=2, ledger=ledger).fit(X, y)
    assert fit.guarantee_.mu == pytest.approx(gdp_mu(1.0, 1e-6))
    assert ledger.spent() == pytest.approx(1.0)
    exact = RashomonClassifier(**{**settings, "mechanism": "exact"}, n_draws=50, ledger=ledger)
    before, planned = ledger.totals, exact.plan(len(X), 1)
    assert before.cleared().plus(planned.guarantee).epsilon(1e-6) == pytest.approx(1.0)
    assert planned.guarantee.epsilon(1e-6) < 0.9
    trees = RashomonTreeClassifier(max_leaves=2, n_draws=50, epsilon=1.0, ledger=ledger)
    planned = trees.plan(*np.shape(X))
    assert before.cleared().plus(planned.guarantee).epsilon(1e-6) == pytest.approx(1.0)
    rows = [[0.9, 0.1], [-0.9, 0.3]] * 20
    budget = {"queries": ["mean_loss"], "epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    found = release(models_of(), rows, [0, 1] * 20, **budget)
    assert found.guarantee.mu == pytest.approx(gdp_mu(1.0, 1e-6))
    assert ledger.spent() == pytest.approx(gdp_epsilon(math.sqrt(2) * gdp_mu(1.0, 1e-6), 1e-6))


def test_the_command_line_creates_one(tmp_path, capsys):
    told = ["--epsilon", "4", "--delta", "1e-6", "--accounting", "rdp", "--order", "12"]
    assert main(["ledger", "create", str(tmp_path / "a"), *told]) == 0
    assert Ledger(tmp_path / "a").totals.notion == "Rényi DP at order 12"
    assert main(["ledger", "create", str(tmp_path / "b"), *told[:4], "--order", "12"]) != 0
    assert 'order belongs to accounting="rdp"' in capsys.readouterr().err
