"""One Langevin path whose states are the draws: its plan, from public numbers.

With c = β²T fixed by the budget, A = ½‖θ₀ − θ*‖², P = p/(1 − s) and s = hβM, the mean excess of the
states is at most (A/T + P)/β, and what the batches add (docs/theory.md §30). For a wanted share of
the states in the set the path is as warm, and so as wide, as that bound allows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import Fact, rounded_up
from rashomon_explorer._utils.progress import ChainLooks, ChainState, progress
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.mechanisms import bounds, centres, noisy_descent
from rashomon_explorer.mechanisms.base import Batch, hits_sentence
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz, data_slope
from rashomon_explorer.mechanisms.improvements import Improvement, Suggestion, least_factor
from rashomon_explorer.mechanisms.langevin.batches import (
    batch_variance,
    step_gradients,
    steps_in_memory,
    unsampled_because,
)
from rashomon_explorer.mechanisms.langevin.sampled_plan import least_noise, sampled_guarantee
from rashomon_explorer.mechanisms.plans import Details, Plan, pass_seconds
from rashomon_explorer.mechanisms.request import ALLOCATED, AUTO, GDP, POISSON, Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon
from rashomon_explorer.problem.clipped_rows import ClippedRows
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem

N_STATES = 400
"""States that a path releases by default; more are free."""

_BURNT = 0.1  # share of the steps before the first state that is released
_PACES = (0.1, 0.2, 0.35, 0.5)  # candidates for s = hβM
_RATES = tuple(4.0**-k for k in range(9))  # candidates for the share of the rows in a step
_LONGEST = 4.0  # of A/P: a longer path would be wider by at most 12 %
_WARM = 1.25  # least β times this is as good, if the steps take less long
_NEAR = 1.05  # the same of the excess
_FEW_SECONDS = 2.0
_MOST_STEPS = 1_000_000
_LARGEST_PSI = 1e100  # its square is a number
_AMPLIFIED = 2.0  # σ from which batches cost hardly more than all rows
_FEWEST_ROWS = 128  # in a batch: fewer take as long
_TOGETHER = 1_024  # steps whose noise is drawn together
_SECONDS_BETWEEN_BLOCKS = 0.1  # between looks of a caller that may stop
_SAFE = 1 - 1e-9  # of β²T: keeps the charge within the budget despite rounding
_ROW_SECONDS = 6e-8  # of a sampled row
_ENTRY_SECONDS = 1e-9
_STEP_SECONDS = 1.2e-5


@dataclass(frozen=True)
class StatesDetails(Details):
    """Steps of one path and the states that it releases, in public numbers."""

    step_size: float
    n_steps: int
    burn_in: int
    thin: int
    sensitivity: float
    rate: float = 1.0
    batch_order: str = POISSON
    bound_slack: ClassVar[float] = 4.0  # 3 to 5 on ordinary tables (benchmarks/paths.py)
    charged: float = math.nan
    """ε that a ledger counts for the path; NaN without one."""

    def cost(self, plan: Plan) -> tuple[float, float]:
        """Return the budget, or the part of it that the path needs."""
        return super().cost(plan) if math.isnan(self.charged) else (self.charged, plan.delta)

    @property
    def is_allocated(self) -> bool:
        """Whether each row is in one batch of an epoch; then no share of the states is proved."""
        return self.rate < 1 and self.batch_order == ALLOCATED

    @property
    def time(self) -> float:
        """T = Nh."""
        return self.n_steps * self.step_size

    def batch_size(self, n: int) -> int:
        """Rows of a step, on average; 0 for all of them."""
        return round(self.rate * n) if self.rate < 1 else 0

    def reads(self, plan: Plan) -> float:
        """Return passes over chunked rows: one for the batches of the steps that fit in memory."""
        return float(math.ceil(self.n_steps / steps_in_memory(plan.n, plan.p, self.rate)))

    def expected_width(self, plan: Plan) -> float:
        """Spread of the law that the path approaches; see :func:`relative_spread`."""
        return relative_spread(plan.p, plan.psi, plan.beta)

    def facts(self, plan: Plan) -> list[Fact]:
        """List the steps, and how wide the states are expected to lie."""
        rows = f", each on about {self.batch_size(plan.n):,} rows" if self.rate < 1 else ""
        interval = f"every {self.thin:,}th" if self.thin > 1 else "each"
        steps = f"{self.n_steps:,} of size {self.step_size:.3g}{rows}; {interval} after the first "
        share = f"{self.expected_width(plan):.0%}"
        width = f"about {share} of that of uniform models of the set; no guarantee"
        return [
            ("steps", f"{steps}{self.burn_in:,} is a model"),
            *([("width", width)] if plan.psi > 0 else []),
        ]


@dataclass(frozen=True)
class _Walk:
    """A time, a temperature and a step, and what they promise."""

    time: float
    beta: float
    pace: float
    rate: float
    excess: float
    reached: bool

    def thin(self, request: Request) -> float:
        """Return the least number of steps between two states with hβM ≤ s."""
        stable = self.time * self.beta * request.constants.M / self.pace
        return max(1.0, stable * (1 - _BURNT) / request.n_draws)

    def n_steps(self, request: Request) -> int:
        """Return the least number of steps with hβM ≤ s."""
        return _n_steps(math.ceil(self.thin(request)), request.n_draws)


def plan_states(request: Request, *, exact: bool = True) -> Plan:
    """Plan one path whose states are the draws; reads no row (docs/theory.md §30).

    Without ``exact`` the privacy cost of batches is that of all rows, which they amplify to: for
    comparisons of plans that are not carried out.
    """
    request.check()
    scaled_time = 2 * request.gaussian_mu**2 / _slope(request) ** 2 * _SAFE
    walk = _best_walk(request, scaled_time)
    if walk.thin(request) * request.n_draws > _MOST_STEPS:
        raise ValueError(
            f"a path for ψ = {request.psi:g} in a ball of radius {request.radius:g} takes more "
            f"than {_MOST_STEPS:,} steps: use a larger ψ, a smaller radius or a smaller share"
        )
    if exact and walk.rate < 1:
        return _plan(request, *_accounted(request, walk))
    n_steps = walk.n_steps(request)
    guarantee = noisy_descent.path_guarantee(
        beta=walk.beta, sensitivity=_slope(request), step_size=walk.time / n_steps, n_steps=n_steps
    )
    return _plan(request, walk, math.ceil(walk.thin(request)), guarantee)


def _n_steps(thin: int, n_draws: int) -> int:
    return math.ceil(thin * n_draws / (1 - _BURNT))


def _slope(request: Request) -> float:
    return data_slope(request.constants, request.domain)


def _plan(request: Request, walk: _Walk, thin: int, guarantee: Guarantee) -> Plan:
    n_steps = _n_steps(thin, request.n_draws)
    details = StatesDetails(
        step_size=walk.time / n_steps,
        n_steps=n_steps,
        burn_in=n_steps - thin * request.n_draws,
        thin=thin,
        sensitivity=_slope(request),
        rate=walk.rate,
        batch_order=request.batch_order,
        charged=_charged(request, guarantee),
    )
    excess = states_excess(request, walk.beta, details)
    within = 1 - excess / request.psi if request.psi > 0 else 0.0
    plan = Plan(
        request=request,
        mechanism="langevin",
        guarantee=replace(guarantee, requested=(_cost(request, guarantee), request.delta)),
        excess_bound=excess,
        hit_rate=within if within > 0 else None,
        certificate="path",
        beta=walk.beta,
        law_psi=0.0,
        generalisation_gap=bounds.generalisation_gap(request),
        steps=_gradients(request, n_steps, walk.rate),
        details=details,
    )
    return without_promise(plan) if details.is_allocated else plan


_UNSPENT = 0.98


def _cost(request: Request, guarantee: Guarantee) -> float:
    """ε of the budget, or of the path where it needs less; a ledger takes the budget's order."""
    return request.epsilon if request.ledger else _at_most(request, guarantee.epsilon)


