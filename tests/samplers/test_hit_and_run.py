"""Hit-and-run: uniform on the Rashomon set, and never with a privacy label."""

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer.planning import plan
from rashomon_explorer.samplers import SAMPLERS, HitAndRunSampler
from rashomon_explorer.samplers.collect import collect
from rashomon_explorer.target import GibbsTarget
from tests.samplers.laws import (
    ks_against_quadrature,
    polar_grid,
    small_problem,
    uniform_target,
)


def walk(target, n_draws, seed=0):
    # Long strides: the tests below compare with laws of independent draws.
    sampler = HitAndRunSampler(n_chains=100, burn_in=60, thin=20)
    return collect(sampler, target, n_draws, np.random.default_rng(seed))


def test_on_an_ellipsoid_the_radius_and_direction_are_uniform():
    problem = small_problem(4, "squared", radius=40.0, n=400)
    draws = walk(GibbsTarget(problem, beta=1.0, psi=0.02), 4000)
    share = (draws.losses - problem.minimum.value) / 0.02
    assert share.max() <= 1
    assert kstest(share ** (4 / 2), "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("radius", "scale"), [(4.0, 1.0), (0.7, 4.0)])
@pytest.mark.law
def test_two_parameter_parity_with_quadrature(radius, scale):
    problem = small_problem(2, radius=radius, scale=scale)
    draws = walk(GibbsTarget(problem, beta=1.0, psi=0.02), 3000)
    places, probabilities = polar_grid(uniform_target(problem, 0.02))
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        along = ks_against_quadrature(draws.coef @ direction, direction @ places, probabilities)
        assert along > 1e-3


def test_every_state_lies_in_the_set_and_in_the_ball():
    problem = small_problem(5, radius=1.0, scale=4.0)
    draws = walk(GibbsTarget(problem, beta=1.0, psi=0.01), 500)
    assert (problem.value(draws.coef.T) - problem.minimum.value <= 0.01 + 1e-5).all()
    assert np.linalg.norm(draws.coef, axis=1).max() <= 1.0 + 1e-5


def test_warming_up_yields_empty_batches_so_that_stop_is_heard():
    target = GibbsTarget(small_problem(2), beta=1.0, psi=0.02)
    batches = HitAndRunSampler(n_chains=4, burn_in=40).batches(target, np.random.default_rng(0))
    assert next(batches).theta.shape == (2, 0)


def test_only_exact_laws_carry_the_plans_guarantee():
    bought = plan(100, 3, 0.02, radius=4.0, row_norm=1.0, epsilon=1.0)
    of_their_own = {"langevin", "langevin_average", "langevin_clipped", "objective_perturbation"}
    names = set(SAMPLERS) - of_their_own - {"ellipsoid", "ellipsoid_exact"}
    private = {name for name in names if SAMPLERS[name].for_plan(bought).guarantee(bought).holds}
    assert private == {"exact", "unthresholded", "finite_grid"}
    for name in private:
        assert SAMPLERS[name].for_plan(bought).guarantee(bought).epsilon(0.0) == 1.0
