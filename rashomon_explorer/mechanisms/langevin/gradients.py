"""Gradients that noisy paths follow, each with the public constants of its certificate."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.mechanisms import noisy_descent
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, gradient_sensitivity
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem import thresholds
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss, clipped
from rashomon_explorer.problem.losses.base import STACK_COLUMNS, stack_rows
from rashomon_explorer.problem.losses.chunked import ChunkedRisk
from rashomon_explorer.problem.losses.scores import ScoreRisk
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import Problem


class Gradient(Protocol):
    """Gradient of β·energy along one run; it may keep a state between steps."""

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) at the states (p, K) of the K chains; called once per step."""
        ...


@dataclass(frozen=True)
class Drift:
    """Gradient on a target that reads rows, with the public constants of its certificate."""

    target: GibbsTarget

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.target.problem.p

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        return self.target.beta

    @property
    def diameter(self) -> float:
        """Diameter of the domain."""
        return self.target.problem.domain.diameter

    @property
    def largest_step(self) -> float:
        """Largest step at which the noiseless path is stable; infinite if none is known."""
        raise NotImplementedError

    def sensitivity(self, n_steps: int) -> float:
        """Root mean square, over ``n_steps`` steps, of the change of gradient/β by a record."""
        raise NotImplementedError

    def contraction(self, step_size: float) -> float:
        """Factor c ≤ 1 by which a noiseless step contracts the distance of any two models."""
        raise NotImplementedError

    def path_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        """Guarantee of all states of chains of these steps."""
        return noisy_descent.path_guarantee(
            beta=self.beta,
            sensitivity=self.sensitivity(max(n_steps, 1)),
            step_size=step_size,
            n_steps=n_steps,
            n_chains=n_chains,
        )

    def last_state_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        """Guarantee of the last states only; ValueError if there is none."""
        return noisy_descent.last_iterate_guarantee(
            beta=self.beta,
            sensitivity=self.sensitivity(n_steps),
            step_size=step_size,
            n_steps=n_steps,
            n_chains=n_chains,
            contraction=self.contraction(step_size),
            diameter=self.diameter,
        )

    def run(self, rng: np.random.Generator) -> Gradient:
        """Gradient for one run; ``rng`` is for noise that does not depend on records."""
        raise NotImplementedError

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest points of the domain."""
        return self.target.problem.domain.project(theta)

    def value(self, theta: FloatArray) -> FloatArray:
        """Losses over all rows (curator)."""
        return self.target.problem.value(theta)


def minimiser_inside(problem: Problem) -> bool:
    """Whether the global minimiser is in the ball for every data set."""
    if not isinstance(problem.domain, Ball):
        return False
    pull = problem.ridge * problem.domain.radius
    return pull > 0 and pull >= problem.L - pull


_WIDTH = 32  # models in a group; a multiple of it for few rows, fewer only if there are fewer
_FEWEST_CELLS, _WIDEST = 2**15, 1024


class Columns:
    """Loss evaluated on groups of a fixed number of models; the last group is padded."""

    def __init__(
        self, value_and_gradient: Callable[[FloatArray], tuple[FloatArray, FloatArray]], n_rows: int
    ) -> None:
        self._evaluate = value_and_gradient
        self.width = min(max(1, _FEWEST_CELLS // (n_rows * _WIDTH)) * _WIDTH, _WIDEST)

    def value_and_gradient(
        self, theta: NDArray[Any], which: Mask | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Losses (K,) and gradients (p, K) of some columns of ``theta``, all by default."""
        p, count = theta.shape
        # Rows decide which models are evaluated, so that the width depends on all of them.
        width = min(self.width, count) if self.width == _WIDTH else self.width
        numbers = np.arange(count) if which is None else np.flatnonzero(which)
        group, place = _places(numbers, width)
        stack = np.zeros((int(group.max()) + 1, p, width))
        stack[group, :, place] = theta[:, numbers].T
        at_once = max(1, STACK_COLUMNS // width)
        lows = range(0, len(stack), at_once)
        parts = [self._evaluate(stack[low : low + at_once]) for low in lows]
        value = np.concatenate([part[0] for part in parts])[group, place]
        gradient = np.concatenate([part[1] for part in parts])[group, :, place]
        return value, np.ascontiguousarray(gradient.T)


def _places(numbers: NDArray[np.integer[Any]], width: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Group and position of each model; the position is its number modulo the width."""
    place = numbers % width
    order = np.argsort(place, kind="stable")
    counts = np.bincount(place, minlength=width)
    before = np.cumsum(counts) - counts
    group = np.empty(len(numbers), dtype=np.intp)
    group[order] = np.arange(len(numbers)) - before[place[order]]
    return group, place


_UNIT = 2.0**-24  # float32 rounds to half a unit of 2⁻²³
_LARGEST = 1e9  # squares of scores, summed over a chunk and times a row, stay below 3e38
_CELL = 128.0  # roundings of a group of 16 exponentials, their product and its logarithm


@dataclass(frozen=True)
class SinglePrecision:
    """Bounds on the effect of float32 on the difference between neighbours."""

    # gradient, value: bounds for the gradient and for the loss
    gradient: float
    value: float
    # share, cell: γ + c and c: a computed loss v has an error of at most (γ + c)(v + c) + c, as its
    # terms are positive
    share: float
    cell: float
    # bound on the error of a computed gradient: L(γ + 2c), and the effect of a score's error on a
    # slope
    slope: float

    @classmethod
    def of(cls, problem: Problem) -> "SinglePrecision":
        """Bounds for a problem; reads no row."""
        _check_range(problem)
        n = problem.n
        rows = min(n, stack_rows(n))
        gamma = rows * _UNIT / (1 - rows * _UNIT)
        reach = problem.domain.reach(problem.row_bound)
        cell = _UNIT * (_CELL + (problem.p + 2) * max(reach, 1.0))
        # At score 0 a loss is at most 1, the logarithm of the number of classes, or its slope
        # times the largest target.
        target = getattr(problem.loss, "target_bound", 0.0)
        at_0 = 1 + math.log1p(problem.loss.outputs) + problem.loss.lipschitz(target, 1.0) * target
        bend = problem.loss.smoothness(1.0) * _UNIT * (problem.p + 2) * reach
        largest_loss = at_0 + problem.loss.lipschitz(reach, 1.0) * reach
        in_block = rows * gamma + cell
        return cls(
            gradient=2 * problem.L / n * in_block,
            value=2 * largest_loss / n * in_block,
            share=gamma + cell,
            cell=cell,
            slope=problem.L * (gamma + 2 * cell) + problem.row_bound * bend,
        )


def _check_range(problem: Problem) -> None:
    reach = problem.domain.reach(problem.row_bound)
    sizes = (problem.row_bound, problem.domain.radius, reach)
    most = max(*sizes, getattr(problem.loss, "target_bound", 0.0))
    if most > _LARGEST:
        raise ValueError(
            f"rows, models, targets and scores of size {most:.3g} are too large for single "
            f"precision, which is accounted for up to {_LARGEST:g}: use "
            'precision="double", or scale the features by their public ranges'
        )


class Slack:
    """Upper bounds on losses, from each chain's last evaluation."""

    def __init__(self, curvature: FloatArray, slope_error: float = 0.0) -> None:
        self._curvature = curvature
        self._slope_error = slope_error
        self._value = np.empty(0)

    def upper(self, theta: FloatArray) -> FloatArray:
        """Upper bounds (K,) on the losses of the chains' states (p, K)."""
        if not len(self._value):
            return np.full(theta.shape[1], np.inf)
        moved = theta - self._anchor
        slope = self._gradient + (self._curvature @ moved) / 2
        bound = self._value + np.einsum("ij,ij->j", moved, slope)
        if self._slope_error:
            bound += self._slope_error * np.sqrt(np.einsum("ij,ij->j", moved, moved))
        return np.asarray(bound)

    def note(
        self, evaluated: Mask, theta: FloatArray, value: FloatArray, gradient: FloatArray
    ) -> None:
        """Store the chains that were evaluated at ``theta`` (p, K)."""
        if not len(self._value):
            self._value = np.full(theta.shape[1], np.inf)
            self._anchor, self._gradient = np.zeros_like(theta), np.zeros_like(theta)
        self._value[evaluated] = value
        self._anchor[:, evaluated] = theta[:, evaluated]
        self._gradient[:, evaluated] = gradient


_DOUBLE_ERROR = 1e-9  # of 1 + loss: a sum of a million terms has a relative error of 1e-10


@dataclass(frozen=True)
class FullDrift(Drift):
    """Gradient of a hard or smooth thresholded loss over all rows."""

    precision: str = "double"
    lazy: bool = True

    @property
    def largest_step(self) -> float:
        """2/(βM'), with M' = M + L²/s the smoothness of the energy, and M for the hard one."""
        if not np.isfinite(self.target.problem.M):
            return np.inf
        width = self._width
        bend = self.target.problem.L**2 / width if width else 0.0
        return 2 / (self.beta * (self.target.problem.M + bend))

    def sensitivity(self, n_steps: int) -> float:
        """Δ of :func:`gradient_sensitivity`, the same in every step."""
        problem = self.target.problem
        error = self._rounding
        return gradient_sensitivity(
            problem.constants,
            self.target.psi,
            width=self._width,
            interior=minimiser_inside(problem),
            gradient_error=error.gradient if error else 0.0,
            value_error=error.value if error else 0.0,
            data_slope=data_slope(problem.constants, problem.domain),
        )

    def contraction(self, step_size: float) -> float:
        """1 for the smooth threshold, max{|1 − hβm|, |1 − hβM|} without one."""
        if isinstance(self.target.shape, thresholds.HardThreshold) or not np.isfinite(
            self.target.problem.M
        ):
            raise ValueError(
                "a hard threshold or a loss with kinks has no continuous gradient, so that steps "
                'do not contract: use threshold="smooth" and a smooth loss, ψ = 0, or shown="path"'
            )
        if self._rounding:
            raise ValueError(
                "rounding in single precision is only accounted for in the path: use "
                'precision="double" or shown="path"'
            )
        if step_size > self.largest_step:
            raise ValueError(f"step_size must be at most {self.largest_step:.3g}, got {step_size}")
        if isinstance(self.target.shape, thresholds.NoThreshold):
            problem, pace = self.target.problem, step_size * self.beta
            return max(abs(1 - pace * problem.m), abs(1 - pace * problem.M))
        return 1.0

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the gradient; if lazy, it stores where each chain was last evaluated."""
        if isinstance(self.target.shape, thresholds.NoThreshold):
            return self._unthresholded
        curvature = self.target.problem.curvature_bound() if self.lazy else None
        if curvature is None:
            return self._thresholded
        slack = Slack(curvature, self._rounding.slope if self._rounding else 0.0)
        return lambda theta: self._lazily(theta, slack)

    def _unthresholded(self, theta: FloatArray) -> FloatArray:
        # Every step evaluates all chains: rows do not decide how they are rounded.
        return self.beta * self._objective.gradient(theta)

    def _thresholded(self, theta: FloatArray) -> FloatArray:
        value, gradient = self._columns.value_and_gradient(theta)
        return self._weighted(value, gradient)

    def _lazily(self, theta: FloatArray, slack: Slack) -> FloatArray:
        # Chains that are skipped have a computed loss below the edge, for any rounding.
        look = slack.upper(theta) >= self._edge - self._error(self._edge)
        drift = np.zeros_like(theta)
        if look.any():
            # Fixed positions: rows decide which chains are evaluated, not how they are rounded.
            value, gradient = self._columns.value_and_gradient(theta, look)
            slack.note(look, theta, value + self._error(value), gradient)
            drift[:, look] = self._weighted(value, gradient)
        return drift

    def _weighted(self, value: FloatArray, gradient: FloatArray) -> FloatArray:
        return gradient * (self.beta * self.target.shape.slope(value - self._edge))

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self._objective.value_and_gradient, self.target.problem.n)

    @cached_property
    def _objective(self) -> MinimisedObjective:
        problem, dtype = self.target.problem, np.float32 if self._rounding else np.float64
        return problem.evaluator(dtype)

    @cached_property
    def _edge(self) -> float:
        return self.target.problem.minimum.value + self.target.psi

    @cached_property
    def _rounding(self) -> SinglePrecision | None:
        return SinglePrecision.of(self.target.problem) if self.precision == "single" else None

    def _error(self, value: FloatArray | float) -> FloatArray | float:
        """Upper bound on the rounding error of a computed loss."""
        share, cell = _DOUBLE_ERROR, _DOUBLE_ERROR
        if self._rounding:
            share, cell = share + 2 * self._rounding.share, cell + 2 * self._rounding.cell
        return share * value + cell

    @property
    def _width(self) -> float:
        shape = self.target.shape
        return shape.width if isinstance(shape, thresholds.SmoothThreshold) else 0.0


@dataclass(frozen=True)
class ClippedDrift(Drift):
    """Gradient of the target's loss with clipped slopes, at ψ = 0."""

    most: float

    @cached_property
    def followed(self) -> Loss:
        """Loss with clipped slopes, whose gradient it is."""
        found = clipped(self.target.problem.loss, self.most)
        if found is None:
            raise ValueError(f"{self.target.problem.loss.name} loss has no form with clipped slope")
        return found

    @cached_property
    def constants(self) -> Constants:
        """Public constants of the clipped loss."""
        problem = self.target.problem
        return Constants.from_loss(
            self.followed,
            n=problem.n,
            p=problem.p,
            domain=problem.domain,
            row_bound=problem.row_bound,
            ridge=problem.ridge,
        )

    @property
    def largest_step(self) -> float:
        """2/(βM)."""
        return 2 / (self.beta * self.constants.M)

    def sensitivity(self, n_steps: int) -> float:
        """2·most·B/n, the same in every step."""
        return data_slope(self.constants, self.target.problem.domain)

    def contraction(self, step_size: float) -> float:
        """max{|1 − hβm|, |1 − hβM|}."""
        pace = step_size * self.beta
        return max(abs(1 - pace * self.constants.m), abs(1 - pace * self.constants.M))

    def run(self, rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
        """Return the gradient, which keeps no state."""
        problem = self.target.problem
        risk = problem.mean_loss(self.followed)
        assert isinstance(risk, ScoreRisk | ChunkedRisk)
        return lambda theta: self.beta * (risk.gradient(theta) + problem.ridge * theta)
