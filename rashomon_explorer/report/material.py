"""Inputs of the two report editions: separate types, so that neither accepts the other's."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.data.encoder import encoded_units
from rashomon_explorer.data.schema import TableSchema, data_dependent
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import multiplicity_table
from rashomon_explorer.measures.inputs import set_and_rows
from rashomon_explorer.measures.ranges.level_set import check_problem
from rashomon_explorer.networks.sets import AnyRelease
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release import ReleasedAggregates
from rashomon_explorer.rows import ChunkedRows, chunked, coercion
from rashomon_explorer.rows.source import RowSubset
from rashomon_explorer.sets import PredictorSet, RashomonSet, ReleasedSet
from rashomon_explorer.sets.models.fitted import StoredPredictions

PEOPLE = 5_000
"""Number of people shown from chunked rows, sampled by position only."""

EVERYONE = "all rows"
"""Group of the rows of `Curator.multiplicity` that are of all rows."""

Bounds = Mapping[str, tuple[float, float] | str]
AnySet = RashomonSet | PredictorSet


@dataclass(frozen=True, kw_only=True)
class PublicMaterial:
    """Input that both editions may show."""

    title: str = ""
    date: str = ""  # as printed; empty for no date
    table: str = ""  # name of the data set
    author: str = ""
    target: str = ""  # description of the quantity that the models predict
    schema: TableSchema | None = None  # public; it states target, classes, bounds and units
    # declared, public range of each feature in its own units, or its declaration in words
    bounds: Bounds = field(default_factory=dict)
    constants: Constants | None = None  # public constants, for bounds on new rows
    domain: Domain | None = None  # the set of models to which the constants apply
    ledger: Ledger | None = None  # whose charges are listed

    @cached_property
    def units(self) -> "pd.DataFrame | None":
        """Offset, size and name of the unit of each encoded feature; None if they are unknown."""
        models = getattr(self, "models", None)
        if self.schema is None or not isinstance(models, RashomonSet | ReleasedSet):
            return None
        if models.outputs > 1 or getattr(models, "scale", None) is not None:
            return None
        if models.feature_names[:-1] != self.schema.encoded_names:
            return None
        units = encoded_units(self.schema, models.row_norm)
        return pd.DataFrame.from_dict(units, orient="index", columns=["offset", "size", "unit"])


@dataclass(frozen=True, kw_only=True)
class Curator(PublicMaterial):
    """Material of the curator's edition: a set with its losses, and private rows."""

    models: AnySet
    X: Any = None  # (n_rows, n_features): rows in the models' encoding, or chunked rows
    y: Any = None  # (n_rows,): targets as given to the estimator
    groups: "pd.Series[Any] | None" = None  # (n_rows,): a sensitive attribute
    problem: Problem | None = None  # the problem of the draws, for exact ranges

    @property
    def n_rows(self) -> int | None:
        """Number of rows, in memory or chunked; None without rows."""
        if isinstance(self.X, ChunkedRows):
            return self.X.n
        return len(self.X) if self.X is not None else None

    @cached_property
    def people(self) -> "Curator":
        """The same input with rows in memory: for chunked rows, a fixed random sample."""
        if not isinstance(self.X, ChunkedRows):
            return self
        some = self.X.sample(PEOPLE)
        positions = RowSubset.random(self.X.source, PEOPLE, 0).positions
        rows = np.concatenate([np.array(block) for block, _ in some.chunks()])
        y = None if self.y is None else self.y[positions]
        groups = None if self.groups is None else self.groups.iloc[positions].reset_index(drop=True)
        return replace(self, X=rows, y=y, groups=groups)

    @cached_property
    def multiplicity(self) -> pd.DataFrame:
        """Measures over the models within ψ, or over all if there are none, on all rows."""
        groups = None if self.groups is None else self.groups.to_numpy()
        inside = bool(self.members.n_draws)
        return multiplicity_table(self.models, self.X, groups=groups, inside_only=inside)

    @property
    def whose(self) -> str:
        """Note on the sample of people in a section; empty if all rows are used."""
        if not isinstance(self.X, ChunkedRows) or self.X.n <= PEOPLE:
            return ""
        return (
            f"The rows are chunked: this section shows a fixed random sample of {PEOPLE:,} of "
            f"{self.X.n:,} people."
        )

    @property
    def readable(self) -> bool:
        """Whether predictions are available, from rows or stored."""
        predictors = self.models.models if isinstance(self.models, PredictorSet) else None
        return self.X is not None or isinstance(predictors, StoredPredictions)

    def rows(self, start: int, stop: int) -> Any:
        """Return some of the rows, in memory or chunked; None for stored predictions."""
        if self.X is None:
            return None
        if isinstance(self.X, ChunkedRows):  # of the first chunk; `people` is a sample of all rows
            return next(self.X.chunks(0, 1))[0][start:stop]
        return self.X.iloc[start:stop] if hasattr(self.X, "iloc") else self.X[start:stop]

    @cached_property
    def members(self) -> AnySet:
        """The models within ψ if losses are known; otherwise all."""
        if not self.models.n_draws or not np.isfinite(self.models.least):
            return self.models
        return self.models if self.models.hit_rate == 1 else self.models.inside()


@dataclass(frozen=True, kw_only=True)
class Release(PublicMaterial):
    """Material of a release: private draws and released aggregates."""

    models: AnyRelease
    aggregates: tuple[ReleasedAggregates, ...] = ()


