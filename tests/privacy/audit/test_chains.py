"""Last states of chains with the drift that runs, by transition matrices on a fine grid."""

import numpy as np
from scipy.special import ndtr

from rashomon_explorer.mechanisms.langevin.gradients import drift_for
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import audit
from rashomon_explorer.problem.thresholds import SmoothThreshold
from tests.crossing import crossed

from .mechanisms import problem_of

CELLS = 601
KINDS = {
    "ridge": ({"loss": "smoothed_hinge", "ridge": 0.3, "radius": 1.5}, 0.0, "hard"),
    "smooth": ({"loss": "logistic", "radius": 1.5}, 0.02, SmoothThreshold(0.3)),
    "no threshold": ({"loss": "logistic", "radius": 1.5}, 0.0, "hard"),
}
NEIGHBOURS = ((1.0, 1.0),) * 4, ((-1.0, 1.0), *((1.0, 1.0),) * 3)


def last_state(target, step, n_steps):
    """Law of the last state from 0, with atoms at both ends of the interval."""
    radius = target.problem.domain.radius
    edges = np.linspace(-radius, radius, CELLS + 1)
    places = np.concatenate([[-radius], (edges[1:] + edges[:-1]) / 2, [radius]])
    drift = drift_for(target, batch_size=None, precision="double", lazy=False)
    means = places - step * drift.run(np.random.default_rng(0))(places[None, :])[0]
    cuts = np.concatenate([[-np.inf], edges, [np.inf]])
    moves = np.diff(ndtr((cuts - means[:, None]) / np.sqrt(2 * step)), axis=1)
    law = np.zeros(len(places))
    law[len(places) // 2] = 1.0
    law = law @ np.linalg.matrix_power(moves, n_steps)
    return np.log(np.maximum(law, 1e-300))


@crossed({"kind": list(KINDS), "n_steps": [1, 10, 1000]})
def test_the_last_state_is_within_its_certificate(kind, n_steps):
    settings, psi, threshold = KINDS[kind]
    targets = [
        GibbsTarget(problem_of(records, **settings), 4.0, psi, threshold) for records in NEIGHBOURS
    ]
    sampler = LangevinSampler(0.02, n_steps, n_chains=1, shown="last")
    found = audit.discrete(*(last_state(each, 0.02, n_steps) for each in targets))
    claim = sampler.certificate(targets[0])
    assert found.violations(claim, deltas=[1e-6, 1e-4, 1e-2, 0.1]) == ()
    shown = max(found.epsilon(d) / claim.epsilon(d) for d in (1e-4, 1e-2))
    assert shown > 0.05  # nor is the certificate out of all proportion


def test_a_last_state_that_is_sold_for_fewer_steps_is_caught():
    """Negative control: ten steps, priced as one."""
    settings, psi, threshold = KINDS["ridge"]
    settings = {**settings, "ridge": 0.0, "loss": "hinge"}
    targets = [GibbsTarget(problem_of(r, **settings), 4.0, psi, threshold) for r in NEIGHBOURS]
    found = audit.discrete(*(last_state(each, 0.005, 10) for each in targets))
    for n_steps, within in ((10, True), (1, False)):
        claim = LangevinSampler(0.005, n_steps, n_chains=1).certificate(targets[0])
        assert found.within(claim, deltas=[1e-6, 1e-3]) == within
