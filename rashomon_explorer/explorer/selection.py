"""Inputs of the models on screen, selected models and people, and changes tried on one person."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer import estimators
from rashomon_explorer._utils.arrays import FloatArray, Mask, likeliest
from rashomon_explorer._utils.containers import take_rows
from rashomon_explorer.data import Numeric
from rashomon_explorer.data.cells import cell_text
from rashomon_explorer.data.columns import Levelled
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.data.schema import data_dependent
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.explorer import family, table_rows
from rashomon_explorer.explorer.state import NOT_IN_RELEASE, WAITS, ExplorerState
from rashomon_explorer.measures.ranges import people_ranges
from rashomon_explorer.plots.text import models_within_psi, number, plural, sample_rows
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.scores import EncodedRows


def group_columns(data: Any) -> tuple[str, ...]:
    """Columns that can define groups: sensitive ones first, then those with few levels."""
    if data is None:
        return ()
    target = getattr(getattr(data.get("schema"), "target", None), "name", None)
    first = [str(name) for name in data.sensitive.columns]
    other_columns = [str(name) for name in data.frame.columns if str(name) not in (*first, target)]
    levels = {name: _column(data, name).nunique(dropna=False) for name in [*first, *other_columns]}
    most_levels = max(table_rows.MOST_LEVELS, len(data.frame) // 2)  # names have more
    is_number = {name: pd.api.types.is_numeric_dtype(_column(data, name)) for name in other_columns}
    other_columns = [n for n in other_columns if is_number[n] or levels[n] <= most_levels]
    other_columns.sort(key=lambda name: levels[name] > table_rows.MOST_LEVELS)
    return tuple(name for name in [*first, *other_columns] if levels[name] > 1)


def group_labels(data: Any, column: str) -> pd.Series:
    """Group of each person by a column, as text; categories in the groups' order."""
    values = _column(data, column)
    return table_rows.Grouping.from_values(values)(values).rename(column)


def _column(data: Any, name: str) -> pd.Series:
    for table in (data.sensitive, data.frame):
        for position, label in enumerate(table.columns):
            if str(label) == name:
                return table.iloc[:, position]
    raise KeyError(f"the table has no column {name!r}")


class ModelInputs:
    """Rows, targets and groups in the names and codes of the models on screen."""

    state: ExplorerState
    rows: Any
    _encoder: Any
    _chunk_encoder: Any
    _encoded: Any
    _audited: tuple[Any, Any] = (None, None)
    _ranked: tuple[Any, tuple[str, ...]] = (None, ())

    @property
    def encoder(self) -> Any:
        """Encoder of the rows on screen; None for rows that were given encoded."""
        return self._encoder if self.rows is not None and self.rows is self._encoded else None

    @property
    def group_table(self) -> Any:
        """Table whose columns can define groups: the data set, or the rows of an audit."""
        data, audit = self.state.data, self.state.audit
        if data is not None or audit is None:
            return data
        if self._audited[0] is not audit:
            groups, table = audit.inputs.groups, audit.inputs.model.table
            sensitive = pd.DataFrame(index=table.index) if groups is None else groups.to_frame()
            self._audited = audit, Bunch(sensitive=sensitive, frame=table)
        return self._audited[1]

    @property
    def targets(self) -> Any:
        """Targets of the data set in the coding of the models on screen: codes or labels."""
        data, audit = self.state.data, self.state.audit
        if audit is not None:
            return audit.inputs.model.targets
        if data is None:
            return None
        return data.y if self._uses_codes else data.frame[data.schema.target.name]

    @property
    def _uses_codes(self) -> bool:
        """Whether the models on screen use class codes instead of labels."""
        data, models = self.state.data, self.state.rashomon_set
        named = () if models is None else getattr(models, "classes", ())
        return set(named) <= set(range(len(data.classes or ())))

    @property
    def chunks(self) -> ChunkedRows | None:
        """All rows and targets in the encoding of the models; None for a table in memory."""
        if not self.is_chunked:
            return None
        encoder = self._chunk_encoder
        if encoder is None and family.trees_in(self.state.rashomon_set) is not None:
            encoder = table_rows.IN_UNITS
        table: table_rows.ChunkedTable = table_rows.table_rows(self.state.data)
        return table.encoded(encoder, labels=not self._uses_codes)

    @property
    def ranked_features(self) -> tuple[str, ...]:
        """Features, the one first whose shuffled values change the best model's answers most."""
        state, key = self.state, (id(self.rows), self.state.set_number)
        if state.view == "release" or state.busy or state.rashomon_set is None:
            return ()
        if self._ranked[0] != key:
            try:
                self._ranked = key, _ranked(state.rashomon_set, self.rows, self.encoder)
            except (TypeError, ValueError):  # while another table is loaded, rows are not its own
                return ()
        return self._ranked[1]

    @property
    def is_chunked(self) -> bool:
        return bool(table_rows.table_rows(self.state.data).is_chunked)

    @property
    def sample_words(self) -> str:
        """Describe the sample of people in a chunked table; empty if all people are shown."""
        return str(table_rows.table_rows(self.state.data).words)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of all rows, in memory or chunked, and of encoded columns."""
        n, columns = self.rows.shape
        return (table_rows.table_rows(self.state.data).n if self.is_chunked else n), int(columns)


ESTIMATOR_TYPES: TypeAlias = (
    estimators.RashomonClassifier
    | estimators.RashomonRegressor
    | estimators.RashomonTreeClassifier
    | estimators.RashomonNetworkClassifier
    | estimators.RashomonNetworkRegressor
)


def check_fitted_estimator(estimator: Any) -> ESTIMATOR_TYPES:
    """Return the fitted Rashomon estimator: the object or the last step of a pipeline."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, ESTIMATOR_TYPES):
        raise TypeError(
            "estimator must be a fitted RashomonClassifier, RashomonRegressor, "
            "RashomonTreeClassifier, RashomonNetworkClassifier or …Regressor, or a Pipeline that "
            f"ends in one, got {type(last).__name__}"
        )
    check_is_fitted(last)
    return last


