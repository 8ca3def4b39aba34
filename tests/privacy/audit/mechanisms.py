"""Every sampler that claims a guarantee, run on neighbours: one entry a sampler in ``CASES``."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rashomon_explorer.mechanisms import LangevinSampler, ellipsoid
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.centres import by_acceleration, by_gradients, by_output
from rashomon_explorer.mechanisms.ellipsoid import plan_ellipsoid
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.langevin import mechanism as langevin
from rashomon_explorer.mechanisms.langevin.gradients import drift_for
from rashomon_explorer.mechanisms.langevin.plan import plan_clipped_path, plan_path
from rashomon_explorer.mechanisms.objective_perturbation.plan import plan_objective_perturbation
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbation
from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, gdp, pure
from rashomon_explorer.privacy.tradeoff import BoundedRange, TradeOff
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import GaussianThreshold, SmoothThreshold
from tests.mechanisms.builders import by_settings
from tests.papers.by_hand import iterated, localised, regularised

ETA = 2.0
STRONG = {"radius": 1.0, "row_norm": 1.0, "epsilon": 8.0, "delta": 1e-3}
# One row, and the opposite one: no other rows are left to hide what a record can do.
ONE, OPPOSITE = ((1.0, 1.0),), ((-1.0, 1.0),)
TWO, MIXED = ONE * 2, (*OPPOSITE, *ONE)


@dataclass(frozen=True)
class Case:
    """A mechanism, what it claims, and a claim too bold for it, of a too small sensitivity.

    ``mechanism(records, rng, size)`` returns independent outputs.
    """

    mechanism: Callable[..., Any]
    claim: Guarantee
    bold: Guarantee | TradeOff
    neighbours: tuple[Any, Any] = (ONE, OPPOSITE)
    statistic: Callable[..., Any] | None = None
    n_runs: int = 20_000


def problem_of(records, loss="hinge", radius=1.0, **settings):
    x, y = np.array(records).T
    return Problem(x[:, None], y, loss=loss, radius=radius, intercept=False, **settings)


def _independent(sampler, loss="logistic", psi=0.01, n_runs=20_000):
    """A sampler of the Gibbs law: draws are independent, so that one call runs many times."""
    bought = plan(1, 1, psi, loss=loss, radius=1.0, row_norm=1.0, epsilon=ETA)

    def mechanism(records, rng, size):
        target = GibbsTarget(problem_of(records, loss), bought.beta, psi)
        return collect(sampler, target, size, rng).coef

    return Case(mechanism, bought.guarantee, BoundedRange(ETA / 3), n_runs=n_runs)


def _one_model(sampler, **settings):
    """A mechanism that returns one model a call."""

    def mechanism(records, rng, size):
        problem = problem_of(records, "squared", **settings)
        return np.array([sampler.draw(problem, rng) for _ in range(size)])

    public = problem_of(ONE, "squared", **settings)
    bold = sampler.costing(sampler.epsilon / 50).certificate(public)
    return Case(mechanism, sampler.certificate(public), bold, n_runs=400)


def path_case(
    loss="hinge",
    psi=0.0,
    threshold="hard",
    mu=2.0,
    n_steps=8,
    time=0.05,
    ridge=0.0,
    neighbours=(ONE, OPPOSITE),
    start=None,
    **settings,
):
    """Chains of linear models whose path costs μ; a call runs one a chain."""

    def target(records, beta):
        problem = problem_of(records, loss, radius=3.0, ridge=ridge)
        return GibbsTarget(problem, beta, psi, threshold)

    sampler = LangevinSampler(time / n_steps, n_steps, n_chains=1, start=start, **settings)
    unit = replace(sampler, shown="path").certificate(target(neighbours[0], 1.0)).mu
    return _chains(sampler, lambda records: target(records, mu / unit), neighbours)


def _chains(sampler, target, neighbours):
    last = sampler.shown == "last"

    def mechanism(records, rng, size):
        chains = replace(sampler, n_chains=size)
        if last:
            *_, batch = chains.batches(target(records), KnownOrder(rng))
            return batch.theta.T
        return np.stack([s.T for s in chains.states(target(records), KnownOrder(rng))], axis=1)

    claim = sampler.certificate(target(neighbours[0]))
    bold = replace(claim, mu=claim.mu / 2, rho=claim.rho / 4)
    score = None if last else _path_score(sampler, *map(target, neighbours))
    return Case(mechanism, claim, bold, neighbours, score)


class KnownOrder:
    """A generator whose permutations are known: a path of batches is priced as if they were."""

    def __init__(self, rng):
        self.standard_normal = rng.standard_normal

    @staticmethod
    def permutation(n):
        return np.arange(n)


def _path_score(sampler, first, second):
    """Log-likelihood ratio of paths (k, N, p), but for steps that end on the domain's boundary."""

    def drift(target):
        return drift_for(target, sampler.batch_size)

    def score(paths):
        drifts = [drift(target) for target in (first, second)]
        runs = [each.run(KnownOrder(np.random.default_rng(0))) for each in drifts]
        origin = np.zeros(paths.shape[2]) if sampler.start is None else np.array(sampler.start)
        states = np.concatenate([np.repeat(origin[None, None], len(paths), axis=0), paths], axis=1)
        total = np.zeros(len(paths))
        for here, there in itertools.pairwise(states.swapaxes(0, 1)):
            off = [there.T - here.T + sampler.step_size * run(here.T) for run in runs]
            total += (off[0] ** 2 - off[1] ** 2).sum(axis=0) / (4 * sampler.step_size)
        return total

    return score


