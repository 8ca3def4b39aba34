"""Methods for one model by noisy descent or output perturbation."""

import math
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.mechanisms.ellipsoid.sampler import descent
from rashomon_explorer.mechanisms.langevin.one_model import affordable_mu, unsuited
from rashomon_explorer.mechanisms.langevin.plan import LastState, plan_last_state
from rashomon_explorer.mechanisms.langevin.sampled_plan import (
    LocalisedDescent,
    SampledDescent,
    plan_localised_descent,
    plan_sampled_descent,
)
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.localisation.output_plan import (
    NoisyMinimiser,
    plan_noisy_minimiser,
)
from rashomon_explorer.mechanisms.localisation.sampler import refined
from rashomon_explorer.mechanisms.objective_perturbation.sampler import radial_noise
from rashomon_explorer.mechanisms.one_model.base import (
    ModelOffer,
    declined,
    generalisation_gap,
    stable_gap,
)
from rashomon_explorer.mechanisms.planning.centres import Centre, average_weights
from rashomon_explorer.mechanisms.planning.offers import (
    Request,
    best_ridged,
    cost_at_order,
    own_cost,
)
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import gdp, pure
from rashomon_explorer.problem.losses import get_loss, zero_model_loss
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class LastIterate:
    """The last state of noisy gradient descent; the others stay hidden (docs/theory §17)."""

    name: ClassVar[str] = "last_iterate"
    model: ClassVar[str] = "the last state of noisy gradient descent"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = unsuited(request)
        if why:
            return declined(self, why)
        mu, zeros = affordable_mu(request), zero_model_loss(get_loss(request.loss))

        def made(tried: Request) -> tuple[float, LastState]:
            bought = plan_last_state(tried.constants, request.radius, mu, zeros)
            return bought.excess + own_cost(request, tried.ridge), bought

        ridge, bought = best_ridged(request, made, every=3)
        excess = bought.excess + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"only the last of {bought.n_steps} steps is released and accounted for",
            guarantee=bought.guarantee,
            excess=excess,
            unseen=excess + generalisation_gap(request),
            ridge=ridge,
            settings=bought,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        planned: LastState = offer.settings
        target = GibbsTarget(problem, planned.beta, psi=0.0)
        sampler = LangevinSampler(planned.step_size, planned.n_steps, n_chains=1, shown="last")
        *_, last = sampler.batches(target, rng)
        return np.asarray(last.theta[:, 0])


_EXTRA = ' (sampled rows need pip install "rashomon-explorer[accounting]")'
_IN_CHUNKS = " (chunked rows are summed, not sampled)"
_WITHOUT_ORDER = " (in a ledger without a Rényi order, where sampling costs more)"


