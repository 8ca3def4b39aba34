"""Tables of 0 and 1 from CSV files that are in a folder, by public cuts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Table = tuple[pd.DataFrame, np.ndarray[Any, Any]]

FILES = {
    "COMPAS": ("compas_binary_treefarms.csv", "recidivate-within-two-years:1"),
    "default credit": ("default_credit_binary.csv", "DEFAULT_PAYEMENT"),
    "tic-tac-toe": ("tic_tac_toe.csv", "Class"),
    "adult": ("adult_coded.csv", "income"),
}
_CUTS = {
    "age": (25, 30, 35, 40, 45, 50, 60),
    "education_num": (8, 9, 10, 12, 13),
    "hours_per_week": (20, 35, 40, 45, 50),
    "capital_gain": (0, 5000, 7000),
    "capital_loss": (0, 1800),
}
_CODES = {"marital_status": 6, "relationship": 5, "race": 3, "sex": 1, "workclass": 3}


def binary_tables(folder: str | Path) -> dict[str, Table]:
    """Rows and labels of every table that is there."""
    found = {}
    for name in FILES:
        table = binary_table(folder, name)
        if table is not None:
            found[name] = table
    return found


def binary_table(folder: str | Path, name: str) -> Table | None:
    """Rows and labels of a table; None where its file is not in the folder."""
    if name == "20 columns":
        return _simulated()
    file, target = FILES[name]
    path = Path(folder) / file
    if not path.exists():
        return None
    frame = pd.read_csv(path)
    X, y = frame.drop(columns=[target, "test"], errors="ignore"), frame[target].to_numpy()
    if X.isin((0, 1)).all().all():
        return X, y
    if X.dtypes.map(pd.api.types.is_numeric_dtype).all():
        return _cut(X), y
    return pd.get_dummies(X).astype(int), y


def _simulated() -> Table:
    """5,000 rows of 20 independent columns; the labels follow four of them, with noise."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (5000, 20))
    answers = (X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3])
    y = np.where(rng.random(5000) < 0.8, answers, rng.integers(0, 2, 5000))
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]), y


def _cut(X: pd.DataFrame) -> pd.DataFrame:
    """Columns of 0 and 1 by public cuts and codes, forty in all."""
    columns = {f"{c}>{t}": X[c] > t for c, values in _CUTS.items() for t in values}
    columns |= {f"{c}={k}": X[c] == k for c, most in _CODES.items() for k in range(most)}
    return pd.DataFrame(columns).astype(int).iloc[:, :40]
