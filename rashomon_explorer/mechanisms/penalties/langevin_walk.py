"""Noisy hypergradient walks over log penalties; every step is charged."""

from dataclasses import dataclass, replace

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler, Landscape
from rashomon_explorer.mechanisms.noisy_descent import Schedule, noisy_descent
from rashomon_explorer.mechanisms.penalties import landscape as landscapes
from rashomon_explorer.mechanisms.penalties.constants import PenaltyConstants
from rashomon_explorer.mechanisms.penalties.plan import MOST_PENALTIES
from rashomon_explorer.mechanisms.penalties.stationary import StationaryPlan


def gradient_mapping(
    landscape: landscapes.PenaltyLandscape, x: FloatArray, tolerance: float
) -> FloatArray:
    """Return x − P(x − ∇Φ(x)) (d,): ∇Φ inside the box, 0 where no descent stays in it."""
    reach = landscape.domain.radius
    return np.asarray(x - np.clip(x - landscape.gradient(x, tolerance), -reach, reach))


def known_at(
    known: PenaltyConstants, landscape: landscapes.PenaltyLandscape, x: FloatArray
) -> PenaltyConstants:
    """Constants at one point, with its lowest penalty in place of the lower bound."""
    lowest = float(landscape.box.penalties(x[:, None]).min())
    return replace(known, low=max(known.low, lowest))


def walk(
    landscape: landscapes.PenaltyLandscape,
    planned: StationaryPlan,
    start: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """States x_0 … x_{T−1} (d, T) of x ← P(x − (∇Φ(x) + N(0, σ²I))/β), all of them private.

    The start (d,) is public, or charged; the landscape has no clip. σ = Δ(x)/μ with the sensitivity
    at x, which is public because x was charged: each step is μ-Gaussian DP given previous states.
    """
    known, reach = planned.constants, landscape.domain.radius

    def gradient(x: FloatArray) -> FloatArray:
        tolerance = known_at(known, landscape, x[:, 0]).gradient_tolerance
        return landscape.gradient(x[:, 0], tolerance)[:, None]

    steps = noisy_descent(
        gradient,
        lambda x: np.clip(x, -reach, reach),
        start[:, None],
        Schedule.constant(1 / known.smoothness, 1 / planned.mu, planned.n_steps),
        rng,
        scale=lambda x: known_at(known, landscape, x[:, 0]).charged_slope,
    )
    return np.concatenate([step.at for step in steps], axis=1)


@dataclass(frozen=True)
class _DerivedLandscape:
    """A function on the cube of another landscape."""

    landscape: landscapes.PenaltyLandscape

    @property
    def p(self) -> int:
        """Number of penalties."""
        return self.landscape.p

    @property
    def n(self) -> int:
        """Number of training rows."""
        return self.landscape.n

    @property
    def domain(self) -> landscapes.Cube:
        """Domain of the log penalties."""
        return self.landscape.domain


@dataclass(frozen=True)
class GradientLandscape(_DerivedLandscape):
    """‖x − P(x − ∇Φ(x))‖ on the cube of log penalties: score of the gradient-norm mechanism."""

    tolerance: float

    def value(self, theta: FloatArray) -> FloatArray:
        """Norm (K,) of the gradient mapping at columns of ``theta`` (d, K)."""
        each = progress(theta.T, "slopes")
        found = [gradient_mapping(self.landscape, x, self.tolerance) for x in each]
        return np.linalg.norm(found, axis=1)


@dataclass(frozen=True)
class SharedPenalty(_DerivedLandscape):
    """A landscape along its diagonal, where all penalties are equal."""

    @property
    def p(self) -> int:
        """1, the shared penalty."""
        return 1

    def value(self, theta: FloatArray) -> FloatArray:
        """Φ (K,) at the shared log penalties ``theta`` (1, K)."""
        return self.landscape.value(np.repeat(theta, self.landscape.p, axis=0))


def drawn_where_level(
    landscape: landscapes.PenaltyLandscape, planned: StationaryPlan, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Draw log penalties (d, n_draws) as planned, with all states (n_draws, d, T), also charged.

    A draw from the grid has no states: None.
    """
    if planned.on_grid:
        known = planned.constants
        sizes = GradientLandscape(landscape, known.gradient_tolerance)
        return _drawn(sizes, planned, rng), None
    walks = np.stack(
        [walk(landscape, planned, start, rng) for start in _starts(landscape, planned, rng).T]
    )
    steps = rng.integers(planned.n_steps, size=len(walks))
    return walks[np.arange(len(walks)), :, steps].T, walks


def _starts(
    landscape: landscapes.PenaltyLandscape, planned: StationaryPlan, rng: np.random.Generator
) -> FloatArray:
    """Log penalties (d, n_draws) where walks start: the middle of the bounds, or private draws."""
    if not planned.eta:
        return np.zeros((landscape.p, planned.n_draws))
    if landscape.p <= MOST_PENALTIES:
        return _drawn(landscape, planned, rng)
    shared = _drawn(SharedPenalty(landscape), planned, rng)
    return np.repeat(shared, landscape.p, axis=0)


def _drawn(sizes: Landscape, planned: StationaryPlan, rng: np.random.Generator) -> FloatArray:
    sampler = FiniteGridSampler(spacing=planned.spacing)
    return landscapes.first_draws(
        sampler, landscapes.PenaltyTarget(sizes, planned.beta), planned.n_draws, rng
    )
