"""Loans in a folder of Parquet files, in small blocks, and pages of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.rows import chunk_rows

N, PEOPLE, BLOCK = 3_000, 400, 256
SCHEMA = TableSchema(
    [
        Numeric("age", (18, 90)),
        Numeric("debt", (0, 1), missing="indicator"),
        Categorical("home", ["own", "rent"]),
        Categorical("region", ["north", "south", "west"], role="sensitive"),
        YesNo("repaid", ("no", "yes"), role="target"),
    ]
)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age, debt = rng.integers(18, 91, N), rng.uniform(0, 1, N).round(3)
    frame = pd.DataFrame({"age": age, "debt": np.where(rng.random(N) < 0.05, np.nan, debt)})
    frame["home"] = rng.choice(["own", "rent"], N)
    frame["region"] = rng.choice(["north", "south", "west"], N, p=[0.5, 0.3, 0.2])
    frame["repaid"] = np.where(age / 90 + rng.normal(0, 0.4, N) > debt, "yes", "no")
    return frame


def in_files(folder: Path, frame: pd.DataFrame) -> Path:
    pytest.importorskip("pyarrow")
    folder.mkdir(exist_ok=True)
    for number, low in enumerate(range(0, len(frame), 1_000)):
        part = frame.iloc[low : low + 1_000]
        part.to_parquet(folder / f"part-{number}.parquet", row_group_size=300, index=False)
    return folder


def blocked(folder: Path) -> Any:
    return replace(chunk_rows(folder, target="repaid"), rows=BLOCK)


def drawn(explorer: Explorer) -> None:
    settings = {"psi": 0.3, "n_draws": 6, "mechanism": "exact", "epsilon": 6.0, "radius": 2.0}
    for name, value in settings.items():
        setattr(explorer.state, name, value)
    explorer.draw()


def held_page(home: Path) -> Explorer:
    return Explorer(data=TableEditor("held", table(), SCHEMA).data(), home=home)
