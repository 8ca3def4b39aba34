"""Class reliance under logistic loss."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import cast

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.measures.inputs import Columns
from rashomon_explorer.measures.reliance import level_set, pair_losses
from rashomon_explorer.measures.reliance.level_set import Extreme, Quadratic
from rashomon_explorer.measures.reliance.pair_losses import SoftplusKernel, slope
from rashomon_explorer.measures.reliance.set_reliance import problem_task
from rashomon_explorer.problem import minimisation
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.base import EmpiricalLoss
from rashomon_explorer.problem.problem import Problem

_ROUNDS = 60
_ROUNDING = 1e-12


def outer_ellipsoid(problem: Problem, psi: float) -> Quadratic:
    """Quadratic that is ≤ 0 on {L ≤ min L + ψ}.

    With h = θ − θ* and d_i ≥ |z_i·h|, a row's loss exceeds its tangent by at least q_i(z_i·h)²,
    q_i = max{σ'(a_i)(e^{−d_i} + d_i − 1)/d_i², ½·min σ'(a_i ± d_i)}, a_i the score of θ* (first
    term: docs/theory.md §3). So hᵀ(2K + (ridge + λ)I)h ≤ 2(ψ + slack), K the mean of q_i z_i z_iᵀ
    and λ the ball's multiplier. Each round lowers the d_i; the first ones are the exact sampler's.
    """
    best, rows = problem.minimum, problem.rows
    scores = rows @ best.theta
    matrix, reach = _first(problem, psi)
    distance = np.minimum(
        np.linalg.norm(rows, axis=1) * problem.domain.diameter, reach * _lengths(rows, matrix)
    )
    room = 2 * (psi + best.slack + best.gap) + _ROUNDING
    size = reach**2
    for _ in range(_ROUNDS):
        curved = (rows.T * (2 * _least_curvature(scores, distance) / problem.n)) @ rows
        new = curved + (problem.ridge + best.multiplier) * np.eye(problem.p)
        if np.linalg.eigvalsh(new)[0] <= 1e-12 * np.linalg.norm(new):
            break
        closer = np.sqrt(room) * _lengths(rows, new)
        if (closer >= distance * (1 - 1e-4)).all():
            break
        matrix, size = new, room
        distance = np.minimum(distance, closer)
    matrix = matrix / size
    turned = matrix @ best.theta
    return Quadratic(matrix, -turned, float(best.theta @ turned) - 1.0)


def _first(problem: Problem, psi: float) -> tuple[FloatArray, float]:
    """Metric and radius of the exact sampler's certified excess bound."""
    # Local import: only this bound needs the mechanism.
    from rashomon_explorer.mechanisms.rejection.envelope import Envelope
    from rashomon_explorer.mechanisms.target import GibbsTarget

    envelope = Envelope.of(GibbsTarget(problem, problem.p / psi, psi))
    stretched = envelope.vectors * (envelope.curvature + envelope.least_pad)
    return stretched @ envelope.vectors.T, envelope.outer_radius(psi)


def _lengths(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """√(zᵀM⁻¹z) (n,): the largest |z·h| subject to hᵀMh ≤ 1."""
    return np.asarray(np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(matrix, rows.T))))


def _least_curvature(scores: FloatArray, distance: FloatArray) -> FloatArray:
    d = np.maximum(distance, 1e-8)
    own = expit(scores) * expit(-scores)
    # For small d the difference cancels; 1/2 − d/6 is a lower bound.
    shape = np.where(d < 1e-3, 0.5 - d / 6, (np.expm1(-d) + d) / d**2)
    ends = np.minimum(*(expit(s) * expit(-s) for s in (scores - d, scores + d)))
    return np.maximum(own * shape, ends / 2)


