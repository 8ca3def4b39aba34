"""What samplers add to a plan's price, and the noise that they draw."""

import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms.certificates.sensitivity import solver_distance
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler, IntegerLaw
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.grid_walk import CubeWalk, GridWalkSampler, Mixing
from rashomon_explorer.problem.problem import Problem
from tests.exact.conftest import exactly
from tests.papers.by_hand import localised

BOUGHT = plan(1000, 2, 0.02, radius=2.0, row_norm=1.0, epsilon=1.2, n_draws=4)


def posed(ridge=0.0, n=40):
    X = np.tile([[0.6, 0.1], [-0.6, 0.3]], (n // 2, 1))
    return Problem(X, np.tile([1.0, -1.0], n // 2), radius=2.0, ridge=ridge, intercept=False)


def test_exact_draws_and_a_grid_claim_their_range():
    for sampler in (ExactSampler(), FiniteGridSampler()):
        found = sampler.guarantee(BOUGHT)
        assert found.pure_epsilon == exactly(4 * BOUGHT.eta)
        assert found.rho == exactly(4 * BOUGHT.eta**2 / 8)


def test_a_grid_walk_adds_what_it_is_off():
    found = GridWalkSampler(accuracy=0.25).guarantee(BOUGHT)
    assert found.pure_epsilon == exactly(4 * (BOUGHT.eta + 0.5))
    assert found.rho == exactly(4 * (BOUGHT.eta + 1.0) ** 2 / 8)


def test_how_long_a_grid_walk_walks():
    mixing = Mixing(lipschitz=3.0, edge=2.0, p=2, accuracy=0.5, error=0.01)
    cells = math.ceil(2 * 3 * math.sqrt(2) * 2 / 0.5)
    assert mixing.cells_per_edge == cells and mixing.distance == exactly(0.52)
    phi = math.exp(-0.25 - 0.06) / (4 * 2 * cells)
    assert mixing.conductance == exactly(phi)
    least = -3 * 2 * math.sqrt(2) - 0.02 - 2 * math.log(cells)
    assert mixing.log_least_probability == exactly(least)
    assert mixing.steps == 1 + math.ceil(4 / phi**2 * (-math.log(1 - math.exp(-0.25)) - least))


def test_a_walk_holds_with_probability_one_half_and_is_reversible():
    walk = CubeWalk(np.log([[1.0, 2.0], [4.0, 0.5]]), edge=2.0)
    matrix = walk.transition_matrix
    assert (np.diag(matrix) >= 0.5).all()
    flow = walk.stationary[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    assert matrix[0, 1] == exactly(1 / 8)


def test_integer_weights_are_right_to_forty_bits():
    energies = np.array([0.0, 0.3, 1.7, 90.0, 170.0])
    weights = np.exp(-energies)
    law = IntegerLaw(energies)
    shown = np.array([int(m) / 2.0 ** int(d) for m, d in zip(law.mantissas, law.depths)])  # noqa: B905
    np.testing.assert_allclose(shown / shown[0], weights, rtol=2.0**-38)


class Recorded:
    """Random numbers that are 1 where noise is drawn, so that its size can be read off."""

    def standard_normal(self, size):
        return np.ones(size)

    def standard_gamma(self, shape):
        return float(shape)


def test_the_noise_on_a_minimiser_has_the_planned_length():
    problem = posed(ridge=0.5)
    sampler = localised(epsilon=40.0, failure=1e-3)
    bought = sampler.plan(problem)
    noisy = sampler.mechanism(problem).noisy_minimiser(problem, Recorded())
    known = problem.minimum.theta
    # Gamma(p) times σ in a uniform direction; the solver is within its paid distance.
    length = bought.noise_scale * 2
    off = solver_distance(problem.constants, problem.domain)
    assert np.linalg.norm(noisy - known) == pytest.approx(length, abs=2 * off)
    assert off < length / 10


def test_a_step_of_a_path_adds_noise_of_its_time():
    target = GibbsTarget(posed(), beta=50.0, psi=0.0)
    h = 1e-3
    sampler = LangevinSampler(h, 1, n_chains=1)
    (state,) = sampler.states(target, Recorded())
    gradient = target.problem.value_and_gradient(np.zeros((2, 1)))[1]
    np.testing.assert_allclose(state, -h * 50 * gradient + math.sqrt(2 * h), rtol=1e-9)


def test_a_path_sampler_charges_for_every_step_and_chain():
    target = GibbsTarget(posed(), beta=50.0, psi=0.0)
    sampler = LangevinSampler(1e-3, 30, n_chains=3)
    moved = 2 * target.problem.L / 40
    assert sampler.certificate(target).mu == pytest.approx(
        50 * moved * math.sqrt(3 * 30 * 1e-3 / 2)
    )
    assert sampler.certificate(target, 10).mu == pytest.approx(
        50 * moved * math.sqrt(3 * 10 * 1e-3 / 2)
    )


def test_a_draw_s_energy_is_beta_times_the_excess_over_the_threshold():
    target = GibbsTarget(posed(), beta=50.0, psi=0.1)
    np.testing.assert_allclose(target.energy(np.array([0.05, 0.1, 0.3])), [0.0, 0.0, 10.0])
    smooth = GibbsTarget(posed(), 50.0, 0.1, "smooth")
    width = smooth.shape.width
    far = np.array([0.1, 0.1 + width, 0.1 + 3 * width])
    # φ(v) = v²/(2s) up to s, then v − s/2
    np.testing.assert_allclose(
        smooth.energy(far), 50 * np.array([0.0, width / 2, 2.5 * width]), atol=1e-12
    )
