"""What an audit of rows in blocks holds: targets, groups, and models that are scored together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.blocks.columns import column_of, targets_of


def columns_beside(table: RowBlocks, y: Any, groups: Any) -> tuple[Any, Any]:
    """Read targets and groups that are named instead of given.

    >>> from rashomon_explorer.blocks import row_blocks
    >>> frame = pd.DataFrame({"age": [30, 50], "home": ["rent", "own"], "bad": [0, 1]})
    >>> y, groups = columns_beside(row_blocks(frame, target="bad"), None, "home")
    >>> y.tolist(), groups.tolist()
    ([0, 1], ['rent', 'own'])
    """
    truth = targets_of(table) if y is None else y
    if isinstance(groups, str):
        return truth, column_of(table, groups)
    if isinstance(groups, list | tuple) and 0 < len(groups) < table.n:
        if all(isinstance(name, str) for name in groups):
            return truth, pd.DataFrame({name: column_of(table, name) for name in groups})
    return truth, groups


@dataclass(frozen=True, eq=False)
class Together:
    """Scores of a set's models, and of the best model last."""

    inside: Any
    models: Any  # knows the best model

    def __len__(self) -> int:
        return len(self.inside) + 1

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return scores (n_models + 1, m) or (n_models + 1, m, n_classes)."""
        best = np.asarray(self.models.best_scores(rows))[None]
        return np.concatenate([np.asarray(self.inside.scores(rows)), best])


@dataclass(frozen=True, eq=False)
class FirstLabels:
    """Labels of the first model of a set."""

    models: Any

    def __call__(self, rows: FloatArray) -> NDArray[np.int_]:
        """Return classes (m,)."""
        return np.asarray(self.models.labels(rows)[0])
