"""Exact draws from a law on finitely many points."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.randomness import IntegerLaw
from rashomon_explorer._utils.threads import pause
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import Batch, Traits
from rashomon_explorer.mechanisms.exact import Exact, plan_law
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget

MOST_POINTS = 2**22  # with 40 bits per weight, sums of weights stay below 2⁶³
_PER_RADIUS = {1: 1024, 2: 64, 3: 16}  # spacings per radius: 2 thousand to 36 thousand points
_CELLS_AT_ONCE = 2**22  # rows × models evaluated between two checks of the Stop button
_FEWEST, _MOST = 16, 4096
_DRAWS_AT_ONCE = 512


class BoundedRegion(Protocol):
    """A set of models within a public distance of the origin."""

    @property
    def radius(self) -> float:
        """Bound on every |θ_j|."""
        ...

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in the set; shape (K,)."""
        ...


class Landscape(Protocol):
    """A function of models on a region; it need be neither convex nor smooth."""

    @property
    def p(self) -> int:
        """Number of parameters."""
        ...

    @property
    def domain(self) -> BoundedRegion: ...

    def value(self, theta: FloatArray) -> FloatArray:
        """Loss (K,) of each column of ``theta`` (p, K)."""
        ...


class GridTarget(Protocol):
    """Target of the grid sampler: a :class:`GibbsTarget`, or a similar law on a landscape."""

    @property
    def problem(self) -> Landscape:
        """The function that is thresholded."""
        ...

    def energy(self, excess: FloatArray) -> FloatArray:
        """β·energy at losses above the minimum: nondecreasing, β-Lipschitz, 0 up to ψ."""
        ...


