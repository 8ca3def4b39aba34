"""Exact draws under the newer losses, against plain rejection from the whole ball."""

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses import SmoothedHingeLoss, SoftmaxLoss
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers import ExactSampler
from rashomon_explorer.samplers.collect import collect
from rashomon_explorer.target import GibbsTarget

LEVEL = 1e-3


def target_of(loss, radius, beta=150.0, psi=0.02):
    rng = np.random.default_rng(1)
    scores = loss.outputs
    X = rng.standard_normal((150, 2 // scores))
    hidden = 1.5 * X[:, 0] + rng.logistic(size=150)
    y = np.where(hidden > 0, 1, -1) if scores == 1 else np.digitize(hidden, [-0.8, 0.8])
    return GibbsTarget(Problem(X, y, loss=loss, radius=radius, intercept=False), beta, psi)


def plain_rejection(target, size, rng):
    """The same law from uniform proposals: slow, and with nothing to go wrong."""
    kept = [np.empty((2, 0))]
    while sum(part.shape[1] for part in kept) < size:
        theta = target.problem.domain.uniform(2, 20_000, rng)
        kept.append(theta[:, np.log(rng.random(20_000)) <= target.log_density(theta)])
    return np.hstack(kept)


@pytest.mark.parametrize("radius", [0.5, 4.0])
@pytest.mark.parametrize("loss", [SmoothedHingeLoss(), SmoothedHingeLoss(0.3), SoftmaxLoss(3)])
def test_draws_have_the_law_of_plain_rejection(loss, radius):
    target = target_of(loss, radius)
    assert target.problem.minimum.on_boundary == (radius < 1)
    reference = plain_rejection(target, 10_000, np.random.default_rng(2))
    draws = collect(ExactSampler(), target, 10_000, np.random.default_rng(3)).coef
    for direction in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        assert kstest(draws @ direction, direction @ reference).pvalue > LEVEL


def test_a_loss_with_kinks_is_refused_by_the_exact_sampler():
    problem = Problem([[0.5], [-0.5]], [1, -1], loss="hinge")
    with pytest.raises(SamplerError, match="no exact draws by rejection"):
        collect(ExactSampler(), GibbsTarget(problem, 5.0, 0.1), 1, np.random.default_rng(0))
