"""What is said in public about a table before anybody looks at its rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema import Anything, Categorical, Column, Numeric, TableSchema
from rashomon_explorer.schema.checks import Bounds

_STRICT: Mapping[str, Any] = {"missing": "refuse", "unknown": "refuse"}


@dataclass(frozen=True)
class Declaration:
    """Public facts about a table: the part of a data set that is not private.

    It is the short way to say a :class:`TableSchema`, in which nothing may be missing or unknown.

    >>> Declaration(target="repaid", bounds={"age": (18, 90)}).sensitive
    ()
    """

    target: str  # column to predict
    # columns kept away from the models and used only to compare groups
    sensitive: Sequence[str] = ()
    # range of every numeric feature, from knowledge of the domain. Values outside are clipped.
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    # levels of every categorical column; a feature becomes one 0/1 column a level
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # None asks for it to be inferred from ``target_bounds`` and the target's labels
    task: str | None = None
    positive: Any = None  # class coded 1, all others 0. None keeps the sorted order of the classes.
    target_bounds: Bounds | None = None  # range of a regression target. Values outside are clipped.
    classes: Sequence[Any] | None = None  # every label that may occur, in the order of their codes
    learnt: Sequence[str] = ()  # columns whose bounds were learnt from the rows
    given: TableSchema | None = None  # a whole schema, in place of all that it says

    @classmethod
    def of_schema(cls, schema: TableSchema, task: str | None, positive: Any) -> "Declaration":
        """Take what a schema says; raises a DataError if it says no target."""
        if schema.target is None:
            raise DataError("the schema has no target: give one of its columns that role")
        bounds, name = schema.target_bounds, schema.target.name
        task = task or ("classification" if schema.classes else None)
        return cls(name, schema.sensitive, {}, {}, task, positive, bounds, given=schema)

    def schema(self, columns: Iterable[str]) -> TableSchema:
        """All of it as a schema of a table with these columns."""
        return self.given or TableSchema([self._column(str(column)) for column in columns])

    def _column(self, name: str) -> Column:
        learnt = ["bounds"] if name in self.learnt else []
        if name == self.target:
            if self.classes is not None:
                return Categorical(name, self.classes, role="target")
            if self.target_bounds is None:
                return Anything(name, role="target")
            return Numeric(name, self.target_bounds, role="target", missing="refuse", learnt=learnt)
        role = "sensitive" if name in self.sensitive else "feature"
        if name in self.categories:
            return Categorical(name, self.categories[name], role=role, **_STRICT)
        if role == "sensitive":
            return Anything(name, role=role)
        return Numeric(name, self.bounds[name], missing="refuse", learnt=learnt)
