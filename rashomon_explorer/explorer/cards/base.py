"""A figure of the page: a FigureSpec with its view, controls, table and Python code."""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from html import escape, unescape
from typing import Any, NamedTuple

import ipywidgets
import plotly.graph_objects as go

from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer import html, messages
from rashomon_explorer.explorer.family import answered_families, trees_in
from rashomon_explorer.explorer.panels.card import column, region, row
from rashomon_explorer.explorer.selection import group_labels, taken
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import EPOCH, UNPAID, WAITS, Epoch
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView
from rashomon_explorer.plots import registry
from rashomon_explorer.plots.text import empty_set_figure, models_within_psi
from rashomon_explorer.plots.theme import empty_figure
from rashomon_explorer.sets import PredictorSet

NO_PLAN = "No valid plan.<br>See <b>Plan</b> for the reason and suggestions."
NO_DATA = "No data yet.<br>Choose a data set under <b>Data</b>."
CURATOR_FIGURE = (
    "This figure reads private rows<br>and is not part of the release.<br>"
    "Switch to <b>Curator</b> to see it."
)
_PRESS_DRAW = "No models yet.<br>Press <b>Draw</b>."
_LOOKING = "Sampling the first model…<br>Press <b>Stop</b> to cancel."
_NOT_LINEAR = "These models have no common coefficients<br>to compare."
_INSTEAD = (
    "These models are trees,<br>which have no coefficients.<br>"
    "<b>Trees</b> and <b>Rules</b>, in the view Set,<br>show their splits."
)
_NO_TREES = "These models are not trees.<br>Choose <b>sparse trees</b> under Model, and draw."
_MEASURING = '<span class="rx-kind" role="status">measuring…</span>'
_MOMENT = 0.4  # seconds after which an unfinished figure shows a progress message
_GLANCE = 0.1  # seconds between looks at whether an unfinished figure is still wanted
_UPDATING = "Updating…"
_OUTDATED = "rx-outdated"


class Need(NamedTuple):
    """Input of figures: traits of the state to follow, and why the input is missing."""

    traits: tuple[str, ...] = ()
    why_not: Callable[[Session], str] = lambda session: ""


def _unless(value: Callable[[Session], Any], message: str) -> Callable[[Session], str]:
    return lambda session: "" if value(session) else message


_OF_MODELS = ("rashomon_set", "view", "phase", "data")
NEEDS: Mapping[str, Need] = {
    "models": Need(_OF_MODELS),
    "drawn": Need(_OF_MODELS),
    "fitted": Need(("audit", "audit_psi", "view")),
    "choices": Need(
        ("choice", "prices"), _unless(lambda session: session.state.prices is not None, "Choosing…")
    ),
    "settings": Need(("loss", "radius", "ridge", "psi")),
    "selection": Need(("selection",)),
    "inside only": Need(("inside_only",)),
    "favourites": Need(("favourites",)),
    "people": Need(("groups", "people")),
    "marked people": Need(("people",)),
    "edits": Need(("edits",)),
    "chains": Need(
        ("chains", "view", "psi"),
        _unless(
            lambda session: session.state.chains,
            "No chain has run.<br>Choose a mechanism with chains, and press <b>Draw</b>.",
        ),
    ),
    "path": Need(("path", "phase")),
    "psi": Need(("psi",)),
    "data": Need(
        ("data", "view"), _unless(lambda session: session.state.data is not None, NO_DATA)
    ),
    "plan": Need(("plan", "constants", "data")),
    "budget": Need(("account", "phase")),
    "aggregates": Need(("releases", "rashomon_set")),
    "saved sets": Need(("saved_sets", "in_view")),
    "column": Need(("group_column",)),
    "tree class": Need(
        ("family", "max_leaves", "max_depth", "leaf_penalty", "psi", "people", *_OF_MODELS[1:]),
        lambda session: session.tree_answers.why_not,
    ),
    "rows": Need(
        why_not=_unless(
            lambda session: session.rows is not None,
            "Needs the rows: <b>Explorer(models, data=data)</b>.",
        )
    ),
    "targets": Need(
        why_not=_unless(
            lambda session: session.targets is not None,
            "Needs the rows and their targets: <b>Explorer(models, data=data)</b>.",
        )
    ),
    "groups": Need(
        ("audit",),
        _unless(
            lambda session: session.picked.columns,
            "No column defines groups: choose a data set that has one,<br>"
            "or give <b>audit(model, X, y, groups=...)</b>.",
        ),
    ),
    "exact": Need(why_not=lambda session: session.exact.why_not),
    "inside": Need(),
}
"""Inputs by the names that figures use in `FigureSpec.needs`."""

