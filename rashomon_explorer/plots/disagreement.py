"""What the models of a set disagree about on some rows, measured once for figures and tables."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.measures import (
    ambiguity,
    disagreement,
    discrepancy,
    viable_prediction_range,
)
from rashomon_explorer.measures.checks import only_labels
from rashomon_explorer.plots.counted import counted, need_inside
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.rashomon_set.links import likeliest

_MOST_PREDICTIONS = 4_000_000
_FEWEST_ROWS = 2_000


@dataclass(frozen=True)
class Multiplicity:
    """What the models of a set disagree about on some rows.

    Attributes
    ----------
    n_models : int
        Models that count: those inside the set.
    n_rows : int
        Rows there are.
    rows : ndarray of shape (n_read,)
        Rows that were read: all of them, or a fixed random subsample of a long table.
    low, high : ndarray of shape (n_read,)
        Smallest and largest score of each row over the draws. With three or more classes that is
        the probability of the class which the best model gives the row.
    best : ndarray of shape (n_read,)
        The best model's score.
    ambiguous : ndarray of shape (n_read,)
        Rows that at least one model labels otherwise than the best one; empty for a regression.
    ambiguity, discrepancy, disagreement : float
        Shares of rows; not a number for a regression.
    n_classes : int
        0 for a regression.
    of_labels : bool
        Whether all scores are 0 or 1, so that ranges are of labels and not of probabilities.
    """

    n_models: int
    n_rows: int
    rows: NDArray[np.intp]
    low: FloatArray
    high: FloatArray
    best: FloatArray
    ambiguous: Mask
    ambiguity: float
    discrepancy: float
    disagreement: float
    n_classes: int
    of_labels: bool

    @property
    def width(self) -> FloatArray:
        """Width of each row's viable prediction range."""
        return self.high - self.low


def multiplicity(models: RashomonSet, X: ArrayLike) -> Multiplicity:
    """Measure what the models of a set disagree about on some rows.

    Models outside the set do not count: what they say is the mechanism's and not the set's. Where
    losses are not known, all models do.

    Parameters
    ----------
    models : RashomonSet
        The draws and the best model (curator only).
    X : array-like of shape (n_rows, n_features)
        Rows, scaled as the draws were fitted. Of a long table a fixed random subsample is read.

    Returns
    -------
    Multiplicity
        Ranges of every row read, and the shares.

    Raises
    ------
    ValueError
        If no model lies inside the set.
    """
    inside = need_inside(counted(models), models)
    # A table stays one: models of other sorts may take its columns of text.
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    n_rows = len(table)
    rows = _rows_to_read(n_rows, inside.n_draws)
    X = table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
    scores, best = inside.scores(X), inside.best_scores(X)
    chosen = best.argmax(axis=-1) if best.ndim == 2 else (best > 0.5).astype(int)
    labels = likeliest(scores) if inside.task == "classification" else None
    if best.ndim == 2:
        each = np.arange(len(rows))
        scores, best = scores[:, each, chosen], best[each, chosen]
    ranges = viable_prediction_range(scores)
    common = {
        "n_models": inside.n_draws,
        "n_rows": n_rows,
        "rows": rows,
        "low": ranges[:, 0],
        "high": ranges[:, 1],
        "best": best,
        "n_classes": inside.n_classes,
        "of_labels": labels is not None and only_labels(scores),
    }
    return Multiplicity(**common, **_shares(labels, chosen))


def _shares(labels: NDArray[np.int_] | None, chosen: NDArray[np.int_]) -> dict[str, Any]:
    """Rows on which labels differ from the best model's; a regression has none."""
    nan = float("nan")
    if labels is None:
        nobody = np.zeros(0, dtype=bool)
        return {"ambiguous": nobody, "ambiguity": nan, "discrepancy": nan, "disagreement": nan}
    return {
        "ambiguous": (labels != chosen).any(axis=0),
        "ambiguity": float(ambiguity(labels, chosen)),
        "discrepancy": float(discrepancy(labels, chosen)),
        "disagreement": float(disagreement(labels)) if len(labels) > 1 else nan,
    }


def _rows_to_read(n_rows: int, n_draws: int) -> NDArray[np.intp]:
    most = max(_FEWEST_ROWS, _MOST_PREDICTIONS // max(1, n_draws))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def members(found: Multiplicity, groups: ArrayLike | None) -> list[tuple[str, Mask]]:
    """Split rows by a sensitive attribute, the largest groups first.

    Values may be of any type; rows without one are a group.
    """
    if groups is None:
        return [("everyone", np.ones(len(found.low), dtype=bool))]
    values = pd.Series(np.asarray(groups, dtype=object))
    if len(values) != found.n_rows:
        raise ValueError(f"groups must hold one value for each of {found.n_rows} rows")
    codes, labels = pd.factorize(values.iloc[found.rows], use_na_sentinel=False)
    counts, names = np.bincount(codes, minlength=len(labels)), _names(labels.tolist())
    order = sorted(range(len(names)), key=lambda code: (-counts[code], names[code]))
    return [(names[code], codes == code) for code in order]


def _names(labels: list[Any]) -> list[str]:
    """Write labels so that no two are alike: 1 and "1" are two groups."""
    plain = ["no value" if pd.isna(label) else str(label) for label in labels]
    return [
        name if plain.count(name) == 1 else repr(label)
        for name, label in zip(plain, labels, strict=True)
    ]
