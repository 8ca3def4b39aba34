"""Exact model class reliance for squared loss."""

from dataclasses import dataclass, replace

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.measures.features import Columns
from rashomon_explorer.measures.reliance.level_set import (
    CertifiedMinimum,
    Extreme,
    Quadratic,
    SquareMoments,
    ascend_in_level_set,
    least_on_intersection,
    project_to_level_set,
)
from rashomon_explorer.measures.reliance.tree_reliance import problem_task
from rashomon_explorer.problem.problem import Problem

_ROUNDING = 1e-12  # of the loss of the zero model: sums of n terms are right to 1e-15 of it
_CLOSED = 1e-8
_HALVINGS = 200  # more than any width of doubles takes
_STEPS = 40


@dataclass(frozen=True)
class SquareClass:
    """Squared-loss models within ``level``, and the reliance of each on some columns."""

    problem: Problem  # of squared loss
    level: float  # largest loss of the set
    ratio: bool
    moments: SquareMoments
    # rise, original: e_switch − e_orig and e_orig
    rise: Quadratic
    original: Quadratic
    # within, ball: the set's constraints, ≤ 0
    within: Quadratic
    ball: Quadratic
    floor: float  # least e_orig of any model at all

    @classmethod
    def of(cls, problem: Problem, psi: float, columns: Columns, *, ratio: bool) -> "SquareClass":
        """Reliance on ``columns`` over {L ≤ min L + ψ}."""
        task = problem_task(problem, problem.minimum.theta[None])
        moments = SquareMoments.of(task.rows, task.targets)
        original, eye = moments.original(), np.eye(problem.p)
        level = problem.minimum.value + psi
        ridge = Quadratic(eye * problem.ridge / 2, np.zeros(problem.p), -level)
        fit, *_ = np.linalg.lstsq(moments.gram, moments.cross, rcond=None)
        floor = float(original(np.asarray(fit, dtype=float)[:, None])[0])
        if ratio and floor <= _ROUNDING * moments.energy:
            raise ValueError(
                "some model fits these rows without loss, so that a ratio to its loss does not "
                "exist: use form='difference'"
            )
        return cls(
            problem=problem,
            level=level,
            ratio=ratio,
            moments=moments,
            rise=moments.rise(columns),
            original=original,
            within=(1 / psi) * (original + ridge),
            ball=Quadratic(eye / problem.domain.radius**2, np.zeros(problem.p), -1.0),
            floor=floor,
        )

    def on(self, columns: Columns) -> "SquareClass":
        """Reliance of the same models on other columns."""
        return replace(self, rise=self.moments.rise(columns))

    def extreme(self, sign: int) -> Extreme:
        """Greatest sign·(e_switch − e_orig), or sign·(e_switch/e_orig − 1), over the set."""
        theta, attained, bound = self._bracket(sign, self.problem.minimum.theta)
        if bound - attained > _CLOSED * (1 + abs(attained)):
            theta = ascend_in_level_set(
                self.problem, self.level, theta, lambda one: self._value_and_gradient(sign, one)
            )
            attained = self._value(sign, theta)
        return Extreme(theta, attained, max(attained, bound))

    def _bracket(self, sign: int, theta: FloatArray) -> Extreme:
        if not self.ratio:
            least = self._least(sign, 0.0)
            theta = self._best(sign, least, theta)
            return Extreme(theta, self._value(sign, theta), -least.bound + self._pad)
        for _ in range(_STEPS):
            share = self._value(sign, theta)
            theta = self._best(sign, self._least(sign, share), theta)
            attained = self._value(sign, theta)
            if attained <= share + 1e-14 * (1 + abs(share)):
                break
        return Extreme(theta, attained, self._ratio_bound(sign, attained))

    @property
    def _pad(self) -> float:
        return _ROUNDING * (self.original.constant + self.level)

    def _least(self, sign: int, share: float) -> CertifiedMinimum:
        objective = share * self.original - float(sign) * self.rise
        return least_on_intersection(objective, self.within, self.ball)

    def _best(self, sign: int, least: CertifiedMinimum, theta: FloatArray) -> FloatArray:
        """Best of a model and the candidates, each pulled inside."""
        inside = project_to_level_set(self.problem, self.level, least.points)
        every = np.column_stack([theta, inside])
        return every[:, int(np.argmax([self._value(sign, one) for one in every.T]))]

    def _value(self, sign: int, theta: FloatArray) -> float:
        rise = sign * float(self.rise(theta[:, None])[0])
        return rise / float(self.original(theta[:, None])[0]) if self.ratio else rise

    def _value_and_gradient(self, sign: int, theta: FloatArray) -> tuple[float, FloatArray]:
        value = self._value(sign, theta)
        slope = 2 * sign * (self.rise.matrix @ theta + self.rise.vector)
        if not self.ratio:
            return value, slope
        below = 2 * (self.original.matrix @ theta + self.original.vector)
        return value, (slope - value * below) / float(self.original(theta[:, None])[0])

    def _ratio_bound(self, sign: int, attained: float) -> float:
        """Least t found with a certified max (sign·rise − t·e_orig) ≤ 0."""
        over = -self._least(sign, attained).bound + self._pad
        # e_orig ≥ floor: raising t by over/floor takes at least ``over`` off the maximum.
        high = attained + max(0.0, over) / self.floor

        def closed(t: float) -> bool:
            return -self._least(sign, t).bound + self._pad <= 0

        near = _CLOSED * (1 + abs(attained))
        return bisect(closed, high, attained, halvings=_HALVINGS, width=near)
