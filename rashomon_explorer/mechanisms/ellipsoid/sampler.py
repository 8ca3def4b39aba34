"""Release of a private centre and Hessian, and draws around them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self, cast

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits, to_public_grid
from rashomon_explorer.mechanisms.ellipsoid import exact_plan
from rashomon_explorer.mechanisms.ellipsoid.plan import EllipsoidPlan, plan_ellipsoid
from rashomon_explorer.mechanisms.noisy_descent import (
    Schedule,
    Step,
    newest_shares,
    noisy_descent,
    watched,
)
from rashomon_explorer.mechanisms.planning.centres import Centre, average_weights
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.rejection.candidates import accept
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.samplers.exponential import patience_for
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem import minimisation
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.losses.chunked import is_kinked
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class ReleasedCentre:
    """A private centre (p,) in the ball, and an estimate of λ ≥ 0 with ∇L(θ) ≈ −λθ."""

    theta: FloatArray
    multiplier: float


def released_centre(
    problem: Problem, centre: Centre, rng: np.random.Generator
) -> Iterator[ReleasedCentre | None]:
    """Yield None while running, and the private centre at the end."""
    if centre.name == "output":
        noise = centre.noise * rng.standard_normal(problem.p)
        model = _in_domain(problem, certified_minimiser(problem, centre.solver) + noise)
        yield ReleasedCentre(model, 0.0)
        return
    schedule, slope, cut = centre_schedule(centre, problem.constants), np.zeros((problem.p, 1)), 0.0
    assert schedule.shares is not None
    for share, step in zip(schedule.shares, centre_descent(problem, centre, rng), strict=True):
        slope = slope + share * (step.gradient - slope)
        cut += share * (float(np.linalg.norm(step.ahead - step.state)) - cut)
        yield None
    model = _in_domain(problem, step.average[:, 0])
    square = float(model @ model)
    if not schedule.momentum:
        multiplier = cut / centre.step_size / float(problem.domain.radius)
    elif cut > 0 and square > 0:
        multiplier = max(0.0, -float(slope[:, 0] @ model) / square)
    else:
        multiplier = 0.0
    yield ReleasedCentre(model, multiplier)


def _in_domain(problem: Problem, theta: FloatArray) -> FloatArray:
    """Model (p,) of the domain on the public grid, off which the projection may move it."""
    return problem.domain.project(to_public_grid(theta)[:, None])[:, 0]


def centre_schedule(centre: Centre, constants: Constants) -> Schedule:
    """Schedule of a centre's descent."""
    steps = centre.step_size, centre.noise, centre.n_steps
    if centre.name == "accelerated":
        return Schedule.accelerated(*steps)
    return Schedule.constant(*steps, newest_shares(average_weights(centre, constants)))


def centre_descent(
    problem: Problem, centre: Centre, rng: np.random.Generator, start: FloatArray | None = None
) -> Iterator[Step]:
    """Yield a centre's descent from a model (p,), 0 by default, in one column."""
    schedule = centre_schedule(centre, problem.constants)
    first = np.zeros(problem.p) if start is None else start
    steps = noisy_descent(
        problem.objective.gradient, problem.domain.project, first[:, None], schedule, rng
    )
    return watched(steps, problem, schedule)


def certified_minimiser(problem: Problem, distance: float) -> FloatArray:
    """Minimiser (p,) over the ball, certified to a distance under the problem's ridge."""
    return refined(problem, problem.minimum, problem.m * distance**2 / 2).theta


def refined(
    problem: Problem, known: minimisation.Minimum, tolerance: float
) -> minimisation.Minimum:
    """Minimum certified to ``tolerance``: the known one, or one found from there."""
    if known.gap <= tolerance:
        return known
    loss, domain = problem.evaluator().loss, problem.domain
    if is_kinked(loss):
        # Newton steps do not find a kink: they stopped on 24 of 25 ordinary tables.
        best = minimisation.minimise_kinked(loss, problem.ridge, domain, tolerance, known.theta)
    else:
        # A problem implements the value, gradient and Hessian of an objective.
        best = minimisation.minimise_on(
            cast(minimisation.MinimisedObjective, problem), domain, tolerance, known.theta
        )
    if best.gap > tolerance:
        raise SamplerError(
            f"the minimum could not be certified to a duality gap of {tolerance:.2e}: use more "
            "ridge or a larger epsilon"
        )
    return best


