"""Certified maxima of many linear functionals at once, by a quasi-Newton method in blocks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.measures.ranges.level_set import LevelSet
from rashomon_explorer.measures.ranges.model_step import furthest_of_model

Decide = Callable[[NDArray[np.intp], FloatArray, FloatArray], Mask]

_MOST_ROUNDS = 60
_EVERY = 6  # rounds after which a column that still searches gets its own Hessian
_BLOCK_CELLS = 2**22  # numbers in a block's inverse Hessians: 32 MiB
_FLAT = 1e-12
_FLAT_SHARE = 1e-6
_STIFFER, _SOFTER = 4.0, 0.5


@dataclass(frozen=True)
class Extents:
    """What is known of max a·(ϑ − θ*) over a level set."""

    inner: FloatArray  # (K,): attained by ``points``: at most the maximum
    outer: FloatArray  # (K,): proved by a tangent: at least the maximum
    points: FloatArray  # (p, K): models of the set


def furthest(
    among: LevelSet,
    directions: FloatArray,
    tolerance: float,
    *,
    decided: Decide | None = None,
) -> Extents:
    """Bracket max a·(ϑ − θ*) over the set for every column a.

    Each round evaluates the loss and its gradient once for all columns that still search, and
    moves each to the furthest point of its quadratic model's level set (Auslender, Shefi and
    Teboulle, SIAM J. Optim. 2010, with a metric learnt by BFGS updates that starts from the
    Hessian at θ*). A model that promised too much is made stiffer, until the step climbs.

    The bracket is wider than the tolerance, a share of the outer extent, where the search ended
    without success. ``decided`` takes columns, their inner and outer ends, and says which need no
    more search.
    """
    p, count = directions.shape
    soft = _inverse(among.objective.hessian(among.centre), _least_curvature(among))
    size = max(16, _BLOCK_CELLS // p**2)
    parts = []
    for low in range(0, count, size):
        block = np.arange(low, min(low + size, count))
        search = _Search(among, directions[:, block], soft)
        parts.append(search.run(tolerance, block, decided))
    if not parts:
        return Extents(np.empty(0), np.empty(0), np.empty((p, 0)))
    return Extents(
        np.concatenate([part.inner for part in parts]),
        np.concatenate([part.outer for part in parts]),
        np.hstack([part.points for part in parts]),
    )


class _Search:
    """One block of columns."""

    def __init__(self, among: LevelSet, directions: FloatArray, soft: FloatArray) -> None:
        count = directions.shape[1]
        self._among, self._directions = among, directions
        self._theta = np.repeat(among.centre[:, None], count, axis=1)
        self._value = np.full(count, among.base)
        _, gradient = among.objective.value_and_gradient(among.centre[:, None])
        self._gradient = np.repeat(gradient, count, axis=1)
        self._least = _least_curvature(among)
        self._inverse = np.repeat(soft[None], count, axis=0)
        self._stiff = np.ones(count)
        self.inner = np.zeros(count)
        self.outer = np.full(count, np.inf)
        self.points = self._theta.copy()
        self._observe(np.arange(count), self._theta, self._value, self._gradient)

    def run(self, tolerance: float, names: NDArray[np.intp], decided: Decide | None) -> Extents:
        active = self._open(np.arange(len(names)), tolerance, names, decided)
        for round_ in range(1, _MOST_ROUNDS + 1):
            if not len(active):
                break
            if round_ % _EVERY == 0:
                self._refresh(active)
            self._advance(active)
            active = self._open(active, tolerance, names, decided)
        self._verify()
        return Extents(self.inner, self.outer, self.points)

    def _open(
        self,
        active: NDArray[np.intp],
        tolerance: float,
        names: NDArray[np.intp],
        decided: Decide | None,
    ) -> NDArray[np.intp]:
        inner, outer = self.inner[active], self.outer[active]
        done = outer - inner <= tolerance * np.abs(outer)
        if decided is not None:
            done |= decided(names[active], inner, outer)
        return active[~done]

    def _advance(self, active: NDArray[np.intp]) -> None:
        theta = self._candidate(active)
        value, gradient = self._among.objective.value_and_gradient(theta)
        before = self.outer[active] - self.inner[active]
        self._learn(active, theta, gradient)
        climbed = self._observe(active, theta, value, gradient)
        better = climbed | (self.outer[active] - self.inner[active] < 0.9 * before)
        kept = active[better]
        self._theta[:, kept] = theta[:, better]
        self._value[kept] = value[better]
        self._gradient[:, kept] = gradient[:, better]
        factor = np.where(better, _SOFTER, _STIFFER)
        self._stiff[active] = np.maximum(1.0, self._stiff[active] * factor)

    def _candidate(self, active: NDArray[np.intp]) -> FloatArray:
        stiff = self._stiff[active]
        return furthest_of_model(
            self._directions[:, active],
            self._theta[:, active],
            self._gradient[:, active],
            self._among.level - self._value[active],
            self._inverse[active] / stiff[:, None, None],
            self._among.reach.radius,
        )

    def _observe(
        self, active: NDArray[np.intp], theta: FloatArray, value: FloatArray, gradient: FloatArray
    ) -> Mask:
        """Tighten both ends by what was seen at ``theta``; says which inner ends moved."""
        among, a = self._among, self._directions[:, active]
        step = theta - among.centre[:, None]
        outer = among.outer(a, step, value, gradient)
        self.outer[active] = np.minimum(self.outer[active], outer)
        step = step * among.shrink(value)
        inner = np.einsum("ij,ij->j", a, step)
        climbed = inner > self.inner[active]
        moved = active[climbed]
        self.inner[moved] = inner[climbed]
        self.points[:, moved] = among.centre[:, None] + step[:, climbed]
        return np.asarray(climbed)

    def _learn(self, active: NDArray[np.intp], theta: FloatArray, gradient: FloatArray) -> None:
        """BFGS update of the inverse Hessians by the change of gradient along the step."""
        s = (theta - self._theta[:, active]).T
        y = (gradient - self._gradient[:, active]).T
        curved = (s * y).sum(axis=1)
        size = np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        fit = np.flatnonzero(curved > 1e-10 * size)
        s, y, rate = s[fit], y[fit], 1 / curved[fit]
        inverse = self._inverse[active[fit]]
        soft = (inverse @ y[:, :, None])[:, :, 0]
        weight = rate * (1 + rate * (y * soft).sum(axis=1))
        cross = (rate[:, None] * soft)[:, :, None] * s[:, None, :]
        inverse += weight[:, None, None] * s[:, :, None] * s[:, None, :]
        inverse -= cross + cross.swapaxes(1, 2)
        self._inverse[active[fit]] = inverse

    def _refresh(self, active: NDArray[np.intp]) -> None:
        for column in active:
            hessian = self._among.objective.hessian(self._theta[:, column])
            self._inverse[column] = _inverse(hessian, self._least)

    def _verify(self) -> None:
        """Look at the loss of every inner point, and bring home what rounding left outside."""
        among = self._among
        self.points = among.verified(self.points)
        step = self.points - among.centre[:, None]
        self.inner = np.einsum("ij,ij->j", self._directions, step)


def _inverse(hessian: FloatArray, least: float) -> FloatArray:
    """Inverse (p, p), with directions flatter than ``least`` as soft as that."""
    curvature, vectors = np.linalg.eigh(hessian)
    floor = max(_FLAT * float(curvature[-1]), least)
    return np.asarray((vectors / np.maximum(curvature, floor)) @ vectors.T)


def _least_curvature(among: LevelSet) -> float:
    """Curvature that uses up a millionth of the room from one end of the ball to the other."""
    if np.isfinite(among.reach.radius):
        return _FLAT_SHARE * among.room / among.reach.radius**2
    return 0.0
