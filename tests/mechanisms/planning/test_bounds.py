"""Bounds against closed forms, quadrature, exact draws, chains, and what breaks them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaincc, gammaln, ndtr
from scipy.stats import gamma, kstest

from rashomon_explorer.mechanisms import ExactSampler, LangevinSampler, bounds
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.bounds import ExcessLaw, coupling_distance, quadratic_law
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers import theorems
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import line_law, small_problem

DIMENSIONS = st.integers(1, 30)
BETAS = st.floats(1, 1e5)
PSIS = st.floats(1e-4, 1)
P, X = st.integers(1, 1000), st.floats(-6, 8).map(lambda power: 10.0**power)


def cone_hit_rate(p, x):
    """P(excess ≤ ψ) under exp(−β max(‖θ‖, ψ)) on ℝᵖ, x = βψ, from the incomplete gamma."""
    inside = p * math.log(x) - x - math.log(p)
    outside = math.log(gammaincc(p, x)) + gammaln(p)
    return float(1 / (1 + np.exp(min(700.0, outside - inside))))


@given(P, X, st.floats(0.01, 100), st.floats(1, 10))
def test_the_guaranteed_hit_rate_is_that_of_a_cone(p, x, psi, factor):
    found = bounds.guaranteed_hit_rate(p, x, 1.0)
    if x < 500:
        assert found == pytest.approx(cone_hit_rate(p, x), rel=1e-9, abs=1e-290)
    assert max(0.0, 1 - p / x - 1e-12) <= found <= 1
    scaled = bounds.guaranteed_hit_rate(p, x / psi, psi)
    assert scaled == pytest.approx(found, rel=1e-9, abs=1e-290)
    assert bounds.guaranteed_hit_rate(p, x * factor, 1.0) >= found
    assert bounds.guaranteed_hit_rate(p + 1, x, 1.0) <= found


def test_a_wanted_hit_rate_is_reached_and_not_passed():
    beta = bounds.beta_for_hit_rate(3, 0.02, 0.8)
    assert bounds.guaranteed_hit_rate(3, beta, 0.02) >= 0.8
    assert bounds.guaranteed_hit_rate(3, beta * (1 - 1e-9), 0.02) < 0.8


def test_extremes_of_heat_and_width():
    for beta, psi in [(0.0, 1.0), (5.0, 0.0), (5e-324, 1e-10), (1e-300, 1.0)]:
        assert bounds.guaranteed_hit_rate(1000, beta, psi) == 0.0
    assert bounds.guaranteed_hit_rate(1000, 1e300, 1e300) == 1.0
    for psi in (3e-222, 5e-324):
        assert bounds.convex_law(p=1, beta=1.0, psi=psi).mean <= 1 + psi
    # Terms that overflow are no warning, also of NumPy's numbers: the rate is 0.
    assert bounds.guaranteed_hit_rate(60, np.float64(1.0), np.float64(5e-10)) == 0.0
    assert bounds.convex_law(p=60, beta=1.0, psi=5e-10).cdf(np.array([1e-12, 1.0]))[0] == 0.0


def thresholded(v, width):
    """Energy at a loss ``v`` above the edge of the Rashomon set."""
    v = np.maximum(v, 0.0)
    return v if width == 0 else np.where(v < width, v**2 / (2 * width), v - width / 2)


@pytest.mark.parametrize("twice_shape", [1, 2, 5, 20])
@pytest.mark.parametrize("psi", [0.0, 0.05, 0.7])
def test_the_law_agrees_with_quadrature(twice_shape, psi):
    law, a = ExcessLaw(twice_shape, beta=30.0, psi=psi), twice_shape / 2

    def mass(low, high, power=0):
        # e = u²: the density of a = ½ has a pole at 0.
        found, _ = quad(
            lambda u: 2 * u ** (2 * a - 1 + 2 * power) * math.exp(-30 * (max(u * u, psi) - psi)),
            math.sqrt(low),
            math.sqrt(high),
            points=[math.sqrt(psi)] if low < psi < high else None,
            epsabs=0,
            epsrel=1e-10,
            limit=200,
        )
        return found

    end = psi + 4.0
    total = mass(0, end)
    places = np.array([0.5 * psi, psi, psi + 0.1, psi + 0.6])
    np.testing.assert_allclose(
        law.cdf(places), [mass(0, place) / total for place in places], atol=1e-8
    )
    assert law.mean == pytest.approx(mass(0, end, power=1) / total, rel=1e-8)
    assert law.hit_rate == pytest.approx(mass(0, psi) / total, abs=1e-8)


@pytest.mark.parametrize("twice_shape", [7, 10])
@pytest.mark.parametrize("psi", [1.0, 0.6])
def test_far_out_the_law_does_not_underflow(twice_shape, psi):
    # gammaincc is 0 at 1000: the tail is then made of the hit rates' sums.
    assert (gammaincc(twice_shape / 2 + 1, 1e3 * psi) == 0) == (psi == 1.0)
    one = ExcessLaw(twice_shape, beta=1e3, psi=psi)
    assert 1 - float(one.cdf(np.nextafter(psi, 2))) == pytest.approx(1 - one.hit_rate)
    places = psi + np.linspace(0, 0.02, 50)
    slope = np.diff(np.log(1 - one.cdf(places))) / np.diff(places)
    assert np.all(slope > -1e3)  # e^{a−1} lets it fall a little slower than exp(−βe)
    assert np.all(slope < -1e3 * (1 - twice_shape / 2 / 600))


@pytest.mark.parametrize(("psi", "width"), [(0.0, 0.0), (0.2, 0.0), (0.2, 0.1)])
def test_draws_of_a_cone_have_the_law_and_attain_the_bounds(psi, width):
    p, beta, rng = 4, 40.0, np.random.default_rng(0)
    radius = np.linspace(0, 2, 400_001)
    density = radius ** (p - 1) * np.exp(-beta * thresholded(radius - psi, width))
    mass = np.cumsum(density) / density.sum()
    excess = np.interp(rng.random(20_000), mass, radius)
    if width == 0:
        assert kstest(excess, bounds.convex_law(p=p, beta=beta, psi=psi).cdf).pvalue > 1e-3
    claimed = bounds.hit_probability(p=p, beta=beta, psi=psi, width=width)
    inside = float(np.interp(psi, radius, mass))
    assert claimed == pytest.approx(inside, rel=5e-3, abs=1e-4)
    assert claimed <= inside + 1e-4
    mean = float(density @ radius / density.sum())
    assert mean <= bounds.expected_excess(p=p, beta=beta, psi=psi, width=width)
    if psi == 0:
        assert mean == pytest.approx(p / beta, rel=1e-3)


@given(DIMENSIONS, BETAS, PSIS, st.floats(1e-4, 1))
def test_the_forms_of_a_bound_stand_in_order(p, beta, psi, width):
    law, quadratic = (one(p=p, beta=beta, psi=psi) for one in (bounds.convex_law, quadratic_law))
    assert law.hit_rate == bounds.guaranteed_hit_rate(p, beta, psi)
    printed = bounds.hit_probability_from_excess(p=p, beta=beta, psi=psi)
    assert printed <= law.hit_rate + 1e-9
    assert quadratic.hit_rate >= law.hit_rate - 1e-12
    assert quadratic.mean <= law.mean * (1 + 1e-12)
    assert law.mean <= bounds.expected_excess(p=p, beta=beta, psi=psi)
    hard, smooth, wide = (
        bounds.hit_probability(p=p, beta=beta, psi=psi, width=one) for one in (0, width, 2 * width)
    )
    assert 0 <= smooth <= hard * (1 + 1e-9) and wide <= smooth * (1 + 1e-2)
    # Below the bound that replaces φ_s by v − s/2 it would be of no use.
    coarse = 1 / (1 + math.exp(min(700.0, beta * width / 2)) * (1 / hard - 1)) if hard else 0.0
    assert smooth >= coarse * (1 - 1e-9)
    assert bounds.hit_probability(p=p, beta=beta, psi=0.0) == 0


@pytest.mark.parametrize(("p", "x"), [(1, 30.0), (5, 200.0), (20, 3000.0)])
def test_theorem_d6_is_used_at_its_best(p, x):
    over = np.linspace(0, x, 200_001)  # βγ
    best = (gamma(p).cdf(over) - p * over / x).max()
    found = bounds.hit_probability_from_excess(p=p, beta=10 * x, psi=0.1)
    assert found == pytest.approx(best, abs=1e-4)
    # It says nothing at βψ = 4p, where the cone's law says more than a half.
    assert bounds.hit_probability_from_excess(p=20, beta=80.0, psi=1.0) == 0
    assert bounds.hit_probability(p=20, beta=80.0, psi=1.0) > 0.5


@crossed(
    {
        "p, psi": [(1, 0.0), (4, 0.05), (8, 0.01)],
        "scale": [1.0, 8.0],
        "loss": ["logistic", "squared"],
    }
)
def test_exact_draws_keep_the_promises(loss, p, psi, scale):
    """Rows of a larger scale have their minimiser on the sphere."""
    problem, beta, count = small_problem(p, loss=loss, radius=1.5, n=300, scale=scale), 400.0, 2500
    target = GibbsTarget(problem, beta, psi)
    draws = collect(ExactSampler(), target, count, np.random.default_rng(1))
    excess = draws.losses - problem.minimum.value
    law = bounds.convex_law(p=p, beta=beta, psi=psi)
    assert excess.mean() <= law.mean + 4 * excess.std() / math.sqrt(count)
    assert np.mean(excess <= psi) >= law.hit_rate - 2 / math.sqrt(count)
    # One-sided Dvoretzky–Kiefer–Wolfowitz at one in a million.
    measured = np.arange(1, count + 1) / count
    assert np.all(law.cdf(np.sort(excess)) <= measured + math.sqrt(math.log(1e6) / (2 * count)))


def test_draws_that_are_too_warm_are_seen():
    # The negative control: draws at half the β they are said to have.
    problem = small_problem(6, loss="squared", radius=6.0, n=300, scale=0.5, ridge=0.5)
    draws = collect(ExactSampler(), GibbsTarget(problem, 50.0, 0.0), 500, np.random.default_rng(0))
    excess = draws.losses - problem.minimum.value
    quadratic = quadratic_law(p=6, beta=50.0)
    assert excess.mean() == pytest.approx(quadratic.mean, rel=0.1)
    assert excess.mean() > 1.5 * quadratic_law(p=6, beta=100.0).mean
    assert kstest(excess, quadratic.cdf).pvalue > 1e-3
    assert excess.mean() > bounds.convex_law(p=6, beta=101.0 * 2).mean


@given(st.integers(1, 50), st.floats(0.1, 5), st.floats(0.1, 3), st.floats(-1, 1), st.floats(-1, 1))
def test_quadratic_losses_move_by_their_shift(n, m, radius, old, new):
    # ℓ_d = (m/2)(θ − d)² on [−R, R] with one centre moved from d to d': N(mean, 1/(βm)) shifts.
    shift = radius * abs(new - old) / n
    gradients_differ = m * radius * abs(new - old)
    if gradients_differ > 1e-9:
        attained = coupling_distance(L=gradients_differ / 2, m=m, n=n)
        assert attained == pytest.approx(shift)
    generic = 2 * m * radius  # |ℓ'| on [−R, R]
    assert shift <= coupling_distance(L=generic, m=m, n=n) * (1 + 1e-12)
    means = [np.append(np.zeros(n - 1), radius * centre).mean() for centre in (old, new)]
    for centre in radius * np.linspace(-1, 1, 9):
        change = m / 2 * abs((means[0] - centre) ** 2 - (means[1] - centre) ** 2)
        assert change <= bounds.uniform_stability(L=generic, m=m, n=n) * (1 + 1e-12)


@pytest.mark.parametrize(("psi", "threshold"), [(0.0, "hard"), (0.02, "hard"), (0.02, "smooth")])
@pytest.mark.parametrize("beta", [5.0, 200.0])
def test_laws_of_neighbours_are_within_the_coupling_distance(psi, threshold, beta):
    first = small_problem(1, n=40, ridge=0.3)
    y = first.targets.copy()
    y[int(np.abs(first.rows[:, 0]).argmax())] *= -1  # the longest row turns
    turned = Problem(first.rows, y, radius=2.0, intercept=False, ridge=0.3)
    claimed = coupling_distance(
        L=first.L - first.ridge * first.domain.radius, m=first.m, n=40, psi=psi,
        width=psi / 2 if threshold == "smooth" else 0.0,
    )  # fmt: skip
    quantiles, places = np.linspace(1e-6, 1 - 1e-6, 4001), []
    for problem in (first, turned):
        grid, mass = line_law(GibbsTarget(problem, beta, psi, threshold))
        places.append(np.interp(quantiles, np.cumsum(mass), grid))
    distance = float(np.abs(places[0] - places[1]).max())  # W∞ of laws on a line
    assert 1e-4 < distance <= claimed


@given(st.floats(0.1, 5), st.floats(0.01, 2), st.integers(1, 10_000), PSIS)
def test_stability_and_risk_add_up(L, m, n, psi):
    stability = bounds.uniform_stability(L=L, m=m, n=n, psi=psi)
    assert stability == pytest.approx(4 * L * math.sqrt(2 * psi / m) + 2 * L**2 / (m * n))
    assert bounds.uniform_stability(L=L, m=m, n=n, psi=psi, width=psi) > stability
    risk = bounds.population_risk(p=3, beta=50.0, L=L, m=m, n=n, psi=psi)
    assert risk == pytest.approx(3 / 50 + psi + stability)


@pytest.mark.parametrize(("n", "beta"), [(5, 20.0), (100, 1000.0)])
def test_population_risk_of_a_mean_is_within_its_bound(n, beta):
    # ℓ_d = ½(θ − d)², d ~ U(−1, 1): excess risk of N(mean, 1/β) is ½(var/n + 1/β) exactly.
    exact = (1 / 3 / n + 1 / beta) / 2
    assert exact <= bounds.population_risk(p=1, beta=beta, L=2.0, m=1.0, n=n)


@pytest.mark.parametrize("distance", [0.3, 0.05, 1e-3])
def test_after_the_mixing_time_the_distance_is_kept(distance):
    # dθ = −βmθ dt + √2 dW from N(mean, 1/(βm)), in closed form.
    beta, m, mean = 30.0, 0.5, 2.0
    c = theorems.log_sobolev_constant(beta=beta, m=m)
    time = theorems.mixing_time(c=c, divergence=mean**2 * c / 2, distance=distance)
    gap = mean * math.exp(-beta * m * time) * math.sqrt(c)
    assert 2 * ndtr(gap / 2) - 1 <= distance  # TV of two normals a gap apart
    early = mean * math.exp(-beta * m * 0.5 * time) * math.sqrt(c)
    assert 2 * ndtr(early / 2) - 1 > distance
    assert theorems.mixing_time(c=c, divergence=2e-7, distance=distance) == 0


@pytest.mark.parametrize(("psi", "width"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.15), (0.05, 0.025)])
@pytest.mark.parametrize("beta", [2.0, 20.0])
def test_a_diffusion_on_a_grid_mixes_at_least_so_fast(psi, width, beta):
    # The generator on [−2, 2] with reflection, L = θ²/2: KL against exp(−2ct).
    cells = 161
    grid = np.linspace(-2, 2, cells)
    energy = beta * thresholded(grid**2 / 2 - psi, width)
    law = np.exp(-energy) / np.exp(-energy).sum()
    step = grid[1] - grid[0]
    jump = np.sqrt(law[1:] / law[:-1]) / step**2
    back = np.sqrt(law[:-1] / law[1:]) / step**2
    generator = np.diag(jump, 1) + np.diag(back, -1)
    generator -= np.diag(generator.sum(axis=1))
    root = np.sqrt(law)
    values, vectors = np.linalg.eigh(generator * root[:, None] / root)  # reversible: symmetric
    c = theorems.log_sobolev_constant(beta=beta, m=1.0, psi=psi, width=width)
    times, divergences = np.array([0.0, 0.2, 0.6]) / c, []
    for time in times:
        now = root * (vectors @ (np.exp(values * time) * (vectors.T @ (1 / cells / root))))
        now = np.maximum(now, 1e-300)
        divergences.append(float(now @ np.log(now / law)))
    assert divergences[0] <= theorems.start_divergence(beta=beta, L=2.0, diameter=4.0, psi=psi)
    assert np.all(divergences <= np.exp(-2 * c * times) * divergences[0] * 1.01)


@given(BETAS, st.floats(0.01, 2), PSIS, st.floats(1e-3, 1))
def test_the_log_sobolev_constant_is_the_lemma_s(beta, m, psi, width):
    found = theorems.log_sobolev_constant(beta=beta, m=m, psi=psi)
    lemma = beta * m * math.exp(-beta * psi) if beta * psi <= 1 else m / (math.e * psi)
    assert found == pytest.approx(lemma)
    share = np.linspace(0, 1, 2001)
    assert found >= (share * beta * m * np.exp(-share * beta * psi)).max() * (1 - 1e-9)
    # A smooth threshold leaves out half its width more of the loss.
    excess = np.linspace(0, psi + 3 * width, 2001)
    assert np.ptp(excess - thresholded(excess - psi, width)) == pytest.approx(psi + width / 2)
    smooth = theorems.log_sobolev_constant(beta=beta, m=m, psi=psi, width=width)
    wider = theorems.log_sobolev_constant(beta=beta, m=m, psi=psi + width / 2)
    assert smooth == pytest.approx(wider)


@pytest.mark.parametrize("psi", [0.0, 0.5])
def test_a_uniform_start_is_no_farther_than_its_bound_and_may_be_half_of_it(psi):
    # L = θ on [0, 4], where the loss rises by L·diameter.
    theta = (np.arange(40_000) + 0.5) / 10_000
    energy = 50.0 * np.maximum(theta - psi, 0)
    divergence = energy.mean() + math.log(np.exp(-energy).mean())
    claimed = theorems.start_divergence(beta=50.0, L=1.0, diameter=4.0, psi=psi)
    assert 0.35 * claimed < divergence <= claimed
    assert theorems.start_divergence(beta=50.0, L=1.0, diameter=4.0, psi=5.0) == 0


@pytest.mark.parametrize("threshold", ["hard", "smooth"])
def test_the_average_of_a_path_keeps_its_bound(threshold):
    problem = small_problem(5, radius=2.0, n=200, scale=4.0)
    target = GibbsTarget(problem, beta=60.0, psi=0.02, threshold=threshold)
    path = {"step_size": 4e-4, "n_steps": 400}
    states = [*LangevinSampler(**path, n_chains=64).states(target, np.random.default_rng(0))]
    average = np.mean([np.zeros_like(states[0]), *states[:-1]], axis=0)
    width = 0.01 if threshold == "smooth" else 0.0
    law = {"p": 5, "beta": 60.0, "L": problem.L, "distance": 2.0, "psi": 0.02, "width": width}
    assert target.excess(average).mean() <= bounds.path_average_excess(**law, **path)


@pytest.mark.parametrize("n_steps", [1, 2, 7, 200])
def test_the_accelerated_bound_adds_up_its_proof(n_steps):
    """Sum of a_t² over the steps, with the share q_t that each step may waste, by hand."""
    p, beta, step, distance, bend = 3, 40.0, 1e-3, 1.5, 2.0
    a = 2 * step * beta * np.arange(1, n_steps + 1) / (n_steps + 1)
    total = np.cumsum(a)
    wasted = (bend * a**2 / total).max()
    noise = 2 * p / (beta * a)  # E‖w‖² of √(2h)ξ/(hβ), h = a/β
    summed = distance**2 / 2 + (a**2 * noise / 2 / (1 - wasted)).sum()
    claimed = bounds.accelerated_path_excess(
        p=p, beta=beta, M=bend, distance=distance, step_size=step, n_steps=n_steps
    )
    assert claimed == pytest.approx(summed / total[-1])


@pytest.mark.parametrize("m", [1e-3, 0.04, 0.3, 0.8, 1.0])
def test_the_average_of_an_accelerated_path_of_a_quadratic_keeps_its_bound(m):
    """Exact second moments of the chain on ½mθ² without a domain, p = 1: no sampling."""
    bend, beta, distance = 1.0, 30.0, 2.0
    for n_steps, q in [(n, q) for n in (1, 3, 20, 100) for q in (0.05, 0.5, 0.9)]:
        step = q * (n_steps + 1) ** 2 / (4 * bend * beta * n_steps)
        # (mean, variance) of (z, x) as linear maps of start and noise
        state, cov = np.array([distance, distance]), np.zeros((2, 2))
        for t in range(1, n_steps + 1):
            pace, share = 2 * step * t / (n_steps + 1), 2 / (t + 1)
            z = np.array([1.0, 0.0]) - pace * beta * m * np.array([share, 1 - share])
            move = np.array([z, share * z + [0, 1 - share]])
            jolt = np.array([1.0, share])
            state = move @ state
            cov = move @ cov @ move.T + 2 * pace * np.outer(jolt, jolt)
        excess = m * (state[1] ** 2 + cov[1, 1]) / 2
        assert excess <= bounds.accelerated_path_excess(
            p=1, beta=beta, M=bend, distance=distance, step_size=step, n_steps=n_steps
        )


PATH = {"p": 3, "beta": 10.0, "L": 1.0, "distance": 4.0, "psi": 0.1}


STEPS = {"p": 1, "beta": 10.0, "M": 1.0, "distance": 1.0, "step_size": 0.2, "n_steps": 1}
LAW, STABLE = {"p": 1, "beta": 1.0}, {"L": 1.0, "m": 1.0, "n": 9}


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (bounds.expected_excess, {**LAW, "p": 0}, "p must be a whole number, at least 1"),
        (bounds.hit_probability, {**LAW, "psi": 1.0, "width": -1}, "width must be"),
        (bounds.hit_probability_from_excess, {**LAW, "p": 1.5, "psi": 1.0}, "whole number"),
        (quadratic_law, {**LAW, "beta": math.inf}, "beta must be finite"),
        (bounds.uniform_stability, {**STABLE, "m": 0.0}, "Theorem 2.5 .* add some ridge"),
        (coupling_distance, {**STABLE, "L": 0.0}, "L must be finite and > 0"),
        (bounds.population_risk, {**LAW, **STABLE, "m": 0.0}, "strongly convex"),
        (theorems.log_sobolev_constant, {"beta": 1.0, "m": 0.0}, "Lemma D.4 .* strongly convex"),
        (theorems.start_divergence, {"beta": 1.0, "L": 1.0, "diameter": 0.0}, "diameter must be"),
        (theorems.mixing_time, {"c": 1.0, "divergence": 1.0, "distance": 2.0}, "at most 1, got"),
        (theorems.mixing_time, {"c": 1.0, "divergence": -1.0, "distance": 0.1}, "divergence must"),
        (bounds.path_average_excess, {**PATH, "step_size": 0.0, "n_steps": 1}, "step_size must"),
        (bounds.accelerated_path_excess, STEPS, "too large for the path to be stable"),
    ],
)
def test_a_failed_condition_is_named(function, arguments, words):
    with pytest.raises(ValueError, match=words):
        function(**arguments)
