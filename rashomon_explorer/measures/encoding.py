"""Labels of any kind as bytes, which can be counted fast."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.measures.checks import refuse_sets
from rashomon_explorer.measures.nested import blocks

Bytes = NDArray[np.uint8]

_MOST_CLASSES = 255
_NOBODYS = 255  # the code of a label that no model gives


@dataclass(frozen=True)
class Labels:
    """Codes 0, 1, … of labels, and how to code a reference model's.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n_models, n_rows)
    classes : ndarray of shape (n_classes,)
        The label of each code, in ascending order; not every one need occur.

    Examples
    --------
    >>> Labels.of([["no", "yes"], ["no", "no"]]).codes.tolist()
    [[0, 1], [0, 0]]
    """

    codes: Bytes
    classes: NDArray[Any]

    @classmethod
    def of(cls, labels: ArrayLike) -> "Labels":
        """Code labels (n_models, n_rows) of any type.

        Raises
        ------
        ValueError
            If the shape is wrong, a label is missing, or there are more than 255 of them.
        """
        array = _table(labels)
        if array.dtype == np.bool_:
            return cls(array.view(np.uint8), np.array([False, True]))
        fast = _small_whole_numbers(array, 0)
        if fast is not None:
            return cls(fast, np.arange(int(fast.max()) + 1))
        _refuse_missing(array)
        with np.errstate(over="ignore"):
            near = array.dtype.kind in "iuf" and array.max() - array.min() < _NOBODYS
        if near:
            shifted = _small_whole_numbers(array, array.min())
            if shifted is not None:
                return cls(*_used(shifted, array.min()))
        classes, codes = _sorted(array)
        if len(classes) > _MOST_CLASSES:
            raise ValueError(
                f"labels must be at most {_MOST_CLASSES} different classes, got {len(classes)}; "
                "for scores or predicted numbers use delta_ambiguity, delta_discrepancy or "
                "viable_prediction_range"
            )
        return cls(codes.reshape(array.shape).astype(np.uint8), classes)

    @property
    def n_classes(self) -> int:
        """Number of codes."""
        return len(self.classes)

    def reference(self, baseline: int | ArrayLike) -> Bytes:
        """Codes (n_rows,) of the reference model, given by its place or by its labels.

        A label that no model gives is allowed: the reference then differs from all of them.

        Raises
        ------
        ValueError
            If there is no such place, or the labels are too few, missing or of another kind.
        """
        models, rows = self.codes.shape
        if isinstance(baseline, int | np.integer) and not isinstance(baseline, bool):
            if not -models <= baseline < models:
                raise ValueError(f"baseline must be a model below {models}, got {baseline}")
            return np.asarray(self.codes[baseline])
        labels = np.asarray(baseline)
        if labels.shape != (rows,):
            raise ValueError(
                f"baseline must hold one label for each of {rows} rows, or be a model's place, "
                f"got {f'shape {labels.shape}' if labels.ndim else repr(baseline)}"
            )
        _refuse_missing(labels[None, :], "baseline")
        return self._coded(labels)

    def _coded(self, labels: NDArray[Any]) -> Bytes:
        if (labels.dtype.kind in "biuf") != (self.classes.dtype.kind in "biuf"):
            raise ValueError(
                f"baseline must be labels like the models' {self.classes[:3].tolist()}, got "
                f"{labels[:3].tolist()}"
            )
        place = np.minimum(np.searchsorted(self.classes, labels), self.n_classes - 1)
        found = self.classes[place] == labels
        return np.where(found, place, _NOBODYS).astype(np.uint8)


def _table(labels: ArrayLike) -> NDArray[Any]:
    refuse_sets(labels, "labels")
    try:
        array = np.asarray(labels)
    except ValueError as error:
        raise ValueError(
            f"labels must be one label for each model and row, shape (n_models, n_rows): {error}"
        ) from error
    if array.ndim != 2 or 0 in array.shape:
        hint = ": for scores of several classes take scores.argmax(axis=2)" * (array.ndim == 3)
        raise ValueError(
            "labels must have shape (n_models, n_rows) with at least one of each, got "
            f"{array.shape}{hint}"
        )
    return array


def _small_whole_numbers(array: NDArray[Any], least: Any) -> Bytes | None:
    """Labels above the least, if they are 0, 1, …, 254; otherwise None."""
    if array.dtype.kind not in "iuf":
        return None
    codes = np.empty(array.shape, dtype=np.uint8)
    with np.errstate(invalid="ignore"):  # NaN has no byte, and is found to differ from it
        for block, out in zip(blocks(array), blocks(codes), strict=True):
            above = block - least if least else block
            out[...] = above
            if not np.array_equal(out, above):
                return None
    return codes if codes.max() < _NOBODYS else None


def _used(codes: Bytes, least: Any) -> tuple[Bytes, NDArray[Any]]:
    """Close the gaps: labels −1 and 1 are two classes, not three."""
    counts = sum(np.bincount(block.ravel(), minlength=256) for block in blocks(codes))
    used = np.flatnonzero(counts)
    table = np.zeros(256, dtype=np.uint8)
    table[used] = np.arange(len(used))
    return table[codes], used + least


def _sorted(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int_]]:
    try:
        return np.unique(array, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"labels must all be of one kind, numbers or text: {error}") from error


def _refuse_missing(array: NDArray[Any], name: str = "labels") -> None:
    if array.dtype.kind == "f":
        missing = ~np.isfinite(array)
        what = "NaN or infinity"
    elif array.dtype.kind == "O":
        missing = np.frompyfunc(lambda x: x is None or x != x, 1, 1)(array).astype(bool)
        what = "a missing label"
    else:
        return
    if missing.any():
        model, row = (int(i) for i in np.argwhere(missing)[0])
        of_model = f"model {model}, " if name == "labels" else ""
        raise ValueError(f"{name} holds {what} for {of_model}row {row}")
