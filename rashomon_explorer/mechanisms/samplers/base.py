"""Protocols of samplers, their properties, and collected draws."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.domains import CutEllipsoid


@dataclass(frozen=True)
class Traits:
    """Properties of a sampler's draws; by default none holds."""

    independent: bool = False
    n_chains: int = 0
    planned_law: bool = False
    unplanned: str = ""
    uniform_on: str = ""
    stays_inside: bool = False
    may_give_up: bool = False
    mechanism: str = ""
    weighed: bool = False
    curator_only: bool = False

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
    """Protocol of a sampler of models from a target."""

    name: ClassVar[str]

    def guarantee(self, plan: Plan) -> Guarantee:
        """Privacy guarantee of all draws of the plan, proved for the code that runs."""
        ...

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of draws without end."""
        ...


class PlannedSampler(Sampler, Protocol):
    """Protocol of a sampler that carries out a plan and declares properties of its draws."""

    traits: ClassVar[Traits]

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Create the sampler for a plan."""
        ...


_GRID = 2.0**20


@dataclass(frozen=True)
class Draws:
    """Draws from one target, and the work that they took."""

    coef: FloatArray  # (k, p): models, rounded to the public grid of 2⁻²⁰
    losses: FloatArray  # (k,): losses of the models as drawn (curator)
    acceptance: float  # accepted draws per model whose loss was evaluated (curator)
    region: CutEllipsoid | None = None  # released with them, included in the privacy cost

    def first(self, count: int) -> "Draws":
        """Keep the first ``count`` draws."""
        return replace(self, coef=self.coef[:count], losses=self.losses[:count])


def collect(
    sampler: Sampler,
    target: GibbsTarget,
    n_draws: int,
    rng: np.random.Generator,
    report: Callable[[Draws], bool] | None = None,
) -> Draws:
    """Take the first ``n_draws`` draws of a sampler."""
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
    raise AssertionError("a sampler's batches never end")


def to_public_grid(theta: FloatArray) -> FloatArray:
    """Round to multiples of 2⁻²⁰: the last bits of a double can reveal the noise in it."""
    return np.round(theta * _GRID) / _GRID + 0.0  # −0.0 and 0.0 are one output
