"""People, one a row: their answers' ranges, whether a label flips, and their groups."""

from typing import Any

import ipywidgets
import pandas as pd

from rashomon_explorer.explorer.group_columns import group_labels
from rashomon_explorer.explorer.later import Later
from rashomon_explorer.explorer.marks import EXACT, SAMPLED, marks_html
from rashomon_explorer.explorer.panels.card import CodeToggle, card, hide_when_empty
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.widgets import RowTable
from rashomon_explorer.plots.people_ranges import flip_kinds
from rashomon_explorer.plots.text import number, percent

_MOST_COLUMNS = 3
_HINTS = {
    "person": "place in the table, from 0",
    "answer": "the best model's answer: a chance, or a prediction",
    "sampled": "∙∙∙ least and largest answer of the draws within ψ; sorted by width",
    "exact": "▬ least and largest answer of all models within ψ; sorted by width",
    "otherwise": "∙∙∙ share of the draws that say another class than the best model",
    "label": "whether a good model flips the label: by a draw, or as proved",
}


class PeopleTable:
    """A table of the people who are shown one by one; a click picks somebody.

    Parameters
    ----------
    session : Session
        The models on screen and their rows.

    Attributes
    ----------
    table : RowTable
        The people.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "People, one a row"
    short = "Table of people"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.table = RowTable(label="People", hint="Search people: 17, flips, sex…")
        self.said = ipywidgets.HTML()
        hide_when_empty(self.said)
        self._code = CodeToggle(self.lines, self.title)
        self.widget = card("", self.title, [self.said, self.table], self._code)
        self.widget.add_class("rx-people-table")
        needs = ["rashomon_set", "outside", "data", "groups", "group_column", "psi"]
        self.later = Later(self.state, needs, "people", self._find, self._show)
        self.table.observe(self._picked, "picked")
        self.state.observe(lambda _: self._mark(), "people")

    def lines(self) -> tuple[str, ...]:
        """Python that shows the same numbers."""
        return ("explorer.exact.people(explorer.picked.few)",)

    def _find(self) -> pd.DataFrame | None:
        session = self.session
        nothing = self.state.rashomon_set is None and self.state.outside is None
        if nothing or self.state.view == "release" or session.rows is None:
            return None
        table = session.exact.people(session.picked.few)
        return self._with_groups(table)

    def _with_groups(self, table: pd.DataFrame) -> pd.DataFrame:
        data, columns = self.state.data, self.session.picked.columns
        chosen = [self.state.group_column] if self.state.group_column in columns else []
        shown = dict.fromkeys([*chosen, *columns])
        groups = {
            name: group_labels(data, name).iloc[table.index].to_numpy()
            for name in list(shown)[:_MOST_COLUMNS]
        }
        return table.assign(**{f"_{name}": values for name, values in groups.items()})

    def _show(self, found: Any) -> None:
        if not isinstance(found, pd.DataFrame):
            self.table.rows, self.table.columns = [], []
            self.said.value = _why_not(found, self.state)
            return
        columns = _columns(found)
        with self.table.hold_sync():
            self.table.columns = [
                {
                    "name": name,
                    "hint": _HINTS.get(name, f"in groups by {name}"),
                }
                for name in columns
            ]
            self.table.rows = [_row(int(place), row, columns) for place, row in _lines(found)]
            everyone = self.session.sample_words or f"{len(self.session.rows):,} people"
            self.table.note = f"{len(found):,} of {everyone}"
        kinds = [EXACT] * ("flips" in found or "exact_low" in found)
        self.said.value = marks_html(*kinds, *[SAMPLED] * ("drawn_low" in found))
        self._mark()

    def _mark(self) -> None:
        self.table.picked = [int(person) for person in self.state.people]

    def _picked(self, _change: object) -> None:
        self.state.people = tuple(self.table.picked)


def _why_not(found: Any, state: Any) -> str:
    if isinstance(found, Exception):
        return f"<p>People cannot be shown: {ipywidgets.HTML(str(found)).value}</p>"
    words = "Press <b>Draw</b>, or show a model with its rows."
    if state.view == "release":
        words = "This table reads private rows, so it is not part of the release."
    return f'<p class="rx-note">{words}</p>'


def _lines(found: pd.DataFrame) -> Any:
    kinds = flip_kinds(found) if {"flips", "drawn_flips"} & set(found) else None
    named = found if kinds is None else found.assign(kind=kinds)
    return named.iterrows()


def _columns(found: pd.DataFrame) -> list[str]:
    known = {
        "answer": "best",
        "sampled": "drawn_low",
        "exact": "exact_low",
        "otherwise": "drawn_flips",
    }
    flips = ["label"] if {"flips", "drawn_flips"} & set(found) else []
    groups = [str(name)[1:] for name in found if str(name).startswith("_")]
    kept = [name for name, column in known.items() if column in found]
    return ["person", *kept, *flips, *groups]


def _row(place: int, row: pd.Series, columns: list[str]) -> dict[str, Any]:
    cells, keys = zip(*(_cell(place, row, name) for name in columns), strict=True)
    return {"id": place, "cells": list(cells), "keys": list(keys)}


def _cell(place: int, row: pd.Series, name: str) -> tuple[str, Any]:
    """Write one cell, and say what it is sorted by."""
    if name == "person":
        return str(place), place
    if name == "answer":
        return number(float(row["best"])), float(row["best"])
    if name in ("sampled", "exact"):
        side = "drawn" if name == "sampled" else "exact"
        low, high = float(row[f"{side}_low"]), float(row[f"{side}_high"])
        return f"{number(low, 2)} to {number(high, 2)}", high - low
    if name == "otherwise":
        return percent(float(row["drawn_flips"])), float(row["drawn_flips"])
    if name == "label":
        return str(row["kind"]), str(row["kind"])
    return str(row[f"_{name}"]), str(row[f"_{name}"])
