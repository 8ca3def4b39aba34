"""Exact draws under the newer losses, against plain rejection from the whole ball."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from rashomon_explorer.exceptions import EnvelopeError, SamplerError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.losses.logistic import LogisticLoss, LogisticRisk
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.lower_bounds import excess_bound
from rashomon_explorer.problem.lower_bounds.quartic import ShiftedBound
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import ks_against_quadrature, line_law, polar_grid
from tests.problem.rows import plain_rejection

LEVEL = 1e-3


def target_of(loss, radius, beta=150.0, psi=0.02):
    rng = np.random.default_rng(1)
    scores = loss.outputs
    X = rng.standard_normal((40, 2 // scores))
    hidden = 1.5 * X[:, 0] + rng.logistic(size=40)
    y = np.where(hidden > 0, 1, -1) if scores == 1 else np.digitize(hidden, [-0.8, 0.8])
    return GibbsTarget(Problem(X, y, loss=loss, radius=radius, intercept=False), beta, psi)


class OwnRisk(LogisticRisk):
    """A loss of a user's own: no envelope of it is known."""


class OwnLoss(LogisticLoss):
    risk = OwnRisk


LOSSES = [SmoothedHingeLoss(), SmoothedHingeLoss(0.3), SoftmaxLoss(3), OwnLoss()]


@crossed({"radius": [0.5, 4.0], "loss": LOSSES})
@pytest.mark.law
def test_draws_have_the_law_of_plain_rejection(loss, radius):
    target = target_of(loss, radius)
    assert target.problem.minimum.on_boundary == (radius < 1)
    reference = plain_rejection(target, 10_000, np.random.default_rng(2))
    draws = collect(ExactSampler(), target, 10_000, np.random.default_rng(3)).coef
    for direction in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        agree = ks_2samp(draws @ direction, direction @ reference, method="asymp")
        assert agree.pvalue > LEVEL  # ten thousand of each: its exact form takes a second more


def hinge_target(p, radius, width, beta, psi, noise=1.0):
    rng = np.random.default_rng(p)
    X = rng.standard_normal((120, p))
    y = np.where(X.sum(axis=1) / np.sqrt(p) + noise * rng.logistic(size=120) > 0, 1, -1)
    loss = SmoothedHingeLoss(width)
    return GibbsTarget(Problem(X, y, loss=loss, radius=radius, intercept=False), beta, psi)


@crossed(
    {
        "beta, psi": [(0.5, 0.0), (150.0, 0.02), (1500.0, 0.0)],
        "radius, width": [(3.0, 1.0), (3.0, 0.3), (0.4, 1.0)],
    }
)
def test_smoothed_hinge_parity_with_quadrature(radius, width, beta, psi):
    for p in (1, 2):
        target = hinge_target(p, radius, width, beta, psi)
        assert target.problem.minimum.on_boundary == (radius < 1)
        draws = collect(ExactSampler(), target, 3000, np.random.default_rng(4)).coef
        places, probabilities = polar_grid(target) if p == 2 else line_law(target)
        for direction in np.eye(p) if p == 2 else []:
            along = ks_against_quadrature(draws @ direction, direction @ places, probabilities)
            assert along > LEVEL
        if p == 1:
            assert ks_against_quadrature(draws[:, 0], places, probabilities) > LEVEL


def test_a_spoiled_shifted_bound_is_caught(monkeypatch):
    honest = ShiftedBound.at
    monkeypatch.setattr(ShiftedBound, "at", lambda self, points: 1.2 * honest(self, points))
    with pytest.raises(EnvelopeError, match="below its certified bound"):
        collect(
            ExactSampler(), hinge_target(2, 3.0, 1.0, 150.0, 0.02), 2000, np.random.default_rng(0)
        )


def test_most_looks_at_the_rows_are_accepted():
    """What the bound is for: with the one around the minimiser it was one look in twenty."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((3000, 8)) / 3
    y = np.where(rows @ rng.standard_normal(8) + rng.logistic(size=3000) > 0, 1, -1)
    problem = Problem(rows, y, loss="smoothed_hinge", radius=3.0, intercept=False)
    batches = ExactSampler().batches(GibbsTarget(problem, 700.0, 0.02), rng)
    looks = [next(batches) for _ in range(3)]
    assert sum(len(one.losses) for one in looks) > 0.4 * sum(one.evaluated for one in looks)


@pytest.mark.law
@pytest.mark.parametrize(("p", "radius"), [(6, 8.0), (10, 1.0)], ids=["inside", "sphere"])
def test_many_parameters_of_the_smoothed_hinge_loss_agree_with_long_chains(p, radius):
    target = hinge_target(p, radius, 1.0, 400.0, 0.03)
    assert target.problem.minimum.on_boundary == (radius < 2)
    draws = collect(ExactSampler(), target, 4000, np.random.default_rng(0))
    reference = metropolis(target, 2000, 1500, np.random.default_rng(1))
    excess = draws.losses - target.problem.minimum.value
    assert ks_2samp(excess, target.excess(reference)).pvalue > LEVEL
    for column in range(p):
        assert ks_2samp(draws.coef[:, column], reference[column]).pvalue > 1e-4


def metropolis(target, n_chains, steps, rng):
    """Random-walk Metropolis from the minimiser: one state of each chain."""
    problem = target.problem
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    width = 0.6 * np.sqrt((2 * target.psi + 1 / target.beta) / problem.p)
    spread = vectors / np.sqrt(eigenvalues + 0.01) * width
    theta = np.repeat(problem.minimum.theta[:, None], n_chains, axis=1)
    density = np.zeros(n_chains)
    for _ in range(steps):
        move = theta + spread @ rng.standard_normal(theta.shape)
        proposed = target.log_density(move)
        taken = np.log(rng.random(n_chains)) < proposed - density
        theta, density = np.where(taken, move, theta), np.where(taken, proposed, density)
    return theta


def test_a_loss_with_kinks_is_drawn_from_without_an_envelope():
    problem = Problem([[0.5], [-0.5]], [1, -1], loss="hinge")
    with pytest.raises(SamplerError, match="no certified quadratic bound"):
        excess_bound(problem.evaluator().loss, problem.minimum.theta, np.eye(2))
    drawn = collect(ExactSampler(), GibbsTarget(problem, 5.0, 0.1), 9, np.random.default_rng(0))
    assert drawn.coef.shape == (9, 2)