_AFTER_DRAWS = {"rows", "exact", "tree class"}
"""Inputs of slow figures that are computed after a draw, not during it."""

_BADGES = {mark.name: mark for mark in html.MARKS}


@lru_cache(maxsize=64)  # shown repeatedly and never modified
def _message_figure(title: str, text: str, height: int = 360) -> go.Figure:
    return empty_figure(title, text, height=height)


def message(title: str, text: str, height: int = 360) -> registry.FigureCall:
    return registry.FigureCall(partial(_message_figure, title, text, height), is_message=True)


class FigureCard:
    """One figure of the page, with controls of its own by their labels."""

    def __init__(
        self,
        session: Session,
        spec: registry.FigureSpec,
        inputs: "Inputs | None" = None,
        controls: "Mapping[str, Control] | None" = None,
        prepare: "Prepare | None" = None,
    ) -> None:
        self.session = session
        self.state = session.state
        self.spec = spec
        self._inputs, self._prepare = inputs, prepare
        self.view = PlotlyView(label=spec.label, name=spec.name, selectable=bool(spec.selects))
        self.changed: Callable[[], None] = lambda: None
        self.appeared: Callable[[], None] = lambda: None
        self.view.appeared = lambda: self.appeared()
        self.shown = True
        self.requested = False
        self.call = registry.FigureCall(go.Figure, is_message=True)
        self.cache = registry.MeasureCache()
        self._shown_for = self._entered = self.epoch
        self._offering = False
        self.menu = ui.CardMenu(spec.title, self._menu_entries())
        self._enable_entries()
        self._kinds = region("rx-kinds")
        self.controls = {label: make(self, label) for label, make in (controls or {}).items()}
        widgets = [getattr(control, "widget", control) for control in self.controls.values()]
        bar = [self._kinds, *widgets]
        parts = [self.view, self.menu, row(bar, "rx-bar")]
        self.widget = ui.own_layout(column(parts, "rx-card", "rx-figure"))
        self._first_options = {
            name: tuple(control.options)
            for name, control in self.controls.items()
            if hasattr(control, "options")
        }
        if spec.selects:
            _link_selection(self)
        self.state.observe(lambda _: self._leave(), [*EPOCH])

    @cached_property
    def facts(self) -> ipywidgets.HTML:
        view, *parts = self.widget.children
        self.widget.children = (view, facts := region("rx-promises"), *parts)
        return facts

    @property
    def is_visible(self) -> bool:
        """Whether it is visible: in the view on screen, in its own cell, or in the release."""
        return self.shown or self.view.visible or self.state.view == "release"

    @property
    def lines(self) -> tuple[str, ...]:
        return self.call.lines

    @property
    def traits(self) -> list[str]:
        needs = [trait for need in self.spec.needs for trait in NEEDS[need].traits]
        return list(dict.fromkeys([*needs, *EPOCH]))

    @property
    def epoch(self) -> Epoch:
        """View, table and set that a figure of now is for; the set where it shows models."""
        epoch, of_models = self.state.epoch, {"models", "drawn", "fitted", "aggregates"}
        return epoch if of_models & set(self.spec.needs) else epoch._replace(models=0)

    def _leave(self) -> None:
        """Take a figure of another view, table or set from the screen, before any other is made.

        Whatever comes first calls it: an observer of the state that redraws, or its own.
        """
        left, self._entered = self._entered, self.epoch
        if left == self._entered:
            return
        if left.view != self.state.view:  # which people a curator clicked is not for a release
            with self.silent():
                self.view.selected, self.view.clicked, self.view.hovered = [], {}, {}
        if left[:2] != self._entered[:2]:
            self._reset_controls()
        if self._shown_for == self._entered:
            return
        if self.state.view == "release":
            self._withdraw()
        else:
            self.widget.add_class(_OUTDATED)

    def _withdraw(self) -> None:
        """Show what the release shows, or that it is being made; nothing stays of private rows."""
        if "facts" in vars(self):
            self.facts.value = ""
        call = self._attempt()
        if call is None or not call.is_message:
            call = self.message(_UPDATING)
        self._show(call, call.figure(), self.epoch)

    def _reset_controls(self) -> None:
        """Let no list name what was read off another table, or off rows."""
        with self.silent():
            for name, options in self._first_options.items():
                control = self.controls[name]
                control.options = options
                control.disabled = not options
                control.value = next(
                    (option[1] if isinstance(option, tuple) else option for option in options), None
                )

    def message(self, text: str, height: int = 360) -> registry.FigureCall:
        return message(self.spec.title, text, height)

    def build(
        self, arguments: Mapping[str, Any] | None = None, **changes: Any
    ) -> registry.FigureCall:
        spec, figure_arguments = self.spec, {**self._arguments(), **(arguments or {})}
        if self.state.view == "release" and "models" in spec.needs:
            plot = spec.release_plot or spec.plot
            changes = {"plot": plot, "marks": ("paid",), "of_people": False, **changes}
        return spec.call(figure_arguments, **{"cache": self.cache, **changes})

    def _arguments(self) -> dict[str, registry.Argument]:
        """Arguments that every figure can take; in the release view nothing of private rows."""
        state, parameters, arguments = self.state, self.spec.parameters, {}
        models = state.rashomon_set
        if "models" in self.spec.needs and models is not None:
            released = state.view == "release"
            models = models.release() if released else models
            line = "explorer.rashomon_set" + ".release()" * released
            arguments["models"] = arguments["released"] = registry.Argument.known(models, line)
        if "selection" in self.spec.needs:
            line = "explorer.state.selection" if state.selection else "()"
            arguments["highlight"] = registry.Argument.known(tuple(state.selection), line)
        if state.view != "release":
            rows = self._rows() if parameters & {"X", "groups"} else {}
            if "targets" not in self.spec.needs:
                rows.pop("y", None)  # of such a figure, y is an axis
            arguments |= {name: value for name, value in rows.items() if name in parameters}
        return arguments

    def _rows(self) -> dict[str, registry.Argument]:
        """Rows, targets and groups as they are now: by column, of the selected people, or all."""
        session, needs, selection = self.session, self.spec.needs, self.session.picked
        rows, targets, Argument = session.rows, session.targets, registry.Argument
        if "groups" in needs:
            column, table, everyone = self.column, session.group_table, "explorer.selected.everyone"
            all_people = selection.everyone.people
            line = f"{everyone}.groups({column!r})"
            return {
                "X": Argument(f"{everyone}.rows", partial(taken, rows, all_people), rows),
                "y": Argument(f"{everyone}.targets", partial(taken, targets, all_people), rows),
                "groups": Argument(
                    line, lambda: group_labels(table, column).iloc[all_people], (rows, column)
                ),
            }
        if "people" in needs:
            people, (_, row_line, target_line) = selection.people, selection.names
            key = (rows, people.tobytes())
            y = Argument(target_line, partial(taken, targets, people), key)
            return {
                "X": Argument(row_line, partial(taken, rows, people), key),
                "y": y,
                "targets": y,
            }
        return {
            "X": Argument("explorer.rows", lambda: rows),
            "y": Argument("explorer.targets", lambda: targets),
        }

    def next_call(self) -> registry.FigureCall | None:
        """Call for the current state; None keeps the figure on screen."""
        spec, state = self.spec, self.state
        if self._prepare is not None and (instead := self._prepare(self)) is not None:
            return instead
        if "models" in spec.needs and self.is_without_models:
            return self.waiting()
        of_models = {"models", "drawn"} & set(spec.needs) and not self.shows_run
        if of_models and (why := self._other_family()):
            return self.message(why)
        if state.view == "release" and "release" not in spec.audience:
            return self.message(CURATOR_FIGURE)
        if state.has_no_guarantee and {"models", "drawn", "fitted"} & set(spec.needs):
            return self.message(UNPAID)
        is_current = self.lines and self._shown_for == self.epoch
        if state.busy and is_current and "path" in spec.needs and not self.shows_run:
            return None  # until there is a state to show
        if spec.slow and state.busy and _AFTER_DRAWS & set(spec.needs):
            return None if is_current else self.message(WAITS)
        if why := self.missing():
            return self.message(why)
        is_empty = (
            "inside" in spec.needs
            and state.view != "release"
            and models_within_psi(state.rashomon_set).is_empty
        )
        if is_empty and spec.measure is not None and spec.code is None:
            plot = partial(empty_set_figure, spec.title, state.rashomon_set)
            return registry.FigureCall(plot, is_message=True)
        call = self.build() if self._inputs is None else self._inputs(self)
        if isinstance(call, str):
            return self.message(call)
        if is_empty:  # the plot function says so, and there is nothing to measure or tabulate
            return replace(call, plot=call.code or call.plot, measure=None, tabulate=None)
        return call

    @property
    def is_without_models(self) -> bool:
        """Whether there is neither a draw nor, for figures of both, a model fitted elsewhere."""
        models, needs = self.state.rashomon_set, self.spec.needs
        is_external = "fitted" in needs and self.state.exact_audit is not None
        has_draws = models is not None and models.n_draws
        is_planned = "settings" in needs and self.spec.suits(answered_families(self.state))
        return not (has_draws or is_external or is_planned or self.shows_run)

    @property
    def shows_run(self) -> bool:
        """Whether the figure shows released states of a path that runs, and no model."""
        return "path" in self.spec.needs and self.state.path is not None and self.state.busy

    def missing(self) -> str:
        return next(
            filter(None, (NEEDS[name].why_not(self.session) for name in self.spec.needs)), ""
        )

    def waiting(self) -> registry.FigureCall:
        if self.state.data is None:
            return self.message(NO_DATA)
        return self.message(_LOOKING if self.state.spent else _PRESS_DRAW)

    def _other_family(self) -> str:
        """Why the figure does not show the models on screen; empty if it does."""
        models, families = self.state.rashomon_set, self.spec.families
        trees = trees_in(models) is not None
        if families == registry.TREES:
            return _NO_TREES if "models" in self.spec.needs and not trees else ""
        family = "trees" if trees else "other" if isinstance(models, PredictorSet) else "linear"
        if family in families:
            return ""
        return _INSTEAD if trees else _NOT_LINEAR

    def redraw(self) -> None:
        if (call := self._attempt()) is not None:
            self._finish(call, call.figure, self.epoch)

    async def redraw_in_background(self, outdated: Callable[[], bool] = lambda: False) -> None:
        """Compute the figure in a worker thread; show it where its view, table and set remain."""
        call, slow, epoch = self._attempt(), self.spec.slow, self.epoch
        if call is None:
            return
        task = asyncio.ensure_future(asyncio.to_thread(call.figure))
        started = time.monotonic()
        while not (await asyncio.wait({task}, timeout=_GLANCE))[0]:
            if epoch != self.epoch:  # what is still computed has a cache of its own from now on
                self.cache = registry.MeasureCache()
                task.add_done_callback(_ignore_result)
                return
            if slow and call.lines and time.monotonic() - started > _MOMENT:
                self._kinds.value = _MEASURING
                if not self.lines:  # no such figure is on screen yet
                    self.view.show(_message_figure(self.spec.title, "Measuring…"))
        if task.exception() is None or not outdated():
            self._finish(call, task.result, epoch)

    def _attempt(self) -> registry.FigureCall | None:
        self._leave()
        try:
            return self.next_call()
        except Exception as error:
            return _failed(self.spec.title, error)

    def _finish(
        self, call: registry.FigureCall, find: Callable[[], go.Figure], epoch: Epoch
    ) -> None:
        try:
            figure = find()
        except Exception as error:
            call = _failed(self.spec.title, error)
            figure = call.figure()
        self._show(call, figure, epoch)

    def _show(self, call: registry.FigureCall, figure: go.Figure, epoch: Epoch) -> None:
        """Send a figure to the browser; the only way there, and closed to one that is late."""
        if epoch != self.epoch:
            return
        resend, self._shown_for = epoch != self._shown_for, epoch
        self.call = call
        for words in self._scope(call) if call.lines else ():
            if words not in str(figure.layout.title.text or ""):
                registry.add_subtitle(figure, words)
        self.view.show(figure, whole=resend)
        self.widget.remove_class(_OUTDATED)
        self._enable_entries()
        self._fill()

    def _scope(self, call: registry.FigureCall) -> Iterator[str]:
        """Describe the people of a figure, and which selection it does not follow."""
        state, needs = self.state, {*self.spec.needs}
        if state.view == "release":
            return
        if call.of_people or "groups" in needs:
            yield self.session.sample_words
        if state.selection and "selection" not in needs and needs & {"models", "tree class"}:
            what = "the whole set" if call.marks == ("exact",) else "all models"
            yield f"of {what}, not only the selected models"
        if "edits" in needs:  # of one person
            return
        if "people" in needs and "groups" not in needs:
            yield self.session.picked.words
        elif (state.people or state.groups) and needs & {"rows", "exact", "tree class"}:
            yield "of all people, not only the selected ones"

    def _fill(self) -> None:
        self.menu.refresh()
        marks = self.call.marks() if callable(self.call.marks) else self.call.marks
        self._kinds.value = html.marks_html(*(_BADGES[mark] for mark in marks))

    def _menu_entries(self) -> ui.MenuEntries:
        spec = self.spec
        entries: dict[str, tuple[str, Callable[[], object]]] = {
            "Table": (f"The numbers behind “{spec.title}”", self._table_html),
            "Python": (
                f"The Python line of “{spec.title}”",
                lambda: html.code_block(self.lines) if self.lines else "",
            ),
        }
        if spec.definition or html.figure_terms(spec):
            plain = unescape(re.sub(r"<[^>]+>", "", spec.definition))
            hint = plain or f"What the numbers of “{spec.title}” are"
            entries["Definition"] = (hint, self._definition_html)
        return entries

    def _enable_entries(self) -> None:
        self.menu.enable("Table", self.call.tabulate is not None)
        self.menu.enable("Python", bool(self.call.lines))

    def _table_html(self) -> str:
        title = self.spec.title
        try:
            return "" if self.call.tabulate is None else html.table_html(self.call.table(), title)
        except Exception as error:
            messages.LOGGER.error("the table of %s failed", title, exc_info=error)
            return f"<p>The table could not be made: {escape(str(error))}</p>"

    def _definition_html(self) -> str:
        definition, terms = self.spec.definition, html.figure_terms(self.spec)
        reason = escape(self.call.reason) if self.state.view == "curator" else ""
        parts = (f'<p class="rx-note">{part}</p>' for part in (reason, definition) if part)
        text = "".join(parts)
        return text + (html.definitions_html(terms) if terms else "")

    def offer(self, label: str, options: Sequence[Any], default: Any = None) -> Any:
        """Replace a dropdown's options without redrawing, keep its value if possible; return it."""
        picker, choices = self.controls[label], tuple(options)
        if tuple(picker.options) != choices:
            values = [choice[1] if isinstance(choice, tuple) else choice for choice in choices]
            current, fallback = picker.value, default if default in values else None
            with self.silent():
                picker.options = choices
                picker.value = (
                    current if current in values else fallback or next(iter(values), None)
                )
        picker.disabled = not choices
        return picker.value

    @contextmanager
    def silent(self) -> Iterator[None]:
        self._offering = True
        try:
            yield
        finally:
            self._offering = False

    @property
    def column(self) -> str:
        columns = self.session.picked.columns
        column = self.state.group_column
        return column if column in columns else columns[0] if columns else ""