def _at_most(request: Request, cost: Callable[[float], float]) -> float:
    epsilon = cost(request.delta)
    return float(rounded_up(epsilon)) if epsilon < _UNSPENT * request.epsilon else request.epsilon


def _charged(request: Request, guarantee: Guarantee) -> float:
    """ε of the path by a ledger's composition, NaN without a ledger."""
    if not request.ledger:
        return math.nan
    if request.ledger == GDP:
        return _at_most(request, guarantee.epsilon)
    order = None if request.cost_at_order is None else request.cost_at_order[0]
    return _at_most(request, partial(adaptive_epsilon, [guarantee], order=order))


def _gradients(request: Request, n_steps: int, rate: float) -> float:
    """Gradients over all rows that take as long as the steps; of chunked rows, passes."""
    if request.in_chunks and request.loss_name != _OF_MOMENTS:
        return float(math.ceil(n_steps / steps_in_memory(request.n, request.p, rate)))
    seconds = n_steps * _step_seconds(replace(request, in_chunks=False), rate)
    return seconds / (_ENTRY_SECONDS * request.n * request.p)


def states_excess(request: Request, beta: float, details: StatesDetails) -> float:
    """Bound on the mean excess of the states that are released."""
    constants = request.constants
    return bounds.path_states_excess(
        p=constants.p,
        beta=beta,
        M=constants.M,
        distance=centres.furthest_start(constants, request.radius, request.zero_loss),
        step_size=details.step_size,
        n_steps=details.n_steps,
        burn_in=details.burn_in,
        batch_variance=_batch_variance(request, details.rate),
    )


