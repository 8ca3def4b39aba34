"""Changes that a person may make: features, directions, bounds, whole units, levels and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import check_positive

Direction = Literal["up", "down"]

CURATOR = "curator: not private"
_UNMOVED = 1e-9  # relative to a value: a smaller change is rounding


@dataclass(frozen=True)
class LevelGroup:
    """Indicators 0 and 1 of which exactly one is on; None is a level without an indicator."""

    name: str
    columns: tuple[int | None, ...]
    cost: float

    def now(self, person: FloatArray) -> int:
        """Place of a person's level; raise if it is not one of them."""
        columns = [column for column in self.columns if column is not None]
        on = np.flatnonzero(person[columns])
        if len(on) == 1 and person[columns[on[0]]] == 1:
            return self.columns.index(columns[on[0]])
        if not len(on) and None in self.columns:
            return self.columns.index(None)
        raise ValueError(
            f"one indicator of {self.name!r} must be 1 and the others 0, got "
            f"{person[columns].tolist()}: list None among its levels if all may be 0"
        )


@dataclass(frozen=True)
class Changes:
    """Checked declaration of the features that may change, how far, and at which cost."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]  # features that change by numbers
    cost: FloatArray  # (n_features,): of a unit
    low: FloatArray
    high: FloatArray
    rises: Mask
    falls: Mask
    integral: Mask  # changes by whole units
    groups: tuple[LevelGroup, ...]

    @classmethod
    def declared(
        cls,
        names: Sequence[str],
        changeable: Sequence[Any],
        *,
        costs: Mapping[Any, float] | None = None,
        bounds: Mapping[Any, tuple[float, float]] | None = None,
        directions: Mapping[Any, Direction] | None = None,
        integers: Sequence[Any] = (),
        levels: Mapping[str, Sequence[Any]] | None = None,
    ) -> Changes:
        """Check the arguments of :func:`recourse`."""
        positions: dict[Any, int] = {name: position for position, name in enumerate(names)}
        positions |= {position: position for position in range(len(names))}
        levels, costs, n = dict(levels or {}), dict(costs or {}), len(names)
        _check_known([*changeable, *costs], {*positions, *levels}, names)
        _check_known([*(bounds or ()), *(directions or ()), *integers], positions, names)
        if isinstance(changeable, str) or not len(changeable):
            raise ValueError(f"changeable must list at least one feature, got {changeable!r}")
        check_positive(**{f"the cost of {feature}": cost for feature, cost in costs.items()})
        cost, low, high = np.ones(n), np.full(n, -np.inf), np.full(n, np.inf)
        rises, falls, integral = np.ones(n, bool), np.ones(n, bool), np.zeros(n, bool)
        for feature, unit_cost in costs.items():
            if feature not in levels:
                cost[positions[feature]] = unit_cost
        for feature, (lower, upper) in (bounds or {}).items():
            if not lower <= upper:
                raise ValueError(f"bounds of {feature!r} must be (low, high), got {(lower, upper)}")
            low[positions[feature]], high[positions[feature]] = lower, upper
        for feature, way in (directions or {}).items():
            if way not in ("up", "down"):
                raise ValueError(f"directions of {feature!r} must be 'up' or 'down', got {way!r}")
            (falls if way == "up" else rises)[positions[feature]] = False
        integral[[positions[feature] for feature in integers]] = True
        groups = tuple(
            _group(name, levels[name], costs.get(name, 1.0), positions, names)
            for name in changeable
            if name in levels
        )
        numbers = tuple(positions[feature] for feature in changeable if feature not in levels)
        _check_apart(numbers, groups, names)
        return cls(tuple(names), numbers, cost, low, high, rises, falls, integral, groups)

    def room(self, person: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far each number may rise and fall; a value outside its bounds may stay or return."""
        numbers = list(self.numbers)
        up = np.where(self.rises, np.maximum(self.high - person, 0.0), 0.0)
        down = np.where(self.falls, np.maximum(person - self.low, 0.0), 0.0)
        both = np.where(self.integral, np.floor([up + _UNMOVED, down + _UNMOVED]), [up, down])
        return both[0, numbers], both[1, numbers]

    def within_reach(self, person: FloatArray, features: FloatArray) -> FloatArray:
        """Features with their numbers clipped to what a person may reach."""
        low = np.where(self.falls, np.minimum(self.low, person), person)
        high = np.where(self.rises, np.maximum(self.high, person), person)
        reached, numbers = features.copy(), list(self.numbers)
        reached[numbers] = np.clip(features, low, high)[numbers]
        return reached

    def price(self, person: FloatArray, changed: FloatArray) -> float:
        """Cost of the change from a person's features to others."""
        numbers = list(self.numbers)
        moved = float(self.cost[numbers] @ np.abs(changed - person)[numbers])
        return moved + sum(
            group.cost for group in self.groups if group.now(changed) != group.now(person)
        )


def _check_known(used: Sequence[Any], allowed: Any, names: Sequence[str]) -> None:
    strange = [name for name in used if name not in allowed]
    if strange:
        raise ValueError(f"unknown feature {strange[0]!r}; the features are {', '.join(names)}")


