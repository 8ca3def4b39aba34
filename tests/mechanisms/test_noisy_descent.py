"""One noisy descent: the exact law of what it releases, and what each use of it costs."""

import math
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms import LangevinSampler, noisy_descent, one_model, plan_path
from rashomon_explorer.mechanisms import ellipsoid as ellipsoids
from rashomon_explorer.mechanisms.centres import Centre
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.langevin import gradients
from rashomon_explorer.mechanisms.langevin.mechanism import Langevin, LangevinClipped, path_schedule
from rashomon_explorer.mechanisms.langevin.plan import plan_clipped_path
from rashomon_explorer.mechanisms.langevin.sampled_plan import LocalisedDescent, SampledDescent
from rashomon_explorer.mechanisms.noisy_descent import Schedule, path_guarantee
from rashomon_explorer.mechanisms.one_model import OneModelDetails
from rashomon_explorer.mechanisms.penalties import stationary
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import gdp
from rashomon_explorer.problem.losses import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import Silent, by_settings

STEPS = 7


class Stream:
    """A generator whose Gaussian numbers are given, and 0 afterwards."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def choice(self, n, size, **settings):
        return np.arange(n)[:size]

    def standard_normal(self, shape):
        count = int(np.prod(shape))
        drawn = np.array([self.numbers.pop(0) if self.numbers else 0.0 for _ in range(count)])
        return drawn.reshape(shape)


def law_by_responses(release, n_numbers):
    """Mean and covariance of an output that is affine in its Gaussian numbers."""
    mean = release(Stream([]))
    responses = np.array([release(Stream(unit)) - mean for unit in np.eye(n_numbers)])
    return mean, responses.T @ responses


def law_by_recursion(hessian, linear, start, steps, *, momentum=False, lagged=False):
    """Mean and covariance of the average, on θᵀAθ/2 − bᵀθ; ``start`` is a mean and a deviation.

    ``steps``: step size, deviation of the noise that enters the state, and share of the average.
    """
    p, one = len(linear), np.eye(len(linear))
    mean, covariance = np.tile(start[0], 2), start[1] ** 2 * np.kron(np.ones((2, 2)), one)
    for size, deviation, share in steps:
        read = np.hstack([share * one, (1 - share) * one] if momentum else [one, 0 * one])
        state = np.hstack([one, 0 * one]) - size * hessian @ read
        newest, noise = (np.hstack([one, 0 * one]), 0.0) if lagged else (state, share)
        average = share * newest + (1 - share) * np.hstack([0 * one, one])
        move, kick = np.vstack([state, average]), np.vstack([one, noise * one])
        pull = size * linear
        mean = move @ mean + np.concatenate([pull, noise * pull])
        covariance = move @ covariance @ move.T + deviation**2 * kick @ kick.T
    return mean[p:], covariance[p:, p:]


@given(seed=st.integers(0, 2**32 - 1), momentum=st.booleans(), lagged=st.booleans())
@settings(max_examples=40)
def test_any_schedule_has_its_law_on_a_quadratic(seed, momentum, lagged):
    rng = np.random.default_rng(seed)
    root, linear, start = rng.standard_normal((3, 3)), *rng.standard_normal((2, 3))
    hessian, weights = root @ root.T, rng.uniform(0.1, 1, STEPS)
    sizes, noise = rng.uniform(0, 0.3, STEPS), rng.uniform(0.1, 2, STEPS)
    shares = noisy_descent.newest_shares(weights)
    schedule = Schedule(sizes, noise, shares, momentum, lagged)

    def release(stream, scale=None):
        steps = noisy_descent.noisy_descent(
            lambda theta: hessian @ theta - linear[:, None], lambda theta: theta, start[:, None],
            schedule, stream, scale=scale,
        )  # fmt: skip
        return [*steps][-1].average[:, 0]

    expected = partial(law_by_recursion, hessian, linear, (start, 0.0))
    shape = {"momentum": momentum, "lagged": lagged}
    laws = (
        (law_by_responses(release, 3 * STEPS), 1.0),
        (law_by_responses(partial(release, scale=lambda theta: 0.5), 3 * STEPS), 0.5),
    )
    for (mean, covariance), factor in laws:
        known = expected([*zip(sizes, factor * sizes * noise, shares, strict=True)], **shape)
        np.testing.assert_allclose(mean, known[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(covariance, known[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fade", [0.0, 0.3, 1 - 1e-9, 1.0])
def test_fading_weights_are_those_of_later_states(fade):
    weights = np.array([0.0, 0.0, *(fade ** np.arange(4.0, -1, -1))])
    shares = noisy_descent.fading_shares(fade, 7, burn_in=2)
    average = 0.0
    for value, share in enumerate(shares):
        average += share * (value - average)
    assert average == pytest.approx(np.average(np.arange(7.0), weights=weights), rel=1e-6)
    assert (shares[:2] == 0).all() and shares[2] == 1


def quadratic(ridge=0.1):
    """Squared losses whose scores stay in the ball, and within the slope where they are clipped."""
    rng = np.random.default_rng(1)
    rows = rng.uniform(-0.7, 0.7, (30, 2))
    return Problem(
        rows, rng.uniform(-0.3, 0.3, 30), loss="squared", radius=50.0, ridge=ridge, intercept=False
    )


def linear_losses(pull=1.0, loss=None, ridge=0.0, n=40):
    """One record has the steepest slope; in the ball all losses are linear."""
    rows = np.zeros((n, 1))
    rows[0] = pull
    loss = SmoothedHingeLoss(smoothing=0.5) if loss is None else loss
    known = {"radius": 0.5, "row_norm": 1.0, "intercept": False}
    return Problem(rows, np.ones(n), loss=loss, ridge=ridge, **known)


BETA, SIZE, NOISE = 30.0, 1e-3, 0.1
CENTRE = Centre("gradients", 0.0, NOISE, 0.0, 0.3, STEPS)
QUICK = replace(CENTRE, name="accelerated")
SAMPLED = SampledDescent(1.0, STEPS, 0.3, 1.3, 3.0, 1.0, gdp(1.0), 0.1, smooth=True)
LOCAL = LocalisedDescent(0.05, 1e-6, 0.0, CENTRE, 0.0, 0.0)


def planned_path(problem, kind=Langevin):
    """A sampler of few steps at a known temperature."""
    public = {"radius": problem.domain.radius, "row_norm": 1.0, "epsilon": 1.0, "delta": 1e-6}
    shape, loss = (problem.n, problem.p), problem.loss
    make = plan_path if kind is Langevin else by_settings(plan_clipped_path)
    plan = make(*shape, 0.0, loss=loss, ridge=problem.ridge, **public)
    details = replace(plan.details, step_size=SIZE, n_steps=STEPS)
    return kind().sampler(replace(plan, beta=BETA, details=details))


def on_path(problem, stream, kind=Langevin):
    target = GibbsTarget(problem, BETA, 0.0)
    return [*planned_path(problem, kind).batches(target, stream)][-1].theta[:, 0]


def on_chain(problem, stream, **batches):
    chain = LangevinSampler(SIZE, STEPS, n_chains=1, **batches)
    return [*chain.states(GibbsTarget(problem, BETA, 0.0), stream)][-1][:, 0]


def on_average(problem, stream):
    chain = LangevinSampler(SIZE, STEPS, n_chains=1, burn_in=2)
    return chain.average(GibbsTarget(problem, BETA, 0.0), stream, m=5.0)[:, 0]


def of_centre(centre, problem, stream):
    return [*ellipsoids.centre_descent(problem, centre, stream)][-1].average[:, 0]


def on_localised(problem, stream):
    plan = SimpleNamespace(details=OneModelDetails(LOCAL))
    return one_model.LocalisedGaussian().model(problem, plan, stream)


USES = {
    "chain": on_chain,
    "chain on batches": lambda problem, stream: on_chain(
        problem, stream, batch_size=problem.n, batch_order="sampled"
    ),
    "chain's average": on_average,
    "path": on_path,
    "clipped path": partial(on_path, kind=LangevinClipped),
    "centre": partial(of_centre, CENTRE),
    "accelerated centre": partial(of_centre, QUICK),
    "localised": lambda problem, stream: on_localised(problem, stream),
    "sampled": lambda problem, stream: one_model.average_of_steps(
        problem, SAMPLED, np.zeros(problem.p), stream
    ),
    "sampled with kinks": lambda problem, stream: one_model.average_of_steps(
        problem, replace(SAMPLED, smooth=False), np.zeros(problem.p), stream
    ),
}


def shares_of(weights):
    return weights / np.cumsum(weights)


def expected_steps(name, problem):
    """Step sizes, noise in the state, and shares, each written down from its own formula."""
    t, n, m = np.arange(1.0, STEPS + 1), problem.n, problem.ridge
    even, newest = np.ones(STEPS), np.ones(STEPS)
    fading = np.r_[0.0, 0.0, shares_of(np.exp(5.0 * BETA * SIZE * np.arange(STEPS - 2)))]
    pace = 2 * t / (STEPS + 1)
    rise = 1 / 0.3 + m * (t - 1) / 2
    chain = BETA * SIZE * even, math.sqrt(2 * SIZE) * even
    path = BETA * SIZE * pace, np.sqrt(2 * SIZE * pace), 2 / (t + 1)
    centre = 0.3 * even, 0.3 * NOISE * even, shares_of((1 - 0.3 * m) ** -t)
    sampled = 1 / rise, 1.3 * 3.0 / n / rise, shares_of(rise - m / 2)
    return {
        "chain": (*chain, newest),
        "chain on batches": (*chain, newest),
        "chain's average": (*chain, fading),
        "path": path,
        "clipped path": path,
        "centre": centre,
        "accelerated centre": (0.3 * pace, 0.3 * NOISE * np.sqrt(pace), 2 / (t + 1)),
        "localised": centre,
        "sampled": sampled,
        "sampled with kinks": sampled,
    }[name]


@pytest.mark.parametrize("name", USES)
def test_every_use_has_its_law_on_a_quadratic_and_half_of_the_noise_is_caught(name):
    problem = quadratic()
    hessian, linear = problem.hessian(np.zeros(2)), -problem.value_and_gradient(np.zeros((2, 1)))[1]
    start = (problem.minimum.theta, LOCAL.scale) if name == "localised" else (np.zeros(2), 0.0)
    numbers = 2 * (STEPS + (name == "localised"))
    mean, covariance = law_by_responses(partial(USES[name], problem), numbers)
    moved = USES[name](problem, Stream([0.01] * numbers)) - mean
    assert name == "localised" or (moved > 0).all() == ("chain" in name or "path" in name)  # seeds
    sizes, deviations, shares = expected_steps(name, problem)
    shape = {
        "momentum": name in ("path", "clipped path", "accelerated centre"),
        "lagged": name in ("chain's average", "sampled with kinks"),
    }
    for factor in (1.0, 0.5):
        steps = zip(sizes, factor * deviations, shares, strict=True)
        first = start[0], factor * start[1]
        known = law_by_recursion(hessian, linear[:, 0], first, steps, **shape)
        assert np.allclose(mean, known[0], rtol=1e-7, atol=1e-9)
        assert np.allclose(covariance, known[1], rtol=1e-6, atol=1e-12) == (factor == 1)


def recorded(monkeypatch):
    """Steps of every descent that runs from here on."""
    steps, descent = [], noisy_descent.noisy_descent

    def recording(*args, **settings):
        for step in descent(*args, **settings):
            steps.append(step)
            yield step

    for module in [*sys.modules.values()]:
        if getattr(module, "__dict__", {}).get("noisy_descent") is descent:
            monkeypatch.setattr(module, "noisy_descent", recording)
    return steps


def integrated_delta(ratios, epsilon):
    """δ(ε) of Gaussian mechanisms one after the other, by convolving their losses' densities."""
    width, half = 1e-3, 2**15
    losses = width * np.arange(-half, half)
    spectrum = np.ones(half + 1, dtype=complex)
    for ratio in ratios:
        mass = np.exp(-((losses - ratio**2 / 2) ** 2) / (2 * ratio**2))
        spectrum *= np.fft.rfft(np.fft.ifftshift(mass / mass.sum()))
    masses = np.fft.fftshift(np.fft.irfft(spectrum))
    return float(masses @ np.maximum(1 - np.exp(np.minimum(epsilon - losses, 0.0)), 0.0))


