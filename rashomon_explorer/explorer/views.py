"""The views of the page, and the renderer of their figures."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Protocol

import ipywidgets

from rashomon_explorer.explorer.background import FRAMES_A_SECOND, BackgroundTask
from rashomon_explorer.explorer.cards import FigureCard, figure_card
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.plots.registry import FigureSpec


class Renderer:
    """Redraws cards that were marked as out of date, in one task."""

    def __init__(self, cards: Iterable[FigureCard] = ()) -> None:
        self.cards = tuple(cards)
        self._dirty: set[FigureCard] = set()
        self._holds = 0
        self._task = BackgroundTask("drawing the figures")
        self.wait_until_idle = self._task.wait_until_idle

    def add(self, card: FigureCard) -> None:
        self.cards = (*self.cards, card)
        self.mark([card])

    def mark(self, cards: Iterable[FigureCard] | None = None) -> None:
        self._dirty.update(self.cards if cards is None else cards)
        if self._holds or self._task.running or self._task.spawn(self._run):
            return
        for card in self._take(
            lambda card: card.is_visible or (card.requested and not card.spec.on_demand)
        ):
            card.redraw()

    @contextmanager
    def batched(self) -> Iterator[None]:
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self.mark(())

    async def _run(self) -> None:
        while batch := self._take(lambda card: card.is_visible):
            started = time.monotonic()
            for card in batch:
                try:
                    await card.redraw_in_background(partial(self._dirty.__contains__, card))
                except Exception as error:  # one failing figure must not stop the others
                    LOGGER.error("%s could not be sent", card.spec.title, exc_info=error)
            await asyncio.gather(*(card.view.drawn() for card in batch))
            await asyncio.sleep(max(0.0, 1 / FRAMES_A_SECOND - (time.monotonic() - started)))

    def _take(self, condition: Callable[[FigureCard], bool]) -> list[FigureCard]:
        batch = [card for card in self.cards if card in self._dirty and condition(card)]
        self._dirty.difference_update(batch)
        return batch


class FigureRegistry(Mapping[str, FigureCard]):
    """Figures by name; a figure is created and sent to a browser only when requested."""

    def __init__(self, session: Session, specs: Iterable[FigureSpec]) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self._session = session
        self._made: dict[str, FigureCard] = {}
        quick = Renderer()
        self._drawn_by = {
            name: Renderer() if spec.slow else quick for name, spec in self.specs.items()
        }
        self.renderers = tuple(dict.fromkeys((quick, *self._drawn_by.values())))

    def __getitem__(self, name: str) -> FigureCard:
        card = self.placed(name)
        if not card.requested:
            card.requested = True
            card.appeared()
        return card

    def placed(self, name: str) -> FigureCard:
        """Return a figure for its place on the page, where it is drawn only while visible."""
        if name not in self._made:
            card, renderer = figure_card(self._session, self.specs[name]), self._drawn_by[name]
            card.shown = False
            card.changed = partial(renderer.mark, [card])
            card.appeared = partial(renderer.mark, ())
            card.state.observe(lambda _: card.changed(), card.traits)
            self._made[name] = card
            renderer.add(card)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def __contains__(self, name: object) -> bool:
        return name in self.specs


@dataclass(frozen=True)
class ViewPlan:
    """Layout of one view: its address, its question, and its contents."""

    name: str
    title: str
    question: str
    slots: tuple[tuple[str, ...], ...]
    strips: tuple[str, ...] = ()


VIEWS: tuple[ViewPlan, ...] = (
    ViewPlan(
        "set",
        "Models",
        "How many models are as good as the best?",
        (
            (
                *("trees", "map", "losses", "chains", "models panel", "rules"),
                *("tree_sizes", "tree_list", "witness", "pair", "sets", "start panel"),
            ),
            ("dots",),
            ("ranges", "tree_use", "bounds"),
        ),
        strips=("introduction", "numbers panel"),
    ),
    ViewPlan(
        "features",
        "Features",
        "What do the models rely on?",
        (
            ("importance", "class_reliance", "tree_questions"),
            ("profile", "shapes", "importance_cloud", "importance_distribution"),
        ),
    ),
    ViewPlan(
        "people",
        "People & groups",
        "Who is affected?",
        (
            ("burden", "people_ranges", "people table", "people"),
            ("person", "gaps", "frontier", "decomposition", "tree_parity"),
        ),
        strips=("people headline",),
    ),
    ViewPlan(
        "choose", "Choose", "Which good model can you defend?", (("choice panel",), ("price",))
    ),
    ViewPlan("data", "Data", "What is known about the table?", (("data panel", "columns"),)),
    ViewPlan(
        "plan",
        "Privacy",
        "What does a privacy budget guarantee?",
        (("plan",), ("plan panel",), ("promise", "path_width"), ("budget panel",)),
    ),
    ViewPlan(
        "release",
        "Release & ledger",
        "Export and privacy cost",
        (
            ("basket panel",),
            ("take panel", "one model panel"),
            ("aggregates", "tradeoff", "budget", "ledger panel"),
        ),
    ),
)


_OPEN_ON_A_PHONE = 2  # number of slots of a view that a phone shows unfolded


_NOTHING = (
    "<p>There are no models yet. Press <b>Draw</b>, or look for free under <b>Models</b>.</p>"
)


class ViewPart(Protocol):
    """Panel or figure."""

    @property
    def widget(self) -> ipywidgets.Widget:
        """Widget on the page."""


@dataclass(frozen=True)
class WidgetPart:
    """Widget that is a part of a view by itself."""

    widget: ipywidgets.Widget


class Slot:
    """Place for one of several figures, chosen by name."""

    def __init__(
        self,
        names: Sequence[str],
        parts: Mapping[str, ViewPart],
        cards: FigureRegistry,
        *,
        folds: bool = False,
    ) -> None:
        self.names = tuple(names)
        self._here: dict[str, ViewPart] = {name: parts[name] for name in names if name in parts}
        self._cards = cards
        self._parts: dict[str, ViewPart | FigureSpec] = {**cards.specs, **self._here}
        parts_here = [self._parts[name] for name in names]
        titles = [getattr(part, "short", "") or getattr(part, "title", "") for part in parts_here]
        self._titles = [(title, position) for position, title in enumerate(titles)]
        self.choice = ui.ToggleButtons(options=self._titles, value=0)
        self.choice.add_class("rx-slot-choice")
        self._seen = self._offering = self.is_empty = False
        self.choice.observe(
            lambda _: None if self._offering else self.show(on_screen=self._seen), "value"
        )
        self.fold = ui.Fold(of=".rx-slot", escapes=False) if folds else None
        pickers = [self.fold] if self.fold is not None else []
        pickers += [self.choice] if len(self.names) > 1 else []
        self.widget = ui.Box([*pickers, *(part.widget for part in self._here.values())])
        self.widget.add_class("rx-slot")
        if folds:
            self.widget.add_class("rx-folds")
        self.show(on_screen=False)

    def offer(self, offered: Callable[[ViewPart | FigureSpec], bool]) -> None:
        """Offer the parts that can be shown; the first one, where the last choice cannot be."""
        before = [k for _, k in self.choice.options]
        titles = [title for title in self._titles if offered(self._parts[self.names[title[1]]])]
        positions = [k for _, k in titles]
        was_empty, self.is_empty = self.is_empty, not positions
        ui.display(self.widget, bool(positions))
        if self.is_empty or (positions == before and not was_empty):
            return
        ahead = [k for k in positions if k not in before and k < self.choice.value]
        current = self.choice.value if self.choice.value in positions else positions[0]
        self._offering = True
        self.choice.options, self.choice.value = titles, ahead[0] if ahead else current
        self._offering = False
        if len(self.names) > 1:
            ui.display(self.choice, len(titles) > 1)
        self.show(on_screen=self._seen)

    def show(self, *, on_screen: bool) -> None:
        self._seen = on_screen
        current = self.names[self.choice.value]
        on_screen = on_screen and not self.is_empty
        if on_screen and current not in self._here:
            self._here[current] = self._cards.placed(current)
            self.widget.children = (*self.widget.children, self._here[current].widget)
        if self.fold is not None:
            called = getattr(self._parts[current], "title", "")
            self.fold.words, self.fold.label = called, f"{called}: show or hide"
        for name, part in self._here.items():
            if len(self.names) > 1:
                ui.display(part.widget, name == current)
            if isinstance(part, FigureCard):
                part.shown = on_screen and name == current
                if part.shown:
                    part.appeared()


class View:
    """One question with its figures and controls."""

    def __init__(
        self, plan: ViewPlan, parts: Mapping[str, ViewPart], cards: FigureRegistry
    ) -> None:
        self.plan = plan
        available = {*parts, *cards}
        *slots, last = plan.slots
        added = tuple(name for name, spec in cards.specs.items() if spec.view == plan.name)
        figures = [
            tuple(name for name in names if name in available) for names in (*slots, last + added)
        ]
        self.names = tuple(names for names in figures if names)
        self.slots = tuple(
            Slot(names, parts, cards, folds=position >= _OPEN_ON_A_PHONE)
            for position, names in enumerate(self.names)
        )
        heading = ui.HTML(f"<h2>{escape(plan.question)}</h2>")
        heading.add_class("rx-question")
        grid = ui.Box([slot.widget for slot in self.slots])
        grid.add_class("rx-grid")
        strips = [parts[name].widget for name in plan.strips]
        self.nothing = ui.HTML(_NOTHING)
        self.nothing.add_class("rx-card")
        self.content = (heading, *strips, self.nothing, grid)
        self.widget = ui.VBox()
        self.widget.add_class("rx-view")
        self.widget.add_class(f"rx-view-{plan.name}")

    def show(self, *, on_screen: bool) -> None:
        if on_screen and not self.widget.children:
            self.widget.children = self.content
        for slot in self.slots:
            slot.show(on_screen=on_screen)

    def offer(self, offered: Callable[[ViewPart | FigureSpec], bool]) -> None:
        for slot in self.slots:
            slot.offer(offered)
        ui.display(self.nothing, all(slot.is_empty for slot in self.slots))

    def bring(self, name: str) -> bool:
        for slot, names in zip(self.slots, self.names, strict=True):
            if name in names:
                if names.index(name) in dict(slot.choice.options).values():
                    slot.choice.value = names.index(name)
                if slot.fold is not None:
                    slot.fold.unfolded = True
                return True
        return name in self.plan.strips
