"""Checked inputs of measures: labels, scores, groups, features and evaluation rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import signature
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask, as_numbers
from rashomon_explorer._utils.containers import rows_like
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked

_CELLS = 2**20  # models × rows × classes of one batch: fits into the cache
_MOST_MODELS = 255  # a count over one batch fits into a byte
_MOST_CLASSES = 255
_NO_MODEL = 255  # code of a label that no model predicts
_ROUNDING = 1e-6  # of probabilities that were computed in single precision

Bytes = NDArray[np.uint8]
Steps = list[tuple[int, int, bool]]
"""First model, model after the last, and whether a wanted number of models is complete."""


def model_steps(values: NDArray[Any], sizes: NDArray[np.int_]) -> Steps:
    """Split the first ``sizes.max()`` models into batches that end at each size."""
    step = min(max(_CELLS // max(1, math.prod(values.shape[1:])), 1), _MOST_MODELS)
    steps, start = [], 0
    for size in np.unique(sizes[sizes > 0]).tolist():
        while start < size:
            stop = min(start + step, size)
            steps.append((start, stop, stop == size))
            start = stop
    return steps


def model_batches(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Split (n_models, …) into views of a few models each, small enough for the cache."""
    steps = model_steps(values, np.array([len(values)]))
    return [values[start:stop] for start, stop, _ in steps]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of models on rows: codes 0, 1, … of labels, or scores."""

    values: NDArray[Any]  # (n_models, n_rows[, n_classes])
    classes: NDArray[Any]  # label of each code; empty for scores
    reference: NDArray[Any]  # (n_rows[, n_classes]) of the baseline

    @classmethod
    def from_labels(cls, labels: ArrayLike, baseline: int | ArrayLike = 0) -> Predictions:
        """Check and code labels (n_models, n_rows) of any type."""
        if hasattr(type(labels), "n_draws"):
            raise set_argument_error(labels, "labels")
        try:
            array = np.asarray(labels)
        except ValueError as error:
            raise ValueError(
                "labels must be one label for each model and row, shape (n_models, n_rows): "
                f"{error}"
            ) from error
        if array.ndim != 2 or 0 in array.shape:
            hint = ": for scores of several classes use scores.argmax(axis=2)" * (array.ndim == 3)
            raise ValueError(
                "labels must have shape (n_models, n_rows) with at least one of each, got "
                f"{array.shape}{hint}"
            )
        if array.dtype == np.bool_:
            codes, classes = array.view(np.uint8), np.array([False, True])
        elif array.dtype.kind in "iuf":
            with np.errstate(invalid="ignore"):  # NaN casts to some byte, from which it differs
                codes = array.astype(np.uint8)
            if np.array_equal(codes, array) and (largest_code := int(codes.max())) < _NO_MODEL:
                classes = np.arange(largest_code + 1)
            else:
                codes, classes = _general_codes(array)
        else:
            codes, classes = _general_codes(array)
        if type(baseline) is int and -len(codes) <= baseline < len(codes):
            return cls(codes, classes, codes[baseline])
        return cls(codes, classes, _label_reference(codes, classes, baseline))

    @classmethod
    def from_scores(cls, scores: ArrayLike, baseline: int | ArrayLike = 0) -> Predictions:
        """Check finite scores of shape (n_models, n_rows) or (n_models, n_rows, n_classes)."""
        values = as_scores(scores)
        return cls(values, np.zeros(0), _score_reference(values, baseline))

    @classmethod
    def from_probabilities(cls, scores: ArrayLike, baseline: int | ArrayLike = 0) -> Predictions:
        """Check scores in [0, 1] that, for several classes, sum to 1."""
        values = as_probabilities(scores)
        return cls(values, np.zeros(0), _score_reference(values, baseline))

    @property
    def n_classes(self) -> int:
        """Number of codes."""
        return len(self.classes)

    def select_rows(self, rows: Mask) -> Predictions:
        """Predictions on some rows; the coding stays."""
        if rows.all():
            return self
        return Predictions(self.values[:, rows], self.classes, self.reference[rows])

    def select_models(self, order: NDArray[np.int_]) -> Predictions:
        """Predictions of some models, in the given order; the reference stays."""
        if np.array_equal(order, np.arange(len(self.values))):
            return self
        return replace(self, values=self.values[order])


Function = TypeVar("Function", bound=Callable[..., Any])
_PREDICTED = ("labels", "scores", "values")
_OF_ROWS = ("X", *_PREDICTED, "y", "groups", "sample_weight", "strata", "baseline")
"""Parameters with one entry a row: the first one with an index has the order."""


def by_index(measure: Function) -> Function:
    """Decorate a measure of rows: Series and frames are matched to the order of X by index."""
    parameters = signature(measure)

    @wraps(measure)
    def matched(*args: Any, **options: Any) -> Any:
        try:
            bound = parameters.bind(*args, **options)
        except TypeError:
            return measure(*args, **options)  # raises with the measure's name
        rows = {name: bound.arguments.get(name) for name in _OF_ROWS}
        rows = {name: values for name, values in rows.items() if values is not None}
        bound.arguments.update(matched_rows(rows))
        return measure(*bound.args, **bound.kwargs)

    return cast(Function, matched)


def matched_rows(rows: dict[str, Any]) -> dict[str, Any]:
    """Entries of the same rows, by name, in the order of the first one with an index."""
    indexes = {name: _row_labels(name, values) for name, values in rows.items()}
    first = next((name for name, index in indexes.items() if index is not None), "")
    unnamed = next((name for name in ("X", *_PREDICTED) if name in rows and name != first), None)
    ordered = dict(rows)
    for name in rows.keys() - {first, "X", *_PREDICTED}:
        ordered[name] = rows_like(indexes.get(first), name, rows[name], first)
        if unnamed is not None and ordered[name] is not rows[name]:
            raise DataError(
                f"{name} and {first} have their rows in different orders, and {unnamed} has no "
                f"index that tells which is right: pass arrays in the order of {unnamed}"
            )
    return ordered


def _row_labels(name: str, values: Any) -> pd.Index | None:
    """Index of the rows of an argument, in the columns of a frame of labels; None if unnamed."""
    if name not in _PREDICTED:
        return values.index if isinstance(values, pd.DataFrame | pd.Series) else None
    named = isinstance(values, pd.DataFrame) and not isinstance(values.columns, pd.RangeIndex)
    return values.columns if named else None


def sum_chunks(
    table: ChunkedRows, function: Callable[[Any, Any], dict[Any, Any]], step: int, **columns: Any
) -> dict[Any, Any]:
    """Sum a function of at most ``step`` rows and their columns over chunked rows, in one pass."""
    work = partial(_step_sums, function, step)
    return table.with_targets(**columns).reduce(work, merge=merge_sums)


def sum_rows(X: Any, function: Callable[[Any, Any], dict[Any, Any]]) -> dict[Any, Any]:
    """Sum a function of rows and targets over chunked rows, or of a table in memory, one chunk."""
    if not is_chunked(X):
        return function(X, None)
    return as_chunked_rows(X).reduce(function, merge=merge_sums)


def _step_sums(
    function: Callable[[Any, Any], dict[Any, Any]], step: int, rows: Any, columns: Any
) -> dict[Any, Any]:
    """Sum over the rows of a chunk, a few rows at a time."""
    sums: dict[Any, Any] = {}
    for low in range(0, len(rows), step):
        part = slice(low, low + step)
        sums = merge_sums(sums, function(rows[part], columns[part]))
    return sums


def merge_sums(sums: dict[Any, Any], added: dict[Any, Any]) -> dict[Any, Any]:
    """Add the sums that both have, and keep those that only sums has."""
    both = {key: sums[key] + added[key] for key in sums.keys() & added.keys()}
    return {**sums, **added, **both}


def as_models_by_rows(values: ArrayLike, name: str) -> FloatArray:
    """Numbers of shape (n_models, n_rows), finite and not empty."""
    array = _numbers(values, name)
    if array.ndim == 3:
        raise ValueError(
            f"{name} must have shape (n_models, n_rows), got {array.shape}: for several classes "
            f"select one, {name}[:, :, k]"
        )
    return array


def as_scores(values: ArrayLike) -> FloatArray:
    """Finite scores of shape (n_models, n_rows) or (n_models, n_rows, n_classes)."""
    return _numbers(values, "scores", " or (n_models, n_rows, n_classes)")


def as_probabilities(values: ArrayLike) -> FloatArray:
    """Scores in [0, 1] that, for several classes, sum to 1."""
    array = as_scores(values)
    for block in model_batches(array):
        if block.min() < 0 or block.max() > 1:
            worst = block.min() if block.min() < 0 else block.max()
            raise ValueError(
                f"scores must be probabilities in [0, 1], got {worst:.6g}; for predicted numbers "
                "use viable_prediction_range or score_std"
            )
        wrong = np.abs(block.sum(axis=-1) - 1) > _ROUNDING
        if block.ndim == 3 and wrong.any():
            raise ValueError(
                f"scores of the {array.shape[2]} classes must sum to 1 for each model and row, "
                f"got a sum of {float(block.sum(axis=2)[wrong][0]):.6g}"
            )
    return array


def only_labels(scores: FloatArray) -> bool:
    """Whether all scores are 0 or 1, so that they carry no more than labels."""
    return bool(((scores == 0) | (scores == 1)).all())


def set_argument_error(values: object, name: str) -> TypeError:
    """Error for a set of models instead of its labels or scores."""
    return TypeError(
        f"{name} must be an array, got a {type(values).__name__}: use models.{name}(X), or "
        "multiplicity_table(models, X) for all measures"
    )


def fitted_set(models: Any) -> Any:
    """Set of a fitted estimator, or of a pipeline that ends in one; a set is returned as it is."""
    if not hasattr(models, "fit"):
        return models
    # Local imports: measures of arrays need no estimator.
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(models)
    last = models[-1] if isinstance(models, Pipeline) else models
    if hasattr(last, "rashomon_set_"):
        return last.rashomon_set_
    if hasattr(last, "release"):  # one private model
        return last.release()
    raise TypeError(
        f"models must be a set of models, got a {type(last).__name__}, which is one model: "
        "penalised_problem(model, X, y) has all models that are about as good, and "
        "sets.from_estimators([model, ...], X, y) makes a set of several"
    )


def preprocessing(models: Any) -> Callable[[Any], Any] | None:
    """Return the transformation by a pipeline's steps before its estimator; None without any."""
    if not hasattr(models, "fit"):
        return None
    from sklearn.pipeline import Pipeline

    return models[:-1].transform if isinstance(models, Pipeline) and len(models) > 1 else None


