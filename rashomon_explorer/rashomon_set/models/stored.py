"""Predictions that somebody else's models made, on rows that stay the same."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.rashomon_set.arrays import frozen


@dataclass(frozen=True, eq=False)
class StoredPredictions:
    """Predictions of models that are not here.

    Parameters
    ----------
    values : ndarray of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    rows : str, default=""
        Fingerprint of the rows, where they were given: then the same rows are recognised.
    """

    kind: ClassVar[str] = "stored predictions"

    values: FloatArray
    rows: str = ""

    def __post_init__(self) -> None:
        """Freeze the predictions."""
        object.__setattr__(self, "values", frozen(self.values))

    def __len__(self) -> int:
        return len(self.values)

    def scores(self, X: Any = None) -> FloatArray:
        """Give the stored predictions.

        Raises
        ------
        ValueError
            If rows are given that are not known to be those predicted.
        """
        if X is None or (self.rows and fingerprint(X) == self.rows):
            return self.values
        known = "other rows than those" if self.rows else "rows, which were not stored with the set"
        raise ValueError(
            f"these are predictions stored for {self.values.shape[1]} rows, and X holds {known}; "
            "leave X out to get them, or build the set with from_estimators to predict other rows"
        )

    def complexity(self, tol: float) -> NDArray[np.int_]:
        """Refuse: predictions do not tell how simple a model was.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError("stored predictions do not tell how simple the models are")

    def take(self, places: NDArray[np.intp]) -> Self:
        """Those at the given places."""
        return replace(self, values=self.values[places])

    def to_parts(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Arrays and JSON values for a file."""
        return {"values": self.values}, {"rows": self.rows}

    @classmethod
    def from_parts(cls, arrays: dict[str, FloatArray], values: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_parts`."""
        return cls(arrays["values"], values["rows"])


def fingerprint(X: Any) -> str:
    """Digest of a table's values and shape; equal tables have equal ones.

    Examples
    --------
    >>> fingerprint([[1, 2]]) == fingerprint(np.array([[1.0, 2.0]]))
    True
    >>> fingerprint([[1, 2]]) == fingerprint([[1], [2]])
    False
    """
    table = np.asarray(X)
    if table.dtype.kind in "biuf":
        # + 0.0 makes the two zeros one.
        return sha256(f"{table.shape}".encode() + (table.astype(float) + 0.0).tobytes()).hexdigest()
    return sha256(f"{table.shape}{table.tolist()!r}".encode()).hexdigest()
