"""Minima and level sets of objectives with an L1 penalty, which is linear on each face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask

_ALL_AT_ONCE = 10  # changes of a face; afterwards one parameter at a time, which cannot cycle
_MOST_CHANGES = 200
_FLOOR = 1e-11  # curvature added to a singular Hessian, as a share of its diagonal
_VIOLATED = 1 + 1e-12


Points = tuple[FloatArray, FloatArray, FloatArray]
"""Directions, models and gradients there, each (p, K)."""


@dataclass(frozen=True)
class FaceMetric:
    """Quadratic models with one curvature and an L1 penalty, optimised face by face of signs."""

    bend: FloatArray  # (p, p): positive definite
    l1: FloatArray  # (p,): ≥ 0

    @classmethod
    def from_hessian(cls, hessian: FloatArray, l1: FloatArray) -> FaceMetric:
        """Metric of a Hessian that may be singular."""
        diagonal = np.diag(hessian)
        floor = _FLOOR * np.where(diagonal > 0, diagonal, max(float(diagonal.max()), 1e-300))
        return cls(hessian + np.diag(floor), l1)

    def furthest(
        self, at: Points, room: FloatArray, stiff: FloatArray, radius: float
    ) -> FloatArray:
        """Maximiser of a·ϑ over the models by whose quadratic objective is within the room."""
        direction, theta, gradient = at
        slope, size = gradient - self.l1[:, None] * np.sign(theta), self.l1 @ np.abs(theta)

        def length(some: Any, least: FloatArray, along: FloatArray, sign: FloatArray) -> FloatArray:
            step = least - theta[:, some]
            bent = stiff[some] / 2 * _dots(step, self.bend @ step)
            rise = _dots(slope[:, some], step) + bent + self.l1 @ (sign * least) - size[some]
            span = np.maximum(_dots(direction[:, some], along), 1e-300)
            return np.asarray(np.sqrt(2 * np.maximum(room[some] - rise, 0.0) / span))

        return self._optimum(at, stiff, length)

    def least_on_hyperplanes(
        self, at: Points, level: FloatArray, stiff: FloatArray, radius: float
    ) -> FloatArray:
        """Minimiser of the quadratic objective over the models with a·ϑ = level."""

        def length(some: Any, least: FloatArray, along: FloatArray, sign: FloatArray) -> FloatArray:
            a = at[0][:, some]
            span = np.maximum(_dots(a, along), 1e-300)
            return np.asarray((level[some] - _dots(a, least)) / span)

        return self._optimum(at, stiff, length)

    def least(self, theta: FloatArray, gradient: FloatArray) -> FloatArray:
        """Minimiser (p,) of the quadratic objective around one model (p,)."""
        start, slope, unit = theta[:, None], gradient[:, None], np.ones(1)

        def length(some: Any, *_: FloatArray) -> FloatArray:
            return np.zeros(len(some))

        return self._optimum((np.zeros_like(start), start, slope), unit, length)[:, 0]

    def _optimum(
        self, at: Points, stiff: FloatArray, length: Callable[..., FloatArray]
    ) -> FloatArray:
        """Minimiser of model − t·a·ϑ for each column, with the t that ``length`` gives."""
        direction, theta, gradient = at
        l1, point = self.l1[:, None], theta.copy()
        sign = np.where(l1 > 0, np.sign(theta), 0.0)
        used = (sign != 0) | (l1 == 0)
        pull = stiff * (self.bend @ theta) - gradient + l1 * np.sign(theta)
        some = np.arange(theta.shape[1])
        for change in range(_MOST_CHANGES):
            on, signs, a = used[:, some], sign[:, some], direction[:, some]
            base, along = self._on_faces(on, pull[:, some] - l1 * signs, a) / stiff[some]
            t = length(some, base, along, signs)
            point[:, some] = x = base + t * along
            force = pull[:, some] + t * a - stiff[some] * (self.bend @ x)
            wrong = np.where(on, x * signs < 0, np.abs(force) > l1 * _VIOLATED)
            if change >= _ALL_AT_ONCE:  # the least index: finite for a fixed t (Murty 1974)
                wrong &= np.cumsum(wrong, axis=0) == 1
            sign[:, some] = np.where(wrong, np.where(on, 0.0, np.sign(force)), signs)
            used[:, some] = on ^ wrong
            some = some[wrong.any(axis=0)]
            if not len(some):
                break
        return point

    def _on_faces(self, used: Mask, pull: FloatArray, direction: FloatArray) -> FloatArray:
        """B⁻¹pull and B⁻¹a (2, p, K) on each column's face, 0 for the other parameters."""
        solved = np.zeros((2, *pull.shape))
        _, first, kind = np.unique(
            np.packbits(used, axis=0), axis=1, return_index=True, return_inverse=True
        )
        for face, index in enumerate(first):
            columns, on = np.flatnonzero(kind.ravel() == face), np.flatnonzero(used[:, index])
            here = np.ix_(on, columns)
            both = np.concatenate([pull[here], direction[here]], axis=1)
            solution = np.linalg.solve(self.bend[np.ix_(on, on)], both)
            solved[0][here], solved[1][here] = np.split(solution, 2, axis=1)
        return solved


