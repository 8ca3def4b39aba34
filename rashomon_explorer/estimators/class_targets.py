"""Targets that are classes: declared, known from a schema, or found and then public."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.estimators.block_table import BlockTable, ClassCodes
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
from rashomon_explorer.estimators.paying import PaysForRows
from rashomon_explorer.estimators.unread import UnreadTable
from rashomon_explorer.losses import LogisticLoss, Loss, SoftmaxLoss
from rashomon_explorer.privacy import Guarantee


class ClassTargets(PaysForRows):
    """What two classifiers share; of two classes the second is the positive one."""

    if TYPE_CHECKING:
        classes: Any

    def _loss_of(self, n_classes: int | None) -> Loss:
        if n_classes is None:
            known = self._known_classes()
            n_classes = 2 if known is None else len(known)
        return LogisticLoss() if n_classes == 2 else SoftmaxLoss(n_classes)

    def _posed(self, table: UnreadTable | BlockTable) -> Loss:
        return self._loss_of(len(self._labels(table)))

    def _public(self, table: UnreadTable | BlockTable) -> dict[str, Any]:
        return {**super()._public(table), "classes_": self._labels(table)}

    def _labels(self, table: UnreadTable | BlockTable) -> NDArray[Any]:
        """Return the declared classes; without a ledger, those that occur."""
        known = self._known_classes()
        if known is None and isinstance(table, BlockTable):
            raise ValueError(CLASSES_OF_BLOCKS)
        if self.ledger is not None:
            check_charged_classes(self.classes, self._declared)
        if known is not None:
            return known
        assert isinstance(table, UnreadTable)
        return found_classes(table.values[1])

    def _known_classes(self) -> NDArray[Any] | None:
        """Classes that were declared here or by the schema."""
        return known_classes(self.classes, self._declared)

    def _targets(self, table: UnreadTable) -> FloatArray:
        labels = table.values[1]
        check_labels(labels)
        classes = self._labels(table)
        codes = class_codes(labels, classes)
        return 2 * codes - 1 if len(classes) == 2 else codes

    def _target_step(self) -> ClassCodes:
        classes = self._known_classes()
        assert classes is not None  # asked for beforehand
        return ClassCodes(classes, self._declared)

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        stated = super()._stated(guarantee)
        if not classes_found(self.classes, self._declared):
            return stated
        return replace(stated, assumptions=(*stated.assumptions, LABELS_ARE_PUBLIC))