def set_and_rows(models: Any, X: Any = None) -> tuple[Any, Any]:
    """Set of models without its encoder, and encoded rows, from an estimator and its table."""
    from rashomon_explorer.sets.scores import encoded_rows, without_encoder

    steps, model_set = preprocessing(models), fitted_set(models)
    rows = X if steps is None or X is None else steps(X)
    if rows is None:
        return model_set, None
    return without_encoder(model_set), encoded_rows(model_set, rows, is_raw=model_set is not models)


def need_set(models: object) -> None:
    """Raise TypeError unless ``models`` is a set of models."""
    if not hasattr(models, "n_draws"):
        raise TypeError(
            f"models must be a set of models, got {type(models).__name__}: arrays are for the "
            "functions of labels and scores, such as ambiguity and fairness_gaps, or for "
            "rashomon_set.from_predictions"
        )


def check_targets(rows: Any, targets: NDArray[Any]) -> None:
    """Raise unless a table has one target per row."""
    if rows.ndim != 2 or targets.shape != (len(rows),):
        raise ValueError(f"y must have one target per row of X, got {rows.shape}, {targets.shape}")


def check_two_rows(n_rows: int) -> None:
    """Raise unless there are rows to switch columns between."""
    if n_rows < 2:
        raise ValueError(f"switching needs at least two rows, got {n_rows}")