FEWEST_PEOPLE = 30
"""Smaller selections of people are marked in figures, but measures do not use them."""

FEW = 400  # largest number of people that figures show one by one and that get exact results
_MOST_ANSWERS = 2_000_000
_FEW_OF_BLOCKS, _ROWS_ASKED = 20, 400_000_000
"""Chunked rows: each exact result reads all rows. At least the first number of people is shown, and
at most so many that people times rows stays below the second number."""


def _ranked(models: Any, rows: Any, encoder: Any) -> tuple[str, ...]:
    table = taken(rows, some(np.arange(len(rows)), _FEW_ROWS))
    table = table if isinstance(table, pd.DataFrame) else pd.DataFrame(np.asarray(table))
    groups = {} if encoder is None else dict(encoder.feature_groups_)
    grouped = {column for columns in groups.values() for column in columns}
    groups |= {str(name): (name,) for name in table.columns if name not in grouped}
    order, before = np.random.default_rng(0).permutation(len(table)), models.best_scores(table)
    changes = {}
    for name, columns in groups.items():
        shuffled = table.copy()
        for column in columns:
            shuffled[column] = table[column].iloc[order].set_axis(table.index)
        changes[name] = float(np.abs(models.best_scores(shuffled) - before).mean())
    return tuple(sorted(changes, key=lambda name: -changes[name]))


