"""Shares of all good trees that give each row a label, exactly.  Curator: not private."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.rows import yes_or_no


def label_shares(counted: CountedTrees, psi: float, X: ArrayLike | None = None) -> FloatArray:
    """Share of the trees within ψ that give each row each label.  Curator: not private.

    Exact, of all trees and not of draws: the counts are taken back down from the whole trees to
    their leaves, which are as many as trees times leaves and are never listed.

    Parameters
    ----------
    counted : CountedTrees
    psi : float
        Rashomon threshold, in units of the loss.
    X : array-like of shape (k, m) or DataFrame, optional
        Some of the table's rows, as its trees take them; by default all.

    Returns
    -------
    ndarray of shape (n, n_labels)
        By the place of the class. Two trees drawn at random differ on a row with the chance
        1 − Σ share².

    Raises
    ------
    DataError
        If a row of X is none of the table's: of other rows shares are not counted.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> label_shares(counted, psi=0.4).round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333], [1.0, 0.0]]
    """
    times = counted.labelled(psi)
    shares = times / times.sum(axis=1, keepdims=True)
    return np.asarray(shares[counted.rows.place if X is None else _places(counted, X)])


def _places(counted: CountedTrees, X: ArrayLike) -> NDArray[np.int64]:
    """Find the combination of each row."""
    asked = X if counted.questions is None else counted.questions.answers(np.asarray(X))
    answers, patterns = yes_or_no(asked), counted.rows.patterns
    if answers.shape[1] != patterns.shape[1]:
        raise DataError(
            f"X must have the table's columns, {patterns.shape[1]} answers a row, got "
            f"{answers.shape[1]}"
        )
    known = {row.tobytes(): place for place, row in enumerate(patterns)}
    found = [known.get(row.tobytes(), -1) for row in answers]
    if -1 in found:
        raise DataError(
            f"row {found.index(-1)} of X answers as no row of the counted table does: shares are "
            "counted for the table's own rows; of others, draw: counted.draw(2000, psi).labels(X)"
        )
    return np.array(found, dtype=np.int64)
