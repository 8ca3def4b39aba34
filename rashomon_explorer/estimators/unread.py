"""A table that is known by its shape until its price is charged."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_X_y

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import backend_for
from rashomon_explorer.blocks.mapped import read_mapped
from rashomon_explorer.blocks.opened import is_in_blocks
from rashomon_explorer.containers import check_readable, column_labels, shape_of, values_of
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.leak_memory import recall
from rashomon_explorer.privacy.ledger.tables import recognise
from rashomon_explorer.schema import TableSchema
from rashomon_explorer.schema.checks import check_unique
from rashomon_explorer.sklearn_compat import text_names

_DECLARE = (
    "Text and gaps are welcome once the columns are declared: propose_schema(table, target=...) "
    "makes a declaration to correct, and schema=... takes it"
)


class UnreadTable:
    """Rows and targets of which only public things are looked at: shapes and column names.

    What can be refused by them alone is refused when the table is made. Values are looked at in
    :attr:`values`, and nowhere before.

    ``numeric`` says that targets must be numbers, ``charged`` that a ledger is given: without one a
    table that has no shape is converted to find it.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and features.
    may_be_long : bool
        Whether rows longer than they should be are worth a warning.
    names : ndarray of str or None
        Column names, where X has them.
    arrays : ArrayBackend
        Where the work on rows is to be done.

    Examples
    --------
    >>> UnreadTable(BaseEstimator(), [[1.0, 2.0]] * 3, np.ones(3), numeric=True, charged=True).shape
    (3, 2)
    """

    may_be_long = True
    schema: TableSchema | None = None

    def __init__(
        self, estimator: BaseEstimator, X: Any, y: Any, *, numeric: bool, charged: bool
    ) -> None:
        if is_in_blocks(X):
            raise TypeError(
                f"{type(estimator).__name__} needs whole tables. Rows in blocks are taken by "
                "RashomonClassifier, RashomonRegressor, RashomonTreeClassifier, DPClassifier and "
                "DPRegressor; a fixed random sample is X, y = rows.sample(5_000).held(), to be "
                "named as one. Nothing was read or charged"
            )
        check_readable("X", X)
        self.arrays = backend_for(X)
        self._X, rows = _measured("X", X, 2, charged)
        targets: tuple[int, ...] | None = None
        self._y = y
        if y is not None:
            check_readable("y", y)
            self._y, targets = _measured("y", y, 1, charged)
        if len(rows) < 2:
            raise ValueError(
                f"Expected 2D array, got {len(rows)}D array instead, of shape {rows}. Reshape your "
                "data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row"
            )
        self._options = {"estimator": estimator, "dtype": np.float64, "y_numeric": numeric}
        stand_ins = np.broadcast_to(0.0, rows), None if targets is None else np.zeros(targets)
        check_X_y(*stand_ins, **{**self._options, "ensure_all_finite": False})
        labels = column_labels(self._X)
        check_unique(map(str, () if labels is None else labels))
        self.names = None if labels is None else text_names(labels)
        self.shape: tuple[int, int] = (rows[0], rows[1])

    @property
    def feature_names(self) -> list[str]:
        """Column names, or x0, x1, …."""
        every = [f"x{j}" for j in range(self.shape[1])] if self.names is None else self.names
        return [str(name) for name in every]

    @property
    def feature_groups(self) -> dict[str, tuple[str, ...]] | None:
        """Which columns are one feature; None leaves it to their names."""
        return None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee assumes of where the rows are: nothing of a table in memory."""
        return ()

    @property
    def unconfirmed(self) -> str:
        """What its declaration was learnt from, in words; empty for nothing."""
        return ""

    @property
    def n_columns(self) -> int:
        """Number of columns of X as it was given."""
        return self.shape[1]

    @cached_property
    def values(self) -> tuple[FloatArray, NDArray[Any]]:
        """Validated rows (n, n_features) and targets (n,); the first look at private values."""
        return self._checked(values_of(read_mapped(self._X)), values_of(read_mapped(self._y)))

    @property
    def leak(self) -> str:
        """What the numbers themselves tell that they were made with; looks at them."""
        return recall(self.values[0])

    def recognised(self, ledger: Path) -> None:
        """Note the table in the registry beside a ledger; warn if it is charged to another."""
        recognise(ledger, self.values[0])

    def public(self) -> dict[str, Any]:
        """Fitted attributes that say nothing of a row."""
        names = {} if self.names is None else {"feature_names_in_": self.names}
        return {"n_features_in_": self.n_columns, **names}

    def _checked(self, rows: Any, targets: Any) -> tuple[FloatArray, NDArray[Any]]:
        try:
            checked: tuple[FloatArray, NDArray[Any]] = check_X_y(rows, targets, **self._options)
        except ValueError as error:
            raise ValueError(_with_a_way_out(str(error))) from None
        except TypeError as error:  # numpy finds no common type, of dates and numbers for one
            if not isinstance(error, np.exceptions.DTypePromotionError):
                raise
            raise DataError(
                f"X holds dates or other cells that are no numbers. {_DECLARE}"
            ) from None
        return checked


def _with_a_way_out(refused: str) -> str:
    """Say what text and gaps need, in place of the names of other libraries' estimators.

    >>> _with_a_way_out("could not convert string to float: 'a'").startswith("could not convert")
    True
    """
    first = refused.splitlines()[0].rstrip(".") if refused else refused
    if not first.startswith(("could not convert", "Input X contains NaN")):
        return refused
    return f"{first}. {_DECLARE}"


def _measured(name: str, data: Any, depth: int, charged: bool) -> tuple[Any, tuple[int, ...]]:
    """Return the data and its shape."""
    shape = shape_of(data, depth)
    if shape is None and charged:
        raise TypeError(
            f"{name} has no shape, and a ledger must be charged before a value is read: give an "
            f"array, a DataFrame or a list, got {type(data).__name__}"
        )
    if shape is None:
        data = np.asarray(data)
        shape = data.shape
    return data, shape