@dataclass(frozen=True)
class NoisySGD:
    """Average of noisy subgradient steps, on sampled rows if that has a smaller bound."""

    name: ClassVar[str] = "noisy_sgd"
    model: ClassVar[str] = "the average of noisy subgradient descent"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        if not request.delta > 0:
            return declined(self, "needs delta > 0")
        if math.isfinite(request.constants.M):
            return declined(
                self, "without kinks, steps on all rows have a better bound: see noisy_descent"
            )
        unsampled = unsampled_because(request)
        bought = plan_sampled_descent(
            request.constants,
            request.radius,
            zero_model_loss(get_loss(request.loss)),
            epsilon=request.epsilon,
            delta=request.delta,
            mu=affordable_mu(request),
            sampling=not unsampled,
            orders=_orders(request),
        )
        rows = f"about {bought.rate * request.n:.0f} rows" if bought.rate < 1 else "all rows"
        return ModelOffer(
            self.name,
            self.model,
            f"every state of {bought.n_steps} steps on {rows} is accounted for{unsampled}",
            guarantee=bought.guarantee,
            excess=bought.excess,
            unseen=bought.excess + generalisation_gap(request),
            ridge=request.ridge,
            settings=bought,
            picks_rows=bought.rate < 1,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return average_of_steps(problem, offer.settings, np.zeros(problem.p), rng)


def average_of_steps(
    problem: Problem, planned: SampledDescent, start: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Mean (p,) of the states of noisy subgradient descent, without the last state."""
    theta, mean = start, np.zeros(problem.p)
    for step in progress(range(planned.n_steps), "steps"):
        mean += (theta - mean) / (step + 1)
        slope = noisy_slope(problem, planned, theta, rng) + problem.ridge * theta
        theta = problem.domain.project((theta - planned.pace * slope)[:, None])[:, 0]
    return mean


def unsampled_because(request: Request) -> str:
    """Reason why every step uses all rows; empty if rows may be sampled."""
    if request.in_chunks:
        return _IN_CHUNKS
    if request.ledger and request.cost_at_order is None:
        return _WITHOUT_ORDER
    return "" if find_spec("dp_accounting") else _EXTRA


def _orders(request: Request) -> tuple[tuple[float, float], ...]:
    """Rényi budgets (order, D) that sampled steps must meet: a ledger's, and that of (ε, δ)."""
    at = request.cost_at_order
    own = cost_at_order(request.epsilon, request.delta, True)
    return () if at is None or own is None else tuple({at, own})


def noisy_slope(
    problem: Problem, planned: SampledDescent, theta: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """(Σ over rows, each sampled with probability q, of ∇ℓ_i + L₀σξ)/(qn), shape (p,)."""
    noisy = planned.slope * planned.noise * rng.standard_normal(problem.p)
    size, mean = problem.n, problem.of_loss(problem.loss) if planned.rate == 1 else None
    if mean is None:
        size = rng.binomial(problem.n, planned.rate)
        taken = rng.choice(problem.n, size, replace=False, shuffle=False)
        mean = problem.loss.empirical(problem.rows[taken], problem.targets[taken]) if size else None
    if mean is not None:
        noisy = noisy + size * mean.value_and_gradient(theta[:, None])[1][:, 0]
    return np.asarray(noisy / (planned.rate * problem.n))


CERTIFIED = (
    "the minimum was certified to the accuracy that the noise covers: if it is not, an error "
    "reveals information about the rows"
)


@dataclass(frozen=True)
class OutputPerturbation:
    """Certified minimiser under a ridge plus noise, projected onto the ball."""

    name: ClassVar[str] = "output_perturbation"
    model: ClassVar[str] = "the minimiser plus noise"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        prices = [None, affordable_mu(request)] if request.delta > 0 else [None]
        zeros = zero_model_loss(get_loss(request.loss))

        def made(tried: Request) -> tuple[float, NoisyMinimiser | None]:
            if tried.ridge == 0:
                return math.inf, None
            known, budget = (tried.constants, tried.radius, zeros), tried.epsilon
            both = [plan_noisy_minimiser(*known, epsilon=budget, mu=mu) for mu in prices]
            best = min(both, key=lambda one: one.excess)
            return best.excess + own_cost(request, tried.ridge), best

        ridge, best = best_ridged(request, made)
        assert best is not None  # a positive ridge is always tried, and has a finite bound
        excess = best.excess + own_cost(request, ridge)
        paid, held = "pure DP", pure(request.epsilon)
        if best.gaussian:
            paid, held = "Gaussian DP", gdp(affordable_mu(request))
        return ModelOffer(
            self.name,
            self.model,
            f"{paid} of the noise",
            guarantee=replace(held, assumptions=(*held.assumptions, CERTIFIED)),
            excess=excess,
            unseen=excess + stable_gap(request, ridge, 2 * best.solver),
            ridge=ridge,
            settings=best,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        best: NoisyMinimiser = offer.settings
        known = refined(problem, problem.minimum, problem.m * best.solver**2 / 2)
        noise = radial_noise(problem.p, best.scale, rng, gaussian=best.gaussian)
        return np.asarray(problem.domain.project((known.theta + noise)[:, None])[:, 0])


@dataclass(frozen=True)
class LocalisedGaussian:
    """Noisy descent that starts at a noisy minimiser; Gaussian DP of both (docs/theory §19)."""

    name: ClassVar[str] = "localised_gaussian"
    model: ClassVar[str] = "the average of noisy descent from a noisy minimiser"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        if not request.delta > 0:
            return declined(self, "needs delta > 0")
        mu, zeros = affordable_mu(request), zero_model_loss(get_loss(request.loss))

        def made(tried: Request) -> tuple[float, LocalisedDescent | None]:
            if tried.ridge == 0:
                return math.inf, None
            bought = plan_localised_descent(tried.constants, request.radius, mu, zeros)
            return bought.excess + own_cost(request, tried.ridge), bought

        ridge, bought = best_ridged(request, made)
        assert bought is not None  # a positive ridge is always tried, and has a finite bound
        excess, held = bought.excess + own_cost(request, ridge), gdp(bought.mu)
        return ModelOffer(
            self.name,
            self.model,
            f"Gaussian DP of the minimiser and of every state of {bought.then.n_steps} steps",
            guarantee=replace(held, assumptions=(*held.assumptions, CERTIFIED)),
            excess=excess,
            unseen=excess + generalisation_gap(request),
            ridge=ridge,
            settings=bought,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        planned: LocalisedDescent = offer.settings
        start = noisy_start(problem, planned, rng)
        if not isinstance(planned.then, Centre):
            return average_of_steps(problem, planned.then, start, rng)
        mean = np.zeros(problem.p)
        weights = average_weights(planned.then, problem.constants)
        for weight, ahead in zip(weights, descent(problem, planned.then, rng, start), strict=True):
            mean += weight * problem.domain.project(ahead[:, None])[:, 0]
        return mean


def noisy_start(
    problem: Problem, planned: LocalisedDescent, rng: np.random.Generator
) -> FloatArray:
    """Minimiser (p,) plus Gaussian noise, projected onto the ball."""
    known = refined(problem, problem.minimum, problem.m * planned.solver**2 / 2)
    noise = radial_noise(problem.p, planned.scale, rng, gaussian=True)
    return np.asarray(problem.domain.project((known.theta + noise)[:, None])[:, 0])
