"""How much models differ on rows that come in blocks: means over rows of pairs of models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.blocks.columns import column_of
from rashomon_explorer.measures.decomposition.kernels import PairMeasure


@dataclass(frozen=True, eq=False)
class PairMeans:
    """Mean differences of every pair of models, of all rows and of each group.

    Parameters
    ----------
    whole : ndarray of shape (n_models, n_models)
    groups : dict of (int, ndarray of shape (n_models, n_models))
        Number of rows and means of each group, by name.
    """

    whole: FloatArray
    groups: dict[Any, tuple[int, FloatArray]]


def pair_means(
    sets: list[Any], table: RowBlocks, measure: PairMeasure, groups: Any = None
) -> PairMeans:
    """Find them in one pass; no row is held.

    Parameters
    ----------
    sets : list of sets of models
        All of them, one after the other.
    table : RowBlocks
    measure : PairMeasure
    groups : array-like of shape (n,), or str, optional
        Group of each row, or the column that says it.

    Examples
    --------
    >>> from rashomon_explorer.blocks import row_blocks
    >>> from rashomon_explorer.measures.decomposition.kernels import Disagreement
    >>> class Signs:
    ...     def labels(self, X):
    ...         return np.array([X[:, 0] > 0, X[:, 0] > 1], dtype=int)
    >>> rows = row_blocks(np.array([[-1.0], [0.5], [2.0], [3.0]]), labelled=False)
    >>> pair_means([Signs()], rows, Disagreement()).whole.tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    if isinstance(groups, str):
        groups = column_of(table, groups)
    if groups is None:
        codes, names = np.zeros(table.n, dtype=np.intp), pd.Index([])
    else:
        codes, names = pd.factorize(pd.Series(groups), sort=True)
        if codes.shape != (table.n,) or (codes < 0).any():
            raise ValueError(
                f"groups must hold one for each of {table.n} rows, and none may be missing"
            )
    counts = np.bincount(codes)
    (sums,) = table.beside(group=codes).reduce(_PairSums(sets, measure, len(counts)))
    own = {
        name: (int(count), total / count)
        for name, count, total in zip(names, counts, sums, strict=False)  # no name: no group
    }
    return PairMeans(sums.sum(axis=0) / table.n, own)


@dataclass(frozen=True, eq=False)
class _PairSums:
    """Sums (n_groups, n_models, n_models) over a block's rows."""

    sets: list[Any]
    measure: PairMeasure
    n_groups: int

    def __call__(self, rows: FloatArray, beside: Any) -> tuple[FloatArray]:
        code = beside["group"]
        labels = self.measure.of == "labels"
        said = [one.labels(rows) if labels else one.scores(rows) for one in self.sets]
        values = np.concatenate([np.asarray(part) for part in said])
        sums = np.zeros((self.n_groups, len(values), len(values)))
        for group in np.unique(code):
            here = code == group
            some = self.measure.prepare(values[:, here])
            sums[group] = here.sum() * self.measure.matrix(some)
        return (sums,)
