"""Noisy subgradients of sampled rows: the law of one step, its price, and what is promised."""

import math
import pickle

import numpy as np
import pytest
from scipy.stats import kstest, norm

import rashomon_explorer.mechanisms.one_model as noisy_sgd
from rashomon_explorer import DPClassifier
from rashomon_explorer.mechanisms.langevin.sampled_plan import SampledDescent, least_noise
from rashomon_explorer.mechanisms.one_model import noisy_slope
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import Guarantee, Ledger, gdp
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.tradeoff import PoissonSampled
from rashomon_explorer.problem.problem import Problem

BOUND, RATE, NOISE, ROWS = 1.3, 0.3, 0.8, 4
EDGES = np.linspace(-12, 12, 4001)


def asked(**changed):
    numbers = {"n": 2_000, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 2.0, "row_norm": BOUND}
    budget = {"ridge": 0.0, "epsilon": 2.0, "delta": 1e-5, "n_draws": 1}
    return Request(**{**numbers, **budget, **changed})


def table(first):
    """One record pulls with all its might, the others not at all."""
    X = np.zeros((ROWS, 1))
    X[0] = BOUND
    y = np.array([first, 1.0, 1.0, 1.0])
    return Problem(X, y, loss="hinge", radius=2.0, row_norm=BOUND, intercept=False)


STEP = SampledDescent(RATE, 10, 0.1, BOUND, NOISE, 1.0, gdp(1.0))


def below(first):
    """Distribution function of a step's sum over BOUND, at 0: a mixture of two normals."""
    return lambda x: (1 - RATE) * norm.cdf(x, 0, NOISE) + RATE * norm.cdf(x, -first, NOISE)


def told(epsilon):
    """δ of both tables' laws, by their masses on small cells."""
    one, other = (np.diff(below(first)(EDGES)) for first in (1.0, -1.0))
    pairs = [(one, other), (other, one)]
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in pairs)


@pytest.mark.parametrize("first", [1.0, -1.0])
def test_a_step_has_its_law(first):
    problem, rng = table(first), np.random.default_rng(0)
    sums = [noisy_slope(problem, STEP, np.zeros(1), rng)[0] for _ in range(2_500)]
    scaled = np.array(sums) * RATE * ROWS / BOUND
    assert kstest(scaled, below(first)).pvalue > 1e-3
    assert kstest(scaled, below(-first)).pvalue < 1e-3  # the control: the record is in it


def test_these_two_are_the_pair_that_is_paid_for_and_the_usual_relation_is_passed():
    paid = PoissonSampled(NOISE, RATE)
    usual = PoissonSampled(NOISE, RATE, relation="add_or_remove")
    for epsilon in (0.1, 0.5, 1.0):
        assert told(epsilon) <= paid.delta(epsilon) + 1e-12
        assert told(epsilon) > 0.99 * paid.delta(epsilon)
        assert told(epsilon) > usual.delta(epsilon)


def test_all_rows_have_no_sampling():
    whole = SampledDescent(1.0, 10, 0.1, BOUND, NOISE, 1.0, gdp(1.0))
    problem, rng = table(1.0), np.random.default_rng(0)
    sums = np.array([noisy_slope(problem, whole, np.zeros(1), rng)[0] for _ in range(1_000)])
    assert kstest(sums * ROWS / BOUND, norm(-1.0, NOISE).cdf).pvalue > 1e-3


@pytest.mark.parametrize("ledger", [False, True, 5.0, "zcdp"])
def test_what_is_charged_is_of_the_steps_that_run(ledger):
    offer = MECHANISMS["noisy_sgd"].offer(asked(ledger=ledger))
    planned, paid = offer.plan.settings, offer.guarantee
    assert paid.epsilon(1e-5) <= 2.0 and planned.slope == pytest.approx(BOUND)
    assert paid.mu == pytest.approx(2 * math.sqrt(planned.n_steps) / planned.noise)
    if ledger == "zcdp":
        assert planned.rate == 1.0 and "ledger without a Rényi order" in offer.why
        return
    assert planned.rate < 1 and paid.epsilon(1e-5) > (1.75 if ledger else 1.98)
    curve = paid.curve
    assert (curve.sigma, curve.rate, curve.steps, curve.relation) == (
        planned.noise, planned.rate, planned.n_steps, "replace",
    )  # fmt: skip
    assert least_noise(2.0, 1e-5)[1].tradeoff(0.1) <= 0.9


def exact_divergence(sigma, order):
    """D_a of the two laws of a step of the plan, by quadrature of their densities."""
    x = np.linspace(-15, 25, 200_001)
    one, other = ((1 - 1 / 16) * norm.pdf(x) + norm.pdf(x, s / sigma) / 16 for s in (1, -1))
    more = other * ((one / other) ** order - 1 - order * (one / other - 1))
    return math.log1p(np.trapezoid(more, x)) / (order - 1)