@dataclass(frozen=True)
class SwitchedLogistic:
    """e_switch(θ) = mean over i ≠ j of log(1 + e^s) − y_i·s, s = z_{i,R}·θ_R + z_{j,S}·θ_S."""

    rows: FloatArray  # (n, p)
    codes: FloatArray  # (n,): 1 for the positive class, 0 for the other
    columns: Columns  # S

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        """Number of parameters."""
        return int(self.rows.shape[1])

    def value(self, theta: FloatArray) -> FloatArray:
        """e_switch (K,) of each column of ``theta`` (p, K)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """e_switch (K,) and its gradient (p, K) for each column of ``theta`` (p, K)."""
        pairs = [self._one(model) for model in theta.T]
        return np.array([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs], axis=1)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of e_switch at one model (p,)."""
        return self.weighted(theta, pair_losses.curvature)

    def weighted(self, theta: FloatArray, weight: pair_losses.Function) -> FloatArray:
        """Mean over i ≠ j of weight(s_ij)·z_ij z_ijᵀ, with z_ij the switched row; (p, p)."""
        kernel, scores = self._kernel(theta)
        own = weight(scores)
        moved, rest = self.columns, self._rest
        stay, move = self._stay, self._move
        total = np.zeros((self.p, self.p))
        total[np.ix_(rest, rest)] = (stay.T * (kernel.of_left(weight) - own)) @ stay
        total[np.ix_(moved, moved)] = (move.T * (kernel.of_right(weight) - own)) @ move
        across = kernel.between(weight, stay, move) - (stay.T * own) @ move
        total[np.ix_(rest, moved)], total[np.ix_(moved, rest)] = across, across.T
        return total / self._pairs

    @cached_property
    def _rest(self) -> Columns:
        return np.setdiff1d(np.arange(self.p), self.columns)

    @cached_property
    def _stay(self) -> FloatArray:
        """Columns (n, p − |S|) that are not switched."""
        return np.asfortranarray(self.rows[:, self._rest])

    @cached_property
    def _move(self) -> FloatArray:
        """Switched columns (n, |S|)."""
        return np.asfortranarray(self.rows[:, self.columns])

    @cached_property
    def _linear(self) -> FloatArray:
        """Sum (p,) over pairs of the switched rows of the positive class."""
        linear = np.zeros(self.p)
        linear[self._rest] = (self.n - 1) * (self.codes @ self._stay)
        linear[self.columns] = (self.codes.sum() - self.codes) @ self._move
        return linear

    @property
    def _pairs(self) -> int:
        return self.n * (self.n - 1)

    def _kernel(self, theta: FloatArray) -> tuple[SoftplusKernel, FloatArray]:
        move = self._move @ theta[self.columns]
        stay = self._stay @ theta[self._rest]
        return SoftplusKernel.of(stay, move), stay + move

    def _one(self, theta: FloatArray) -> tuple[float, FloatArray]:
        kernel, scores = self._kernel(theta)
        total = kernel.total(pair_losses.softplus) - float(pair_losses.softplus(scores).sum())
        gradient, own = np.zeros(self.p), slope(scores)
        gradient[self._rest] = (kernel.of_left(slope) - own) @ self._stay
        gradient[self.columns] = (kernel.of_right(slope) - own) @ self._move
        value = total - float(self._linear @ theta)
        return value / self._pairs, (gradient - self._linear) / self._pairs