def curator_material(
    models: AnySet,
    X: Any,
    y: ArrayLike | None,
    groups: ArrayLike | str | None,
    problem: Problem | None,
    **public: Any,
) -> Curator:
    """Check the arguments of a curator's report before any computation."""
    models, X = set_and_rows(models, X)
    if not isinstance(models, AnySet):
        raise TypeError(
            f"the curator's report needs a RashomonSet or a PredictorSet, got "
            f"{type(models).__name__}; a release goes to release_report"
        )
    if coercion.is_chunked(X):
        X = coercion.as_chunked_rows(X)
        y = chunked.read_targets(X) if y is None and X.source.labelled else y
        groups = chunked.read_column(X, groups) if isinstance(groups, str) else groups
    classes = _classes(public)
    targets = None if y is None else np.asarray(y)
    if (named := _named_classes(models, classes)) is not models:
        models = named
        targets = None if targets is None else np.asarray(models.classes)[targets.astype(int)]
    split = None if groups is None else _named(groups)
    _check_lengths(Curator(models=models, X=X, y=targets, groups=split))
    if problem is not None:
        _check_problem(models, problem)
        public |= {"constants": problem.constants, "domain": problem.domain}
    return Curator(models=models, X=X, y=targets, groups=split, problem=problem, **_tidy(public))


def release_material(
    models: AnyRelease, aggregates: Sequence[ReleasedAggregates], **public: Any
) -> Release:
    """Check that draws and aggregates are private releases."""
    if type(models) not in AnyRelease.__args__:
        raise TypeError(
            f"a release needs a ReleasedSet, ReleasedTrees or ReleasedNetworks, got "
            f"{type(models).__name__}: call .release() on a set of private draws first"
        )
    schema = public.get("schema")
    if schema is not None and data_dependent(schema):
        raise CuratorOnlyError("schema has data-dependent values: confirm them before a release")
    models = _named_classes(models, _classes(public))
    for position, value in enumerate(aggregates):
        if type(value) is not ReleasedAggregates:
            raise TypeError(
                f"aggregates[{position}] must be a result of release.release, got "
                f"{type(value).__name__}"
            )
        if not value.guarantee.holds:
            raise CuratorOnlyError(f"aggregates[{position}] cannot be released: {value.guarantee}")
    material = Release(models=models, aggregates=tuple(aggregates), **_tidy(public))
    if material.constants is not None:
        if not isinstance(models, ReleasedSet):
            raise ValueError("constants and domain apply to linear models: omit them")
        constants, planned = material.constants, models.plan
        actual = constants.n, constants.p, constants.charged_oscillation
        expected = planned.n, planned.p, planned.oscillation
        if not np.allclose(actual, expected, rtol=1e-9, atol=0):
            raise ValueError(
                f"constants must match the draws: expected n, p and oscillation {expected}, got "
                f"{actual}; use constants(n_samples, n_features) of the fitted estimator"
            )
    return material


def _classes(public: dict[str, Any]) -> Sequence[Any] | None:
    schema, classes = public.get("schema"), public.pop("classes", None)
    return classes or (None if schema is None else schema.classes)


def _named_classes(models: Any, classes: Sequence[Any] | None) -> Any:
    """Models whose classes have names instead of the codes 0, 1, …; unchanged for other labels."""
    codes = getattr(models, "classes", None)
    if not classes or not codes or tuple(codes) != tuple(range(len(classes))):
        return models
    return replace(models, classes=tuple(map(str, classes)))


def _tidy(public: Mapping[str, Any]) -> dict[str, Any]:
    tidied = {name: value for name, value in public.items() if value is not None}
    schema = tidied.get("schema")
    if schema is not None:
        tidied["schema"] = TableSchema(
            [column for column in schema.columns if column.role == "feature"]
        )
        declared = {column.name: column.summary for column in schema.features}
        tidied["bounds"] = tidied.get("bounds") or declared
        if schema.target is not None:
            tidied["target"] = tidied.get("target") or schema.target.name
    ledger = tidied.get("ledger")
    if isinstance(ledger, str | os.PathLike):
        tidied["ledger"] = Ledger(ledger)
    if ("constants" in tidied) != ("domain" in tidied):
        raise ValueError("constants and domain belong together: give both, or neither")
    return tidied


def _named(groups: ArrayLike) -> "pd.Series[Any]":
    values = groups if isinstance(groups, pd.Series) else pd.Series(np.asarray(groups))
    return values.reset_index(drop=True).rename(str(values.name or "group"))


def _check_lengths(material: Curator) -> None:
    y, columns = material.y, {"y": material.y, "groups": material.groups}
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if material.n_rows is not None:
        lengths = {"X": material.n_rows, **lengths}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"X, y and groups must have the same number of rows, got {lengths}")
    if y is not None and y.ndim != 1:
        raise ValueError(f"y must have shape (n_rows,), got {y.shape}")


def _check_problem(models: AnySet, problem: Problem) -> None:
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem must be a Problem, as declared_problem(estimator, X, y) makes it, got "
            f"{type(problem).__name__}"
        )
    check_problem(problem)
    minimum = getattr(models, "minimum", None)
    if minimum is None:
        raise ValueError("problem requires draws of an estimator, and these models were imported")
    away = abs(problem.minimum.value - minimum.value)
    if away > problem.minimum.gap + minimum.gap + 1e-12:
        raise ValueError(
            f"the problem's least loss differs from that of the draws by {away:.3g}: use "
            "declared_problem(estimator, X, y) with the rows of the fit"
        )
