"""Class reliance under logistic loss."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import Columns
from rashomon_explorer.measures.ranges import level_set as ellipsoids
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.reliance import level_set, pair_losses
from rashomon_explorer.measures.reliance.pair_losses import SoftplusKernel, slope
from rashomon_explorer.measures.reliance.set_reliance import problem_task
from rashomon_explorer.mechanisms.rejection.envelope import Envelope
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem import minimisation
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.base import EmpiricalLoss
from rashomon_explorer.problem.problem import Problem

_ROUNDING = 1e-12


def outer_ellipsoid(problem: Problem, psi: float) -> level_set.Quadratic:
    """Quadratic that is ≤ 0 on {L ≤ min L + ψ}, from another certified bound."""
    best, rows = problem.minimum, problem.rows
    matrix, reach, slack = _first(problem, psi)
    ellipsoid = ellipsoids.refined_ellipsoid(
        ellipsoids.Ellipsoid(matrix, reach**2),
        rows,
        rows @ best.theta,
        row_weights(problem),
        np.diag(np.broadcast_to(problem.ridge + best.multiplier, (problem.p,))),
        2 * (psi + slack) + _ROUNDING,
        distance=np.linalg.norm(rows, axis=1) * problem.domain.diameter,
    )
    matrix = ellipsoid.matrix / ellipsoid.size
    turned = matrix @ best.theta
    return level_set.Quadratic(matrix, -turned, float(best.theta @ turned) - 1.0)


def row_weights(problem: Problem) -> FloatArray:
    """Weights (n,) of the rows in the objective, of mean 1."""
    weights = getattr(problem, "weights", None)
    return np.ones(problem.n) if weights is None else np.asarray(weights)


def _first(problem: Problem, psi: float) -> tuple[FloatArray, float, float]:
    """Metric and radius of a certified excess bound, and the slack of the best model's slopes."""
    best = problem.minimum
    if isinstance(problem, PenalisedProblem):
        reach, slope = problem.reach(psi), problem.value_and_gradient(best.theta[:, None])[1][:, 0]
        slope = ellipsoids.least_subgradient(slope, best.theta, problem.l1)
        slack = best.gap + reach.extent * float(np.linalg.norm(reach.whiten.T @ slope))
        return np.linalg.inv(reach.whiten @ reach.whiten.T), reach.extent, slack
    envelope = Envelope.of(GibbsTarget(problem, problem.p / psi, psi))
    stretched = envelope.vectors * (envelope.curvature + envelope.least_pad)
    return stretched @ envelope.vectors.T, envelope.outer_radius(psi), best.slack + best.gap


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
        return self.weighted(theta, ellipsoids.curvature)

    def weighted(self, theta: FloatArray, weight: pair_losses.Function) -> FloatArray:
        """Mean over i ≠ j of weight(s_ij)·z_ij z_ijᵀ, with z_ij the switched row; (p, p)."""
        kernel, scores = self._kernel(theta)
        diagonal, weights = weight(scores), weight(kernel.arguments)
        moved, rest = self.columns, self._rest
        stay, move = self._stay, self._move
        total = np.zeros((self.p, self.p))
        total[np.ix_(rest, rest)] = (stay.T * (kernel.left_sums(weights) - diagonal)) @ stay
        total[np.ix_(moved, moved)] = (move.T * (kernel.right_sums(weights) - diagonal)) @ move
        across = kernel.between(weights, stay, move) - (stay.T * diagonal) @ move
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
        return SoftplusKernel.from_scores(stay, move), stay + move

    def _one(self, theta: FloatArray) -> tuple[float, FloatArray]:
        kernel, scores = self._kernel(theta)
        total = kernel.total(pair_losses.softplus(kernel.arguments))
        total -= float(pair_losses.softplus(scores).sum())
        gradient, diagonal, slopes = np.zeros(self.p), slope(scores), slope(kernel.arguments)
        gradient[self._rest] = (kernel.left_sums(slopes) - diagonal) @ self._stay
        gradient[self.columns] = (kernel.right_sums(slopes) - diagonal) @ self._move
        value = total - float(self._linear @ theta)
        return value / self._pairs, (gradient - self._linear) / self._pairs


def nominal_seconds(n: int, p: int, *, quick: bool) -> float:
    """Seconds for the range of one column, by the size of the table alone."""
    first = 0.02 + 1.6e-5 * n + 2.5e-9 * n * p**2 + 8e-9 * p**3
    return first if quick else first + 1e-3 * p**2 + 6e-5 * n


