"""Localised, iterated and regularised exponential mechanisms, which "auto" never selects."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammainccinv

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.validation import check_inner_share, check_positive
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.base import Traits
from rashomon_explorer.mechanisms.bounds import batch_gap, own_cost, unthresholded_hit_rate
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.ellipsoid import refined
from rashomon_explorer.mechanisms.exact import ExactSampler, plan_law
from rashomon_explorer.mechanisms.objective_perturbation.sampler import radial_noise
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.rejection.envelope import Neighbourhood, round_into_domain
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, compose, pure
from rashomon_explorer.privacy.notions import bounded_range
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.minimisation import MinimisedObjective, Minimum
from rashomon_explorer.problem.problem import Problem

_FAILURES = tuple(10.0**-k for k in range(2, 16))


@dataclass(frozen=True)
class Stage:
    """One exponential mechanism exp(−β·L) on the part of the domain near a released model."""

    epsilon: float  # privacy cost, β times the oscillation on the part with the solver's error
    beta: float  # inverse temperature
    distance: float  # distance from the previous model, infinite for the whole domain


@dataclass(frozen=True)
class LocalisationPlan:
    """Stages that first locate the minimiser, and their bounds, in public numbers."""

    stages: tuple[Stage, ...]
    noise: tuple[float, float]  # privacy cost and scale of noise on the minimiser, or zeros
    excess_bound: float
    found_excess: float  # bound on the expected excess if the minimiser is not lost
    p: int
    tolerance: float
    failure: float

    @classmethod
    def of(
        cls,
        constants: Constants,
        domain: Domain,
        stages: tuple[Stage, ...],
        failure: float,
        noise: tuple[float, float] = (0.0, 0.0),
    ) -> Self:
        """Plan of stages, each of which but a first one on all models may lose the minimiser."""
        last = min(domain.diameter, 2 * stages[-1].distance)
        tolerance = sensitivity.local_constants(constants, domain, last).gap_tolerance
        worst = constants.L * domain.diameter
        found = constants.p / stages[-1].beta + tolerance
        losses = len(stages) - (not noise[1])
        excess = found + losses * failure * worst
        return cls(stages, noise, excess, found, constants.p, tolerance, failure)

    @property
    def noise_scale(self) -> float:
        """Scale of the noise on the minimiser; 0 without."""
        return self.noise[1]

    @cached_property
    def guarantee(self) -> Guarantee:
        guarantees = [bounded_range(stage.epsilon) for stage in self.stages]
        price = self.noise[0]
        return compose([pure(price), *guarantees] if price else guarantees)

    @property
    def excess_quantile(self) -> float:
        """Excess that a draw exceeds with the failure probability, if the minimiser is not lost."""
        return _gamma_quantile(self.p, self.failure) / self.beta + self.tolerance

    @property
    def epsilon(self) -> float:
        """Total privacy cost ε."""
        return self.guarantee.pure_epsilon

    @property
    def beta(self) -> float:
        """Inverse temperature of the last stage, whose draw is the result."""
        return self.stages[-1].beta

    @property
    def lost(self) -> float:
        """Bound on the probability that the minimiser is not where the last stage draws."""
        return self.failure * (len(self.stages) - (not self.noise_scale))

    def hit_rate(self, psi: float) -> float:
        """Lower bound P(p, β(ψ − τ)) − ``lost`` on the probability of an excess of at most ψ."""
        within = unthresholded_hit_rate(self.p, self.beta, max(0.0, psi - self.tolerance))
        return max(0.0, within - self.lost)


def plan_perturbed(
    constants: Constants, domain: Domain, *, epsilon: float, failure: float | None = None
) -> LocalisationPlan:
    """Plan of output perturbation followed by an exponential mechanism nearby; reads no row."""
    check_localised(constants, epsilon, failure)
    moved = 2 * sensitivity.data_lipschitz(constants, domain) / (constants.m * constants.n)
    error = sensitivity.solver_distance(constants, domain)
    scale = (moved + 2 * error) / (epsilon / 2)

    def one(failure: float) -> LocalisationPlan:
        distance = scale * _gamma_quantile(constants.p, failure) + error
        stages = planned_stages(constants, domain, [epsilon / 2], failure, start=distance)
        return LocalisationPlan.of(constants, domain, stages, failure, (epsilon / 2, scale))

    return min(map(one, tried_failures(failure)), key=lambda plan: plan.excess_bound)


def planned_stages(
    constants: Constants, domain: Domain, prices: Sequence[float], failure: float, start: float
) -> tuple[Stage, ...]:
    """Stages of these privacy costs, each on the part of the domain near the previous draw."""
    quantile = _gamma_quantile(constants.p, failure)
    distance, stages = start, []
    for price in prices:
        local = sensitivity.local_constants(constants, domain, min(domain.diameter, 2 * distance))
        beta = price / local.charged_oscillation
        stages.append(Stage(price, beta, distance if 2 * distance < domain.diameter else math.inf))
        distance = math.sqrt(2 * (quantile / beta + local.gap_tolerance) / constants.m)
    return tuple(stages)


@lru_cache(maxsize=256)
def _gamma_quantile(p: int, failure: float) -> float:
    return float(gammainccinv(p, failure))


def tried_failures(failure: float | None) -> Sequence[float]:
    """Failure probabilities to try, or the given one."""
    return _FAILURES if failure is None else [failure]


def check_localised(constants: Constants, epsilon: float, failure: float | None) -> None:
    """Raise an error if no plan is possible with the settings."""
    check_positive(epsilon=epsilon)
    if failure is not None:
        check_inner_share(failure=failure)
    if not constants.m > 0:
        raise ValueError(
            "localisation needs a strongly convex loss, which a loss of linear scores is not: give "
            "the problem a ridge > 0"
        )


@dataclass(frozen=True)
class RegularisedPlan:
    """Plan of the exponential mechanism on a loss with ridge, in public numbers."""

    ridge: float
    beta: float
    p: int
    cost: float
    population_bound: float
    statistical_bound: float
    guarantee: Guarantee

    @property
    def excess_bound(self) -> float:
        """Bound p/β + ½mR² + τ on the expected excess on the rows, without the ridge."""
        return self.p / self.beta + self.cost

    def hit_rate(self, psi: float) -> float:
        """Lower bound P(p, β(ψ − ½mR² − τ)) on the probability of an excess of at most ψ."""
        return unthresholded_hit_rate(self.p, self.beta, max(0.0, psi - self.cost))


def plan_regularised(
    constants: Constants, domain: Domain, *, epsilon: float, ridge: float | None = None
) -> RegularisedPlan:
    """Ridge and temperature of the regularised exponential mechanism (Theorem E.4)."""
    check_positive(epsilon=epsilon)
    if constants.m > 0:
        raise ValueError(
            f"the plan chooses the ridge itself: pose the problem with ridge=0, got {constants.m:g}"
        )
    penalty = 2 * constants.L / (domain.radius * math.sqrt(constants.n)) if ridge is None else ridge
    check_positive(ridge=penalty)
    beta = epsilon / constants.charged_oscillation
    return _regularised(constants, domain, penalty, beta, bounded_range(epsilon))


def regularised_with_delta(request: Request) -> RegularisedPlan:
    """Plan the same under (ε, δ)-DP, with the ridge √(2pΔ²/μ² + 4L₀²/n)/R of the least bound."""
    constants, domain = request.constants, request.domain
    share = constants.p * (sensitivity.data_slope(constants, domain) / request.gaussian_mu) ** 2
    ridge = math.sqrt(2 * share + 4 * constants.L**2 / constants.n) / domain.radius
    draw = plan_law(replace(request, ridge=ridge, psi=0.0), certificate="best")
    return _regularised(constants, domain, ridge, draw.beta, draw.guarantee)


def _regularised(
    constants: Constants, domain: Domain, ridge: float, beta: float, guarantee: Guarantee
) -> RegularisedPlan:
    penalty, tolerance = ridge / 2 * domain.radius**2, constants.gap_tolerance
    statistical = penalty + 2 * constants.L**2 / (ridge * constants.n)
    return RegularisedPlan(
        ridge=ridge,
        beta=beta,
        p=constants.p,
        cost=tolerance + penalty,
        population_bound=constants.p / beta + tolerance + statistical,
        statistical_bound=statistical,
        guarantee=guarantee,
    )


_MOST_STAGES = 12


def plan_iterated(
    constants: Constants,
    domain: Domain,
    *,
    epsilon: float,
    failure: float | None = None,
    n_stages: int | None = None,
) -> LocalisationPlan:
    """Plan of the iterated exponential mechanism, Algorithm 3 with own radii; reads no row."""
    check_localised(constants, epsilon, failure)
    if n_stages is not None and not 1 <= n_stages <= _MOST_STAGES:
        raise ValueError(f"n_stages must be from 1 to {_MOST_STAGES}, got {n_stages!r}")

    def one(count: int, failure: float) -> LocalisationPlan:
        prices = [epsilon * (2.0**i / (2.0**count - 1)) for i in range(count)]
        while math.fsum(prices) > epsilon:  # the last one absorbs the rounding error
            prices[-1] = math.nextafter(prices[-1], 0.0)
        stages = planned_stages(constants, domain, prices, failure, start=math.inf)
        return LocalisationPlan.of(constants, domain, stages, failure)

    counts = range(1, _MOST_STAGES + 1) if n_stages is None else [n_stages]
    return _least(one, counts, tried_failures(failure))


def _least(
    one: Callable[[int, float], LocalisationPlan], counts: Iterable[int], failures: Sequence[float]
) -> LocalisationPlan:
    """Return the stages with the smallest bound; failure probabilities must decrease."""
    best: LocalisationPlan | None = None
    for count in counts:
        for failure in failures:
            tried = one(count, failure)
            if best is None or tried.excess_bound < best.excess_bound:
                best = tried
            if tried.found_excess >= best.excess_bound:
                break
    assert best is not None  # there is a count and a failure
    return best


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
    sizes = [n // 2**place for place in range(n_stages - 1, 0, -1)]
    return (n - sum(sizes), *sizes)


def of_fewer(constants: Constants, n: int) -> Constants:
    """Constants for n of the rows, each of which has a larger weight."""
    return replace(constants, n=n, osc=constants.osc * constants.n / n)


def _tried_batches(
    constants: Constants, domain: Domain, epsilon: float, n_stages: int, failure: float
) -> DisjointPlan:
    quantile, slope = (
        _gamma_quantile(constants.p, failure),
        sensitivity.data_lipschitz(constants, domain),
    )
    distance, stages, sizes = math.inf, [], batch_sizes(constants.n, n_stages)
    for size in sizes:
        part = of_fewer(constants, size)
        near = min(distance, domain.diameter)
        local = sensitivity.local_constants(part, domain, min(domain.diameter, 2 * near))
        beta = epsilon / local.charged_oscillation
        stage_distance = distance if 2 * distance < domain.diameter else math.inf
        stages.append(Stage(epsilon, beta, stage_distance))
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


class BatchProblem(Problem):
    """Problem on some rows, with the same domain and ridge."""

    def __init__(self, problem: Problem, taken: IntArray) -> None:
        known = of_fewer(problem.constants, len(taken))
        self._copy_rows_and_loss(
            problem, domain=problem.domain, ridge=problem.ridge, constants=known
        )
        self.data = problem.data.some(taken)
        self._objective = MinimisedObjective(self.data.objective(self.loss), problem.ridge)


def draw_by_batches(
    problem: Problem, planned: DisjointPlan, rng: np.random.Generator
) -> FloatArray:
    """Return the last of draws on disjoint batches, a model (p,)."""
    ends = np.cumsum(planned.sizes)[:-1]
    theta = np.zeros(problem.p)
    parts = np.split(rng.permutation(problem.n), ends)
    for batch, stage in zip(parts, planned.stages, strict=True):
        theta = draw_near(BatchProblem(problem, batch), theta, stage, ExactSampler(), rng)
    return theta


class LocalProblem(Problem):
    """A problem on a neighbourhood: the same rows, a smaller domain and smaller constants."""

    def __init__(self, problem: Problem, domain: Neighbourhood) -> None:
        constants = sensitivity.local_constants(problem.constants, problem.domain, domain.diameter)
        self._copy_rows_and_loss(problem, domain=domain, ridge=problem.ridge, constants=constants)
        self._wide, self._near = problem, domain

    @cached_property
    def minimum(self) -> Minimum:
        """Certified minimum on the neighbourhood, mostly the whole domain's (curator)."""
        wide_minimum = self._wide.minimum
        if self.domain.contains(wide_minimum.theta[:, None])[0]:
            return refined(self, wide_minimum, self.constants.gap_tolerance)
        start = Minimum(self._near.middle, np.inf, np.inf, multiplier=0.0, slack=np.inf)
        return refined(self, start, self.constants.gap_tolerance)


