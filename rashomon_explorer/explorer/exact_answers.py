"""What is proved of the whole set on screen: each answer found once, and shared by figures."""

from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.group_columns import group_labels
from rashomon_explorer.explorer.picked import Picked, taken
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.measures import (
    exact_coefficient_ranges,
    flip_psi,
    model_class_reliance,
)
from rashomon_explorer.measures.ranges import (
    FlipPsi,
    people_ranges,
    proved_people,
    set_problem,
)
from rashomon_explorer.plots.counted import counted, nobody
from rashomon_explorer.rashomon_set import RashomonSet

_NO_LINEAR = "Proved answers are known for linear models of a convex loss."
_NO_TARGETS = "Proved answers need the rows and their targets."


class _Screen(Protocol):
    """The models on screen and their rows."""

    state: ExplorerState
    rows: Any

    @property
    def blocks(self) -> RowBlocks | None:
        """All rows, where those are but a sample of rows in blocks."""

    @property
    def sample_words(self) -> str:
        """What that sample is; empty where there is none."""

    @property
    def targets(self) -> Any:
        """Targets as the models name them."""


class ExactAnswers:
    """Exact answers about the set on screen.  Curator: computed from private rows.

    Safe to ask from several threads: who asks for what another is finding waits for it.

    Parameters
    ----------
    screen : Session
        The models on screen and their rows.
    """

    def __init__(self, screen: _Screen) -> None:
        self._screen = screen
        self.state = screen.state
        self._of: tuple[Any, ...] = ()
        self._rows: Any = None  # held, or another table could come to stand in its place
        self._known: dict[Any, Any] = {}
        self._locks: dict[Any, Lock] = {}
        self._guard = Lock()

    @property
    def why_not(self) -> str:
        """Why nothing is proved of what is on screen; empty where something is."""
        if self.state.outside is not None:
            return ""
        models = self.state.rashomon_set
        linear = isinstance(models, RashomonSet) and models.link != "sign"
        if not linear or models.plan.radius is None:
            return _NO_LINEAR
        return _NO_TARGETS if self._screen.rows is None or self._screen.targets is None else ""

    @property
    def psi(self) -> float:
        """Threshold of the set: the one it was drawn with."""
        outside = self.state.outside is not None
        return float(self.state.psi if outside else self.state.rashomon_set.psi)

    @property
    def problem(self) -> Any:
        """What the models on screen minimise, with its certified minimum."""
        if self.state.outside is not None:
            return self.state.outside.problem
        return self._find("problem", self._make_problem)

    def coefficient_ranges(self) -> pd.DataFrame:
        """Exact range of every coefficient over the set."""
        return self._find(
            ("coefficients", self.psi),
            lambda: exact_coefficient_ranges(self.problem, self.psi),
        )

    def people(self, places: NDArray[np.intp]) -> pd.DataFrame:
        """Ranges and flips of some people, exact and sampled, by their place among the rows."""

        def find() -> pd.DataFrame:
            models, rows = self.state.rashomon_set, taken(self._screen.rows, places)
            if models is not None and counted(models).nobody:
                if self.why_not or getattr(models, "n_classes", 2) > 2:
                    raise DataError(f"{nobody(models)}, and nothing is proved of these models")
                models = None  # what is proved needs no draw
            if models is None:
                table = proved_people(self.problem, self.psi, rows)
            else:
                table = people_ranges(models, rows, None if self.why_not else self.problem)
            return table.set_axis(pd.Index(places, name="person"))

        key = "people", self.state.rashomon_set, self.psi, places.tobytes()
        return self._find(key, find)

    def class_reliance(self, features: tuple[str, ...]) -> pd.DataFrame:
        """Certified range of the set's reliance on some features.

        Of rows in blocks that of the set on a fixed random sample of them: the models within ψ of
        the sample's own least loss, switched between its people.
        """

        def find() -> pd.DataFrame:
            models = self.state.rashomon_set
            columns = list(models.feature_names[:-1])
            known = models.feature_groups or {}
            asked = {name: list(known.get(name, [name])) for name in features}
            return model_class_reliance(
                self._held_problem, psi=self.psi, features=asked, feature_names=columns
            )

        return self._find(("reliance", self.psi, features), find)

    def ambiguity_by(self, people: Picked, column: str) -> pd.Series:
        """Exact ambiguity of each group of a column, of the few people who are asked."""
        flips = self.people(people.few)["flips"] == "yes"
        groups = group_labels(self.state.data, column).iloc[people.few].to_numpy()
        shares: pd.Series = flips.groupby(groups).mean()
        return shares

    def person(self, place: int) -> dict[str, Any]:
        """Say what is proved of one person, as ``plots.plot_person`` takes it."""
        row = self.people(np.array([place])).iloc[0]
        ends = (float(row["exact_low"]), float(row["exact_high"])) if "exact_low" in row else None
        return {"exact": ends, "flip": self.flip_psi(place) if "flips" in row else None}

    def flip_psi(self, place: int) -> FlipPsi:
        """Least ψ at which a person's label flips."""
        row = np.asarray(taken(self._screen.rows, np.array([place])), dtype=float)[0]
        return self._find(("flip", place), lambda: flip_psi(self.problem, row))

    def _make_problem(self) -> Any:
        blocks = self._screen.blocks
        if blocks is not None:
            return set_problem(self.state.rashomon_set, blocks)
        return set_problem(self.state.rashomon_set, self._screen.rows, self._screen.targets)

    @property
    def _held_problem(self) -> Any:
        """The problem of the rows that are held: all, or the sample of rows in blocks."""
        if not self._screen.sample_words:
            return self.problem

        def find() -> Any:
            models, screen = self.state.rashomon_set, self._screen
            return set_problem(models, screen.rows, screen.targets, resampled=True)

        return self._find("held problem", find)

    def _whose(self) -> tuple[Any, ...]:
        """Say what the answers are of: the same for all draws, and every ψ, of one problem."""
        models, rows = self.state.rashomon_set, self._screen.rows
        of_set: tuple[Any, ...] = ()
        if isinstance(models, RashomonSet):
            planned = models.plan
            of_set = (models.least, planned.radius, planned.ridge, models.row_norm, models.link)
        return (id(self.state.outside), id(rows), *of_set)

    def _find(self, key: Any, find: Callable[[], Any]) -> Any:
        now = self._whose()
        with self._guard:
            if now != self._of:
                self._of, self._known, self._locks = now, {}, {}
                self._rows = self._screen.rows
            known, lock = self._known, self._locks.setdefault(key, Lock())
        with lock:
            if key not in known:
                known[key] = find()
            return known[key]
