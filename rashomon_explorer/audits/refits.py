"""Refits of an estimator: other seeds, rows, hyper-parameters or columns, or without a fold."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import select_rows, validate_parameter_constraints
from rashomon_explorer.sets.models.fitted import FittedModels


def recipe(model: Any) -> Any:
    """Unfitted copy of a model; a search is replaced by its best estimator, nothing is frozen."""
    if hasattr(model, "best_estimator_"):
        return recipe(model.best_estimator_)
    if isinstance(model, FrozenEstimator):
        return recipe(model.estimator)
    copy = clone(model)
    parts = copy.get_params(deep=True) if hasattr(copy, "get_params") else {}
    frozen = {name: part for name, part in parts.items() if isinstance(part, FrozenEstimator)}
    copy.set_params(**{name: recipe(part) for name, part in frozen.items()})
    if isinstance(getattr(model, "steps", None), list):
        copy.steps[-1] = (copy.steps[-1][0], recipe(model.steps[-1][1]))
    return copy


def fit(model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Any:
    """Fit a model or a pipeline, with weights for its last step, or for the steps that ask."""
    if sample_weight is None:
        return model.fit(X, y)
    steps, name = getattr(model, "steps", None), "sample_weight"
    if isinstance(steps, list) and not get_config()["enable_metadata_routing"]:
        name = f"{steps[-1][0]}__sample_weight"
    return model.fit(X, y, **{name: sample_weight})


@contextmanager
def on_a_part_of_the_rows() -> Iterator[None]:
    """Say what to do if a model cannot be fitted to a part of the rows and used on the others."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"the model fails if it is fitted to a part of the rows and used on the rest: {error}. "
            "A level of a few rows needs an encoder that takes unknown levels, such as "
            "OneHotEncoder(handle_unknown='ignore'); with a number or a percentage as the "
            "tolerance, linear models are not refitted"
        ) from error


