"""Furthest points of a quadratic model's level set, inside a ball."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray

_MOST_STEPS = 60
_INNER_STEPS = 60
_CLOSE = 1e-13


def furthest_of_model(
    direction: FloatArray,
    theta: FloatArray,
    gradient: FloatArray,
    room: FloatArray,
    inverse: FloatArray,
    radius: float,
) -> FloatArray:
    """Point furthest along a of {ϑ : g·(ϑ − θ) + ½(ϑ − θ)ᵀB(ϑ − θ) ≤ room, ‖ϑ‖ ≤ radius}.

    Without the ball it is θ − B⁻¹g + ρ·B⁻¹a/√(aᵀB⁻¹a) with ρ² = 2·room + gᵀB⁻¹g; where that
    leaves the ball, two multipliers are searched for.

    ``direction``, ``theta``, ``gradient`` (p, K) are a, θ, g; ``room`` (K,); ``inverse`` (K, p, p)
    is B⁻¹; the radius may be infinite. Where the level set is empty it is the model's minimiser.
    """
    both = inverse @ np.stack([gradient.T, direction.T], axis=2)
    down, along = both[:, :, 0].T, both[:, :, 1].T
    square = 2 * room + np.einsum("ij,ij->j", gradient, down)
    length = np.einsum("ij,ij->j", direction, along)
    centre = theta - down
    point = centre + along * np.sqrt(np.maximum(square, 0.0) / np.maximum(length, 1e-300))
    outside = np.flatnonzero(np.linalg.norm(point, axis=0) > radius)
    if len(outside):
        point[:, outside] = _on_sphere(
            direction[:, outside],
            centre[:, outside],
            np.maximum(square[outside], 0.0) / 2,
            inverse[outside],
            radius,
        )
    return point


@dataclass(frozen=True)
class SharedMetric:
    """One B for all columns, times a number of each: by its axes a step costs O(p²) a column."""

    curvature: FloatArray  # (p,): > 0
    vectors: FloatArray  # (p, p)

    @property
    def inverse(self) -> FloatArray:
        """B⁻¹ (p, p)."""
        return np.asarray((self.vectors / self.curvature) @ self.vectors.T)

    def furthest(
        self,
        direction: FloatArray,
        theta: FloatArray,
        gradient: FloatArray,
        room: FloatArray,
        stiff: FloatArray,
        radius: float,
    ) -> FloatArray:
        """Furthest points of models with B times ``stiff`` (K,), see :func:`furthest_of_model`."""
        a, g, start = (self.vectors.T @ one for one in (direction, gradient, theta))
        own = self.curvature[:, None] * stiff
        square = np.maximum(2 * room + (g * g / own).sum(axis=0), 0.0)
        centre, along = start - g / own, a / own
        length = np.maximum((a * along).sum(axis=0), 1e-300)
        point = centre + along * np.sqrt(square / length)
        out = np.flatnonzero(np.linalg.norm(point, axis=0) > radius)
        if len(out):
            room = square[out] / 2
            x = _in_axes(a[:, out].T, centre[:, out].T, own[:, out].T, room, radius)
            point[:, out] = x.T
        return np.asarray(self.vectors @ point)


def _on_sphere(
    direction: FloatArray, centre: FloatArray, room: FloatArray, inverse: FloatArray, radius: float
) -> FloatArray:
    """Furthest point along a of {½(ϑ − c)ᵀB(ϑ − c) ≤ room, ‖ϑ‖ ≤ radius}.

    For a pull τ the best of the ball is x(τ) = argmin ½(x − c)ᵀB(x − c) − τa·x; its model value
    rises with τ, and log τ is halved until the room is used up.
    """
    softness, vectors = np.linalg.eigh(inverse)
    stiff = 1 / np.maximum(softness, softness[:, -1:] * 1e-15)
    a = np.einsum("kij,ik->kj", vectors, direction)
    c = np.einsum("kij,ik->kj", vectors, centre)
    return np.asarray(np.einsum("kij,kj->ik", vectors, _in_axes(a, c, stiff, room, radius)))


def _in_axes(
    a: FloatArray, c: FloatArray, stiff: FloatArray, room: FloatArray, radius: float
) -> FloatArray:
    """Furthest points (K, p) where B is diagonal: ``a``, ``c`` and ``stiff`` are (K, p)."""
    scale = np.sqrt(2 * np.maximum(room, 1e-300) / np.maximum((a * a / stiff).sum(1), 1e-300))
    low, high = np.log(scale) - 12, np.log(scale) + 25
    for _ in range(_MOST_STEPS):
        middle = (low + high) / 2
        x = _best_of_ball(stiff, stiff * c + np.exp(middle)[:, None] * a, radius)
        inside = 0.5 * (stiff * (x - c) ** 2).sum(axis=1) <= room
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        if (high - low < _CLOSE * np.maximum(1.0, np.abs(low))).all():
            break
    return _best_of_ball(stiff, stiff * c + np.exp(low)[:, None] * a, radius)


def _best_of_ball(stiff: FloatArray, pull: FloatArray, radius: float) -> FloatArray:
    """Minimiser (K, p) of ½xᵀdiag(stiff)x − pull·x over ‖x‖ ≤ radius, by its secular equation.

    Newton's method on 1/‖x‖, which is concave in the multiplier, rises from 0 to the root.
    """
    multiplier = np.zeros(len(pull))
    for _ in range(_INNER_STEPS):
        x = pull / (stiff + multiplier[:, None])
        norm = np.linalg.norm(x, axis=1)
        over = norm > radius * (1 + 1e-14)
        if not over.any():
            break
        fall = (x * x / (stiff + multiplier[:, None])).sum(axis=1) / np.maximum(norm, 1e-300) ** 2
        move = (norm / radius - 1) / np.maximum(fall, 1e-300)
        multiplier = np.where(over, multiplier + move, multiplier)
    x = pull / (stiff + multiplier[:, None])
    norm = np.linalg.norm(x, axis=1)
    return np.asarray(x * np.minimum(1.0, radius / np.maximum(norm, 1e-300))[:, None])
