"""Noisy steps: sampled subgradients, and the last state of descent; laws, costs and bounds."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, norm

from rashomon_explorer import DPClassifier
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.langevin import accounting
from rashomon_explorer.mechanisms.langevin.plan import last_state_excess
from rashomon_explorer.mechanisms.langevin.sampled_plan import SampledDescent, least_noise
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Ledger, gdp
from rashomon_explorer.privacy.conversions import filter_order, gdp_delta, zcdp_rho
from rashomon_explorer.privacy.tradeoff import PoissonSampled
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms import chains
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
    pair = [np.diff(step_law(first)(np.linspace(-12, 12, 4001))) for first in (1.0, -1.0)]
    found = chains.delta(*pair, epsilon)
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


def planned(n, radius, ridge, epsilon):
    numbers = {"n": n, "radius": radius, "ridge": ridge, "epsilon": epsilon}
    return MECHANISMS["last_iterate"].offer(request_of(**numbers, p=1, row_norm=1.0, delta=1e-3))


def table(first, n, radius, ridge):
    """Rows of 1 with labels in turn, of which the first pulls the one way or the other."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    y[0] = first
    return Problem(np.ones((n, 1)), y, radius=radius, ridge=ridge, intercept=False)


def last_law(problem, last):
    """Places on the interval, and masses of the last state."""
    places = np.linspace(-problem.domain.radius, problem.domain.radius, 401)
    means = places - last.pace * problem.value_and_gradient(places[None])[1][0]
    return places, chains.last_law(places, means, last.pace * last.noise, last.n_steps)


@pytest.mark.parametrize(
    ("n", "radius", "ridge", "epsilon"),
    [(10, 1.0, 0.0, 2.0), (30, 0.5, 1.0, 4.0), (30, 1.0, 0.1, 4.0)],
)
def test_the_law_of_the_last_state_keeps_its_price(n, radius, ridge, epsilon):
    offer = planned(n, radius, ridge, epsilon)
    mu, problems = offer.guarantee.mu, [table(y, n, radius, offer.plan.ridge) for y in (1.0, -1.0)]
    laws = [last_law(one, offer.plan.settings)[1] for one in problems]
    assert all(
        chains.delta(*laws, e) <= gdp_delta(mu, e) + 1e-9 for e in np.linspace(0.0, epsilon, 9)
    )
    if (n, ridge) != (30, 0.1):  # the control: at half of the price it is caught
        assert chains.delta(*laws, 0.5) > gdp_delta(mu / 2, 0.5)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_what_is_charged_is_the_certificate_of_the_chain_that_runs(ridge):
    offer = planned(50, 1.0, ridge, 2.0)
    last = offer.plan.settings
    sampler = LangevinSampler(last.step_size, last.n_steps, n_chains=1, shown="last")
    target = GibbsTarget(table(1.0, 50, 1.0, offer.plan.ridge), last.beta, psi=0.0)
    assert sampler.certificate(target).mu == pytest.approx(offer.guarantee.mu, rel=1e-9)
    assert math.sqrt(2 * last.step_size) == pytest.approx(last.pace * last.noise)
    assert last.step_size * last.beta == pytest.approx(last.pace)


def test_a_plan_draws_from_that_law():
    offer = planned(10, 1.0, 0.0, 2.0)
    problem, rng = table(1.0, 10, 1.0, offer.plan.ridge), np.random.default_rng(0)
    mechanism = MECHANISMS["last_iterate"].for_plan(offer.plan)
    draws = [mechanism.draw(problem, rng)[0] for _ in range(600)]
    places, law = last_law(problem, offer.plan.settings)
    mean = float(law @ places)
    spread = math.sqrt(float(law @ (places - mean) ** 2))
    assert abs(np.mean(draws) - mean) < 4 * spread / math.sqrt(600)
    assert np.std(draws) == pytest.approx(spread, rel=0.1)


def test_the_bound_of_the_last_state_by_hand():
    pace, m, square, start = 0.5, 0.4, 0.02, 3.0
    shrink = (1 - 0.2) / (1 + 0.2)
    by_hand = []
    for n_last in (1, 2, 3):
        far = start**2
        for _ in range(3 - n_last):
            far = shrink * far + 2 * pace**2 * square / 1.2
        sums = sum(1 / k for k in range(1, n_last + 1))
        by_hand.append(min(far, 25.0) / (2 * pace * n_last) + pace * square * sums)
    found = last_state_excess(pace, m, square, 3, start=start, diameter=5.0)
    assert found == pytest.approx(min(by_hand), rel=1e-12)


@pytest.mark.parametrize("bend", [0.1, 0.5, 2.0])
def test_quadratic_losses_keep_the_promise(bend):
    """½λθ² from a start D away, without an edge: mean and variance of every state are known."""
    pace, m, square, start = 0.5, 0.1, 0.02, 3.0
    mean, spread, shrink = start, 0.0, 1 - pace * bend
    for n_steps in range(1, 30):
        mean, spread = shrink * mean, shrink**2 * spread + pace**2 * square
        bound = last_state_excess(pace, m, square, n_steps, start=start, diameter=100.0)
        assert bend / 2 * (mean**2 + spread) <= bound


@pytest.mark.parametrize("c", [0.3, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("batches", [2, 5, 30])
def test_batches_in_turn_are_never_cheaper_for_as_many_steps(c, batches):
    for steps in (batches, 4 * batches, 300 * batches):
        chain = {"beta": 1.0, "step_size": 0.5, "n_steps": steps, "contraction": c}
        every = accounting.last_iterate_guarantee(**chain, sensitivity=1.0)
        part = {"sensitivity": batches, "n_batches": batches}
        assert accounting.last_batch_state_guarantee(**chain, **part).mu >= every.mu
