"""Features of one person, and the changes that a user tries on them."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import Numeric
from rashomon_explorer.data.cells import cell_text
from rashomon_explorer.data.columns import Levelled
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.data.schema import data_dependent
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.model_inputs import ModelInputs
from rashomon_explorer.explorer.state import NOT_IN_RELEASE
from rashomon_explorer.explorer.streamed_table import feature_schema
from rashomon_explorer.plots.text import number
from rashomon_explorer.sets.scores import EncodedRows


@dataclass(frozen=True)
class Field:
    """One feature: its value as text, the changed value, and what may be entered."""

    name: str
    value: str
    edited: str
    options: tuple[str, ...] = ()
    hint: str = ""
    low: float = -np.inf
    high: float = np.inf


class WhatIf:
    """The selected person, in a release a made-up one, and the same person with other features.

    A release shows no private row: its person has the middle of every declared range and the first
    of the declared levels, which are public.
    """

    def __init__(self, screen: ModelInputs) -> None:
        self._screen = screen
        self.state = screen.state
        self.state.observe(lambda _: self.reset(), ["people", "data", "view", "rashomon_set"])

    @property
    def why_not(self) -> str:
        """Why there is no person; empty if there is one."""
        state = self.state
        if self._screen.rows is None:
            return "Needs the rows: <b>Explorer(models, data=data)</b>."
        if state.view == "release":
            schema = self._schema
            hidden = state.unconfirmed or (schema is not None and data_dependent(schema))
            return f"{NOT_IN_RELEASE[0].upper()}{NOT_IN_RELEASE[1:]}." if hidden else ""
        if not state.people:
            return "Click a person in the table<br>or in the figure of all people."
        return ""

    @property
    def person(self) -> int | None:
        """Position of the person selected last; None for the made-up person of a release."""
        people = self.state.people
        return int(people[-1]) if people and self.state.view != "release" else None

    @property
    def fields(self) -> tuple[Field, ...]:
        """Features with their values, in the units of the table where a schema describes them."""
        if self.why_not or self.state.rashomon_set is None:
            return ()
        columns = {} if self._schema is None else {one.name: one for one in self._schema.features}
        return tuple(
            self._field(str(name), value, columns.get(str(name)))
            for name, value in self._values().items()
        )

    @property
    def before(self) -> FloatArray:
        """The person in the encoding of the models (1, n_features)."""
        return self._encoded(self._values())

    @property
    def after(self) -> FloatArray:
        """The person with the changes in the encoding of the models (1, n_features)."""
        values = self._values()
        return self._encoded({name: self._edited(name, values[name]) for name in values})

    def change(self, name: str, text: str) -> None:
        """Try another value of a feature; the person's own value takes the change back."""
        field = next((one for one in self.fields if one.name == name), None)
        if field is None:
            raise DataError(f"no feature is called {name!r}: choose one of the fields")
        text = text.strip()
        if field.options and text not in field.options:
            raise DataError(f"{name} must be one of {', '.join(field.options)}, got {text!r}")
        if not field.options and not field.low <= _number(text) <= field.high:
            ends = f" from {number(field.low)} to {number(field.high)}"
            ends = ends if np.isfinite(field.high) else ""
            raise DataError(f"{name} must be a number{ends}, got {text!r}")
        others = {own: value for own, value in self.state.edits.items() if own != name}
        self.state.edits = others if text == field.value else {**others, name: text}

    def reset(self) -> None:
        """Take all changes back."""
        self.state.edits = {}

    @property
    def _schema(self) -> Any:
        """Schema of the rows on screen; None if they are given encoded."""
        data, rows = self.state.data, self._screen.rows
        schema = getattr(data, "schema", None)
        if schema is None or not isinstance(rows, pd.DataFrame):
            return None
        if self._screen.encoder is not None:
            return schema
        units = trees_in(self.state.rashomon_set) is not None
        names = feature_schema(schema).encoded_names
        return schema if units and list(rows.columns) == list(names) else None

    def _values(self) -> dict[str, Any]:
        """Cells of the person by feature."""
        rows, schema, person = self._screen.rows, self._schema, self.person
        if schema is None:
            table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))
            return {
                str(name): 0.0 if person is None else float(np.asarray(table.iloc[person])[place])
                for place, name in enumerate(table.columns)
            }
        if person is None:
            return {one.name: _middle(one) for one in schema.features}
        cells = self.state.data.frame.iloc[person]
        return {one.name: cells[one.name] for one in schema.features}

    def _edited(self, name: str, value: Any) -> Any:
        """Value of a feature after the changes."""
        text = self.state.edits.get(name)
        if text is None:
            return value
        column = None if self._schema is None else self._schema[name]
        if not isinstance(column, Levelled):
            return float(text)
        return next(level for level in column.levels if cell_text(level) == text)

    def _encoded(self, values: dict[str, Any]) -> FloatArray:
        schema, data = self._schema, self.state.data
        if schema is None:
            return np.array([[float(value) for value in values.values()]]).view(EncodedRows)
        frame = pd.DataFrame({name: pd.Series([value]) for name, value in values.items()})
        encoder = self._screen.encoder or UnitEncoder(feature_schema(data.schema))
        with warnings.catch_warnings():  # of cells that were shown with the table
            warnings.simplefilter("ignore")
            return np.asarray(encoder.transform(frame), dtype=float).view(EncodedRows)

    def _field(self, name: str, value: Any, column: Any) -> Field:
        own = "" if pd.isna(value) else cell_text(value)
        own = f"{value:.6g}" if isinstance(value, float) and own else own
        edited = self.state.edits.get(name, own)
        if isinstance(column, Levelled):
            levels = tuple(map(cell_text, column.levels))
            return Field(name, own, edited, levels if own in levels else (own, *levels))
        if not isinstance(column, Numeric):
            return Field(name, own, edited, hint="scaled units")
        low, high = column.bounds
        hint = f"{number(low)} to {number(high)} {column.unit}".strip()
        return Field(name, own, edited, (), hint, low, high)


def _middle(column: Any) -> Any:
    """Value of a made-up person: the middle of the typical range, or the first level."""
    if isinstance(column, Numeric):
        return sum(column.typical or column.bounds) / 2
    return column.levels[0]


def _number(text: str) -> float:
    """Read a number from a text; NaN for other texts."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
