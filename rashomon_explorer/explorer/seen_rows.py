"""The rows of the data set as the models on screen see them, held or in blocks."""

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.group_columns import grouping_of
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.whole import IN_UNITS, whole_of


class SeenRows:
    """Rows, targets and groups under the names and codes of the models on screen."""

    state: ExplorerState
    rows: Any
    _encoder: Any
    _behind: Any
    _encoded: Any

    @property
    def encoder(self) -> Any:
        """What encoded the rows on screen; None of rows that came encoded."""
        return self._encoder if self.rows is not None and self.rows is self._encoded else None

    @property
    def targets(self) -> Any:
        """Targets of the data set as the models on screen name them: codes, or labels."""
        data = self.state.data
        if data is None:
            return None
        return data.y if self._of_codes else data.frame[data.schema.target.name]

    @property
    def _of_codes(self) -> bool:
        """Whether the models on screen name classes by their codes."""
        data, models = self.state.data, self.state.rashomon_set
        named = () if models is None else getattr(models, "classes", ())
        return set(named) <= set(range(len(data.classes or ())))

    @property
    def blocks(self) -> RowBlocks | None:
        """All rows as the models on screen see them, and targets; None of a table that is held.

        The first who asks waits for a look at every row.
        """
        whole = whole_of(self.state.data)
        if whole is None:
            return None
        behind = self._behind
        if behind is None and trees_in(self.state.rashomon_set) is not None:
            behind = IN_UNITS
        return whole.encoded(behind, labels=not self._of_codes)

    @property
    def all_targets(self) -> NDArray[Any]:
        """Targets of all rows in blocks, as the models on screen name them; read once."""
        data = self.state.data
        codes = data.whole.targets
        return codes if self._of_codes else np.asarray(data.classes)[codes]

    def all_groups(self, column: str) -> "pd.Series[Any]":
        """In which group of a column each of all rows in blocks is; read once."""
        return cast(
            "pd.Series[Any]",
            self.state.data.whole.groups(column, grouping_of(self.state.data, column)),
        )

    @property
    def in_blocks(self) -> bool:
        """Whether the rows of the table are not held."""
        return whole_of(self.state.data) is not None

    @property
    def sample_words(self) -> str:
        """Say that single people are a sample of a table in blocks; empty where they are not."""
        whole = whole_of(self.state.data)
        return "" if whole is None else whole.words

    @property
    def shape(self) -> tuple[int, int]:
        """Number of all rows, held or not, and of columns as the models see them."""
        whole = whole_of(self.state.data)
        n, columns = self.rows.shape
        return (int(n) if whole is None else whole.n), int(columns)
