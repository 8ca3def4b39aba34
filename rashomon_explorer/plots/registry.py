"""Figures as data: one FigureSpec declares a figure for page, report, gallery and Python."""

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import pandas as pd
import plotly.graph_objects as go

Plot = Callable[..., go.Figure]

CURATOR, BOTH = ("curator",), ("curator", "release")
"""Audiences: a figure of private rows, and a figure that a release may show too."""

ANY, LINEAR, TREES = ("linear", "trees", "other"), ("linear",), ("trees",)
"""Families of models that a figure supports."""


@dataclass(frozen=True)
class Argument:
    """Argument of a figure: the Python expression that returns it, and its value."""

    line: str
    find: Callable[[], Any]  # called in the thread that makes the figure
    key: Any = field(default_factory=object)  # equal keys have equal values, see MeasureCache

    @classmethod
    def known(cls, value: Any, line: str = "") -> "Argument":
        """Argument with a value that needs no computation."""
        return cls(line or repr(value), lambda: value, value)

    @classmethod
    def unwritten(cls, value: Any) -> "Argument":
        """Argument that the Python lines leave out, such as a note on the page's selection."""
        return cls("", lambda: value, value)


class MeasureCache:
    """Results of the newest keys, each computed once; other keys replace them all."""

    def __init__(self) -> None:
        self._keys: tuple[Any, ...] | None = None
        self._results: dict[Any, Any] = {}
        self._locks: dict[Any, Lock] = {}
        self._guard = Lock()

    def get(self, keys: tuple[Any, ...], compute: Callable[[], Any], name: Any = None) -> Any:
        """Return the result of this name for these keys; objects count as the same by identity."""
        with self._guard:
            if not _is_same(keys, self._keys):
                self._keys, self._results, self._locks = keys, {}, {}
            results, lock = self._results, self._locks.setdefault(name, Lock())
        with lock:  # a second caller waits for the first one's result
            if name not in results:
                results[name] = compute()
            return results[name]

    def forget(self) -> None:
        """Drop all results."""
        with self._guard:
            self._keys, self._results, self._locks = None, {}, {}


def _is_same(key: Any, other: Any) -> bool:
    if isinstance(key, tuple) and isinstance(other, tuple):
        return len(key) == len(other) and all(map(_is_same, key, other))
    is_scalar = isinstance(key, str | bytes | int | float)
    return key is other or (is_scalar and type(key) is type(other) and key == other)


