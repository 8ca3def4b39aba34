"""A private model of a raw table: ranges, levels and gaps of its columns are released first."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from rashomon_explorer import exceptions
from rashomon_explorer._utils import containers, formatting, sklearn_compat
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.columns import Column, IgnoredColumn, Numeric
from rashomon_explorer.data.encoder import cell_reader, find_features, warn_unconfirmed
from rashomon_explorer.data.messages import listed_columns, quoted
from rashomon_explorer.estimators import base, feasibility, private_search, targets
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.mechanisms.planner import warn_if_delta_is_large
from rashomon_explorer.mechanisms.table_preparation import PreparationPlan, release_columns
from rashomon_explorer.privacy import Guarantee, approximate
from rashomon_explorer.privacy.guarantee import ROUNDING, epsilon_delta_text
from rashomon_explorer.privacy.ledger.charge import failure_assumption
from rashomon_explorer.privacy.ledger.tables import record_charged_table
from rashomon_explorer.rows.coercion import is_chunked

_THEOREM = (
    "(ε, δ)-DP: noisy counts of the columns' cells, then the model, added up "
    "(docs/theory/columns.md)"
)
_SAFE = 1 - 1e-9
NAMES_ARE_PUBLIC = "the names of the columns are public"


@dataclass(frozen=True, repr=False)
class PrivateTablePlan(formatting.ReprMixin):
    """Split of a privacy cost between the preparation of a table and the model."""

    epsilon: float
    delta: float
    preparation: PreparationPlan
    each: tuple[float, float]
    model: Any
    guarantee: Guarantee

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.preparation.n

    def _title(self) -> str:
        return f"PrivateTablePlan: {self.n:,} rows"

    def _facts(self) -> list[formatting.Fact]:
        return [
            ("privacy cost", epsilon_delta_text(self.epsilon, self.delta)),
            *self.preparation.facts,
            ("model", f"{epsilon_delta_text(*self.each)}; {self.model.mechanism}"),
        ]


class _RawTable(TableAdapter):
    """Table whose columns have placeholders; the ledger's registry hashes its cells."""

    def register_with_ledger(self, ledger: Path) -> None:
        """Record the table in the registry next to a ledger."""
        frame = containers.as_pandas(self.X)
        record_charged_table(ledger, frame if hasattr(frame, "iloc") else np.asarray(frame))


