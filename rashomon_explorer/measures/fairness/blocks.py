"""Scores of many models, a few models at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray

_CELLS = 2**22  # scores that are held at once


def score_blocks(models: Any, X: Any, n_rows: int) -> Iterator[FloatArray]:
    """Scores of a few models at a time: all at once may not fit into memory."""
    step = max(1, _CELLS // max(1, n_rows * max(1, models.n_classes)))
    for start in range(0, models.n_draws, step):
        yield np.asarray(models[start : start + step].scores(X))
