"""How notions of privacy turn into each other, computed beside the code from their definitions."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from scipy.stats import norm

from rashomon_explorer.privacy import approximate, bounded_range, compose, gdp, pure, zcdp
from rashomon_explorer.privacy import conversions as c
from rashomon_explorer.privacy.composition import adaptive_epsilon, rdp, repeated_bounded_range
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

    def test_a_ledgers_rule(self):
        charges = [bounded_range(0.5), gdp(0.4), pure(0.3)]
        rho = 0.03125 + 0.08 + 0.045
        assert adaptive_epsilon(charges, 1e-6) == exactly(c.zcdp_epsilon(rho, 1e-6))
        assert adaptive_epsilon([bounded_range(0.5), pure(0.3)], 1e-6) == exactly(0.8)


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
