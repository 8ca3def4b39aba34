"""Noisy subgradients of sampled rows: the law of one step, its cost, and its bound."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, norm

from rashomon_explorer import DPClassifier
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.langevin.sampled_plan import SampledDescent, least_noise
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.privacy import Ledger, gdp
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.tradeoff import PoissonSampled
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import request_of

BOUND, RATE, NOISE, ROWS = 1.3, 0.3, 0.8, 4
STEP = SampledDescent(RATE, 10, 0.1, BOUND, NOISE, 1.0, gdp(1.0))


def offer_of(**changed):
    return MECHANISMS["noisy_sgd"].offer(request_of(loss="hinge", row_norm=BOUND, **changed))


def step_law(first, rate=RATE):
    """Distribution function of a step's sum over BOUND, at 0: a mixture of two normals."""
    return lambda x: (1 - rate) * norm.cdf(x, 0, NOISE) + rate * norm.cdf(x, -first, NOISE)


@pytest.mark.parametrize("rate", [RATE, 1.0])
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_a_step_has_its_law(first, rate):
    """One record pulls with all its might, the others not at all."""
    X, y = np.array([[BOUND], [0.0], [0.0], [0.0]]), np.array([first, 1.0, 1.0, 1.0])
    problem = Problem(X, y, loss="hinge", radius=2.0, row_norm=BOUND, intercept=False)
    step, rng = replace(STEP, rate=rate), np.random.default_rng(0)
    sums = [one_model.noisy_slope(problem, step, np.zeros(1), rng)[0] for _ in range(2_000)]
    scaled = np.array(sums) * rate * ROWS / BOUND
    assert kstest(scaled, step_law(first, rate)).pvalue > 1e-3
    assert kstest(scaled, step_law(-first, rate)).pvalue < 1e-3  # control: the record is in it


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_these_two_are_the_pair_that_is_paid_for_and_the_usual_relation_is_passed(epsilon):
    """δ of both tables' laws, by their masses on small cells."""
    one, other = (np.diff(step_law(first)(np.linspace(-12, 12, 4001))) for first in (1.0, -1.0))
    pairs = (one, other), (other, one)
    found = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in pairs)
    paid = PoissonSampled(NOISE, RATE).delta(epsilon)
    assert 0.99 * paid < found <= paid + 1e-12
    assert found > PoissonSampled(NOISE, RATE, relation="add_or_remove").delta(epsilon)


@pytest.mark.parametrize("ledger", [False, True, 5.0, "zcdp"])
def test_what_is_charged_is_of_the_steps_that_run(ledger):
    offer = offer_of(ledger=ledger)
    planned, paid = offer.plan.settings, offer.guarantee
    assert paid.epsilon(1e-5) <= 2.0 and planned.slope == pytest.approx(BOUND)
    assert paid.mu == pytest.approx(2 * math.sqrt(planned.n_steps) / planned.noise)
    if ledger == "zcdp":
        assert planned.rate == 1.0 and "ledger without a Rényi order" in offer.why
        return
    assert planned.rate < 1 and paid.epsilon(1e-5) > (1.75 if ledger else 1.98)
    curve = paid.curve
    assert (curve.sigma, curve.rate) == (planned.noise, planned.rate)
    assert (curve.steps, curve.relation) == (planned.n_steps, "replace")


def exact_divergence(sigma, order):
    """D_a of the two laws of a step of the plan, by quadrature of their densities."""
    x = np.linspace(-15, 25, 200_001)
    one, other = ((1 - 1 / 16) * norm.pdf(x) + norm.pdf(x, s / sigma) / 16 for s in (1, -1))
    more = other * ((one / other) ** order - 1 - order * (one / other - 1))
    return math.log1p(np.trapezoid(more, x)) / (order - 1)


