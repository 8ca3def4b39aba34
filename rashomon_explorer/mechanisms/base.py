"""Mechanisms: what they state of themselves, and the draws that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.request import Offer, Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.losses import Loss


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
    looseness: float = 6.0  # factor by which its excess bound exceeds the excess on typical tables
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

    name: ClassVar[str]

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of draws without end."""
        ...


class Mechanism:
    """Base of mechanisms: offers a plan from public numbers; an instance carries out one plan."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What a draw is."""
    traits: ClassVar[Traits] = Traits()

    @classmethod
    def unsuited(cls, request: Request) -> str:
        """Reason why the mechanism does not apply to a request; empty if it does."""
        return ""

    @classmethod
    def plan_for(cls, request: Request) -> Plan:
        """Plan the draws from public numbers; raise an error if this is impossible."""
        raise NotImplementedError

    @classmethod
    def offer(cls, request: Request) -> Offer:
        """Plan for a request, or the reason why the mechanism does not apply; reads no row."""
        if why := cls.unsuited(request):
            return cls.declined(why)
        planned = cls.plan_for(request)
        uniform = bool(cls.traits.uniform_on)
        return Offer(cls.name, cls.summary, uniform, cls.proof(planned), planned)

    @classmethod
    def declined(cls, why: str) -> Offer:
        """Offer of a mechanism that does not apply, with the reason."""
        return Offer(cls.name, cls.summary, bool(cls.traits.uniform_on), why)

    @classmethod
    def proof(cls, planned: Any) -> str:
        """Return what the guarantee of a plan rests on."""
        return str(planned.certificate)

    @classmethod
    def narrowed(cls, probe: Plan) -> type[Mechanism]:
        """Mechanism that plans open settings, given its plan in the unit ball."""
        return cls

    @classmethod
    def looseness(cls, loss: Loss, *, compared: bool = False) -> float:
        """Factor by which an excess bound exceeds the excess on typical tables, for a loss.

        Calibrated on simulated tables (benchmarks/README.md, benchmarks/rule.py). ``compared``:
        with other mechanisms.
        """
        return 1.0 if loss.link == "identity" else cls.traits.looseness

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Mechanism set up for a plan, with the caller's patience and the range of the loss."""
        return cls(plan)  # type: ignore[call-arg]

    def guarantee(self, plan: Plan) -> Guarantee:
        """Guarantee of all draws of the plan, proved for the code that runs."""
        raise NotImplementedError

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of draws without end."""
        raise NotImplementedError


@dataclass(frozen=True)
class Draws:
    """Draws from one target, and the work that they took."""

    coef: FloatArray  # (k, p): models, rounded to the public grid of 2⁻²⁰
    losses: FloatArray  # (k,): losses of the models as drawn (curator)
    acceptance: float  # accepted draws per model whose loss was evaluated (curator)
    region: CutEllipsoid | None = None  # released with them, included in the privacy cost

    def first(self, count: int) -> Draws:
        """Keep the first ``count`` draws."""
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
    with one_blas_thread():
        return _collected(sampler, target, n_draws, rng, report)


def _collected(
    sampler: Sampler,
    target: GibbsTarget,
    n_draws: int,
    rng: np.random.Generator,
    report: Callable[[Draws], bool] | None,
) -> Draws:
    coef = np.empty((0, target.problem.p))
    losses = np.empty(0)
    accepted = evaluated = 0
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
