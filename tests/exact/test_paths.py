"""What one record moves of a gradient, what paths and samplers cost, and noise they draw."""

import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms import LangevinSampler, plan, plan_path
from rashomon_explorer.mechanisms.certificates.sensitivity import (
    batch_sensitivity,
    gradient_sensitivity,
    solver_distance,
)
from rashomon_explorer.mechanisms.langevin.gradients import FullDrift, GaussianDrift
from rashomon_explorer.mechanisms.noisy_descent import last_iterate_guarantee, path_guarantee
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import GaussianThreshold, SmoothThreshold
from tests.exact.conftest import exactly
from tests.mechanisms.builders import Silent
from tests.papers.by_hand import localised

OMEGA = 0.03 + 6e-8  # priced oscillation of the fixture


def problem(n=40, ridge=0.0, radius=2.0, loss="squared"):
    X = np.tile([[0.6], [-0.6]], (n // 2, 1))
    y = np.tile([1.0, -1.0], n // 2)
    return Problem(X, y, loss=loss, radius=radius, ridge=ridge, intercept=False)


class TestGradients:
    def test_without_threshold(self, constants):
        assert gradient_sensitivity(constants, 0.0, width=0.0) == exactly(2 * 2.0 / 100)
        assert gradient_sensitivity(constants, 0.0, width=0.0, data_slope=0.025) == 0.025

    @pytest.mark.parametrize("width", [0.01, 0.04])
    def test_smooth_threshold(self, constants, width):
        share = min(1.0, OMEGA / width)
        assert gradient_sensitivity(constants, 0.1, width=width) == exactly(0.04 + share * 2.0)

    def test_interior_minimiser(self, constants):
        inside = gradient_sensitivity(constants, 0.1, width=0.04, interior=True)
        gradient = math.sqrt(2 * 1.5 * (0.1 + 0.04 + OMEGA))
        assert inside == exactly(0.04 + OMEGA / 0.04 * gradient)

    def test_hard_threshold(self, constants):
        assert gradient_sensitivity(constants, 0.1, width=0.0) == 2.0

    @pytest.mark.parametrize(("steps", "taken"), [(1, 1), (3, 1), (4, 2), (7, 3)])
    def test_batches_without_threshold(self, constants, steps, taken):
        """A record is in ⌈N/l⌉ of N steps; b = ⌊100/3⌋ rows are in each."""
        found = batch_sensitivity(constants, 0.0, width=0.0, n_batches=3, n_steps=steps)
        assert found == exactly(2 * 2.0 / 33 * math.sqrt(taken / steps))

    @pytest.mark.parametrize("width", [0.0, 0.2])
    def test_batches_with_a_threshold(self, constants, width):
        found = batch_sensitivity(constants, 0.1, width=width, n_batches=3, n_steps=7)
        other = (min(1.0, OMEGA / width) if width else 1.0) * 2.0
        own = 2 * 2.0 / 33
        own = own + (OMEGA + 0.03 * 100 / 33) / width * 2.0 if width else max(own, 2.0)
        assert found == exactly(math.sqrt((3 * own**2 + 4 * other**2) / 7))


class TestDrifts:
    def test_double_precision_and_the_largest_step(self):
        posed = problem(ridge=0.25)
        target = GibbsTarget(posed, 50.0, 0.1, SmoothThreshold(0.5))
        full = FullDrift(target)
        moved = 2 * (posed.L - 0.25 * 2.0) / 40
        found = moved + posed.constants.charged_oscillation / 0.5 * posed.L
        assert full.sensitivity(1) == pytest.approx(found)
        assert full.largest_step == exactly(2 / (50.0 * (posed.M + posed.L**2 / 0.5)))
        assert full.diameter == 4.0
        hard = FullDrift(GibbsTarget(posed, 50.0, 0.0))
        assert hard.largest_step == exactly(2 / (50.0 * posed.M))
        h = 0.3 * hard.largest_step
        ends = abs(1 - h * 50 * 0.25), abs(1 - h * 50 * posed.M)
        assert hard.contraction(h) == exactly(max(ends))

    def test_gaussian_threshold(self):
        posed = problem(loss="logistic", radius=1.0)
        everywhere = posed.loss.lipschitz(np.inf, posed.row_bound)
        jump = GaussianDrift(GibbsTarget(posed, 50.0, 0.1, GaussianThreshold(0.2, n_samples=4)))
        assert jump.sensitivity(1) == exactly(everywhere)
        plain = GaussianDrift(GibbsTarget(posed, 50.0, 0.0, GaussianThreshold(0.2, n_samples=4)))
        assert plain.sensitivity(1) == exactly(2 * everywhere / 40)


class TestPaths:
    def test_all_states(self):
        paid = path_guarantee(beta=30.0, sensitivity=0.02, step_size=0.01, n_steps=50, n_chains=3)
        assert paid.mu == exactly(0.6 * math.sqrt(3 * 0.5 / 2))
        assert paid.rho == exactly(0.36 * 3 * 0.5 / 4)

    def test_last_states(self):
        common = {"beta": 30.0, "sensitivity": 0.02, "step_size": 0.01, "n_steps": 50}
        shift = 0.006
        wide = min((0.01 + t * shift) ** 2 / t for t in range(1, 51))
        found = last_iterate_guarantee(**common, contraction=1.0, diameter=0.01, n_chains=3).mu
        assert found == exactly(math.sqrt(3 * wide / 0.02))

    def test_the_last_state_of_a_sampler_counts_the_whole_domain(self):
        """D is the diameter, not the radius."""
        posed = problem(n=40)
        target = GibbsTarget(posed, 50.0, 0.1, SmoothThreshold(0.2))
        drift = FullDrift(target)
        h = 0.5 * drift.largest_step
        sampler = LangevinSampler(h, 200_000, n_chains=2, shown="last")
        shift = h * 50 * drift.sensitivity(1)
        wide = min((4.0 + t * shift) ** 2 / t for t in range(1, 200_000, 1))
        found = sampler.certificate(target).mu
        assert wide < 200_000 * shift**2
        assert found == pytest.approx(math.sqrt(2 * wide / (2 * h)), rel=1e-9)

    @pytest.mark.parametrize("psi", [0.0, 0.02])
    def test_a_plan_spends_its_budget_and_promises_what_the_theorem_does(self, psi):
        public = {"radius": 2.0, "row_norm": 1.5, "epsilon": 1.0, "delta": 1e-6}
        planned = plan_path(5000, 4, psi, **public, n_draws=3)
        made = Constants.from_loss("logistic", n=5000, p=4, domain=Ball(2.0), row_bound=1.5)
        moved = gradient_sensitivity(made, psi, width=planned.details.width)
        assert planned.details.sensitivity == pytest.approx(moved)
        h, N, beta = planned.details.step_size, planned.details.n_steps, planned.beta
        mu = beta * planned.details.sensitivity * math.sqrt(3 * N * h / 2)
        assert planned.guarantee.mu == exactly(mu) and mu <= gdp_mu(1.0, 1e-6)
        assert mu == pytest.approx(gdp_mu(1.0, 1e-6), rel=1e-6)
        bend = made.M + (made.L**2 / planned.details.width if planned.details.width else 0)
        noise = 4 / (beta - 4 * bend * beta**2 * N * h / (N + 1) ** 2)
        excess = noise + 2.0**2 / (2 * beta * h * N)
        assert planned.excess_bound == exactly(excess + psi + planned.details.width / 2)
        ledger = plan_path(5000, 4, psi, **public, ledger=True)
        assert ledger.guarantee.rho <= 0.0245  # zcdp_rho(1, 1e-6)


BOUGHT = plan(1000, 2, 0.02, radius=2.0, row_norm=1.0, epsilon=1.2, n_draws=4)


def posed(ridge=0.0, n=40):
    X = np.tile([[0.6, 0.1], [-0.6, 0.3]], (n // 2, 1))
    return Problem(X, np.tile([1.0, -1.0], n // 2), radius=2.0, ridge=ridge, intercept=False)


def test_the_noise_on_a_minimiser_has_the_planned_length():
    problem = posed(ridge=0.5)
    sampler = localised(epsilon=40.0, failure=1e-3)
    bought = sampler.plan(problem)
    noisy = sampler.noisy_minimiser(problem, Silent(1.0))
    known = problem.minimum.theta
    # Gamma(p) times σ in a uniform direction; the solver is within its paid distance.
    length = bought.noise_scale * 2
    off = solver_distance(problem.constants, problem.domain)
    assert np.linalg.norm(noisy - known) == pytest.approx(length, abs=2 * off)
    assert off < length / 10


def test_a_draw_s_energy_is_beta_times_the_excess_over_the_threshold():
    target = GibbsTarget(posed(), beta=50.0, psi=0.1)
    np.testing.assert_allclose(target.energy(np.array([0.05, 0.1, 0.3])), [0.0, 0.0, 10.0])
    smooth = GibbsTarget(posed(), 50.0, 0.1, "smooth")
    width = smooth.shape.width
    far = np.array([0.1, 0.1 + width, 0.1 + 3 * width])
    # φ(v) = v²/(2s) up to s, then v − s/2
    excess = np.array([0.0, width / 2, 2.5 * width])
    np.testing.assert_allclose(smooth.energy(far), 50 * excess, atol=1e-12)