_GAP = 1e-7  # largest duality gap of each convex programme, in nats; most are 1e-15


@dataclass(frozen=True)
class LogisticClass:
    """Logistic models within ``level``, and their reliance on some columns."""

    problem: Problem  # of logistic loss
    psi: float
    ratio: bool
    switched: SwitchedLogistic  # e_switch
    # Of all groups of columns: the loss of one model, and an ellipsoid around the set.
    loss: level_set.ValueAndGradient
    outer: level_set.Quadratic
    quick: bool = False

    @classmethod
    def from_problem(
        cls, problem: Problem, psi: float, columns: Columns, *, ratio: bool
    ) -> LogisticClass:
        """Reliance on ``columns`` over {L ≤ min L + ψ}."""
        task = problem_task(problem, problem.minimum.theta[None])
        switched = SwitchedLogistic(task.rows, task.targets, columns)
        loss, outer = level_set.model_loss(problem), outer_ellipsoid(problem, psi)
        return cls(problem, psi, ratio, switched, loss, outer)

    def on(self, columns: Columns) -> LogisticClass:
        """Reliance of the same models on other columns."""
        return replace(self, switched=replace(self.switched, columns=columns))

    def extreme(self, sign: int) -> level_set.Extreme:
        """Greatest sign·(e_switch − e_orig), or sign·(e_switch/e_orig − 1), over the set."""
        starts = [self.problem.minimum.theta, *self._steps()]
        if not self.quick:
            whiten = np.linalg.cholesky(np.linalg.inv(self.outer.matrix))
            around = (partial(self.value_and_gradient, sign), whiten, self.loss)
            ascend = partial(level_set.ascend_in_level_set, self.problem, self.level)
            starts = [ascend(model, *around) for model in starts]
        values = [self.value_and_gradient(sign, model)[0] for model in starts]
        theta, attained = starts[int(np.argmax(values))], max(values)
        bound = self._bound(sign, theta, attained)
        return level_set.Extreme(theta, attained, max(attained, bound + _ROUNDING))

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
        rows, codes = self.switched.rows, self.switched.codes
        scores = rows @ theta
        value = float(np.mean(pair_losses.softplus(scores) - codes * scores))
        return value, (slope(scores) - codes) @ rows / self.switched.n

    def _steps(self) -> list[FloatArray]:
        """Models at the ends of the set along the steepest rise and its reverse."""
        best = self.problem.minimum.theta
        rise = level_set.at_model(self.switched, best)[1] - self._original(best)[1]
        steepest = np.linalg.lstsq(self.outer.matrix, rise, rcond=None)[0]
        size = self.problem.domain.diameter / max(float(np.linalg.norm(steepest)), 1e-300)
        both = best[:, None] + size * np.outer(steepest, (1.0, -1.0))
        return list(level_set.project_to_level_set(self.problem, self.level, both).T)

    def _bound(self, sign: int, theta: FloatArray, attained: float) -> float:
        """Certified upper bound of the objective of :meth:`extreme`, attained at ``theta``."""
        if not self.ratio:
            return _greatest_rise(self, sign, 1.0, theta)
        best, longest = self.problem.minimum, self.problem.domain.radius
        value, slope = self._original(best.theta)
        # Of e_orig: by its tangent over the ellipsoid, and by the minimum of L.
        smallest_loss = value - float(np.sqrt(slope @ np.linalg.solve(self.outer.matrix, slope)))
        if getattr(self.problem, "l1", None) is None and (row_weights(self.problem) == 1).all():
            penalty = float(np.max(self.problem.ridge)) / 2 * longest**2
            smallest_loss = max(smallest_loss, best.value - best.gap - penalty)
        bound, share = 1.0 if sign < 0 else np.inf, attained  # losses are nonnegative
        for _ in range(_RATIOS):
            over = _greatest_rise(self, sign, 1 + sign * share, theta)
            if over <= 0:
                return min(bound, share)
            if smallest_loss > 0:
                bound = min(bound, share + (over + _ROUNDING) / smallest_loss)
            if over <= _NEAR * self.level:
                break
            share += 1.01 * over / self._original(theta)[0]
        return bound


# Distances of a bound from an attained value, relative to the losses: at the first it is not
# improved, and at the second by slabs alone.
_ENOUGH, _NEAR = 5e-3, 1e-2
_SLABS, _MOST_SLABS = 4, 16
_RATIOS = 4
_BINDS = 1e-3
_BINS, _CELLS, _KAPPAS = 64, 2000, 16
_CELL = 0.05