def test_a_ledger_is_charged_the_divergence_of_the_steps_that_run(tmp_path):
    """At its one order, which is not that of the fit's own (ε, δ)."""
    ledger = Ledger.create(tmp_path / "l", epsilon=8.0, delta=1e-5)
    offer = offer_of(ledger=ledger.order)
    planned = offer.plan.settings
    ledger.reserve(offer.guarantee, note="steps").start()
    (entry,) = ledger.entries()
    true = planned.n_steps * exact_divergence(planned.noise, ledger.order)
    assert 0.999 * entry.divergence.value < true <= entry.divergence.value
    assert entry.divergence.value <= ledger.order * zcdp_rho(2.0, 1e-5)
    own = filter_order(2.0, 1e-5)
    assert own > ledger.order
    assert planned.n_steps * exact_divergence(planned.noise, own) <= own * zcdp_rho(2.0, 1e-5)
    half = PoissonSampled(2 * planned.noise, planned.rate, planned.n_steps)
    assert half.renyi(ledger.order) < 0.3 * true  # the control: half a record's norm


@pytest.mark.parametrize("orders", [((8.0, 0.1), (22.0, 0.536)), ((8.0, 0.195), (22.0, 0.2))])
def test_sampled_steps_cost_no_more_than_asked_at_any_order(orders):
    noise, paid = least_noise(1.0, 1e-6, orders=orders)
    costs = [paid.curve.renyi(order) / most for order, most in orders]
    assert 0.99 < max(costs) <= 1 and min(costs) < 0.6 and paid.curve.sigma == noise


@pytest.mark.parametrize("sampled", [False, True])
def test_a_ledger_admits_as_many_fits_on_sampled_rows_as_on_all(sampled, tmp_path):
    """One that came before is no reason to refuse a path of the same (ε, δ) that fitted without."""
    ledger = Ledger.create(tmp_path / "l", epsilon=6.0, delta=1e-5)
    path = gdp(math.sqrt(2 * zcdp_rho(2.0, 1e-5)) * (1 - 1e-9))
    ledger.reserve(offer_of(ledger=ledger.order).guarantee if sampled else path).start()
    count = 1
    while ledger.can_afford(path):
        ledger.reserve(path).start()
        count += 1
    assert count == 6 and ledger.spent() <= 6.0 * (1 + 1e-9)


def test_the_promise_by_hand():
    planned = offer_of().plan.settings
    size = planned.rate * 2_000
    variance = 3 * (BOUND * planned.noise / size) ** 2 + (1 - planned.rate) * BOUND**2 / size
    square = BOUND**2 + variance
    assert planned.excess == pytest.approx(2.0 * math.sqrt(square / planned.n_steps))
    assert planned.pace == pytest.approx(2.0 / math.sqrt(planned.n_steps * square))


def test_without_the_extra_all_rows_are_taken_and_it_says_so(monkeypatch):
    sampled = offer_of()
    monkeypatch.setattr(one_model, "find_spec", lambda name: None)
    offer = offer_of()
    assert offer.plan.settings.rate == 1.0 and "rashomon-explorer[accounting]" in offer.why
    assert offer.excess > sampled.excess


def test_the_numbers_of_the_documentation(tmp_path):
    """docs/one-model.md: bounds for hinge loss, and for logistic loss with a ridge."""

    def bound(n_columns, digits, **settings):
        clf = DPClassifier(delta=1e-6, radius=4.0, **settings)
        return round(clf.plan(5_000, n_columns).excess_bound, digits)

    for mechanism, value in {
        "noisy_sgd": 0.12, "unthresholded": 0.27, "output_perturbation": 1.22, "auto": 0.12
    }.items():  # fmt: skip
        assert bound(100, 2, loss="hinge", mechanism=mechanism) == value
    ledger = Ledger.create(tmp_path / "l", epsilon=4.0, delta=1e-6)
    in_ledger = {"loss": "hinge", "classes": [0, 1], "ledger": ledger, "ridge": 0.1}
    assert bound(20, 3, mechanism="noisy_sgd", **in_ledger) == 0.094
    assert bound(20, 4, mechanism="localised_gaussian", **in_ledger) == 0.0069
    paths = ("last_iterate", "noisy_descent")
    assert [bound(20, 3, mechanism=one, ridge=0.1) for one in paths] == [0.006, 0.005]
    assert [bound(20, 2, mechanism=one) for one in paths] == [0.13, 0.05]