_IF_DRAWN = (
    "whether a model was drawn is not covered: a sampler that gives up, or a minimum that rounding "
    "keeps from being certified, reveals information about the rows"
)


def if_drawn(guarantee: Guarantee) -> Guarantee:
    """State that the guarantee covers draws, and not whether there is one."""
    return replace(guarantee, assumptions=(*guarantee.assumptions, _IF_DRAWN))


def draw_near(
    problem: Problem,
    middle: FloatArray,
    stage: Stage,
    sampler: ExactSampler,
    rng: np.random.Generator,
) -> FloatArray:
    """Make one exact draw (p,) of a stage of a plan, near the model ``middle`` (p,)."""
    if np.isfinite(stage.distance):
        near = Neighbourhood.of(problem.domain, middle, stage.distance)
        problem = LocalProblem(problem, near)
    return first_draw(GibbsTarget(problem, stage.beta, psi=0.0), sampler, rng)


def first_draw(target: GibbsTarget, sampler: ExactSampler, rng: np.random.Generator) -> FloatArray:
    """Make one exact draw (p,) in full precision, which must be rounded before release."""
    found = (batch.theta for batch in sampler.batches(target, rng) if batch.theta.shape[1])
    return next(found)[:, 0]


class ExactOneModel(one_model.OneModelMechanism):
    """Base of mechanisms whose model is an exact draw; whether it succeeds is not covered."""

    traits: ClassVar[Traits] = replace(
        one_model.OneModelMechanism.traits, may_give_up=True, compared=False, bound_slack=6.0
    )
    assumptions: ClassVar[tuple[str, ...]] = ()