def _greatest_rise(models: LogisticClass, sign: int, weight: float, theta: FloatArray) -> float:
    """Upper bound of sign·(e_switch − weight·e_orig) over the set, near its value at ``theta``."""
    first = _Lagrangian.at(models, sign, weight, theta)
    attained = first.objective(theta)[0]
    enough = math.inf if models.quick else attained + _ENOUGH * models.level
    bound = first.greatest(theta, enough)
    if bound > attained + _NEAR * models.level:
        multipliers = np.array([0.0 if sign > 0 else weight, first.multipliers[1]])
        second = replace(first, multipliers=multipliers)
        bound = min(bound, second.greatest(theta, enough))
    return bound


@dataclass(frozen=True)
class _Lagrangian:
    """sign·(e_switch − weight·e_orig) + μ(level − L) + ½ν(R² − ‖θ‖²), above its first term on G."""

    models: LogisticClass
    sign: int
    weight: float
    multipliers: FloatArray  # (2,): μ and ν, ≥ 0
    l1_slope: FloatArray  # (p,): a subgradient of the L1 penalty

    @classmethod
    def at(cls, models: LogisticClass, sign: int, weight: float, theta: FloatArray) -> _Lagrangian:
        """Lagrangian with the multipliers of a local maximum (p,)."""
        lagrangian = cls(models, sign, weight, np.zeros(2), np.zeros(len(theta)))
        rise = lagrangian.objective(theta)[1]
        subgradient = level_set.l1_slope(models.problem, models.psi, theta, rise)
        lagrangian = replace(lagrangian, l1_slope=subgradient)
        root = np.linalg.cholesky(np.linalg.inv(models.outer.matrix))
        loss, slope = models.loss(theta)[0], lagrangian._loss(theta)[1]
        binds = models.level - loss < _BINDS * models.psi
        longest = models.problem.domain.radius * (1 - _BINDS)
        touches = float(np.linalg.norm(theta)) > longest
        constraints = np.column_stack([binds * slope, touches * theta])
        multipliers, _ = nnls(root.T @ constraints, root.T @ rise)
        return replace(lagrangian, multipliers=multipliers)

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient of the first term at one model (p,)."""
        switched, slope = level_set.at_model(self.models.switched, theta)
        original, original_slope = self.models._original(theta)
        gradient = self.sign * (slope - self.weight * original_slope)
        return self.sign * (switched - self.weight * original), gradient

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at one model (p,)."""
        models, (mu, nu) = self.models, self.multipliers
        value, gradient = self.objective(theta)
        loss, loss_slope = self._loss(theta)
        value += mu * (models.level - loss)
        value += nu / 2 * (models.problem.domain.radius**2 - float(theta @ theta))
        return value, gradient - mu * loss_slope - nu * theta

    def _loss(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient of L with the subgradient in the place of the L1 penalty."""
        value, slope = self.models.loss(theta)
        l1 = getattr(self.models.problem, "l1", None)
        if l1 is None:
            return value, slope
        value -= float(l1 @ np.abs(theta) - self.l1_slope @ theta)
        return value, slope - l1 * np.sign(theta) + self.l1_slope

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Second derivatives (p, p) at one model (p,)."""
        switched = self.models.switched
        bent = self.kappas * ellipsoids.curvature(switched.rows @ theta) / switched.n
        curved = self.sign * switched.hessian(theta) - (switched.rows.T * bent) @ switched.rows
        return np.asarray(curved - np.diag(self.stiff))

    @cached_property
    def kappas(self) -> FloatArray:
        """Weight κ (n,) of minus each row's loss."""
        return self.sign * self.weight + self.multipliers[0] * row_weights(self.models.problem)

    @cached_property
    def stiff(self) -> FloatArray:
        """Curvature (p,) of the quadratic penalties of both multipliers."""
        (mu, nu), problem = self.multipliers, self.models.problem
        return np.broadcast_to(mu * problem.ridge + nu, (problem.p,))

    def greatest(self, theta: FloatArray, enough: float) -> float:
        """Upper bound over the set; a tighter one is sought until it is at most ``enough``."""
        if self.sign < 0 and self.kappas.min() >= 0:  # G is concave
            problem, tolerance = self.models.problem, _GAP * (1 + float(self.kappas.mean()))
            # The minimiser only uses the loss's value, gradient and Hessian.
            objective = minimisation.MinimisedObjective(cast(EmpiricalLoss, _Negative(self)), 0.0)
            ball = cast(Ball, problem.domain)
            minimum = minimisation.minimise_on_ball(objective, ball, tolerance, theta)
            return minimum.gap - minimum.value
        best = self.models.problem.minimum.theta
        bound = min(self._around(centre) for centre in (best, (best + theta) / 2, theta))
        if bound <= enough or len(self.models.switched.columns) > 1:
            return bound
        return min(bound, _Slabs(self, theta).greatest(enough))

    def _around(self, centre: FloatArray) -> float:
        """Bound by a quadratic that touches G at a model (p,) and is above it on the ellipsoid."""
        models, rows = self.models, self.models.switched.rows
        scores = rows @ centre
        away = np.abs(scores - rows @ models.problem.minimum.theta)
        curvatures = 2 * ellipsoids.least_curvature(
            scores, away + ellipsoids.lengths(rows, models.outer.matrix)
        )
        curved = np.where(self.kappas > 0, curvatures, pair_losses.majorant(scores))
        above = -(rows.T * (self.kappas / len(rows) * curved)) @ rows
        if self.sign > 0:
            above += models.switched.weighted(centre, pair_losses.majorant)
        above -= np.diag(self.stiff)
        touching = _quadratic(above, *self(centre), centre)
        return -level_set.least_on_ellipsoid(-1.0 * touching, models.outer).bound


class _Slabs:
    """Bounds of a Lagrangian with one switched column, between values of its coefficient."""

    def __init__(self, lagrangian: _Lagrangian, theta: FloatArray) -> None:
        models = lagrangian.models
        self._g, self._theta = lagrangian, theta
        switched, matrix = models.switched, models.outer.matrix
        self._best = models.problem.minimum.theta
        self._rest, self._column = switched._rest, int(switched.columns[0])
        self._rows, self._values = switched._stay, switched._move[:, 0]
        self._metric = matrix[np.ix_(self._rest, self._rest)]
        across = matrix[self._rest, self._column]
        # The ellipsoid's slice at a change t of the coefficient has its centre at t·shift.
        self._shift = -np.linalg.solve(self._metric, across)
        self._furthest = 1 / math.sqrt(matrix[self._column, self._column] + across @ self._shift)
        self._lengths = ellipsoids.lengths(self._rows, self._metric)

    def greatest(self, enough: float) -> float:
        """Upper bound over the ellipsoid; slabs are halved until it is at most ``enough``."""
        ends = np.linspace(-self._furthest, self._furthest, _SLABS + 1)
        slabs = [(-self._on_slab(*pair, enough), *pair) for pair in pairwise(ends)]
        heapq.heapify(slabs)
        for _ in range(_MOST_SLABS - _SLABS):
            if -slabs[0][0] <= enough:
                break
            parent, low, high = heapq.heappop(slabs)
            for pair in ((low, (low + high) / 2), ((low + high) / 2, high)):
                heapq.heappush(slabs, (max(parent, -self._on_slab(*pair, enough)), *pair))
        return -slabs[0][0]

    def _on_slab(self, low: float, high: float, enough: float) -> float:
        """Upper bound for changes of the coefficient from ``low`` to ``high``."""
        square, g = self._values**2 / 4, self._g
        curved = float(np.mean((np.maximum(g.kappas, 0.0) + (g.sign < 0)) * square))
        curved += float(g.stiff[self._column])
        above_chord = curved * (high - low) ** 2 / 8
        ends = (self._at(end, low, high, enough - above_chord) for end in (low, high))
        return max(ends) + above_chord

    def _at(self, change: float, low: float, high: float, enough: float) -> float:
        """Upper bound with one coefficient, over all others that occur in a slab."""
        g, best, rest = self._g, self._best, self._rest
        if not len(rest):
            return g(best + change)[0]
        nearest = 0.0 if low < 0 < high else min(abs(low), abs(high))
        size = math.sqrt(max(0.0, 1 - (nearest / self._furthest) ** 2))
        size += (high - low) / 2 * self._length(self._shift)
        centre = best[rest] + (low + high) / 2 * self._shift
        coefficient = best[self._column] + change
        middle, reach = self._rows @ centre, size * self._lengths
        intervals = middle - reach, middle + reach
        weights = largest_weights(self._values, coefficient, intervals, g.sign, g.kappas)
        above = (self._rows.T * (weights / len(weights))) @ self._rows - np.diag(g.stiff[rest])
        region = _around(self._metric, np.zeros(len(rest)), -(size**2), centre)
        step = self._theta[rest] - centre
        step = step + (coefficient - self._theta[self._column]) * self._shift
        # The second derivative is bounded within the region alone.
        point = centre + step * min(1.0, (1 - 1e-9) * size / max(self._length(step), 1e-300))
        bound = np.inf
        for _ in range(2):
            value, gradient = g(np.insert(point, self._column, coefficient))
            touching = _quadratic(above, value, gradient[rest], point)
            minimum = level_set.least_on_ellipsoid(-1.0 * touching, region)
            bound = min(bound, -minimum.bound)
            if bound <= enough:
                break
            step = minimum.points[:, 0] - centre
            point = centre + step * min(1.0, (1 - 1e-9) * size / max(self._length(step), 1e-300))
        return bound

    def _length(self, step: FloatArray) -> float:
        return math.sqrt(float(step @ self._metric @ step))


def largest_weights(
    values: FloatArray,
    coefficient: float,
    intervals: tuple[FloatArray, FloatArray],
    sign: int,
    kappas: FloatArray,
) -> FloatArray:
    """Bounds (n,) of sign·mean_{j≠i} σ'(b + τx_j) − κ_iσ'(b + τx_i) over an interval of b."""
    n, (low, high) = len(values), intervals
    width = max(float(np.ptp(values)), 1e-300) / _BINS
    bins = np.minimum((values - values.min()) / width, _BINS - 1).astype(int)
    # |log σ'| changes by at most 1 per unit, so that a cell's centre stands for it up to a factor.
    cell = max(_CELL, float(high.max() - low.min()) / _CELLS)
    first, last = (((part - low.min()) / cell).astype(int) for part in intervals)
    centres = low.min() + (np.arange(last.max() + 1) + 0.5) * cell
    moves = coefficient * (values.min() + (np.arange(_BINS) + 0.5) * width)
    curvatures = ellipsoids.curvature(moves[:, None] + centres)
    factor = math.exp(cell / 2 + abs(coefficient) * width / 2 + 1e-9)
    mean = sign * (np.bincount(bins, minlength=_BINS) @ curvatures / (n - 1)) * factor**sign
    step, largest = max(float(np.ptp(kappas)), 1e-300) / _KAPPAS, np.empty(n)
    kind = np.floor((kappas - kappas.min()) / step + 1e-6).astype(int)
    for part in np.unique(kind):
        some = np.flatnonzero(kind == part)
        # The mean over j ≠ i is that over all j less the own term.
        kappa = float(kappas[some].min()) + sign / (n - 1)
        weights = mean - kappa * curvatures * factor ** (-1 if kappa > 0 else 1)
        largest[some] = _largest_in_intervals(weights, bins[some], first[some], last[some])
    return largest


def _largest_in_intervals(
    table: FloatArray, rows: NDArray[np.int_], first: NDArray[np.int_], last: NDArray[np.int_]
) -> FloatArray:
    """Largest entry (n,) of ``table[row, first : last + 1]`` for each of n rows and intervals."""
    largest = np.empty(len(rows))
    power = np.log2(last - first + 1).astype(int)
    for k in range(power.max() + 1):
        here = np.flatnonzero(power == k)
        ends = first[here], last[here] - 2**k + 1
        largest[here] = np.maximum(*(table[rows[here], end] for end in ends))
        table = (
            np.maximum(table[:, : -(2**k)], table[:, 2**k :]) if 2**k < table.shape[1] else table
        )
    return largest


class _Negative:
    """−G, as an objective's loss."""

    def __init__(self, lagrangian: _Lagrangian) -> None:
        self._g, problem = lagrangian, lagrangian.models.problem
        self.n, self.p = problem.n, problem.p

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        values, gradients = zip(*map(self._g, theta.T), strict=True)
        return -np.array(values), -np.stack(gradients, axis=1)

    def hessian(self, theta: FloatArray) -> FloatArray:
        return -self._g.hessian(theta)


def _around(
    matrix: FloatArray, vector: FloatArray, constant: float, centre: FloatArray
) -> level_set.Quadratic:
    """hᵀPh + 2q·h + r with h = θ − centre, as a function of θ."""
    turned = matrix @ centre
    return level_set.Quadratic(
        matrix, vector - turned, constant + float(centre @ turned) - 2 * float(vector @ centre)
    )


def _quadratic(
    matrix: FloatArray, value: float, slope: FloatArray, centre: FloatArray
) -> level_set.Quadratic:
    """Quadratic with this second derivative, and this value and slope at its centre."""
    return _around(matrix / 2, slope / 2, value, centre)