def released_hessian(
    problem: Problem, theta: FloatArray, planned: EllipsoidPlan, rng: np.random.Generator
) -> FloatArray:
    """Hessian (p, p) of the rows' mean loss at a released model, with symmetric Gaussian noise."""
    exact = problem.hessian(theta) - problem.ridge * np.eye(problem.p)
    noise = rng.standard_normal(exact.shape)
    noisy = (exact + exact.T) / 2 + planned.hessian_noise * (noise + noise.T) / 2
    return np.asarray(np.round(noisy / planned.grid) * planned.grid + 0.0)


def lifted(noisy: FloatArray, planned: EllipsoidPlan) -> FloatArray:
    """Matrix A = H̃ + sI + mI, with the eigenvalues of H̃ + sI raised to at least s/1000."""
    values, vectors = np.linalg.eigh(noisy)
    eigenvalues = np.maximum(values + planned.lift, planned.lift / 1000) + planned.ridge
    matrix = (vectors * eigenvalues) @ vectors.T
    return np.asarray((matrix + matrix.T) / 2)


_CELLS_AT_ONCE = 2**24  # rows × models evaluated between two checks of the Stop button
CERTIFIED = (
    "the minimum was certified to the accuracy that the noise covers: if it is not, an error "
    "reveals information about the rows"
)
"""Assumption of a guarantee that depends on a solver."""

ROUNDING = "the Gaussian noise is that of doubles, rounded to public grids (docs/floating-point.md)"
"""Assumption of a guarantee with Gaussian noise."""