def exact_sampler(plan: Plan) -> ExactSampler:
    """Sampler of exact draws with the plan's patience."""
    return ExactSampler(plan.request.patience)


class StagedMechanism(ExactOneModel):
    """Base of mechanisms that draw near an earlier release, under the best ridge."""

    def stages_for(self, request: Request) -> LocalisationPlan:
        """Stages for the request's own ridge, which is > 0."""
        raise NotImplementedError

    def best_stages(self, request: Request) -> tuple[float, LocalisationPlan, float]:
        """Best positive ridge, the stages under it, and their bound with the ridge's effect."""
        bound = attrgetter("excess_bound")
        return one_model.under_best_ridge(request, self.stages_for, required=True, bound=bound)

    def plan_supported(self, request: Request) -> Plan:
        ridge, planned, excess = self.best_stages(request)
        own, unrestricted = own_cost(request, ridge), math.isinf(planned.stages[0].distance)
        releases = len(planned.stages) + bool(planned.noise_scale)
        return self.plan_with(
            request,
            planned,
            proof=f"pure DP of {releases} releases",
            guarantee=if_drawn(planned.guarantee),
            excess=excess,
            ridge=ridge,
            # A later stage depends on the rows through the earlier one: no stability is claimed.
            beta=planned.stages[0].beta if unrestricted else math.inf,
            hit_rate=planned.hit_rate(max(0.0, request.psi - own)),
        )