@dataclass(frozen=True)
class FiniteGridSampler:
    """The exponential mechanism on a public grid Γ, thresholded at the grid's own minimum.

    A point θ of Γ is drawn with probability ∝ exp(−β·energy(L(θ) − min_Γ L − ψ)). This needs no
    solver, so L may have many minima, and no convergence of a chain. It supports at most three
    parameters.

    Parameters
    ----------
    spacing : float, optional
        Distance of neighbouring points along an axis, in units of a coefficient; a public
        setting. By default the radius over 1024, 64 or 16 for one, two or three parameters.
    most_points : int, default=2**18
        Largest number of points of the cube around the models, at most 2²²; also public.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Notes
    -----
    *Privacy cost.* For neighbours D, D' the difference L_D − L_D' has a range [a, b] on Γ ⊂ C with
    b − a ≤ osc, a supremum over fewer points. The minima over Γ differ by some c in [a, b], so
    that the excesses differ by values of [a − c, b − c], an interval that contains 0; a
    nondecreasing 1-Lipschitz function (the threshold, and the cap of the energies at 255·log 2)
    keeps differences inside it. The log ratio of the unnormalised laws ranges over at most
    η = β·osc, and with it that of the laws, as in Theorem 2.1 of Ganesh, Thakurta and Upadhyay
    (2023): each draw is η-bounded-range and η-DP for every ψ, without a term for a solver's gap.

    *Rounding.* Weights are integers m·2^{−k} with m < 2⁴⁰ and points are drawn from their exact
    sum with uniform bits, so that no probability is rounded to 0 and drawing adds no error. The
    losses have errors of at most τ, and the weights a factor of 1 ± 2⁻³⁹, so the log ratio ranges
    over at most β(osc + 4τ) + 2⁻³⁷. Plans charge β(osc + 2·10⁻⁶·osc) for a solver's gap that is
    absent here. This covers the rounding for η ≥ 10⁻⁵ and τ ≤ 2·10⁻⁷·osc; a mean of n terms of
    order one has an error of about 10⁻¹⁴.

    *Limits.* The plan's hit rate and excess bound hold for the law on all of C; on the grid
    they hold up to its spacing. Running time is not covered.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> from rashomon_explorer.mechanisms.base import collect
    >>> from rashomon_explorer.mechanisms.target import GibbsTarget
    >>> target = GibbsTarget(Problem([[0.5], [-0.5]], [1, -1]), beta=20.0, psi=0.1)
    >>> draws = collect(FiniteGridSampler(spacing=0.25), target, 3, np.random.default_rng(0))
    >>> (draws.coef % 0.25).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """

    name: ClassVar[str] = "finite_grid"

    spacing: float | None = None
    most_points: int = 2**18

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.spacing is not None:
            check_positive(spacing=self.spacing)
        if not 1 <= self.most_points <= MOST_POINTS:
            raise ValueError(f"most_points must be in [1, 2**22], got {self.most_points!r}")

    def batches(self, target: GridTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of independent exact draws; empty while the grid is evaluated.

        Raises
        ------
        SamplerError
            If there are more than three parameters or too many points, no point lies in the
            domain, or a loss is not finite.
        """
        points = self.points(target.problem.p, target.problem.domain)
        parts = []
        for block in _blocks(points, rows=getattr(target.problem, "n", 1)):
            parts.append(_checked(target.problem.value(block), block))
            yield Batch(points[:, :0], np.empty(0), evaluated=block.shape[1])
            pause()  # lets a dashboard's event loop run
        losses = np.concatenate(parts)
        law = IntegerLaw(target.energy(losses - losses.min()))
        while True:
            indices = law.draw(_DRAWS_AT_ONCE, rng)
            yield Batch(points[:, indices], losses[indices], evaluated=0)
            pause()

    def points(self, p: int, domain: BoundedRegion) -> FloatArray:
        """Points (p, N) of the grid: multiples of the spacing that lie in the domain.

        Raises
        ------
        SamplerError
            If there are more than three parameters or too many points, or none lies in the
            domain.
        """
        _check_few(p)
        spacing = domain.radius / _PER_RADIUS[p] if self.spacing is None else self.spacing
        # A radius that is a multiple of the spacing may miss it by an ulp; the clip corrects this.
        each_side = math.floor(domain.radius / spacing * (1 + 1e-12))
        count = (2 * each_side + 1) ** p
        if count > self.most_points:
            raise SamplerError(
                f"spacing {spacing:.3g} makes {count:,} points for {p} parameters within "
                f"{domain.radius:g}, more than most_points={self.most_points:,}: use a spacing "
                f"of {2 * domain.radius / (self.most_points ** (1 / p) - 1):.3g} or more"
            )
        axis = spacing * np.arange(-each_side, each_side + 1, dtype=float)
        axis = np.clip(axis, -domain.radius, domain.radius)
        cube = np.stack(np.meshgrid(*[axis] * p, indexing="ij")).reshape(p, -1)
        points = cube[:, domain.contains(cube)]
        if points.shape[1] == 0:
            raise SamplerError(
                f"no multiple of spacing {spacing:.3g} lies in the domain: use a smaller spacing"
            )
        return points


def _check_few(p: int) -> None:
    if p > max(_PER_RADIUS):
        raise SamplerError(
            f"a finite grid supports at most {max(_PER_RADIUS)} parameters, got {p} (an "
            "intercept counts): use fewer columns or the 'exact' sampler"
        )


def _blocks(points: FloatArray, rows: int) -> Iterator[FloatArray]:
    size = int(np.clip(_CELLS_AT_ONCE // rows, _FEWEST, _MOST))
    for low in range(0, points.shape[1], size):
        yield points[:, low : low + size]


def _checked(losses: FloatArray, block: FloatArray) -> FloatArray:
    if not np.isfinite(losses).all():
        place = int(np.flatnonzero(~np.isfinite(losses))[0])
        raise SamplerError(
            f"the loss at {block[:, place].tolist()} is {losses[place]}: it must be finite on the "
            "whole domain"
        )
    return losses


class FiniteGrid(Exact):
    """Exact draws from the exponential mechanism on a public grid of at most three parameters."""

    name: ClassVar[str] = "finite_grid"
    summary: ClassVar[str] = "an exact draw from a public grid"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="guaranteed for draws from the ball; these are exact on a grid in it",
        uniform_on="grid",
    )

    def why_unsupported(self, request: Request) -> str:
        few = max(_PER_RADIUS)
        if request.p <= few:
            return ""
        return f"supports at most {few} parameters, got {request.p} (an intercept counts)"

    def plan_supported(self, request: Request) -> Plan:
        planned = plan_law(request)
        stated = (*planned.guarantee.assumptions, "draws on a grid never give up")
        guarantee = replace(planned.guarantee, assumptions=stated)
        return replace(planned, mechanism=self.name, guarantee=guarantee)

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        return FiniteGridSampler().batches(target, rng)
