"""Targets of the private estimators: classes, declared or found, and bounded numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from rashomon_explorer._utils.arrays import FloatArray, scale_targets, unscale_targets
from rashomon_explorer._utils.validation import accepts_table
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import warn_if_clipped
from rashomon_explorer.data.schema import labels_unconfirmed
from rashomon_explorer.estimators.base import BasePrivateEstimator, PlanT, with_parameters
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.losses import Loss, logistic, softmax

LABELS_ARE_PUBLIC = "the labels that occur in y are public"
"""Assumption of guarantees when the classes are read from the rows."""

LABELS_ARE_NUMBERED = (
    "the type of y is public: whole numbers, in which a meta-estimator coded the labels that occur"
)
"""Assumption of guarantees of a fit to numbers of the declared labels."""

CLASSES_BEFORE_LABELS = (
    "the ledger is charged before a label is read, so the classes must be declared: "
    "classes=[...] with every label that may occur, or a schema whose target has levels"
)
UNDECLARED_CLASSES_OF_CHUNKS = (
    "chunked rows are not read to find the classes: declare them, classes=[...], or in a schema"
)


def known_classes(classes: ArrayLike | None, schema: TableSchema | None) -> NDArray[Any] | None:
    """Return the sorted labels declared by ``classes`` or by the schema's target, or None."""
    if schema is not None and schema.target_bounds is not None:
        raise ValueError(
            f"the schema's target {schema.target.name!r} is a number: draw with "  # type: ignore[union-attr]
            "RashomonRegressor or fit a DPRegressor, or declare its levels"
        )
    levels = None if schema is None else schema.classes
    schema_classes = None if levels is None else declared_classes(levels)
    if classes is None:
        return schema_classes
    declared = declared_classes(classes)
    if labels_unconfirmed(schema):  # an explicit declaration overrides levels found in the rows
        return declared
    if schema_classes is not None and declared.tolist() != schema_classes.tolist():
        raise ValueError(
            f"classes are {declared.tolist()} and the schema's target has "
            f"{schema_classes.tolist()}: leave classes out"
        )
    return declared


def classes_found(classes: ArrayLike | None, schema: TableSchema | None) -> bool:
    """Whether the classes come from labels, in ``y`` or in a schema proposed from rows."""
    if classes is not None:
        return False
    return schema is None or schema.classes is None or labels_unconfirmed(schema)


def check_charged_classes(classes: ArrayLike | None, schema: TableSchema | None) -> None:
    """Raise if classes were found in the rows and a ledger is to be charged."""
    if not classes_found(classes, schema):
        return
    if schema is None or schema.target is None or not labels_unconfirmed(schema):
        raise ValueError(CLASSES_BEFORE_LABELS)
    if schema.leak:
        return
    name = schema.target.name
    raise ValueError(
        f"{CLASSES_BEFORE_LABELS}. The levels of {name!r} in this schema were read off the rows: "
        f"if they are public knowledge, confirm them, schema.confirm({name!r})"
    )


def declared_classes(classes: ArrayLike) -> NDArray[Any]:
    """Sort declared labels, as scikit-learn does."""
    labels = np.asarray(classes)
    one_kind = labels.ndim == 1 and labels.dtype.kind in "biufUS"
    if not one_kind or labels.tolist() != list(classes):  # type: ignore[arg-type]
        raise ValueError(f"classes must be labels of one kind, text or numbers, got {classes!r}")
    distinct = np.unique(labels)
    if len(distinct) < 2 or len(distinct) < len(labels):
        raise ValueError(f"classes must be at least two labels, each named once, got {classes!r}")
    return distinct