def _batch_variance(request: Request, rate: float) -> float:
    """E‖g − ∇L‖² of a batch."""
    slope = data_lipschitz(request.constants, request.domain)
    return batch_variance(slope, request.n, rate, request.batch_order)


def relative_spread(p: int, psi: float, beta: float) -> float:
    """Spread √((p + 2)/(2ψβ)) of a quadratic law, relative to uniform draws (theory §30)."""
    return math.sqrt((p + 2) / (2 * psi * beta)) if psi > 0 else math.nan


def _best_walk(request: Request, scaled_time: float) -> _Walk:
    """Warmest walk that promises the share, or the one of least excess; quick if all take long."""
    walks = [_walk(request, scaled_time, pace, rate) for rate in _rates(request) for pace in _PACES]
    noise = {walk: _sum_noise(request, walk, walk.n_steps(request)) for walk in walks}
    amplified = [walk for walk in walks if walk.rate == 1 or noise[walk] >= _AMPLIFIED]
    walks = amplified or walks  # an own batch size may have no such walk
    if any(walk.reached for walk in walks):
        walks = [walk for walk in walks if walk.reached]
        least = min(walk.beta for walk in walks)
        near = [walk for walk in walks if walk.beta <= _WARM * least]
        cost = {walk: walk.beta for walk in near}
    else:
        least = min(walk.excess for walk in walks)
        near = [walk for walk in walks if walk.excess <= _NEAR * least]
        cost = {walk: walk.excess for walk in near}
    quick = [walk for walk in near if _seconds(request, walk) <= _FEW_SECONDS]
    if quick:
        return min(quick, key=lambda walk: (cost[walk], -walk.rate))
    return min(near, key=lambda walk: _seconds(request, walk))


def _sum_noise(request: Request, walk: _Walk, n_steps: int) -> float:
    """Return σ = √(2/h)/β · qn/L₀ of a sum; √(2/h)/β is the noise of a mean gradient."""
    slope = data_lipschitz(request.constants, request.domain)
    return math.sqrt(2 * n_steps / walk.time) * walk.rate * request.n / (walk.beta * slope)