@dataclass(frozen=True)
class EllipsoidSampler(Mechanism):
    """Models near a private centre, in the metric of a private Hessian."""

    name: ClassVar[str] = "ellipsoid"
    summary: ClassVar[str] = (
        "a uniform model of a private ellipsoid, one privacy cost for any number"
    )
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="uniform models of a released ellipsoid, which have no temperature",
        compared=True,
        around_centre=True,
        looseness=30.0,
    )

    plan: Plan

    def __post_init__(self) -> None:
        if not isinstance(self.plan, EllipsoidPlan):
            raise TypeError("an ellipsoid needs an EllipsoidPlan: make it with plan_ellipsoid")

    @classmethod
    def unsuited(cls, request: Request) -> str:
        """Decline pure DP, and losses without a Hessian."""
        if not request.delta > 0:
            return "needs delta > 0"
        return "" if math.isfinite(request.constants.M) else "the loss has kinks, and no Hessian"

    @classmethod
    def plan_for(cls, request: Request) -> EllipsoidPlan:
        """See :func:`plan_ellipsoid`."""
        return plan_ellipsoid(request)

    @classmethod
    def proof(cls, planned: EllipsoidPlan) -> str:
        """Return what is charged."""
        return "a centre and its Hessian are accounted for"

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's guarantee, of centre and Hessian; draws have no further cost."""
        guarantee = plan.guarantee
        solved = isinstance(plan, EllipsoidPlan) and plan.centre.name == "output"
        return replace(
            guarantee,
            assumptions=(*guarantee.assumptions, ROUNDING, *([CERTIFIED] if solved else [])),
        )

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield empty batches until the ellipsoid is released, then its models without end."""
        none = np.empty((target.problem.p, 0))
        region = None
        for region in self.released(target, rng):
            yield Batch(none, np.empty(0), evaluated=int(region is None), region=region)
            pause()  # lets a dashboard's event loop run
        assert region is not None
        size = int(np.clip(_CELLS_AT_ONCE // target.problem.n, 16, 1024))
        for theta in region.batches(min(size, self.plan.n_draws), rng):
            losses = target.problem.value(theta) if theta.shape[1] else np.empty(0)
            yield Batch(theta, losses, evaluated=theta.shape[1], region=region)
            pause()

    def released(
        self, target: GibbsTarget, rng: np.random.Generator
    ) -> Iterator[CutEllipsoid | None]:
        """Yield None while running, and the released ellipsoid at the end."""
        assert isinstance(self.plan, EllipsoidPlan)
        centre: ReleasedCentre | None = None
        for found in released_centre(target.problem, self.plan.centre, rng):
            centre = found
            yield None
        assert centre is not None
        noisy = released_hessian(target.problem, centre.theta, self.plan, rng)
        matrix, level = lifted(noisy, self.plan), self.plan.margin * self.plan.psi
        radius = float(target.problem.domain.radius)
        yield CutEllipsoid.under(centre.theta, centre.multiplier, matrix, level, radius)


@dataclass(frozen=True)
class EllipsoidExactSampler(EllipsoidSampler):
    """Exact draws from the thresholded Gibbs law on a released ellipsoid."""

    name: ClassVar[str] = "ellipsoid_exact"
    summary: ClassVar[str] = "an exact draw on a private ellipsoid"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="exact draws on a released ellipsoid, which is a part of the ball",
        may_give_up=True,
        compared=True,
        around_centre=True,
        looseness=30.0,
    )

    patience: int | None = 5_000_000

    def __post_init__(self) -> None:
        if not isinstance(self.plan, exact_plan.EllipsoidExactPlan):
            raise TypeError("two stages need an EllipsoidExactPlan: use plan_ellipsoid_exact")
        if self.patience is not None and not self.patience >= 1:
            raise ValueError(f"patience must be at least 1, or None, got {self.patience!r}")

    @classmethod
    def plan_for(cls, request: Request) -> exact_plan.EllipsoidExactPlan:
        """See :func:`plan_ellipsoid_exact`."""
        return exact_plan.plan_ellipsoid_exact(request)

    @classmethod
    def proof(cls, planned: EllipsoidPlan) -> str:
        """Return what is charged."""
        return "an ellipsoid and each draw on it are accounted for"

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Create the mechanism for this plan, with the caller's patience."""
        return cls(plan, patience)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's guarantee, of the ellipsoid and of the draws; they may give up."""
        guarantee = plan.guarantee
        stated = (ROUNDING, CERTIFIED, self._giving_up(plan.p))
        return replace(guarantee, assumptions=(*guarantee.assumptions, *stated))

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield empty batches until the ellipsoid is released, then draws on it without end."""
        none = np.empty((target.problem.p, 0))
        region = None
        for region in self.released(target, rng):
            yield Batch(none, np.empty(0), evaluated=0, region=region)
            pause()  # lets a dashboard's event loop run
        assert region is not None
        size = int(np.clip(_CELLS_AT_ONCE // target.problem.n, 16, 1024))
        refused, patience = 0, patience_for(target.problem.p, self.patience or 2**62)
        for theta in region.batches(size, rng):
            losses = target.problem.value(theta) if theta.shape[1] else np.empty(0)
            # A model may lie below the numerical minimum, by no more than its certified gap.
            excess = np.maximum(losses - target.problem.minimum.value, 0.0)
            keep = accept(-target.energy(excess), rng)
            if region.level == 0:  # at ψ = 0 the ellipsoid is a single model, and so is the law
                keep[:] = True
            refused = 0 if keep.any() else refused + len(losses)
            if self.patience is not None and refused > patience:
                raise SamplerError(_hopeless(target, refused))
            yield Batch(theta[:, keep], losses[keep], evaluated=len(losses), region=region)
            pause()

    def _giving_up(self, p: int) -> str:
        if self.patience is None:
            return "draws on the ellipsoid never give up; their running time has no bound"
        return (
            f"draws on the ellipsoid did not give up (after {patience_for(p, self.patience):,} "
            "proposals; no useful bound on the probability is known)"
        )


def _hopeless(target: GibbsTarget, refused: int) -> str:
    return (
        f"none of {refused:,} models of the ellipsoid was accepted (n={target.problem.n}, "
        f"p={target.problem.p}, β={target.beta:.3g}, ψ={target.psi:.3g}): the private centre is "
        'too far from the best model here. Use mechanism="ellipsoid", which never gives up, more '
        "ridge, a larger ε or a smaller radius. The privacy cost of this run stays spent."
    )