def _planned_path(kind=langevin.Langevin, make=plan_path):
    """A plan's chains; the average of each, rounded, for the price of its path."""
    bought = make(1, 1, 0.0, **STRONG, loss="squared")

    def mechanism(records, rng, size):
        many = bought.with_numbers(n_draws=size)
        return kind().draw(problem_of(records, "squared"), many, rng).coef

    claim = bought.guarantee
    return Case(mechanism, claim, replace(claim, mu=claim.mu / 4, rho=claim.rho / 16))


def _tilted(n_runs=800, **noise):
    """A minimiser under a random tilt, slopes clipped; half of its price is too bold a claim."""
    asked = {"loss": "squared", "radius": 1.0, "row_norm": 1.0, "epsilon": 8.0, **noise}
    bought = by_settings(plan_objective_perturbation)(1, 1, 0.0, **asked, slope_bound=0.5)

    def mechanism(records, rng, size):
        many = bought.with_numbers(n_draws=size)
        return ObjectivePerturbation().draw(problem_of(records, "squared"), many, rng).coef

    claim = bought.guarantee
    return Case(mechanism, claim, pure(bought.epsilon / 8), n_runs=n_runs)


def _ellipsoid(n_runs=1500):
    """Centre and curvature as the sampler releases them, one run a call."""
    known = {"loss": "smoothed_hinge", "ridge": 1.0}
    bought = by_settings(plan_ellipsoid)(1, 1, 0.5, **STRONG, **known)

    def mechanism(records, rng, size):
        problem = problem_of(records, "smoothed_hinge", ridge=1.0)
        last = (list(ellipsoid.released_region(problem, bought, rng))[-1] for _ in range(size))
        return np.array([[*region.start, *region.matrix[0]] for region in last])

    claim = bought.guarantee
    return Case(mechanism, claim, bolder(claim, 4), n_runs=n_runs)


def _noisy_steps(make, n_steps=None):
    """Every step of a descent, by its likelihood ratio; fewer steps for the same price."""
    public = Constants.from_loss("smoothed_hinge", n=1, p=1, domain=Ball(1.0), row_bound=1.0)
    made = make(public, 1.0, 2.0, 1.5)
    n_steps = n_steps or made.n_steps
    noise = made.noise * np.sqrt(n_steps / made.n_steps)
    centre = replace(made, n_steps=n_steps, noise=noise, step_size=0.01)
    deviations = np.array(ellipsoid.centre_schedule(centre, public).noise)

    def mechanism(records, rng, size):
        problem = problem_of(records, "smoothed_hinge")
        runs = (ellipsoid.centre_descent(problem, centre, rng) for _ in range(size))
        return np.array([[(step.gradient[0, 0], step.at[0, 0]) for step in run] for run in runs])

    def score(paths):
        noisy, at = paths.transpose(2, 0, 1)
        off = []
        for records in (ONE, OPPOSITE):
            slope = problem_of(records, "smoothed_hinge").value_and_gradient(at.reshape(1, -1))[1]
            off.append((noisy - slope.reshape(at.shape)) / deviations)
        return (off[0] ** 2 - off[1] ** 2).sum(axis=1)

    return Case(mechanism, gdp(centre.mu), gdp(centre.mu / 2), statistic=score, n_runs=3000)


