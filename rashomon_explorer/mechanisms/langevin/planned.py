"""Paths that follow a plan."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, to_host
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.mechanisms.bounds.excess import accelerated_share
from rashomon_explorer.mechanisms.langevin.gradients import drift_for
from rashomon_explorer.mechanisms.langevin.gradients.base import Drift
from rashomon_explorer.mechanisms.langevin.gradients.clipped import ClippedDrift
from rashomon_explorer.mechanisms.langevin.plan import ClippedPathPlan, PathPlan
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.samplers.base import Batch, Traits
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee

_SECONDS_BETWEEN_LOOKS = 0.1  # at the Stop button
_SECONDS_BETWEEN_RESTS = 5e-3


@dataclass(frozen=True)
class PlannedPath:
    """The weighted average of each of the plan's chains; the price is that of all their states."""

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
        """Empty batches on the way, for a caller that may stop, and all chains at the end."""
        looked = rested = time.perf_counter()
        for _, average in self.states(target, rng):
            if time.perf_counter() - looked > _SECONDS_BETWEEN_LOOKS:
                yield Batch(to_host(average[:, :0]), np.empty(0), evaluated=0)
                looked = time.perf_counter()
            if time.perf_counter() - rested > _SECONDS_BETWEEN_RESTS:
                pause()  # or a dashboard's event loop starves
                rested = time.perf_counter()
        assert isinstance(self.plan, PathPlan)
        evaluated = self.plan.n_draws * (self.plan.n_steps + 1)
        losses = target.problem.value(average)
        yield Batch(to_host(average), to_host(losses), evaluated=evaluated)

    def states(
        self, target: GibbsTarget, rng: np.random.Generator
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """States z and averages x (p, n_draws) of all chains after each step."""
        assert isinstance(self.plan, PathPlan)
        steps, mean_time = self.plan.n_steps, self.plan.step_size
        drift = self._drift(target)
        _check_stable(drift, self.plan)
        gradient = drift.run(rng)
        arrays, shape = drift.arrays, (drift.p, self.plan.n_draws)
        state = drift.project(arrays.put(np.zeros(shape)))
        average = state
        for t in progress(range(1, steps + 1), "steps"):
            taken, share = 2 * mean_time * t / (steps + 1), 2 / (t + 1)
            ahead = average + share * (state - average)
            noise = arrays.put(np.sqrt(2 * taken) * rng.standard_normal(shape))
            state = drift.project(state + noise - taken * gradient(ahead))
            average = average + share * (state - average)
            yield state, average

    def _drift(self, target: GibbsTarget) -> Drift:
        """Gradient that the chains follow."""
        return drift_for(target, batch_size=None, precision="double", lazy=True)


def _check_stable(drift: Drift, plan: PathPlan) -> None:
    smoothness = 2 / (drift.beta * drift.largest_step)
    reached = drift.beta * plan.step_size * plan.n_steps
    if not accelerated_share(smoothness, reached, plan.n_steps) < 1:
        raise ValueError(
            f"{plan.n_steps} steps of {plan.step_size:.3g} are too few for the chains to be "
            "stable on this target: plan for its own n, p, loss, radius and row_norm"
        )


@dataclass(frozen=True)
class LangevinAverageSampler(PlannedPath):
    """Averages of chains that follow exp(−βL), whatever ψ the set has; they always end.

    Parameters
    ----------
    plan : PathPlan
        From the mechanism ``"path_average"``.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.5], [-0.5]] * 5_000, [1, 0] * 5_000
    >>> asked = RashomonClassifier(sampler="langevin_average", epsilon=4.0, delta=1e-6, n_draws=1)
    >>> fitted = asked.fit(X, y)
    >>> fitted.plan_.psi, fitted.plan_.drawn_psi
    (0.02, 0.0)
    """

    name: ClassVar[str] = "langevin_average"
    traits: ClassVar[Traits] = Traits(independent=True, mechanism="path_average", weighed=True)


@dataclass(frozen=True)
class LangevinClipped(PlannedPath):
    """Averages of chains that follow the loss with every row's slope clipped; they always end."""

    name: ClassVar[str] = "langevin_clipped"
    traits: ClassVar[Traits] = Traits(independent=True, mechanism="path_clipped", weighed=True)

    def __post_init__(self) -> None:
        """Refuse a plan of chains that follow another gradient."""
        if not isinstance(self.plan, ClippedPathPlan):
            raise TypeError("these chains need a ClippedPathPlan: make it with plan_clipped_path")

    def _drift(self, target: GibbsTarget) -> Drift:
        assert isinstance(self.plan, ClippedPathPlan)
        return ClippedDrift(target, self.plan.most)
