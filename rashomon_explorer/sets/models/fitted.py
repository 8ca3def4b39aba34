"""Models from other libraries."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, read_only_copy
from rashomon_explorer._utils.containers import column_labels, column_order, columns_at
from rashomon_explorer.exceptions import DataError


def one_hot(codes: NDArray[np.int_], n_classes: int) -> FloatArray:
    """Labels as probabilities 0 and 1: of class 1 for two classes, otherwise of each class."""
    return np.asarray(codes if n_classes <= 2 else np.eye(n_classes)[codes], dtype=float)


def check_scores(scores: FloatArray, what: str) -> FloatArray:
    """Return scores; raise if they contain NaN or infinity."""
    strange = np.argwhere(~np.isfinite(scores))
    if len(strange):
        model, row = strange[0][:2]
        raise ValueError(f"{what} hold NaN or infinity for model {model}, row {row}")
    return scores


@dataclass(frozen=True, eq=False)
class FittedModels:
    """Several fitted estimators."""

    kind: ClassVar[str] = "fitted models"

    estimators: tuple[Any, ...]
    classes: tuple[Any, ...]
    columns: tuple[str, ...] = ()  # of the frame that they were first given
    decision: Any = None  # gives labels instead of ``predict``: an object with ``codes``

    def __len__(self) -> int:
        return len(self.estimators)

    def in_order(self, X: Any) -> Any:
        """Return a frame with the columns in the order of the first one's; arrays unchanged."""
        labels = column_labels(X) if self.columns else None
        if labels is None:
            named = isinstance(X, np.ndarray) and X.shape[1:] == (len(self.columns),)
            named = named and all(hasattr(model, "feature_names_in_") for model in self.estimators)
            return pd.DataFrame(X, columns=list(self.columns)) if named else X
        order = column_order(labels, self.columns)
        if order is not None:
            return columns_at(X, order)
        if all(hasattr(model, "feature_names_in_") for model in self.estimators):
            return X  # each finds its columns, or raises
        raise DataError(
            f"X must have the columns {list(self.columns)[:8]}, got {list(labels)[:8]}: the models "
            "were fitted to arrays and know no names of columns"
        )

    @property
    def certain(self) -> bool:
        """Whether some model predicts labels without probabilities."""
        return bool(self.classes) and not all(hasattr(x, "predict_proba") for x in self.estimators)

    def scores(self, X: Any = None) -> FloatArray:
        """Predictions of all models; labels are returned as probabilities 0 and 1."""
        if X is None:
            raise ValueError("fitted models need rows: call scores(X)")
        several = (len(self.classes),) if len(self.classes) > 2 else ()
        n = X.shape[0] if hasattr(X, "shape") else len(X)  # a sparse matrix has no length
        shape = (len(self), n, *several)
        if not len(self):
            return np.empty(shape)
        each = [self._predict(index, model, X) for index, model in enumerate(self.estimators)]
        for index, values in enumerate(each):
            if values.shape != shape[1:]:
                raise ValueError(
                    f"model {index} predicts shape {values.shape} for {n} rows, expected "
                    f"{shape[1:]}"
                )
        return check_scores(np.stack(each), "predictions")

    def labels(self, X: Any = None) -> NDArray[np.int_]:
        """Codes (n_models, n_rows) of the labels that the models predict, by their own rules."""
        if X is None:
            raise ValueError("fitted models need rows: call labels(X)")
        if not self.classes:
            raise TypeError("labels need classes, and these models predict numbers: use scores")
        each = [self._codes(index, model, X) for index, model in enumerate(self.estimators)]
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.array(each, dtype=int).reshape(len(self), n)

    def _codes(self, index: int, model: Any, X: Any) -> NDArray[np.int_]:
        if self.decision is None:
            return class_codes(model.predict(X), self.classes, f"model {index}")
        labels = np.empty(len(self.decision.classes), dtype=object)
        labels[:] = self.decision.classes
        return class_codes(labels[self.decision.codes(model, X)], self.classes, f"model {index}")

    def one_fit_each(self) -> "FittedModels":
        """Return the models so that one fit of each answers for all rows, known or changed."""
        return self

    def complexity(self, tol: float) -> NDArray[np.int_]:
        """Leaves of trees, or number of coefficients above ``tol`` in size."""
        return np.array([self._size(model, tol) for model in self.estimators], dtype=int)

    def take(self, indices: NDArray[np.intp]) -> Self:
        """Return the models at the given indices."""
        return replace(self, estimators=tuple(self.estimators[index] for index in indices))

    @property
    def coef(self) -> FloatArray:
        """Coefficients with the intercept last, of linear models of one shape."""
        parts = []
        for model in self.estimators:
            if hasattr(model, "coef_") and hasattr(model, "intercept_"):
                coef = np.atleast_2d(np.asarray(model.coef_, dtype=float))
                intercept = np.broadcast_to(np.ravel(model.intercept_), (len(coef),))
                parts.append(np.column_stack([coef, intercept]).ravel())
        if len(parts) < len(self) or len({part.shape for part in parts}) != 1:
            raise AttributeError(
                "these models have no common coefficients: each has to be a linear model itself "
                "(in a pipeline coefficients are in the units of the step before)"
            )
        return np.stack(parts)

    def _predict(self, index: int, model: Any, X: Any) -> FloatArray:
        if not self.classes:
            return np.asarray(model.predict(X), dtype=float)
        if not hasattr(model, "predict_proba"):
            return one_hot(self._codes(index, model, X), len(self.classes))
        probabilities = np.asarray(model.predict_proba(X), dtype=float)
        labels = getattr(model, "classes_", None)
        if labels is None:  # as diffprivlib's fitted models may have: the sorted labels
            labels = self.classes
        codes = class_codes(labels, self.classes, f"model {index}")
        if probabilities.ndim != 2 or probabilities.shape[1] != len(codes):
            raise ValueError(
                f"model {index} gives probabilities of shape {probabilities.shape} for "
                f"{len(codes)} classes"
            )
        aligned = np.zeros((len(probabilities), len(self.classes)))
        aligned[:, codes] = probabilities
        return aligned[:, 1] if len(self.classes) == 2 else aligned

    def _size(self, model: Any, tol: float) -> int:
        if hasattr(model, "get_n_leaves"):
            return int(model.get_n_leaves())
        last = model[-1] if hasattr(model, "named_steps") else model
        coef = getattr(last, "encoded_coef_", None)
        if coef is not None or hasattr(last, "coef_"):
            return int((np.abs(np.asarray(last.coef_ if coef is None else coef)) > tol).sum())
        if hasattr(last, "get_n_leaves"):
            return int(last.get_n_leaves())
        raise TypeError(f"the size of a {type(last).__name__} is unknown")


