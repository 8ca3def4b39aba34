"""Models that are fitted once without each fold, and what they predict for its rows."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import select_rows
from rashomon_explorer.sets.models.fitted import FittedModels


def fold_numbers(y: NDArray[Any], count: int, seed: int, *, stratify: bool) -> NDArray[np.intp]:
    """Fold (n_rows,) of each row, in shuffled folds with the shares of the classes."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if len(y) < 2 or count < 2:
        raise ValueError(f"held-out rows need two rows and two folds, got {len(y)} and {count}")
    kind, largest = KFold, len(y)
    if stratify:
        members = np.unique(y, return_counts=True)[1]
        if members.max() > 1:
            kind, largest = StratifiedKFold, int(members.max())
    splitter = kind(min(count, largest), shuffle=True, random_state=seed)
    numbers = np.empty(len(y), dtype=np.intp)
    with warnings.catch_warnings():  # a class of few rows is missing from none of the fits
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for number, (_, held_out) in enumerate(splitter.split(np.zeros(len(y)), y)):
            numbers[held_out] = number
    return numbers


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows that can be recognised by their values, in whichever order they come."""

    keys: NDArray[np.uint64]

    @classmethod
    def from_table(cls, X: Any) -> Self:
        """Rows of a table, a matrix or a list of texts."""
        return cls(_row_keys(X))

    def places(self, X: Any) -> NDArray[np.intp]:
        """Position (n_rows,) of each row of ``X``, −1 if it is new; of equal rows the first."""
        keys = _row_keys(X)
        if np.array_equal(keys, self.keys):
            return np.arange(len(keys))
        known_keys, first_rows = np.unique(self.keys, return_index=True)
        at = pd.Index(known_keys).get_indexer(pd.Index(keys))
        return np.where(at < 0, -1, first_rows[at])


def _row_keys(X: Any) -> NDArray[np.uint64]:
    """Digest (n_rows,) of each row's values; equal numbers of other types have equal digests."""
    if issparse(X):
        rows: Any = csr_array(X)  # type: ignore[call-overload]
        parts = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        texts = [(rows.indices[a:b].tobytes() + rows.data[a:b].tobytes()).hex() for a, b in parts]
        return np.asarray(pd.util.hash_array(np.array(texts, dtype=object)), dtype=np.uint64)
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    columns = [_plain(table.iloc[:, position]) for position in range(table.shape[1])]
    plain_table = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(table)))
    return np.asarray(pd.util.hash_pandas_object(plain_table, index=False), dtype=np.uint64)


_NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean", "decimal")


def _plain(column: pd.Series) -> NDArray[Any]:
    """Numbers as floats (−0 as 0), anything else as text."""
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in _NUMBERS:
        column = column.astype(float)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=float, na_value=np.nan) + 0.0
    return column.astype(object).where(column.notna(), "").map(str).to_numpy(dtype=object)


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossFittedModels(FittedModels):
    """Models with a fit without each fold: known rows by that fit, new ones by the first."""

    kind: ClassVar[str] = "cross-fitted models"

    fits: tuple[tuple[Any, ...], ...]  # of each model, by fold
    folds: NDArray[np.intp]  # (n_rows,)
    rows: KnownRows
    held_out_scores: FloatArray  # (n_models, n_rows[, n_classes])
    held_out_labels: NDArray[np.int_] | None  # (n_models, n_rows); None for a regression

    @classmethod
    def from_fits(
        cls,
        fits: Sequence[tuple[Any, ...]],
        classes: tuple[Any, ...],
        decision: Any,
        folds: NDArray[np.intp],
        X: Any,
        held_out: Sequence[tuple[FloatArray, Any]],
    ) -> Self:
        """Models from their fits, and their scores and labels of the rows that each did not see."""
        return cls(
            estimators=tuple(by_fold[0] for by_fold in fits),
            classes=classes,
            columns=tuple(map(str, getattr(X, "columns", ()))),
            decision=decision,
            fits=tuple(fits),
            folds=folds,
            rows=KnownRows.from_table(X),
            held_out_scores=np.stack([scores for scores, _ in held_out]),
            held_out_labels=np.stack([labels for _, labels in held_out]) if classes else None,
        )

    def scores(self, X: Any = None) -> FloatArray:
        """Predictions of all models; known rows by the fit that did not see them."""
        return self._answer(X, super().scores, self.held_out_scores)

    def labels(self, X: Any = None) -> NDArray[np.int_]:
        """Codes of the labels of all models; known rows by the fit that did not see them."""
        if self.held_out_labels is None:
            raise TypeError("labels need classes, and these models predict numbers: use scores")
        return self._answer(X, super().labels, self.held_out_labels)

    def _answer(self, X: Any, predict: Any, held_out: NDArray[Any]) -> NDArray[Any]:
        if X is None:
            return held_out
        positions = self.rows.places(X)
        new = np.flatnonzero(positions < 0)
        answers = held_out[:, np.maximum(positions, 0)]
        if len(new) and len(self):
            answers[:, new] = predict(select_rows(X, new))
        return answers

    def changed_scores(self, X: Any) -> FloatArray:
        """Predictions of changed rows of the fit, in their order, by the fits without them."""
        answers = np.empty((len(self), *self.held_out_scores.shape[1:]))
        for fold in np.unique(self.folds):
            held_out = np.flatnonzero(self.folds == fold)
            models = FittedModels(tuple(by_fold[fold] for by_fold in self.fits), self.classes)
            answers[:, held_out] = models.scores(select_rows(X, held_out))
        return answers

    def one_fit_each(self) -> FittedModels:
        """Return the fits without the first fold, which answer for changed rows, too."""
        return FittedModels(self.estimators, self.classes, self.columns, self.decision)

    def take(self, places: NDArray[np.intp]) -> Self:
        """Return the models at the given indices."""
        labels = None if self.held_out_labels is None else self.held_out_labels[places]
        return replace(
            super().take(places),
            fits=tuple(self.fits[position] for position in places),
            held_out_scores=self.held_out_scores[places],
            held_out_labels=labels,
        )
