"""Tables by declared bounds, scaled once for every method alike."""

import os
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer import load_dataset
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.data.encoder import encoded_rows

FOLDER = "RASHOMON_DATA"
"""Environment variable with the folder of CSV files that declared.toml describes."""

_DECLARED = Path(__file__).parent / "declared.toml"
_OWN = ("breast_cancer", "wine", "digits", "diabetes", "lending")


class Declared(NamedTuple):
    """Rows (n, d) of norm at most 1, and class codes, or targets in [−1, 1]."""

    name: str
    rows: FloatArray
    targets: NDArray[Any]
    classes: int
    """How many; 0 for a regression."""


def loaders() -> dict[str, Callable[[], Declared]]:
    """Return a loader a table by name: those of the package, and those that the folder holds."""
    found = {name: partial(_own, name) for name in (*_OWN, "breast_cancer_standardised")}
    folder = os.environ.get(FOLDER)
    described = tomllib.loads(_DECLARED.read_text(encoding="utf-8")) if folder else {}
    for name, about in described.items():
        file = Path(folder or "") / about["file"]
        if file.exists():
            found[name] = partial(_from_csv, name, file, about)
    return found


def encoded(schema: TableSchema, frame: pd.DataFrame) -> FloatArray:
    """Rows as a schema encodes them: typical ones have norm about 1, longer ones are clipped."""
    return clip_rows(encoded_rows(schema, frame, 1.0), 1.0)[0]


def _own(name: str) -> Declared:
    data = load_dataset(name.removesuffix("_standardised"))
    frame = data.frame[list(data.X.columns)]
    if name.endswith("_standardised"):  # outside any guarantee
        schema = TableSchema([_by_its_spread(column) for _, column in frame.items()])
    else:
        schema = TableSchema([Numeric(c, tuple(data.bounds[c])) for c in frame])
    rows = encoded(schema, frame)
    if data.task == "regression":
        low, high = data.target_bounds
        targets = (np.asarray(data.y, float) - (low + high) / 2) / ((high - low) / 2)
        return Declared(name, rows, np.clip(targets, -1, 1), 0)
    return Declared(name, rows, np.asarray(data.y), len(data.classes))


def _by_its_spread(column: "pd.Series[float]") -> Numeric:
    """Declare what makes (x − mean)/deviation of a column."""
    middle, half = float(column.mean()), 3**0.5 * float(column.std(ddof=0))
    wide = max(2 * half, float((column - middle).abs().max()))
    bounds, typical = (middle - wide, middle + wide), (middle - half, middle + half)
    return Numeric(str(column.name), bounds, typical=typical)


def _from_csv(name: str, file: Path, about: dict[str, Any]) -> Declared:
    frame = pd.read_csv(file).drop(columns=about.get("leave_out", []))
    labels = frame.pop(about["target"]).to_numpy()
    bounds = about.get("numeric", {})
    schema = TableSchema([_column(frame[c], bounds.get(c)) for c in frame])
    return Declared(name, encoded(schema, frame), labels.astype(int), 2)


def _column(values: "pd.Series[Any]", bounds: list[float] | None) -> Numeric | YesNo | Categorical:
    """Declare a column; its levels are those that occur, as a code book would list them."""
    if bounds:
        return Numeric(str(values.name), (bounds[0], bounds[1]))
    levels = sorted(values.unique().tolist())
    kind = YesNo if len(levels) == 2 else Categorical
    return kind(str(values.name), levels)
