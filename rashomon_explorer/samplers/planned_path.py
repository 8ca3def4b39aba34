"""Langevin chains as a plan has them: a draw is the time average of one."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rashomon_explorer.planning import PathPlan, Plan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.samplers.base import Batch
from rashomon_explorer.samplers.langevin import LangevinSampler
from rashomon_explorer.samplers.traits import Traits
from rashomon_explorer.target import GibbsTarget

_SECONDS_BETWEEN_LOOKS = 0.1  # at the Stop button


@dataclass(frozen=True)
class PlannedPath:
    """The time average of each of the plan's chains; the price is that of all their states.

    It is the average of the states θ₀, …, θ_{N−1} that the plan's ``excess_bound`` is for, made
    from the path alone: averaging costs nothing, and of a single state nothing is promised.

    Parameters
    ----------
    plan : PathPlan
        From :func:`rashomon_explorer.planning.plan_path`.

    Raises
    ------
    TypeError
        If the plan is for draws without chains.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan_path
    >>> from rashomon_explorer.problem import Problem
    >>> problem = Problem([[0.5], [-0.5]] * 4_000, [1, -1] * 4_000, radius=1.0)
    >>> budget = {"epsilon": 20.0, "delta": 1e-6, "n_draws": 3, "max_steps": 100}
    >>> plan = plan_path(8_000, 2, 0.1, radius=1.0, row_norm=problem.row_bound, **budget)
    >>> target = GibbsTarget(problem, plan.beta, plan.psi, plan.threshold)
    >>> batches = list(PlannedPath(plan).batches(target, np.random.default_rng(0)))
    >>> batches[-1].theta.shape
    (2, 3)
    """

    name: ClassVar[str] = "langevin"
    traits: ClassVar[Traits] = Traits(independent=True, mechanism="path")

    plan: Plan

    def __post_init__(self) -> None:
        """Refuse a plan that says nothing about steps."""
        if not isinstance(self.plan, PathPlan):
            raise TypeError("Langevin chains need a PathPlan: make it with plan_path")

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Run the chains of this plan, which always end."""
        return cls(plan)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's own: all states of all its chains."""
        return plan.guarantee

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Empty batches on the way, for a caller that may stop, and all chains at the end.

        Raises
        ------
        ValueError
            If the step is too large for the chain to be stable.
        """
        assert isinstance(self.plan, PathPlan)
        chains = self.plan.n_draws
        sampler = LangevinSampler(self.plan.step_size, self.plan.n_steps, n_chains=chains)
        looked = time.perf_counter()
        for average in sampler.averages(target, rng):
            if time.perf_counter() - looked > _SECONDS_BETWEEN_LOOKS:
                yield Batch(average[:, :0], np.empty(0), evaluated=0)
                looked = time.perf_counter()
        evaluated = chains * (self.plan.n_steps + 1)
        yield Batch(average, target.problem.value(average), evaluated=evaluated)