@base.with_parameters
class PrivateTable(private_search.WrapperMethods, base.BasePrivateEstimator[PrivateTablePlan]):
    """Prepare a raw table and fit a model to it, at one total privacy cost.

    Columns of ``schema`` are public and cost nothing. Of each other column the kind, the range of
    its numbers, the common levels of its text and whether cells are missing are released with noise
    first; the estimator is then fitted with the resulting schema and what remains of ε and δ. So
    no earlier step has to scale, encode or fill in.

    Parameters
    ----------
    estimator : estimator
        :class:`DPClassifier`, :class:`DPRegressor`, :class:`RashomonClassifier`,
        :class:`RashomonRegressor` or :class:`RashomonTreeClassifier`, without ledger and schema.
        Its ``epsilon``, ``delta`` and ``random_state`` are overridden.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    preparation : float, default=0.2
        Share of ``epsilon`` for the columns that nobody declared, with half of ``delta``; none is
        spent if there are no such columns. With ``delta=0`` levels of text cannot be released.
    categorical : sequence of str, default=()
        Columns whose numbers are codes of levels.
    schema : TableSchema, str, path or None, default=None
        Declarations of some or all columns; others need none.
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimator_ : estimator
        The fitted model, for all else that it offers; its ``guarantee_`` is the total.
    schema_ : TableSchema
        Declared and released columns. It may be published with the model.
    guarantee_ : Guarantee
        Guarantee of the schema and the model together.
    plan_ : PrivateTablePlan
        Split of the cost, and the model's plan for the released columns.
    classes_, n_features_in_, feature_names_in_
        Those of ``estimator_``.

    Notes
    -----
    Names and number of the columns are public. The target is ``y``; a column of the table with its
    name is not a feature. A level in fewer rows than ``plan_.preparation.threshold`` is one of
    ``"name=(other)"``. In a ledger a charge with ``delta > 0`` composes with pure and (ε, δ)
    charges only. A column about which the noise leaves nothing to say is ignored, with a
    warning: declare it.

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer import DPClassifier
    >>> rng = np.random.default_rng(0)
    >>> age, home = rng.integers(18, 80, 20_000), rng.choice(["own", "rent", "free"], 20_000)
    >>> frame = pd.DataFrame({"age": age, "home": home}).mask(rng.random((20_000, 2)) < 0.05)
    >>> labels = np.where((age > 40) & (home == "own"), "yes", "no")
    >>> private = PrivateTable(DPClassifier(classes=["no", "yes"]), random_state=0)
    >>> model = private.fit(frame, labels)
    >>> model.schema_
    TableSchema
      age   numeric 0 to 364.25, typically 17.75 to 80.75, missing: indicator
      home  categorical 'free', 'own', 'rent', missing: indicator
    >>> model.guarantee_.epsilon(1e-6), bool(model.score(frame, labels) > 0.75)
    (1.0, True)
    """

    _chunked = False
    _fitted = "estimator_"

    estimator: BaseEstimator = field(kw_only=False)
    preparation: float = 0.2
    categorical: Sequence[str] = ()
    schema: base.Schema = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [sklearn_compat.HasMethods(["fit", "predict", "plan"])],
        "preparation": [sklearn_compat.Interval(Real, 0, 1, closed="neither")],
        "categorical": ["array-like"],
        "schema": base.SCHEMA,
    }

    @available_if(private_search.model_has("release"))
    def release(self) -> Any:
        """Return the model with the schema and the total guarantee: to save and to publish."""
        return self._model.release()

    def __sklearn_tags__(self) -> Tags:
        """Tags of the estimator, for text and missing values."""
        tags = get_tags(self.estimator)
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    @property
    def _numeric(self) -> bool:
        return not is_classifier(self.estimator)

    @property
    def _row_norm(self) -> Any:
        return None

    def _n_encoded(self, n_features: int | None) -> int:
        if n_features is None:
            raise ValueError("n_features is required: the number of columns without the target")
        return n_features

    def _layout(self, names: Sequence[str], target: str | None = None) -> TableSchema:
        """Join the declared columns and placeholders of the others, in the table's order."""
        declared = self._declared or TableSchema(())
        placeholders: list[Column] = [
            IgnoredColumn(name, role="target") if name == target else Numeric(name, (-1, 1))
            for name in names
            if name not in set(declared)
        ]
        return TableSchema((*declared.columns, *placeholders)).in_order(names)

    def _undeclared(self, layout: TableSchema) -> list[str]:
        declared = set(self._declared or ())
        return [column.name for column in layout.features if column.name not in declared]

    def _table(self, X: Any, y: Any) -> TableAdapter:
        options: dict[str, Any] = {"numeric": self._numeric, "chunked": False}
        if is_chunked(X):
            return TableAdapter(self, X, y, **options)  # raises
        containers.check_readable("X", X)
        labels, declared, target = containers.column_labels(X), self._declared, None
        if labels is not None:
            target = str(y.name) if getattr(y, "name", None) is not None else None
        elif declared is not None:  # columns without names are all declared
            labels = list(declared)
        else:
            shape = containers.container_shape(X, 2) or np.shape(X)
            labels = [f"x{j}" for j in range(shape[1] if len(shape) == 2 else 0)]
        layout = self._layout([str(label) for label in labels], target)
        listed_columns(self.categorical, "categorical", list(layout))
        warn_unconfirmed(layout)
        return _RawTable(self, X, y, schema=layout, **options)

    def _planned(
        self, n_samples: int, n_features: int, n_classes: int | None = None
    ) -> PrivateTablePlan:
        declared = self._declared or TableSchema(())
        more = [f"column {j}" for j in range(n_features - len(declared.features))]
        return self._plan_split(n_samples, self._layout([*declared, *more]))

    def _plan_split(self, n_samples: int, layout: TableSchema) -> PrivateTablePlan:
        """Split the cost by public numbers; the model is planned for a column a placeholder."""
        feasibility.check_budget(self)
        n_released = len(self._undeclared(layout))
        preparation = PreparationPlan(n_samples, 0, 0.0, 0.0)
        each = self._epsilon, self._delta
        if n_released:
            spent = self.preparation * self._epsilon
            preparation = PreparationPlan(n_samples, n_released, spent, self._delta / 2)
            each = (self._epsilon - spent) * _SAFE, self._delta / 2
            if preparation.hides_all:
                raise exceptions.SamplerError(
                    f"{n_released} undeclared columns of {n_samples:,} rows cannot be described "
                    f"for ε = {formatting.epsilon_text(spent)}: the noise of a count is about "
                    f"{preparation.deviation(n_released):,.0f}. Declare columns in a schema, at "
                    "no cost, or choose a larger epsilon or preparation. Nothing was charged"
                )
        model, guarantee = self._plan_model(n_samples, layout, each)
        if n_released:
            stated = (*guarantee.assumptions, NAMES_ARE_PUBLIC)
            total = approximate(self._epsilon, self._delta)
            guarantee = replace(total, theorem=_THEOREM, assumptions=stated)
        guarantee = replace(guarantee, requested=(self._epsilon, self._delta))
        return PrivateTablePlan(self._epsilon, self._delta, preparation, each, model, guarantee)

    def _plan_model(
        self, n_samples: int, schema: TableSchema, each: tuple[float, float]
    ) -> tuple[Any, Guarantee]:
        """Plan of the model at its share of the cost, and its guarantee within the share."""
        shape = n_samples, len(schema.encoded_names)
        (candidate,) = private_search.plan_candidates([self._template(schema)], [{}], shape, each)
        if not candidate.guarantee.epsilon(each[1]) <= each[0] * (1 + ROUNDING):
            raise exceptions.SamplerError(
                f"the model costs more than its share, {epsilon_delta_text(*each)}"
            )
        uncharged = failure_assumption("fit", charged=False)
        stated = tuple(line for line in candidate.guarantee.assumptions if line != uncharged)
        return candidate.plan, replace(candidate.guarantee, assumptions=stated)

    def _warn(self, planned: PrivateTablePlan) -> None:
        """Warn as the model does of its plan."""
        if self._warns:
            warn_if_delta_is_large(self._delta, planned.n)
            clone(self.estimator).set_params(delta=0.0)._warn(planned.model)

    def _template(self, schema: TableSchema) -> Any:
        """Unfitted model for a schema; its plan sets the cost."""
        template: Any = self.estimator
        private = isinstance(template, base.BasePrivateEstimator)
        if not private or "schema" not in template.get_params() or isinstance(template, type(self)):
            raise TypeError(
                "estimator must be DPClassifier, DPRegressor, RashomonClassifier, "
                f"RashomonRegressor or RashomonTreeClassifier, got {template!r}"
            )
        for name in ("ledger", "schema"):
            if getattr(template, name) is not None:
                raise ValueError(f"give {name}= to PrivateTable, not to its estimator")
        seed = None if self.random_state is None else 0  # guarantees state that a seed is known
        return clone(template).set_params(schema=schema, random_state=seed)

    def _plan_fit(self, table: TableAdapter) -> base.PlannedFit:
        layout = table.schema
        assert layout is not None
        model = self._template(layout)
        if self._numeric:
            model._target_bounds()  # raises if undeclared
        elif self.ledger is not None:
            targets.check_charged_classes(model.classes, layout)
        planned = self._plan_split(table.shape[0], layout)
        self._warn(planned)
        split = {"preparation": planned.preparation.epsilon, "model": list(planned.each)}
        return base.PlannedFit(
            planned.guarantee,
            note=f"{type(self).__name__}, {type(self.estimator).__name__}",
            parameters={"n": planned.n, "columns": planned.preparation.k, **split},
            draw=lambda guarantee: self._prepare_and_fit(table, layout, planned, guarantee),
        )

    def _check_table(self, table: TableAdapter) -> None:
        if not self._numeric:
            labels = np.asarray(table.y)
            classes = targets.known_classes(cast(Any, self.estimator).classes, self._declared)
            targets.class_codes(
                labels, targets.found_classes(labels) if classes is None else classes
            )

    def _prepare_and_fit(
        self,
        table: TableAdapter,
        layout: TableSchema,
        planned: PrivateTablePlan,
        guarantee: Guarantee,
    ) -> dict[str, Any]:
        """Read the rows, release the columns, fit the model, and return the fitted attributes."""
        rng = self._generator()
        seed = None if self.random_state is None else int(rng.integers(2**31))
        keys, read = find_features(layout, table.X), cell_reader(table.X)
        undeclared = set(self._undeclared(layout))
        cells = {
            column.name: read(column, key)
            for column, key in zip(layout.features, keys, strict=True)
            if column.name in undeclared
        }
        released = release_columns(
            cells, planned.preparation, rng, categorical=set(self.categorical)
        )
        column_of = {column.name: column for column in (*layout.columns, *released)}
        schema = TableSchema(tuple(column_of[name] for name in layout))
        self._warn_hidden(released, planned)
        model = self._template(schema)
        plan, _ = self._plan_model(planned.n, schema, planned.each)
        epsilon, delta = planned.each
        base.quiet(model).set_params(epsilon=epsilon, delta=delta, random_state=seed)
        model.fit(table.X, table.y)
        model.guarantee_ = guarantee  # no part of the model may state its share alone
        for name in ("_released", "rashomon_set_"):
            if getattr(model, name, None) is not None:
                setattr(model, name, replace(getattr(model, name), guarantee=guarantee))
        inherited = ("classes_", "n_features_in_", "feature_names_in_")
        return {
            **{name: getattr(model, name) for name in inherited if hasattr(model, name)},
            "estimator_": model,
            "schema_": schema,
            "guarantee_": guarantee,
            "plan_": replace(planned, model=plan),
        }

    def _warn_hidden(self, released: Sequence[Column], planned: PrivateTablePlan) -> None:
        """Warn of columns that the model does not see; this says what the release says."""
        hidden = [column.name for column in released if isinstance(column, IgnoredColumn)]
        if hidden:
            warnings.warn(
                f"no count of {quoted(hidden)} was above the noise, so the model ignores it: "
                "declare such columns in schema=, at no cost",
                exceptions.WeakGuaranteeWarning,
                stacklevel=exceptions.warn_stacklevel(),
            )

    def _fit_summary(self) -> list[str]:
        planned: PrivateTablePlan = self.plan_
        released = f"{planned.preparation.k} columns released"
        return [f"{self.estimator_.plan_.mechanism} on {planned.n:,} rows", released]
