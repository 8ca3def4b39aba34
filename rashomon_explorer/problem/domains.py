"""Convex sets of models."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import check_nonnegative, check_positive
from rashomon_explorer.exceptions import SamplerError

__all__ = ["Ball", "Domain", "Intersection"]


class Domain(Protocol):
    """A closed bounded convex set C of models (p, K), full-dimensional, that contains 0."""

    @property
    def dimension(self) -> int | None:
        """Required number of parameters; None for any."""

    @property
    def radius(self) -> float:
        """Largest ‖θ‖: radius of the least centred ball around C."""

    @property
    def diameter(self) -> float:
        """Largest distance between two models, or for an intersection an upper bound of it."""

    def reach(self, row_bound: float) -> float:
        """Largest |z·θ| over models and rows with ‖z‖ ≤ row_bound."""

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in C; shape (K,)."""

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of C to each column of ``theta`` (p, K)."""

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Return a point of C furthest along each column of ``direction`` (p, K)."""

    def support(self, direction: FloatArray) -> FloatArray:
        """Support function max_{θ in C} g·θ of each column g of ``direction`` (p, K); (K,)."""

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in C, for each column (p, K) of models in C and of d ≠ 0."""

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the volume in R^p, or for an intersection an upper bound of it."""

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size), uniform on C."""


def inner(a: FloatArray, b: FloatArray) -> FloatArray:
    """Inner product (K,) of matching columns of two (p, K) arrays."""
    return np.asarray(np.einsum("ij,ij->j", a, b))


@dataclass(frozen=True)
class Ball:
    """Models θ with ‖θ‖ ≤ radius."""

    radius: float

    def __post_init__(self) -> None:
        check_positive(radius=self.radius)

    @property
    def dimension(self) -> None:
        return None

    @property
    def diameter(self) -> float:
        return 2 * self.radius

    def reach(self, row_bound: float) -> float:
        return self.radius * row_bound

    def contains(self, theta: FloatArray) -> Mask:
        return np.asarray(inner(theta, theta) <= self.radius**2)

    def project(self, theta: FloatArray) -> FloatArray:
        norm = np.linalg.norm(theta, axis=0)
        return theta * (self.radius / np.maximum(norm, self.radius))

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Point of the sphere along each column of ``direction`` (p, K); the centre for 0."""
        norm = np.linalg.norm(direction, axis=0)
        return direction * (self.radius / np.where(norm > 0, norm, np.inf))

    def support(self, direction: FloatArray) -> FloatArray:
        """Radius times the norm of each column of ``direction`` (p, K); shape (K,)."""
        return np.asarray(self.radius * np.linalg.norm(direction, axis=0))

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the ball, for each column (p, K) of models in the ball."""
        a = inner(direction, direction)
        b = inner(theta, direction)
        c = inner(theta, theta) - self.radius**2
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        return (-b - root) / a, (-b + root) / a

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the volume π^{p/2} radius^p / Γ(p/2 + 1)."""
        return p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1) + p * math.log(self.radius)

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size): a uniform direction, and radius·U^{1/p}."""
        direction = rng.standard_normal((p, size))
        length = self.radius * rng.random(size) ** (1 / p)
        return np.asarray(direction * (length / np.linalg.norm(direction, axis=0)))


_MOST_STEPS = 200
_CLOSE = 4e-15  # relative tolerance: the result is always projected onto the ball
_LONGEST = 1e8  # a projection from this many radii along a direction lies on the face of the body
_CHUNK = 4096
_MOST_REFUSED = 10_000_000


@dataclass(frozen=True)
class Intersection:
    """Models of ``body`` with ‖θ‖ ≤ ball.radius."""

    # The nearest point to x is P(c·x) with the body's projection P and the largest c ≤ 1 that keeps
    # it in the ball: its optimality conditions are those of the nearest point of the body to
    # x/(1 + λ), and its norm is nondecreasing in c.

    body: Domain
    ball: Ball

    @property
    def dimension(self) -> int | None:
        return self.body.dimension

    @property
    def radius(self) -> float:
        """Largest ‖θ‖: the smaller of the two, as the body contains 0 and is convex."""
        return min(self.body.radius, self.ball.radius)

    @property
    def diameter(self) -> float:
        """Upper bound of the largest distance between two models."""
        return min(self.body.diameter, self.ball.diameter)

    def reach(self, row_bound: float) -> float:
        return self.radius * row_bound

    def contains(self, theta: FloatArray) -> Mask:
        return np.asarray(self.body.contains(theta) & self.ball.contains(theta))

    def project(self, theta: FloatArray) -> FloatArray:
        return self._scaled_projection(theta, np.ones(theta.shape[1]))

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Point of both furthest along each column of ``direction`` (p, K), to rounding."""
        corner = self.body.extreme(direction)
        norm = np.linalg.norm(direction, axis=0)
        pull = _LONGEST * self.ball.radius / np.where(norm > 0, norm, 1.0)
        return np.where(
            self.ball.contains(corner), corner, self._scaled_projection(direction, pull)
        )

    def support(self, direction: FloatArray) -> FloatArray:
        """Support function (K,) of the columns of ``direction`` (p, K), or slightly more."""
        # By duality it is the minimum of h_body(u) + radius·‖g − u‖ over u. Every u gives an upper
        # bound; u = g − μθ, with θ the furthest point and μ its multiplier, gives the minimum.
        point = self.extreme(direction)
        square = inner(point, point)
        bounds = [self.body.support(direction), self.ball.support(direction)]
        multiplier = self._multiplier(direction, point)
        rest = direction - multiplier * point
        bounds.append(self.body.support(rest) + self.ball.radius * multiplier * np.sqrt(square))
        return np.asarray(np.min(bounds, axis=0))

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = self.body.chord(theta, direction)
        ball_low, ball_high = self.ball.chord(theta, direction)
        return np.maximum(low, ball_low), np.minimum(high, ball_high)

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the smaller of the two volumes."""
        return min(self.body.log_volume_bound(p), self.ball.log_volume_bound(p))

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size) by rejection from the smaller of the two."""
        small, large = sorted((self.body, self.ball), key=lambda part: part.log_volume_bound(p))
        accepted: list[FloatArray] = [np.empty((p, 0))]
        missed, n_points = 0, 0
        while n_points < size:
            theta = small.uniform(p, _CHUNK, rng)
            theta = theta[:, large.contains(theta)]
            n_points += theta.shape[1]
            accepted.append(theta)
            missed = 0 if theta.shape[1] else missed + _CHUNK
            if missed >= _MOST_REFUSED:
                raise SamplerError(
                    f"none of {missed:,} uniform draws from {small} lies in {large} for p={p}: "
                    "use only one of the two, or a Markov chain on the intersection"
                )
        return np.hstack(accepted)[:, :size]

    def _scaled_projection(self, theta: FloatArray, longest: FloatArray) -> FloatArray:
        """P(c·θ) for the largest c ≤ longest (K,) that keeps it in the ball."""
        point = self.body.project(longest * theta)
        if self.ball.contains(point).all():
            return point
        radius, norm = self.ball.radius, np.linalg.norm(theta, axis=0)
        # A projection with fixed point 0 does not increase norms: this much of θ stays in the ball.
        low, high = np.minimum(longest, radius / np.where(norm > 0, norm, 1.0)), longest
        below, above = self._excess_norm(low, theta), self._excess_norm(high, theta)
        inside = np.zeros(theta.shape[1], dtype=bool)
        for step in range(_MOST_STEPS):
            middle = np.where(high > 4 * low, np.sqrt(low * high), (low + high) / 2)
            if step % 8:
                with np.errstate(divide="ignore", invalid="ignore"):
                    secant = high - above * (high - low) / (above - below)
                middle = np.where((low < secant) & (secant < high), secant, middle)
            now = self._excess_norm(middle, theta)
            inside, before = now <= 0, inside
            # Halve the weight of an end that repeats, otherwise it would never move.
            weight = np.where(inside == before, 0.5, 1.0)
            below = np.where(inside, now, weight * below)
            above = np.where(inside, weight * above, now)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
            narrow = high - low <= 4e-16 * high
            if (narrow | (np.abs(now) <= _CLOSE * radius) | self.ball.contains(point)).all():
                break
        near = np.where(np.abs(now) <= _CLOSE * radius, middle, low)
        point = np.where(self.ball.contains(point), point, self.body.project(near * theta))
        # Distant projections have rounding errors: project again from nearby, then onto the ball.
        return self.ball.project(self.body.project(point))

    def _excess_norm(self, factor: FloatArray, theta: FloatArray) -> FloatArray:
        """‖P(c·θ)‖ − radius."""
        return np.linalg.norm(self.body.project(factor * theta), axis=0) - self.ball.radius

    def _multiplier(self, direction: FloatArray, point: FloatArray) -> FloatArray:
        """μ ≥ 0 that makes h_body(g − μθ) + radius·μ‖θ‖ small, by golden section: it is convex."""
        top = np.linalg.norm(direction, axis=0) / np.maximum(np.linalg.norm(point, axis=0), 1e-300)
        low, high = np.zeros_like(top), 2 * top
        ratio = (math.sqrt(5) - 1) / 2
        length = self.ball.radius * np.linalg.norm(point, axis=0)

        def bound(multiplier: FloatArray) -> FloatArray:
            return self.body.support(direction - multiplier * point) + length * multiplier

        for _ in range(80):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            falls = bound(left) > bound(right)
            low, high = np.where(falls, left, low), np.where(falls, high, right)
        return (low + high) / 2