def _group(
    name: str,
    levels: Sequence[Any],
    cost: float,
    positions: Mapping[Any, int],
    names: Sequence[str],
) -> LevelGroup:
    _check_known([level for level in levels if level is not None], positions, names)
    columns = tuple(None if level is None else positions[level] for level in levels)
    if len(set(columns)) < max(2, len(columns)):
        raise ValueError(f"levels of {name!r} must be at least two different ones, got {levels!r}")
    return LevelGroup(name, columns, cost)


def _check_apart(
    numbers: Sequence[int], groups: Sequence[LevelGroup], names: Sequence[str]
) -> None:
    levels = [column for group in groups for column in group.columns if column is not None]
    every = [*numbers, *levels]
    twice = [column for column in every if every.count(column) > 1]
    if twice:
        raise ValueError(
            f"{names[twice[0]]!r} is named twice among the changeable features: name a number or "
            "its group of levels, once"
        )


def snapped(person: FloatArray, changed: FloatArray) -> FloatArray:
    """Features after a change, without changes that are rounding."""
    small = np.abs(changed - person) <= _UNMOVED * (1 + np.abs(person))
    return np.where(small, person, changed)


@dataclass(frozen=True)
class Recourse:
    """Least changes after which every model of a set accepts each person. Curator: not private.

    Returned by :func:`recourse`.

    Parameters
    ----------
    people : pandas.DataFrame
        One row per person. ``status``: ``"found"``; ``"already accepted"`` by every model without
        a change; ``"impossible"`` if some models of the set never accept together, whatever may
        change; ``"undecided"`` if the search ended early.
        ``cost`` of the change; ``cost_at_least``, which no change undercuts that all models
        accept; ``worst_score``, below which no model's score is after it. ``one_cost`` and
        ``one_worst_score`` are for the change that is enough for the best model alone: its cost,
        and the score that some model of the set gives after it.
    changes : pandas.DataFrame
        One row per person and changed feature: ``old``, ``new``, and ``new_for_one``, the value
        that is enough for the best model alone.
    rows : pandas.DataFrame
        Features of each person after the change; NaN if there is none.
    """

    people: pd.DataFrame
    changes: pd.DataFrame
    rows: pd.DataFrame

    @classmethod
    def from_people(
        cls,
        table: pd.DataFrame,
        old: FloatArray,
        new: FloatArray,
        new_for_one: FloatArray,
        names: Sequence[str],
        psi: float,
    ) -> Recourse:
        """List what changes; rows without a change are NaN."""
        differs = ((new != old) & ~np.isnan(new)) | ((new_for_one != old) & ~np.isnan(new_for_one))
        person, feature = np.nonzero(differs)
        changes = pd.DataFrame(
            {
                "person": table.index[person],
                "feature": np.asarray(names, dtype=object)[feature],
                "old": old[person, feature],
                "new": new[person, feature],
                "new_for_one": new_for_one[person, feature],
            }
        )
        rows = pd.DataFrame(new, index=table.index, columns=list(names))
        for frame in (table, changes, rows):
            frame.attrs.update(view=CURATOR, psi=float(psi))
        return cls(table, changes, rows)

    def __repr__(self) -> str:
        """One sentence for one person, a table for several."""
        table = self._described()
        if len(table) == 1:
            return f"person {table.index[0]}: {self._sentence(table.iloc[0])}"
        counts = ", ".join(f"{n:,} {name}" for name, n in table["status"].value_counts().items())
        title = f"{len(table):,} people: {counts}; to be accepted by {self._scope}"
        return f"{title}\n{table.head(_MOST_LINES).to_string()}" + (
            f"\n… {len(table) - _MOST_LINES:,} more" if len(table) > _MOST_LINES else ""
        )

    @property
    def _scope(self) -> str:
        psi = self.people.attrs.get("psi", float("nan"))
        return str(self.people.attrs.get("scope", f"every model within ψ = {psi:.4g}"))

    def _sentence(self, person: pd.Series) -> str:
        if person["status"] == "found":
            return f"{person['change']}; accepted by {self._scope}"
        if person["status"] == "impossible":
            return f"no change of these columns is accepted by {self._scope}"
        words = {"undecided": "the search ended without an answer for"}
        return f"{words.get(person['status'], person['status'] + ' by')} {self._scope}"

    def _described(self) -> pd.DataFrame:
        """Status, change in words and cost of each person."""
        old, new = self.changes["old"], self.changes["new"]
        moved = self.changes[new.notna() & ~(old.notna() & (old == new))]
        words: dict[Any, list[str]] = {}
        for _, move in moved.iterrows():
            text = f"{move['feature']} {_in_words(move['old'])} → {_in_words(move['new'])}"
            words.setdefault(move["person"], []).append(text)
        table = self.people[["status", "cost"]].copy()
        table.insert(1, "change", [", ".join(words.get(person, [])) for person in table.index])
        table["cost"] = [_in_words(cost) for cost in table["cost"]]
        return table


_MOST_LINES = 20


def _in_words(value: Any) -> str:
    if pd.isna(value):
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
