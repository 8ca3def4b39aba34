"""Mixins for targets: classes and bounded numbers."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data.cells import warn_if_clipped
from rashomon_explorer.estimators.base import BasePrivateEstimator
from rashomon_explorer.estimators.classes import (
    CLASSES_OF_BLOCKS,
    LABELS_ARE_PUBLIC,
    check_charged_classes,
    check_labels,
    class_codes,
    classes_found,
    found_classes,
    known_classes,
)
from rashomon_explorer.estimators.tables import ChunkedTable, ClassCodes, LazyTable, OnUnit
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss


class ClassTargets(BasePrivateEstimator):
    """Targets of classifiers; of two classes the second is the positive one."""

    if TYPE_CHECKING:
        classes: Any

    def _loss_of(self, n_classes: int | None) -> Loss:
        if n_classes is None:
            known = self._known_classes()
            n_classes = 2 if known is None else len(known)
        return LogisticLoss() if n_classes == 2 else SoftmaxLoss(n_classes)

    def _posed(self, table: LazyTable | ChunkedTable) -> Loss:
        return self._loss_of(len(self._labels(table)))

    def _public(self, table: LazyTable | ChunkedTable) -> dict[str, Any]:
        return {**super()._public(table), "classes_": self._labels(table)}

    def _labels(self, table: LazyTable | ChunkedTable) -> NDArray[Any]:
        """Return the declared classes; if undeclared and without a ledger, those in the labels."""
        known = self._known_classes()
        if known is None and isinstance(table, ChunkedTable):
            raise ValueError(CLASSES_OF_BLOCKS)
        if self.ledger is not None:
            check_charged_classes(self.classes, self._declared)
        if known is not None:
            return known
        assert isinstance(table, LazyTable)
        return found_classes(table.values[1])

    def _known_classes(self) -> NDArray[Any] | None:
        """Classes declared by ``classes`` or by the schema."""
        return known_classes(self.classes, self._declared)

    def _targets(self, table: LazyTable) -> FloatArray:
        labels = table.values[1]
        check_labels(labels)
        classes = self._labels(table)
        codes = class_codes(labels, classes)
        return 2 * codes - 1 if len(classes) == 2 else codes

    def _target_step(self) -> ClassCodes:
        classes = self._known_classes()
        assert classes is not None  # checked by _labels
        return ClassCodes(classes, self._declared)

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        stated = super()._stated(guarantee)
        if not classes_found(self.classes, self._declared):
            return stated
        return replace(stated, assumptions=(*stated.assumptions, LABELS_ARE_PUBLIC))


UNSAID = (-1.0, 1.0)
"""Default bounds of targets."""


class BoundedTargets(BasePrivateEstimator):
    """Targets of regressors: numbers within declared bounds."""

    _numeric = True

    if TYPE_CHECKING:
        target_bounds: tuple[float, float]

    def _targets(self, table: LazyTable) -> FloatArray:
        low, high = self._target_bounds()
        targets = table.values[1].astype(float)
        self._warn_clipped_targets(float(((targets < low) | (targets > high)).mean()))
        held = np.clip(targets, low, high)  # otherwise mapping may overflow
        return np.asarray((held - (low + high) / 2) / ((high - low) / 2))

    def _target_step(self) -> OnUnit:
        return OnUnit(*self._target_bounds())

    def _warn_clipped_targets(self, share: float) -> None:
        low, high = self._target_bounds()
        warn_if_clipped(
            share,
            f"targets are outside target_bounds=({low:g}, {high:g})",
            "Declare the range that targets can have.",
        )

    def _target_bounds(self) -> tuple[float, float]:
        bounds = np.asarray(self._bounds(), dtype=float)
        wide = bounds.shape == (2,) and 0 < float(bounds[1]) / 2 - float(bounds[0]) / 2 < 1e300
        if not wide or not np.isfinite(bounds).all():
            raise ValueError(
                f"target_bounds must be (low, high) with low < high, got {self.target_bounds!r}"
            )
        return float(bounds[0]), float(bounds[1])

    def _bounds(self) -> tuple[float, float]:
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
