"""Rates of labels, group by group and for many models at once, as fairlearn defines them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray, IntArray, Mask
from rashomon_explorer.measures.encoding import Bytes, Labels
from rashomon_explorer.measures.fairness.cells import Cells
from rashomon_explorer.measures.fairness.groups import Groups
from rashomon_explorer.measures.nested import blocks
from rashomon_explorer.rashomon_set.links import likeliest

_DEFAULTS = ({0, 1}, {-1, 1})


@dataclass(frozen=True, eq=False)
class Judged:
    """Coded labels of models, beside the truth."""

    codes: Bytes  # (n_models, n_rows)
    truth: Bytes  # (n_rows,): codes of the true labels
    positive: int  # code of the label that a rate is of

    @classmethod
    def of(cls, labels: ArrayLike, y: ArrayLike, positive: Any = None) -> "Judged":
        """Check and code labels of any kind."""
        coded = Labels.of(labels)
        coded = replace(coded, classes=_plain(coded.classes))
        truth = _truth(y, coded)
        label = _positive(positive, _seen(coded, truth))
        code = coded.reference(np.full(len(truth), label))[0]
        return cls(coded.codes, coded.reference(truth), int(code))

    @classmethod
    def of_scores(cls, scores: FloatArray, truth: ArrayLike, positive: int) -> "Judged":
        """Labels that scores lead to, beside codes of the truth."""
        codes = likeliest(scores).astype(np.uint8)
        return cls(codes, np.asarray(truth).astype(np.uint8), positive)

    @property
    def is_positive(self) -> Mask:
        """Rows whose true label is the positive one."""
        return self.truth == self.positive


def _selected(codes: Bytes, truth: Bytes, positive: int) -> Mask:
    return codes == positive


def _rejected(codes: Bytes, truth: Bytes, positive: int) -> Mask:
    return codes != positive


def _correct(codes: Bytes, truth: Bytes, positive: int) -> Mask:
    return codes == truth


@dataclass(frozen=True)
class LabelRate:
    """Share of some rows of a group that a model treats so."""

    # from codes (n_models, k), the truth (k,) and the positive code to what is counted
    counted: Callable[[Bytes, Bytes, int], Mask]
    among: str = "all"  # rows among which, by their true label

    def cells(self, judged: Judged, groups: Groups, name: str) -> Cells:
        """Rows among which to count."""
        why = f"{name} counts rows {self.among} in y"
        return Cells.of(groups, _AMONG[self.among](judged), why)

    def rates(self, judged: Judged, groups: Groups, name: str) -> FloatArray:
        """Rate (n_models, n_groups)."""
        cells = self.cells(judged, groups, name)
        truth = judged.truth[cells.order]
        return np.concatenate(
            [
                cells.means(self.counted(block[:, cells.order], truth, judged.positive))
                for block in blocks(judged.codes)
            ]
        )

    def summed(self, judged: Judged, chosen: Mask) -> IntArray:
        """Count rows (n_models,) among those chosen, of which there may be none."""
        among = _AMONG[self.among](judged)
        where = np.flatnonzero(chosen if among is None else chosen & among)
        counted = self.counted(judged.codes[:, where], judged.truth[where], judged.positive)
        return np.count_nonzero(counted, axis=1)


_AMONG: dict[str, Callable[[Judged], Mask | None]] = {
    "all": lambda judged: None,
    "positive": lambda judged: judged.is_positive,
    "negative": lambda judged: ~judged.is_positive,
}

LABEL_RATES: Mapping[str, LabelRate] = {
    "selection_rate": LabelRate(_selected),
    "true_positive_rate": LabelRate(_selected, "positive"),
    "false_negative_rate": LabelRate(_rejected, "positive"),
    "false_positive_rate": LabelRate(_selected, "negative"),
    "true_negative_rate": LabelRate(_rejected, "negative"),
    "accuracy_score": LabelRate(_correct),
}
"""Rates of labels by the names that fairlearn and scikit-learn give them."""


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of pandas' object columns as the numbers or the text they are."""
    return np.asarray(labels.tolist()) if labels.dtype == object else labels


def _truth(y: ArrayLike, coded: Labels) -> NDArray[Any]:
    truth = np.asarray(y)
    n_rows = coded.codes.shape[1]
    if truth.shape != (n_rows,):
        raise ValueError(f"y must hold one label for each of {n_rows} rows, got {truth.shape}")
    if pd.isna(truth).any():
        raise ValueError("y holds a missing label: remove the row")
    truth = _plain(truth)
    if (truth.dtype.kind in "biuf") != (coded.classes.dtype.kind in "biuf"):
        raise ValueError(
            f"y must hold labels like the models' {coded.classes[:3].tolist()}, got "
            f"{truth[:3].tolist()}"
        )
    return truth


def _seen(coded: Labels, truth: NDArray[Any]) -> list[Any]:
    """Labels that occur, in the truth or in a model: not every code need."""
    found = np.unique(truth).tolist()
    for code, label in enumerate(coded.classes.tolist()):
        if label not in found and any((block == code).any() for block in blocks(coded.codes)):
            found.append(label)
    return sorted(found)


def _positive(positive: Any, seen: list[Any]) -> Any:
    if positive is not None:
        if positive not in seen:
            raise ValueError(f"positive must be one of the labels {seen}, got {positive!r}")
        return positive
    if any(known.issuperset(seen) for known in _DEFAULTS):
        return 1
    raise ValueError(
        f"positive must say which of the labels {seen} the rates are of: only 0 and 1, or -1 and "
        "1, are read without"
    )
