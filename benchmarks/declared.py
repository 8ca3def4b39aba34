"""Tables with a schema of public bounds and levels, the same for every method."""

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer import load_dataset, propose_schema
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import Categorical, Numeric, TableSchema
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.data.encoder import encoded_rows

FOLDER = "RASHOMON_DATA"
"""Environment variable with the folder of CSV files that declared.toml describes."""

DESCRIBED = tomllib.loads(Path(__file__).with_name("declared.toml").read_text(encoding="utf-8"))
"""Files and public values of tables that a folder may contain, by name."""

_OWN = ("breast_cancer", "wine", "digits", "diabetes", "lending")


@dataclass(frozen=True)
class Declared:
    """A table as its owner has it: columns, labels or numbers to predict, and their schema."""

    name: str
    frame: pd.DataFrame
    labels: "pd.Series[Any]"
    schema: TableSchema

    @property
    def classes(self) -> int:
        """How many; 0 for a regression."""
        return len(self.schema.classes or ())

    @cached_property
    def encoded(self) -> FloatArray:
        """Encoded rows (n, d): typical ones have norm about 1."""
        return encoded_rows(self.schema, self.frame, 1.0, quiet=True)

    @cached_property
    def rows(self) -> FloatArray:
        """Encoded rows (n, d), longer ones clipped to norm 1."""
        return clip_rows(self.encoded, 1.0)[0]

    @cached_property
    def targets(self) -> NDArray[Any]:
        """Class codes, or numbers that the declared bounds map into [−1, 1]."""
        if self.schema.target_bounds is None:
            return pd.Categorical(self.labels, categories=self.schema.classes).codes.astype(int)
        low, high = self.schema.target_bounds
        return np.clip((self.labels.to_numpy(float) - low) / (high - low) * 2 - 1, -1, 1)

    @property
    def column_bounds(self) -> FloatArray:
        """Least and largest encoded value (2, d) of each column, by typical range and levels."""
        features = self.schema.features
        ends = [_ends(column) / np.sqrt(len(features)) for column in features]
        return np.concatenate(ends, axis=1)

    def sampled(self, most: int) -> "Declared":
        """At most so many rows, chosen at random."""
        if len(self.frame) <= most:
            return self
        some = np.random.default_rng(0).choice(len(self.frame), most, replace=False)
        return Declared(self.name, self.frame.iloc[some], self.labels.iloc[some], self.schema)


def loaders(folder: str = "") -> dict[str, Callable[[], Declared]]:
    """Return a loader a table by name: those of the package, and those that the folder has."""
    found = {name: partial(_own, name) for name in _OWN}
    folder = folder or os.environ.get(FOLDER, "")
    for name, about in DESCRIBED.items():
        file = Path(folder) / about["file"]
        if folder and file.exists():
            found[name] = partial(_from_csv, name, file, about)
    return found


def _own(name: str) -> Declared:
    data = load_dataset(name)
    columns: list[Any] = [Numeric(c, tuple(data.bounds[c])) for c in data.X]
    if data.task == "regression":
        columns.append(Numeric("target", data.target_bounds, role="target"))
    else:
        columns.append(Categorical("target", range(len(data.classes)), role="target"))
    return Declared(name, data.X, data.y, TableSchema(columns))


def _from_csv(name: str, file: Path, about: dict[str, Any]) -> Declared:
    """Columns that are not described are coded by the levels that occur, as in a code book."""
    frame = pd.read_csv(file, names=about.get("columns"))
    numeric, ordered = about.get("numeric", {}), about.get("ordered", {})
    target, out = about["target"], about.get("leave_out", [])
    coded = [c for c in frame if c not in {*numeric, *ordered, *out}]
    schema = propose_schema(frame, target=target, ignore=out, categorical=coded)
    for column, (low, high, *typical) in numeric.items():
        values = {"bounds": (low, high), "typical": tuple(typical) or None}
        schema = schema.declare(column, kind="numeric", **values)
    for column, levels in ordered.items():
        schema = schema.declare(column, kind="ordered", levels=levels)
    schema = schema.confirm(*schema.unconfirmed)
    return Declared(name, frame.drop(columns=target), frame[target], schema)


def _ends(column: Any) -> FloatArray:
    values = list(column.usual if isinstance(column, Numeric) else column.levels)
    missing = [None] if column.missing == "indicator" else []
    frame = pd.DataFrame({column.name: pd.Series([*values, *missing], dtype=object)})
    encoded = encoded_rows(TableSchema([column]), frame, 1.0, quiet=True)
    return np.array([encoded.min(axis=0), encoded.max(axis=0)])
