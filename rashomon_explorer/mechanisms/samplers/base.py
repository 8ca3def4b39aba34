"""Samplers, their traits, and draws collected from them."""

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
from rashomon_explorer.problem.domains.ellipsoid import CutEllipsoid


@dataclass(frozen=True)
class Traits:
    """What is true of the draws of a sampler; by default nothing is.

    Parameters
    ----------
    independent : bool, default=False
        Draws of one run are independent, in their order.
    n_chains : int, default=0
        Chains of which draws are states, one of each in turn, where the sampler's own number of
        them runs; 0 where no two draws are states of one chain.
    planned_law : bool, default=False
        Each draw has exactly the law that a plan's bounds and certificates are of.
    unplanned : str, default=""
        Where it has another: whose draws a plan's bounds are of, and what these are.
    uniform_on : {"", "ball", "grid"}, default=""
        Models of which those inside the Rashomon set are taken to be equally likely; "" where
        nothing is said of them.
    stays_inside : bool, default=False
        No draw lies outside the Rashomon set.
    may_give_up : bool, default=False
        Draws may not come, however long one waits.
    mechanism : str, default=""
        Key in :data:`rashomon_explorer.mechanisms.MECHANISMS` of the plan that it carries
        out.
    weighed : bool, default=False
        ``sampler="auto"`` weighs it against the others.
    curator_only : bool, default=False
        It reads the rows without noise, so that nothing is charged and nothing may be released.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.samplers.registry import traits_of
    >>> traits_of("exact").independent, traits_of("made elsewhere") == Traits()
    (True, True)
    """

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
        """Whether one can say which draws depend on each other."""
        return self.independent or self.n_chains > 0


@dataclass(frozen=True)
class Batch:
    """Some draws, perhaps none, and the work they took.

    Parameters
    ----------
    theta : ndarray of shape (p, k)
        Draws, one a column.
    losses : ndarray of shape (k,)
        Their losses (curator).
    evaluated : int
        Models whose loss was evaluated on the rows for this batch (curator).
    region : CutEllipsoid, optional
        What was released beside the draws, under the same guarantee, and they were drawn from.
    """

    theta: FloatArray
    losses: FloatArray
    evaluated: int
    region: CutEllipsoid | None = None


class Sampler(Protocol):
    """A way to draw models from a target.

    A batch is a short piece of work (a tenth of a second or so), so that its caller can stop
    or report between batches; ``batches`` gives up the GIL once a batch.
    """

    name: ClassVar[str]

    def guarantee(self, plan: Plan) -> Guarantee:
        """Privacy of all the plan's draws, proved for the code that runs."""
        ...

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Endless batches of draws."""
        ...


class PlannedSampler(Sampler, Protocol):
    """A sampler that carries out a plan, and says what is true of its draws."""

    traits: ClassVar[Traits]

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Sampler of a plan's draws.

        Parameters
        ----------
        plan : Plan
        patience : int, optional
            Refused proposals in a row after which it may give up, where it may at all.
        spread : float, optional
            Public upper bound of max − min of the loss over the domain.
        """
        ...


_GRID = 2.0**20


@dataclass(frozen=True)
class Draws:
    """Draws of one target, and the work they took."""

    coef: FloatArray  # (k, p): models, rounded to the public grid of 2⁻²⁰
    losses: FloatArray  # (k,): losses of the models as drawn (curator)
    acceptance: float  # draws accepted for each model whose loss was evaluated (curator)
    region: CutEllipsoid | None = None  # what was released beside them, for the same price

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
    """Take the first ``n_draws`` draws of a sampler.

    ``report`` is called with the draws so far after each batch; returning True stops early.

    >>> from rashomon_explorer.problem.problem import Problem
    >>> from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
    >>> target = GibbsTarget(Problem([[0.5], [-0.5]], [1, -1]), beta=20.0, psi=0.1)
    >>> collect(ExactSampler(), target, 3, np.random.default_rng(0)).coef.shape
    (3, 2)
    """
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
    """Round to multiples of 2⁻²⁰: the last bits of a double can betray the noise that made it.

    Examples
    --------
    >>> float(to_public_grid(np.array([1 / 3]))[0]) * 2**20
    349525.0
    """
    return np.round(theta * _GRID) / _GRID + 0.0  # −0.0 and 0.0 are one output