def _numbers(values: ArrayLike, name: str, also: str = "") -> FloatArray:
    if hasattr(type(values), "n_draws"):
        raise set_argument_error(values, "scores")
    shape = f"(n_models, n_rows){also}"
    array = as_numbers(values, f"{name} must be numbers of shape {shape}")
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise ValueError(
            f"{name} must have shape {shape} with at least one of each, got {array.shape}"
        )
    # A sum is fast and finite only if all terms are; it may overflow, so then check each term.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = all(np.isfinite(block.sum()) for block in model_batches(array))
    if not finite and not np.isfinite(array).all():
        model, row = (int(i) for i in np.argwhere(~np.isfinite(array))[0][:2])
        raise ValueError(f"{name} holds NaN or infinity for model {model}, row {row}")
    return array


def _model_index(baseline: object, n_models: int) -> int | None:
    """Index of a reference model; None if it is given by its predictions."""
    if not isinstance(baseline, int | np.integer) or isinstance(baseline, bool):
        return None
    if not -n_models <= baseline < n_models:
        raise ValueError(f"baseline must be a model index < {n_models}, got {baseline}")
    return int(baseline)


def _score_reference(scores: FloatArray, baseline: int | ArrayLike) -> FloatArray:
    """Scores (n_rows[, n_classes]) of the reference model."""
    if (index := _model_index(baseline, len(scores))) is not None:
        return np.asarray(scores[index])
    reference = as_numbers(baseline, "baseline must be a model's index or its scores")
    if reference.shape != scores.shape[1:]:
        raise ValueError(
            f"baseline must hold scores of shape {scores.shape[1:]}, or be a model's index, got "
            f"shape {reference.shape}"
        )
    if not np.isfinite(reference).all():
        raise ValueError("baseline holds NaN or infinity")
    return reference


