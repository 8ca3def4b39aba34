"""The grid walk against its own matrix and lemmas."""

import itertools

import numpy as np
import pytest

from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.samplers.laws import small_problem
from tests.papers.grid_walk import (
    CubeWalk,
    Mixing,
    cell_centres,
    cube_walk,
    lipschitz_on_cube,
    penalty_weight,
)


def convex(mixing, seed=0):
    """log F at the cells: minus a maximum of planes, the steepest of the full slope."""
    rng = np.random.default_rng(seed)
    slopes = rng.standard_normal((4, mixing.p))
    slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
    slopes *= mixing.lipschitz * np.array([1.0, 0.9, 0.5, 0.2])[:, None]
    m = mixing.cells_per_edge
    planes = slopes @ cell_centres(mixing.p, m, mixing.edge) + rng.standard_normal((4, 1)) * 0.3
    return -planes.max(axis=0).reshape((m,) * mixing.p)


def walk_of(mixing, seed=0):
    return CubeWalk(convex(mixing, seed))


def distance(law, other):
    return np.abs(np.log(law) - np.log(other)).max()


def conductance(walk):
    """Least flow out of a set of at most half the mass, over all sets of cells."""
    stationary = walk.stationary
    flow = stationary[:, None] * walk.transition_matrix
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=len(stationary))))[1:-1]
    mass = sets @ stationary
    sets, mass = sets[mass <= 0.5], mass[mass <= 0.5]
    return (((sets @ flow) * (1 - sets)).sum(axis=1) / mass).min()


TINY = [
    Mixing(lipschitz=1.5, edge=2.0, p=1, accuracy=0.5),
    Mixing(lipschitz=0.5, edge=2.0, p=2, accuracy=1.0),
    Mixing(lipschitz=3.0, edge=2.0, p=1, accuracy=1.0, error=0.1),
]


@pytest.mark.parametrize("mixing", [*TINY, Mixing(4.0, 2.0, 1, 1.5), Mixing(1.0, 2.0, 2, 2.0)])
def test_conductance_and_least_probability_are_above_their_bounds(mixing):
    """By brute force; the steps are the integral of Morris and Peres, many more than needed."""
    for seed in range(20):
        walk = walk_of(mixing, seed)
        assert np.log(walk.stationary.min()) >= mixing.log_least_probability
        if walk.log_weight.size <= 12 and seed < 4:
            assert conductance(walk) >= mixing.conductance
    low = 4 * np.exp(mixing.log_least_probability)
    x = np.geomspace(low, 4 / (1 - np.exp(-mixing.accuracy / 2)), 100_001)
    integral = np.trapezoid(4 / (x * mixing.conductance**2), x)
    assert mixing.steps == pytest.approx(1 + integral, rel=1e-4)


@pytest.mark.parametrize("mixing", TINY)
def test_the_proved_steps_bring_every_start_within_half_the_accuracy(mixing):
    walk = walk_of(mixing)
    after = np.linalg.matrix_power(walk.transition_matrix, mixing.steps)
    assert distance(after, walk.stationary) <= mixing.accuracy / 2
    few = np.linalg.matrix_power(walk.transition_matrix, 2 * mixing.cells_per_edge)
    assert distance(few, walk.stationary) > mixing.accuracy / 2


@pytest.mark.parametrize("mixing", TINY)
def test_errors_of_evaluation_move_the_law_by_twice_their_size(mixing):
    error, walk = 0.2, walk_of(mixing)
    for seed in range(20):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=walk.log_weight.shape)
        wrong = CubeWalk(walk.log_weight + error * signs)
        assert distance(wrong.stationary, walk.stationary) <= 2 * error
        if walk.log_weight.size <= 12:
            assert conductance(wrong) >= np.exp(-6 * error) * conductance(walk)
    worst = np.where(np.arange(walk.log_weight.size) == 0, error, -error)
    wrong = CubeWalk(walk.log_weight + worst.reshape(walk.log_weight.shape))
    assert distance(wrong.stationary, walk.stationary) > 1.2 * error


@pytest.mark.parametrize("beta", [0.5, 5.0, 50.0])
def test_at_least_half_the_mass_lies_in_the_ball_and_follows_the_target(beta):
    problem = small_problem(2, radius=0.7, scale=4.0)  # the minimiser is on the sphere
    target = GibbsTarget(problem, beta, 0.01)
    penalty = penalty_weight(beta * 0.7 * lipschitz_on_cube(problem), 2, accuracy=0.1)
    walk = cube_walk(target, 120, penalty)
    centres = cell_centres(2, 120, 2.0)
    inside = np.linalg.norm(centres, axis=0) <= 1
    assert walk.stationary[inside].sum() >= 0.5
    law = np.exp(target.log_density(centres[:, inside] * 0.7 * (1 - 1e-12)))
    assert walk.stationary[inside] / walk.stationary[inside].sum() == pytest.approx(law / law.sum())


def one_parameter(beta, records, psi=0.0):
    X, y = zip(*records, strict=True)
    problem = Problem(np.array(X)[:, None], y, radius=1.0, intercept=False)
    return GibbsTarget(problem, beta, psi)


def law_of_the_walk(target, accuracy):
    lipschitz = target.beta * lipschitz_on_cube(target.problem)
    mixing = Mixing(lipschitz, edge=2.0, p=1, accuracy=accuracy)
    walk = cube_walk(target, mixing.cells_per_edge, 0.0)
    return np.linalg.matrix_power(walk.transition_matrix, mixing.steps)[walk.start]


@pytest.mark.parametrize("psi", [0.0, 0.1])
def test_the_laws_of_neighbours_are_as_close_as_certified(psi):
    eta, accuracy = 0.8, 0.4
    shared = [(0.5, 1.0), (-1.0, 1.0), (0.2, -1.0)]
    first, second = [*shared, (1.0, 1.0)], [*shared, (1.0, -1.0)]
    beta = eta / one_parameter(1.0, first).problem.constants.charged_oscillation

    def log_ratio(beta):
        one, other = one_parameter(beta, first, psi), one_parameter(beta, second, psi)
        return np.log(law_of_the_walk(one, accuracy)) - np.log(law_of_the_walk(other, accuracy))

    honest = log_ratio(beta)
    assert np.abs(honest).max() <= eta + 2 * accuracy
    assert np.ptp(honest) <= eta + 4 * accuracy
    if psi == 0.0:
        assert np.ptp(honest) > 0.8 * eta
        assert np.ptp(log_ratio(4 * beta)) > eta + 4 * accuracy