def _ignore_result(task: "asyncio.Future[go.Figure]") -> None:
    """Let a figure that nobody waits for end without a warning."""
    if not task.cancelled():
        task.exception()


def _failed(title: str, error: Exception) -> registry.FigureCall:
    if not isinstance(error, CuratorOnlyError | DataError):
        messages.LOGGER.error("%s could not be drawn", title, exc_info=error)
    reason = str(error) or type(error).__name__
    return replace(message(title, messages.headline(error)), reason=reason)


Inputs = Callable[[FigureCard], registry.FigureCall | str]
"""Function that returns the call of a figure with its arguments, or a message."""

Prepare = Callable[[FigureCard], registry.FigureCall | None]
"""Function that updates controls before each call; it may return a call in place of the inputs'."""

Control = Callable[[FigureCard, str], Any]  # function that makes a control of a card from its label


def picker(*options: Any) -> Control:
    def make(card: FigureCard, label: str) -> ipywidgets.Dropdown:
        dropdown = ui.Dropdown(description=label, options=options, disabled=not options)
        dropdown.observe(lambda _: None if card._offering else card.changed(), "value")
        return dropdown

    return make


_SELECTED = {"models": "selection", "people": "people", "groups": "groups"}
"""Trait of the state that a figure sets, by `FigureSpec.selects`."""