def column_names(X: Any) -> list[str]:
    """Names of a table's columns, by default x0, x1, …; none of a list of texts."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    shape = np.shape(X)
    return [f"x{position}" for position in range(shape[1] if len(shape) > 1 else 0)]


def floored(scores: FloatArray, n: int, classes: Sequence[Any]) -> FloatArray:
    """Probabilities of at least 1/(2n), which n rows cannot tell from 0; other scores unchanged."""
    if not classes:
        return scores
    floor = 1 / (2 * n)
    return np.clip(scores, floor, 1.0 if scores.ndim == 3 else 1 - floor)


_ROWWISE = ("predict", "predict_proba", "decision_function", "predict_log_proba", "score")


class FixedColumns(BaseEstimator):
    """Estimator for which some columns, by name, have one value in every row."""

    def __init__(self, model: Any, columns: list[str]) -> None:
        self.model = model
        self.columns = columns

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a copy of the model to rows whose columns have their middle or commonest value."""
        names = column_names(X)
        for name in self.columns:
            if name not in names:
                raise ValueError(f"unknown column {name!r}; the columns are {', '.join(names)}")
        self.values_ = {names.index(name): _typical(X, names.index(name)) for name in self.columns}
        self.model_ = fit(clone(self.model), self._fixed(X), y, sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tags of the model."""
        return self.model.__sklearn_tags__()

    def __getattr__(self, name: str) -> Any:
        fitted = self.__dict__.get("model_")
        if fitted is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        attribute, positions = getattr(fitted, name), list(self.values_)
        if name in _ROWWISE:
            return lambda X, *rest: attribute(self._fixed(X), *rest)
        if name == "coef_":  # of the rows as they come
            attribute = np.array(attribute)
            attribute[..., positions] = 0.0
        elif name == "intercept_":
            attribute = attribute + fitted.coef_[..., positions] @ [*self.values_.values()]
        return attribute

    def _fixed(self, X: Any) -> Any:
        if not hasattr(X, "columns"):
            rows = np.array(X)
            for position, value in self.values_.items():
                rows[:, position] = value
            return rows
        rows = X.copy()
        for position, value in self.values_.items():
            old = X.iloc[:, position]
            rows[X.columns[position]] = pd.Series(value, index=X.index, dtype=old.dtype)
        return rows


def _typical(X: Any, place: int) -> Any:
    column = pd.Series(X.iloc[:, place] if hasattr(X, "columns") else np.asarray(X)[:, place])
    present = column.dropna()
    if present.empty:
        return np.nan
    if present.dtype.kind in "iuf":
        return present.sort_values().iloc[len(present) // 2]
    return present.mode().iloc[0]


def _double(value: Any) -> tuple[Any, ...]:
    return (value / 2, value * 2) if _is_number(value) and value > 0 else ()


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _double_count(value: Any) -> tuple[Any, ...]:
    return tuple(filter(None, (int(value) // 2, int(value) * 2))) if _is_count(value) else ()


def _step(value: Any) -> tuple[Any, ...]:
    return tuple(filter(None, (int(value) - 1, int(value) + 1))) if _is_count(value) else ()


def _share(value: Any) -> tuple[Any, ...]:
    return (value / 2, min(1.0, 2 * value)) if _is_number(value) and 0 < value <= 1 else ()


def _max_features(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Integral):
        return _double_count(value)
    if isinstance(value, Real) and value < 1:
        return _share(value)
    return tuple(
        option for option in ("sqrt", "log2", None) if option != (None if value == 1.0 else value)
    )


def _layer_sizes(value: Any) -> tuple[Any, ...]:
    sizes = (value,) if isinstance(value, Integral) else tuple(value)
    return tuple(tuple(max(1, int(size * factor)) for size in sizes) for factor in (0.5, 2))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


Neighbours = Callable[[Any], tuple[Any, ...]]

NEIGHBOURS: dict[str, Neighbours] = {
    "C": _double,
    "alpha": _double,
    "ccp_alpha": _double,
    "colsample_bytree": _share,
    "gamma": _double,
    "hidden_layer_sizes": _layer_sizes,
    "l1_ratio": _share,
    "l2_regularization": _double,
    "learning_rate": _double,
    "learning_rate_init": _double,
    "max_depth": _step,
    "max_features": _max_features,
    "max_leaf_nodes": _double_count,
    "min_child_samples": _double_count,
    "min_child_weight": _double,
    "min_samples_leaf": _double_count,
    "n_estimators": _double_count,
    "n_neighbors": _double_count,
    "num_leaves": _double_count,
    "reg_alpha": _double,
    "reg_lambda": _double,
    "subsample": _share,
}
"""Neighbouring values of a hyper-parameter by its name, as a function of its value."""


def neighbours(model: Any) -> list[tuple[str, Any]]:
    """List changes of one hyper-parameter of a model's last step: its full name, a new value."""
    prefix, step = "", model
    while isinstance(getattr(step, "steps", None), list):
        prefix, step = f"{prefix}{step.steps[-1][0]}__", step.steps[-1][1]
    settings = step.get_params(deep=True) if hasattr(step, "get_params") else {}
    return [
        (prefix + name, neighbour)
        for name, value in sorted(settings.items())
        for neighbour in _other_values(name, value, {"": step, **settings})
    ]


def _other_values(name: str, value: Any, parts: Mapping[str, Any]) -> list[Any]:
    owner, _, short = name.rpartition("__")
    split_names = [parameter.rpartition("__") for parameter in parts]
    has = {parameter for part, _, parameter in split_names if part == owner}
    rule = NEIGHBOURS.get(short)
    if short == "max_iter" and "max_bins" in has:  # trees of a booster; otherwise a solver's steps
        rule = _double_count
    if rule is None or (short == "alpha" and "n_estimators" in has):  # a quantile
        return []
    allowed = getattr(parts[owner], "_parameter_constraints", {}).get(short)
    neighbours = [neighbour for neighbour in rule(value) if neighbour != value]
    if allowed is None:
        return neighbours
    accepted = []
    for neighbour in neighbours:
        with suppress(ValueError):
            validate_parameter_constraints(
                {short: allowed}, {short: neighbour}, caller_name="model"
            )
            accepted.append(neighbour)
    return accepted


@dataclass(frozen=True)
class Refit:
    """What one refit changes."""

    kind: str  # "as given" or one of KINDS
    name: str  # the change, such as "max_depth=4" or "constant age"
    setting: tuple[str, Any] | tuple[()] = ()  # hyper-parameter and its value
    column: str = ""  # that is held constant
    seed: int | None = None  # of the estimator, or of the rows of a bootstrap

    def fitted(
        self, model: Any, X: Any, y: NDArray[Any], weight: NDArray[Any] | None, base_seed: int
    ) -> Any:
        """Fit a copy of the model with this change."""
        copy = clone(model)
        seeds = _seeds(copy, self.seed if self.kind == "seed" else None, base_seed)
        copy.set_params(**seeds, **dict([self.setting] if self.setting else []))
        if self.column:
            copy = FixedColumns(copy, [self.column])
        if self.kind == "bootstrap":
            rows = _bootstrap(y, np.random.default_rng(self.seed))
            X, y = select_rows(X, rows), y[rows]
            weight = None if weight is None else weight[rows]
        return fit(copy, X, y, weight)


AS_GIVEN = Refit("as given", "as given")


def _seeds(model: Any, seed: int | None, base_seed: int) -> dict[str, int]:
    """Set each ``random_state`` of a model and its parts to ``seed``, or those without a number."""
    return {
        name: base_seed if seed is None else seed
        for name, value in model.get_params(deep=True).items()
        if name.rpartition("__")[2] == "random_state"
        and (seed is not None or not isinstance(value, Integral))
    }


def _bootstrap(y: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows drawn with replacement, at least one of each class if y holds labels of classes."""
    rows = rng.integers(len(y), size=len(y))
    labels, first = np.unique(y, return_index=True)
    if y.dtype.kind != "f" and len(labels) < 256:
        lost = ~np.isin(labels, y[rows])
        rows[: lost.sum()] = first[lost]
    return rows


KINDS = ("seed", "bootstrap", "neighbour", "column")


def available_refits(model: Any, X: Any) -> dict[str, list[Refit]]:
    """Refits of each kind; one without seed for seeds and bootstraps, of which there are many."""
    columns = column_names(X)
    random = any(name.endswith("random_state") for name in model.get_params(deep=True))
    changes = []
    for name, value in neighbours(model):
        text = f"{value:g}" if isinstance(value, float) else str(value)
        changes.append(Refit("neighbour", f"{name.rpartition('__')[2]}={text}", (name, value)))
    constant = columns if len(columns) > 1 and not issparse(X) else []
    return {
        "seed": [Refit("seed", "seed")] if random else [],
        "bootstrap": [Refit("bootstrap", "bootstrap")],
        "neighbour": changes,
        "column": [Refit("column", f"constant {name}", column=name) for name in constant],
    }


def count_refits(available: Mapping[str, Sequence[Refit]]) -> float:
    """Count the different refits; infinite with seeds or bootstraps."""
    listed = [refit for kind in available.values() for refit in kind]
    endless = any(refit.kind in ("seed", "bootstrap") for refit in listed)
    return float("inf") if endless else len(listed)


def draw_refits(
    available: Mapping[str, Sequence[Refit]], rng: np.random.Generator
) -> Iterator[Refit]:
    """Independent refits: a kind uniformly, then one of it uniformly, or with a new seed."""
    kinds = [kind for kind, refits in available.items() if refits]
    while True:
        options = available[kinds[int(rng.integers(len(kinds)))]]
        refit = options[int(rng.integers(len(options)))]
        if refit.kind in ("seed", "bootstrap"):
            seed = int(rng.integers(2**31))
            refit = Refit(refit.kind, f"{refit.kind} {seed}", seed=seed)
        yield refit


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

    def positions(self, X: Any) -> NDArray[np.intp]:
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
        positions = self.rows.positions(X)
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

    def take(self, positions: NDArray[np.intp]) -> Self:
        """Return the models at the given indices."""
        labels = None if self.held_out_labels is None else self.held_out_labels[positions]
        return replace(
            super().take(positions),
            fits=tuple(self.fits[position] for position in positions),
            held_out_scores=self.held_out_scores[positions],
            held_out_labels=labels,
        )