def _rates(request: Request) -> list[float]:
    """Shares of the rows in a step that are compared."""
    size, unsampled = request.batch_size, unsampled_because(replace(request, in_chunks=False))
    if size is None or unsampled or (size == AUTO and request.loss_name == _OF_MOMENTS):
        return [1.0]
    if not isinstance(size, str):
        rate = min(1.0, size / request.n)
        return [1 / round(1 / rate) if request.batch_order == ALLOCATED else rate]
    return [rate for rate in _RATES if rate == 1 or rate * request.n >= _FEWEST_ROWS]


_OF_MOMENTS = "squared"  # a step reads p² numbers, and no row


def _seconds(request: Request, walk: _Walk) -> float:
    """Seconds of one core for the steps, roughly."""
    return _step_seconds(request, walk.rate) * walk.n_steps(request)


def _step_seconds(request: Request, rate: float) -> float:
    n, p = request.n, request.p
    if request.loss_name == _OF_MOMENTS and rate == 1:
        return _STEP_SECONDS + _ENTRY_SECONDS * p**2
    seconds = _STEP_SECONDS + _ENTRY_SECONDS * rate * n * p
    if rate < 1:
        seconds += _ROW_SECONDS * rate * n
    if request.in_chunks:
        seconds += pass_seconds(n, p) / steps_in_memory(n, p, rate)
    return seconds


def _walk(request: Request, scaled_time: float, pace: float, rate: float) -> _Walk:
    """Longest time T with (A + PT)² ≤ cE²T, and β = (A/T + P)/E; T = A/P if there is none."""
    constants = request.constants
    start = centres.furthest_start(constants, request.radius, request.zero_loss) ** 2 / 2
    noise = constants.p / (1 - pace)
    added = pace * _batch_variance(request, rate) / (2 * constants.M * (1 - pace))
    allowed = (1 - request.share) * min(request.psi, _LARGEST_PSI) * (1 - _BURNT) - added
    square = scaled_time * max(allowed, 0.0) ** 2
    reached = square >= 4 * start * noise
    if reached:
        root = math.sqrt(square * (square - 4 * start * noise))
        longest = (square - 2 * start * noise + root) / (2 * noise**2)
        time = min(longest, _LONGEST * start / noise)
        beta = (start / time + noise) / allowed
    else:
        time = start / noise
        # A budget that buys a colder path than so many steps can follow is not spent.
        beta = min(math.sqrt(scaled_time / time), _MOST_STEPS * pace / (time * constants.M))
    excess = ((start / time + noise) / beta + added) / (1 - _BURNT)
    return _Walk(time, beta, pace, rate, excess, reached)


_ATTEMPTS = 6
_MORE = 1.25


def _accounted(request: Request, walk: _Walk) -> tuple[_Walk, int, Guarantee]:
    """Walk, steps and guarantee at the privacy cost of the batches that are drawn."""
    slope, batch_size = data_lipschitz(request.constants, request.domain), walk.rate * request.n
    orders = () if request.cost_at_order is None else (request.cost_at_order,)
    enough = walk.thin(request)
    thin = _two_digits_up(enough)
    for _ in range(_ATTEMPTS):
        n_steps = _n_steps(thin, request.n_draws)
        sampling = (walk.rate, n_steps)
        noise = _sum_noise(request, walk, n_steps)
        cost = sampled_guarantee(noise, sampling, request.batch_order, by_order=bool(orders))
        assert cost.curve is not None
        within = all(cost.curve.renyi(order) <= most for order, most in orders)
        if not orders:
            within = cost.curve.epsilon(request.delta) <= request.epsilon
        if enough <= thin and within:
            return walk, thin, cost
        budget = request.epsilon, request.delta
        least, _ = least_noise(*budget, orders, sampling, request.batch_order)
        # σL₀ is the noise of a sum, √(2/h)/β that of the mean: so β²T = 2N(qn/(σL₀))².
        scaled_time = 2 * n_steps * (batch_size / (least * slope)) ** 2 * _SAFE
        walk = _walk(request, scaled_time, walk.pace, walk.rate)
        enough = walk.thin(request)
        if enough > thin:
            thin = _two_digits_up(max(enough, _MORE * thin))
    raise ValueError("the batches are too small for steps that are stable: use larger ones")


