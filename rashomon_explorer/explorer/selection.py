"""The selected models and their numbers."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.exceptions import PrivacyLeakWarning
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.model_inputs import group_columns, group_labels
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.plots.text import plural
from rashomon_explorer.rows import ChunkedRows

FEWEST_PEOPLE = 30
"""Fewer picked people than this are marked in figures; no measure is taken over them alone."""

FEW = 400
"""People whom figures show one by one, and of whom exact answers are found, at most."""

_MOST_ANSWERS = 2_000_000
_FEW_OF_BLOCKS, _ROWS_ASKED = 20, 400_000_000
"""Of rows in blocks every exact answer reads all of them: so many people at least, and at most so
many rows in a pass for all."""


class _Screen(Protocol):
    """The models on screen and their rows."""

    state: ExplorerState
    rows: Any

    @property
    def sample_words(self) -> str:
        """Of which people the rows are a sample, if they are one."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of all rows, whether held or not, and of their columns."""

    @property
    def encoder(self) -> Any:
        """What encoded the rows; None of rows that came encoded."""

    @property
    def targets(self) -> Any:
        """Targets as the models name them."""


class CurrentSelection:
    """The models and people that figures are of."""

    def __init__(self, screen: _Screen) -> None:
        self._screen = screen
        self.state = screen.state
        self._columns: tuple[Any, tuple[str, ...]] = (None, ())

    @property
    def models(self) -> Any:
        """The picked models, or all; whoever reads them keeps those inside ψ."""
        chosen, models = self.state.selection, self.state.rashomon_set
        return models[list(chosen)] if chosen and models is not None else models

    @property
    def people(self) -> NDArray[np.intp]:
        """Rows that are read, by their place: of the picked groups and people, or all."""
        chosen = np.flatnonzero(self._wanted())
        models = self.state.rashomon_set
        most = max(500, _MOST_ANSWERS // max(1, 0 if models is None else models.n_draws))
        return some(chosen, most)

    @property
    def few(self) -> NDArray[np.intp]:
        """So many of them, by their place, as can be shown and asked about one by one."""
        if not self._screen.sample_words:
            return some(self.people, FEW)
        most = min(FEW, _ROWS_ASKED // self._screen.shape[0])
        return some(self.people, max(_FEW_OF_BLOCKS, most))

    @property
    def everyone(self) -> "CurrentSelection":
        """The same of all people, whichever groups and people are picked."""
        return _Everyone(self._screen)

    @property
    def rows(self) -> Any:
        """Those rows, as the models take them."""
        return taken(self._screen.rows, self.people)

    @property
    def targets(self) -> Any:
        """Their targets."""
        return taken(self._screen.targets, self.people)

    @property
    def table(self) -> pd.DataFrame:
        """Those rows with the columns that people know, before they are encoded."""
        known = self._screen.rows if self.encode is None else self.state.data.frame
        table = known if isinstance(known, pd.DataFrame) else pd.DataFrame(np.asarray(known))
        return taken(table, self.people)

    @property
    def encode(self) -> Callable[[Any], Any] | None:
        """What makes of such a table the rows that models take; None of rows as they are."""
        encoder = self._screen.encoder
        if encoder is None:
            return None

        def encode(table: Any) -> Any:
            with warnings.catch_warnings():  # said where the table was chosen
                warnings.simplefilter("ignore", PrivacyLeakWarning)
                return encoder.transform(table)

        return encode

    @property
    def features(self) -> tuple[str, ...]:
        """Columns of that table that the models read."""
        if self.encode is None:
            return tuple(map(str, self.table.columns))
        schema = self._screen.encoder.schema_
        return tuple(one.name for one in schema.columns if one.role == "feature")

    @property
    def answer(self) -> str:
        """What a model's score is of, in the table's own words; empty where it has none."""
        data = self.state.data
        target = getattr(getattr(data, "schema", None), "target", None)
        if target is None:
            return ""
        return f"{target.name} = {data.classes[-1]}" if data.classes else str(target.name)

    def groups(self, column: str) -> pd.Series:
        """In which group of a column each of them is."""
        return group_labels(self.state.data, column).iloc[self.people]

    def levels(self, column: str) -> tuple[str, ...]:
        """Name the groups of a column, the largest first."""
        counts = group_labels(self.state.data, column).value_counts()
        return tuple(map(str, counts.index))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns by which people can be told apart, looked for once in a table."""
        data = self.state.data
        if self.state.view == "release":
            return () if data is None else tuple(map(str, data.sensitive.columns))
        if self._columns[0] is not data:
            self._columns = data, group_columns(data)
        return self._columns[1]

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        rows = self._screen.rows
        whole = rows is None or len(self.people) == len(rows)
        return whole and not self.state.selection

    @property
    def words(self) -> str:
        """What is left out, counted; empty where nothing is."""
        rows, models, parts = self._screen.rows, self.state.rashomon_set, []
        if rows is not None and self._screen.sample_words:
            parts.append(self._screen.sample_words)
        if self.state.selection and models is not None:
            parts.append(f"the {len(self.state.selection):,} picked of {models.n_draws:,} models")
        if rows is not None:
            wanted, read = int(self._wanted().sum()), len(self.people)
            if wanted < len(rows):
                parts.append(f"{wanted:,} picked of {plural(len(rows), 'row')}")
            if read < wanted:
                parts.append(f"{read:,} of {wanted:,} people read, at random")
        return " · ".join(parts)

    @property
    def sample_words(self) -> str:
        """Say that the people are a sample of rows in blocks; empty where they are not."""
        return self._screen.sample_words

    @property
    def names(self) -> tuple[str, str, str]:
        """Python for the models, the rows and the targets."""
        if self.everything:
            return "explorer.rashomon_set", "explorer.rows", "explorer.targets"
        return "explorer.selected.models", "explorer.selected.rows", "explorer.selected.targets"

    def _wanted(self) -> Mask:
        rows, state = self._screen.rows, self.state
        wanted = np.ones(0 if rows is None else len(rows), dtype=bool)
        for column in dict.fromkeys(column for column, _ in state.groups):
            levels = [level for own, level in state.groups if own == column]
            wanted &= group_labels(state.data, column).isin(levels).to_numpy()
        if len(state.people) >= FEWEST_PEOPLE:
            chosen = np.zeros_like(wanted)
            chosen[list(state.people)] = True
            wanted &= chosen
        return wanted


class _Everyone(CurrentSelection):
    """All people."""

    @property
    def everyone(self) -> CurrentSelection:
        """These."""
        return self

    def _wanted(self) -> Mask:
        rows = self._screen.rows
        return np.ones(0 if rows is None else len(rows), dtype=bool)


def some(places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Keep at most so many, chosen at random and always the same."""
    if len(places) <= most:
        return places
    return np.sort(np.random.default_rng(0).choice(places, most, replace=False))


def taken(table: Any, places: NDArray[np.intp]) -> Any:
    """Rows of a table or array by their place; None of None."""
    if table is None:
        return None
    return table.iloc[places] if hasattr(table, "iloc") else np.asarray(table)[places]


LARGE = 0.1
"""Share of a model's largest coefficient from which another of it counts as large."""

MODEL_COUNT_LIMIT = 5
_MODEL_NUMBERS_MOST_ANSWERS = 50_000_000
_BLOCK = 4_000_000
_FEW_ROWS = 500


def large_coefficients(models: Any) -> NDArray[np.int_]:
    """Count each model's coefficients of at least a tenth of its largest, intercepts aside."""
    each = np.abs(models.coef.reshape(len(models.coef), models.outputs, -1)[..., :-1])
    most = each.max(axis=(1, 2), initial=0.0)[:, None, None]
    return np.asarray(((each >= LARGE * most) & (each > 0)).sum(axis=(1, 2)))


def accuracies(models: Any, rows: Any, targets: Any) -> tuple[FloatArray, int]:
    """Share of the rows that each model labels right, and how many rows were read (curator)."""
    kept = some(
        np.arange(len(rows)), max(500, _MODEL_NUMBERS_MOST_ANSWERS // max(1, models.n_draws))
    )
    known = np.asarray(taken(targets, kept))
    X = taken(rows, kept)
    names = np.asarray(models.classes) if models.classes else None
    size = max(1, _BLOCK // max(1, len(kept)))
    found = np.empty(models.n_draws)
    for start in range(0, models.n_draws, size):
        labels = models[list(range(start, min(start + size, models.n_draws)))].labels(X)
        said = labels if names is None else names[labels]
        found[start : start + len(said)] = (said == known).mean(axis=1)
    return found, len(kept)


def chunked_accuracies(models: Any, rows: ChunkedRows) -> tuple[FloatArray, int]:
    """Share of all rows that each model labels right, and how many there are (curator)."""
    (right,) = rows.reduce(_Right(models))
    return right / rows.n, rows.n


@dataclass(frozen=True, eq=False)
class _Right:
    """How many rows of a block each model labels right."""

    models: Any

    def __call__(self, rows: Any, targets: Any) -> tuple[NDArray[np.int_]]:
        names = np.asarray(self.models.classes) if self.models.classes else None
        labels = self.models.labels(rows)
        said = labels if names is None else names[labels]
        return ((said == np.asarray(targets)).sum(axis=1),)


def leaves(models: Any) -> NDArray[np.int_]:
    """Count the leaves of each tree of a set."""
    return np.asarray(models.models.complexity(0.0))


def answers(models: Any, rows: Any) -> FloatArray:
    """Answer a fixed few hundred rows with every model, the best one last (curator)."""
    X = np.asarray(taken(rows, some(np.arange(len(rows)), _FEW_ROWS)), dtype=float)
    both = np.vstack([models.labels(X), models.reference.labels(X)])
    return both.astype(float)


def nearest(coef: FloatArray, goal: FloatArray, among: NDArray[np.intp]) -> list[int]:
    """Pick the few models nearest to some coefficients."""
    away = np.linalg.norm(coef[among] - goal, axis=1)
    return [int(draw) for draw in among[np.argsort(away, kind="stable")[:MODEL_COUNT_LIMIT]]]


def simplest(models: Any, among: NDArray[np.intp]) -> list[int]:
    """Pick the few models with the fewest large coefficients, or leaves."""
    trees = trees_in(models) is not None
    size = (leaves(models) if trees else large_coefficients(models))[among]
    return [int(draw) for draw in among[np.argsort(size, kind="stable")[:MODEL_COUNT_LIMIT]]]


def most_different(coef: FloatArray, among: NDArray[np.intp]) -> list[int]:
    """Pick two models far apart: the farthest from the middle, and the farthest from that."""
    if len(among) < 2:
        return [int(draw) for draw in among]
    here = coef[among]
    first = int(np.argmax(np.linalg.norm(here - here.mean(axis=0), axis=1)))
    second = int(np.argmax(np.linalg.norm(here - here[first], axis=1)))
    return sorted(int(among[place]) for place in (first, second))