def slope_of(problem):
    return data_slope(problem.constants, problem.domain)


def chain_price(problem, sensitivity):
    target = GibbsTarget(problem, BETA, 0.0)
    claimed = LangevinSampler(SIZE, STEPS, n_chains=1).certificate(target)
    schedule = Schedule.chain(SIZE, STEPS)
    assert claimed.mu == pytest.approx(
        noisy_descent.guarantee(schedule, BETA * slope_of(problem)).mu
    )
    return noisy_descent.guarantee(schedule, BETA * sensitivity)


def path_price(problem, sensitivity, kind=Langevin):
    schedule = path_schedule(planned_path(problem, kind).plan)
    known = {"beta": BETA, "step_size": SIZE, "n_steps": STEPS}
    closed = path_guarantee(**known, sensitivity=sensitivity)
    claimed = noisy_descent.guarantee(schedule, BETA * sensitivity)
    assert claimed.mu == pytest.approx(closed.mu) and claimed.theorem == closed.theorem
    return claimed


def centre_price(centre, problem, sensitivity):
    schedule = ellipsoids.centre_schedule(centre, problem.constants)
    return noisy_descent.guarantee(schedule, sensitivity)


def sampled_price(problem, sensitivity):
    schedule = one_model.sampled_schedule(problem, SAMPLED)
    return noisy_descent.guarantee(schedule, sensitivity)


