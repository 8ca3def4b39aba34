"""A guarantee that no rule of the ledger covers is refused in words, or charged as was asked."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer.mechanisms.langevin.sampled_plan import least_noise
from rashomon_explorer.papers.batch_theorems import sgd_composition
from rashomon_explorer.privacy import (
    BudgetExceededError,
    Guarantee,
    Ledger,
    LedgerError,
    adaptive_epsilon,
    bounded_range,
    compose,
    gdp,
    pure,
    rdp,
    repeated_bounded_range,
    zcdp,
)
from rashomon_explorer.privacy.conversions import conversion, filter_order, zcdp_rho
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

pytest.importorskip("dp_accounting")


@pytest.fixture(scope="module")
def sampled():
    """ε = 1 at δ = 10⁻⁶ by its curve, ρ = 50 without sampling."""
    return sgd_composition(sensitivity=2.0, n=1000, batch_size=10, sigma=0.2, n_steps=100)


@pytest.mark.parametrize("budget", [{"epsilon": 500.0}, {}])
def test_it_is_never_charged_by_a_looser_rule_unasked(sampled, budget, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", **budget)
    with pytest.raises(
        LedgerError, match=r"charge ε=[\d.]+, while .* own curve gives ε="
    ) as refusal:
        ledger.reserve(sampled)
    assert not isinstance(refusal.value, BudgetExceededError)
    charged, own = map(float, re.findall(r"ε=([\d.]+)", str(refusal.value)))
    assert own == pytest.approx(sampled.epsilon(1e-6), rel=1e-3)
    assert charged == pytest.approx(ledger.totals.plus(sampled).epsilon(1e-6), rel=1e-3)
    assert charged > 90 * own
    assert ledger.entries() == []


def test_who_asks_pays_the_higher_price(sampled, tmp_path: Path) -> None:
    """At the order of ε = 2 sampled batches tell as much as all rows would, nearly."""
    order = filter_order(2.0, 1e-6)
    assert sampled.renyi(order) > 10 * zcdp_rho(1.0, 1e-6) * order
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=2.0, delta=1e-6)
    with pytest.raises(LedgerError, match="no rule of the ledger fits") as refusal:
        ledger.reserve(sampled)
    assert not isinstance(refusal.value, BudgetExceededError)
    assert not ledger.can_afford(sampled) and not ledger.can_afford(sampled, "zcdp")
    with pytest.raises(BudgetExceededError):
        ledger.reserve(sampled, rule="zcdp")
    with pytest.raises(ValueError, match="rule must be one of"):
        ledger.reserve(pure(0.1), rule="renyi")
    only_records = Ledger.create(tmp_path / "b.ledger")
    only_records.reserve(sampled, rule="zcdp").start()
    assert only_records.spent(1e-6) == pytest.approx(zcdp(sampled.rho).epsilon(1e-6))


def test_where_its_divergence_is_small_it_is_charged_at_that(sampled, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-6)
    told = sampled.renyi(ledger.order)
    assert told < 0.1 * (4.0 - conversion(ledger.order, 1e-6))
    for _ in range(5):
        ledger.reserve(sampled).start()
    assert ledger.totals.unsteady == 5
    assert ledger.spent() == pytest.approx(5 * told + conversion(ledger.order, 1e-6))
    both = compose([sampled, gdp(0.1)])
    assert both.renyi(ledger.order) == pytest.approx(told + ledger.order * 0.005)
    ledger.reserve(both).start()
    ledger.check()


def test_composed_with_others_it_is_refused_too(sampled, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=500.0)
    with pytest.raises(LedgerError, match="no rule of the ledger fits"):
        ledger.reserve(compose([sampled, gdp(0.1)]))


@pytest.mark.parametrize("scale", [1e-4, 0.05, 1.0, 5.0])
def test_what_the_rule_covers_passes(scale: float, tmp_path: Path) -> None:
    """The control: the rule is within a tenth or so of the exact price of what it counts."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1e6, delta=1e-6)
    for covered in (
        *(pure(scale), bounded_range(scale), gdp(scale), zcdp(scale)),
        *(repeated_bounded_range(scale, 20), compose([bounded_range(scale)] * 20)),
    ):
        ledger.reserve(covered)


@pytest.mark.parametrize(
    ("kind", "epsilon", "budget"),
    [
        (RashomonClassifier, 1.0, (8.0, 1e-6)),
        (DPClassifier, 1.0, (8.0, 1e-5)),
        (DPClassifier, 4.0, (100.0, 1e-3)),
    ],
)
def test_a_fit_is_charged_what_was_asked_for_in_any_ledger(kind, epsilon, budget, tmp_path) -> None:
    """A tilt whose own curve says much less at the ledger's δ; unasked it is still refused."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=budget[0], delta=budget[1])
    asked = {"epsilon": epsilon, "delta": 1e-6, "row_norm": 2.0, "ledger": ledger}
    planned = kind(classes=[0, 1], **asked).plan(31_500, 110)
    assert "objective perturbation" in planned.guarantee.theorem
    held = replace(planned.guarantee, requested=(epsilon, 1e-6))
    assert ledger.can_afford(held)
    assert not ledger.can_afford(replace(held, requested=None))
    assert not ledger.can_afford(replace(held, requested=(epsilon / 2, 1e-6)))


def test_the_numbers_of_the_documentation_on_sampled_steps(sampled, tmp_path: Path) -> None:
    """docs/ledger-proofs.md, docs/composition.md and docs/one-model.md."""
    order = filter_order(4.0, 1e-6)
    assert round(sampled.renyi(order), 2) == 0.11 and round(order * zcdp_rho(4.0, 1e-6), 1) == 2.2
    ledger = Ledger.create(tmp_path / "four.ledger", epsilon=4.0, delta=1e-6)
    noise, paid = least_noise(1.0, 1e-6, orders=((order, order * zcdp_rho(1.0, 1e-6)),))
    assert least_noise(1.0, 1e-6, orders=((22.014, 0.53616),))[0] == pytest.approx(50.7, rel=1e-3)
    assert noise < 50.8 and round(ledger.epsilon_after(paid), 1) == 1.9
    for counted in (
        Guarantee(
            "tradeoff",
            "a curve alone",
            curve=GaussianObjectivePerturbation(0.2, 0.01, monotone=True),
        ),
        rdp([4.0, 8.0, 16.0], [0.2, 0.4, 0.8]),
    ):  # at an order they count, without one they do not
        assert adaptive_epsilon([counted], 1e-6) == math.inf
        assert adaptive_epsilon([counted], 1e-6, order=order) < 2.2
    own_mu = Guarantee("gdp", "a mu alone", mu=0.1)
    assert adaptive_epsilon([own_mu], 1e-6, order=order) == math.inf