def _link_selection(card: FigureCard) -> None:
    state, trait = card.state, _SELECTED[card.spec.selects]

    def existing(ids: Iterable[Any]) -> tuple[Any, ...]:
        """Models, people or groups with these ids, without those that do not exist."""
        if trait == "groups":
            return tuple(dict.fromkeys((card.column, key) for key in ids if isinstance(key, str)))
        models, rows = state.rashomon_set, card.session.rows
        if trait == "people":
            count = 0 if rows is None else len(rows)
        else:
            count = 0 if models is None else models.n_draws
        return tuple(sorted({key for key in ids if type(key) is int and 0 <= key < count}))

    def clicked(change: dict[str, Any]) -> None:
        if card._offering:
            return
        point, before = change["new"], getattr(state, trait)
        after = existing(point.get("ids") or [point.get("id")])
        if not after:
            return
        if trait == "selection" and len(after) == 1:  # single models add up
            remaining = tuple(draw for draw in before if draw != after[0])
            after = remaining if remaining != before else (*before, *after)
        elif before == after:
            after = ()
        setattr(state, trait, after)

    def selected(change: dict[str, Any]) -> None:
        if card._offering:
            return
        setattr(state, trait, existing(point.get("id") for point in change["new"]))

    card.view.observe(clicked, "clicked")
    card.view.observe(selected, "selected")
