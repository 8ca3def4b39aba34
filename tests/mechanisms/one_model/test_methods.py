"""Every method: public offers, a price within the budget, and promises that are kept."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer.mechanisms.objective_perturbation.sampler import radial_noise
from rashomon_explorer.mechanisms.one_model.base import generalisation_gap, stable_gap
from rashomon_explorer.mechanisms.one_model.registry import METHODS
from rashomon_explorer.mechanisms.planning.offers import Request, best_ridged, own_cost
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem

ROW_NORM = math.hypot(0.6, 1.0)
NEEDED = {"moments": "squared", "noisy_sgd": "hinge"}
SLOW = {"noisy_sgd", "iterated", "localised"}


def asked(**changed):
    numbers = {"n": 300, "p": 3, "psi": 0.0, "loss": "logistic", "radius": 2.0, "ridge": 0.0}
    budget = {"epsilon": 4.0, "delta": 1e-5, "n_draws": 1}
    return Request(**{**numbers, "row_norm": ROW_NORM, **budget, **changed})


def posed(request, ridge=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.4, 0.4, (request.n, 2))
    y = np.where(X[:, 0] + 0.2 * rng.standard_normal(request.n) > 0, 1.0, -1.0)
    ridge = request.ridge if ridge is None else ridge
    settings = {"radius": request.radius, "row_norm": 0.6, "ridge": ridge}
    return Problem(X, y, loss=request.loss, **settings)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("ledger", [False, True])
def test_offers_keep_to_the_budget_or_say_why_not(name, delta, ledger):
    request = asked(delta=delta, ledger=ledger, n=3_000, ridge=0.0)
    offer = METHODS[name].offer(request)
    assert offer.name == name and offer.why and offer.model
    if not offer.applies:
        assert offer.excess == math.inf
        return
    assert offer.guarantee.holds
    assert offer.guarantee.epsilon(delta) <= 4.0 * (1 + 1e-9)
    assert 0 < offer.excess <= offer.unseen
    assert offer.bound("rows") == offer.excess and offer.bound("population") == offer.unseen
    if ledger and delta:  # whose rule is that of zCDP
        assert math.isfinite(offer.guarantee.rho)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.law][: name in SLOW]) for name in METHODS]
)
def test_a_model_is_as_good_as_was_promised(name):
    # Without sampling a quarter of the steps of noisy_sgd, which is slow.
    unsampled = "zcdp" if name == "noisy_sgd" else False
    request = asked(loss=NEEDED.get(name, "logistic"), ledger=unsampled)
    offer = METHODS[name].offer(request)
    if not offer.applies:
        request = asked(ridge=1.0, n=4_000, radius=4.0, epsilon=1.0)
        offer = METHODS[name].offer(request)
    assert offer.applies
    problem, plain = posed(request, offer.ridge), posed(request)
    rng = np.random.default_rng(1)
    drawn = np.array([METHODS[name].draw(problem, offer, rng) for _ in range(3)])
    excess = plain.value(drawn.T) - plain.minimum.value
    assert drawn.shape == (3, 3) and len(np.unique(drawn, axis=0)) == 3
    assert excess.mean() <= offer.excess


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("loss", ["hinge", "smoothed_hinge"])
def test_losses_of_margins_are_served_or_declined_in_words(name, loss):
    unsampled = "zcdp" if name == "noisy_sgd" else False
    request = asked(loss=loss, delta=1e-5, ledger=unsampled)
    offer = METHODS[name].offer(request)
    if not offer.applies:
        assert any(word in offer.why for word in ("kinks", "gibbs", "squared loss"))
        return
    problem = posed(request, offer.ridge)
    theta = METHODS[name].draw(problem, offer, np.random.default_rng(0))
    assert np.isfinite(theta).all()


def test_more_rows_promise_more_and_a_ledger_no_more_than_without():
    for name, method in METHODS.items():
        if name in ("iterated", "iterated_batches"):
            continue
        loss = NEEDED.get(name, "logistic")
        few, many = (method.offer(asked(n=n, loss=loss)) for n in (300, 30_000))
        assert many.excess < few.excess
        assert method.offer(asked(ledger=True)).excess >= few.excess * (1 - 1e-9)


def test_the_best_ridge_is_found_and_counted():
    request = asked(ridge=0.1)
    ridge, made = best_ridged(request, lambda one: ((one.ridge - 0.35) ** 2, one))
    assert made.ridge == ridge and 0.2 < ridge < 0.5
    assert own_cost(request, 0.35) == pytest.approx(0.25 / 2 * 4)
    assert own_cost(request, 0.1) == 0.0


def test_gaps_to_new_rows():
    request = asked(loss="hinge", n=400)
    assert generalisation_gap(request) == pytest.approx(2 * ROW_NORM * 2.0 / 20)
    assert stable_gap(request, 5.0) == pytest.approx(2 * ROW_NORM**2 / (5 * 400))
    assert stable_gap(request, 5.0, 0.01) == pytest.approx(
        stable_gap(request, 5.0) + 0.01 * ROW_NORM
    )
    assert stable_gap(request, 0.0) == generalisation_gap(request)
    three, two = (asked(loss=SoftmaxLoss(k), p=6 if k == 3 else 3) for k in (3, 2))
    assert generalisation_gap(three) > 2 * generalisation_gap(two)


def test_the_gap_to_new_rows_holds_for_the_worst_model():
    """Linear losses y·θ of signs: sup over the ball of risk − mean is R|mean y|."""
    rng = np.random.default_rng(0)
    n, radius = 100, 0.5
    means = rng.choice([-1.0, 1.0], (4_000, n)).mean(axis=1)
    request = asked(loss="hinge", n=n, p=1, radius=radius, row_norm=1.0)
    assert 0.2 * generalisation_gap(request) < radius * np.abs(means).mean()
    assert radius * np.abs(means).mean() < generalisation_gap(request)


@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_has_its_law(gaussian):
    rng = np.random.default_rng(0)
    noise = np.array([radial_noise(4, 0.3, rng, gaussian=gaussian) for _ in range(2_000)])
    lengths = np.linalg.norm(noise, axis=1) / 0.3
    law = ("chi", (4,)) if gaussian else ("gamma", (4,))
    assert kstest(lengths, law[0], args=law[1]).pvalue > 1e-3
    directions = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    assert np.abs(directions.mean(axis=0)).max() < 0.05


def test_the_slope_is_that_at_every_model_and_the_noise_follows_it():
    offer = METHODS["objective_perturbation"].offer(asked(delta=0.0))
    kept = 0.98 * 4.0 - offer.settings.determinant
    assert offer.settings.scale == pytest.approx(2 * ROW_NORM / 300 / kept, rel=1e-8)
    square = METHODS["objective_perturbation"].offer(asked(delta=0.0, loss="squared"))
    kept = 0.98 * 4.0 - square.settings.determinant
    steepest = ROW_NORM * (1 + 2 * ROW_NORM)  # within the ball's largest score
    assert square.settings.scale == pytest.approx(2 * steepest / 300 / kept, rel=1e-8)
