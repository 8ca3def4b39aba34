"""Notions of privacy, certificates, plans and methods of one model: what they charge, by hand."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, ndtri
from scipy.stats import gamma, norm

from rashomon_explorer.mechanisms import costs as pricing
from rashomon_explorer.mechanisms import guaranteed_hit_rate, plan
from rashomon_explorer.mechanisms.centres import plan_noisy_minimiser
from rashomon_explorer.mechanisms.certificates import gibbs_laws, paths, sensitivity
from rashomon_explorer.mechanisms.objective_perturbation.accounting import (
    perturbed_delta,
    plan_perturbed_objective,
)
from rashomon_explorer.papers import localisation
from rashomon_explorer.privacy import approximate, bounded_range, compose, gdp, pure, zcdp
from rashomon_explorer.privacy import conversions as c
from rashomon_explorer.privacy.composition import rdp, repeated_bounded_range
from rashomon_explorer.privacy.tradeoff import RepeatedBoundedRange
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.thresholds import SmoothThreshold
from tests.exact.conftest import exactly


def gaussian_delta(mu, epsilon):
    return norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


def canonne(divergence, delta):
    """Proposition 12 of Canonne, Kamath and Steinke 2020, minimised over the order."""

    def bound(log_excess):
        a = 1 + math.exp(log_excess)
        rest = math.log(1 / delta) + a * math.log(1 - 1 / a) - math.log(a - 1)
        return divergence(a) + rest / (a - 1)

    return minimize_scalar(bound, bounds=(-6, 8), method="bounded", options={"xatol": 1e-10}).fun


class TestNotions:
    def test_zcdp_of_each(self):
        assert pure(0.6).rho == exactly(0.18) and pure(0.6).pure_epsilon == 0.6
        assert bounded_range(0.6).rho == exactly(0.045) and bounded_range(0.6).pure_epsilon == 0.6
        assert gdp(0.6).rho == exactly(0.18) and gdp(0.6).mu == 0.6
        assert repeated_bounded_range(0.6, 5).rho == exactly(0.225)
        assert repeated_bounded_range(0.6, 5).pure_epsilon == exactly(3.0)
        assert repeated_bounded_range(0.6, 5).curve == RepeatedBoundedRange(0.6, 5)

    def test_sums(self):
        total = compose([pure(0.5), gdp(0.6), bounded_range(0.4), zcdp(0.3)])
        assert total.rho == exactly(0.125 + 0.18 + 0.02 + 0.3)
        assert compose([gdp(0.6), gdp(0.8)]).mu == exactly(1.0)
        assert compose([pure(0.5), bounded_range(0.7)]).pure_epsilon == exactly(1.2)
        lost = compose([approximate(0.5, 1e-6), approximate(0.25, 2e-6)])
        assert (lost.approximate_epsilon, lost.approximate_delta) == (0.75, exactly(3e-6))
        assert lost.epsilon(2.9e-6) == math.inf and lost.epsilon(3.1e-6) == 0.75

    def test_what_a_delta_of_its_own_leaves(self):
        mixed = compose([approximate(0.5, 1e-6), gdp(1.0)])
        assert mixed.epsilon(3e-6) == exactly(0.5 + c.gdp_epsilon(1.0, 2e-6))
        assert mixed.delta(2.0) == exactly(1e-6 + c.gdp_delta(1.0, 1.5))

    def test_renyi_curves_between_orders_lie_on_chords(self):
        curve = rdp([2.0, 4.0], [0.5, 1.2])
        assert curve.renyi(3.0) == exactly((0.5 * 1 + 1.2 * 3) / 2 / 2)
        assert curve.renyi(1.5) == exactly(0.5)
        assert compose([curve, zcdp(0.1)]).renyi(2.0) == exactly(0.7)


class TestConversions:
    @pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
    def test_zcdp(self, rho):
        epsilon = c.zcdp_epsilon(rho, 1e-6)
        best = canonne(lambda a: a * rho, 1e-6)
        assert best - 1e-9 <= epsilon <= best + 1e-4
        assert c.zcdp_delta(rho, epsilon) == pytest.approx(1e-6, rel=2e-3)
        assert c.zcdp_rho(epsilon, 1e-6) == pytest.approx(rho, rel=1e-6)

    @pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
    def test_gdp(self, mu):
        assert c.gdp_delta(mu, 0.7) == pytest.approx(gaussian_delta(mu, 0.7), rel=1e-9)
        assert gaussian_delta(mu, c.gdp_epsilon(mu, 1e-5)) == pytest.approx(1e-5, rel=1e-6)
        assert c.gdp_mu(c.gdp_epsilon(mu, 1e-5), 1e-5) == pytest.approx(mu, rel=1e-6)

    def test_pure_and_bounded_range_as_gaussians(self):
        assert c.pure_mu(0.8) == pytest.approx(2 * norm.ppf(expit(0.8)), rel=1e-9)
        assert c.bounded_range_mu(0.8) == pytest.approx(2 * norm.ppf(expit(0.4)), rel=1e-9)
        assert c.pure_mu(1e-6) == pytest.approx(1e-6 * math.sqrt(math.pi / 2), rel=1e-9)

    def test_renyi(self):
        orders = np.array([2.0, 8.0, 32.0])
        parts = orders * 0.3 + (
            math.log(1e5) + orders * np.log(1 - 1 / orders) - np.log(orders - 1)
        ) / (orders - 1)
        assert c.renyi_epsilon(orders, orders * 0.3, 1e-5) == exactly(parts.min())
        deltas = np.exp((orders - 1) * (orders * 0.3 - 4.0)) * (1 - 1 / orders) ** orders
        assert c.renyi_delta(orders, orders * 0.3, 4.0) == exactly((deltas / (orders - 1)).min())

    @pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
    def test_renyi_of_pure_and_of_bounded_range(self, order):
        a = 1 / (1 + math.exp(0.8))
        response = math.log(a**order * (1 - a) ** (1 - order) + (1 - a) ** order * a ** (1 - order))
        assert c.pure_renyi(0.8, order) == pytest.approx(response / (order - 1), rel=1e-9)

        def pair(t):
            low, high = math.exp(t - 0.8), math.exp(t)
            q = (1 - low) / (high - low)
            return -math.log(q * high**order + (1 - q) * low**order) / (order - 1)

        worst = -minimize_scalar(pair, bounds=(1e-9, 0.8 - 1e-9), method="bounded").fun
        assert c.bounded_range_renyi(0.8, order) == pytest.approx(worst, rel=1e-6)


def cone_mean(p, beta, psi):
    """Mean excess of the law of density e^(p−1)·exp(−β·max(e − ψ, 0)), the worst convex one."""

    def moment(k):
        def density(e):
            return e ** (p - 1 + k) * math.exp(-beta * max(e - psi, 0.0))

        return quad(density, 0, psi)[0] + quad(density, psi, psi + 60 / beta)[0]

    return moment(1) / moment(0)


ROWS = {"n": 1000, "p": 3, "psi": 0.02, "radius": 2.0, "row_norm": 1.5}


class TestDraws:
    def test_price(self):
        assert pricing.draws_guarantee(0.3, 4, ledger=True).rho == exactly(4 * 0.09 / 8)
        assert pricing.draws_guarantee(0.3, 4, ledger=True).pure_epsilon == exactly(1.2)
        assert pricing.draws_guarantee(0.3, 4).rho == exactly(4 * 0.09 / 8)

    @pytest.mark.parametrize("ledger", [False, True])
    def test_a_plan_charges_what_it_draws(self, ledger):
        bought = plan(**ROWS, epsilon=2.0, n_draws=5, ledger=ledger)
        made = Constants.from_loss("logistic", n=1000, p=3, domain=Ball(2.0), row_bound=1.5)
        assert bought.oscillation == made.charged_oscillation
        assert bought.beta == pytest.approx(0.4 / made.charged_oscillation)
        assert bought.eta == pytest.approx(0.4)
        assert bought.guarantee.pure_epsilon == pytest.approx(2.0)
        assert bought.hit_rate_bound == exactly(guaranteed_hit_rate(3, bought.beta, 0.02))
        assert bought.excess_bound == pytest.approx(cone_mean(3, bought.beta, 0.02), rel=1e-6)
        assert bought.excess_bound <= 3 / bought.beta + 0.02


class TestLocalisation:
    def test_constants(self, constants, ball):
        assert sensitivity.data_lipschitz(constants, ball) == pytest.approx(2.0 - 0.5 * 1.5)
        assert sensitivity.data_slope(constants, ball) == pytest.approx(2 * 1.25 / 100)
        near, nearest = (sensitivity.local_constants(constants, ball, d) for d in (0.2, 1e-12))
        assert near.osc == pytest.approx(0.025 * 0.2)
        assert near.gap_tolerance == pytest.approx(1e-3 * 0.005)
        assert nearest.gap_tolerance == exactly(16 * 2.0**-52 * 7.0)
        assert sensitivity.solver_distance(constants, ball) == pytest.approx(0.01 * 1.25 / 50)

    def test_output_perturbation(self, constants, ball):
        found = localisation.plan_perturbed(constants, ball, epsilon=6.0, failure=1e-4)
        error = 0.01 * 1.25 / 50
        scale = (2 * 1.25 / 50 + 2 * error) / 3.0
        assert found.noise_scale == pytest.approx(scale)
        (stage,) = found.stages
        distance = scale * gamma.isf(1e-4, 3) + error
        assert stage.distance == pytest.approx(distance) and stage.epsilon == exactly(3.0)
        osc = 0.025 * 2 * distance
        gap = 1e-3 * osc
        assert stage.beta == pytest.approx(3.0 / (osc + 2 * gap))
        assert found.guarantee.pure_epsilon == exactly(6.0)
        assert found.guarantee.rho == exactly(9 / 2 + 9 / 8)
        assert found.excess_bound == pytest.approx(3 / stage.beta + gap + 1e-4 * 2.0 * 3.0)
        assert found.excess_quantile == pytest.approx(gamma.isf(1e-4, 3) / stage.beta + gap)

    def test_a_ridge_of_its_own(self, ball):
        plain = Constants(n=100, p=3, L=2.0, M=1.5, m=0.0, osc=0.03)
        found = localisation.plan_regularised(plain, ball, epsilon=2.0)
        assert found.ridge == exactly(2 * 2.0 / (1.5 * 10))
        assert found.beta == exactly(2.0 / (0.03 + 6e-8))
        fixed = found.ridge / 2 * 1.5**2 + 2 * 4.0 / (found.ridge * 100)
        assert found.statistical_bound == exactly(fixed)
        assert found.population_bound == exactly(3 / found.beta + 3e-8 + fixed)
        assert found.guarantee.rho == exactly(0.5)


class TestNoisyMinimiser:
    ERROR = 0.01 * 1.25 / 50  # a hundredth of half the sensitivity
    MOVED = 2 * 1.25 / 50 + 2 * ERROR

    def test_pure(self, constants):
        found = plan_noisy_minimiser(constants, 1.5, 0.7, epsilon=4.0)
        assert not found.gaussian and found.solver == pytest.approx(self.ERROR)
        assert found.scale == pytest.approx(self.MOVED / 4.0)
        square, outward = 12 * found.scale**2, math.sqrt(3) * found.scale / 2
        slope = 0.7 / 1.5
        both = square + self.ERROR**2
        smooth = 1.5 * both / 2 + slope * (outward + self.ERROR + both / 3)
        assert found.excess == pytest.approx(smooth)

    def test_gaussian(self, constants):
        found = plan_noisy_minimiser(constants, 1.5, 0.7, epsilon=4.0, mu=0.5)
        assert found.gaussian and found.scale == pytest.approx(self.MOVED / 0.5)
        square = 3 * found.scale**2
        outward = found.scale / math.sqrt(2 * math.pi)
        both = square + self.ERROR**2
        smooth = 1.5 * both / 2 + 0.7 / 1.5 * (outward + self.ERROR + both / 3)
        assert found.excess == pytest.approx(min(smooth, 2.0 * (math.sqrt(square) + self.ERROR)))

    def test_kinks_leave_the_slope(self, kinked):
        found = plan_noisy_minimiser(kinked, 1.5, 0.7, epsilon=4.0)
        assert found.excess == pytest.approx(2.0 * (math.sqrt(12) * found.scale + found.solver))

    def test_inside_has_no_edge(self, constants):
        found = plan_noisy_minimiser(constants, 1.5, 0.5, epsilon=4.0)
        assert found.excess == pytest.approx(0.75 * (12 * found.scale**2 + self.ERROR**2))


class TestPerturbedObjective:
    def by_hand(self, constants, delta, monotone=True, own=0.2):
        return plan_perturbed_objective(
            constants, 1.5, 1.3, added_ridge=own, monotone=monotone, epsilon=2.0, delta=delta
        )

    @pytest.mark.parametrize("ratio", [0.2, 1.0])
    @pytest.mark.parametrize("tails", [1, 2])
    def test_delta_is_its_integral(self, ratio, tails):
        kept, jump = 0.7, 0.3

        def lost(x):
            return (math.exp(jump + ratio * x) - math.exp(kept + jump)) * norm.pdf(x)

        def shorter(r):
            return r * math.exp(-(r**2) / 2) * (1 - math.exp(kept - ratio**2 / 2 - ratio * r))

        first = tails * quad(lost, kept / ratio, kept / ratio + 40)[0]
        least = kept / ratio - ratio / 2
        second = quad(shorter, least, least + 40)[0]
        found = perturbed_delta(ratio, kept, jump, tails)
        assert found == pytest.approx(min(first, second), rel=1e-6)

    def test_each_delta_is_the_less_somewhere(self):
        cheap, dear = (perturbed_delta(u, kept, 0.0, 1) for u, kept in ((0.2, 0.7), (3.0, 20.0)))
        tilt = math.exp(0.02) * norm.cdf(0.2 - 3.5) - math.exp(0.7) * norm.cdf(-3.5)
        moved = 3 * math.sqrt(2 * math.pi) * math.exp(20) * norm.cdf(-(20 / 3 + 1.5))
        assert (cheap, dear) == (pytest.approx(tilt), pytest.approx(moved))
        assert perturbed_delta(7.0, 20.0, 0.0, 1) == 1.0

    def test_too_little_ridge_is_no_way(self):
        few = Constants(n=4, p=3, L=2.0, M=1.01, m=0.01, osc=0.03)
        assert self.by_hand(few, 0.0) is None
        assert math.log1p(1 / 0.04) > 2.0
        assert Ball(1.5).diameter == exactly(3.0)


DELTA, BETA = 0.025, 400.0  # 2L₀/n of the fixtures


def gaussian_of(width):
    """μ of a pair of laws whose log ratio ranges over ``width``."""
    return -2 * float(ndtri(expit(-width / 2)))


def test_constants_that_every_price_is_made_of(constants, kinked):
    assert constants.gap_tolerance == exactly(3e-8)
    assert kinked.gap_tolerance == exactly(3e-5)
    assert constants.charged_oscillation == exactly(0.03 + 6e-8)
    assert kinked.charged_oscillation == exactly(0.03 + 6e-5)
    made = Constants.from_loss("squared", n=10, p=2, domain=Ball(2.0), row_bound=1.0, ridge=0.25)
    # Half the square of y − s, |y| ≤ 1, |s| ≤ 2: slope at most 3, two losses from 0 to 4.5.
    assert (made.L, made.M, made.m, made.osc) == (3.0 + 0.5, 1.25, 0.25, 2 * 4.5 / 10)


def test_the_law_s_own_numbers(kinked, ball):
    law = gibbs_laws.GibbsLaw(kinked, ball, psi=0.1, beta=BETA, width=0.04)
    assert law.slope == pytest.approx(DELTA)
    assert law.lowered == exactly(0.1 + 3e-5 + 0.02)
    # 2L₀/n + min(1, ω/s)·L, ω the priced gibbs_laws.oscillation
    assert law.energy_slope == pytest.approx(DELTA + 0.03006 / 0.04 * 2.0)


@pytest.mark.parametrize("draws", [1, 4])
def test_bounded_range(kinked, ball, draws):
    law = gibbs_laws.GibbsLaw(kinked, ball, psi=0.1, beta=BETA)
    found, eta = gibbs_laws.oscillation(law, delta=0.0, n_draws=draws).guarantee, BETA * 0.03006
    assert found.pure_epsilon == exactly(draws * eta)
    assert found.rho == exactly(draws * eta**2 / 8)


@pytest.mark.parametrize("draws", [1, 4])
def test_convex_body(kinked, ball, draws):
    bare = gibbs_laws.GibbsLaw(kinked, ball, psi=0.0, beta=BETA)
    mu = math.sqrt(2 * BETA * DELTA * 3.0) + 2 * gaussian_of(BETA * 3e-5)
    found = gibbs_laws.convex_body(bare, delta=1e-6, n_draws=draws).guarantee
    assert found.mu == pytest.approx(math.sqrt(draws) * mu, rel=1e-9)
    hard = gibbs_laws.GibbsLaw(kinked, ball, psi=0.1, beta=BETA)  # Δ_ψ = L
    assert gibbs_laws.convex_body(hard, delta=1e-6).guarantee.mu == exactly(
        math.sqrt(2 * BETA * 2.0 * 3.0)
    )


@pytest.mark.parametrize("draws", [1, 4])
def test_gaussian_gibbs(kinked, ball, draws):
    law = gibbs_laws.GibbsLaw(kinked, ball, psi=0.001, beta=BETA, width=0.002)
    mu = DELTA * math.sqrt(BETA / 0.5) + 2 * gaussian_of(BETA * (0.001 + 3e-5 + 0.001))
    found = gibbs_laws.gaussian_gibbs(law, delta=1e-6, n_draws=draws).guarantee
    assert found.mu == pytest.approx(math.sqrt(draws) * mu, rel=1e-9)


@pytest.mark.parametrize("beta", [3.0, 60.0])  # βℓ below and above 1
def test_isoperimetry(kinked, ball, beta):
    law = gibbs_laws.GibbsLaw(kinked, ball, psi=0.1, beta=beta, width=0.04)
    lifted, slope = 0.12003, DELTA + 0.03006 / 0.04 * 2.0
    c = 0.5 * beta * math.exp(-beta * lifted) if beta * lifted < 1 else 0.5 / (math.e * lifted)
    found = gibbs_laws.isoperimetry(law, delta=1e-6, n_draws=4).guarantee
    assert found.rho == pytest.approx(4 * (beta * slope) ** 2 / (2 * c), rel=1e-9)


def sums(k, z):
    return sum(z**j / math.factorial(j) for j in range(k + 1))


@pytest.mark.parametrize("level", [0.0, 0.03, 0.4])
@pytest.mark.parametrize("failure", [1e-3, 1e-9])
def test_the_excess_that_a_draw_is_above_with_a_small_probability(level, failure):
    x, p = 50.0 * level, 3

    def surplus(y):
        return math.exp(-y) * sums(p - 1, x + y) / sums(p, x) - failure

    y = brentq(surplus, 0.0, 100.0, xtol=1e-13) if surplus(0.0) > 0 else 0.0
    found = gibbs_laws.excess_quantile(p, 50.0, level, failure)
    assert found == pytest.approx((x + y) / 50.0, rel=1e-8)


@pytest.mark.parametrize("least", [0.0, 0.05, 0.1])
def test_the_mean_excess_above(least):
    p, beta, level = 3, 50.0, 0.1

    def cone(e):
        return e ** (p - 1) * math.exp(-max(beta * (e - level), 0.0))

    def mass(f, low):
        parts = [quad(f, a, b)[0] for a, b in ((low, level), (level, level + 2.0)) if b > a]
        return sum(parts)

    whole, above = mass(cone, 0.0), mass(cone, least)
    found = gibbs_laws.mean_above(p, beta, level, least)
    assert found[0] == pytest.approx(above / whole, rel=1e-6)
    assert found[1] == pytest.approx(mass(lambda e: e * cone(e), least) / above, rel=1e-6)


def by_hand(psi, width, tau, failure, beta=BETA, p=3, m=0.5, diameter=3.0, priced=0.03006):
    """ε₁ and η of one draw (docs/certificates.md)."""
    base = psi + tau
    q = gibbs_laws.excess_quantile(p, beta, base + width, failure)
    if width:
        q = min(q, base + width / 2 + gibbs_laws.excess_quantile(p, beta, 0.0, failure))

    def apart(e):
        return DELTA * min(math.sqrt(2 * e / m) + DELTA / m, diameter) + tau

    edge = brentq(lambda e: apart(e) - (psi - e), 0.0, psi) if apart(0.0) < psi else 0.0
    top = psi + tau + width
    mass, mean = gibbs_laws.mean_above(p, beta, top, min(edge, top))
    one_sided = beta * min(min(mass * apart(mean), priced) + apart(q), priced)
    reach = math.sqrt(2 * q / m)
    across = DELTA * min(2 * reach + DELTA / m, diameter)
    beyond = DELTA * min(reach + DELTA / m, diameter) + tau
    return one_sided, beta * min(max(across, beyond), priced)


@pytest.mark.parametrize("draws", [1, 5])
@pytest.mark.parametrize(
    ("psi", "width"), [(0.0, 0.0), (0.01, 0.0), (0.01, 0.02)], ids=["bare", "hard", "smooth"]
)
def test_localised_sets_aside_the_failures_of_all_draws(kinked, ball, draws, psi, width):
    law = gibbs_laws.GibbsLaw(kinked, ball, psi=psi, beta=BETA, width=width)
    epsilon, eta = by_hand(psi, width, 3e-5, 1e-8)
    found = gibbs_laws._draws(law, 1e-8, draws)
    assert found.approximate_delta == exactly(draws * 1e-8)
    assert found.pure_epsilon == pytest.approx(draws * min(epsilon, eta), rel=1e-7)
    assert found.rho == pytest.approx(draws * min(eta, 2 * epsilon) ** 2 / 8, rel=1e-7)


def test_localised_pays_for_the_minimum_where_draws_go_all_over_the_domain(ball):
    """There two draws are D apart, and the minimum's error comes on top of it."""
    rough = Constants(n=100, p=3, L=2.0, M=math.inf, m=0.5, osc=1.0)
    law = gibbs_laws.GibbsLaw(rough, ball, psi=0.0, beta=2.0)
    found = gibbs_laws._draws(law, 1e-8, 2)
    assert found.rho == pytest.approx(2 * (2.0 * (DELTA * 3.0 + 1e-3)) ** 2 / 8, rel=1e-9)


