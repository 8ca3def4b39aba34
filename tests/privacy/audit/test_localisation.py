"""Exact audits of mechanisms that draw near an earlier draw: both draws are seen."""

import numpy as np
import pytest
from scipy.special import logsumexp

from rashomon_explorer.papers.localisation import plan_iterated, plan_perturbed
from rashomon_explorer.privacy import audit
from rashomon_explorer.problem.problem import Problem

# On |θ| ≤ 1 hinge loss is 1 − yxθ: the slopes of neighbours differ as much as they may, and the
# minimiser with a ridge is mean(yx)/ridge.
RECORDS = [(1.0, 1.0), (-1.0, 1.0), (0.4, 1.0), (0.0, 1.0)]
RIDGE, N = 8.0, 3
POINTS = np.linspace(-1.0, 1.0, 301)


def problem_of(records):
    x, y = np.array(records).T
    settings = {"loss": "hinge", "radius": 1.0, "ridge": RIDGE, "intercept": False}
    return Problem(x[:, None], y, **settings)


def joint(first, near, stage, energy):
    """Log law of a first draw at ``near`` and a second one of ``POINTS`` within reach of it."""
    reached = np.abs(POINTS - near[:, None]) <= stage.distance
    second = np.where(reached, -energy, -np.inf)
    return first[:, None] + second - logsumexp(second, axis=1, keepdims=True)


def found(law):
    return audit.search(law, audit.discrete, RECORDS, N).audit


@pytest.mark.parametrize(("bold", "within"), [(1.0, True), (2.0, False)])
def test_the_iterated_mechanism(bold, within):
    """Two stages; the bold one draws the second at twice its temperature."""
    posed = problem_of(RECORDS[:N])
    plan = plan_iterated(posed.constants, posed.domain, epsilon=6.0, failure=0.4, n_stages=2)
    one, two = plan.stages
    assert two.distance < 0.8  # it does narrow

    def law(records):
        losses = problem_of(records).value(POINTS[None, :])
        return joint(-one.beta * losses, POINTS, two, bold * two.beta * losses)

    assert found(law).within(plan.guarantee, deltas=[0.0]) == within


@pytest.mark.parametrize(("bold", "within"), [(1.0, True), (2.0, False)])
def test_output_perturbation(bold, within):
    """The noisy minimiser and a draw near it; the bold one adds half the noise."""
    posed = problem_of(RECORDS[:N])
    plan = plan_perturbed(posed.constants, posed.domain, epsilon=6.0, failure=0.4)
    noisy = np.linspace(-1.0, 1.0, 201)

    def law(records):
        minimiser = np.mean([x * y for x, y in records]) / RIDGE
        noise = -bold * np.abs(noisy - minimiser) / plan.noise_scale
        losses = problem_of(records).value(POINTS[None, :])
        return joint(noise, noisy, plan.stages[0], plan.stages[0].beta * losses)

    assert found(law).within(plan.guarantee, deltas=[0.0]) == within