_GAP = 1e-9  # duality gap of each convex programme, in nats
_CLOSED = 1e-8
_SEARCH = 60
_HALVINGS = 20
_FAR = 1e6
_MIXTURES = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class LogisticClass:
    """Logistic models within ``level``, and their reliance on some columns."""

    problem: Problem  # of logistic loss
    psi: float
    ratio: bool
    switched: SwitchedLogistic  # e_switch
    # Of all groups of columns: the loss of one model, and an ellipsoid around the set.
    loss: level_set.LastCallCache
    outer: Quadratic

    @classmethod
    def of(cls, problem: Problem, psi: float, columns: Columns, *, ratio: bool) -> "LogisticClass":
        """Reliance on ``columns`` over {L ≤ min L + ψ}."""
        task = problem_task(problem, problem.minimum.theta[None])
        switched = SwitchedLogistic(task.rows, task.targets, columns)
        loss, outer = level_set.model_loss(problem), outer_ellipsoid(problem, psi)
        return cls(problem, psi, ratio, switched, loss, outer)

    def on(self, columns: Columns) -> "LogisticClass":
        """Reliance of the same models on other columns."""
        return replace(self, switched=replace(self.switched, columns=columns))

    def extreme(self, sign: int) -> Extreme:
        """Greatest sign·(e_switch − e_orig), or sign·(e_switch/e_orig − 1), over the set."""
        return self._greatest() if sign > 0 else self._least()

    @property
    def level(self) -> float:
        """Largest loss of the set."""
        return self.problem.minimum.value + self.psi

    def value_and_gradient(self, sign: int, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at one model (p,) of the objective of :meth:`extreme`."""
        switched, its_slope = level_set.at_model(self.switched, theta)
        original, slope = self._original(theta)
        rise, rise_slope = switched - original, its_slope - slope
        if not self.ratio:
            return sign * rise, sign * rise_slope
        share = rise / original
        return sign * share, sign * (rise_slope - share * slope) / original

    def _original(self, theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.loss(theta)
        ridge = self.problem.ridge
        return value - ridge / 2 * float(theta @ theta), gradient - ridge * theta

    def _climb(self, sign: int, starts: list[FloatArray]) -> tuple[FloatArray, float]:
        width = np.sqrt(np.diag(np.linalg.inv(self.outer.matrix)))
        around = (partial(self.value_and_gradient, sign), width, self.loss)
        found = [
            level_set.ascend_in_level_set(self.problem, self.level, one, *around) for one in starts
        ]
        values = [self.value_and_gradient(sign, one)[0] for one in found]
        place = int(np.argmax(values))
        return found[place], values[place]

    def _least(self) -> Extreme:
        found, dual = self._least_switched(0.0 if self.ratio else self.problem.ridge)
        bound = (self.level - dual) / (self.level if self.ratio else 1.0)
        theta = level_set.project_to_level_set(self.problem, self.level, found.theta[:, None])[:, 0]
        attained = self.value_and_gradient(-1, theta)[0]
        if bound - attained > _CLOSED:  # the loss constraint is inactive at the least reliant model
            theta, attained = self._climb(-1, [theta, *self._steps()])
            bound = min(bound, self._touching_bound(-1, theta, attained))
        return Extreme(theta, attained, max(attained, bound + _ROUNDING))

    def _least_switched(self, ridge: float) -> tuple[minimisation.Minimum, float]:
        """Minimiser and certified minimum of e_switch + ½·ridge·‖θ‖² over the set."""
        multiplier, best, low, high = 0.0, -np.inf, 0.0, np.inf
        found = self._lagrangian(0.0, ridge, self.problem.minimum.theta)
        tried: list[tuple[float, float]] = []
        for _ in range(_SEARCH):
            excess = float(self.problem.value(found.theta[:, None])[0]) - self.problem.minimum.value
            best = max(best, found.value - found.gap - multiplier * self.level)
            over = excess - self.psi
            if multiplier * abs(over) <= _CLOSED and (multiplier > 0 or over <= 0):
                break
            low, high = (multiplier, high) if over > 0 else (low, multiplier)
            tried = [*tried[-1:], (multiplier, 1 / np.sqrt(max(excess, 1e-300)))]
            multiplier = _next(low, high, tried, 1 / np.sqrt(self.psi))
            found = self._lagrangian(multiplier, ridge, found.theta)
        return found, best

    def _lagrangian(
        self, multiplier: float, ridge: float, start: FloatArray
    ) -> minimisation.Minimum:
        """Certified minimum over the domain of e_switch + multiplier·L + ½·ridge·‖θ‖²."""
        # The minimiser only uses the loss's value, gradient and Hessian.
        loss = cast(EmpiricalLoss, _Sum(self.switched, self.problem, multiplier))
        objective, tolerance = minimisation.MinimisedObjective(loss, ridge), _GAP * (1 + multiplier)
        if isinstance(self.problem.domain, Ball):
            return minimisation.minimise_on_ball(objective, self.problem.domain, tolerance, start)
        return minimisation.minimise(objective, self.problem.domain, tolerance)

    def _greatest(self) -> Extreme:
        theta, attained = self._climb(1, [self.problem.minimum.theta, *self._steps()])
        bound = self._touching_bound(1, theta, attained)
        return Extreme(theta, attained, max(attained, bound + _ROUNDING))

    def _steps(self) -> list[FloatArray]:
        """Models at the ends of the set along the steepest rise and its reverse."""
        best = self.problem.minimum.theta
        rise = level_set.at_model(self.switched, best)[1] - self._original(best)[1]
        steepest = np.linalg.lstsq(self.outer.matrix, rise, rcond=None)[0]
        size = self.problem.domain.diameter / max(float(np.linalg.norm(steepest)), 1e-300)
        both = best[:, None] + size * np.outer(steepest, (1.0, -1.0))
        return list(level_set.project_to_level_set(self.problem, self.level, both).T)

    def _touching_bound(self, sign: int, theta: FloatArray, attained: float) -> float:
        """Certified upper bound: the smallest over touching points, mixtures and constraints."""
        bounds = self._bounds(theta)
        if not self.ratio:
            return min(bound.greatest(self.outer, sign, 1.0) for bound in bounds)
        start = max(attained, 0.0) if sign > 0 else min(attained, 1.0)
        # e_orig enters sign·rise − t·e_orig with the weight −(sign + t).
        best = min(bounds, key=lambda bound: bound.greatest(self.outer, sign, 1 + sign * start))
        low = high = start
        step = _CLOSED
        while best.greatest(self.outer, sign, 1 + sign * high) > 0:
            low, high, step = high, high + step, 4 * step
            if sign < 0 and high >= 1.0:
                return 1.0  # losses are nonnegative
            if high > _FAR:  # the lower tangent of e_orig is negative within the outer set
                return np.inf

        def closed(t: float) -> bool:
            return best.greatest(self.outer, sign, 1 + sign * t) <= 0

        return bisect(closed, high, low, halvings=_HALVINGS)

    def _bounds(self, theta: FloatArray) -> list["_Touching"]:
        best = self.problem.minimum.theta
        radius, eye = self.problem.domain.radius, np.eye(self.problem.p)
        ball = Quadratic(eye / radius**2, np.zeros(self.problem.p), -1.0)
        at_best = _Touching.of(self, best, ball)
        bounds = []
        for centre in (best, (best + theta) / 2, theta):
            loss, slope = self.loss(centre)
            behind = (1 / self.psi) * _tangent(centre, loss - self.level, slope)
            touching = at_best if centre is best else _Touching.of(self, centre, ball)
            for other in (behind, ball):
                one = replace(touching, within=other)
                bounds += [one.mixed(at_best, share) for share in _MIXTURES]
        return bounds


@dataclass(frozen=True)
class _Touching:
    """Quadratic upper and tangent lower bounds of e_switch and e_orig, and an outer set."""

    # above, below: bounds of e_switch and e_orig
    above: tuple[Quadratic, Quadratic]
    below: tuple[Quadratic, Quadratic]
    within: Quadratic  # ≤ 0 on the Rashomon set

    @classmethod
    def of(cls, models: LogisticClass, centre: FloatArray, within: Quadratic) -> "_Touching":
        """Bounds that all touch at one model (p,)."""
        rows = models.switched.rows
        weights = pair_losses.majorant(rows @ centre)[:, None] / (2 * len(rows))
        curved = (
            models.switched.weighted(centre, pair_losses.majorant) / 2,
            (rows * weights).T @ rows,
        )
        values = level_set.at_model(models.switched, centre), models._original(centre)
        below = [_tangent(centre, value, slope) for value, slope in values]
        above = [
            low + _around(matrix, np.zeros(len(centre)), 0.0, centre)
            for low, matrix in zip(below, curved, strict=True)
        ]
        return cls((above[0], above[1]), (below[0], below[1]), within)

    def mixed(self, other: "_Touching", share: float) -> "_Touching":
        """Replace the lower bounds by mixtures of both tangents."""
        both = [share * a + (1 - share) * b for a, b in zip(self.below, other.below, strict=True)]
        return _Touching(self.above, (both[0], both[1]), self.within)

    def greatest(self, outer: Quadratic, sign: int, weight: float) -> float:
        """Upper bound on sign·(e_switch − weight·e_orig) over the set, weight ≥ 0."""
        first, second = (
            (self.above[0], self.below[1]) if sign > 0 else (self.below[0], self.above[1])
        )
        objective = float(sign) * (weight * second - first)
        return -level_set.least_on_intersection(objective, outer, self.within).bound


class _Sum:
    """e_switch + multiplier·L, as an objective's loss."""

    def __init__(self, switched: SwitchedLogistic, problem: Problem, multiplier: float) -> None:
        self._switched, self._problem, self._multiplier = switched, problem, multiplier
        self.n, self.p = problem.n, problem.p

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        first = self._switched.value_and_gradient(theta)
        second = self._problem.value_and_gradient(theta)
        return first[0] + self._multiplier * second[0], first[1] + self._multiplier * second[1]

    def hessian(self, theta: FloatArray) -> FloatArray:
        both = self._switched.hessian(theta), self._problem.hessian(theta)
        return both[0] + self._multiplier * both[1]


def _next(low: float, high: float, tried: list[tuple[float, float]], target: float) -> float:
    """Next trial multiplier, by the secant of 1/√excess or between the known ends."""
    if len(tried) == 2 and tried[1][1] != tried[0][1]:
        (first, at_first), (second, at_second) = tried
        guess = second + (target - at_second) * (second - first) / (at_second - at_first)
        if low < guess < high:
            return guess
    if np.isinf(high):
        return max(1.0, 4 * low)
    return float(np.sqrt(low * high)) if low > 0 else high / 4


def _around(
    matrix: FloatArray, vector: FloatArray, constant: float, centre: FloatArray
) -> Quadratic:
    """hᵀPh + 2q·h + r with h = θ − centre, as a function of θ."""
    turned = matrix @ centre
    return Quadratic(
        matrix, vector - turned, constant + float(centre @ turned) - 2 * float(vector @ centre)
    )


def _tangent(centre: FloatArray, value: float, slope: FloatArray) -> Quadratic:
    return _around(np.zeros((len(centre), len(centre))), slope / 2, value, centre)