def test_localised_shares_of_delta_are_of_all_draws_together(constants, ball):
    law = gibbs_laws.GibbsLaw(constants, ball, psi=0.01, beta=BETA)
    one = gibbs_laws.localised(law, delta=1e-6, n_draws=1).guarantee
    assert one.approximate_delta == exactly(1e-6 * (1 - 1e-9))
    many = gibbs_laws.localised(law, delta=1e-6, n_draws=3).guarantee
    shares = np.array([1 - 1e-9, 0.9, 0.5, 0.1, 0.01])
    assert np.isclose(many.approximate_delta, 1e-6 * shares, rtol=1e-9, atol=0).any()


def test_the_diffusion_at_a_finite_time():
    common = {"beta": 100.0, "sensitivity": 0.02, "time": 0.03}
    assert paths.diffusion_guarantee(m=0.0, **common).mu == exactly(2.0 * math.sqrt(0.03 / 2))
    curved = math.sqrt(100 * 0.02**2 / 0.5 * math.tanh(100 * 0.5 * 0.03 / 2))
    assert paths.diffusion_guarantee(m=0.5, **common).mu == exactly(curved)


def test_paths(constants, ball):
    run = paths.PathRun(constants, ball, 0.0, 100.0, 1e-3, 50, "hard", n_chains=3)
    assert paths.path(run).guarantee.mu == pytest.approx(100 * DELTA * math.sqrt(3 * 0.05 / 2))
    smooth = paths.PathRun(constants, ball, 0.1, 100.0, 1e-4, 50, SmoothThreshold(0.04))
    assert smooth.bend == exactly(1.5 + 4.0 / 0.04)
    assert smooth.sensitivity == pytest.approx(DELTA + (0.03 + 6e-8) / 0.04 * 2.0)


def test_the_last_state_of_a_path_without_threshold(constants, ball):
    run = paths.PathRun(constants, ball, 0.0, 10.0, 1e-3, 50, "hard", n_chains=2)
    c, shift = 1 - 1e-3 * 10 * 0.5, 1e-3 * 10 * DELTA
    steps = (1 - c**50) / (1 + c**50) * (1 + c) / (1 - c)
    wide = min((3.0 + t * shift) ** 2 / t for t in range(1, 51))
    mu = math.sqrt(2 * min(shift**2 * steps, wide) / 2e-3)
    assert paths.last_iterate(run).guarantee.mu == pytest.approx(mu, rel=1e-9)
    long = paths.PathRun(constants, ball, 0.0, 10.0, 0.2, 9, "hard")
    assert paths.last_iterate(long).guarantee is None