def _two_digits_up(count: float) -> int:
    """Round up to two digits, so that accounting is shared by similar requests."""
    unit = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return math.ceil(count / unit) * unit


def path(
    problem: Problem, plan: Plan, rng: np.random.Generator, start: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield the state (p,) after each step of a plan's path, from a released state or from 0."""
    details: StatesDetails = plan.details
    pace, deviation = details.step_size * plan.beta, math.sqrt(2 * details.step_size)
    gradients = step_gradients(problem, details.rate, details.batch_order, rng)
    project, look = _projection(problem), ChainLooks()
    theta = project(np.zeros(problem.p) if start is None else start)
    for t in progress(range(details.n_steps), "steps"):
        if t % _TOGETHER == 0:
            noise = deviation * rng.standard_normal((_TOGETHER, problem.p))
        theta = project(theta - pace * next(gradients)(theta) + noise[t % _TOGETHER])
        look(partial(_look, problem, plan, theta, t))
        yield theta
        pause()  # lets a dashboard's event loop run


def _projection(problem: Problem) -> Callable[[FloatArray], FloatArray]:
    """Nearest point of the domain to one model (p,)."""
    domain = problem.domain
    if not isinstance(domain, Ball):
        return lambda theta: domain.project(theta[:, None])[:, 0]

    def project(theta: FloatArray) -> FloatArray:
        square = float(theta @ theta)
        if square <= domain.radius**2:
            return theta
        return theta * (domain.radius / math.sqrt(square))

    return project


def _look(problem: Problem, plan: Plan, theta: FloatArray, t: int) -> ChainState:
    details: StatesDetails = plan.details
    return ChainState(
        step=t + 1,
        n_steps=details.n_steps,
        excess=problem.value(theta[:, None]) - problem.minimum.value,
        averages=np.empty(0),
        step_size=details.step_size,
        batch=details.batch_size(plan.n),
    )


def released_states(
    target: GibbsTarget, plan: Plan, rng: np.random.Generator, start: FloatArray | None = None
) -> Iterator[FloatArray | None]:
    """Yield the state (p,) after each step where it is released, otherwise None (theory §30)."""
    details: StatesDetails = plan.details
    due = details.burn_in + int(rng.integers(details.thin))
    for t, theta in enumerate(path(target.problem, plan, rng, start)):
        yield theta if t >= due and (t - due) % details.thin == 0 else None


def without_promise(plan: Plan) -> Plan:
    """Plan of a path without a bound: it was stopped or continued, or its batches are allocated."""
    constants, domain = plan.request.constants, plan.request.domain
    largest = constants.L * domain.diameter
    return replace(plan, hit_rate=None, excess_bound=largest, comparison_excess=largest)


def part_guarantee(plan: Plan, n_steps: int) -> Guarantee:
    """Guarantee of some steps of a plan's path; those of all parts add up to the plan's."""
    details: StatesDetails = plan.details
    request = plan.request
    if details.rate == 1:
        part = noisy_descent.path_guarantee(
            beta=plan.beta,
            sensitivity=details.sensitivity,
            step_size=details.step_size,
            n_steps=n_steps,
        )
    else:
        # √(2/h)/β is the noise of the mean gradient, 2L₀/n its sensitivity.
        noise = math.sqrt(2 / details.step_size) / plan.beta * 2 * details.rate
        by_order = request.ledger and request.cost_at_order is not None
        part = sampled_guarantee(
            noise / details.sensitivity,
            (details.rate, n_steps),
            details.batch_order,
            by_order=bool(by_order),
        )
    return replace(part, requested=plan.guarantee.requested)


def batches(target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield blocks of states as they are made; some are empty, so that a caller may stop."""
    in_memory = isinstance(target.problem.data, ClippedRows)  # else losses take a pass
    last_block, block = time.perf_counter(), list[FloatArray]()
    for theta in released_states(target, plan, rng):
        if theta is not None:
            block.append(theta)
        if time.perf_counter() - last_block > _SECONDS_BETWEEN_BLOCKS:
            yield _evaluated(target.problem, block if in_memory else [])
            last_block, block = time.perf_counter(), [] if in_memory else block
    yield _evaluated(target.problem, block)


def _evaluated(problem: Problem, block: list[FloatArray]) -> Batch:
    """Batch of states (p,) with their losses; a curator's pass over all rows."""
    if not block:
        return Batch(np.empty((problem.p, 0)), np.empty(0), evaluated=0)
    theta = np.stack(block, axis=1)
    return Batch(theta, problem.value(theta), evaluated=theta.shape[1])


NO_SHARE = (
    "A batch is biased given the earlier ones of its epoch, so no share of the states within ψ is "
    "guaranteed for allocated batches."
)
"""Why a path on allocated batches promises nothing but privacy."""


def explain(plan: Plan) -> list[str]:
    """Say what the path costs, its steps, and the guaranteed share of its states."""
    details: StatesDetails = plan.details
    rule = ", by the ledger's composition rule" if plan.ledger else ""
    total = rounded_up(plan.guarantee.epsilon(plan.delta))
    rows = f" on about {details.batch_size(plan.n):,} rows" if details.rate < 1 else ""
    return [
        f"One path costs ε = {total}, at δ = {plan.delta:g}{rule}: {plan.n_draws:,} of its states, "
        "or all of them, have this one cost.",
        f"Each of {details.n_steps:,} steps{rows}, of h = {details.step_size:.3g}, adds noise at β "
        f"= {plan.beta:,.0f}, a time of {details.time:.3g}; one record moves the gradient of all "
        f"rows by at most {rounded_up(details.sensitivity)}.",
        NO_SHARE
        if details.is_allocated
        else f"The mean excess loss of the states is at most {rounded_up(plan.excess_bound)} in "
        f"expectation. {hits_sentence(plan, 'of the states are expected to be')}",
    ]


_DIALLED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def dial(plan: Plan) -> list[Plan]:
    """Plans of the same request for other shares of the states, the widest first.

    A share that the budget does not allow ends the list, with the most that it allows.
    """
    plans = list[Plan]()
    for share in sorted({*_DIALLED, plan.request.share}):
        tried = plan_states(replace(plan.request, share=share), exact=False)
        plans.append(tried)
        if tried.hit_rate_bound < share * (1 - _BURNT):
            break
    return plans


def improvements(plan: Plan) -> list[Improvement]:
    """List changes that guarantee the wanted share of the states, if fewer are guaranteed."""
    request = plan.request
    reached = plan.hit_rate_bound >= request.share * _SAFE
    if not isinstance(request, Request) or plan.details.is_allocated or reached:
        return []
    goal = f"{100 * request.share:.0f} % of the states within ψ"

    def reaches(changed: Request) -> bool:
        budget = 2 * changed.gaussian_mu**2 / _slope(changed) ** 2 * _SAFE
        return any(_walk(changed, budget, pace, 1.0).reached for pace in _PACES)

    epsilon = least_factor(lambda k: reaches(replace(request, epsilon=request.epsilon * k)))
    rows = least_factor(lambda k: reaches(replace(request, n=math.ceil(request.n * k))))
    width = least_factor(lambda k: reaches(replace(request, psi=request.psi * k)))
    changes = []
    if epsilon is not None:
        text = rounded_up(request.epsilon * epsilon)
        changes.append(Suggestion(f"ε = {text}", "epsilon", float(text)))
    if rows is not None:
        count = math.ceil(request.n * rows)
        changes.append(Suggestion(f"{count:,} rows", "n", float(count)))
    if width is not None and request.psi * width < request.zero_loss:
        text = rounded_up(request.psi * width)
        changes.append(Suggestion(f"ψ = {text}", "psi", float(text)))
    return [Improvement(goal, tuple(changes))] if changes else []
