"""Panels about people."""

from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.explorer.background import BackgroundTask
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.html import EXACT, SAMPLED, marks_html
from rashomon_explorer.explorer.messages import error_boundary, headline
from rashomon_explorer.explorer.panels.card import Panel, region, row
from rashomon_explorer.explorer.selection import group_labels
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import WAITS
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.plots.person import flip_kinds, sample_share
from rashomon_explorer.plots.text import models_within_psi, number, percent

_EVERYONE = "everyone"
_CLASSES_ONLY = "classification"


_NOTHING_YET = '<p class="rx-note">No models are drawn yet: press <b>Draw</b>.</p>'


class PeopleHeadline:
    """Summary of the people on screen, and choice of the group to inspect."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.column = ui.Dropdown(description="Groups by", options=[])
        self.group = ui.Dropdown(description="Show", options=[_EVERYONE])
        self.words = ui.HTML(_NOTHING_YET)
        self._updating = False
        self.column.observe(self._by, "value")
        self.group.observe(self._look, "value")
        choices = row([self.column, self.group], "rx-bar")
        self.widget = row([self.words, choices], "rx-card", "rx-headline")
        offered = ["data", "audit", "group_column", "groups", "view"]
        self.state.observe(lambda _: self._offer(), offered)
        needs = ["rashomon_set", "audit", "data", "selection", "people", "groups", "psi", "family"]
        self.task = BackgroundTask("the summary of people")
        self.task.repeat(
            self.state, needs, "people", self.find, self._show, partial(self._show, "")
        )
        self._offer()

    def _offer(self) -> None:
        columns, state = self.session.picked.columns, self.state
        column = state.group_column if state.group_column in columns else None
        column = column or (columns[0] if columns else None)
        levels: tuple[str, ...] = ()
        if column and state.view == "curator":  # groups are read from private rows
            levels = self.session.picked.everyone.levels(column)
        selected = [level for column_of_level, level in state.groups if column_of_level == column]
        self._updating = True
        if tuple(self.column.options) != columns:
            self.column.options = columns
        self.column.value = column
        options = (_EVERYONE, *levels)
        if tuple(self.group.options) != options:
            self.group.options = options
        self.group.value = (
            selected[0] if len(selected) == 1 and selected[0] in levels else _EVERYONE
        )
        self.column.disabled = self.group.disabled = not columns
        self._updating = False

    def _by(self, _change: object) -> None:
        if not self._updating:
            self.state.group_column = self.column.value or ""

    def _look(self, _change: object) -> None:
        if not self._updating:
            everyone = self.group.value == _EVERYONE
            self.state.groups = () if everyone else ((self.column.value, self.group.value),)

    def find(self) -> str:
        state, session = self.state, self.session
        models = state.rashomon_set
        if state.view == "release" or session.rows is None:
            return ""
        parts = [_tree_flip_share(session)]
        if (models or state.audit) is not None:
            parts += [_ambiguity(session), escape(session.picked.words)]
        return "".join(f"<li>{part}</li>" for part in parts if part)

    def _show(self, result: Any) -> None:
        if isinstance(result, Exception):
            result = f"<li>{escape(headline(result))}</li>"
        empty = _NOTHING_YET
        if self.state.busy:
            empty = f'<p class="rx-note">{WAITS}</p>'
        if self.state.view == "release":
            empty = '<p class="rx-note">This is computed from private rows.</p>'
        self.words.value = f"<ul>{result}</ul>" if result else empty


def _tree_flip_share(session: Any) -> str:
    if session.tree_answers.why_not:
        return ""
    flips = session.tree_answers.flips()["psi"].to_numpy()
    psi, everyone = float(session.state.psi), f"all {len(flips):,} people"
    everyone = session.sample_words or everyone
    return (
        f"{marks_html(EXACT)} some tree within ψ = {number(psi)} flips the label of "
        f"<b>{percent(float((flips <= psi).mean()))}</b> of {everyone}"
    )


def _ambiguity(session: Any) -> str:
    """Share of people whose label flips, over the draws and exact."""
    table = session.exact.people(session.picked.few)
    people = f"{len(table):,} people"
    if session.sample_words:
        people = f"{people} of {session.sample_words}"
    elif len(table) < len(session.rows):
        people = f"{people} of {len(session.rows):,}"
    drawn, proved, of = table.get("drawn_flips"), table.get("flips"), session.picked.population
    if drawn is None and proved is None:  # of predicted numbers
        kind, mark = ("exact", EXACT) if "exact_low" in table else ("drawn", SAMPLED)
        width = number(float((table[f"{kind}_high"] - table[f"{kind}_low"]).median()))
        return f"{marks_html(mark)} half of {people} have a range wider than <b>{width}</b>"
    share = "" if drawn is None else sample_share(drawn > 0, of)
    if proved is None:
        more = "" if trees_in(session.state.rashomon_set) else "; the set may flip more"
        message = f"draws flip the label of {share} of {people}{more}"
        return f"{marks_html(SAMPLED)} {message}" if share else ""
    low, high = ((proved == "yes").mean(), (proved != "no").mean())
    exact = f"{percent(float(low))} to {percent(high)}"
    exact = sample_share(proved == "yes", of) if low == high else exact
    words = f"{marks_html(EXACT)} good models can flip the label of <b>{exact}</b> of {people}"
    return f"{words}; {marks_html(SAMPLED)} the draws show {share}" if share else words


_SLIDERS, _STEPS = 5, 61
_MOVES = {":previous": -1, ":next": 1, ":random": 0}


class PersonForm:
    """What-If form of one person: sliders, the way to another person, and recourse."""

    def __init__(self, session: Session) -> None:
        self.session, self.what_if, self.state = session, session.what_if, session.state
        self.widget = ui.FieldForm(label="What if?", sliders=_SLIDERS)
        changed = error_boundary(session.state, "Changing a feature", lambda _: self._on_edit())
        self.widget.observe(changed, "edit")
        follows = ["edits", "people", "groups", "view", "data", "rashomon_set", "phase", "page"]
        session.state.observe(lambda _: self.refresh(), follows)
        self.task, needs = BackgroundTask("recourse"), ["people", "groups", "rashomon_set", "data"]
        start = self.task.repeat(self.state, needs, "people", self.recourse, self._show, self._show)
        start()
        self.refresh()

    def refresh(self) -> None:
        """Update the fields; also out of sight, so that a release holds no private row."""
        if self.state.view == "release":
            self.widget.edit = {}
        elif self.state.page != "people":
            return
        self.widget.moves = len(self.what_if.conflicting) > 0
        self.widget.fields = [
            {
                "name": field.name,
                "value": field.edited,
                "own": field.value,
                "options": list(field.options),
                "range": list(field.ends),
                "hint": field.hint,
            }
            for field in self.what_if.fields
        ]

    def _on_edit(self) -> None:
        edit = self.widget.edit
        if not edit:
            return
        try:
            if edit["name"] in _MOVES:
                self._move(_MOVES[edit["name"]])
            elif edit["name"]:
                self.what_if.change(str(edit["name"]), str(edit["value"]))
            else:
                self.what_if.reset()
        finally:
            self.widget.count += 1  # the browser shows the fields as they are
            self.refresh()

    def _move(self, step: int) -> None:
        """Select the next conflicting person, or one at random for step 0."""
        people, here = np.sort(self.what_if.conflicting), self.what_if.person
        if not len(people) or here is None:
            return
        place = int(np.searchsorted(people, here, "left" if step < 0 else "right"))
        place = place - 1 if step < 0 else place
        place = int(np.random.default_rng().integers(len(people))) if not step else place
        self.state.people = (int(people[place % len(people)]),)

    def recourse(self) -> str:
        """Least change of one feature after which every good model gives the last class."""
        session, models, what_if = self.session, self.state.rashomon_set, self.what_if
        if self.state.view == "release" or what_if.why_not or models is None:
            return ""
        if models.task != _CLASSES_ONLY or models_within_psi(models).is_empty:
            return ""
        every = "every drawn model" if session.exact.why_not else "every good model"
        yes = f"“{session.picked.answer or models.class_names[-1]}”"
        fields = {field.name: field for field in what_if.fields[:_SLIDERS]}
        trials = [{name: text} for name, each in fields.items() for text in each.values(_STEPS)]
        rows = what_if.variants(trials)
        already, *accepted = session.exact.all_accept(rows)
        if already:
            return f"{every[0].upper()}{every[1:]} says {yes}."
        score = np.asarray(models.best_scores(rows)).reshape(len(rows), -1)[1:, -1]
        best: dict[str, str] = {}  # the value of each feature that the best model likes most
        for place in np.argsort(-score, kind="stable"):
            best = {**best, **{name: best.get(name, text) for name, text in trials[place].items()}}
        joint = [
            {name: fields[name].towards(best[name], share) for name in list(best)[:count]}
            for count in range(2, len(best) + 1)
            for share in np.linspace(0.1, 1.0, 10)
        ]
        singles = [trial for trial, enough in zip(trials, accepted, strict=True) if enough]
        if not singles and joint:
            enough = session.exact.all_accept(what_if.variants(joint))[1:]
            singles = [joint[place] for place in np.flatnonzero(enough)[:1]]
        if not singles:
            return f"No change of these features was found that makes {every} say {yes}."
        costs = [sum(fields[name].cost(text) for name, text in trial.items()) for trial in singles]
        least = singles[int(np.argmin(costs))]
        words = ", ".join(fields[name].words(text) for name, text in least.items())
        return f"What would make {every} say {yes}? {words}."

    def _show(self, result: Any = "") -> None:
        self.widget.words = result if isinstance(result, str) else headline(result)


_MOST_COLUMNS = 3
_HINTS = {
    "person": "row of the table, from 0",
    "answer": "the best model's answer: a probability, or a prediction",
    "sampled": "∙∙∙ least and largest answer of the draws within ψ; sorted by width",
    "exact": "▬ least and largest answer of all models within ψ; sorted by width",
    "otherwise": "∙∙∙ share of draws that predict another class than the best model",
    "label": "whether a good model flips the label: observed in a draw, or proved",
}


class PeopleTable(Panel):
    """Table of people, one row per person; a click selects a person."""

    title = "People, one a row"
    short = "Table of people"
    needs = ("people", "view")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.table = ui.RowTable(label="People", hint="Search people: 17, flips, sex…")
        self.notice = region()
        super().__init__(session.state, self.notice, self.table, kind="rx-people-table")
        needs = ["rashomon_set", "audit", "data", "selection", "groups", "group_column", "psi"]
        self.task = BackgroundTask("the table of people")
        self.task.repeat(
            self.state, needs, "people", self._find, self._show, partial(self._show, None)
        )
        self.table.observe(self._on_selection, "picked")

    def lines(self) -> tuple[str, ...]:
        return ("explorer.exact.people(explorer.selected.few)",)

    def _find(self) -> pd.DataFrame | None:
        session = self.session
        nothing = self.state.rashomon_set is None and self.state.audit is None
        if nothing or self.state.view == "release" or session.rows is None:
            return None
        table = session.exact.people(session.picked.few)
        source, columns = self.session.group_table, self.session.picked.columns
        current = [self.state.group_column] if self.state.group_column in columns else []
        names = dict.fromkeys([*current, *columns])
        groups = {
            name: group_labels(source, name).iloc[table.index].to_numpy()
            for name in list(names)[:_MOST_COLUMNS]
        }
        return table.assign(**{f"_{name}": values for name, values in groups.items()})

    def _show(self, table: Any) -> None:
        if not isinstance(table, pd.DataFrame):
            with self.table.hold_sync():
                self.table.rows, self.table.columns, self.table.note = [], [], ""
            self.refresh()
            self.notice.value = _why_not(table, self.state)
            return
        cells = _cells(table)
        texts, keys = (zip(*column, strict=True) for column in zip(*cells.values(), strict=True))
        with self.table.hold_sync():
            self.table.columns = [
                {"name": name, "hint": _HINTS.get(name, f"in groups by {name}")} for name in cells
            ]
            self.table.rows = [
                {"id": int(position), "cells": list(words), "keys": list(values)}
                for position, words, values in zip(table.index, texts, keys, strict=True)
            ]
            everyone = self.session.sample_words or f"{len(self.session.rows):,} people"
            self.table.note = f"{len(table):,} of {everyone}"
        kinds = [EXACT] * ("flips" in table or "exact_low" in table)
        self.notice.value = marks_html(*kinds, *[SAMPLED] * ("drawn_low" in table))
        self.refresh()

    def refresh(self) -> None:
        curator = self.state.view == "curator"
        self.table.picked = [int(person) for person in self.state.people] if curator else []

    def _on_selection(self, _change: object) -> None:
        if self.state.view == "curator":
            self.state.people = tuple(self.table.picked)


def _why_not(result: Any, state: Any) -> str:
    if isinstance(result, Exception):
        return f"<p>{escape(headline(result))}</p>"
    words = "Press <b>Draw</b>, or show a model with its rows."
    if state.view == "release":
        words = "This table reads private rows and is not part of the release."
    return f'<p class="rx-note">{words}</p>'


def _cells(table: pd.DataFrame) -> dict[str, tuple[list[str], list[Any]]]:
    cells = {"person": (table.index.map(str).tolist(), table.index.tolist())}
    if "best" in table:
        cells["answer"] = (table["best"].map(number).tolist(), table["best"].tolist())
    for name, side in (("sampled", "drawn"), ("exact", "exact")):
        if f"{side}_low" in table:
            low, high = table[f"{side}_low"], table[f"{side}_high"]
            texts = [f"{number(a, 2)} to {number(b, 2)}" for a, b in zip(low, high, strict=True)]
            cells[name] = (texts, (high - low).tolist())
    if "drawn_flips" in table:
        cells["otherwise"] = (
            table["drawn_flips"].map(percent).tolist(),
            table["drawn_flips"].tolist(),
        )
    if {"flips", "drawn_flips"} & set(table):
        cells["label"] = (flip_kinds(table).tolist(),) * 2
    groups = {str(name)[1:]: table[name].map(str).tolist() for name in table if str(name)[0] == "_"}
    return cells | {name: (texts, texts) for name, texts in groups.items()}
