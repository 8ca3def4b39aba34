"""What methods of one model add to a minimiser or an objective, by hand."""

import math

import pytest
from scipy.integrate import quad
from scipy.stats import norm

from rashomon_explorer.mechanisms.objective_perturbation.accounting import (
    perturbed_delta,
    plan_perturbed_objective,
)
from rashomon_explorer.mechanisms.one_model import plan_noisy_minimiser
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from tests.exact.conftest import exactly


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

    def test_pure(self, constants):
        found = self.by_hand(constants, 0.0)
        jump = math.log1p(1.0 / (100 * 0.5))
        assert found.determinant == pytest.approx(jump)
        assert found.scale == pytest.approx(2 * 1.3 / 100 / (0.98 * 2.0 - jump), rel=1e-8)
        assert found.solver == pytest.approx(1e-4 * 2 * 1.3 / 100 / 0.5)
        assert found.blur == pytest.approx(2 * found.solver / (0.02 * 2.0))
        thrown = (0.2**2 * 1.5**2 + 12 * found.scale**2) / (2 * 0.7)
        rest = 2.0 * found.solver + 1.5 / 2 * 12 * found.blur**2
        assert found.excess == pytest.approx(thrown + rest)

    @pytest.mark.parametrize(("monotone", "tails"), [(True, 1), (False, 2)])
    def test_gaussian(self, constants, monotone, tails):
        found = self.by_hand(constants, 1e-5, monotone)
        ratio, jump = 2 * 1.3 / 100 / found.scale, found.determinant
        spent = perturbed_delta(ratio, 0.98 * 2.0 - jump, jump, tails)
        assert spent == pytest.approx(0.98e-5, rel=1e-6) and spent <= 0.98e-5
        assert found.blur == pytest.approx(2 * found.solver / gdp_mu(0.04, 0.02e-5), rel=1e-6)
        thrown = (0.2**2 * 1.5**2 + 3 * found.scale**2) / (2 * 0.7)
        rest = 2.0 * found.solver + 1.5 / 2 * 3 * found.blur**2
        assert found.excess == pytest.approx(thrown + rest)

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
