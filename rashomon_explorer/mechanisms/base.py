"""Mechanisms: what they state of themselves, and the draws that they take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import hit_rate_text, rounded_up
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.improvements import Improvement, excess_improvements
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class Traits:
    """Properties of a mechanism and of its draws; by default none holds."""

    independent: bool = False
    n_chains: int = 0
    planned_law: bool = False
    unplanned: str = ""
    uniform_on: str = ""
    stays_inside: bool = False
    may_give_up: bool = False
    curator_only: bool = False
    compared: bool = False  # by the planner; others are selected by name only
    one_model: bool = False  # releases one model, under a ridge that it chooses itself
    around_centre: bool = False  # draws lie around a private centre
    free_draws: int = 0  # draws by default, if any number of them has one cost and is planned so
    # Factor by which its excess bound exceeds the excess on typical tables, calibrated on simulated
    # ones (benchmarks/rule.py); for a regression; and what divides it with several scores a row,
    # where the radius is chosen and where mechanisms are compared.
    bound_slack: float = 6.0
    regression_slack: float = 1.0
    several_scores: tuple[float, float] = (1.0, 1.0)
    bias: float = 0.0  # excess loss that remains with many rows
    regression_bias: float = 0.0  # the same for targets in [−1, 1]

    @property
    def dependence_known(self) -> bool:
        """Whether it is known which draws depend on each other."""
        return self.independent or self.n_chains > 0


@dataclass(frozen=True)
class Batch:
    """Some draws, possibly none, and the number of evaluated losses."""

    theta: FloatArray
    losses: FloatArray
    evaluated: int
    region: CutEllipsoid | None = None


class Sampler(Protocol):
    """Protocol of what takes draws of a target."""

    @property
    def name(self) -> str:
        """Name of the sampler."""

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of draws without end."""
        ...


class Mechanism(ABC):
    """One algorithm, private or the curator's: it plans, draws, and explains its plans.

    A mechanism has no settings: all of them are in the request and the plan.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """What a draw is."""
    traits: ClassVar[Traits] = Traits()

    def plan(self, request: Request) -> Plan | Rejected:
        """Plan from public numbers; never warns, and never raises for what it cannot serve."""
        try:
            if reason := self.why_unsupported(request):
                return Rejected(self.name, reason)
            return self.plan_supported(request)
        except (SamplerError, ValueError) as error:
            return Rejected(self.name, str(error))

    def estimate(self, request: Request) -> Plan | Rejected:
        """Plan for a comparison of balls; it may omit slow accounting, and is not carried out."""
        return self.plan(request)

    def draw(
        self,
        problem: Problem,
        plan: Plan,
        rng: np.random.Generator,
        report: Callable[[Draws], bool] | None = None,
    ) -> Draws:
        """Take the plan's draws from a problem with the plan's ball and ridge.

        ``report`` is called after every batch with the draws so far, and ends the work by True.
        """
        return collect(self.sampler(plan), GibbsTarget.of(problem, plan), plan.n_draws, rng, report)

    def explain(self, plan: Plan) -> list[str]:
        """Sentences about a plan: its cost, how a model is drawn, what is guaranteed."""
        return [cost_sentence(plan, "model"), excess_sentence(plan)]

    def improvements(self, plan: Plan, *, ridge: bool = False) -> list[Improvement]:
        """List changes that reach the next better guarantee; ``ridge``: suggest ridges, too."""
        return excess_improvements(plan)

    def why_unsupported(self, request: Request) -> str:
        """Reason why the mechanism does not apply to a request; empty if it does."""
        return ""

    def why_not_compared(self, request: Request) -> str:
        """Reason why the rule does not compare the mechanism, which can be named nevertheless."""
        return ""

    @abstractmethod
    def plan_supported(self, request: Request) -> Plan:
        """Plan a request that the mechanism supports."""

    @abstractmethod
    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of draws without end."""

    def sampler(self, plan: Plan) -> PlannedSampler:
        """Sampler that carries out a plan."""
        return PlannedSampler(self, plan)


@dataclass(frozen=True)
class PlannedSampler:
    """The draws of one plan."""

    mechanism: Mechanism
    plan: Plan

    @property
    def name(self) -> str:
        return self.mechanism.name

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of draws without end."""
        return self.mechanism.batches(target, self.plan, rng)


def cost_sentence(plan: Plan, noun: str) -> str:
    """Say what all draws cost together."""
    several = plan.n_draws > 1
    cost, joint = ("s cost", " together") if several else (" costs", "")
    rule = ", by the ledger's composition rule" if plan.ledger else ""
    total = rounded_up(plan.guarantee.epsilon(plan.delta))
    return f"{plan.n_draws:,} {noun}{cost} ε = {total}{joint}, at δ = {plan.delta:g}{rule}."


def excess_sentence(plan: Plan) -> str:
    """Say what is guaranteed of the loss of a draw."""
    bound = f"The loss of a draw exceeds the least by at most {rounded_up(plan.excess_bound)}"
    if plan.psi > 0 or plan.zero_loss is None:
        return f"{bound} on average."
    return f"{bound} on average; that of a model of zeros is at most {rounded_up(plan.zero_loss)}."


def hits_sentence(plan: Plan, subject: str = "of the draws are") -> str:
    """Say what hit rate is guaranteed."""
    if plan.hit_rate is None:
        return "No hit rate is guaranteed."
    share = hit_rate_text(plan.hit_rate).replace("%", " %")
    return f"At least {share} {subject} within ψ = {plan.psi:g} of the least loss."


@dataclass(frozen=True)
class Draws:
    """Draws from one target, and the work that they took."""

    coef: FloatArray  # (k, p): models, rounded to the public grid of 2⁻²⁰
    losses: FloatArray  # (k,): losses of the models as drawn (curator)
    acceptance: float  # accepted draws per model whose loss was evaluated (curator)
    region: CutEllipsoid | None = None  # released with them, included in the privacy cost

    def first(self, count: int) -> Draws:
        return replace(self, coef=self.coef[:count], losses=self.losses[:count])


def collect(
    sampler: Sampler,
    target: GibbsTarget,
    n_draws: int,
    rng: np.random.Generator,
    report: Callable[[Draws], bool] | None = None,
) -> Draws:
    """Take the first ``n_draws`` draws of a mechanism or sampler."""
    check_count(n_draws=n_draws)
    coef, losses = np.empty((0, target.problem.p)), np.empty(0)
    accepted = evaluated = 0
    with one_blas_thread():
        for batch in sampler.batches(target, rng):
            accepted += len(batch.losses)
            evaluated += batch.evaluated
            coef = np.concatenate([coef, to_public_grid(batch.theta.T)])[:n_draws]
            losses = np.concatenate([losses, batch.losses])[:n_draws]
            draws = Draws(coef, losses, accepted / max(1, evaluated), batch.region)
            stop = report(draws) if report is not None else False
            if stop or len(losses) == n_draws:
                return draws
    raise AssertionError("a mechanism's batches never end")


_GRID = 2.0**20


def to_public_grid(theta: FloatArray) -> FloatArray:
    """Round to multiples of 2⁻²⁰: the last bits of a double can reveal the noise in it."""
    return np.round(theta * _GRID) / _GRID + 0.0  # −0.0 and 0.0 are one output
