"""Exact sampling from log-concave laws on lines, and from laws under planes."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammainc, gammaincinv, hyp1f1, xlogy

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.rejection.envelope import ball_around
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import SAMPLE, Problem

_TAIL = 45.0  # nats below the peak; the mass beyond is sampled too, from coarse cells
_TAIL_CELLS = 64
_RADIAL_CELLS = 4096
_ROUNDING = 1e-12
SLACK = 1e-9
"""Added to the bounds: log densities have a relative error of about 1e-13."""


class LineLaw:
    """Law on [low, high] with a log-concave density, known up to a factor."""

    tail_cells = _TAIL_CELLS

    def __init__(
        self,
        log_density: Callable[[FloatArray], FloatArray],
        low: float,
        high: float,
        cells: int = 2048,
    ) -> None:
        self._log_density, self._cells = log_density, cells
        edges = _evenly(low, high, cells)
        for _ in range(2):
            edges = self._refined(edges)
        self._edges = edges
        self._upper = self._upper_log_density(edges)
        mass = np.exp(self._upper - self._upper.max()) * np.diff(edges)
        self._cumulative = np.cumsum(mass)

    @property
    def log_mass(self) -> float:
        """Logarithm of an upper bound on the density's integral, tight up to the cells."""
        return float(self._upper.max() + np.log(self._cumulative[-1]))

    @property
    def mean(self) -> float:
        """Mean of the law, up to the width of the cells."""
        mass = np.diff(self._cumulative, prepend=0.0) / self._cumulative[-1]
        return float(mass @ ((self._edges[1:] + self._edges[:-1]) / 2))

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Make ``size`` exact draws."""
        accepted = np.empty(0)
        while len(accepted) < size:
            accepted = np.concatenate([accepted, self._propose(size - len(accepted) + 16, rng)])
        return accepted[:size]

    def _propose(self, size: int, rng: np.random.Generator) -> FloatArray:
        mass = rng.random(size) * self._cumulative[-1]
        last = len(self._cumulative) - 1
        cell = np.minimum(np.searchsorted(self._cumulative, mass, side="right"), last)
        low, high = self._edges[cell], self._edges[cell + 1]
        t = low + self._shares(size, rng) * (high - low)
        log_ratio = self._log_density(t) - self._upper[cell]
        if (log_ratio > 0).any():
            raise EnvelopeError(
                f"a log density lies {log_ratio.max():.2e} above its bound: it is not concave, and "
                "the draws would not be exact; please report the settings"
            )
        return np.asarray(t[np.log1p(-rng.random(size)) <= log_ratio])

    def _shares(self, size: int, rng: np.random.Generator) -> FloatArray:
        return rng.random(size)

    def _upper_log_density(self, edges: FloatArray) -> FloatArray:
        """Upper bound on each cell, from the chords of its neighbours."""
        # Slices are faster than np.diff: a search for a plane makes thousands of small tables.
        heights, width = self._log_density(edges), edges[1:] - edges[:-1]
        with np.errstate(invalid="ignore"):
            slope = (heights[1:] - heights[:-1]) / width
        from_left, from_right = np.empty(len(width)), np.empty(len(width))
        from_left[0] = from_right[-1] = np.inf
        from_left[1:] = heights[1:-1] + np.maximum(slope[:-1] * width[1:], 0.0)
        from_right[:-1] = heights[1:-1] + np.maximum(-slope[1:] * width[:-1], 0.0)
        upper = np.fmin(from_left, from_right)
        return upper + SLACK + _ROUNDING * np.abs(upper)

    def _refined(self, edges: FloatArray) -> FloatArray:
        upper = self._upper_log_density(edges)
        heavy = np.flatnonzero(upper > upper.max() - _TAIL)
        low, high = edges[heavy[0]], edges[heavy[-1] + 1]
        pieces = [_evenly(low, high, self._cells)]
        if low > edges[0]:
            pieces.insert(0, _evenly(edges[0], low, _TAIL_CELLS)[:-1])
        if high < edges[-1]:
            pieces.append(_evenly(high, edges[-1], self.tail_cells)[1:])
        return np.concatenate(pieces)


def _evenly(low: float, high: float, cells: int) -> FloatArray:
    """Edges (cells + 1,) of cells of equal width, faster than ``np.linspace`` for so few."""
    edges = np.arange(cells + 1.0) * ((high - low) / cells) + low
    edges[-1] = high
    return edges


class RadialLaw(LineLaw):
    """Law on [0, furthest] with density proportional to r^{p−1} exp(−energy(r))."""

    tail_cells = 63  # keeps the draws of a seed

    def __init__(self, energy: Callable[[FloatArray], FloatArray], p: int, furthest: float) -> None:
        self._energy, self._power = energy, p - 1
        super().__init__(self.log_density, 0.0, furthest, _RADIAL_CELLS)

    def log_density(self, radius: FloatArray) -> FloatArray:
        return self._power * np.log(radius) - self._energy(radius)

    def _shares(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Places in (0, 1]: a radius of exactly 0 has no logarithm."""
        return 1.0 - rng.random(size)

    def _upper_log_density(self, edges: FloatArray) -> FloatArray:
        """Upper bound on each cell: the power at its right end, the energy at its left."""
        return self._power * np.log(edges[1:]) - self._energy(edges[:-1]) + SLACK