class Localised(StagedMechanism):
    """Noise on the minimiser at ε/2, then an exact draw nearby at ε/2 (Bassily et al. 2014, §4)."""

    name: ClassVar[str] = "localised"
    summary: ClassVar[str] = "an exact draw near a noisy minimiser"

    def stages_for(self, request: Request) -> LocalisationPlan:
        return plan_perturbed(request.constants, request.domain, epsilon=request.epsilon)

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        theta = self.noisy_minimiser(problem, plan, rng)
        return draw_near(problem, theta, plan.details.settings.stages[0], exact_sampler(plan), rng)

    def noisy_minimiser(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        """Minimiser plus noise of density ∝ exp(−‖z‖/σ), projected onto the domain; (p,)."""
        near = sensitivity.solver_distance(problem.constants, problem.domain)
        known = refined(problem, problem.minimum, problem.m * near**2 / 2)
        noise = radial_noise(problem.p, plan.details.settings.noise_scale, rng)
        return round_into_domain(problem.domain, known.theta + noise)


class Iterated(StagedMechanism):
    """One model of low excess for strongly convex losses, by exact draws on smaller sets.

    Algorithm 3 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization" (submitted to ICLR 2023): θ_i is drawn from exp(−β_i L) on the part of the domain
    within r_{i−1} of θ_{i−1}, which is smaller and so allows a larger β_i. Radii, β_i and number of
    stages are public (:func:`plan_iterated`), and every draw is exact, so that the whole is pure
    DP. The expected excess is of order p²/n² up to logarithms; the plain exponential mechanism has
    p/n.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> options = {"n_draws": 1, "epsilon": 4.0, "classes": (0, 1), "ridge": 0.1}
    >>> RashomonClassifier(mechanism=Iterated.name, **options).plan(10_000, 2).mechanism
    'iterated'
    """

    name: ClassVar[str] = "iterated"
    summary: ClassVar[str] = "the last of several exact draws, each near the previous one"

    def stages_for(self, request: Request) -> LocalisationPlan:
        return plan_iterated(request.constants, request.domain, epsilon=request.epsilon)

    def why_unsupported(self, request: Request) -> str:
        """Decline also where one stage is best."""
        why = super().why_unsupported(request)
        if not why and len(self.best_stages(request)[1].stages) == 1:
            return "a second draw does not improve the bound at its privacy cost: see unthresholded"
        return why

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        theta = np.zeros(problem.p)
        for stage in plan.details.settings.stages:
            theta = draw_near(problem, theta, stage, exact_sampler(plan), rng)
        return theta


class IteratedBatches(ExactOneModel):
    """Draws on disjoint batches, each near the previous one; a record affects one of them."""

    name: ClassVar[str] = "iterated_batches"
    summary: ClassVar[str] = (
        "the last of exact draws on disjoint batches, each near the previous one"
    )

    def why_unsupported(self, request: Request) -> str:
        if request.in_chunks:
            return "chunked rows are summed, not sampled"
        why = super().why_unsupported(request)
        if not why and len(_best_batches(request)[1].stages) == 1:
            return "one draw on all rows has at least as good a bound: see unthresholded"
        return why

    def plan_supported(self, request: Request) -> Plan:
        ridge, planned, unseen = _best_batches(request)
        excess = planned.fitted + own_cost(request, ridge)
        total_excess = excess + batch_gap(request, planned.sizes[-1], request.radius)
        return self.plan_with(
            request,
            planned,
            proof=f"pure DP of one draw: a record is in one of {len(planned.sizes)} batches",
            guarantee=if_drawn(pure(request.epsilon)),
            excess=total_excess,
            ridge=ridge,
            generalisation_gap=unseen - total_excess,
            beta=planned.stages[0].beta,
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        return draw_by_batches(problem, plan.details.settings, rng)


def _best_batches(request: Request) -> tuple[float, DisjointPlan, float]:
    """Best positive ridge for new rows, the batches under it, and their bound on the risk."""

    def unseen(planned: DisjointPlan) -> float:
        gap = batch_gap(request, planned.sizes[-1], planned.reach)
        return planned.fitted + min(planned.stable, gap)

    def planned(one: Request) -> DisjointPlan:
        return plan_disjoint(one.constants, one.domain, epsilon=one.epsilon)

    return one_model.under_best_ridge(request, planned, every=3, required=True, bound=unseen)


class Regularised(ExactOneModel):
    """One model of low population risk for convex losses.

    An exact draw from exp(−β(L + ½m‖θ‖²)) (Theorem E.1 and §E.4 of Ganesh, Thakurta and Upadhyay
    2023; Theorem E.4 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization", submitted to ICLR 2023). For pure DP m = 2L/(R√n) balances the excess due to the
    ridge and the effect of one row on the draw (:func:`plan_regularised`). With δ the ridge also
    buys a larger β: the better of both is taken (:func:`regularised_with_delta`). The problem that
    it draws from has this ridge.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> options = {"n_draws": 1, "epsilon": 4.0, "classes": (0, 1)}
    >>> RashomonClassifier(mechanism=Regularised.name, **options).plan(10_000, 2).mechanism
    'regularised'
    """

    name: ClassVar[str] = "regularised"
    summary: ClassVar[str] = "an exact draw under a ridge chosen for new rows"

    def why_unsupported(self, request: Request) -> str:
        """Decline losses that have a ridge."""
        if request.ridge > 0:
            return "chooses the ridge itself: needs ridge = 0"
        return super().why_unsupported(request)

    def plan_supported(self, request: Request) -> Plan:
        """Pure DP or, with δ, the better of it and :func:`regularised_with_delta`."""
        planned = plan_regularised(request.constants, request.domain, epsilon=request.epsilon)
        if request.delta > 0:
            both = planned, regularised_with_delta(request)
            planned = min(both, key=attrgetter("population_bound"))
        pure_only = planned.guarantee.notion == "bounded_range"
        proof = "pure DP, by bounded range" if pure_only else "the certificate of one exact draw"
        return self.plan_with(
            request,
            planned,
            proof=proof,
            guarantee=if_drawn(planned.guarantee),
            excess=planned.excess_bound,
            ridge=planned.ridge,
            generalisation_gap=planned.population_bound - planned.excess_bound,
            beta=planned.beta,
            hit_rate=planned.hit_rate(request.psi),
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        return first_draw(
            GibbsTarget(problem, plan.details.settings.beta, psi=0.0), exact_sampler(plan), rng
        )
