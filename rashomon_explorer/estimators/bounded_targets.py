"""Targets that are numbers within declared bounds, mapped onto [−1, 1]."""

from typing import TYPE_CHECKING

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.clipping import warn_if_clipped
from rashomon_explorer.estimators.block_table import OnUnit
from rashomon_explorer.estimators.paying import PaysForRows
from rashomon_explorer.estimators.unread import UnreadTable

UNSAID = (-1.0, 1.0)
"""Bounds of targets where nobody declares any."""


class BoundedTargets(PaysForRows):
    """What two regressors share."""

    _numeric = True

    if TYPE_CHECKING:
        target_bounds: tuple[float, float]

    def _targets(self, table: UnreadTable) -> FloatArray:
        low, high = self._target_bounds()
        targets = table.values[1].astype(float)
        self._say_beyond(float(((targets < low) | (targets > high)).mean()))
        held = np.clip(targets, low, high)  # or mapping may overflow
        return np.asarray((held - (low + high) / 2) / ((high - low) / 2))

    def _target_step(self) -> OnUnit:
        return OnUnit(*self._target_bounds())

    def _say_beyond(self, share: float) -> None:
        low, high = self._target_bounds()
        warn_if_clipped(
            share,
            f"targets are outside target_bounds=({low:g}, {high:g})",
            "Declare the range that targets can have.",
        )

    def _target_bounds(self) -> tuple[float, float]:
        bounds = np.asarray(self._given_bounds(), dtype=float)
        wide = bounds.shape == (2,) and 0 < float(bounds[1]) / 2 - float(bounds[0]) / 2 < 1e300
        if not wide or not np.isfinite(bounds).all():
            raise ValueError(
                f"target_bounds must be (low, high) with low < high, got {self.target_bounds!r}"
            )
        return float(bounds[0]), float(bounds[1])

    def _given_bounds(self) -> tuple[float, float]:
        declared = self._declared
        if declared is not None and declared.classes is not None:
            raise ValueError(
                f"the schema's target has the levels {list(declared.classes)}: draw with "
                f"{type(self).__name__.replace('Regressor', 'Classifier')}, or declare its bounds"
            )
        of_schema = None if declared is None else declared.target_bounds
        if of_schema is None:
            return self.target_bounds
        if tuple(self.target_bounds) not in (UNSAID, of_schema):
            raise ValueError(
                f"target_bounds are {self.target_bounds!r} and the schema's target has "
                f"{of_schema}: leave target_bounds out"
            )
        return of_schema