class CurrentSelection:
    """Models and people that the figures show."""

    def __init__(self, screen: ModelInputs, *, of_all: bool = False) -> None:
        self._screen, self._of_all = screen, of_all
        self.state = screen.state
        self._columns: tuple[Any, tuple[str, ...]] = (None, ())

    @property
    def models(self) -> Any:
        """Selected models, or all without a selection; not restricted to those inside ψ."""
        draws, models = self.state.selection, self.state.rashomon_set
        return models[list(draws)] if draws and models is not None else models

    @property
    def people(self) -> NDArray[np.intp]:
        """Positions of the selected rows (all without a selection), or of a sample of them."""
        positions = np.flatnonzero(self._selected())
        models = self.state.rashomon_set
        limit = max(500, _MOST_ANSWERS // max(1, 0 if models is None else models.n_draws))
        return some(positions, limit)

    @property
    def few(self) -> NDArray[np.intp]:
        """Positions of a subset that is small enough for results per person."""
        if not self._screen.sample_words:
            return some(self.people, FEW)
        limit = min(FEW, _ROWS_ASKED // self._screen.shape[0])
        return some(self.people, max(_FEW_OF_BLOCKS, limit))

    @property
    def population(self) -> int:
        """Number of people from whom `few` is a sample; of chunked rows all."""
        chunked = bool(self._screen.sample_words)
        return self._screen.shape[0] if chunked else int(self._selected().sum())

    @property
    def everyone(self) -> "CurrentSelection":
        """The same models with all people, without any selection of people."""
        return self if self._of_all else CurrentSelection(self._screen, of_all=True)

    @property
    def rows(self) -> Any:
        return taken(self._screen.rows, self.people)

    @property
    def targets(self) -> Any:
        return taken(self._screen.targets, self.people)

    @property
    def table(self) -> pd.DataFrame:
        rows = self._screen.rows if self.encode is None else self.state.data.frame
        table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))
        return taken(table, self.people)

    @property
    def encode(self) -> Callable[[Any], Any] | None:
        encoder = self._screen.encoder
        if encoder is None:
            return None

        def encode(table: Any) -> Any:
            with warnings.catch_warnings():  # shown when the table was loaded
                warnings.simplefilter("ignore", PrivacyLeakWarning)
                return encoder.transform(table)

        return encode

    @property
    def features(self) -> tuple[str, ...]:
        if self.encode is None:
            return tuple(map(str, self.table.columns))
        schema = self._screen.encoder.schema_
        return tuple(column.name for column in schema.columns if column.role == "feature")

    @property
    def answer(self) -> str:
        """Target that a score refers to, with its class; empty without a target."""
        return _target(self.state.data)

    def groups(self, column: str) -> pd.Series:
        return group_labels(self._screen.group_table, column).iloc[self.people]

    def levels(self, column: str) -> tuple[str, ...]:
        counts = group_labels(self._screen.group_table, column).value_counts()
        return tuple(map(str, counts.index))

    @property
    def columns(self) -> tuple[str, ...]:
        data = self.state.data
        if self.state.view == "release":
            return () if data is None else tuple(map(str, data.sensitive.columns))
        table = self._screen.group_table
        if self._columns[0] is not table:
            self._columns = table, group_columns(table)
        return self._columns[1]

    @property
    def everything(self) -> bool:
        rows = self._screen.rows
        all_rows = rows is None or len(self.people) == len(rows)
        return all_rows and not self.state.selection

    @property
    def words(self) -> str:
        rows, models, parts = self._screen.rows, self.state.rashomon_set, []
        if rows is not None and self._screen.sample_words:
            parts.append(self._screen.sample_words)
        if self.state.selection and models is not None:
            parts.append(f"{len(self.state.selection):,} of {models.n_draws:,} models selected")
        if rows is not None:
            selected, read = int(self._selected().sum()), len(self.people)
            if selected < len(rows):
                parts.append(f"{selected:,} of {plural(len(rows), 'row')} selected")
            if read < selected:
                parts.append(f"{read:,} of {selected:,} people, sampled at random")
        return " · ".join(parts)

    @property
    def names(self) -> tuple[str, str, str]:
        """Python expressions for the models, the rows and the targets."""
        if self.everything:
            return "explorer.rashomon_set", "explorer.rows", "explorer.targets"
        return "explorer.selected.models", "explorer.selected.rows", "explorer.selected.targets"

    def _selected(self) -> Mask:
        rows, state = self._screen.rows, self.state
        mask = np.ones(0 if rows is None else len(rows), dtype=bool)
        if self._of_all:
            return mask
        for column in dict.fromkeys(column for column, _ in state.groups):
            levels = [level for group_column, level in state.groups if group_column == column]
            mask &= group_labels(self._screen.group_table, column).isin(levels).to_numpy()
        if len(state.people) >= FEWEST_PEOPLE:
            people = np.zeros_like(mask)
            people[list(state.people)] = True
            mask &= people
        return mask