def _label_reference(codes: Bytes, classes: NDArray[Any], baseline: int | ArrayLike) -> Bytes:
    """Codes (n_rows,) of the reference model's labels."""
    if (index := _model_index(baseline, len(codes))) is not None:
        return np.asarray(codes[index])
    labels, rows = np.asarray(baseline), codes.shape[1]
    if labels.shape != (rows,):
        raise ValueError(
            f"baseline must hold one label for each of {rows} rows, or be a model's index, "
            f"got {f'shape {labels.shape}' if labels.ndim else repr(baseline)}"
        )
    _refuse_missing_labels(labels[None, :], "baseline")
    return code_labels(labels, classes, "baseline")


def code_labels(labels: NDArray[Any], classes: NDArray[Any], name: str) -> Bytes:
    """Codes of labels among the models' classes; 255 for any other label."""
    if (labels.dtype.kind in "biuf") != (classes.dtype.kind in "biuf"):
        raise ValueError(
            f"{name} must be labels like the models' {classes[:3].tolist()}, got "
            f"{labels[:3].tolist()}"
        )
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[codes] == labels, codes, _NO_MODEL).astype(np.uint8)


def _general_codes(array: NDArray[Any]) -> tuple[Bytes, NDArray[Any]]:
    """Codes and classes of labels that are not 0, 1, …, 254."""
    _refuse_missing_labels(array, "labels")
    with np.errstate(over="ignore"):
        near = array.dtype.kind in "iuf" and array.max() - array.min() < _NO_MODEL
    if near:  # labels −1 and 1 are two classes, not three
        smallest = array.min()
        above = array - smallest
        shifted = above.astype(np.uint8)
        if np.array_equal(shifted, above):
            counts = sum(np.bincount(x.ravel(), minlength=256) for x in model_batches(shifted))
            used = np.flatnonzero(counts)
            code = np.zeros(256, dtype=np.uint8)
            code[used] = np.arange(len(used))
            return code[shifted], used + smallest
    try:
        classes, codes = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"labels must all be of one kind, numbers or text: {error}") from error
    if len(classes) > _MOST_CLASSES:
        raise ValueError(
            f"labels must be at most {_MOST_CLASSES} different classes, got {len(classes)}; "
            "for scores or predicted numbers use delta_ambiguity, delta_discrepancy or "
            "viable_prediction_range"
        )
    return codes.reshape(array.shape).astype(np.uint8), classes


def _refuse_missing_labels(array: NDArray[Any], name: str) -> None:
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


def group_codes(
    groups: ArrayLike | pd.Series, n_rows: int
) -> tuple[NDArray[np.integer[Any]], list[Any]]:
    """Category index (n_rows,) of each row's group, and the categories in order."""
    column = pd.Series(groups) if np.ndim(groups) == 1 else None
    if column is None or len(column) != n_rows:
        raise ValueError(
            f"groups must hold one group for each of {n_rows} rows, got shape {np.shape(groups)}"
        )
    if column.isna().any():
        raise ValueError(
            f"groups has no group for row {int(column.isna().to_numpy().argmax())}: give such "
            "rows a separate group, or omit them"
        )
    kinds = column.astype("category").cat
    return kinds.codes.to_numpy(), kinds.categories.tolist()


