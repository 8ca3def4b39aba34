"""Minimisers of tilted objectives as a way to draw: price, promise, and that they always come."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.mechanisms.objective_perturbation import sampler as objective_perturbation
from rashomon_explorer.mechanisms.objective_perturbation.accounting import perturbed_delta
from rashomon_explorer.mechanisms.objective_perturbation.plan import (
    _beyond,
    plan_objective_perturbation,
)
from rashomon_explorer.mechanisms.objective_perturbation.sampler import (
    ObjectivePerturbationSampler,
    SurrogateProblem,
)
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.weakness import weak_guarantee_reason
from rashomon_explorer.mechanisms.request import cost_at_order
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.conversions import filter_order, gdp_delta, zcdp_rho
from rashomon_explorer.problem.losses.logistic import ClippedLogisticLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem

ROWS = {"n": 2_000, "p": 4, "psi": 0.02, "radius": 2.0, "row_norm": 1.0}


def table(n=2_000, d=3):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (n, d))
    return X, X[:, 0] + 0.2 * rng.standard_normal(n)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("most", [0.5, math.inf])
def test_the_price_of_a_draw_is_that_of_slope_and_determinant(loss, draws, most):
    """2S/(ns) + J for the minimiser, and a fiftieth for what the solver is off, k times.

    The slope of a squared loss is the steepest within the ball's largest score.
    """
    norm = math.hypot(0.6, 1.0)
    shape = {"n": 2_000, "p": 3, "psi": 0.0, "radius": 2.0, "row_norm": norm}
    planned = plan_objective_perturbation(**shape, epsilon=4.0, loss=loss, n_draws=draws, most=most)
    steepest, bend = (1.0, 0.25) if loss == "logistic" else (1 + 2 * norm, 1.0)
    jump = math.log1p(bend * norm**2 / (2_000 * planned.tilt_ridge))
    kept = 2 * norm * min(most, steepest) / (2_000 * planned.tilt)
    assert kept + jump == pytest.approx(0.98 * 4.0 / draws, rel=1e-6)
    assert 2 * planned.solver / planned.blur == pytest.approx(0.02 * 4.0 / draws, rel=1e-6)
    assert planned.eta * draws == pytest.approx(4.0, rel=1e-6)
    assert planned.guarantee.epsilon(0.0) <= 4.0


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_price_of_a_gaussian_draw_is_that_of_its_order_or_length(draws, loss):
    """δ of the minimiser for 49 parts of 50, and of the noise on it for one, k times."""
    asked = {"epsilon": 3.0, "delta": 1e-5, "n_draws": draws, "gaussian": True, "most": 0.5}
    planned = plan_objective_perturbation(**ROWS, **asked, loss=loss)
    bend = 0.25 if loss == "logistic" else 1.0
    jump = math.log1p(bend / (2_000 * planned.tilt_ridge))
    ratio = 2 * 0.5 / (2_000 * planned.tilt)
    kept = 0.98 * 3.0 / draws - jump
    tails = 1 if loss == "logistic" else 2
    assert perturbed_delta(ratio, kept, jump, tails) <= 0.98 * 1e-5 / draws
    assert perturbed_delta(1.001 * ratio, kept, jump, tails) > 0.98 * 1e-5 / draws
    hidden = gdp_delta(2 * planned.solver / planned.blur, 0.02 * 3.0 / draws)
    assert hidden <= 0.02 * 1e-5 / draws
    assert planned.guarantee.epsilon(1e-5) <= 3.0 < planned.guarantee.epsilon(0.9e-5)
    assert "at δ = 1e-05" in explain(planned)


def test_noise_is_gaussian_where_that_promises_more_and_has_a_price():
    many = {**ROWS, "p": 60, "epsilon": 1.0, "delta": 1e-6}
    best = plan_objective_perturbation(**many)
    pure = plan_objective_perturbation(**many, gaussian=False)
    assert best.gaussian and best.followed_excess < pure.followed_excess / 1.5
    assert not plan_objective_perturbation(**{**ROWS, "p": 2}, epsilon=1.0, delta=1e-6).gaussian
    assert not plan_objective_perturbation(**many, ledger="zcdp").gaussian
    assert plan_objective_perturbation(**many, loss=SoftmaxLoss(3)).gaussian
    several = {"loss": SoftmaxLoss(3), "n_draws": 5}
    assert not plan_objective_perturbation(**{**many, **several}).gaussian
    for priceless in ({"delta": 0.0}, {"ledger": "zcdp"}, several):
        with pytest.raises(ValueError, match="omit gaussian=True"):
            plan_objective_perturbation(**{**many, **priceless}, gaussian=True)


@pytest.mark.parametrize("ledger", [True, 8.0])
@pytest.mark.parametrize("n_draws", [1, 5])
def test_in_a_ledger_it_costs_what_zcdp_of_its_price_does(ledger, n_draws):
    many = {**ROWS, "p": 60, "epsilon": 1.0, "delta": 1e-6, "n_draws": n_draws}
    planned = plan_objective_perturbation(**many, ledger=ledger)
    order = filter_order(1.0, 1e-6) if ledger is True else ledger
    told = planned.guarantee.renyi(order)
    assert 1 - 1e-6 < told / (order * zcdp_rho(1.0, 1e-6)) <= 1
    assert planned.gaussian and planned.guarantee.epsilon(1e-6) <= 1.0
    assert str(planned.guarantee).startswith("ε = 1 at δ = 1e-6 (Rényi DP), objective")
    alone = plan_objective_perturbation(**many, gaussian=True)
    ratio = alone.tilt / planned.tilt
    assert ratio > (0.9 if n_draws == 1 else 1.02)  # several draws add up as squares
    if n_draws > 1:
        with pytest.raises(ValueError, match="omit gaussian=True"):
            plan_objective_perturbation(**many, loss=SoftmaxLoss(3), gaussian=True, ledger=ledger)


def test_in_a_ledger_the_noise_follows_from_its_order():
    """The tilt, by hand: J + au²/2 + log g in what a fiftieth for the solver leaves."""
    own = (22.014, 0.536)  # no order above that of the whole budget is taken
    assert cost_at_order(1.0, 1e-6, True) == pytest.approx(own, abs=1e-3)
    assert cost_at_order(1.0, 1e-6, 1e3) == cost_at_order(1.0, 1e-6, True)
    assert cost_at_order(1.0, 1e-6, 8.0) == pytest.approx((8.0, 0.195), abs=1e-3)
    assert cost_at_order(1.0, 1e-6, "zcdp") is None and cost_at_order(1.0, 0.0, True) is None
    order, price = cost_at_order(1.0, 1e-6, 8.0)
    planned = plan_objective_perturbation(**ROWS, epsilon=1.0, delta=1e-6, ledger=8.0)
    slope = min(planned.most, 1.0)
    ratio = 2 * slope * ROWS["row_norm"] / ROWS["n"] / planned.tilt
    curve = planned.guarantee.curve
    assert curve.ratio == pytest.approx(ratio, rel=1e-9)
    assert replace(curve, mu=0.0).renyi(order) == pytest.approx(0.98 * price, rel=1e-6)
    assert curve.mu == pytest.approx(2 * planned.solver / planned.blur, rel=1e-9)
    assert order * curve.mu**2 / 2 == pytest.approx(0.02 * price, rel=1e-6)


def test_the_promise_by_hand():
    planned = plan_objective_perturbation(**ROWS, epsilon=3.0, most=math.inf)
    own, square = planned.tilt_ridge, 4 * 5 * planned.tilt**2
    by_hand = (own**2 * 4 + square) / (4 * own)
    steepest = 1 / (1 + math.exp(-2)) + own * 2
    near = steepest * planned.solver + (0.25 + own) / 2 * 20 * planned.blur**2
    kept_inside = steepest * (planned.blur + 20 * planned.blur**2 / 4)
    assert planned.followed_excess == pytest.approx(by_hand + near + kept_inside, rel=1e-6)
    assert planned.excess_bound == planned.followed_excess
    assert 1 - planned.excess_bound / 0.02 >= planned.hit_rate_bound > 0


def test_nothing_is_promised_of_the_loss_where_slopes_are_clipped():
    planned = plan_objective_perturbation(**{**ROWS, "n": 150}, epsilon=0.5)
    assert planned.most == 0.5 and math.isinf(planned.excess_bound)
    assert planned.hit_rate_bound == 0 and planned.by_excess
    assert "the clipped loss exceeds" in explain(planned)
    weak = plan_objective_perturbation(**{**ROWS, "n": 30}, epsilon=0.1)
    assert "a model of zeros" in weak_guarantee_reason(weak)
    wide = {**ROWS, "n": 500_000, "psi": 0.3, "epsilon": 8.0}  # control: all slopes have a bound
    assert plan_objective_perturbation(**wide, most=math.inf).hit_rate_bound > 0.5
    assert plan_objective_perturbation(**wide, most=0.5).hit_rate_bound == 0
    many = plan_objective_perturbation(**{**ROWS, "n": 200_000}, epsilon=1.0)
    assert math.isinf(many.most) and many.hit_rate_bound > 0.85
    assert "of the draws hit" in explain(many)


@pytest.mark.parametrize("length", [0.2, 0.9, 1.0])
@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_leaves_the_ball_by_no_more_than_is_counted(length, gaussian):
    rng = np.random.default_rng(0)
    p, blur = 6, 0.05
    noise = rng.standard_normal((p, 40_000))
    lengths = np.linalg.norm(noise, axis=0)
    noise *= blur if gaussian else blur * rng.standard_gamma(p, 40_000) / lengths
    noise[0] += length
    beyond = np.maximum(np.linalg.norm(noise, axis=0) - 1, 0)
    most = _beyond(p, blur, 1.0, gaussian=gaussian)
    assert beyond.mean() <= most
    assert length < 1 or beyond.mean() > 0.5 * most


@pytest.mark.parametrize("most", [0.5, math.inf])
@pytest.mark.parametrize("gaussian", [False, True])
def test_excess_is_within_the_promise(most, gaussian):
    X, y = table()
    planned = plan_objective_perturbation(
        **ROWS, epsilon=1.0, delta=1e-5, most=most, gaussian=gaussian
    )
    problem = Problem(X, np.sign(y), radius=2.0, intercept=True, row_norm=0.5)
    planned = replace(planned, row_bound=problem.row_bound)
    target = GibbsTarget.of(problem, planned)
    batches = ObjectivePerturbationSampler(planned).batches(target, np.random.default_rng(0))
    models = np.hstack([next(batches).theta for _ in range(60)])
    loss = ClippedLogisticLoss(0.5) if most == 0.5 else problem.loss
    followed = SurrogateProblem(problem, loss, 0.0)
    assert np.mean(followed.value(models)) - followed.minimum.value <= planned.followed_excess


ODD = {
    "all alike": lambda rng: (np.full((60, 3), 0.5), np.r_[1, -np.ones(59)]),
    "separable": lambda rng: (np.linspace(-1, 1, 300)[:, None], np.repeat([-1.0, 1.0], 150)),
    "two rows": lambda rng: (np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])),
    "wide": lambda rng: (rng.uniform(-0.1, 0.1, (50, 90)), rng.choice([-1.0, 1.0], 50)),
    "zeros": lambda rng: (np.zeros((40, 2)), rng.choice([-1.0, 1.0], 40)),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("epsilon", [0.01, 50.0])
def test_draws_come_on_odd_tables(name, epsilon):
    X, y = ODD[name](np.random.default_rng(1))
    settings = {"mechanism": "objective_perturbation", "delta": 0.0, "random_state": 0}
    clf = RashomonClassifier(epsilon=epsilon, classes=[-1, 1], **settings)
    assert np.isfinite(clf.fit(X, y.astype(int)).encoded_coef_).all()


def on_zeros(gaussian, radius):
    """A plan, and draws for rows of zeros."""
    asked = {"epsilon": 1.0, "delta": 1e-5, "most": math.inf, "gaussian": gaussian}
    planned = plan_objective_perturbation(**{**ROWS, "radius": radius}, **asked)
    problem = Problem(np.zeros((2_000, 4)), np.ones(2_000), radius=radius, intercept=False)
    target, rng = GibbsTarget.of(problem, planned), np.random.default_rng(0)
    return planned, ObjectivePerturbationSampler(planned).batches(target, rng)


@pytest.mark.parametrize("gaussian", [False, True])
def test_rows_of_zeros_show_the_tilt_itself(gaussian):
    """θ = −b/m, and ‖b‖ is Gamma(p) times its scale, or Gaussian."""
    planned, batches = on_zeros(gaussian, radius=50.0)
    lengths = [np.linalg.norm(next(batches).theta) * planned.tilt_ridge for _ in range(100)]
    expected = math.sqrt(9 * math.pi / 8) if gaussian else 4
    assert np.mean(lengths) == pytest.approx(expected * planned.tilt, rel=0.2)


@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_on_the_minimiser_is_independent_of_the_tilt(gaussian, monkeypatch):
    """The solver's error is hidden by noise of its own: no angle and no length is shared."""
    tilts = []

    def at_zero(problem, tilt, solver):
        tilts.append(tilt)
        return np.zeros(4)

    monkeypatch.setattr(objective_perturbation, "perturbed_minimiser", at_zero)
    planned, batches = on_zeros(gaussian, radius=2.0)
    blurs = np.array([next(batches).theta[:, 0] for _ in range(1_000)])
    assert_independent(np.array(tilts) / planned.tilt, blurs / planned.blur)


def assert_independent(tilts, blurs):
    """Both have the same spread; cosines and products of lengths are those of independent ones."""
    lengths = [np.linalg.norm(noise, axis=1) for noise in (tilts, blurs)]
    assert lengths[0].mean() == pytest.approx(lengths[1].mean(), rel=0.1)
    cosines = (tilts * blurs).sum(axis=1) / (lengths[0] * lengths[1])
    assert abs(cosines.mean()) < 5 * 0.5 / math.sqrt(1_000)  # variance 1/p of uniform directions
    assert cosines.std() == pytest.approx(0.5, rel=0.15)
    assert abs(np.corrcoef(*lengths)[0, 1]) < 5 / math.sqrt(1_000)


def test_noise_that_is_used_twice_is_not_independent():
    """Negative control: a multiple of the tilt, either way round."""
    tilts = np.random.default_rng(0).standard_normal((1_000, 4))
    for blurs in (tilts, -tilts, np.abs(tilts)):
        with pytest.raises(AssertionError):
            assert_independent(tilts, blurs)
