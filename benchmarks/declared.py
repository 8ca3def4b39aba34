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
from rashomon_explorer.array_types import FloatArray

FOLDER = "RASHOMON_DATA"
"""Environment variable with the folder of CSV files that declared.toml describes."""

_DECLARED = Path(__file__).parent / "declared.toml"
_OWN = ("breast_cancer", "wine", "digits", "diabetes", "lending")
_NUMERIC_SQUARE = 1 / 3  # of a value that is uniform on [−1, 1]


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


def scaled(numeric: FloatArray, levels: FloatArray, groups: int) -> FloatArray:
    """Scale rows to norm 1 where they are typical of what is declared; longer ones are clipped.

    A number that is uniform in its bounds, mapped onto [−1, 1], has mean square 1/3, and a coded
    category has norm 1: rows are divided by the root of what these add up to.
    """
    typical = np.sqrt(_NUMERIC_SQUARE * numeric.shape[1] + groups)
    rows = np.hstack([numeric, levels]) / typical
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1.0))


def _own(name: str) -> Declared:
    standardised = name == "breast_cancer_standardised"  # outside any guarantee
    data = load_dataset(name.removesuffix("_standardised"))
    values = np.asarray(data.X, dtype=float)
    if standardised:
        unit = (values - values.mean(axis=0)) / values.std(axis=0) * np.sqrt(_NUMERIC_SQUARE)
    else:
        bounds = np.array([data.bounds[column] for column in data.X.columns], dtype=float)
        unit = _unit(values, bounds)
    rows = scaled(unit, np.empty((len(unit), 0)), 0)
    if data.task == "regression":
        low, high = data.target_bounds
        return Declared(name, rows, _unit(np.asarray(data.y, float), np.array([low, high])), 0)
    return Declared(name, rows, np.asarray(data.y), len(data.classes))


def _from_csv(name: str, file: Path, about: dict[str, Any]) -> Declared:
    frame = pd.read_csv(file).drop(columns=about.get("leave_out", []))
    labels = frame.pop(about["target"]).to_numpy()
    bounds = about.get("numeric", {})
    coded = [column for column in frame if column not in bounds]
    yes_or_no = [column for column in coded if frame[column].nunique() == 2]
    several = [column for column in coded if frame[column].nunique() > 2]
    numbers = (
        _unit(frame[list(bounds)].to_numpy(float), np.array([*bounds.values()], float))
        if bounds
        else np.empty((len(frame), 0))
    )
    signs = np.column_stack(
        [np.empty((len(frame), 0)), *(2.0 * (frame[c] == frame[c].max()) - 1 for c in yes_or_no)]
    )
    levels = (
        pd.get_dummies(frame[several].astype(str), dtype=float).to_numpy()
        if several
        else np.empty((len(frame), 0))
    )
    # A yes or no is ±½: as far apart as two levels are.
    rows = scaled(numbers, np.hstack([signs / 2, levels]), len(several) + len(yes_or_no) // 4)
    return Declared(name, rows, labels.astype(int), 2)


def _unit(values: FloatArray, bounds: FloatArray) -> FloatArray:
    low, high = bounds[..., 0], bounds[..., 1]
    return np.asarray(np.clip((values - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0))
