"""Constants that carry a claim, each against a case that attains it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import gamma, hypergeom

from rashomon_explorer.mechanisms.certificates import gibbs_laws, sensitivity
from rashomon_explorer.papers import localisation, theorems
from rashomon_explorer.privacy.composition import repeated_bounded_range
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.privacy.guarantee import gaussian_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-3), (2.0, 1e-6)])
def test_a_quadratic_attains_the_temperature_of_theorem_b_8(epsilon, delta):
    """Of Φ = ±Δx/2 the laws are Gaussians of variance 1/(kμ), Δ/μ apart."""
    ridge, slope = 0.7, 0.02
    k = theorems.regularised_temperature(ridge, slope, epsilon=epsilon, delta=delta)
    apart = slope / ridge * math.sqrt(k * ridge)
    assert gdp_delta(apart, epsilon) == pytest.approx(delta, rel=1e-6)
    assert gdp_delta(apart * math.sqrt(2), epsilon) > 2 * delta  # twice as hot a law


def test_a_quadratic_attains_the_divergence_by_isoperimetry():
    """Of energies β(½mx² ± ½Δx) the laws have D_a = aβΔ²/(2m)."""
    beta, m, slope = 40.0, 0.3, 0.05
    law = SimpleNamespace(
        constants=SimpleNamespace(m=m),
        bare=False,
        beta=beta,
        energy_slope=slope,
        lowered=0.0,
        in_words=lambda: "",
    )
    proved = gibbs_laws.isoperimetry(law, delta=1e-6, n_draws=3).guarantee
    assert proved.rho == pytest.approx(3 * beta * slope**2 / (2 * m), rel=1e-12)


def test_a_batch_strays_no_further_than_is_planned():
    """Slopes ±L, half of each sign: the mean of a batch moves its minimiser by at most mean/m."""
    constants = Constants.from_loss(
        "logistic", n=2_000, p=2, domain=Ball(2.0), row_bound=1.0, ridge=0.5
    )
    plan = localisation.plan_disjoint(constants, Ball(2.0), epsilon=4.0, n_stages=2)
    slope, (first, second) = sensitivity.data_lipschitz(constants, Ball(2.0)), plan.stages
    m, size = constants.m, plan.sizes[0]
    local = sensitivity.local_constants(
        localisation.of_fewer(constants, size), Ball(2.0), Ball(2.0).diameter
    )
    widths = []
    for failure in localisation._LOST:
        quantile = localisation._gamma_quantile(2, failure)
        drawn = math.sqrt(2 * (quantile / first.beta + local.gap_tolerance) / m)
        widths.append((abs(second.distance - drawn), failure))

    def missed(distance, failure):
        most = (size + distance * m / slope * size) / 2  # positive slopes in the batch
        return 2 * hypergeom(2_000, 1_000, size).sf(math.floor(most)) / failure

    strays = [
        (width, failure)
        for width, failure in widths
        if width
        == pytest.approx(
            slope / (m * math.sqrt(size)) * (1 + math.sqrt(-2 * math.log(failure))), rel=1e-9
        )
    ]
    assert len(strays) == 1
    ((width, failure),) = strays
    assert missed(width, failure) <= 1 < missed(width / 2, failure)


def test_noise_of_the_start_leaves_its_ball_exactly_as_often_as_is_planned():
    """Noise of density ∝ exp(−‖x‖/s) has a length of law Gamma(p, s), plus the solver's error."""
    constants = Constants.from_loss(
        "logistic", n=20_000, p=3, domain=Ball(4.0), row_bound=1.0, ridge=0.5
    )
    plan = localisation.plan_perturbed(constants, Ball(4.0), epsilon=4.0, failure=1e-3)
    error = sensitivity.solver_distance(constants, Ball(4.0))
    length = (plan.stages[0].distance - error) / plan.noise_scale
    assert gamma(3).sf(length) == pytest.approx(1e-3, rel=1e-6)
    assert gamma(3).sf(length / 4) > 0.1  # the control


def test_several_exact_draws_cost_the_root_of_their_number_in_gaussian_dp():
    one, nine = (
        gaussian_mu(repeated_bounded_range(0.3, 1)),
        gaussian_mu(repeated_bounded_range(0.3, 9)),
    )
    assert nine == pytest.approx(3 * one, rel=1e-12)
    levels = np.linspace(0.05, 0.5, 4)
    curve = repeated_bounded_range(0.3, 9).curve
    assert all(curve.delta(level) <= gdp_delta(nine, level) for level in levels)
