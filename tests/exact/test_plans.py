"""What plans and methods of one model buy and charge, by hand."""

import math

import pytest
from scipy.integrate import quad
from scipy.stats import gamma, norm

from rashomon_explorer.mechanisms import guaranteed_hit_rate, plan
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.objective_perturbation.accounting import (
    perturbed_delta,
    plan_perturbed_objective,
)
from rashomon_explorer.mechanisms.one_model import plan_noisy_minimiser
from rashomon_explorer.mechanisms.planning import pricing
from rashomon_explorer.papers import localisation
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from tests.exact.conftest import exactly


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
        made = Constants.of("logistic", n=1000, p=3, domain=Ball(2.0), row_bound=1.5)
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
        near = sensitivity.local_constants(constants, ball, 0.2)
        assert near.osc == pytest.approx(0.025 * 0.2)
        assert near.gap_tolerance == pytest.approx(1e-3 * 0.005)
        assert sensitivity.local_constants(constants, ball, 1e-12).gap_tolerance == exactly(
            16 * 2.0**-52 * 7.0
        )
        assert sensitivity.solver_distance(constants, ball) == pytest.approx(
            0.01 * 1.25 / (0.5 * 100)
        )

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
        ridged = localisation.with_ridge(plain, ball, 0.4)
        assert (ridged.L, ridged.M, ridged.m, ridged.osc) == (2.6, 1.9, 0.4, 0.03)


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
            constants, 1.5, 1.3, own=own, monotone=monotone, epsilon=2.0, delta=delta
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
        assert cheap == pytest.approx(
            math.exp(0.02) * norm.cdf(0.2 - 3.5) - math.exp(0.7) * norm.cdf(-3.5)
        )
        assert dear == pytest.approx(
            3 * math.sqrt(2 * math.pi) * math.exp(20) * norm.cdf(-(20 / 3 + 1.5))
        )
        assert perturbed_delta(7.0, 20.0, 0.0, 1) == 1.0

    def test_too_little_ridge_is_no_way(self):
        few = Constants(n=4, p=3, L=2.0, M=1.01, m=0.01, osc=0.03)
        assert self.by_hand(few, 0.0) is None
        assert math.log1p(1 / 0.04) > 2.0
        assert Ball(1.5).diameter == exactly(3.0)