def _hessian(mu=2.0):
    """Rows at a right angle, which move the Hessian as far as any can."""
    bought = by_settings(plan_ellipsoid)(1, 2, 0.5, **STRONG, loss="squared")
    details = bought.details
    scale = details.hessian_noise * details.hessian_mu / mu
    details = replace(details, hessian_noise=scale, hessian_mu=mu)

    def mechanism(row, rng, size):
        problem = Problem([row], [1.0], loss="squared", radius=1.0, intercept=False)
        released = partial(ellipsoid.released_hessian, problem, np.zeros(2), details, rng)
        return np.array([released() for _ in range(size)])

    def score(matrices):
        return matrices[:, 1, 1] - matrices[:, 0, 0]

    rows = (1.0, 0.0), (0.0, 1.0)
    return Case(mechanism, gdp(mu), gdp(mu / 2), rows, score)


def _output(mu=2.0):
    """Noisy minimisers of a row and of its opposite, which lie nearly as far apart as any can."""
    public = {"radius": 1.0, "ridge": 10.0}
    constants = problem_of(ONE, "smoothed_hinge", **public).constants
    centre = by_output(constants, 1.0, mu, 1.5)

    def mechanism(records, rng, size):
        problem = problem_of(records, "smoothed_hinge", **public)
        runs = (list(ellipsoid.released_centre(problem, centre, rng)) for _ in range(size))
        return np.array([run[-1].theta for run in runs])

    return Case(mechanism, gdp(mu), gdp(mu / 2))


def bolder(claim, times):
    return replace(claim, mu=claim.mu / times, rho=claim.rho / times**2)


CASES: dict[str, dict[str, Callable[[], Case]]] = {
    "exact": {
        loss: (lambda loss=loss: _independent(ExactSampler(), loss))
        for loss in ("logistic", "squared", "smoothed_hinge")
    },
    "unthresholded": {"logistic": lambda: _independent(ExactSampler(), psi=0.0)},
    "langevin_clipped": {
        "plan": lambda: _planned_path(langevin.LangevinClipped, by_settings(plan_clipped_path))
    },
    "objective_perturbation": {
        "squared": _tilted,
        "gaussian": lambda: _tilted(delta=1e-3, gaussian=True),
    },
    "finite_grid": {"logistic": lambda: _independent(FiniteGridSampler())},
    "ellipsoid": {
        "whole": _ellipsoid,
        "descent": lambda: _noisy_steps(by_gradients),
        "acceleration": lambda: _noisy_steps(by_acceleration, n_steps=6),
        "hessian": _hessian,
        "output": _output,
    },
    "iterated": {"": lambda: _one_model(iterated(8.0, n_stages=2), ridge=1.0)},
    "localised": {"": lambda: _one_model(localised(8.0), ridge=1.0)},
    "regularised": {"": lambda: _one_model(regularised(8.0))},
    "langevin": {
        "no threshold": path_case,
        # At 0.92 one neighbour is beyond its threshold with slope 1, and the other inside.
        "hard": lambda: path_case(
            psi=0.05, start=(0.92,), time=1e-5, neighbours=(ONE * 4, (*OPPOSITE, *ONE * 3))
        ),
        "smooth": lambda: path_case("smoothed_hinge", 0.02, SmoothThreshold(0.25)),
        "gaussian": lambda: path_case(psi=0.05, threshold=GaussianThreshold(0.2, n_samples=4)),
        "batches": lambda: path_case(batch_size=1, neighbours=(MIXED, TWO)),
        "ridge": lambda: path_case("smoothed_hinge", ridge=0.1),
        "last state": lambda: path_case("smoothed_hinge", ridge=0.1, shown="last"),
        "last state, smooth": lambda: path_case(
            "smoothed_hinge", 0.02, SmoothThreshold(0.25), shown="last"
        ),
        "plan": _planned_path,
    },
}
