"""Recourse in the columns of the table: the least change that every good model accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.audits.columns import ColumnUse, changed_rows, is_number, is_whole
from rashomon_explorer.audits.models import AuditedModel, linear_scores, row_labels
from rashomon_explorer.measures.ranges import Recourse
from rashomon_explorer.measures.ranges.changes import CURATOR
from rashomon_explorer.measures.ranges.linear_recourse import WorstScores, recourse

_MOST_LEVELS = 200  # different values of a column without numbers
_COMBINED = 100_000  # combinations of values of columns whose effects add up
_ENCODED = 3_000  # combinations of one person that the pipeline has to encode
_MOST_VALUES = 300  # of one column at a time
_ZOOMS = 4  # each divides the distance of neighbouring values
_FEWEST = 5
_MOST_ROUNDS = 200
_ROUNDING = 1e-8  # of scores: acceptance by less is rounding
MISSING_COST = 1.0
"""Cost of giving a value that is missing, beside its distance from the median of the column."""


def table_recourse(
    problem: Any,
    psi: float,
    model: AuditedModel,
    rows: Any,
    changeable: Sequence[Any] | str,
    *,
    wanted: Any = None,
    costs: Mapping[Any, float] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    directions: Mapping[Any, str] | None = None,
    integers: Sequence[Any] = (),
    margin: float = 0.0,
    tolerance: float = 1e-3,
    scope: str = "every good model",
) -> Recourse:
    """Least change of columns of the table that every good model and ``predict`` accept."""
    wanted = wanted_label(model, wanted)
    code, cut = model.classes.index(wanted), model.cut(problem.loss.link)
    theta: Any = model.theta
    fitted = linear_scores(problem, theta, np.asarray(model.rows, dtype=float))
    needed = margin + (cut if code else -cut) + _ROUNDING * (1 + float(np.abs(fitted).max()))
    declared = {"costs": costs, "bounds": bounds, "directions": directions, "integers": integers}
    columns = _changeable_columns(model, changeable, **declared)
    people = model.read(rows).set_axis(row_labels(rows), axis=0)
    worst = WorstScores.from_problem(problem, float(psi), None, code, needed)
    task = _Task(problem, float(psi), model, people, tuple(columns), code, worst, tolerance)
    answers = _Answers.nothing(len(people))
    exact = np.flatnonzero(task.affine_people())
    if len(exact):
        task.solve_affine(answers, exact)
        answers.confirm(task, exact)
    rest = np.flatnonzero(answers.status == "undecided")
    if len(rest):
        _Grid(task, rest).solve(answers)
        answers.confirm(task, rest)
    return answers.recourse(task, wanted, scope)


def wanted_label(model: AuditedModel, wanted: Any) -> Any:
    """Label that counts as accepted: the given one, or that of the audit; raise without one."""
    if model.decision is None:
        raise TypeError("recourse needs classes to be accepted into: a regression has none")
    wanted = model.decision.wanted if wanted is None else wanted
    if wanted is None:
        raise ValueError(
            f"recourse needs the class that counts as accepted: pass wanted=, one of the labels "
            f"{list(model.classes)}"
        )
    if wanted not in model.classes:
        raise ValueError(f"wanted must be one of the labels {list(model.classes)}, got {wanted!r}")
    return wanted


@dataclass(frozen=True)
class _Column:
    """One changeable column of the table: which values it may take, and what a change costs."""

    name: str
    position: int  # in the table
    use: ColumnUse
    values: pd.Series  # different values of the table that are present, sorted if numbers
    number: bool
    is_integer: bool
    cost: float  # of a unit, or of another level
    low: float
    high: float
    direction: str
    median: float

    def allowed(self, own: float, values: FloatArray) -> Mask:
        """Whether a person with a value may change to each of the others."""
        inside = (values >= self.low) & (values <= self.high)
        if not np.isnan(own):
            inside |= values == own
            inside &= values >= own if self.direction == "up" else True
            inside &= values <= own if self.direction == "down" else True
        return np.asarray(inside)

    def prices(self, own: Any, values: pd.Series) -> FloatArray:
        """Cost of each value for a person; from a missing one on, by the distance to the median."""
        unchanged = np.array([_same(own, value) for value in values])
        if not self.number:
            return np.where(unchanged, 0.0, self.cost)
        numbers = _numbers(values)
        if pd.isna(own):
            distance = np.abs(numbers - self.median)
            return np.where(unchanged, 0.0, MISSING_COST + self.cost * distance)
        return np.where(unchanged, 0.0, self.cost * np.abs(numbers - float(own)))

    def candidates(self, own: Any, count: int) -> pd.Series:
        """Values that a person may take, the own one first: of the table, and between them."""
        if not self.number:
            return _with_own(own, self.values)
        observed = _numbers(self.values)
        positions = np.linspace(0, len(observed) - 1, max(count // 2, 2)).round().astype(int)
        positions = np.unique(positions)
        between = np.linspace(self.low, self.high, max(count - len(positions), 2))
        if self.is_integer and self.high - self.low <= count:
            between = np.arange(np.ceil(self.low), np.floor(self.high) + 1)
        elif self.is_integer:
            between = np.rint(between)
        return self._series(own, np.concatenate([observed[positions], between]))

    def near(self, own: Any, tried: pd.Series, chosen: int, count: int) -> pd.Series:
        """Values between the neighbours of a chosen one, the own and the chosen one first."""
        if not self.number or pd.isna(tried.iloc[chosen]):
            return tried.iloc[[0, chosen]] if chosen else tried.iloc[[0]]
        numbers, value = _numbers(tried), float(tried.iloc[chosen])
        below, above = numbers[numbers < value], numbers[numbers > value]
        low = float(below.max()) if len(below) else value
        high = float(above.min()) if len(above) else value
        between = np.linspace(low, high, count)
        return self._series(own, np.append(np.rint(between) if self.is_integer else between, value))

    def _series(self, own: Any, values: FloatArray) -> pd.Series:
        start = np.nan if pd.isna(own) else float(own)
        values = np.unique(values)
        values = values[self.allowed(start, values) & (values != start)]
        column, dtype = pd.Series(values), self.values.dtype
        if pd.api.types.is_bool_dtype(dtype):
            column = column.astype(bool).astype(dtype)
        elif (values == np.rint(values)).all():
            column = column.astype(dtype)
        return _with_own(own, column)


def _numbers(values: pd.Series) -> FloatArray:
    return np.asarray(values.to_numpy(dtype=float, na_value=np.nan), dtype=float)


def _with_own(own: Any, values: pd.Series) -> pd.Series:
    rest = values[[not _same(own, value) for value in values]] if len(values) else values
    first = pd.Series([own], dtype=object) if pd.isna(own) else pd.Series([own])
    if pd.isna(own) and is_number(values):
        first = pd.Series([np.nan])
    if rest.dtype == "category":
        first = first.astype(rest.dtype)
    return pd.concat([first, rest], ignore_index=True) if len(rest) else first


def _same(one: Any, other: Any) -> bool:
    if pd.isna(one) or pd.isna(other):
        return bool(pd.isna(one) and pd.isna(other))
    return bool(one == other)


def _changeable_columns(
    model: AuditedModel, changeable: Any, *, costs: Any, bounds: Any, directions: Any, integers: Any
) -> list[_Column]:
    names = [str(name) for name in model.table.columns]
    listed = [changeable] if isinstance(changeable, str) else list(changeable)
    listed = [str(name) for name in listed]
    if not listed:
        raise ValueError("changeable must list at least one column of the table")
    declared = {
        "changeable": listed,
        "costs": costs,
        "bounds": bounds,
        "directions": directions,
        "integers": [integers] if isinstance(integers, str) else integers,
    }
    for what, values in declared.items():
        unknown = [name for name in values or () if str(name) not in names]
        if unknown:
            raise ValueError(
                f"unknown column {unknown[0]!r} in {what}; columns: {', '.join(names)}"
            )
    if not model.column_map.rows_apart:
        raise ValueError(
            "recourse changes one person at a time, and the steps before the model transform a "
            "row by the other rows beside it"
        )
    settings = {
        what: {str(name): value for name, value in dict(declared[what] or {}).items()}
        for what in ("costs", "bounds", "directions")
    }
    settings["integers"] = {str(name): True for name in declared["integers"] or ()}
    return [_column(model, name, names.index(name), settings) for name in dict.fromkeys(listed)]


def _column(model: AuditedModel, name: str, place: int, declared: Any) -> _Column:
    use, column = model.column_map.uses[name], model.table.iloc[:, place]
    if use.kind == "nothing":
        raise ValueError(f"a change of {name!r} changes nothing that the model uses")
    values = column.dropna().drop_duplicates().reset_index(drop=True)
    number = is_number(column)
    if not number and len(values) > _MOST_LEVELS:
        raise ValueError(
            f"recourse cannot change {name!r}: it has {len(values):,} different values without an "
            f"order{f', and {use.step} makes numbers of them' if use.step else ''}"
        )
    spread = median = 1.0
    low, high = -np.inf, np.inf
    if number:
        values = values.iloc[np.argsort(_numbers(values), kind="stable")].reset_index(drop=True)
        present = _numbers(column.dropna())
        spread, median = max(float(present.std()), 1e-12), float(np.median(present))
        low, high = declared["bounds"].get(name, (float(present.min()), float(present.max())))
        if not low <= high:
            raise ValueError(f"bounds of {name!r} must be (low, high), got {(low, high)}")
    elif name in declared["bounds"] or name in declared["directions"]:
        raise ValueError(f"{name!r} has no numbers to bound: its values are levels")
    direction = declared["directions"].get(name, "")
    if direction not in ("", "up", "down"):
        raise ValueError(f"directions of {name!r} must be 'up' or 'down', got {direction!r}")
    cost = float(declared["costs"].get(name, 1 / spread if number else 1.0))
    if not cost > 0:
        raise ValueError(f"the cost of {name!r} must be > 0, got {cost!r}")
    is_integer = name in declared["integers"] or (number and is_whole(column))
    return _Column(name, place, use, values, number, is_integer, cost, low, high, direction, median)


@dataclass(frozen=True)
class _Task:
    """Who may change what, and when every good model accepts."""

    problem: Any
    psi: float
    model: AuditedModel
    people: pd.DataFrame
    columns: tuple[_Column, ...]
    code: int  # of the wanted class
    worst: WorstScores
    tolerance: float

    def encode(self, table: pd.DataFrame) -> FloatArray:
        """Rows of a table as the last step sees them."""
        return np.asarray(self.model.encoded(table), dtype=float)

    def affine_people(self) -> Mask:
        """People whose changes are affine, or of levels: a mixed-integer programme is exact."""
        is_affine = np.ones(len(self.people), dtype=bool)
        for column in self.columns:
            values = self.people.iloc[:, column.position]
            is_affine &= values.notna().to_numpy() & (column.use.kind in ("affine", "levels"))
            if column.use.kind == "levels":
                is_affine &= values.isin(column.values.tolist()).to_numpy()
        return is_affine

    def solve_affine(self, answers: _Answers, persons: Any) -> None:
        """Cheapest changes of people by a mixed-integer programme in the units of the table."""
        people = self.people.iloc[persons]
        names: list[str] = []
        levels: dict[str, list[str]] = {}
        through = []  # encoded columns per unit of each feature
        parts = []
        for column in self.columns:
            values = people.iloc[:, column.position]
            if column.use.kind == "affine":
                names.append(column.name)
                through.append(column.use.slopes[None])
                parts.append(_numbers(values)[:, None])
                continue
            levels[column.name] = [f"{column.name}={value}" for value in column.values]
            names += levels[column.name]
            each = self.encode(changed_rows(people, [0], column.position, column.values))
            through.append(each - each[:1])
            parts.append((values.to_numpy()[:, None] == column.values.to_numpy()).astype(float))
        matrix, features = np.vstack(through).T, np.hstack(parts)
        rest = self.encode(people) - features @ matrix.T
        numbers = [column for column in self.columns if column.use.kind == "affine"]
        ways: Any = {column.name: column.direction for column in numbers if column.direction}
        others = [f"other {number}" for number in range(len(matrix))]
        solution = recourse(
            self.problem,
            self.psi,
            np.hstack([features, rest]),
            [column.name for column in self.columns],
            costs={column.name: column.cost for column in self.columns},
            bounds={column.name: (column.low, column.high) for column in numbers},
            directions=ways,
            integers=[column.name for column in numbers if column.is_integer],
            levels=levels,
            design=(np.hstack([matrix, np.eye(len(matrix))]), np.zeros(len(matrix))),
            feature_names=[*names, *others],
            wanted=self.code,
            margin=self.worst.margin,
            tolerance=self.tolerance,
        )
        one_features = features.copy()
        listed = solution.changes[solution.changes["new_for_one"].notna()]
        for person, name, value in listed[["person", "feature", "new_for_one"]].to_numpy():
            one_features[int(person), names.index(name)] = value
        table, after = solution.people, solution.rows.to_numpy()
        for row, person in enumerate(persons):
            answers.status[person] = table["status"].iloc[row]
            answers.numbers[person] = table.iloc[row, 1:6].to_numpy(dtype=float)
            if table["status"].iloc[row] == "found":
                answers.rows[person] = self._table_values(after[row], names)
            if not np.isnan(table["one_cost"].iloc[row]):
                answers.one_rows[person] = self._table_values(one_features[row], names)

    def _table_values(self, features: FloatArray, names: list[str]) -> list[Any]:
        values = []
        for column in self.columns:
            if column.use.kind == "affine":
                value = float(features[names.index(column.name)])
                values.append(round(value) if column.is_integer else value)
                continue
            start = names.index(f"{column.name}={column.values.iloc[0]}")
            level = int(features[start : start + len(column.values)].argmax())
            values.append(column.values.iloc[level])
        return values

    def changed(self, values: Sequence[Sequence[Any]], positions: Any = None) -> pd.DataFrame:
        """Rows of people with other values of the changeable columns."""
        rows = (self.people if positions is None else self.people.iloc[positions]).copy()
        for number, column in enumerate(self.columns):
            old = rows.iloc[:, column.position]
            new = pd.Series([each[number] for each in values], index=rows.index)
            if old.dtype == "category" or _holds(old.dtype, new):
                new = new.astype(old.dtype)
            rows.isetitem(column.position, new)  # type: ignore[arg-type]
        return rows

    def accepts(self, table: pd.DataFrame) -> Mask:
        """Whether the fitted model gives rows of the table the wanted label."""
        decision: Any = self.model.decision
        codes = decision.codes(self.model.original, self.model.taken(table))
        code = 1 - self.code if self.model.reversed else self.code
        return np.asarray(codes == code)


def _holds(dtype: Any, values: pd.Series) -> bool:
    try:
        return bool(values.notna().all() and (values.astype(dtype) == values).all())
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class _Answers:
    status: Any  # (n,)
    numbers: FloatArray  # (n, 5): cost, least cost, worst score; cost and worst score for one
    rows: list[list[Any] | None]  # values of the changeable columns
    one_rows: list[list[Any] | None]  # that are enough for the fitted model alone

    @classmethod
    def nothing(cls, n: int) -> _Answers:
        """No change yet."""
        status = np.full(n, "undecided", dtype=object)
        return cls(status, np.full((n, 5), np.nan), [None] * n, [None] * n)

    def confirm(self, task: _Task, positions: Any) -> None:
        """Leave people undecided whose changed row the set or the fitted model refuses."""
        reached = [person for person in positions if self.status[person] == "found"]
        if not reached:
            return
        rows: Any = [self.rows[person] for person in reached]
        table = task.changed(rows, reached)
        needed = task.worst.margin - _ROUNDING
        proved = task.worst.worst(task.encode(table), needed)[0]
        agreed = (proved >= needed) & task.accepts(table)
        for person, score, accepted in zip(reached, proved, agreed, strict=True):
            self.numbers[person, 2] = score
            if not accepted:
                self.status[person], self.rows[person] = "undecided", None
                self.numbers[person] = np.nan

    def recourse(self, task: _Task, wanted: Any, scope: str) -> Recourse:
        """Tables of the changes in the values of the table."""
        people, index = task.people, task.people.index
        columns = ["cost", "cost_at_least", "worst_score", "one_cost", "one_worst_score"]
        table = pd.DataFrame(self.numbers, index=index, columns=columns)
        table.insert(0, "status", self.status)
        changes, changed = [], np.zeros(len(people), dtype=bool)
        for person, (new, new_for_one) in enumerate(zip(self.rows, self.one_rows, strict=True)):
            for number, column in enumerate(task.columns):
                old = people.iloc[person, column.position]
                ends = [old if values is None else values[number] for values in (new, new_for_one)]
                if all(_same(old, end) for end in ends):
                    continue
                changed[person] |= new is not None and not _same(old, ends[0])
                values = [
                    np.nan if v is None else e
                    for v, e in zip((new, new_for_one), ends, strict=True)
                ]
                changes.append((index[person], column.name, old, *values))
        already = (table["status"] == "found").to_numpy() & ~changed
        table.loc[already, "status"] = "already accepted"
        table["has_label"] = task.accepts(people)
        names = ["person", "feature", "old", "new", "new_for_one"]
        listed = pd.DataFrame(changes, columns=names).infer_objects()
        nothing = [np.nan] * len(task.columns)
        rows = task.changed([nothing if row is None else row for row in self.rows])
        for frame in (table, listed, rows):
            frame.attrs.update(view=CURATOR, psi=task.psi, scope=scope, wanted=repr(wanted))
        return Recourse(table, listed, rows)


@dataclass
class _Candidates:
    """Combinations of values that one person may take, with their costs and encoded rows."""

    values: list[pd.Series]  # of each column, the own value first
    costs: FloatArray  # (combinations,)
    base: FloatArray  # (columns of the last step,): the person
    moves: list[FloatArray] | None  # (values, columns of the last step) of each column, or
    rows: FloatArray | None  # (combinations, columns of the last step)
    feasible: Mask  # (combinations,): accepted by the models so far

    def scores(self, normal: FloatArray) -> FloatArray:
        """Score (combinations,) of one model, whose last weight is the constant's if any."""
        weights, end = normal[: len(self.base)], normal[len(self.base) :].sum()
        if self.rows is not None:
            return np.asarray(self.rows @ weights + end)
        total = np.array(self.base @ weights + end)
        for move in self.moves or []:
            total = np.add.outer(total, move @ weights)
        return np.asarray(total.ravel())

    def choice(self, place: int) -> list[int]:
        """Place of each column's value in a combination."""
        shape = [len(values) for values in self.values]
        return [int(index) for index in np.unravel_index(place, shape)]

    def row(self, place: int) -> FloatArray:
        """Return the encoded row of a combination."""
        if self.rows is not None:
            return self.rows[place]
        moves = zip(self.moves or [], self.choice(place), strict=True)
        return np.asarray(self.base + sum(move[at] for move, at in moves))

    def taken(self, place: int) -> list[Any]:
        """Values of a combination."""
        return [values.iloc[at] for values, at in zip(self.values, self.choice(place), strict=True)]

    def cheapest(self, feasible: Mask) -> int | None:
        """Place of the cheapest feasible combination."""
        costs = np.where(feasible, self.costs, np.inf)
        return int(costs.argmin()) if feasible.any() else None