def class_codes(labels: Any, classes: tuple[Any, ...], what: str) -> NDArray[np.int_]:
    """Find the indices of labels among the classes."""
    code = {label: k for k, label in enumerate(classes)}
    array = np.asarray(labels)
    strange = [label for label in np.unique(array).tolist() if label not in code]
    if strange:
        raise ValueError(f"{what} holds the class {strange[0]!r}, which is not in {list(classes)}")
    codes = np.array([code[label] for label in array.ravel().tolist()], dtype=int)
    return codes.reshape(array.shape)


@dataclass(frozen=True, eq=False)
class StoredPredictions:
    """Stored predictions of models that are not available."""

    kind: ClassVar[str] = "stored predictions"

    values: FloatArray
    rows: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", read_only_copy(self.values))

    def __len__(self) -> int:
        return len(self.values)

    def scores(self, X: Any = None) -> FloatArray:
        """Return the stored predictions."""
        if X is None or (self.rows and fingerprint(X) == self.rows):
            return self.values
        rows = "other rows than those" if self.rows else "rows, which were not stored with the set"
        raise ValueError(
            f"these are predictions stored for {self.values.shape[1]} rows, and X holds {rows}; "
            "leave X out to get them, or build the set with from_estimators to predict other rows"
        )

    def complexity(self, tol: float) -> NDArray[np.int_]:
        """Raise a TypeError: predictions do not determine the size of a model."""
        raise TypeError("stored predictions do not determine how simple the models are")

    def take(self, indices: NDArray[np.intp]) -> Self:
        """Return the models at the given indices."""
        return replace(self, values=self.values[indices])

    def to_parts(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Arrays and JSON values for a file."""
        return {"values": self.values}, {"rows": self.rows}

    @classmethod
    def from_parts(cls, arrays: dict[str, FloatArray], values: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_parts`."""
        return cls(arrays["values"], values["rows"])


def fingerprint(X: Any) -> str:
    """Digest of a table's values and shape; equal tables have equal digests."""
    table = np.asarray(X)
    if table.dtype.kind in "biuf":
        # + 0.0 converts -0.0 to 0.0.
        return sha256(f"{table.shape}".encode() + (table.astype(float) + 0.0).tobytes()).hexdigest()
    return sha256(f"{table.shape}{table.tolist()!r}".encode()).hexdigest()