@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """One figure: how it is named, defined, computed and plotted, and who may see it.

    `plot`, `table` and `measure` take the arguments of the same names that the page or the report
    has, such as ``models``, ``X``, ``y``, ``groups`` and ``highlight``.

    Attributes
    ----------
    name, title, label, short : str
        Key; title; description for screen readers; title in lists if `title` is too long.
    definition : str
        Definition of the numbers with their formula, as HTML.
    terms : tuple of str
        Numbers that the page's glossary defines.
    audience : tuple of str
        `CURATOR` or `BOTH`.
    families : tuple of str
        Families of models that it supports.
    needs : tuple of str
        Inputs that it follows and requires, by the names of ``explorer.cards.base.NEEDS``.
    plot : callable
        Function that returns the figure.
    table : callable, optional
        Function that returns the values shown, as a DataFrame.
    measure : callable, optional
        Function whose result is the argument `result` of `plot` and `table`. It is not repeated
        while its own arguments stay the same.
    result : str
        Name of that argument.
    code : callable, optional
        Function that the Python line calls in place of measure and plot.
    release_plot : callable, optional
        Function for released models, if it is another than `plot`.
    marks : tuple of str
        How the numbers were computed: ``"exact"``, ``"sampled"``.
    selects : {"", "models", "people", "groups"}
        What a click or a box in the figure selects.
    slow, on_demand : bool
        Whether it evaluates models on rows, and whether it is computed only while visible.
    of_people : bool
        Whether it shows single rows, of chunked rows a sample.
    view, section : str
        View of the page and section of the report to which a registered figure is added.

    Examples
    --------
    >>> from rashomon_explorer.plots.figures import FIGURES
    >>> isinstance(FIGURES["people"], FigureSpec), FIGURES["people"].audience
    (True, ('curator',))
    """

    name: str
    title: str
    label: str
    plot: Plot
    short: str = ""
    definition: str = ""
    terms: tuple[str, ...] = ()
    audience: tuple[str, ...] = CURATOR
    families: tuple[str, ...] = ANY
    needs: tuple[str, ...] = ("models",)
    table: Callable[..., pd.DataFrame] | None = None
    measure: Callable[..., Any] | None = None
    result: str = ""
    code: Callable[..., Any] | None = None
    release_plot: Plot | None = None
    marks: tuple[str, ...] = ()
    selects: str = ""
    slow: bool = False
    on_demand: bool = False
    of_people: bool = False
    view: str = ""
    section: str = ""

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the arguments that some function of the figure takes."""
        functions = filter(None, (self.plot, self.table, self.measure, self.release_plot))
        return frozenset(name for function in functions for name in _parameters(function))

    def suits(self, families: Collection[str]) -> bool:
        """Whether the figure supports models of one of these families."""
        return not set(families).isdisjoint(self.families)

    def call(self, arguments: Mapping[str, Any], **changes: Any) -> "FigureCall":
        """Call of the figure; arguments without a Python expression are literals."""
        arguments_by_name = {
            name: value if isinstance(value, Argument) else Argument.known(value)
            for name, value in arguments.items()
        }
        call = FigureCall(
            self.plot, arguments_by_name, self.table, self.measure, self.result, self.code
        )
        return replace(call, **{"marks": self.marks, "of_people": self.of_people, **changes})


on_demand_figure = partial(FigureSpec, marks=("sampled",), slow=True, on_demand=True)
"""Figure over a sample of models that is computed only while it is visible."""


@dataclass(frozen=True)
class FigureCall:
    """Functions of a figure with their arguments; safe to evaluate in another thread."""

    plot: Plot
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    tabulate: Callable[..., pd.DataFrame] | None = None
    measure: Callable[..., Any] | None = None
    result: str = ""
    code: Callable[..., Any] | None = None
    marks: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    of_people: bool = False
    subtitle: str = ""
    before: tuple[str, ...] = ()  # Python lines before the figure's
    is_message: bool = False
    reason: str = ""  # full text of an error behind a message
    cache: MeasureCache = field(default_factory=MeasureCache)

    def figure(self) -> go.Figure:
        """Plot the figure."""
        figure = self.plot(**self._values(self.plot))
        return add_subtitle(figure, self.subtitle) if self.subtitle else figure

    @property
    def missing(self) -> list[str]:
        """Required arguments of the figure that are not known."""
        available = {*self.arguments, *filter(None, (self.measure and self.result,))}
        required = {
            name
            for function in filter(None, (self.measure, self.plot))
            for name, parameter in _parameters(function).items()
            if parameter.default is inspect.Parameter.empty
        }
        return sorted(required - available)

    def table(self) -> pd.DataFrame:
        """Tabulate the values of the figure."""
        if self.tabulate is None:
            raise ValueError("this figure has no table")
        return self.tabulate(**self._values(self.tabulate))

    @property
    def lines(self) -> tuple[str, ...]:
        """Python lines that make the figure; none for a message."""
        if self.is_message:
            return ()
        function = self.code or self.plot
        calls = [self._line(function)]
        functions = [function]
        if self.measure is not None and self.code is None:
            functions.insert(0, self.measure)
            calls.insert(0, f"{self.result} = {self._line(self.measure)}")
        return (*map(_import_line, functions), *self.before, *calls)

    def _values(self, function: Callable[..., Any]) -> dict[str, Any]:
        if not self.arguments:
            return {}
        names = _parameters(function)
        values = {
            name: argument.find() for name, argument in self.arguments.items() if name in names
        }
        if self.measure is not None and self.result in names:
            values[self.result] = self.found()
        return values

    def found(self) -> Any:
        """Compute the measure of the figure."""
        if self.measure is None:
            raise ValueError("this figure has no measure")
        measure = self.measure
        used = {n: argument for n, argument in self.arguments.items() if n in _parameters(measure)}
        keys = tuple(argument.key for argument in used.values())
        return self.cache.get(
            keys, lambda: measure(**{n: argument.find() for n, argument in used.items()})
        )

    def _line(self, function: Callable[..., Any]) -> str:
        lines = {name: argument.line for name, argument in self.arguments.items()}
        if self.measure is not None:
            lines[self.result] = self.result
        written = []
        for name, parameter in _parameters(function).items():
            line, default = lines.get(name, ""), parameter.default
            if not line or line == repr(default):
                continue
            required = default is inspect.Parameter.empty
            written.append(line if required else f"{name}={line}")
        return f"{function.__name__}({', '.join(written)})"


def add_subtitle(figure: go.Figure, words: str) -> go.Figure:
    """Add words to the line below a figure's title."""
    head, _, below = (figure.layout.title.text or "").partition("<br>")
    if words:
        below = below.replace("</span>", f" · {words}</span>") if below else words
    figure.layout.title.text = f"{head}<br>{below}" if below else head
    return figure


@lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _import_line(function: Callable[..., Any]) -> str:
    module, name = function.__module__, function.__name__
    parts = module.split(".")
    for end in range(2, len(parts)):
        room = ".".join(parts[:end])
        if getattr(importlib.import_module(room), name, None) is function:
            return f"from {room} import {name}"
    return f"from {module} import {name}"
