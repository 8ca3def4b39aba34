"""Part of an exact set that left-out columns leave, and its best model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.ranges.level_set import EllipsoidReach

_MARGIN = 1e-12  # of an objective, relative: far above the rounding of a sum over rows


@dataclass(frozen=True)
class BestModel:
    """Least-loss model of a region, with a proof."""

    theta: FloatArray  # (p,): of the whole problem, 0 for left-out columns
    value: float  # its objective
    bound: float  # no model of the region has a smaller objective


@dataclass(frozen=True, eq=False)
class Region:
    """Models of an exact set that use some of its columns."""

    problem: Any  # a PenalisedProblem
    psi: float
    columns: Mask  # (width,): columns of its rows that a model may use

    def using(self, columns: Mask) -> Region:
        """Region of the models that use no other than these columns."""
        return replace(self, columns=self.columns & columns)

    @property
    def level(self) -> float:
        """Largest objective of a model of the set."""
        return float(self.problem.minimum.value) + self.psi

    @property
    def parameters(self) -> Mask:
        """Parameters (p,) of the columns that a model may use."""
        return np.tile(self.columns, self.problem.loss.outputs)

    @cached_property
    def restricted(self) -> Any:
        """Problem of the columns that a model may use."""
        problem = self.problem
        if self.columns.all():
            return problem
        used, n_columns = self.parameters, len(problem.feature_names)
        names = zip(problem.feature_names, self.columns[:n_columns], strict=True)
        return replace(
            problem,
            rows=problem.rows[:, self.columns],
            ridges=problem.ridges[used],
            l1=None if problem.l1 is None else problem.l1[used],
            feature_names=tuple(name for name, used_column in names if used_column),
        )

    @cached_property
    def best(self) -> BestModel:
        """Model of least objective, in the set or outside."""
        minimum, every = self.restricted.minimum, np.zeros(self.problem.p)
        every[self.parameters] = minimum.theta
        bound = minimum.value - minimum.gap - _MARGIN * (1 + abs(minimum.value))
        return BestModel(every, float(minimum.value), float(bound))

    def reach(self) -> EllipsoidReach:
        """Ellipsoid around the restricted minimum that contains the region."""
        room = max(self.level - self.restricted.minimum.value, 0.0)
        reach: EllipsoidReach = self.restricted.outer_reach(room + _MARGIN * (1 + abs(self.level)))
        return reach
