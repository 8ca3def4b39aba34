"""The gradient over all rows, plain or lazy, in double or single precision."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.minimum import Objective
from rashomon_explorer.planning.sensitivity import data_slope, gradient_sensitivity
from rashomon_explorer.samplers.drift.base import Gradient
from rashomon_explorer.samplers.drift.columns import Columns
from rashomon_explorer.samplers.drift.gibbs import GibbsDrift
from rashomon_explorer.samplers.drift.interior import minimiser_inside
from rashomon_explorer.samplers.drift.rounding import SinglePrecision
from rashomon_explorer.samplers.drift.slack import Slack
from rashomon_explorer.threshold import HardThreshold, NoThreshold, SmoothThreshold

_DOUBLE_ERROR = 1e-9  # of 1 + loss: a sum of a million terms is right to 1e-10 of it


@dataclass(frozen=True)
class FullDrift(GibbsDrift):
    """Gradient of a hard or smooth thresholded loss over all rows.

    Parameters
    ----------
    target : GibbsTarget
    precision : {"double", "single"}, default="double"
        Precision of the work on rows. Single is about twice as fast; what it may add to the
        difference between neighbours is part of the sensitivity.
    lazy : bool, default=True
        Whether to leave out the rows for chains that are certainly inside the Rashomon set. The
        path is the same to the last bit.
    """

    precision: str = "double"
    lazy: bool = True

    @property
    def largest_step(self) -> float:
        """2/(βM'), with M' = M + L²/s the smoothness of the energy, and M for the hard one.

        Infinite for a loss with kinks, whose subgradients are bounded but jump at any step.
        """
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
        """1 for the smooth threshold, max{|1 − hβm|, |1 − hβM|} without one.

        Raises
        ------
        ValueError
            For the hard threshold, single precision, and a step that is not stable.
        """
        if isinstance(self.target.shape, HardThreshold) or not np.isfinite(self.target.problem.M):
            raise ValueError(
                "the gradient of a hard threshold or of a loss with kinks jumps, so that steps do "
                'not contract: take threshold="smooth" and a smooth loss, ψ = 0, or shown="path"'
            )
        if self._rounding:
            raise ValueError(
                "rounding in single precision is only priced for the path: take "
                'precision="double" or shown="path"'
            )
        if step_size > self.largest_step:
            raise ValueError(f"step_size must be at most {self.largest_step:.3g}, got {step_size}")
        if isinstance(self.target.shape, NoThreshold):
            problem, pace = self.target.problem, step_size * self.beta
            return max(abs(1 - pace * problem.m), abs(1 - pace * problem.M))
        return 1.0

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the gradient, which remembers where each chain was last evaluated if lazy."""
        if isinstance(self.target.shape, NoThreshold):
            return self._unthresholded
        # On a device, asking which chains to look at would cost the time that it saves.
        lazy = self.lazy and self.arrays.on_host
        curvature = self.target.problem.curvature_bound() if lazy else None
        if curvature is None:
            return self._thresholded
        slack = Slack(curvature, self._rounding.slope if self._rounding else 0.0)
        return lambda theta: self._lazily(theta, slack)

    def _unthresholded(self, theta: FloatArray) -> FloatArray:
        return self.beta * self._columns.value_and_gradient(theta)[1]

    def _thresholded(self, theta: FloatArray) -> FloatArray:
        value, gradient = self._columns.value_and_gradient(theta)
        return self._weighted(value, gradient)

    def _lazily(self, theta: FloatArray, slack: Slack) -> FloatArray:
        # The plain path would compute a loss below the edge, whatever rounding does to it.
        look = slack.upper(theta) >= self._edge - self._error(self._edge)
        drift = np.zeros_like(theta)
        if look.any():
            # Each chain at its own place: rows decide who is looked at, never how one is rounded.
            numbers = np.flatnonzero(look)
            value, gradient = self._host_columns.value_and_gradient(theta[:, look], numbers)
            slack.note(look, theta, value + self._error(value), gradient)
            drift[:, look] = self._weighted(value, gradient)
        return drift

    def _weighted(self, value: FloatArray, gradient: FloatArray) -> FloatArray:
        return gradient * (self.beta * self.target.shape.slope(value - self._edge))

    @property
    def _columns(self) -> Columns | Objective:
        problem = self.target.problem
        return self._host_columns if problem.arrays.on_host else problem.on_device

    @cached_property
    def _host_columns(self) -> Columns:
        dtype: Any = np.float32 if self._rounding else np.float64
        problem = self.target.problem
        return Columns(problem.evaluator(dtype).value_and_gradient, problem.n)

    @cached_property
    def _edge(self) -> float:
        return self.target.problem.minimum.value + self.target.psi

    @cached_property
    def _rounding(self) -> SinglePrecision | None:
        return SinglePrecision.of(self.target.problem) if self.precision == "single" else None

    def _error(self, value: FloatArray | float) -> FloatArray | float:
        """More than what rounding does to a computed loss."""
        share, cell = _DOUBLE_ERROR, _DOUBLE_ERROR
        if self._rounding:
            share, cell = share + 2 * self._rounding.share, cell + 2 * self._rounding.cell
        return share * value + cell

    @property
    def _width(self) -> float:
        shape = self.target.shape
        return shape.width if isinstance(shape, SmoothThreshold) else 0.0