_TRIED = 1_024  # points of the ellipsoid that estimate the share in the ball
_LEAST_SHARE = 0.02  # share in the ball below which walks are faster
_STEPS_EACH = 20  # steps of a walk per parameter
_AT_ONCE = 256
_GOLDEN = (math.sqrt(5) - 1) / 2
_HALVINGS, _STEEPEST = 60, 35.0


@dataclass(frozen=True, eq=False)
class CutEllipsoid:
    """Models θ with ½(θ − c)ᵀA(θ − c) ≤ level and ‖θ‖ ≤ radius."""

    centre: FloatArray
    matrix: FloatArray
    level: float
    radius: float
    start: FloatArray

    def __post_init__(self) -> None:
        check_nonnegative(level=self.level)
        check_positive(radius=self.radius)
        for name in ("centre", "matrix", "start"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if self.centre.ndim != 1 or self.matrix.shape != (self.p, self.p):
            raise ValueError(
                f"matrix must have a row and a column for each of the {self.centre.size} "
                f"parameters of the centre, got shapes {self.centre.shape} and {self.matrix.shape}"
            )
        if not np.linalg.eigvalsh(self.matrix)[0] > 0:
            raise ValueError("matrix must be positive definite: add some ridge")
        begin = self.start[:, None]
        if not (self.height(begin)[0] <= self._ceiling and inner(begin, begin)[0] <= self._square):
            raise ValueError("start must be a model of the set: use the centre if it is inside")

    @classmethod
    def under(
        cls, theta: FloatArray, multiplier: float, matrix: FloatArray, level: float, radius: float
    ) -> Self:
        """Models of the ball with a quadratic loss at most ``level`` above that at ``theta``."""
        active = multiplier if level > 0 else 0.0
        pull = active * np.linalg.solve(matrix, theta) if active else np.zeros_like(theta)
        higher = active * float(theta @ pull) / 2
        return cls(theta + pull, matrix, level + higher, radius, theta)

    @property
    def p(self) -> int:
        return len(self.centre)

    def height(self, theta: FloatArray) -> FloatArray:
        """½(θ − c)ᵀA(θ − c) of each column of ``theta`` (p, K); shape (K,)."""
        step = theta - self.centre[:, None]
        return inner(step, self.matrix @ step) / 2

    def contains(self, theta: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(
            (self.height(theta) <= self._ceiling) & (inner(theta, theta) <= self._square)
        )

    def ranges(self, directions: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Least and largest a·θ over the set, for each row a of ``directions`` (k, p)."""
        along = np.atleast_2d(np.asarray(directions, dtype=float)) @ self._axes[1]
        blocks = range(0, len(along), 16 * _AT_ONCE)
        parts = [along[low : low + 16 * _AT_ONCE] for low in blocks]
        high = np.concatenate([self._furthest(part) for part in parts])
        return -np.concatenate([self._furthest(-part) for part in parts]), high

    def uniform(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size), uniform on the set; see :meth:`batches`."""
        n_points, parts = 0, []
        for part in self.batches(size, rng):
            parts.append(part)
            n_points += part.shape[1]
            if n_points >= size:
                break
        return np.concatenate(parts, axis=1)[:, :size]

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield batches (p, k) of independent models of the set indefinitely; some are empty."""
        if self.level == 0:
            while True:
                yield np.repeat(self.start[:, None], size, axis=1)
        tried = self._uniform_in_ellipsoid(_TRIED, rng)
        if np.mean(inner(tried, tried) <= self._square) < _LEAST_SHARE:
            while True:
                yield from self._walks(min(size, _AT_ONCE), rng)
        while True:
            theta = self._uniform_in_ellipsoid(min(max(size, 16), 4 * _AT_ONCE), rng)
            yield theta[:, inner(theta, theta) <= self._square]

    @property
    def _square(self) -> float:
        # Models on the sphere belong to the ball, up to rounding.
        return self.radius**2 * (1 + 1e-12)

    @property
    def _ceiling(self) -> float:
        return self.level * (1 + 1e-9)

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues (p,) and eigenvectors, one per column, of the matrix."""
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    def _uniform_in_ellipsoid(self, size: int, rng: np.random.Generator) -> FloatArray:
        values, vectors = self._axes
        point = rng.standard_normal((self.p, size))
        length = math.sqrt(2 * self.level) * rng.random(size) ** (1 / self.p)
        point *= length / np.linalg.norm(point, axis=0)
        return np.asarray(self.centre[:, None] + vectors @ (point / np.sqrt(values)[:, None]))

    def _walks(self, size: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield end points of walks, and empty batches before them."""
        values, vectors = self._axes
        root = np.sqrt(values)[:, None]
        middle = (vectors.T @ self.centre)[:, None]
        point = np.repeat((vectors.T @ self.start)[:, None], size, axis=1)
        for step in range(_STEPS_EACH * self.p):
            whitened = rng.standard_normal(point.shape)
            move = whitened / root
            inside = _chord(root * (point - middle), whitened, 2 * self.level)
            ball = _chord(point, move, self._square)
            low, high = np.maximum(inside[0], ball[0]), np.minimum(inside[1], ball[1])
            point = point + move * (low + (high - low) * rng.random(size))
            if step % 64 == 0:
                yield point[:, :0]
        yield np.asarray(vectors @ point)

    def _furthest(self, along: FloatArray) -> FloatArray:
        """Largest a·θ (k,), for directions (k, p) in the axes of the matrix."""
        values, vectors = self._axes
        middle = vectors.T @ self.centre
        spread = np.sqrt(np.einsum("kj,kj->k", along, along / values))
        extreme = along @ middle + math.sqrt(2 * self.level) * spread
        if self.level == 0:
            return extreme
        safe = np.where(spread > 0, spread, 1.0)
        end = middle + along / values * (math.sqrt(2 * self.level) / safe)[:, None]
        cut = np.flatnonzero((np.einsum("kj,kj->k", end, end) > self._square) & (spread > 0))
        if len(cut):
            extreme[cut] = np.minimum(extreme[cut], self._cut(along[cut], middle))
        return extreme

    def _cut(self, along: FloatArray, middle: FloatArray) -> FloatArray:
        """Least extreme of the mixtures, by golden-section search in the logit of t."""
        low, high = np.full(len(along), -_STEEPEST), np.full(len(along), _STEEPEST)
        best = self.radius * np.linalg.norm(along, axis=1)
        for _ in range(_HALVINGS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            ends = [self._mixture(along, middle, at) for at in (left, right)]
            best = np.minimum(best, np.minimum(*ends))
            lower = ends[0] < ends[1]
            low, high = np.where(lower, low, left), np.where(lower, right, high)
        return best

    def _mixture(self, along: FloatArray, middle: FloatArray, logit: FloatArray) -> FloatArray:
        values = self._axes[0] / self.level
        t = (1 / (1 + np.exp(-logit)))[:, None]
        curvature = t * values + (1 - t) * 2 / self.radius**2
        pull = t * values * middle
        room = 1 - t[:, 0] * float(values @ middle**2) / 2
        room += (pull**2 / curvature).sum(axis=1) / 2
        reach = np.sqrt(2 * np.maximum(room, 0.0) * (along**2 / curvature).sum(axis=1))
        return np.asarray((along * pull / curvature).sum(axis=1) + reach)


def _chord(point: FloatArray, move: FloatArray, square: float) -> tuple[FloatArray, FloatArray]:
    """Interval of t, containing 0, with ‖place + t·move‖² ≤ square."""
    a, b = inner(move, move), inner(point, move)
    room = np.maximum(square - inner(point, point), 0.0)
    root = np.sqrt(b * b + a * room)
    return np.minimum((-b - root) / a, 0.0), np.maximum((-b + root) / a, 0.0)