def test_a_ledger_is_charged_the_divergence_of_the_steps_that_run(tmp_path):
    """At its one order, which is not that of the fit's own (ε, δ)."""
    ledger = Ledger.create(tmp_path / "l", epsilon=8.0, delta=1e-5)
    offer = MECHANISMS["noisy_sgd"].offer(asked(ledger=ledger.order))
    planned, paid = offer.plan.settings, offer.guarantee
    ledger.reserve(paid, note="steps").start()
    (entry,) = ledger.entries()
    most = ledger.order * zcdp_rho(2.0, 1e-5)
    true = planned.n_steps * exact_divergence(planned.noise, ledger.order)
    assert true <= entry.divergence.value <= most and true > 0.999 * entry.divergence.value
    own = filter_order(2.0, 1e-5)
    assert own > ledger.order
    assert planned.n_steps * exact_divergence(planned.noise, own) <= own * zcdp_rho(2.0, 1e-5)
    half = PoissonSampled(2 * planned.noise, planned.rate, planned.n_steps)
    assert half.renyi(ledger.order) < 0.3 * true  # the control: half a record's norm


def test_sampled_steps_cost_no_more_than_asked_at_any_order():
    for orders in (((8.0, 0.1), (22.0, 0.536)), ((8.0, 0.195), (22.0, 0.2))):
        noise, paid = least_noise(1.0, 1e-6, orders=orders)
        costs = [paid.curve.renyi(order) / most for order, most in orders]
        assert 0.99 < max(costs) <= 1 and min(costs) < 0.6 and paid.curve.sigma == noise


def test_a_ledger_admits_as_many_fits_on_sampled_rows_as_on_all(tmp_path):
    """One that came before is no reason to refuse a path of the same (ε, δ) that fitted without."""
    counts = []
    for first in (False, True):
        ledger = Ledger.create(tmp_path / str(first), epsilon=6.0, delta=1e-5)
        paid = MECHANISMS["noisy_sgd"].offer(asked(ledger=ledger.order)).guarantee
        path = gdp(math.sqrt(2 * zcdp_rho(2.0, 1e-5)) * (1 - 1e-9))
        taken = 0
        while ledger.can_afford(paid if first and not taken else path):
            ledger.reserve(paid if first and not taken else path).start()
            taken += 1
        counts.append(taken)
        assert ledger.spent() <= 6.0 * (1 + 1e-9)
    assert counts[0] == counts[1] > 3


def test_the_promise_by_hand():
    planned = MECHANISMS["noisy_sgd"].offer(asked()).plan.settings
    taken = planned.rate * 2_000
    variance = 3 * (BOUND * planned.noise / taken) ** 2 + (1 - planned.rate) * BOUND**2 / taken
    square = BOUND**2 + variance
    assert planned.excess == pytest.approx(2.0 * math.sqrt(square / planned.n_steps))
    assert planned.pace == pytest.approx(2.0 / math.sqrt(planned.n_steps * square))


def test_without_the_extra_all_rows_are_taken_and_it_says_so(monkeypatch):
    monkeypatch.setattr(noisy_sgd, "find_spec", lambda name: None)
    offer = MECHANISMS["noisy_sgd"].offer(asked())
    assert offer.plan.settings.rate == 1.0 and "rashomon-explorer[accounting]" in offer.why
    assert offer.excess > MECHANISMS["noisy_sgd"].offer(asked(delta=2e-5)).excess


def test_auto_takes_it_for_kinks_of_many_columns():
    clf = DPClassifier(loss="hinge", delta=1e-6, radius=4.0)
    planned = clf.plan(5_000, 100)
    assert planned.mechanism == "noisy_sgd" and planned.guarantee.epsilon(1e-6) <= 1.0
    assert "see noisy_descent" in MECHANISMS["noisy_sgd"].offer(asked(loss="logistic")).why


def test_the_numbers_of_the_documentation(tmp_path):
    """docs/one-model.md: promises for hinge loss, and for logistic loss with a ridge."""
    given = {"delta": 1e-6, "radius": 4.0}

    def promised(n_columns, **more):
        return DPClassifier(**given, **more).plan(5_000, n_columns).excess_bound

    of_kinks = {
        method: round(promised(100, loss="hinge", mechanism=method), 2)
        for method in ("noisy_sgd", "unthresholded", "output_perturbation")
    }
    assert of_kinks == {"noisy_sgd": 0.12, "unthresholded": 0.27, "output_perturbation": 1.22}
    ledger = Ledger.create(tmp_path / "l", epsilon=4.0, delta=1e-6)
    in_ledger = {"loss": "hinge", "classes": [0, 1], "ledger": ledger, "ridge": 0.1}
    assert round(promised(20, mechanism="noisy_sgd", **in_ledger), 3) == 0.094
    assert round(promised(20, mechanism="localised_gaussian", **in_ledger), 4) == 0.0069
    with_ridge = [promised(20, mechanism=m, ridge=0.1) for m in ("last_iterate", "noisy_descent")]
    assert [round(bound, 3) for bound in with_ridge] == [0.006, 0.005]
    without = [promised(20, mechanism=m) for m in ("last_iterate", "noisy_descent")]
    assert [round(bound, 2) for bound in without] == [0.13, 0.05]


def test_a_fit_is_kept_with_its_guarantee():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (400, 2))
    clf = DPClassifier(loss="hinge", mechanism="noisy_sgd", epsilon=8.0, delta=1e-5, radius=4.0)
    clf.fit(X, (X[:, 0] > 0).astype(int))
    assert clf.plan_.settings.rate < 1 and clf.score(X, X[:, 0] > 0) > 0.8
    kept = pickle.loads(pickle.dumps(clf)).guarantee_
    assert Guarantee.from_dict(kept.to_dict()).epsilon(1e-5) == clf.guarantee_.epsilon(1e-5) <= 8.0
