"""Iterated and regularised exponential mechanisms, which "auto" never selects."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import gammainccinv

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz, local_constants
from rashomon_explorer.mechanisms.localisation.output_plan import RegularisedPlan, plan_regularised
from rashomon_explorer.mechanisms.localisation.plan import (
    LocalisationPlan,
    Stage,
    TriedStages,
    check_localised,
    plan_perturbed,
    planned_stages,
    summed,
    tried_failures,
)
from rashomon_explorer.mechanisms.localisation.sampler import (
    OneModelSampler,
    draw_near,
    first_draw,
    if_drawn,
)
from rashomon_explorer.mechanisms.one_model.base import (
    ModelOffer,
    batch_gap,
    declined,
)
from rashomon_explorer.mechanisms.one_model.exponential import best_localised, offered_localised
from rashomon_explorer.mechanisms.planning import offers
from rashomon_explorer.mechanisms.planning.offers import (
    Mechanism,
    Offer,
    Request,
    best_ridged,
    own_cost,
)
from rashomon_explorer.mechanisms.samplers.base import to_public_grid
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import pure
from rashomon_explorer.privacy.composition import compose
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import Problem

_MOST_STAGES = 12


def plan_iterated(
    constants: Constants,
    domain: Domain,
    *,
    epsilon: float,
    failure: float | None = None,
    n_stages: int | None = None,
) -> LocalisationPlan:
    """Plan of the iterated exponential mechanism; reads no row.

    Algorithm 3 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization" (submitted to ICLR 2023), whose radii have an unspecified constant. Here stage i
    draws from exp(−β_i L) on the part of the domain within r_{i−1} of the previous draw.
    """
    check_localised(constants, epsilon, failure)
    if n_stages is not None and not 1 <= n_stages <= _MOST_STAGES:
        raise ValueError(f"n_stages must be from 1 to {_MOST_STAGES}, got {n_stages!r}")

    def one(count: int, failure: float) -> TriedStages:
        prices = _adding_up(epsilon, [2.0**i / (2.0**count - 1) for i in range(count)])
        stages = planned_stages(constants, domain, prices, failure, start=math.inf)
        return TriedStages.of(constants, domain, stages, failure, losses=count - 1)

    counts = range(1, _MOST_STAGES + 1) if n_stages is None else [n_stages]
    return summed(constants, _least(one, counts, tried_failures(failure)))


def _least(
    one: Callable[[int, float], TriedStages], counts: Iterable[int], failures: Sequence[float]
) -> TriedStages:
    """Return the stages with the smallest bound; failure probabilities must decrease."""
    best: TriedStages | None = None
    for count in counts:
        for failure in failures:
            tried = one(count, failure)
            if best is None or tried.excess_bound < best.excess_bound:
                best = tried
            if tried.found_excess >= best.excess_bound:
                break
    assert best is not None  # there is a count and a failure
    return best


def _adding_up(total: float, shares: Sequence[float]) -> list[float]:
    """Split the total by the shares; the last part absorbs the rounding error."""
    split = [total * share for share in shares]
    while math.fsum(split) > total:
        split[-1] = math.nextafter(split[-1], 0.0)
    return split


_MOST_BATCHES = 8
_LOST = (1e-3, 1e-5, 1e-8, 1e-12)


@dataclass(frozen=True)
class DisjointPlan:
    """Public plan of draws on batches that share no row."""

    sizes: tuple[int, ...]
    stages: tuple[Stage, ...]
    p: int
    fitted: float
    stable: float
    reach: float


def plan_disjoint(
    constants: Constants, domain: Domain, *, epsilon: float, n_stages: int | None = None
) -> DisjointPlan:
    """Plan of the iterated exponential mechanism on disjoint batches; reads no row."""
    check_positive(epsilon=epsilon)
    if not constants.m > 0:
        raise ValueError("batches need a strongly convex loss: give the problem a ridge > 0")
    most = max(1, min(_MOST_BATCHES, int(math.log2(constants.n)) + 1))
    counts = range(1, most + 1) if n_stages is None else [n_stages]
    tried = (_tried_batches(constants, domain, epsilon, k, zeta) for k in counts for zeta in _LOST)
    return min(tried, key=lambda one: one.fitted + one.stable)


def batch_sizes(n: int, n_stages: int) -> tuple[int, ...]:
    """Rows of each batch: the last has half, the previous one a quarter, the first the rest."""
    later = [n // 2**place for place in range(n_stages - 1, 0, -1)]
    return (n - sum(later), *later)


def of_fewer(constants: Constants, n: int) -> Constants:
    """Constants for n of the rows, each of which has a larger weight."""
    return replace(constants, n=n, osc=constants.osc * constants.n / n)


def _tried_batches(
    constants: Constants, domain: Domain, epsilon: float, n_stages: int, failure: float
) -> DisjointPlan:
    quantile, slope = _gamma_quantile(constants.p, failure), data_lipschitz(constants, domain)
    distance, stages, sizes = math.inf, [], batch_sizes(constants.n, n_stages)
    for size in sizes:
        part = of_fewer(constants, size)
        near = min(distance, domain.diameter)
        local = local_constants(part, domain, min(domain.diameter, 2 * near))
        beta = epsilon / local.charged_oscillation
        kept = distance if 2 * distance < domain.diameter else math.inf
        stages.append(Stage(epsilon, beta, kept))
        drawn = math.sqrt(2 * (quantile / beta + local.gap_tolerance) / part.m)
        strays = slope / (part.m * math.sqrt(size)) * (1 + math.sqrt(-2 * math.log(failure)))
        distance = drawn + strays
    lost = 2 * (n_stages - 1) * failure * constants.L * domain.diameter
    return DisjointPlan(
        sizes,
        tuple(stages),
        constants.p,
        constants.p / beta + local.gap_tolerance + lost,
        2 * slope**2 / (constants.m * sizes[-1]),
        min(domain.radius, stages[-1].distance),
    )


@lru_cache(maxsize=256)
def _gamma_quantile(p: int, failure: float) -> float:
    return float(gammainccinv(p, failure))


class BatchProblem(Problem):
    """Problem on some rows, with the same domain and ridge."""

    def __init__(self, problem: Problem, taken: IntArray) -> None:
        known = of_fewer(problem.constants, len(taken))
        self._pose_again(problem, domain=problem.domain, ridge=problem.ridge, constants=known)
        self.data = problem.data.some(taken)
        self._objective = MinimisedObjective(self.data.objective(self.loss), problem.ridge)


def draw_by_batches(
    problem: Problem, planned: DisjointPlan, rng: np.random.Generator
) -> FloatArray:
    """Return the last of draws on disjoint batches, a model (p,) rounded to the public grid."""
    ends = np.cumsum(planned.sizes)[:-1]
    theta = np.zeros(problem.p)
    parts = np.split(rng.permutation(problem.n), ends)
    for taken, stage in zip(parts, planned.stages, strict=True):
        theta = draw_near(BatchProblem(problem, taken), theta, stage, ExactSampler(), rng)
    return to_public_grid(theta)


@dataclass(frozen=True)
class IteratedSampler(OneModelSampler):
    """Draw one model of low excess for strongly convex losses, with pure DP.

    Algorithm 3 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization" (submitted to ICLR 2023): θ_i is drawn from exp(−β_i L) on the part of the domain
    within r_{i−1} of θ_{i−1}, which is smaller and so allows a larger β_i. Radii, β_i and number of
    stages are public (:func:`~rashomon_explorer.papers.localisation.plan_iterated`), and every draw
    is exact, so that the whole is pure DP. The expected excess is of order p²/n² up to logarithms;
    the plain exponential mechanism has p/n.

    Parameters
    ----------
    epsilon : float
        Privacy cost ε of one model, for all stages together.
    failure : float, optional
        Probability with which a stage may exclude the minimiser; by default the best value.
    n_stages : int, optional
        By default the number with the smallest bound.
    sampler : ExactSampler, optional

    Examples
    --------
    >>> from rashomon_explorer.papers.localisation import IteratedSampler
    >>> problem = Problem([[0.5], [-0.5]] * 500, [1, -1] * 500, ridge=0.5)
    >>> sampler = IteratedSampler(epsilon=8.0)
    >>> plan = sampler.plan(problem)
    >>> len(plan.stages), sampler.certificate(problem).epsilon(0.0)
    (3, 8.0)
    >>> sampler.draw(problem, np.random.default_rng(0)).shape
    (2,)
    """

    name: ClassVar[str] = "iterated"

    epsilon: float
    failure: float | None = None
    n_stages: int | None = None
    sampler: ExactSampler = field(default_factory=ExactSampler)

    def plan(self, problem: Problem) -> LocalisationPlan:
        """Return radii, temperatures, privacy costs and bounds, from public constants only."""
        return plan_iterated(
            problem.constants,
            problem.domain,
            epsilon=self.epsilon,
            failure=self.failure,
            n_stages=self.n_stages,
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """Draw one model (p,), rounded to the public grid."""
        theta = np.zeros(problem.p)
        for stage in self.plan(problem).stages:
            theta = draw_near(problem, theta, stage, self.sampler, rng)
        return to_public_grid(theta)


@dataclass(frozen=True)
class RegularisedSampler(OneModelSampler):
    """Draw one model of low population risk for convex losses, with pure DP.

    An exact draw from exp(−β(L + ½m‖θ‖²)) (Theorem E.4 of "On the universality of Langevin
    diffusion for private Euclidean (convex) optimization", submitted to ICLR 2023). m = 2L/(R√n)
    balances the excess due to the ridge and the effect of one row on the draw
    (:func:`~rashomon_explorer.mechanisms.localisation.output_plan.plan_regularised`).

    Parameters
    ----------
    epsilon : float
        Privacy cost ε of one model.
    ridge : float, optional
        m; by default the value with the smallest bound.
    sampler : ExactSampler, optional

    Examples
    --------
    >>> from rashomon_explorer.papers.localisation import RegularisedSampler
    >>> problem = Problem([[0.5], [-0.5]] * 500, [1, -1] * 500)
    >>> sampler = RegularisedSampler(epsilon=8.0)
    >>> sampler.certificate(problem).epsilon(0.0)
    8.0
    >>> sampler.draw(problem, np.random.default_rng(0)).shape
    (2,)
    """

    name: ClassVar[str] = "regularised"

    epsilon: float
    ridge: float | None = None
    sampler: ExactSampler = field(default_factory=ExactSampler)

    def plan(self, problem: Problem) -> RegularisedPlan:
        """Return ridge, temperature and bounds, from public constants only."""
        return plan_regularised(
            problem.constants, problem.domain, epsilon=self.epsilon, ridge=self.ridge
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """Draw one model (p,), rounded to the public grid."""
        plan = self.plan(problem)
        target = GibbsTarget(RidgedProblem(problem, plan.ridge), plan.beta, psi=0.0)
        return to_public_grid(first_draw(target, self.sampler, rng))


class RidgedProblem(Problem):
    """Problem with the same rows and domain, and an additional ridge."""

    def __init__(self, problem: Problem, ridge: float) -> None:
        constants = with_ridge(problem.constants, problem.domain, ridge)
        whole = problem.ridge + ridge
        self._pose_again(problem, domain=problem.domain, ridge=whole, constants=constants)


def with_ridge(constants: Constants, domain: Domain, ridge: float) -> Constants:
    """Constants of the same loss with an additional ridge."""
    return replace(
        constants,
        L=constants.L + ridge * domain.radius,
        M=constants.M + ridge,
        m=constants.m + ridge,
    )


@dataclass(frozen=True)
class Iterated:
    """Exponential mechanisms on successively smaller sets; pure DP."""

    name: ClassVar[str] = "iterated"
    model: ClassVar[str] = "the last of several exact draws, each near the previous one"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        ridge, bought = best_localised(
            request, lambda one: plan_iterated(one.constants, one.domain, epsilon=one.epsilon)
        )
        if len(bought.stages) == 1:
            return declined(
                self, "a second draw does not improve the bound at its privacy cost: see gibbs"
            )
        return offered_localised(self, request, ridge, bought)

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return IteratedSampler(offer.settings.epsilon).draw(problem, rng)


@dataclass(frozen=True)
class IteratedBatches:
    """Draws on disjoint batches, each near the previous one; a record affects one of them."""

    name: ClassVar[str] = "iterated_batches"
    model: ClassVar[str] = "the last of exact draws on disjoint batches, each near the previous one"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""

        def made(tried: Request) -> tuple[float, DisjointPlan | None]:
            if tried.ridge == 0:
                return math.inf, None
            bought = plan_disjoint(tried.constants, tried.domain, epsilon=tried.epsilon)
            return _unseen(request, tried.ridge, bought), bought

        ridge, bought = best_ridged(request, made, every=3)
        assert bought is not None  # a positive ridge is always tried, and has a finite bound
        if len(bought.stages) == 1:
            return declined(self, "one draw on all rows has at least as good a bound: see gibbs")
        last = bought.sizes[-1]
        excess = bought.fitted + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"pure DP of one draw: a record is in one of {len(bought.sizes)} batches",
            guarantee=if_drawn(pure(request.epsilon)),
            excess=excess + batch_gap(request, last, request.radius),
            unseen=_unseen(request, ridge, bought),
            ridge=ridge,
            settings=bought,
            may_give_up=True,
            picks_rows=True,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return draw_by_batches(problem, offer.settings, rng)


def _unseen(request: Request, ridge: float, bought: DisjointPlan) -> float:
    """Bound on the excess risk over the best model."""
    strays = min(bought.stable, batch_gap(request, bought.sizes[-1], bought.reach))
    return bought.fitted + strays + own_cost(request, ridge)


OneModelPlan = LocalisationPlan | RegularisedPlan


class OneModelMechanism(Mechanism):
    """A mechanism planned for one draw; the privacy costs of several draws add up."""

    instead: ClassVar[str] = ""
    uniform: ClassVar[bool] = False

    def plan(self, request: Request) -> OneModelPlan:
        """Plan of one draw, at an equal share of ε."""
        raise NotImplementedError

    def offer(self, request: Request) -> Offer:
        """See :class:`Mechanism`."""
        why = self.why_not(request)
        if why:
            return offers.declined(self, why)
        one = self.plan(request)
        return Offer(
            self.name,
            self.draws,
            uniform=self.uniform,
            why=self.why(one),
            plan=one,
            beta=one.beta,
            hit_rate=one.hit_rate(request.psi),
            excess=one.excess_bound,
            guarantee=compose([one.guarantee] * request.n_draws),
        )

    def why_not(self, request: Request) -> str:
        """Reason why it does not apply; empty if it applies."""
        return "" if request.ridge > 0 else "needs ridge > 0"

    def why(self, one: OneModelPlan) -> str:
        """Reason why it applies."""
        return "pure DP"


class Localisation(OneModelMechanism):
    """Output perturbation, then an exponential mechanism near its result."""

    name: ClassVar[str] = "localisation"
    draws: ClassVar[str] = "an exact draw near a noisy minimiser"

    def plan(self, request: Request) -> LocalisationPlan:
        """See :class:`Mechanism`."""
        return plan_perturbed(request.constants, request.domain, epsilon=_share(request))


class IteratedMechanism(OneModelMechanism):
    """Exponential mechanisms on successively smaller sets; the last draw is the model."""

    name: ClassVar[str] = "iterated"
    draws: ClassVar[str] = "the last of several exact draws, each near the previous one"

    def plan(self, request: Request) -> LocalisationPlan:
        """See :class:`Mechanism`."""
        return plan_iterated(request.constants, request.domain, epsilon=_share(request))

    def why_not(self, request: Request) -> str:
        """Decline also if one stage is optimal: this equals "unthresholded" at a higher cost."""
        why = super().why_not(request)
        if not why and len(self.plan(request).stages) == 1:
            return "a second draw does not improve the bound at its privacy cost: see unthresholded"
        return why


class RegularisedMechanism(OneModelMechanism):
    """The exponential mechanism with an added ridge, for losses without a ridge."""

    name: ClassVar[str] = "regularised"
    draws: ClassVar[str] = "an exact draw under a ridge that serves new rows"

    def plan(self, request: Request) -> RegularisedPlan:
        """See :class:`Mechanism`."""
        return plan_regularised(request.constants, request.domain, epsilon=_share(request))

    def why_not(self, request: Request) -> str:
        """Decline if the loss already has a ridge."""
        return "chooses the ridge itself: needs ridge = 0" if request.ridge > 0 else ""

    def why(self, one: OneModelPlan) -> str:
        """State the bound on the mean excess on new rows."""
        assert isinstance(one, RegularisedPlan)
        return f"pure DP; mean excess on new rows at most {rounded_up(one.population_bound)}"


def _share(request: Request) -> float:
    return request.epsilon / request.n_draws
