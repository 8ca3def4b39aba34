"""Monte Carlo audits of the code of every sampler, and of any that is added."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor, mechanisms
from rashomon_explorer import papers as theory
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.noisy_descent import path_guarantee
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import audit, bounded_range, pure
from tests.mechanisms.builders import request_of

from .mechanisms import CASES, ETA, Case, bolder, problem_of

CONFIDENCE = 0.9999
# The score is the likelihood ratio, and the records do what the sensitivity allows for.
TIGHT = {"descent", "acceleration", "hessian", "no threshold", "hard", "gaussian", "batches"}
SLOW = {"iterated", "localised", "regularised"}
EVERY = [
    pytest.param(name, kind, marks=[pytest.mark.law] if name in SLOW or number else [])
    for name, kinds in CASES.items()
    for number, kind in enumerate(kinds)
]


def audited(case):
    return audit.monte_carlo(
        case.mechanism,
        *case.neighbours,
        claim=case.claim,
        n_runs=case.n_runs,
        statistic=case.statistic,
        confidence=CONFIDENCE,
        random_state=0,
        batched=True,
    )


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_within_its_claim_and_beyond_a_bolder_one(name, kind):
    """The bolder claim is the negative control: a sensitivity of a half or less."""
    case = CASES[name][kind]()
    found = audited(case)
    assert not found.broken, str(found)
    assert replace(found, claim=case.bold).broken, str(found)
    if kind in TIGHT and name in ("ellipsoid", "langevin"):
        assert found.mu > 0.85 * case.claim.mu


# Mechanisms whose own tests compute their divergence in closed form or by sums over a grid: in
# mechanisms/test_one_model.py, papers/test_localisation.py and papers/test_private_erm.py.
EXACT = {
    *("moments", "noisy_descent", "last_iterate", "noisy_sgd", "localised_gaussian"),
    *("output_perturbation", "iterated_batches", "last_sampled_state", "smooth_sgd", "boosted"),
}


def named_samplers():
    """Names of all sampler classes of the package, those outside the registry too."""
    exported = (getattr(room, each) for room in (mechanisms, theory) for each in room.__all__)
    kinds = {*MECHANISMS.values(), *(kind for kind in exported if isinstance(kind, type))}
    return {kind.name for kind in kinds if hasattr(kind, "name") and hasattr(kind, "batches")}


def unaudited(registry):
    """Registered mechanisms that claim a guarantee and have no case."""
    return {
        name
        for name, kind in registry.items()
        if not kind.traits.curator_only and name not in CASES
        if not (kind.traits.one_model and name in EXACT)
    }


def test_every_sampler_that_claims_a_guarantee_is_audited():
    assert unaudited(MECHANISMS) == set(), "put a case into CASES, or claim nothing"
    silent = {"hit_and_run"}
    assert named_samplers() - silent - EXACT == set(CASES), "every sampler needs a case in CASES"


def test_a_new_sampler_without_an_audit_is_noticed():
    """Negative control of the test above."""
    assert unaudited({**MECHANISMS, "new": MECHANISMS["exact"]}) == {"new"}


def test_a_reference_for_the_curator_claims_nothing():
    claim = MECHANISMS["hit_and_run"].plan(request_of(n=10, p=1, psi=0.05)).guarantee
    assert not claim.holds
    assert claim.epsilon(0.5) == np.inf


def test_a_step_tuned_on_the_rows_is_caught():
    """Negative control: a step of 0.02/(β·curvature of these rows), priced for public bounds."""
    beta, target = 0.5, {}
    for x in (1.0, 0.4):
        target[x] = GibbsTarget(problem_of(((x, 0.0),), "squared", radius=3.0), beta, 0.0)

    def path(x, rng, size, curvature=None):
        bend = target[x].problem.hessian(np.zeros(1))[0, 0] if curvature is None else curvature
        sampler = LangevinSampler(0.02 / (beta * bend), n_steps=2, n_chains=size)
        return np.stack([s[0] for s in sampler.states(target[x], rng)], axis=1)

    def public(x, rng, size):
        return path(x, rng, size, curvature=1.0)

    claim = LangevinSampler(0.02 / beta, n_steps=2, n_chains=1).certificate(target[1.0])
    settings = {"claim": claim, "confidence": CONFIDENCE, "random_state": 0, "n_runs": 4000}
    assert not audit.monte_carlo(public, 1.0, 0.4, batched=True, **settings).broken
    assert audit.monte_carlo(path, 1.0, 0.4, batched=True, **settings).broken


# The whole path, from rows through an estimator to rounded coefficients.
BINARY, SEVERAL = ([-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]), ([0, 1, 2, 0], [0, 1, 2, 2])
EXACT_DRAWS = {"psi": 0.01, "mechanism": "exact"}
each_estimator = pytest.mark.parametrize(
    ("kind", "neighbours"),
    [
        (RashomonClassifier, BINARY),
        (partial(RashomonRegressor, target_bounds=(-1, 1)), BINARY),
        (RashomonClassifier, SEVERAL),
    ],
)


def fits(kind, neighbours, claim, n_runs, **settings):
    """Draws of one fit are independent: one fit runs the mechanism once a draw."""

    def draw(labels, rng, size):
        known = {"epsilon": ETA * size, "delta": 0.0, **settings}
        seed = int(rng.integers(2**31))
        model = kind(n_draws=size, radius=1.0, random_state=seed, **known)
        model.fit(np.ones((len(labels), 1)), labels)
        return model.rashomon_set_.coef.reshape(size, -1)

    return Case(draw, claim, claim, neighbours, n_runs=n_runs)


@pytest.mark.law
@each_estimator
def test_draws_of_a_fit_leak_no_more_than_their_cost_and_hotter_ones_do(kind, neighbours):
    """The control: draws at 6η that claim η."""
    claim, size = bounded_range(eta=ETA), 40_000
    found = audited(fits(kind, neighbours, claim, size, **EXACT_DRAWS))
    assert not found.broken and found.epsilon() > 0.1 * ETA
    bold = fits(kind, BINARY, claim, size, **EXACT_DRAWS, epsilon=6 * ETA * size)
    assert neighbours is SEVERAL or audited(bold).broken


@pytest.mark.law
@pytest.mark.parametrize("neighbours", [BINARY, SEVERAL])
def test_objective_perturbation_of_a_fit_leaks_no_more_than_its_cost(neighbours):
    settings = {"psi": 0.01, "mechanism": "objective_perturbation"}
    assert not audited(fits(RashomonClassifier, neighbours, pure(ETA), 2_000, **settings)).broken


@pytest.mark.law
@each_estimator
@pytest.mark.parametrize("psi", [0.0, 0.02])
def test_planned_paths_of_a_fit_leak_no_more_than_one_chain_costs(kind, neighbours, psi):
    """A fit's chains are independent, and its cost is that of all of them."""
    if neighbours is SEVERAL:
        pytest.skip("slopes of several scores have no clipped form")
    size = 2000
    settings = {"mechanism": "langevin_clipped", "psi": psi, "epsilon": 3.0 * size, "delta": 1e-3}
    model = kind(**settings, n_draws=size, radius=1.0)
    planned = model.plan(3, 1)
    path = {
        name: getattr(planned.details, name) for name in ("sensitivity", "step_size", "n_steps")
    }
    one = path_guarantee(**path, beta=planned.beta)
    assert one.mu < 4.0
    found = audited(fits(kind, neighbours, one, size, **settings))
    assert not found.broken
    if psi == 0.0:  # nor for a much smaller cost; with three rows, a threshold hides the rest
        assert replace(found, claim=bolder(one, 8)).broken
