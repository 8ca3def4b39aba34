"""What each certificate of a Gibbs law charges, computed beside it from the theorem's words."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from rashomon_explorer.mechanisms.certificates import gibbs_laws, localised, paths
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.thresholds import SmoothThreshold
from tests.exact.conftest import exactly

DELTA, BETA = 0.025, 400.0  # 2L₀/n of the fixtures


def gaussian_of(width):
    """μ of a pair of laws whose log ratio ranges over ``width``."""
    return -2 * float(ndtri(expit(-width / 2)))


def test_constants_that_every_price_is_made_of(constants, kinked):
    assert constants.gap_tolerance == exactly(3e-8)
    assert kinked.gap_tolerance == exactly(3e-5)
    assert constants.charged_oscillation == exactly(0.03 + 6e-8)
    assert kinked.charged_oscillation == exactly(0.03 + 6e-5)
    made = Constants.of("squared", n=10, p=2, domain=Ball(2.0), row_bound=1.0, ridge=0.25)
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
    assert gibbs_laws.convex_body(bare, delta=1e-6, n_draws=draws).guarantee.mu == pytest.approx(
        math.sqrt(draws) * mu, rel=1e-9
    )
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
    assert localised.excess_quantile(p, 50.0, level, failure) == pytest.approx(
        (x + y) / 50.0, rel=1e-8
    )


@pytest.mark.parametrize("least", [0.0, 0.05, 0.1])
def test_the_mean_excess_above(least):
    p, beta, level = 3, 50.0, 0.1

    def cone(e):
        return e ** (p - 1) * math.exp(-max(beta * (e - level), 0.0))

    def mass(f, low):
        parts = [quad(f, a, b)[0] for a, b in ((low, level), (level, level + 2.0)) if b > a]
        return sum(parts)

    whole, above = mass(cone, 0.0), mass(cone, least)
    found = localised.mean_above(p, beta, level, least)
    assert found[0] == pytest.approx(above / whole, rel=1e-6)
    assert found[1] == pytest.approx(mass(lambda e: e * cone(e), least) / above, rel=1e-6)


def by_hand(psi, width, tau, failure, beta=BETA, p=3, m=0.5, diameter=3.0, priced=0.03006):
    """ε₁ and η of one draw (docs/certificates.md)."""
    base = psi + tau
    q = localised.excess_quantile(p, beta, base + width, failure)
    if width:
        q = min(q, base + width / 2 + localised.excess_quantile(p, beta, 0.0, failure))

    def apart(e):
        return DELTA * min(math.sqrt(2 * e / m) + DELTA / m, diameter) + tau

    edge = brentq(lambda e: apart(e) - (psi - e), 0.0, psi) if apart(0.0) < psi else 0.0
    top = psi + tau + width
    mass, mean = localised.mean_above(p, beta, top, min(edge, top))
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
    found = localised._draws(law, 1e-8, draws)
    assert found.approximate_delta == exactly(draws * 1e-8)
    assert found.pure_epsilon == pytest.approx(draws * min(epsilon, eta), rel=1e-7)
    assert found.rho == pytest.approx(draws * min(eta, 2 * epsilon) ** 2 / 8, rel=1e-7)


def test_localised_pays_for_the_minimum_where_draws_go_all_over_the_domain(ball):
    """There two draws are D apart, and the minimum's error comes on top of it."""
    rough = Constants(n=100, p=3, L=2.0, M=math.inf, m=0.5, osc=1.0)
    law = gibbs_laws.GibbsLaw(rough, ball, psi=0.0, beta=2.0)
    found = localised._draws(law, 1e-8, 2)
    assert found.rho == pytest.approx(2 * (2.0 * (DELTA * 3.0 + 1e-3)) ** 2 / 8, rel=1e-9)


def test_localised_shares_of_delta_are_of_all_draws_together(constants, ball):
    law = gibbs_laws.GibbsLaw(constants, ball, psi=0.01, beta=BETA)
    one = localised.localised(law, delta=1e-6, n_draws=1).guarantee
    assert one.approximate_delta == exactly(1e-6 * (1 - 1e-9))
    many = localised.localised(law, delta=1e-6, n_draws=3).guarantee
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
    assert (
        paths.last_iterate(paths.PathRun(constants, ball, 0.0, 10.0, 0.2, 9, "hard")).guarantee
        is None
    )
