"""A guarantee that no rule of the ledger covers is refused, or charged as requested."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer.mechanisms.langevin.sampled_plan import least_noise
from rashomon_explorer.papers.batch_theorems import sgd_composition
from rashomon_explorer.privacy import BudgetExceededError, Guarantee, Ledger, LedgerError
from rashomon_explorer.privacy.composition import (
    adaptive_epsilon,
    compose,
    rdp,
    repeated_bounded_range,
)
from rashomon_explorer.privacy.conversions import conversion, filter_order, zcdp_rho
from rashomon_explorer.privacy.notions import bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

pytest.importorskip("dp_accounting")


@pytest.fixture(scope="module")
def sampled():
    """ε = 1 at δ = 10⁻⁶ by its curve, ρ = 50 without sampling."""
    return sgd_composition(sensitivity=2.0, n=1000, batch_size=10, sigma=0.2, n_steps=100)


@pytest.mark.parametrize(
    "budget", [{"epsilon": 500.0}, {}, {"epsilon": 2.0, "delta": 1e-6}], ids=str
)
def test_only_the_rule_by_name_charges_much_more_than_the_curve(sampled, budget, tmp_path) -> None:
    """At the order of ε = 2 sampled batches tell nearly as much as all rows would."""
    ledger = Ledger.create(tmp_path / "a.ledger", **budget)
    for charge in (sampled, compose([sampled, gdp(0.1)])):
        with pytest.raises(
            LedgerError, match=r"charge ε=[\d.]+, while .* own curve gives ε="
        ) as refusal:
            ledger.reserve(charge)
        assert not isinstance(refusal.value, BudgetExceededError)
        charged, own = map(float, re.findall(r"ε=([\d.]+)", str(refusal.value)))
        assert own == pytest.approx(charge.epsilon(1e-6), rel=1e-3)
        assert charged > 5 * own and not ledger.can_afford(charge)
    assert ledger.entries() == []
    with pytest.raises(ValueError, match="rule must be one of"):
        ledger.reserve(pure(0.1), rule="renyi")
    if "delta" in budget:
        assert sampled.renyi(ledger.order) > 10 * zcdp_rho(1.0, 1e-6) * ledger.order
        assert not ledger.can_afford(sampled, "zcdp")
        with pytest.raises(BudgetExceededError):
            ledger.reserve(sampled, rule="zcdp")
    elif not budget:
        ledger.reserve(sampled, rule="zcdp").start()
        assert ledger.spent(1e-6) == pytest.approx(zcdp(sampled.rho).epsilon(1e-6))


def test_a_small_divergence_is_what_is_charged(sampled, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-6)
    entered = sampled.renyi(ledger.order)
    assert entered < 0.1 * (4.0 - conversion(ledger.order, 1e-6))
    for _ in range(3):
        ledger.reserve(sampled).start()
    assert ledger.totals.unsteady == 3
    assert ledger.spent() == pytest.approx(3 * entered + conversion(ledger.order, 1e-6))
    both = compose([sampled, gdp(0.1)])
    assert both.renyi(ledger.order) == pytest.approx(entered + ledger.order * 0.005)
    ledger.reserve(both).start()
    ledger.check()


def test_guarantees_that_the_rule_covers_pass(tmp_path: Path) -> None:
    """The control: the rule is within a tenth or so of the exact cost of what it counts."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1e6, delta=1e-6)
    for scale in (1e-4, 0.05, 1.0, 5.0):
        for covered in (
            *(pure(scale), bounded_range(scale), gdp(scale), zcdp(scale)),
            *(repeated_bounded_range(scale, 20), compose([bounded_range(scale)] * 20)),
        ):
            assert ledger.can_afford(covered)


@pytest.mark.parametrize(
    ("kind", "epsilon", "budget"),
    [(RashomonClassifier, 1.0, (8.0, 1e-6)), (DPClassifier, 4.0, (100.0, 1e-3))],
)
def test_a_fit_is_charged_its_request_in_any_ledger(kind, epsilon, budget, tmp_path) -> None:
    """Its own curve says much less at the ledger's δ; without a request it is still refused."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=budget[0], delta=budget[1])
    request = {"epsilon": epsilon, "delta": 1e-6, "row_norm": 2.0, "ledger": ledger}
    planned = kind(classes=[0, 1], **request).plan(31_500, 110)
    assert "objective perturbation" in planned.guarantee.theorem
    for requested, allowed in (
        ((epsilon, 1e-6), True),
        (None, False),
        ((epsilon / 2, 1e-6), False),
    ):
        assert ledger.can_afford(replace(planned.guarantee, requested=requested)) == allowed


def test_the_numbers_of_the_documentation_on_sampled_steps(sampled, tmp_path: Path) -> None:
    """docs/ledger-proofs.md, docs/composition.md and docs/one-model.md."""
    order = filter_order(4.0, 1e-6)
    assert round(sampled.renyi(order), 2) == 0.11 and round(order * zcdp_rho(4.0, 1e-6), 1) == 2.2
    ledger = Ledger.create(tmp_path / "four.ledger", epsilon=4.0, delta=1e-6)
    noise, cost = least_noise(1.0, 1e-6, orders=((order, order * zcdp_rho(1.0, 1e-6)),))
    assert least_noise(1.0, 1e-6, orders=((22.014, 0.53616),))[0] == pytest.approx(50.7, rel=1e-3)
    assert noise < 50.8 and round(ledger.epsilon_after(cost), 1) == 1.9
    curve = GaussianObjectivePerturbation(0.2, 0.01, monotone=True)
    for counted in (
        Guarantee("tradeoff", "a curve alone", curve=curve),
        rdp([4.0, 8.0, 16.0], [0.2, 0.4, 0.8]),
    ):  # at an order they count, without one they do not
        assert adaptive_epsilon([counted], 1e-6) == math.inf
        assert adaptive_epsilon([counted], 1e-6, order=order) < 2.2
    own_mu = Guarantee("gdp", "a mu alone", mu=0.1)
    assert adaptive_epsilon([own_mu], 1e-6, order=order) == math.inf