Columns = NDArray[np.intp]

Features = Sequence[Any] | Mapping[str, Sequence[Any]] | str | None
"""None, ``"columns"``, a list of names, indices or lists of them, or a mapping to such lists."""

COLUMNS = "columns"
"""Selects every column separately, even where several columns form one feature."""


def feature_groups(
    features: Features, names: Sequence[str], groups: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Columns]:
    """Return the column indices of each selected feature by name.

    Columns that have a meaning only together, such as the indicators of one category, are one
    feature: switching them one by one would create impossible rows.

    Parameters
    ----------
    features : None, "columns", sequence or mapping
        None: every feature once, with the columns of a group together. ``"columns"``: every column
        separately. A sequence: each entry is a name of a column or group, a column index, or a
        list of these, whose name joins theirs with " + ". A mapping: name → such a list.
    names : sequence of str
        Names of the columns, without the intercept.
    groups : mapping of str to sequence of str, optional
        Columns that form one feature, such as a set's ``feature_groups``. By default the columns
        ``"name=level"`` of each name form one feature.

    Returns
    -------
    dict of str to ndarray of int
        Indices of the columns of each feature.

    Raises
    ------
    ValueError
        If a feature is unknown, a group is empty or holds a column twice, or a name is repeated.

    Examples
    --------
    >>> names = ["age", "home=own", "home=rent"]
    >>> {name: columns.tolist() for name, columns in feature_groups(None, names).items()}
    {'age': [0], 'home': [1, 2]}
    >>> list(feature_groups(["age", [1, "age"]], names))
    ['age', 'home=own + age']
    """
    from rashomon_explorer.sets.linear import groups_by_name

    grouped = groups_by_name(names) if groups is None else groups
    if features is None:
        group_of = {column: group for group, columns in grouped.items() for column in columns}
        columns_by_feature: dict[str, list[int]] = {}
        for index, name in enumerate(names):
            columns_by_feature.setdefault(group_of.get(name, name), []).append(index)
        return {name: np.array(k, dtype=np.intp) for name, k in columns_by_feature.items()}
    if isinstance(features, str):
        if features != COLUMNS:
            raise ValueError(
                f"features must be a list of features or {COLUMNS!r}: write [{features!r}]"
            )
        return {name: np.array([j], dtype=np.intp) for j, name in enumerate(names)}
    if isinstance(features, Mapping):
        return {str(name): _columns(entry, names, grouped)[0] for name, entry in features.items()}
    columns_by_name: dict[str, Columns] = {}
    for entry in features:
        columns, name = _columns(entry, names, grouped)
        if name in columns_by_name:
            raise ValueError(f"features holds {name!r} twice")
        columns_by_name[name] = columns
    if not columns_by_name:
        raise ValueError("features must name at least one feature, got none; None selects all")
    return columns_by_name


def _columns(
    entry: Any, names: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> tuple[Columns, str]:
    members = [entry] if isinstance(entry, str | Integral) else list(entry)
    if not members:
        raise ValueError("a group of features must hold at least one feature, got none")
    indices: list[int] = []
    called: list[str] = []
    for member in members:
        if isinstance(member, str) and member in groups and member not in names:
            indices += [_column(column, names) for column in groups[member]]
            called.append(member)
        else:
            indices.append(_column(member, names))
            called.append(names[indices[-1]])
    columns = np.array(indices, dtype=np.intp)
    if len(np.unique(columns)) < len(columns):
        raise ValueError(f"the group {members!r} holds a feature twice")
    return columns, " + ".join(called)


def _column(member: Any, names: Sequence[str]) -> int:
    if isinstance(member, Integral) and not isinstance(member, bool | np.bool_):
        if 0 <= int(member) < len(names):
            return int(member)
        raise ValueError(f"there are {len(names)} features, numbered from 0, got {member!r}")
    if member in names:
        return list(names).index(member)
    raise ValueError(f"unknown feature {member!r}; the features are {', '.join(names)}")
