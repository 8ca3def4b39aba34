"""Constants as printed in the papers that this package is built on: audits must break them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.mechanisms.certificates.sensitivity import gradient_sensitivity
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.papers.constants import (
    printed_bilevel_slope,
    printed_net_beta,
    printed_objective_epsilon,
    printed_output_sigma,
    printed_path_beta,
    printed_sensitivity,
)
from rashomon_explorer.privacy import approximate, audit, bounded_range, gdp, pure
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

from .mechanisms import path_case

EPSILON, DELTA = 1.0, 1e-5
CLAIM = approximate(EPSILON, DELTA)


def normals(shift):
    """Audit of unit noise on values that lie ``shift`` apart."""

    def law(mean):
        return lambda x: -((x[0] - mean) ** 2) / 2

    return audit.exact(law(0.0), law(shift), box=[(-12.0, 12.0 + shift)])


def test_the_path_of_lemma_3_1_of_paper_000():
    beta = printed_path_beta(EPSILON, DELTA, sensitivity=1e-2, time=2.0)
    path = path_guarantee(beta=beta, sensitivity=1e-2, step_size=0.01, n_steps=200)
    found = normals(path.mu)
    assert not found.within(CLAIM)
    assert float(found.delta(EPSILON)) == pytest.approx(1.8e-3, rel=0.03)
    assert found.epsilon(DELTA) == pytest.approx(1.63, abs=0.01)
    assert normals(gdp_mu(EPSILON, DELTA)).within(CLAIM)


@pytest.mark.law
def test_a_path_that_runs_at_the_beta_of_lemma_3_1_is_caught_by_its_states():
    """Not only its formula: a million chains of two steps, and as many at the sound β."""
    broken = {}
    for name, mu in (
        ("printed", EPSILON * math.sqrt(2 / math.log(1 / DELTA))),
        ("sound", gdp_mu(EPSILON, DELTA)),
    ):
        case = path_case(mu=mu, n_steps=2)
        broken[name] = audit.monte_carlo(
            case.mechanism,
            *case.neighbours,
            claim=CLAIM,
            delta=DELTA,
            statistic=case.statistic,
            n_runs=1_000_000,
            confidence=0.9999,
            random_state=0,
            batched=True,
        ).broken
    assert broken == {"printed": True, "sound": False}


def quadratic(slope, theta, psi):
    """Hard-thresholded gradient of 0.005θ² + slope·θ, whose minimiser is inside the domain."""
    gradient = 0.01 * theta + slope
    return np.where(gradient**2 / (2 * 0.01) > psi, gradient, 0.0)


def test_the_sensitivity_of_equation_9_of_paper_000():
    """ℓ = 0.005θ² ± θ on |θ| ≤ 1, n = 1000: as many of either sign, then one more."""
    n, psi, beta, step = 1000, 2e-4, 1000.0, 0.05
    constants = Constants(n=n, p=1, L=1.01, M=0.01, m=0.01, osc=4 / n)
    theta = np.linspace(-1.0, 1.0, 20_001)
    slopes = [2 * k / n for k in range(-4, 5)]
    moved = [
        np.abs(quadratic(one, theta, psi) - quadratic(one + 2 / n, theta, psi)) for one in slopes
    ]
    worst = np.max(moved)
    assert worst == pytest.approx(0.0040, rel=0.01)
    assert printed_sensitivity(constants, psi) == pytest.approx(0.00303)

    def claimed(sensitivity):
        return path_guarantee(beta=beta, sensitivity=sensitivity, step_size=step, n_steps=1)

    found = normals(step * beta * float(worst) / math.sqrt(2 * step))  # from the worst θ
    assert not found.within(claimed(printed_sensitivity(constants, psi)))
    assert found.within(claimed(gradient_sensitivity(constants, psi, width=0.0, interior=True)))


def net(beta, n):
    """Records y = ±1 of ℓ = |y − θ| on a net of [−1, 1]: all agree, and one leaves them."""
    points = np.linspace(-1.0, 1.0, n + 1)
    slopes = 1.0, 1.0 - 2 / n
    return audit.discrete(*(beta * slope * points for slope in slopes))


def test_the_net_of_algorithm_8_of_paper_002():
    n, ball = 1000, Ball(1.0)
    constants = Constants.of("absolute", n=n, p=1, domain=ball, row_bound=1.0)
    printed = printed_net_beta(constants, ball, EPSILON)
    found = net(printed, n)
    assert not found.within(pure(epsilon=EPSILON))
    assert found.max_log_ratio == pytest.approx(1.9988, abs=2e-3)
    assert net(printed / 2, n).within(bounded_range(eta=EPSILON))


def test_the_noise_of_appendix_c_of_paper_002():
    ball = Ball(1.0)
    constants = Constants.of("absolute", n=1000, p=1, domain=ball, row_bound=1.0, ridge=1.0)
    moved = 2 * 1.0 / (constants.m * constants.n)
    sigma = printed_output_sigma(constants, ball, epsilon=EPSILON, delta=DELTA)
    found = normals(moved / sigma)
    assert not found.within(CLAIM)
    assert float(found.delta(EPSILON)) == pytest.approx(4.3e-5, rel=0.02)
    assert normals(moved / (moved / gdp_mu(EPSILON, DELTA))).within(CLAIM)


def objective(rate, ridge):
    """Laws of argmin Σℓ + ridge·θ²/2 + bθ, b ∝ exp(−rate·|b|): 50 records −θ, and one more.

    The one is Huber's (θ²/2, then |θ| − ½) or −θ; both are 1-Lipschitz, the first is 1-smooth.
    """

    def law(slope, bend):
        def log_density(theta):
            noise = 50 - slope(theta[0]) - ridge * theta[0]
            return -rate * np.abs(noise) + np.log(bend(theta[0]) + ridge)

        return log_density

    huber = law(lambda t: np.clip(t, -1, 1), lambda t: (np.abs(t) < 1).astype(float))
    straight = law(lambda t: -np.ones_like(t), np.zeros_like)
    return audit.exact(huber, straight, box=[(-200.0, 400.0)], points=60_001)


def test_the_objective_perturbation_of_appendix_e_of_paper_002():
    printed = objective(rate=EPSILON / 2, ridge=1 / (2 * EPSILON))
    assert not printed.within(pure(epsilon=EPSILON))
    assert printed.max_log_ratio == pytest.approx(2.0986, abs=0.02)
    assert printed_objective_epsilon(1.0, 0.5, EPSILON) == pytest.approx(2.0986, abs=1e-4)
    sound = objective(rate=EPSILON / 4, ridge=1 / math.expm1(EPSILON / 2))
    assert sound.within(pure(epsilon=EPSILON))
    assert sound.max_log_ratio > 0.95 * EPSILON


def bilevel(condition, slope, n=10**6):
    """Regularised mechanism on x in [0, 1] for g = zy²/2 − xy, f = y − x: Φ = x/z̄ − x.

    Calibrated for Φ_Z − Φ_Z' that is ``slope``/n-Lipschitz; all z are 1, then one is ``condition``.
    """
    ridge = printed_slope() * math.sqrt(math.log(1 / DELTA)) / (n * EPSILON)
    k = ridge * (n * gdp_mu(EPSILON, DELTA) / slope) ** 2

    def law(mean):
        return lambda x: -k * (x[0] / mean - x[0] + ridge * x[0] ** 2 / 2)

    return audit.exact(law(1.0), law(1 + (condition - 1) / n), box=[(0.0, 1.0)])


def printed_slope():
    ones = dict.fromkeys(("outer_x", "outer_y", "inner_y", "inner_xy", "mu"), 1.0)
    return printed_bilevel_slope(**ones, outer_xy=0.0)


@pytest.mark.parametrize(("condition", "delta"), [(100, 0.093), (1000, 0.82)])
def test_the_regularised_mechanism_of_paper_004(condition, delta):
    printed = bilevel(condition, slope=2 * printed_slope())
    assert not printed.within(CLAIM)
    assert float(printed.delta(EPSILON)) == pytest.approx(delta, rel=0.02)
    sound = 2 * (2 * 2.0 + condition)  # K of their (12), which bounds the derivative's change
    assert bilevel(condition, slope=sound).within(CLAIM)


def test_half_the_sensitivity_of_a_path():
    whole = path_guarantee(beta=100.0, sensitivity=0.01, step_size=0.01, n_steps=200)
    assert normals(whole.mu).within(whole)
    assert not normals(whole.mu).within(replace(whole, mu=whole.mu / 2, rho=whole.rho / 4))
    assert not normals(whole.mu).within(gdp(mu=0.99 * whole.mu))
