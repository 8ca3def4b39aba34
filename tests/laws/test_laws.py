"""Slow statistical laws, `make laws`: slopes on log–log paper (±0.1), by draws and by quadrature.

"Finite-time analysis" is "On the universality of Langevin diffusion for private Euclidean
(convex) optimization" (submitted to ICLR 2023); each test says on which loss its slope is
attained.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaincc, logsumexp
from scipy.stats import gamma, kstest

from benchmarks.instances import well_excess
from benchmarks.rates import DELTA, TABLES, TIGHT, fitted_slope, request_of, slope_of, sweep
from rashomon_explorer import RashomonClassifier, load_dataset
from rashomon_explorer.mechanisms import (
    MECHANISMS,
    ExactSampler,
    HitAndRunSampler,
    LangevinSampler,
    plan,
)
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.localisation import plan_iterated, plan_perturbed
from rashomon_explorer.papers.theorems import RATES
from rashomon_explorer.privacy.conversions import gdp_epsilon
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.samplers.laws import small_problem
from tests.papers.by_hand import iterated, localised, regularised

pytestmark = pytest.mark.law

# Linear up to a margin of ½, where the ball of the problems below ends.
HINGE = SmoothedHingeLoss(smoothing=0.5)


def axes(n, p, **setting):
    """Squared loss on rows e_1, …, e_p in turn: curvature 1/p in every direction."""
    X = np.zeros((n, p))
    X[np.arange(n), np.arange(n) % p] = 1.0
    y = np.full(n, 0.3)
    return Problem(X, y, loss="squared", radius=2.0, intercept=False, **setting)


def linear(n, p):
    """−y·θ_1 up to a constant."""
    X = np.zeros((n, p))
    X[:, 0] = 1.0
    return Problem(X, np.ones(n), loss=HINGE, radius=0.5, intercept=False)


def mean_excess(problem, beta, n_draws=600):
    target = GibbsTarget(problem, beta, 0.0)
    draws = collect(ExactSampler(), target, n_draws, np.random.default_rng(0))
    return float(np.mean(draws.losses)) - problem.minimum.value


def exponential_mechanism(pose, n, p, epsilon):
    problem = pose(n, p)
    loss, radius = problem.loss, problem.domain.radius
    bought = plan(n, p, 0.0, loss=loss, radius=radius, row_norm=1.0, epsilon=epsilon)
    risk = mean_excess(problem, bought.beta)
    assert risk <= bought.excess_bound
    return risk


@pytest.mark.parametrize("pose", [axes, linear])
def test_the_exponential_mechanism_costs_p_over_epsilon_n(pose):
    n, p, epsilon = (640 * 2 ** np.arange(5), 4 * 2 ** np.arange(4), 60.0 * 2.0 ** np.arange(5))
    by_n = [exponential_mechanism(pose, int(k), 8, 300.0) for k in n]
    by_p = [exponential_mechanism(pose, 6400, int(k), 600.0) for k in p]
    by_epsilon = [exponential_mechanism(pose, 6400, 8, float(k)) for k in epsilon]
    assert slope_of(n, by_n) == pytest.approx(-1, abs=0.1)
    # The linear loss has (p + 1)/2 at the sphere, whose slope is right with p + 1 for p.
    assert slope_of(p + (pose is linear), by_p) == pytest.approx(1, abs=0.1)
    assert slope_of(epsilon, by_epsilon) == pytest.approx(-1, abs=0.1)


def finite_time(p, n, epsilon=1.0, delta=1e-6):
    """Mean excess of the time average at β = εn√p/(2LD√Λ) and T = D²/(2p), on a linear loss."""
    problem, rest = linear(40, p), math.log(1 / delta)
    diameter = problem.domain.diameter
    beta = epsilon * n * math.sqrt(p) / (2 * problem.L * diameter * math.sqrt(rest))
    step_size = p / (2 * beta**2 * problem.L**2)
    n_steps = math.ceil(diameter**2 / (2 * p) / step_size)
    sampler = LangevinSampler(step_size=step_size, n_steps=n_steps, n_chains=60)
    average = sampler.average(GibbsTarget(problem, beta, 0.0), np.random.default_rng(0))
    excess = float(problem.value(average).mean()) - problem.minimum.value
    rounds = step_size * n_steps
    bound = p / beta + diameter**2 / 4 / (2 * beta * rounds) + step_size * beta * problem.L**2 / 2
    assert excess <= bound
    return excess


def test_time_averages_of_langevin_paths_cost_root_p_over_n():
    p, n = 16 * 2 ** np.arange(4), 600 * 2 ** np.arange(3)
    assert slope_of(p, [finite_time(int(k), 1200) for k in p]) == pytest.approx(0.5, abs=0.1)
    assert slope_of(n, [finite_time(16, int(k)) for k in n]) == pytest.approx(-1, abs=0.1)


def test_exponentially_weighted_averages_cost_p_for_strongly_convex_losses():
    """β = ρmn²/(L² ln(1 + R)) does not depend on p, and T = ln(1 + R)/(mβ)."""
    beta, ratio, risks = 4000.0, 1e4, []
    p = 4 * 2 ** np.arange(5)
    for k in p:
        problem = axes(4 * int(k), int(k), ridge=1.0)
        step_size = 0.1 / (beta * problem.M)
        n_steps = math.ceil(math.log1p(ratio) / (problem.m * beta) / step_size)
        sampler = LangevinSampler(step_size=step_size, n_steps=n_steps, n_chains=200)
        target = GibbsTarget(problem, beta, 0.0)
        average = sampler.average(target, np.random.default_rng(0), m=problem.m)
        risks.append(float(problem.value(average).mean()) - problem.minimum.value)
        assert risks[-1] <= k / beta + 0.5 / ratio + step_size * beta * problem.L**2 / 2
    assert slope_of(p, risks) == pytest.approx(1, abs=0.1)


def promised(make, n, p, **setting):
    ball = Ball(4.0)
    constants = Constants.from_loss("logistic", n=n, p=p, domain=ball, row_bound=1.0, ridge=1.0)
    return make(constants, ball, epsilon=4.0, **setting)


# Where logarithms of the failure probability matter least, and n is not so large that rounding
# of the minimum counts.
@pytest.mark.parametrize(
    ("make", "setting", "rows"),
    [(plan_iterated, {"n_stages": 8}, 240_000), (plan_perturbed, {}, 4_000)],
    ids=["iterated", "output_perturbation"],
)
def test_localisation_promises_p_squared_over_n_squared(make, setting, rows):
    n, p = rows * 2 ** np.arange(5), 2048 * 2 ** np.arange(5)
    by_n = [promised(make, int(k), 32).excess_bound for k in n]
    assert slope_of(n, by_n) == pytest.approx(-2, abs=0.1)
    plans = [promised(make, 10**7, int(k), failure=1e-6, **setting) for k in p]
    by_p = [k / plan.stages[-1].beta for k, plan in zip(p, plans, strict=True)]
    assert slope_of(p, by_p) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(
    ("make", "setting"), [(iterated, {"n_stages": 5}), (localised, {})], ids=["iterated", "once"]
)
def test_localisation_falls_as_n_squared(make, setting):
    sampler = make(epsilon=16.0, failure=1e-3, **setting)
    n, risks = 500 * 4 ** np.arange(3), []
    for k in n:
        problem, rng = axes(int(k), 2, ridge=1.0), np.random.default_rng(0)
        theta = np.column_stack([sampler.draw(problem, rng) for _ in range(120)])
        risks.append(float(problem.value(theta).mean()) - problem.minimum.value)
        assert risks[-1] <= sampler.plan(problem).excess_bound
    assert slope_of(n, risks) == pytest.approx(-2, abs=0.1)


def cut_gaussian_excess(p, beta, offset, radius):
    """Mean of ½‖θ‖² under exp(−½β‖θ‖²) on a ball whose centre is ``offset`` away; quadrature."""
    x = offset + radius * np.linspace(-1, 1, 801)[1:-1]
    across = np.sqrt(radius**2 - (x - offset) ** 2)
    s = np.linspace(0, 1, 801)[1:, None] * across
    square = x**2 + s**2
    log_density = -beta / 2 * square + (p - 2) * np.log(s) + np.log(across)
    return math.exp(logsumexp(log_density, b=square / 2) - logsumexp(log_density))


def test_output_perturbation_pays_p_squared():
    """On ½‖θ‖², where the law of the result is that of two numbers, whatever p."""
    risks, p = [], 64 * 2 ** np.arange(5)
    for k in p:
        ball = Ball(4.0)
        rows = {"n": 10**6, "p": int(k), "row_bound": 1.0}
        constants = Constants.from_loss("logistic", **rows, domain=ball, ridge=1.0)
        bought = plan_perturbed(constants, ball, epsilon=4.0, failure=1e-2)
        (stage,) = bought.stages
        offsets = gamma.ppf((np.arange(9) + 0.5) / 9, k) * bought.noise_scale
        cuts = [cut_gaussian_excess(k, stage.beta, c, stage.distance) for c in offsets]
        risks.append(np.mean(cuts))
        assert risks[-1] <= bought.excess_bound
    assert slope_of(p, risks) == pytest.approx(2, abs=0.1)


def population_risk(n, epsilon, repeats=100, advantage=1.5):
    """Mean population excess where ±1 labels have mean advantage/√n: the hardest for their n."""
    labels, rng = np.random.default_rng(0), np.random.default_rng(1)
    mean, sampler, risks = advantage / math.sqrt(n), regularised(epsilon=epsilon), []
    for _ in range(repeats):
        y = np.where(labels.random(n) < (1 + mean) / 2, 1.0, -1.0)
        problem = Problem(np.ones((n, 1)), y, loss=HINGE, radius=0.5, intercept=False)
        risks.append(mean * (0.5 - sampler.draw(problem, rng)[0]))
    assert np.mean(risks) <= sampler.plan(problem).population_bound
    return np.mean(risks)


def test_the_regularised_mechanism_is_left_with_root_n_without_privacy():
    n = 100 * 4 ** np.arange(3)
    free = [population_risk(int(k), 1e5) for k in n]
    assert slope_of(n, free) == pytest.approx(-0.5, abs=0.1)
    assert population_risk(400, 0.5) > 1.2 * free[1]
    assert population_risk(400, 1e3) == pytest.approx(free[1], rel=0.1)


def exact_delta(problems, beta, psi, epsilon=1.0):
    """Δ of (ε, δ)-DP between two one-dimensional targets, by quadrature."""
    grid = np.linspace(-0.999, 0.999, 40_001)
    logs = [GibbsTarget(problem, beta, psi).log_density(grid[None, :]) for problem in problems]
    one, other = (log - logsumexp(log) for log in logs)
    return np.maximum(np.exp(one) - np.exp(epsilon + other), 0.0).sum()


def largest_beta(problems, psi, delta=1e-6):
    low, high = 1.0, 1e6
    for _ in range(40):
        middle = math.sqrt(low * high)
        inside = exact_delta(problems, middle, psi) <= delta
        low, high = (middle, high) if inside else (low, middle)
    return low


def test_the_exact_temperature_falls_as_the_root_of_the_threshold():
    """Not as 1/ψ: on a quadratic loss β_max is ε/(s√(2mψ)), s the shift of the minimiser."""
    problems = []
    for label in (1.0, -1.0):
        y = np.zeros(1000)
        y[0] = label
        problems.append(Problem(np.ones((1000, 1)), y, loss="squared", radius=1.0, intercept=False))
    psi = 0.01 * 2.0 ** np.arange(5)
    betas = [largest_beta(problems, value) for value in psi]
    assert slope_of(psi, betas) == pytest.approx(-0.5, abs=0.1)
    np.testing.assert_allclose(betas, 1 / (2e-3 * np.sqrt(2 * psi)), rtol=0.15)


def test_finding_a_well_takes_an_inverse_temperature_proportional_to_p():
    """Non-convex: until β is about p·log(1/width) a draw misses the well, convex or private."""
    p, needed = 8 * 2 ** np.arange(5), []
    for k in p:
        low, high = 1.0, 1e5
        for _ in range(50):
            middle = math.sqrt(low * high)
            low, high = (
                (low, middle) if well_excess(int(k), middle, width=0.3) <= 0.5 else (middle, high)
            )
        needed.append(low)
    assert slope_of(p, needed) == pytest.approx(1, abs=0.1)
    cold = [well_excess(int(k), 4.0 * p[-1], width=0.3) for k in p]
    assert slope_of(p, cold) == pytest.approx(1, abs=0.1)
    # A cone's excess is Gamma(p) over β where the well is deep enough.
    assert cold[0] == pytest.approx(p[0] / (4.0 * p[-1]), rel=0.01)


N, P, EPSILON = (2_000, 4_000, 8_000, 16_000), (4, 8, 16, 32), (0.05, 0.1, 0.2, 0.4)
# Powers of n, p and ε; what a ridge of a method's own is worth is the root of its noise.
PROMISED = [
    ("unthresholded", 0.0, (-1, 1, -1)), ("moments", DELTA, (-1, 0.5, -1)),
    ("noisy_descent", DELTA, (-1, 0.5, -1)), ("langevin", DELTA, (-1, 0.5, -1)),
]  # fmt: skip


@pytest.mark.parametrize(("method", "delta", "powers"), PROMISED)
def test_promises_have_the_rates_that_are_printed(method, delta, powers):
    def promised(n, p, epsilon):
        return MECHANISMS[method].plan(request_of("quadratic", n, p, epsilon, delta)).excess_bound

    found = [
        slope_of(N, [promised(n, 8, 0.2) for n in N]),
        slope_of(P, [promised(8_000, p, 0.2) for p in P]),
        slope_of(EPSILON, [promised(8_000, 8, epsilon) for epsilon in EPSILON]),
    ]
    assert found == pytest.approx(list(powers), abs=0.1)


@pytest.mark.parametrize(
    ("method", "notion", "ridge"),
    [
        ("regularised", "pure", 0.0),
        ("regularised", "(ε, δ)", 0.0),
        ("unthresholded", "(ε, δ)", 1.0),
    ],
)
def test_promises_on_a_population_have_the_rates_that_are_printed(method, notion, ridge):
    """Both terms of Table 1 of GTU, each where it is the larger one; with δ, μ is for ε."""
    problem, delta = "strongly convex" if ridge else "convex", 0.0 if notion == "pure" else DELTA
    rate = RATES[problem, notion, "population"]
    assert rate.mechanism == method

    def promised(n, p, epsilon):
        request = replace(request_of("quadratic", n, p, epsilon, delta), ridge=ridge)
        return MECHANISMS[method].plan(request).population_bound

    n, p = 8_000 * 2 ** np.arange(4), 128 * 2 ** np.arange(4)
    mu = 0.01 * 2.0 ** np.arange(4)
    epsilon = [gdp_epsilon(float(x), delta) for x in mu] if delta else list(mu)
    found = [
        slope_of(n, [promised(int(k), 512, epsilon[0]) for k in n]),
        slope_of(p, [promised(8_000, int(k), epsilon[0]) for k in p]),
        slope_of(mu, [promised(8_000, 512, x) for x in epsilon]),
    ]
    assert found == pytest.approx(list(rate.upper), abs=0.1)
    free = slope_of(n, [promised(int(k), 8, 1e7) for k in n])
    assert free == pytest.approx(rate.sampling, abs=0.1)


@pytest.mark.parametrize(
    "row",
    [row for row in TIGHT if row[2] in ("output_perturbation", "localised_gaussian", "langevin")],
    ids=lambda row: f"{row[0]}-{row[2]}-{row[1]:g}",
)
def test_tight_promises_are_the_slopes_that_are_measured(row):
    """64 draws a point; a promise whose powers were half as large would be missed."""
    for axis in "npε":
        found = sweep(*row, axis, 64)
        assert found["slope_error"] < 0.04
        assert found["slope"] == pytest.approx(found["promised_slope"], abs=0.1)
        assert abs(found["slope"] - found["promised_slope"] / 2) > 0.1


def test_a_fitted_slope_has_the_spread_of_its_error():
    rng, places, means = np.random.default_rng(0), np.array([1, 2, 4, 8]), np.array([8, 4, 2, 1.0])
    errors = means * np.array([0.02, 0.05, 0.01, 0.03])
    slopes = [slope_of(places, rng.normal(means, errors)) for _ in range(2_000)]
    slope, error = fitted_slope(places, means, errors)
    assert slope == -1 and np.std(slopes) == pytest.approx(error, rel=0.1)


def test_noisy_moments_are_of_second_order_where_the_best_model_is_inside():
    """Excess ∝ noise²: slope −2 in n, where the promise has −1."""
    reached = []
    for n in N:
        request = request_of("quadratic", n, 4, 4.0, DELTA)
        offer, posed = MECHANISMS["moments"].plan(request), TABLES["quadratic"].posed(n, 4, 0.0)
        rng = np.random.default_rng(0)
        drawn = np.column_stack(
            [MECHANISMS["moments"].model(posed, offer, rng) for _ in range(200)]
        )
        least = float(posed.value(np.full((4, 1), 0.3))[0])
        reached.append(float(posed.value(drawn).mean()) - least)
    assert slope_of(N, reached) == pytest.approx(-2, abs=0.15)


def metropolis(target, n_chains, steps, seed):
    """Independent reference: random-walk Metropolis from the minimiser, one state a chain."""
    rng = np.random.default_rng(seed)
    problem = target.problem
    metric = problem.hessian(problem.minimum.theta) + 0.01 * np.eye(problem.p)
    eigenvalues, vectors = np.linalg.eigh(metric)
    spread = vectors / np.sqrt(eigenvalues) * math.sqrt(2 * target.psi + 1 / target.beta)
    theta = np.repeat(problem.minimum.theta[:, None], n_chains, axis=1)
    log_density = np.zeros(n_chains)
    for _ in range(steps):
        move = spread @ rng.standard_normal(theta.shape) * 0.6 / math.sqrt(problem.p)
        proposed = target.log_density(theta + move)
        accept = np.log(rng.random(n_chains)) < proposed - log_density
        theta = np.where(accept, theta + move, theta)
        log_density = np.where(accept, proposed, log_density)
    return theta


@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
@pytest.mark.parametrize(("radius", "scale"), [(8.0, 1.0), (1.0, 6.0)], ids=["inside", "sphere"])
def test_ten_parameters_parity_with_a_long_chain(loss, radius, scale):
    problem = small_problem(10, loss, radius=radius, n=400, scale=scale)
    assert problem.minimum.on_boundary == (radius < 2)
    target = GibbsTarget(problem, beta=400.0, psi=0.03)
    draws = collect(ExactSampler(), target, 6000, np.random.default_rng(0))
    reference = metropolis(target, n_chains=4000, steps=3000, seed=1)
    excess = draws.losses - problem.minimum.value
    energy = target.excess(reference)
    error = math.hypot(excess.std() / math.sqrt(6000), energy.std() / math.sqrt(4000))
    assert abs(excess.mean() - energy.mean()) < 4 * error
    assert abs(np.mean(excess <= 0.03) - np.mean(energy <= 0.03)) < 4 * 0.5 * math.sqrt(1 / 2400)
    for column in range(10):
        assert kstest(draws.coef[:, column], reference[column]).pvalue > 1e-4


def test_exact_draws_inside_the_set_agree_with_hit_and_run():
    problem = small_problem(8, radius=1.5, n=400, scale=4.0)
    target = GibbsTarget(problem, beta=2000.0, psi=0.03)
    draws = collect(ExactSampler(), target, 8000, np.random.default_rng(0))
    inside = draws.losses - problem.minimum.value <= 0.03
    sampler = HitAndRunSampler(n_chains=200, burn_in=300, thin=60)
    uniform = collect(sampler, target, 4000, np.random.default_rng(1))
    for column in range(8):
        assert kstest(draws.coef[inside, column], uniform.coef[:, column]).pvalue > 1e-4
    assert kstest(draws.losses[inside], uniform.losses).pvalue > 1e-4


@pytest.mark.parametrize("x", [2.0, 10.0])
@pytest.mark.parametrize("p", [1, 2, 5, 10])
def test_hit_rates_of_quadratic_losses_have_their_closed_form(p, x):
    """x^{p/2}e^{−x}/(x^{p/2}e^{−x} + (p/2)Γ(p/2, x)) for βψ = x, on a ball that does not bind."""
    problem = small_problem(p, "squared", radius=60.0, n=1000)
    psi = 0.01
    target = GibbsTarget(problem, x / psi, psi)
    draws = collect(ExactSampler(), target, 6000, np.random.default_rng(p))
    tail = p / 2 * gammaincc(p / 2, x) * math.gamma(p / 2)
    exact = x ** (p / 2) * math.exp(-x) / (x ** (p / 2) * math.exp(-x) + tail)
    excess = draws.losses - problem.minimum.value
    hit = np.mean(excess <= psi)
    assert hit == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 6000))
    inside = excess[excess <= psi]
    # Inside, (excess/ψ)^{p/2} is uniform: excess/ψ has the Beta(p/2, 1) law.
    spread = math.sqrt((p / 2) / ((p / 2 + 1) ** 2 * (p / 2 + 2)) / len(inside))
    assert inside.mean() / psi == pytest.approx(p / (p + 2), abs=4 * spread)


# Its rows as they come, a few longer than the declared norm, as a newcomer fits them.
@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
def test_lending_hits_as_promised():
    data = load_dataset("lending")
    many = RashomonClassifier(psi=0.02, epsilon=4.0, delta=1e-6, n_draws=20)
    rates, excess = [], []
    for _ in range(20):
        models = many.fit(data.X, data.y).rashomon_set_
        rates.append(models.hit_rate)
        excess.append(models.excess.mean())
    assert np.mean(rates) >= many.plan_.hit_rate_bound and np.min(rates) >= 0.6
    assert np.mean(excess) <= many.plan_.excess_bound
    one = RashomonClassifier(psi=0.02, epsilon=1.0, delta=0.0, n_draws=1, mechanism="exact")
    y = np.where(np.asarray(data.y) == np.unique(data.y)[1], 1.0, -1.0)
    planned = one.plan(*data.X.shape)
    problem = Problem(data.X, y, radius=planned.radius, row_norm=1.0)
    target = GibbsTarget(problem, planned.beta, 0.02)
    draws = collect(ExactSampler(), target, 2000, np.random.default_rng(0))
    assert np.mean(target.excess(draws.coef.T) <= 0.02) >= max(planned.hit_rate_bound, 0.5)