def found_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Sorted distinct labels of ``y``."""
    check_labels(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class, {classes.tolist()[0]!r}: two classes are needed. If others could "
            "occur, declare them all: classes=[...]"
        )
    return classes


def check_labels(y: NDArray[Any]) -> None:
    """Raise if ``y`` is no classification target, or has labels that cannot be sorted."""
    try:
        check_classification_targets(y)
    except TypeError as error:
        raise ValueError(
            "y holds labels of several types, such as None and text: drop such rows, or convert "
            "all labels to text"
        ) from error


def class_codes(y: NDArray[Any], classes: NDArray[Any]) -> FloatArray:
    """Codes 0, 1, … of labels (n,) in the order of ``classes``, as floats for the loss."""
    code_of_label = {label: code for code, label in enumerate(classes.tolist())}
    labels, rows = np.unique(y, return_inverse=True)
    strange = [label for label in labels.tolist() if label not in code_of_label]
    if strange:
        raise ValueError(
            f"y holds {strange[0]!r}, which is not among the declared classes {[*code_of_label]}: "
            "declare it, or leave its rows out"
        )
    codes = np.array([code_of_label[label] for label in labels.tolist()], dtype=float)
    return codes[rows.reshape(-1)]


@dataclass(frozen=True, eq=False)
class ClassCodes:
    """Step that codes labels as 0, 1, …, or as −1 and 1 for a loss of two classes."""

    classes: NDArray[Any]
    signed: bool

    def __call__(self, rows: FloatArray, labels: Any) -> tuple[FloatArray, FloatArray]:
        """Return the unchanged rows, and the codes (m,)."""
        labels = np.asarray(labels)
        check_labels(labels)
        codes = class_codes(labels, self.classes)
        return rows, 2 * codes - 1 if self.signed else codes


@dataclass(frozen=True)
class UnitTargets:
    """Step that maps targets from declared bounds onto [−1, 1]."""

    low: float
    high: float

    def __call__(self, rows: FloatArray, targets: Any) -> tuple[FloatArray, FloatArray]:
        """Return the unchanged rows, and the clipped and mapped targets (m,)."""
        values = np.asarray(targets, dtype=np.float64)
        clipped = np.clip(values, self.low, self.high)  # first: mapping may overflow
        return rows, scale_targets(clipped, (self.low, self.high))

    def count_outside(self, rows: FloatArray, targets: Any) -> tuple[FloatArray]:
        """Return the number (1,) of targets outside the bounds."""
        values = np.asarray(targets, dtype=np.float64)
        return (np.array([np.sum((values < self.low) | (values > self.high))], dtype=float),)


@with_parameters
class ClassTargets(ClassifierMixin, BasePrivateEstimator[PlanT]):
    """Targets of classifiers; of two classes the second is the positive one."""

    classes: ArrayLike | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"classes": ["array-like", None]}

    if TYPE_CHECKING:
        classes_: NDArray[Any] = field(init=False)

    @accepts_table
    def plan(
        self, n_samples: int, n_features: int | None = None, n_classes: int | None = None
    ) -> PlanT:
        """Return the plan for a table of this shape; reads no row and has no privacy cost.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or the table itself: only its shape is read. A schema
            determines the number of encoded columns; n_features may then be omitted.
        n_classes : int, optional
            Public number of classes; by default taken from ``classes`` or the schema, else 2.

        Returns
        -------
        plan
            What ``fit`` stores as ``plan_``; errors and warnings are those of any estimator.
        """
        planned = self._planned(n_samples, self._n_encoded(n_features), n_classes)
        self._warn(planned)
        return planned

    def __sklearn_tags__(self) -> Tags:
        """Declare poor scores: the default ε does not suffice for three classes on few rows."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _loss_for(self, n_classes: int | None) -> Loss:
        if n_classes is None:
            classes = self._known_classes()
            n_classes = 2 if classes is None else len(classes)
        return logistic.LogisticLoss() if n_classes == 2 else softmax.SoftmaxLoss(n_classes)

    def _n_classes(self, table: TableAdapter) -> int:
        return len(self._labels(table))

    def _table(self, X: Any, y: Any) -> TableAdapter:
        table, classes = super()._table(X, y), self._known_classes()
        if classes is not None and len(classes) == 2 and classes.dtype.kind in "US":
            table.words = classes
        return table

    def _after_reading(self, guarantee: Guarantee, table: TableAdapter) -> Guarantee:
        if not table.is_numbered:
            return guarantee
        return replace(guarantee, assumptions=(*guarantee.assumptions, LABELS_ARE_NUMBERED))

    def _labels(self, table: TableAdapter) -> NDArray[Any]:
        """Return the declared classes; if undeclared and without a ledger, those in the labels."""
        classes = self._known_classes()
        if classes is None and table.is_chunked:
            raise ValueError(UNDECLARED_CLASSES_OF_CHUNKS)
        if self.ledger is not None:
            check_charged_classes(self.classes, self._declared)
        return found_classes(table.values[1]) if classes is None else classes

    def _known_classes(self) -> NDArray[Any] | None:
        return known_classes(self.classes, self._declared)

    def _target_step(self, table: TableAdapter) -> ClassCodes:
        classes = self._labels(table)
        return ClassCodes(classes, signed=len(classes) == 2)

    def _public_attributes(self, table: TableAdapter) -> dict[str, Any]:
        classes = np.array([0, 1]) if table.is_numbered else self._labels(table)
        return {**super()._public_attributes(table), "classes_": classes}

    def _linear_attributes(self, theta: FloatArray) -> dict[str, Any]:
        every = theta if len(theta) == 1 else np.vstack([np.zeros_like(theta[:1]), theta])
        return {"encoded_coef_": every[:, :-1], "encoded_intercept_": every[:, -1]}

    def _assumptions(self) -> list[str]:
        from_labels = classes_found(self.classes, self._declared)
        return [*([LABELS_ARE_PUBLIC] if from_labels else []), *super()._assumptions()]


