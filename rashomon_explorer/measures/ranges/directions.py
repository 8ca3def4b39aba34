"""Which linear functionals of the models are asked for, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks.columns import column_of
from rashomon_explorer.blocks.opened import as_blocks, is_in_blocks
from rashomon_explorer.measures.ranges.level_set import ConvexProblem
from rashomon_explorer.problem import add_intercept
from rashomon_explorer.rashomon_set.links import seen_rows


def parameter_names(
    problem: ConvexProblem, feature_names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Names of a problem's parameters: features, then the intercept, for each score."""
    outputs = problem.loss.outputs
    width = problem.p // outputs - problem.intercept
    if feature_names is None:
        feature_names = getattr(problem, "feature_names", [f"x{j}" for j in range(width)])
    if len(feature_names) != width:
        raise ValueError(f"feature_names must hold {width} names, got {len(feature_names)}")
    names = (*map(str, feature_names), *(["intercept"] if problem.intercept else []))
    if outputs == 1:
        return names
    return tuple(f"class {c}: {name}" for c in range(1, outputs + 1) for name in names)


def as_directions(problem: ConvexProblem, directions: ArrayLike | None) -> FloatArray:
    """Directions (k, p), by default one for each parameter."""
    if directions is None:
        return np.eye(problem.p)
    try:
        array = np.asarray(directions, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"directions must be numbers: {error}") from error
    if array.ndim != 2 or array.shape[1] != problem.p or not len(array):
        raise ValueError(
            f"directions must hold one a row, shape (k, {problem.p}), got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError("directions must be finite")
    return array


def scored_rows(problem: ConvexProblem, X: ArrayLike) -> FloatArray:
    """Rows (n_rows, width) as the models score them: shortened, with a constant if need be."""
    try:
        rows = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers: {error}") from error
    width = problem.p // problem.loss.outputs - problem.intercept
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        raise ValueError(f"X must have shape (n_rows, {width}), got {rows.shape}")
    if not np.isfinite(rows).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        raise ValueError(f"X holds NaN or infinity at {place}: remove or impute the row")
    # A problem of mapped columns, made from an estimator, knows the map.
    seen = seen_rows(rows, problem.row_norm, getattr(problem, "scale", None))
    return add_intercept(seen) if problem.intercept else seen


def score_directions(problem: ConvexProblem, X: ArrayLike) -> tuple[FloatArray, pd.Index]:
    """Directions of every row's score, with several scores a row of each class but the first."""
    return directions_of_rows(scored_rows(problem, X), row_index(X), problem.loss.outputs)


def directions_of_rows(
    rows: FloatArray, index: pd.Index, outputs: int
) -> tuple[FloatArray, pd.Index]:
    """Directions of the scores of rows (n_rows, width) as the models score them."""
    if outputs == 1:
        return rows, index
    directions = np.einsum("nj,ck->ncjk", rows, np.eye(outputs)).swapaxes(2, 3)
    classes = np.tile(np.arange(1, outputs + 1), len(rows))
    names = pd.MultiIndex.from_arrays([index.repeat(outputs), classes], names=["row", "class"])
    return directions.reshape(len(names), outputs * rows.shape[1]), names


def row_index(X: ArrayLike) -> pd.Index:
    """Names of the rows: a frame's own, which may repeat, or their places.

    Examples
    --------
    >>> row_index([[0.5], [0.2]]).tolist()
    [0, 1]
    """
    names: Any = X.index if isinstance(X, pd.DataFrame) else range(len(np.asarray(X)))
    return pd.Index(names, name="row")


def gap_directions(
    problem: ConvexProblem, X: ArrayLike, groups: ArrayLike
) -> tuple[FloatArray, pd.Index]:
    """Directions of the difference of mean scores of every pair of groups."""
    if problem.loss.outputs > 1:
        raise ValueError("a group gap needs one score a row: give directions of your own")
    blocks = as_blocks(X) if is_in_blocks(X) else None
    rows = scored_rows(problem, X) if blocks is None else np.empty(0)
    n_rows = len(rows) if blocks is None else blocks.n
    if isinstance(groups, str) and blocks is not None:
        groups = column_of(blocks, groups)
    codes, names = pd.factorize(np.asarray(groups), sort=True)
    if codes.shape != (n_rows,):
        raise ValueError(f"groups must hold one a row, got {codes.shape} for {n_rows} rows")
    if (codes < 0).any():
        raise ValueError(f"groups holds a missing value at row {int(np.argmin(codes))}")
    if len(names) < 2:
        raise ValueError(f"groups must hold at least two groups, got {list(names)}")
    if blocks is None:
        means = np.stack([rows[codes == code].mean(axis=0) for code in range(len(names))])
    else:
        (sums,) = blocks.beside(group=codes).reduce(_GroupSums(problem, len(names)))
        means = sums / np.bincount(codes)[:, None]
    first, second = np.triu_indices(len(names), k=1)
    labels = [f"{names[i]} - {names[j]}" for i, j in zip(first, second, strict=True)]
    return means[first] - means[second], pd.Index(labels, name="groups")


@dataclass(frozen=True, eq=False)
class _GroupSums:
    """Adds up each group's rows (n_groups, width) as the models score them."""

    problem: ConvexProblem
    n_groups: int

    def __call__(self, rows: FloatArray, beside: Any) -> tuple[FloatArray]:
        seen, code = scored_rows(self.problem, rows), beside["group"]
        return (np.stack([seen[code == group].sum(axis=0) for group in range(self.n_groups)]),)