PRICES = {
    "chain": chain_price, "chain's average": chain_price, "path": path_price,
    "clipped path": partial(path_price, kind=LangevinClipped),
    "centre": partial(centre_price, CENTRE), "accelerated centre": partial(centre_price, QUICK),
    "sampled": sampled_price, "sampled with kinks": sampled_price,
}  # fmt: skip


@pytest.mark.parametrize("name", PRICES)
def test_two_neighbours_are_told_apart_as_is_charged_and_half_of_it_is_caught(name, monkeypatch):
    """The chain of linear losses: every noisy gradient is a shifted normal number."""
    loss = "logistic" if name == "clipped path" else None
    pair = [linear_losses(pull, loss) for pull in (1.0, -1.0)]
    ratios = measured_ratios(USES[name], pair, monkeypatch)
    sensitivity = slope_of(pair[0])
    if loss:
        sensitivity = gradients.ClippedDrift(GibbsTarget(pair[0], 1.0, 0.0), 0.5).sensitivity(1)
    claimed, halved = (PRICES[name](pair[0], share * sensitivity) for share in (1.0, 0.5))
    check_price(ratios, claimed, halved)


def measured_ratios(release, pair, monkeypatch):
    """|Difference of two neighbours' gradients| over the noise, at every step of the code."""
    runs = []
    for problem in pair:
        for noise in (0.0, 1e-4):
            steps = recorded(monkeypatch)
            release(problem, Silent(noise))
            runs.append(np.array([step.gradient[0, 0] for step in steps]))
            monkeypatch.undo()
    return (runs[2] - runs[0]) / ((runs[1] - runs[0]) / 1e-4)


