"""The last state of noisy descent: its law in one dimension, its cost, and its bound."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from rashomon_explorer.mechanisms.langevin import accounting
from rashomon_explorer.mechanisms.langevin.plan import last_state_excess
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import request_of


def planned(n, radius, ridge, epsilon):
    numbers = {"n": n, "radius": radius, "ridge": ridge, "epsilon": epsilon}
    return MECHANISMS["last_iterate"].offer(request_of(**numbers, p=1, row_norm=1.0, delta=1e-3))


def table(first, n, radius, ridge):
    """Rows of 1 with labels in turn, of which the first pulls the one way or the other."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    y[0] = first
    return Problem(np.ones((n, 1)), y, radius=radius, ridge=ridge, intercept=False)


def last_law(problem, last, cells=400):
    """Masses of the last state on cells of the interval, whose ends hold what was projected."""
    edges = np.linspace(-problem.domain.radius, problem.domain.radius, cells + 1)
    models = (edges[1:] + edges[:-1]) / 2
    models[0], models[-1] = edges[0], edges[-1]
    means = models - last.pace * problem.value_and_gradient(models[None])[1][0]
    below = ndtr((edges[None, 1:-1] - means[:, None]) / (last.pace * last.noise))
    step = np.diff(below, axis=1, prepend=0, append=1)
    mass = np.zeros(cells)
    mass[cells // 2 - 1 : cells // 2 + 1] = 0.5
    for _ in range(last.n_steps):
        mass = mass @ step
    return mass


@pytest.mark.parametrize(
    ("n", "radius", "ridge", "epsilon"),
    [(10, 1.0, 0.0, 2.0), (30, 0.5, 1.0, 4.0), (30, 1.0, 0.1, 4.0)],
)
def test_the_law_of_the_last_state_keeps_its_price(n, radius, ridge, epsilon):
    offer = planned(n, radius, ridge, epsilon)
    mu, problems = offer.guarantee.mu, [table(y, n, radius, offer.plan.ridge) for y in (1.0, -1.0)]
    laws = [last_law(one, offer.plan.settings) for one in problems]

    def delta(level):
        both = laws, laws[::-1]
        return max(np.maximum(a - math.exp(level) * b, 0).sum() for a, b in both)

    assert all(delta(e) <= gdp_delta(mu, e) + 1e-9 for e in np.linspace(0.0, epsilon, 9))
    if (n, ridge) != (30, 0.1):  # the control: at half of the price it is caught
        assert delta(0.5) > gdp_delta(mu / 2, 0.5)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_what_is_charged_is_the_certificate_of_the_chain_that_runs(ridge):
    offer = planned(50, 1.0, ridge, 2.0)
    last = offer.plan.settings
    sampler = LangevinSampler(last.step_size, last.n_steps, n_chains=1, shown="last")
    target = GibbsTarget(table(1.0, 50, 1.0, offer.plan.ridge), last.beta, psi=0.0)
    assert sampler.certificate(target).mu == pytest.approx(offer.guarantee.mu, rel=1e-9)
    assert math.sqrt(2 * last.step_size) == pytest.approx(last.pace * last.noise)
    assert last.step_size * last.beta == pytest.approx(last.pace)


def test_a_plan_draws_from_that_law():
    offer = planned(10, 1.0, 0.0, 2.0)
    problem, rng = table(1.0, 10, 1.0, offer.plan.ridge), np.random.default_rng(0)
    mechanism = MECHANISMS["last_iterate"].for_plan(offer.plan)
    draws = [mechanism.draw(problem, rng)[0] for _ in range(600)]
    law, centres = last_law(problem, offer.plan.settings), np.linspace(-1, 1, 401)[1:] - 1 / 400
    mean = float(law @ centres)
    spread = math.sqrt(float(law @ (centres - mean) ** 2))
    assert abs(np.mean(draws) - mean) < 4 * spread / math.sqrt(600)
    assert np.std(draws) == pytest.approx(spread, rel=0.1)


def test_the_promise_by_hand():
    pace, m, square, start = 0.5, 0.4, 0.02, 3.0
    shrink = (1 - 0.2) / (1 + 0.2)
    by_hand = []
    for n_last in (1, 2, 3):
        far = start**2
        for _ in range(3 - n_last):
            far = shrink * far + 2 * pace**2 * square / 1.2
        sums = sum(1 / k for k in range(1, n_last + 1))
        by_hand.append(min(far, 25.0) / (2 * pace * n_last) + pace * square * sums)
    found = last_state_excess(pace, m, square, 3, start=start, diameter=5.0)
    assert found == pytest.approx(min(by_hand), rel=1e-12)


@pytest.mark.parametrize("bend", [0.1, 0.5, 2.0])
def test_quadratic_losses_keep_the_promise(bend):
    """½λθ² from a start D away, without an edge: mean and variance of every state are known."""
    pace, m, square, start = 0.5, 0.1, 0.02, 3.0
    mean, spread, shrink = start, 0.0, 1 - pace * bend
    for n_steps in range(1, 30):
        mean, spread = shrink * mean, shrink**2 * spread + pace**2 * square
        bound = last_state_excess(pace, m, square, n_steps, start=start, diameter=100.0)
        assert bend / 2 * (mean**2 + spread) <= bound


@pytest.mark.parametrize("c", [0.3, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("batches", [2, 5, 30])
def test_batches_in_turn_are_never_cheaper_for_as_many_steps(c, batches):
    for steps in (batches, 4 * batches, 300 * batches):
        chain = {"beta": 1.0, "step_size": 0.5, "n_steps": steps, "contraction": c}
        every = accounting.last_iterate_guarantee(**chain, sensitivity=1.0)
        part = {"sensitivity": batches, "n_batches": batches}
        assert accounting.last_batch_state_guarantee(**chain, **part).mu >= every.mu
