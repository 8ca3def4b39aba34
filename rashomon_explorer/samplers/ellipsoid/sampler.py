"""Uniform models of a private ellipsoid: one payment, any number of draws."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from rashomon_explorer.cores import pause
from rashomon_explorer.domains.ellipsoid import CutEllipsoid
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.ellipsoid import EllipsoidPlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.samplers.base import Batch
from rashomon_explorer.samplers.ellipsoid.centre import Released, released_centre
from rashomon_explorer.samplers.ellipsoid.hessian import lifted, released_hessian
from rashomon_explorer.samplers.traits import Traits
from rashomon_explorer.target import GibbsTarget

_CELLS_AT_ONCE = 2**24  # rows × models evaluated between two looks at the Stop button
CERTIFIED = (
    "the minimum was certified as closely as the noise allows for: where it is not, an error tells "
    "something of the rows"
)
"""What a guarantee assumes that counts on a solver."""

ROUNDING = "the Gaussian noise is that of doubles, rounded to public grids (docs/floating-point.md)"
"""What a guarantee of Gaussian noise assumes."""


@dataclass(frozen=True)
class EllipsoidSampler:
    """Models near a private centre, in the metric of a private Hessian.

    Centre and Hessian are released once, by Gaussian noise; every draw is made of these two and of
    public numbers, so that the price is the same for one draw and for a million, at any number of
    columns. Given the two, draws are independent and uniform on the ellipsoid where it lies in the
    ball; in which part of it they lie in the Rashomon set the plan promises where it can.

    Parameters
    ----------
    plan : EllipsoidPlan
        From :func:`rashomon_explorer.planning.plan_ellipsoid`.

    Raises
    ------
    TypeError
        If the plan is for other draws.

    Examples
    --------
    >>> from rashomon_explorer.planning.ellipsoid import plan_ellipsoid
    >>> from rashomon_explorer.problem import Problem
    >>> from rashomon_explorer.samplers.collect import collect
    >>> problem = Problem([[0.5], [-0.5]] * 4_000, [1, -1] * 4_000, ridge=0.1)
    >>> public = {"radius": 4.0, "row_norm": problem.row_bound, "ridge": 0.1}
    >>> plan = plan_ellipsoid(8_000, 2, 0.02, **public, epsilon=1.0, delta=1e-6)
    >>> target = GibbsTarget.of(problem, plan)
    >>> draws = collect(EllipsoidSampler(plan), target, 300, np.random.default_rng(0))
    >>> draws.coef.shape, bool((draws.losses <= problem.minimum.value + 0.02).all())
    ((300, 2), True)
    """

    name: ClassVar[str] = "ellipsoid"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="uniform models of a released ellipsoid, which have no temperature",
        mechanism="ellipsoid",
        weighed=True,
    )

    plan: Plan

    def __post_init__(self) -> None:
        """Refuse a plan that says nothing about a centre."""
        if not isinstance(self.plan, EllipsoidPlan):
            raise TypeError("an ellipsoid needs an EllipsoidPlan: make it with plan_ellipsoid")

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Release the ellipsoid of this plan; draws of it always come."""
        return cls(plan)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's own, of centre and Hessian; draws add nothing."""
        held = plan.guarantee
        solved = isinstance(plan, EllipsoidPlan) and plan.centre.name == "output"
        return replace(
            held, assumptions=(*held.assumptions, ROUNDING, *([CERTIFIED] if solved else []))
        )

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Empty batches until the ellipsoid is there, then endless ones of its models.

        Every batch from then on bears the ellipsoid as its ``region``.

        Raises
        ------
        SamplerError
            If the minimum cannot be certified, where the plan's centre is the noisy minimiser.
        """
        none = np.empty((target.problem.p, 0))
        region = None
        for region in self.released(target, rng):
            yield Batch(none, np.empty(0), evaluated=int(region is None), region=region)
            pause()  # or a dashboard's event loop starves
        assert region is not None
        size = int(np.clip(_CELLS_AT_ONCE // target.problem.n, 16, 1024))
        for theta in region.batches(min(size, self.plan.n_draws), rng):
            losses = target.problem.value(theta) if theta.shape[1] else np.empty(0)
            yield Batch(theta, losses, evaluated=theta.shape[1], region=region)
            pause()

    def released(
        self, target: GibbsTarget, rng: np.random.Generator
    ) -> Iterator[CutEllipsoid | None]:
        """Yield None while at work, and at the end the ellipsoid that was paid for."""
        assert isinstance(self.plan, EllipsoidPlan)
        centre: Released | None = None
        for found in released_centre(target.problem, self.plan.centre, rng):
            centre = found
            yield None
        assert centre is not None
        noisy = released_hessian(target.problem, centre.theta, self.plan, rng)
        matrix, level = lifted(noisy, self.plan), self.plan.margin * self.plan.psi
        radius = float(target.problem.domain.radius)
        yield CutEllipsoid.under(centre.theta, centre.multiplier, matrix, level, radius)