@with_parameters
class BoundedTargets(RegressorMixin, BasePrivateEstimator[PlanT]):
    """Targets of regressors: numbers within declared bounds."""

    target_bounds: tuple[float, float] | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"target_bounds": ["array-like", None]}

    def __sklearn_tags__(self) -> Tags:
        """Declare poor scores: noise exceeds what few rows tell."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    @property
    def _numeric(self) -> bool:
        return True

    def _table(self, X: Any, y: Any) -> TableAdapter:
        self._target_bounds()  # raises before a value is read
        return super()._table(X, y)

    def _target_step(self, table: TableAdapter) -> UnitTargets:
        return UnitTargets(*self._target_bounds())

    def _warn_clipped_targets(self, table: TableAdapter) -> None:
        low, high = self._target_bounds()
        warn_if_clipped(
            table.share(UnitTargets(low, high).count_outside),
            f"targets are outside target_bounds=({low:g}, {high:g})",
            "Declare the range that targets can have.",
        )

    def _linear_attributes(self, theta: FloatArray) -> dict[str, Any]:
        low, high = self._target_bounds()
        (coef,) = theta
        return {
            "encoded_coef_": coef[:-1] * ((high - low) / 2),
            "encoded_intercept_": float(unscale_targets(coef[-1], (low, high))),
        }

    def _typical_target(self) -> tuple[float, float] | None:
        declared = self._declared
        typical = None if declared is None else getattr(declared.target, "typical", None)
        if typical is None:
            return None
        low, high = self._target_bounds()
        middle, half = (typical[0] + typical[1]) / 2, (typical[1] - typical[0]) / 2
        return (2 * middle - low - high) / (high - low), 2 * half / math.sqrt(3) / (high - low)

    def _target_bounds(self) -> tuple[float, float]:
        return target_bounds(self.target_bounds, self._declared, type(self).__name__)


def target_bounds(
    declared: tuple[float, float] | None, schema: TableSchema | None, estimator: str
) -> tuple[float, float]:
    """Return the range of the target declared by ``target_bounds`` or by the schema."""
    if schema is not None and schema.classes is not None:
        raise ValueError(
            f"the schema's target has the levels {list(schema.classes)}: draw with "
            f"{estimator.replace('Regressor', 'Classifier')}, or declare its bounds"
        )
    schema_bounds = None if schema is None else schema.target_bounds
    if declared is None and schema_bounds is None:
        raise ValueError(
            f"{estimator} needs the range that targets can have, which is never computed from the "
            f"rows: set target_bounds=(low, high), or a schema that declares the target's bounds"
        )
    if declared is not None and schema_bounds is not None and tuple(declared) != schema_bounds:
        raise ValueError(
            f"target_bounds are {declared!r} and the schema's target has "
            f"{schema_bounds}: leave target_bounds out"
        )
    bounds = np.asarray(declared if schema_bounds is None else schema_bounds, dtype=float)
    wide = bounds.shape == (2,) and 0 < float(bounds[1]) / 2 - float(bounds[0]) / 2 < 1e300
    if not wide or not np.isfinite(bounds).all():
        raise ValueError(f"target_bounds must be (low, high) with low < high, got {declared!r}")
    return float(bounds[0]), float(bounds[1])