def check_price(ratios, claimed, halved):
    assert len(ratios) == STEPS
    for share in (0.0, 0.5, 1.0):
        epsilon = share * claimed.mu
        found = integrated_delta(np.abs(ratios), epsilon)
        assert 0.97 * claimed.delta(epsilon) < found <= claimed.delta(epsilon) * (1 + 1e-3)
        assert found > 1.3 * halved.delta(epsilon)  # half of the sensitivity would be too cheap
        twice = integrated_delta(2 * np.abs(ratios), epsilon)
        assert twice > 1.3 * claimed.delta(epsilon)  # and so would half of the noise


SLOPE = 0.4  # by which a record moves a hypergradient


def hypergradient_walk(landscape, stream, mu=0.7):
    """States of a walk whose constants are the same everywhere."""
    planned = SimpleNamespace(constants=SimpleNamespace(smoothness=5.0), mu=mu, n_steps=STEPS)
    known = SimpleNamespace(gradient_tolerance=0.0, charged_slope=SLOPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stationary, "known_at", lambda *_: known)
        return stationary.walk(landscape, planned, np.zeros(landscape.p), stream)


def landscape_of(gradient, p):
    box = SimpleNamespace(radius=1e3)
    return SimpleNamespace(gradient=lambda x, tolerance: gradient(x), domain=box, p=p)


def test_a_hypergradient_walk_has_its_law_and_its_price(monkeypatch):
    problem = quadratic()
    hessian, linear = problem.hessian(np.zeros(2)), -problem.value_and_gradient(np.zeros((2, 1)))[1]
    landscape = landscape_of(lambda x: hessian @ x - linear[:, 0], 2)
    mean, covariance = law_by_responses(
        lambda stream: hypergradient_walk(landscape, stream)[:, -1], 2 * STEPS
    )
    for factor in (1.0, 0.5):  # the states before each step: the last noise is not in them
        steps = [(1 / 5.0, factor * SLOPE / 0.7 / 5.0, 1.0)] * (STEPS - 1)
        known = law_by_recursion(hessian, linear[:, 0], (np.zeros(2), 0.0), steps)
        assert np.allclose(mean, known[0], rtol=1e-7, atol=1e-9)
        assert np.allclose(covariance, known[1], rtol=1e-6, atol=1e-12) == (factor == 1)
    pair = [landscape_of(lambda x, side=side: x * 0 + side * SLOPE / 2, 1) for side in (1, -1)]
    ratios = measured_ratios(hypergradient_walk, pair, monkeypatch)
    schedule = Schedule.constant(1 / 5.0, 1 / 0.7, STEPS)
    claimed, halved = (noisy_descent.guarantee(schedule, share) for share in (1.0, 0.5))
    assert claimed.mu == pytest.approx(0.7 * math.sqrt(STEPS))  # as walks are planned
    check_price(ratios, claimed, halved)