def least_subgradient(gradient: FloatArray, theta: FloatArray, l1: FloatArray | None) -> FloatArray:
    """Smallest subgradient (p,), from the one without a share of the L1 penalty at zeros."""
    if l1 is None:
        return gradient
    free = np.where(theta == 0, l1, 0.0)
    return np.asarray(gradient + np.clip(-gradient, -free, free))


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", left, right))


def matched_subgradient(
    gradient: FloatArray, theta: FloatArray, l1: FloatArray, direction: FloatArray, weight: Any
) -> FloatArray:
    """Subgradient (p, K) at ``theta`` nearest to a nonnegative multiple of each direction."""
    free = np.where(theta == 0, l1[:, None], 0.0)
    fixed = np.where(free == 0, weight[:, None] * direction, 0.0)
    multiple = _dots(fixed, gradient) / np.maximum(_dots(fixed, direction), 1e-300)
    desired = np.maximum(multiple, 0.0) * direction - gradient
    return np.asarray(gradient + np.clip(desired, -free, free))


_MOST_STEPS = 200
_CONVERGED, _OPTIMAL = 1e-16, 1e-10
_DAMPING, _LARGEST_DAMPING = 1e-3, 1e3  # shares of the Hessian's diagonal at 0


def minimise_l1(objective: Any, l1: FloatArray) -> FloatArray:
    """Minimiser (p,) of a smooth function plus Σ l1_j |θ_j|, by damped Newton steps over faces."""
    theta = np.zeros(len(l1))
    value, gradient = _at(objective, theta)
    scale, damping = np.diag(np.diag(objective.hessian(theta))), 0.0
    for _ in range(_MOST_STEPS):
        metric = FaceMetric.from_hessian(objective.hessian(theta) + damping * scale, l1)
        move = metric.least(theta, gradient) - theta
        fall = float((l1 * np.sign(theta) - gradient) @ move)
        fall -= float(l1 @ (np.abs(theta + move) - np.abs(theta)))
        new = _step(objective, theta, value, move, fall)
        if new is not None:
            theta, damping = new, damping / 10 if damping > _DAMPING else 0.0
            value, gradient = _at(objective, theta)
        if new is None or fall <= _CONVERGED * (1 + abs(value)):
            # The slopes that the L1 penalty does not balance.
            residual = np.abs(gradient) - np.where(theta == 0, l1, 0.0)
            optimal = residual.max() <= _OPTIMAL * max(float(l1.max()), 1e-300)
            if (fall >= 0 and optimal) or damping >= _LARGEST_DAMPING:
                break
            damping = max(10 * damping, _DAMPING)
    return theta


_HALVINGS = 40


def _step(
    objective: Any, theta: FloatArray, value: float, move: FloatArray, fall: float
) -> FloatArray | None:
    """Model with a lower objective along a move, or None; ``fall`` is the predicted decrease."""
    if fall < 0:
        return None
    step = 1.0
    for _ in range(_HALVINGS):
        new = theta + step * move
        reached = float(objective.value(new[:, None])[0])
        if reached <= value - 1e-4 * step * fall + 4e-16 * max(1.0, abs(value)):
            return np.asarray(new)
        step /= 2
    return None


def _at(objective: Any, theta: FloatArray) -> tuple[float, FloatArray]:
    value, gradient = objective.value_and_gradient(theta[:, None])
    return float(value[0]), gradient[:, 0]
