"""Exact draws on a private ellipsoid: two stages, and no bound of what lies far away."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from rashomon_explorer._utils.threads import pause
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import EllipsoidExactPlan
from rashomon_explorer.mechanisms.ellipsoid.sampler import CERTIFIED, ROUNDING, EllipsoidSampler
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.rejection.candidates import accept
from rashomon_explorer.mechanisms.samplers.base import Batch, Traits
from rashomon_explorer.mechanisms.samplers.exponential import patience_for
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee

_CELLS_AT_ONCE = 2**24  # rows × models evaluated between two looks at the Stop button


@dataclass(frozen=True)
class EllipsoidExactSampler:
    """Exact draws from the thresholded Gibbs law on an ellipsoid that was released before."""

    name: ClassVar[str] = "ellipsoid_exact"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="exact draws on a released ellipsoid, which is a part of the ball",
        may_give_up=True,
        mechanism="ellipsoid_exact",
        weighed=True,
    )

    plan: Plan
    patience: int | None = 5_000_000

    def __post_init__(self) -> None:
        """Refuse a plan that says nothing about two stages, and a patience that is none."""
        if not isinstance(self.plan, EllipsoidExactPlan):
            raise TypeError("two stages need an EllipsoidExactPlan: use plan_ellipsoid_exact")
        if self.patience is not None and not self.patience >= 1:
            raise ValueError(f"patience must be at least 1, or None, got {self.patience!r}")

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Release the ellipsoid of this plan, and give up as the caller wants."""
        return cls(plan, patience)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's own, of the ellipsoid and of the draws; they may give up."""
        held = plan.guarantee
        stated = (ROUNDING, CERTIFIED, self._giving_up(plan.p))
        return replace(held, assumptions=(*held.assumptions, *stated))

    def first(self) -> EllipsoidSampler:
        """Return the sampler that releases the ellipsoid."""
        return EllipsoidSampler(self.plan)

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Empty batches until the ellipsoid is there, then endless ones of draws on it."""
        none = np.empty((target.problem.p, 0))
        region = None
        for region in self.first().released(target, rng):
            yield Batch(none, np.empty(0), evaluated=0, region=region)
            pause()  # or a dashboard's event loop starves
        assert region is not None
        size = int(np.clip(_CELLS_AT_ONCE // target.problem.n, 16, 1024))
        refused, patience = 0, patience_for(target.problem.p, self.patience or 2**62)
        for theta in region.batches(size, rng):
            losses = target.problem.value(theta) if theta.shape[1] else np.empty(0)
            # A model may lie below the numerical minimum, by no more than its certified gap.
            excess = np.maximum(losses - target.problem.minimum.value, 0.0)
            keep = accept(-target.energy(excess), rng)
            if region.level == 0:  # at ψ = 0 the ellipsoid is one model, and so is the law on it
                keep[:] = True
            refused = 0 if keep.any() else refused + len(losses)
            if self.patience is not None and refused > patience:
                raise SamplerError(_hopeless(target, refused))
            yield Batch(theta[:, keep], losses[keep], evaluated=len(losses), region=region)
            pause()

    def _giving_up(self, p: int) -> str:
        if self.patience is None:
            return "draws on the ellipsoid never give up; nothing is promised of how long they take"
        return (
            f"draws on the ellipsoid did not give up (after {patience_for(p, self.patience):,} "
            "proposals; no useful bound of the probability is known)"
        )


def _hopeless(target: GibbsTarget, refused: int) -> str:
    return (
        f"none of {refused:,} models of the ellipsoid was accepted (n={target.problem.n}, "
        f"p={target.problem.p}, β={target.beta:.3g}, ψ={target.psi:.3g}): the private centre is "
        'too far from the best model here. Use sampler="ellipsoid", which always answers, more '
        "ridge, a larger ε or a smaller radius. The privacy cost of this run stays spent."
    )
