"""Intersection of an ellipsoid with the centred ball, in closed form."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_nonnegative, check_positive
from rashomon_explorer.problem.domains.base import inner

_TRIED = 1_024  # points of the ellipsoid by which its cut is judged
_LEAST_SHARE = 0.02  # of them in the ball, below which walks are quicker
_STEPS_EACH = 20  # of a walk, for each parameter
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
        """Freeze the arrays and check that they describe an ellipsoid."""
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
            raise ValueError("start must be a model of the set: take the centre if the ball has it")

    @classmethod
    def under(
        cls, theta: FloatArray, multiplier: float, matrix: FloatArray, level: float, radius: float
    ) -> Self:
        """Models of the ball at which a quadratic loss exceeds that at ``theta`` by ``level``."""
        held = multiplier if level > 0 else 0.0
        pull = held * np.linalg.solve(matrix, theta) if held else np.zeros_like(theta)
        higher = held * float(theta @ pull) / 2
        return cls(theta + pull, matrix, level + higher, radius, theta)

    @property
    def p(self) -> int:
        """Number of parameters."""
        return len(self.centre)

    def height(self, theta: FloatArray) -> FloatArray:
        """½(θ − c)ᵀA(θ − c) of each column of ``theta`` (p, K); shape (K,)."""
        step = theta - self.centre[:, None]
        return inner(step, self.matrix @ step) / 2

    def contains(self, theta: FloatArray) -> NDArray[np.bool_]:
        """Whether each column of ``theta`` (p, K) lies in the set; shape (K,)."""
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
        found, parts = 0, []
        for part in self.batches(size, rng):
            parts.append(part)
            found += part.shape[1]
            if found >= size:
                break
        return np.concatenate(parts, axis=1)[:, :size]

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Endless batches (p, k) of independent models of the set, some of them empty."""
        if self.level == 0:
            while True:
                yield np.repeat(self.start[:, None], size, axis=1)
        tried = self._of_ellipsoid(_TRIED, rng)
        if np.mean(inner(tried, tried) <= self._square) < _LEAST_SHARE:
            while True:
                yield from self._walks(min(size, _AT_ONCE), rng)
        while True:
            theta = self._of_ellipsoid(min(max(size, 16), 4 * _AT_ONCE), rng)
            yield theta[:, inner(theta, theta) <= self._square]

    @property
    def _square(self) -> float:
        # A model on the sphere is one of the ball, whatever its last bit.
        return self.radius**2 * (1 + 1e-12)

    @property
    def _ceiling(self) -> float:
        return self.level * (1 + 1e-9)

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues (p,) and eigenvectors, a column each, of the matrix."""
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    def _of_ellipsoid(self, size: int, rng: np.random.Generator) -> FloatArray:
        values, vectors = self._axes
        point = rng.standard_normal((self.p, size))
        length = math.sqrt(2 * self.level) * rng.random(size) ** (1 / self.p)
        point *= length / np.linalg.norm(point, axis=0)
        return np.asarray(self.centre[:, None] + vectors @ (point / np.sqrt(values)[:, None]))

    def _walks(self, size: int, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield the ends of walks, after empty batches on the way."""
        values, vectors = self._axes
        root = np.sqrt(values)[:, None]
        middle = (vectors.T @ self.centre)[:, None]
        place = np.repeat((vectors.T @ self.start)[:, None], size, axis=1)
        for step in range(_STEPS_EACH * self.p):
            whitened = rng.standard_normal(place.shape)
            move = whitened / root
            inside = _chord(root * (place - middle), whitened, 2 * self.level)
            ball = _chord(place, move, self._square)
            low, high = np.maximum(inside[0], ball[0]), np.minimum(inside[1], ball[1])
            place = place + move * (low + (high - low) * rng.random(size))
            if step % 64 == 0:
                yield place[:, :0]
        yield np.asarray(vectors @ place)

    def _furthest(self, along: FloatArray) -> FloatArray:
        """Largest a·θ (k,), for directions (k, p) in the axes of the matrix."""
        values, vectors = self._axes
        middle = vectors.T @ self.centre
        spread = np.sqrt(np.einsum("kj,kj->k", along, along / values))
        found = along @ middle + math.sqrt(2 * self.level) * spread
        if self.level == 0:
            return found
        safe = np.where(spread > 0, spread, 1.0)
        end = middle + along / values * (math.sqrt(2 * self.level) / safe)[:, None]
        cut = np.flatnonzero((np.einsum("kj,kj->k", end, end) > self._square) & (spread > 0))
        if len(cut):
            found[cut] = np.minimum(found[cut], self._cut(along[cut], middle))
        return found

    def _cut(self, along: FloatArray, middle: FloatArray) -> FloatArray:
        """Least of the mixtures' extremes, by golden sections of the logit of t."""
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


def _chord(place: FloatArray, move: FloatArray, square: float) -> tuple[FloatArray, FloatArray]:
    """Interval of t, 0 in it, with ‖place + t·move‖² ≤ square."""
    a, b = inner(move, move), inner(place, move)
    room = np.maximum(square - inner(place, place), 0.0)
    root = np.sqrt(b * b + a * room)
    return np.minimum((-b - root) / a, 0.0), np.maximum((-b + root) / a, 0.0)
