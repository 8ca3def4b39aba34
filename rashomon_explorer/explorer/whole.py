"""A table that is never held: what is exact of all its rows, and the people who stand for them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch

from rashomon_explorer.array_types import FloatArray, IntArray
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.blocks.columns import each_row
from rashomon_explorer.blocks.made import MadeRows
from rashomon_explorer.blocks.picked import Picked
from rashomon_explorer.blocks.row_blocks import Step
from rashomon_explorer.blocks.source import as_it_is
from rashomon_explorer.blocks.steps import Clipped, Encoded, Transformed
from rashomon_explorer.blocks.titled import Titled
from rashomon_explorer.blocks.workers import Threads
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.encoded import features_of
from rashomon_explorer.explorer.grouping import Grouping
from rashomon_explorer.privacy.ledger.fingerprint import row_hashes
from rashomon_explorer.privacy.ledger.tables import Hashes
from rashomon_explorer.schema import TableSchema
from rashomon_explorer.schema.cells import as_text
from rashomon_explorer.schema.labels import declared_labels
from rashomon_explorer.schema.levels import Levelled
from rashomon_explorer.schema.units import UnitEncoder

PEOPLE = 5_000
"""Rows that stand for single people, in tables that have more."""

IN_UNITS = "units"

_SEED = 0
_NORM = 1.0  # as the page encodes tables that are held


@dataclass(frozen=True, eq=False)
class Came:
    """Rows in blocks as they came, and a fixed random sample of them, which is held.

    Which rows are in it follows from their number alone: the seed is always the same, and no value
    is looked at to choose them.

    Parameters
    ----------
    rows : RowBlocks
        Under names, with their targets.
    target : str
        What the targets' column is called.

    Examples
    --------
    >>> from rashomon_explorer.blocks import row_blocks
    >>> came = Came.of(row_blocks(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]))
    >>> came.people.columns.tolist(), len(came.people)
    (['x0', 'x1', 'target'], 4)
    """

    rows: RowBlocks
    target: str

    @classmethod
    def of(cls, rows: RowBlocks) -> "Came":
        """Take rows in blocks; reads nothing yet.

        Raises
        ------
        TypeError
            If they have no targets, or steps were put behind them.
        """
        source = rows.source
        if not source.labelled:
            raise TypeError(
                "the page draws models that predict something, and these rows have no targets: "
                "row_blocks(..., target=...)"
            )
        if rows.steps:
            raise TypeError(
                "the page encodes rows by their declaration: give them as they came, "
                "Explorer(row_blocks(...), schema=...), without through() or then()"
            )
        names = source.names or [f"x{j}" for j in range(source.shape[1])]
        y = getattr(source, "y", None)
        called = getattr(y, "name", None) if hasattr(y, "to_frame") else None  # a Series has one
        target = str(getattr(source, "target", None) or called or "target")
        if target in set(names):
            raise DataError(f"a feature and the target are both called {target!r}: rename one")
        return cls(replace(rows, source=Titled(source, tuple(names)), seen=None), target)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.rows.n

    @property
    def places(self) -> IntArray:
        """Where the people of the sample stand among all rows."""
        return Picked.of(self.rows.source, PEOPLE, _SEED).places

    @property
    def people(self) -> pd.DataFrame:
        """The sample, as it came; read anew whenever it is asked for."""
        frame, targets = self.rows.sample(PEOPLE, seed=_SEED).held()
        return pd.DataFrame(frame).assign(**{self.target: targets}).reset_index(drop=True)


class WholeTable:
    """All rows of a table that the page shows, by the declaration of a data set.

    Safe to ask from several threads: who asks for what another is finding waits for it.

    Parameters
    ----------
    came : Came
    data : sklearn.utils.Bunch
        The data set that the page makes of the sample, whose declaration is that of all rows.
    """

    def __init__(self, came: Came, data: Bunch) -> None:
        self.came = came
        self.schema: TableSchema = data.schema
        self._coded = Coded(data.schema, data.target_bounds, _told_apart(data))
        self._groupings: dict[str, Grouping] = {}
        self._known: dict[Any, Any] = {}
        self._lock = Lock()

    @property
    def n(self) -> int:
        """Number of rows; public."""
        return self.came.n

    @property
    def words(self) -> str:
        """Say which people figures of single people are of; empty where they are all there are."""
        if self.n <= PEOPLE:
            return ""
        return f"a fixed random sample of {PEOPLE:,} of {self.n:,} people"

    @property
    def labelled(self) -> RowBlocks:
        """Rows as they came, and targets as the page names them: codes of classes, or numbers."""
        return self.came.rows.then(self._coded)

    def encoded(
        self, encoder: Any = None, *, labels: bool = False, watch: Step | None = None
    ) -> RowBlocks:
        """Rows as models see them, as they were when they were looked at first.

        The first who asks waits for a look at every row.

        Parameters
        ----------
        encoder : fitted transformer or "units", optional
            By default the page's own; ``"units"`` leaves columns in theirs, as trees ask them.
        labels : bool, default=False
            Whether targets are the table's own labels, where classes are told apart.
        watch : callable, optional
            Takes rows and targets of each block of that first look and returns them; it may end it.

        Raises
        ------
        DataError
            If a row cannot be used; the message names its file and row group.
        RowsChangedError
            If the rows are not what they were then.
        """
        table = self.came.rows.then(replace(self._coded, labels=labels))
        features = features_of(self.schema)
        names = features.encoded_names
        if encoder is None:
            table = table.then(Encoded(features, _NORM), Clipped(_NORM, intercept=False))
        elif encoder is IN_UNITS:
            table = table.then(Transformed(UnitEncoder(features), tuple(table.source.names or ())))
        else:
            table = table.through(encoder)
            names = encoder.get_feature_names_out()
        here = isinstance(table.workers, Threads)  # other processes have no way to tell
        watched = table if watch is None or not here else table.then(watch)
        seen = self._once((encoder, labels), lambda: watched.looked_at().seen)
        looked = replace(table, seen=seen)
        made = MadeRows(looked, tuple(map(str, names)))
        return replace(looked, source=made, steps=(as_it_is,), seen=None)

    @property
    def targets(self) -> NDArray[Any]:
        """All targets (n,), as the page names them; a byte a row for classes."""
        return self._once(
            "targets", lambda: np.concatenate(self.labelled.reduce(_targets, merge=_joined))
        )

    def groups(self, column: str, rule: Grouping) -> "pd.Series[Any]":
        """In which group of a column each row is, by a rule: a byte a row."""
        declared = {one.name: one for one in self.schema.columns}.get(column)
        text = isinstance(declared, Levelled) and declared.role == "sensitive"

        def find() -> "pd.Series[Any]":
            rows = self.came.rows
            alone = replace(rows, source=rows.source.only(column), steps=(as_it_is,), seen=None)
            codes = each_row(alone, _Grouped(rule, text))
            found = pd.Series(pd.Categorical.from_codes(codes, pd.Index(rule.names)), name=column)
            return found.cat.remove_unused_categories()

        return self._once(("groups", column, rule), find)

    def hashes(self) -> Hashes:
        """Find what the rows are recognised by, eight bytes a row."""
        rows = self.encoded()
        return Hashes(rows.source.shape, each_row(rows, row_hashes))

    def _once(self, key: Any, find: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._known:
                self._known[key] = find()
            return self._known[key]


def whole_of(data: Any) -> WholeTable | None:
    """Return the table behind a data set whose rows are not held; None of one that is held.

    >>> whole_of(None) is None, whole_of(Bunch(X=np.eye(2))) is None
    (True, True)
    """
    return None if data is None else data.get("whole")


def shape_of(data: Bunch) -> tuple[int, int]:
    """Count the rows of a data set, held or not, and the columns that models see.

    >>> shape_of(Bunch(X=np.eye(2)))
    (2, 2)
    """
    whole = whole_of(data)
    n, columns = data.X.shape
    return (int(n) if whole is None else whole.n), int(columns)


@dataclass(frozen=True, eq=False)
class Coded:
    """A step: targets as the page names them.

    Parameters
    ----------
    schema : TableSchema
    bounds : tuple of float or None
        Of a target that is a number, which is clipped to them.
    told_apart : object
        The class that is told from all others; None where all are told apart.
    labels : bool
        Whether classes are to stay the labels that the schema writes.
    """

    schema: TableSchema
    bounds: tuple[float, float] | None
    told_apart: Any = None
    labels: bool = False

    def __call__(self, rows: Any, targets: Any) -> tuple[Any, NDArray[Any]]:
        """Return the rows as they are, and the targets (m,)."""
        if self.bounds is not None:
            return rows, self._numbers(targets)
        labels = declared_labels(self.schema, targets)
        if self.labels:
            return rows, labels
        if self.told_apart is not None:
            return rows, (labels == self.told_apart).astype(np.int8)
        classes = {label: code for code, label in enumerate(self.schema.classes or ())}
        return rows, np.array([classes[label] for label in labels.tolist()], dtype=np.int8)

    def _numbers(self, targets: Any) -> FloatArray:
        try:
            numbers = np.asarray(targets, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the target must be a number: {error}") from error
        if not np.isfinite(numbers).all():
            raise DataError("the target is NaN or infinity: remove or impute the row")
        assert self.bounds is not None
        return np.clip(numbers, *self.bounds)


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Codes of a block's groups."""

    rule: Grouping
    text: bool

    def __call__(self, rows: Any) -> NDArray[np.int8]:
        values = rows.iloc[:, 0]
        return self.rule.codes(as_text(values) if self.text else values)


def _told_apart(data: Bunch) -> Any:
    declared = list(data.schema.classes or ())
    return None if data.classes is None or list(data.classes) == declared else data.classes[-1]


def _targets(rows: Any, targets: Any) -> tuple[NDArray[Any], ...]:
    return (np.array(targets),)


def _joined(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return one + other