def directions(p: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Independent uniform unit vectors (p, size)."""
    towards = rng.standard_normal((p, size))
    return np.asarray(towards / np.linalg.norm(towards, axis=0))


def log_ball_volume(p: int) -> float:
    """Logarithm of the volume of the unit ball of R^p, 0 for p = 0."""
    return p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1)


_STEPS = 40  # towards the plane of least mass; each step needs one gradient
_ENOUGH = 0.02  # nats of mass that a step must save to continue
_ROUGH_CELLS = 128
_PLANE_ROUNDING = 1e-13  # of the largest loss: sums of n terms have an error of 1e-15 of it
_WELL_INSIDE = 0.8  # of the mean of a χ²: below it, truncation at x leaves values close to x
_SMALLEST = 1e-200  # below it, gammainc may underflow


@dataclass(frozen=True)
class Plane:
    """L(θ) − min L ≥ height + slope·θ + ½·ridge·‖θ‖² for every θ."""

    slope: FloatArray  # (p,)
    height: float
    ridge: float

    @classmethod
    def at(
        cls,
        problem: Problem,
        theta: FloatArray,
        ridge: float,
        objective: MinimisedObjective | None = None,
    ) -> "Plane":
        """Tangent at ``theta`` (p,) of a problem's objective, or of that of a sample."""
        value, gradient = (objective or problem).value_and_gradient(theta[:, None])
        return cls.through(problem, theta, value[0], gradient[:, 0], ridge)

    @classmethod
    def through(
        cls, problem: Problem, theta: FloatArray, value: float, gradient: FloatArray, ridge: float
    ) -> "Plane":
        """Tangent at ``theta`` (p,) of the loss less ½·ridge·‖θ‖²; a subgradient at a kink."""
        slope = gradient - ridge * theta
        height = float(value) - ridge / 2 * float(theta @ theta) - float(slope @ theta)
        largest = 1 + problem.minimum.value + problem.L * problem.domain.diameter
        slack = problem.minimum.value + _PLANE_ROUNDING * largest
        return cls(slope, height - slack, ridge)

    def towards(self, other: "Plane", share: float) -> "Plane":
        """Convex combination of two planes of the same ridge, which is also below the loss."""
        slope = (1 - share) * self.slope + share * other.slope
        return Plane(slope, (1 - share) * self.height + share * other.height, self.ridge)

    def relative_to(self, centre: FloatArray) -> "Plane":
        """Return the same bound as a function of θ − centre."""
        square = self.ridge / 2 * float(centre @ centre)
        height = self.height + float(self.slope @ centre) + square
        return Plane(self.slope + self.ridge * centre, height, self.ridge)

    def floor(self, theta: FloatArray) -> FloatArray:
        """Lower bound (K,) on the excess of models (p, K)."""
        bent = self.ridge / 2 * np.einsum("ij,ij->j", theta, theta) if self.ridge else 0.0
        return np.maximum(self.height + self.slope @ theta + bent, 0.0)


class PlaneProposal:
    """Law with a plane in place of the loss, on the smallest ball around the domain."""

    pad = 0.0

    def __init__(self, target: GibbsTarget, plane: Plane, cells: int = 2048) -> None:
        self._target, self._p = target, target.problem.p
        self.plane = plane
        self._radius, self._centre = ball_around(target.problem.domain, self._p)
        self._seen = plane = plane.relative_to(self._centre)
        self._steep = float(np.linalg.norm(plane.slope))
        flat = np.eye(1, self._p)[0]
        self._along = plane.slope / self._steep if self._steep > 0 else flat
        self._precision = target.beta * plane.ridge
        highest = 1 + target.problem.L * target.problem.domain.diameter
        # max{v, ψ} and its smooth versions are above v − ψ − lag: their slope is at most 1.
        self._lag = highest - float(target.shape.energy(np.array([highest]))[0])
        self._line = LineLaw(self._log_density, -self._radius, self._radius, cells)
        rest = (self._p - 1) / 2
        sphere = rest * math.log(2 * math.pi / self._precision) if plane.ridge else None
        volume = log_ball_volume(self._p - 1) if sphere is None else sphere
        self.log_mass = self._line.log_mass + volume

    @property
    def mean(self) -> FloatArray:
        """Mean (p,) of the law."""
        return self._centre + self._line.mean * self._along

    def floor(self, theta: FloatArray) -> FloatArray:
        """Lower bound (K,) on the excess of models (p, K)."""
        return self.plane.floor(theta)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw models (p, K) inside the domain and their energies (K,), K ≤ size."""
        t = self._line.sample(size, rng)
        room = self._room(t)
        rest = rng.standard_normal((self._p, size))
        rest -= np.outer(self._along, self._along @ rest)
        if self._p > 1:
            if self._seen.ridge:
                square = cut_chi_square(self._p - 1, self._precision * room, rng) / self._precision
                length = np.sqrt(np.minimum(square, room))
            else:
                length = np.sqrt(room) * rng.random(size) ** (1 / (self._p - 1))
            rest *= length / np.linalg.norm(rest, axis=0)
        theta = self._centre[:, None] + np.outer(self._along, t) + rest * (self._p > 1)
        theta = theta[:, self._target.problem.domain.contains(theta)]
        return theta, self._energy(theta)

    def _energy(self, theta: FloatArray) -> FloatArray:
        plane = self.plane
        if not plane.ridge:
            return self._target.energy(plane.floor(theta))
        square = np.einsum("ij,ij->j", theta, theta)
        return self._bent(plane.height + plane.slope @ theta + plane.ridge / 2 * square)

    def _bent(self, floor: FloatArray) -> FloatArray:
        return self._target.beta * (floor - self._target.psi - self._lag)

    def _log_density(self, t: FloatArray) -> FloatArray:
        plane, rest = self._seen, (self._p - 1) / 2
        floor = plane.height + self._steep * t
        if not plane.ridge:
            return xlogy(rest, self._room(t)) - self._target.energy(np.maximum(floor, 0.0))
        inside = log_chi_square_below(self._p - 1, self._precision * self._room(t))
        return inside - self._bent(floor + plane.ridge / 2 * t**2)

    def _room(self, t: FloatArray) -> FloatArray:
        return np.maximum((self._radius - t) * (self._radius + t), 0.0)


def plane_proposals(target: GibbsTarget) -> list[PlaneProposal]:
    """One proposal without the ridge, and one with it if it is positive."""
    return [PlaneProposal(target, least_plane(target, m)) for m in {0.0, target.problem.ridge}]


def least_plane(target: GibbsTarget, ridge: float) -> Plane:
    """Plane under the loss, less ½·ridge·‖θ‖², whose proposal has nearly the least mass."""
    problem = target.problem
    if problem.n <= SAMPLE:
        return _descend(target, lambda theta: Plane.at(problem, theta, ridge))
    few, places = MinimisedObjective(problem.sample, problem.ridge), list[FloatArray]()

    def sampled(theta: FloatArray) -> Plane:
        places.append(theta)
        return Plane.at(problem, theta, ridge, few)

    _descend(target, sampled)
    value, gradient = problem.value_and_gradient(np.column_stack(places))
    parts = zip(places, value, gradient.T, strict=True)
    tangents = (Plane.through(problem, *part, ridge) for part in parts)
    return _descend(target, lambda _: next(tangents), len(places) - 1)


def _descend(
    target: GibbsTarget, tangent_at: Callable[[FloatArray], Plane], steps: int = _STEPS
) -> Plane:
    """Combine tangents, each at the mean of the law under the plane so far."""
    plane = tangent_at(ball_around(target.problem.domain, target.problem.p)[1])
    proposal = PlaneProposal(target, plane, _ROUGH_CELLS)
    for _ in range(steps):
        tangent = tangent_at(proposal.mean)

        def mass(share: float, plane: Plane = plane, tangent: Plane = tangent) -> float:
            return PlaneProposal(target, plane.towards(tangent, share), _ROUGH_CELLS).log_mass

        search = minimize_scalar(
            mass, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-3, "maxiter": 12}
        )
        plane = plane.towards(tangent, float(search.x))
        before, proposal = proposal.log_mass, PlaneProposal(target, plane, _ROUGH_CELLS)
        if proposal.log_mass > before - _ENOUGH:
            break
    return plane


def log_chi_square_below(degrees: int, x: FloatArray) -> FloatArray:
    """Log probability (K,) that a χ² with these degrees is at most x ≥ 0; 0 for no degrees."""
    if degrees == 0:
        return np.zeros_like(x)
    a, z = degrees / 2, x / 2
    share = gammainc(a, z)
    logs = np.log(np.maximum(share, _SMALLEST))
    tiny = ~(share > _SMALLEST)
    if tiny.any():
        z = z[tiny]
        with np.errstate(divide="ignore"):
            series = np.log(hyp1f1(1.0, a + 1, np.minimum(z, a)))
            logs[tiny] = xlogy(a, z) - z - math.lgamma(a + 1) + series
    return np.asarray(logs)


def cut_chi_square(degrees: int, x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Independent χ² values (K,), each conditioned to be at most x ≥ 0."""
    value = np.empty(len(x))
    tight = x < _WELL_INSIDE * degrees
    loose = x[~tight]
    a = degrees / 2
    value[~tight] = 2 * gammaincinv(a, gammainc(a, loose / 2) * rng.random(len(loose)))
    open_ = np.flatnonzero(tight)
    while len(open_):
        half = x[open_] / 2
        u = -rng.standard_exponential(len(open_)) / (a - half)
        keep = np.log1p(-rng.random(len(open_))) <= -half * (np.expm1(u) - u)
        value[open_[keep]] = 2 * half[keep] * np.exp(u[keep])
        open_ = open_[~keep]
    return np.minimum(value, x)