@dataclass
class _Grid:
    """Search over values of the table; what a model of the set refuses is removed for everybody."""

    task: _Task
    persons: Any  # positions
    normals: list[FloatArray] = field(default_factory=list)  # models of the set so far

    def solve(self, answers: _Answers) -> None:
        """Cheapest combinations on a grid, then on finer ones around them."""
        fitted = self.task.worst.functionals(self.task.model.theta[:, None])  # type: ignore[index]
        best = self.task.worst.functionals(self.task.problem.minimum.theta[:, None])
        self.normals = [*fitted, *best]
        columns = self.task.columns
        count = self._count(len(columns))
        grids = {}
        for person in self.persons:
            values = self.task.people.iloc[person]
            listed = [column.candidates(values.iloc[column.position], count) for column in columns]
            grids[person] = self._grid(person, listed)
        one_grids = dict(grids)
        for turn in range(_ZOOMS + 1):
            reached = self._reached(grids, answers, final=turn == 0)
            one_choices = {
                p: grid.cheapest(self._under(grid, fitted)) for p, grid in one_grids.items()
            }
            for person, at in one_choices.items():
                if at is not None:
                    answers.one_rows[person] = one_grids[person].taken(at)
                    answers.numbers[person, 3] = one_grids[person].costs[at]
            if turn == _ZOOMS:
                break
            fine = 21 if len(columns) < 3 else 7
            grids = {p: self._near(p, grids[p], at, fine) for p, at in reached.items()}
            one_grids = {
                p: self._near(p, one_grids[p], at, fine)
                for p, at in one_choices.items()
                if at is not None
            }

    def _count(self, columns: int) -> int:
        limit = _COMBINED if all(column.use.additive for column in self.task.columns) else _ENCODED
        count = min(_MOST_VALUES, int(limit ** (1 / columns)))
        if count < _FEWEST:
            names = {column.name for column in self.task.columns if not column.use.additive}
            why = f", because {', '.join(sorted(names))} act together" if names else ""
            raise ValueError(
                f"recourse over {columns} changeable columns has too many combinations{why}: let "
                "fewer columns change"
            )
        return count

    def _near(self, place: int, grid: _Candidates, at: int, count: int) -> _Candidates:
        person = self.task.people.iloc[place]
        choices = zip(self.task.columns, grid.values, grid.choice(at), strict=True)
        listed = [
            column.near(person.iloc[column.position], values, index, count)
            for column, values, index in choices
        ]
        return self._grid(place, listed)

    def _grid(self, place: int, listed: list[pd.Series]) -> _Candidates:
        task, person = self.task, self.task.people.iloc[[place]]
        costs = np.array(0.0)
        for column, values in zip(task.columns, listed, strict=True):
            value = person.iloc[0, column.position]
            costs = np.add.outer(costs, column.prices(value, values))
        moves: list[FloatArray] | None = None
        rows = None
        if all(column.use.additive for column in task.columns):
            parts = [
                changed_rows(person, [0], column.position, values)
                for column, values in zip(task.columns, listed, strict=True)
            ]
            encoded = task.encode(pd.concat([person, *parts]))
            base, ends = encoded[0], 1 + np.cumsum([0, *(len(part) for part in parts)])
            moves = [encoded[start:end] - base for start, end in pairwise(ends)]
        else:
            table = person
            for column, values in zip(task.columns, listed, strict=True):
                table = changed_rows(table, range(len(table)), column.position, values)
            rows = task.encode(table)
            base = rows[0]
        everything = np.ones(costs.size, dtype=bool)
        grid = _Candidates(listed, costs.ravel(), base, moves, rows, everything)
        grid.feasible = self._under(grid, self.normals)
        return grid

    def _under(self, grid: _Candidates, normals: Any) -> Mask:
        accepted = np.ones(grid.costs.size, dtype=bool)
        for normal in normals:
            accepted &= grid.scores(normal) >= self.task.worst.margin
        return accepted

    def _reached(
        self, grids: dict[int, _Candidates], answers: _Answers, final: bool
    ) -> dict[int, int]:
        """Cheapest combination of each person that the whole set accepts."""
        reached: dict[int, int] = {}
        active = list(grids)
        for _ in progress(range(_MOST_ROUNDS), "recourse"):
            candidates: dict[int, int] = {}
            for person in active:
                at = grids[person].cheapest(grids[person].feasible)
                if at is not None:
                    candidates[person] = at
                elif final:
                    answers.status[person] = "impossible"
                    answers.numbers[person, :2] = np.inf
            active = self._ask(grids, candidates, reached, answers) if candidates else []
            if not active:
                break
        return reached

    def _ask(
        self,
        grids: dict[int, _Candidates],
        asked: dict[int, int],
        reached: dict[int, int],
        answers: _Answers,
    ) -> list[int]:
        """Ask the set about one combination of each person; return who is refused."""
        worst = self.task.worst
        rows = np.array([grids[person].row(at) for person, at in asked.items()])
        proved, _, models = worst.worst(rows, worst.margin)
        refused = []
        for (person, at), score in zip(asked.items(), proved, strict=True):
            grid = grids[person]
            if score >= worst.margin:
                reached[person], answers.status[person] = at, "found"
                answers.rows[person] = grid.taken(at)
                # No change undercuts the cheapest value if all values of the table were tried.
                has_numbers = any(column.number for column in self.task.columns)
                least = np.nan if has_numbers else grid.costs[at]
                answers.numbers[person, :3] = grid.costs[at], least, score
            else:
                grid.feasible[at] = False
                refused.append(person)
        normals = worst.functionals(models)
        scores = worst.design(rows) @ normals.T
        new = normals[(scores < worst.margin).any(axis=0)]
        self.normals += list(new)
        for person in refused:
            grids[person].feasible &= self._under(grids[person], new)
        return refused
