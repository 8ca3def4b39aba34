"""Minimisers of a randomly tilted objective: they always come, of pure DP too."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from rashomon_explorer.cores import pause
from rashomon_explorer.losses import Loss
from rashomon_explorer.losses.clipped_pull import clipped
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.tilted import TiltedPlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.samplers.base import Batch
from rashomon_explorer.samplers.ellipsoid.sampler import CERTIFIED
from rashomon_explorer.samplers.radial_noise import radial_noise
from rashomon_explorer.samplers.tilting import Followed, tilted_minimiser
from rashomon_explorer.samplers.traits import Traits
from rashomon_explorer.target import GibbsTarget

_ROUNDING = "the noise is that of doubles, rounded to public grids (docs/floating-point.md)"


@dataclass(frozen=True)
class ObjectivePerturbationSampler:
    """Draws θ = argmin of mean loss + ½m‖θ‖² + b·θ over the ball, b random, and a little noise.

    For one good model, by pure DP or with a Gaussian b: nothing is refused, whatever the rows, so
    that a draw takes a dozen looks at them. Where the plan says so, the loss that is followed has
    its slopes clipped.

    Parameters
    ----------
    plan : TiltedPlan
        From :func:`rashomon_explorer.planning.tilted.plan_tilted`.

    Raises
    ------
    TypeError
        If the plan is for other draws.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.5], [-0.5]] * 500, [1, 0] * 500
    >>> asked = RashomonClassifier(sampler="objective_perturbation", delta=0.0, random_state=0)
    >>> bool(asked.fit(X, y).encoded_coef_[0, 0] > 0), asked.guarantee_.epsilon(0.0)
    (True, 1.0)
    """

    name: ClassVar[str] = "objective_perturbation"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="minimisers of tilted objectives, which have no temperature",
        mechanism="objective_perturbation",
        weighed=True,
    )

    plan: Plan

    def __post_init__(self) -> None:
        """Refuse a plan that says nothing about a tilt."""
        if not isinstance(self.plan, TiltedPlan):
            raise TypeError("these draws need a TiltedPlan: make it with plan_tilted")

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Make the draws of this plan, which always come."""
        return cls(plan)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's own; that the solver came near enough is among its assumptions."""
        held = plan.guarantee
        return replace(held, assumptions=(*held.assumptions, _ROUNDING, CERTIFIED))

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Endless batches of one draw.

        Raises
        ------
        SamplerError
            If rounding keeps a minimum from being certified as closely as the noise allows for.
        """
        planned = self.plan
        assert isinstance(planned, TiltedPlan)
        problem = Followed(target.problem, _followed(target, planned), planned.tilt_ridge)
        while True:
            tilt = radial_noise(problem.p, planned.tilt, rng, gaussian=planned.gaussian)
            blur = radial_noise(problem.p, planned.blur, rng, gaussian=planned.gaussian)
            near = tilted_minimiser(problem, tilt, planned.solver) + blur
            theta = problem.domain.project(near[:, None])
            yield Batch(theta, target.problem.value(theta), evaluated=1)
            pause()


def _followed(target: GibbsTarget, planned: TiltedPlan) -> Loss:
    whole = target.problem.loss
    found = whole if math.isinf(planned.most) else clipped(whole, planned.most)
    if found is None:
        raise ValueError(f"{whole.name} loss has no form with a clipped slope")
    return found