def some(positions: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """Keep at most ``limit`` positions, sampled with a fixed seed."""
    return positions[sample_rows(len(positions), limit)]


def taken(table: Any, positions: NDArray[np.intp]) -> Any:
    """Rows of a table or array by position; None for None."""
    return None if table is None else take_rows(table, positions)


LARGE = 0.1  # coefficients of at least this share of a model's largest one count as large
_MODEL_NUMBERS_MOST_ANSWERS = 50_000_000
_MOST_SCORED = 100_000
_BLOCK = 1_000_000
_FEW_ROWS = 500


def large_coefficients(models: Any) -> NDArray[np.int_]:
    """Count each model's large coefficients, see `LARGE`; intercepts are excluded."""
    each = np.abs(models.coef.reshape(len(models.coef), models.outputs, -1)[..., :-1])
    largest = each.max(axis=(1, 2), initial=0.0)[:, None, None]
    return np.asarray(((each >= LARGE * largest) & (each > 0)).sum(axis=(1, 2)))


def accuracies(models: Any, rows: Any, targets: Any) -> tuple[FloatArray, int]:
    """Share of rows that each model labels correctly, and number of rows read (curator)."""
    positions = some(
        np.arange(len(rows)), max(500, _MODEL_NUMBERS_MOST_ANSWERS // max(1, models.n_draws))
    )
    truth = np.asarray(taken(targets, positions))
    X = taken(rows, positions)
    size = max(1, _BLOCK // max(1, len(positions)))
    hits = [
        _hits(models[start : start + size], X, truth) for start in range(0, models.n_draws, size)
    ]
    return np.concatenate([*hits, np.zeros(0)]) / len(positions), len(positions)


def _hits(models: Any, rows: Any, truth: Any) -> NDArray[np.int_]:
    labels = models.labels(rows)
    predictions = np.asarray(models.classes)[labels] if models.classes else labels
    return np.asarray((predictions == truth).sum(axis=1))


def score_beside_constant(screen: ModelInputs) -> str:
    """Compare the best model with one that gives every row the same answer (curator)."""
    models, rows, data = screen.state.rashomon_set, screen.rows, screen.state.data
    if models is None or rows is None or screen.targets is None or screen.state.view == "release":
        return ""
    positions = some(np.arange(len(rows)), _MOST_SCORED)
    best = np.asarray(models.best_scores(taken(rows, positions)))
    truth = np.asarray(taken(screen.targets, positions))
    if models.task == "regression":
        rmse, deviation = float(np.sqrt(np.mean((best - truth) ** 2))), float(truth.std())
        share = number(1 - (rmse / deviation) ** 2, 2) if deviation else "unknown"
        return f"R² {share} · RMSE {number(rmse)} · always the mean {number(deviation)}"
    codes = likeliest(best[None])[0]
    right = (np.asarray(models.classes)[codes] if models.classes else codes) == truth
    labels, counts = np.unique(truth, return_counts=True)
    label = labels[counts.argmax()]
    label = data.classes[int(label)] if data is not None and screen._uses_codes else label
    return f"best model {right.mean():.1%} · always {label} {counts.max() / len(truth):.1%}"


def chunked_accuracies(models: Any, rows: ChunkedRows) -> tuple[FloatArray, int]:
    """Share of all rows that each model labels correctly, and number of rows (curator)."""
    (hits,) = rows.reduce(partial(_chunk_hits, models))
    return hits / rows.n, rows.n


def _chunk_hits(models: Any, rows: Any, targets: Any) -> tuple[NDArray[np.int_]]:
    return (_hits(models, rows, np.asarray(targets)),)


def leaves(models: Any) -> NDArray[np.int_]:
    return np.asarray(models.models.complexity(0.0))


def _target(data: Any) -> str:
    target = getattr(getattr(data, "schema", None), "target", None)
    if target is None:
        return ""
    return f"{target.name} = {data.classes[-1]}" if data.classes else str(target.name)


def predicted(data: Any) -> str:
    if data.classes is None:
        return _target(data) or "a number"
    if len(data.classes) == 2:
        return _target(data) or str(data.classes[-1])
    name = data.schema.target.name if _target(data) else "the target"
    return f"{name}, {len(data.classes)} classes"


def most_different_models(screen: ModelInputs) -> list[int]:
    """Two distant models: the farthest from the mean, and the farthest from that one.

    Of linear models by their coefficients, of others by their labels (curator); within ψ where the
    curator sees only these.
    """
    models, state = screen.state.rashomon_set, screen.state
    among = np.arange(models.n_draws)
    if state.view == "curator" and state.inside_only and not np.isnan(models.least):
        inside = np.flatnonzero(models.losses <= models.least + models.psi)
        among = inside if len(inside) else among
    if isinstance(models, RashomonSet):
        points = models.coef[among]
    else:
        rows = taken(screen.rows, some(np.arange(len(screen.rows)), _FEW_ROWS))
        points = np.asarray(models.labels(rows), dtype=float)[among]
    if len(among) < 2:
        return [int(draw) for draw in among]
    first = int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))
    second = int(np.argmax(np.linalg.norm(points - points[first], axis=1)))
    return sorted(int(among[position]) for position in (first, second))


@dataclass(frozen=True)
class Field:
    """One feature: its value as text, the changed value, and what may be entered."""

    name: str
    value: str
    edited: str
    options: tuple[str, ...] = ()
    hint: str = ""
    low: float = -np.inf
    high: float = np.inf

    @property
    def ends(self) -> tuple[float, float] | tuple[()]:
        """Ends of a slider; none without bounds."""
        return (self.low, self.high) if np.isfinite(self.high - self.low) else ()

    def values(self, n_steps: int) -> tuple[str, ...]:
        """Other values to try: levels, or steps between the bounds."""
        steps = tuple(f"{end:.6g}" for end in np.linspace(*self.ends, n_steps)) if self.ends else ()
        return tuple(text for text in self.options or steps if text != self.value)

    def moved(self, text: str) -> float:
        """Difference from the own value; NaN of levels."""
        return float("nan") if self.options else float(text) - _number(self.value)

    def towards(self, text: str, share: float) -> str:
        """Value at a share of the way to another one; of levels that one."""
        by = share * self.moved(text)
        return text if np.isnan(by) else f"{float(self.value) + by:.6g}"

    def cost(self, text: str) -> float:
        """Change as a share of the range; another level costs 1."""
        return float(np.nan_to_num(abs(self.moved(text)) / (self.high - self.low), nan=1.0))

    def words(self, text: str) -> str:
        by = self.moved(text)
        if np.isnan(by):
            return f"{self.name} = {text}"
        return f"{self.name} {'+' if by > 0 else ''}{number(by)}"


_WIDE = 0.75


class WhatIf:
    """The selected person, in a release one made up from the schema, and with other features."""

    def __init__(self, screen: ModelInputs) -> None:
        self._screen = screen
        self.state = screen.state
        self._conflicting: tuple[Any, bytes, NDArray[np.intp]] = (None, b"", np.zeros(0, np.intp))
        self.state.observe(lambda _: self.reset(), ["people", "data", "view", "rashomon_set"])

    @property
    def why_not(self) -> str:
        """Why there is no person; empty if there is one."""
        state = self.state
        if self._screen.rows is None:
            return "Needs the rows: <b>Explorer(models, data=data)</b>."
        if state.view == "release":
            schema = self._schema
            hidden = state.unconfirmed or (schema is not None and data_dependent(schema))
            return f"{NOT_IN_RELEASE[0].upper()}{NOT_IN_RELEASE[1:]}." if hidden else ""
        return WAITS if state.busy else ""

    @property
    def conflicting(self) -> NDArray[np.intp]:
        """People whose label differs between the draws, the widest range first (curator)."""
        models, rows = self.state.rashomon_set, self._screen.rows
        if self.state.view == "release" or self.state.busy or models is None or rows is None:
            return np.zeros(0, np.intp)
        people = CurrentSelection(self._screen).few
        if self._conflicting[0] is not models or self._conflicting[1] != people.tobytes():
            widest = people[:0]
            if not models_within_psi(models).is_empty:
                try:
                    table = people_ranges(models, taken(rows, people))
                except (TypeError, ValueError):  # as for `ranked_features`
                    return widest
                width = (table["drawn_high"] - table["drawn_low"]).to_numpy()
                wide = width >= np.quantile(width, _WIDE)  # predicted numbers have no labels
                conflicts = np.asarray(table["drawn_flips"] > 0 if "drawn_flips" in table else wide)
                order = np.argsort(-width, kind="stable")
                widest = people[order][conflicts[order]]
            self._conflicting = models, people.tobytes(), widest
        return self._conflicting[2]

    @property
    def person(self) -> int | None:
        if self.state.view == "release":
            return None
        people = self.state.people or self.conflicting[:1]
        return int(people[-1]) if len(people) else 0

    @property
    def fields(self) -> tuple[Field, ...]:
        if self.why_not or self.state.rashomon_set is None:
            return ()
        columns = {} if self._schema is None else {c.name: c for c in self._schema.features}
        ranks: dict[str, int] = {}
        for rank, name in enumerate(self._screen.ranked_features):
            ranks.setdefault(name if name in columns else name.partition("=")[0], rank)
        values = {str(name): value for name, value in self._values().items()}
        return tuple(
            self._field(name, values[name], columns.get(name))
            for name in sorted(values, key=lambda name: ranks.get(name, len(ranks)))
        )

    @property
    def before(self) -> FloatArray:
        return self._encoded(self._values())

    @property
    def after(self) -> FloatArray:
        values = self._values()
        edits = {name: self._cell(name, text) for name, text in self.state.edits.items()}
        return self._encoded({**values, **edits})

    def variants(self, changes: Iterable[Mapping[str, str]]) -> FloatArray:
        """Encode the person as is, then with each of some changes of features."""
        values = self._values()
        cells = ({name: self._cell(name, each[name]) for name in each} for each in changes)
        return self._encoded(values, *({**values, **each} for each in cells))

    def change(self, name: str, text: str) -> None:
        """Try another value of a feature; the person's own value takes the change back."""
        field = next((candidate for candidate in self.fields if candidate.name == name), None)
        if field is None:
            raise DataError(f"no feature is called {name!r}: choose one of the fields")
        text = text.strip()
        if field.options and text not in field.options:
            raise DataError(f"{name} must be one of {', '.join(field.options)}, got {text!r}")
        if not field.options and not field.low <= _number(text) <= field.high:
            ends = f" from {number(field.low)} to {number(field.high)}"
            ends = ends if np.isfinite(field.high) else ""
            raise DataError(f"{name} must be a number{ends}, got {text!r}")
        unchanged = {key: value for key, value in self.state.edits.items() if key != name}
        self.state.edits = unchanged if text == field.value else {**unchanged, name: text}

    def reset(self) -> None:
        self.state.edits = {}

    @property
    def _schema(self) -> Any:
        """Schema of the rows on screen; None if they are given encoded."""
        data, rows = self.state.data, self._screen.rows
        schema = getattr(data, "schema", None)
        if schema is None or not isinstance(rows, pd.DataFrame):
            return None
        if self._screen.encoder is not None:
            return schema
        units = family.trees_in(self.state.rashomon_set) is not None
        names = table_rows.feature_schema(schema).encoded_names
        return schema if units and list(rows.columns) == list(names) else None

    def _values(self) -> dict[str, Any]:
        rows, schema, person = self._screen.rows, self._schema, self.person
        if schema is None:
            table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))
            return {
                str(name): 0.0 if person is None else float(np.asarray(table.iloc[person])[k])
                for k, name in enumerate(table.columns)
            }
        if person is None:
            return {column.name: _middle(column) for column in schema.features}
        cells = self.state.data.frame.iloc[person]
        return {column.name: cells[column.name] for column in schema.features}

    def _cell(self, name: str, text: str) -> Any:
        column = None if self._schema is None else self._schema[name]
        if not isinstance(column, Levelled):
            return float(text)
        return next(level for level in column.levels if cell_text(level) == text)

    def _encoded(self, *people: dict[str, Any]) -> FloatArray:
        schema, data = self._schema, self.state.data
        if schema is None:
            return np.array([[*map(float, each.values())] for each in people]).view(EncodedRows)
        frame = pd.DataFrame({name: pd.Series([p[name] for p in people]) for name in people[0]})
        encoder = self._screen.encoder or UnitEncoder(table_rows.feature_schema(data.schema))
        with warnings.catch_warnings():  # of cells that were shown with the table
            warnings.simplefilter("ignore")
            return np.asarray(encoder.transform(frame), dtype=float).view(EncodedRows)

    def _field(self, name: str, value: Any, column: Any) -> Field:
        text = "" if pd.isna(value) else cell_text(value)
        text = f"{value:.6g}" if isinstance(value, float) and text else text
        edited = self.state.edits.get(name, text)
        if isinstance(column, Levelled):
            levels = tuple(map(cell_text, column.levels))
            return Field(name, text, edited, levels if text in levels else (text, *levels))
        if not isinstance(column, Numeric):
            return Field(name, text, edited, hint="scaled units")
        low, high = column.bounds
        hint = f"{number(low)} to {number(high)} {column.unit}".strip()
        return Field(name, text, edited, (), hint, low, high)


def _middle(column: Any) -> Any:
    """Value of a made-up person: the middle of the typical range, or the first level."""
    if isinstance(column, Numeric):
        return sum(column.typical or column.bounds) / 2
    return column.levels[0]


def _number(text: str) -> float:
    """Read a number from a text; NaN for other texts."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
