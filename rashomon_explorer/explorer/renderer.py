"""Figures redrawn where they are visible."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.session import Session

FRAMES_A_SECOND = 12


class Renderer:
    """Redraws cards that were marked as out of date, in one task."""

    def __init__(self, cards: Iterable[FigureCard] = ()) -> None:
        self.cards = tuple(cards)
        self.frames = 0
        self._dirty: set[FigureCard] = set()
        self._holds = 0
        self._task: asyncio.Task[None] | None = None

    def add(self, card: FigureCard) -> None:
        """Draw one card more, from now on."""
        self.cards = (*self.cards, card)
        self.mark([card])

    def mark(self, cards: Iterable[FigureCard] | None = None) -> None:
        """Ask for some cards, or all, to be drawn again."""
        self._dirty.update(self.cards if cards is None else cards)
        if self._holds:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            for card in self._take(
                lambda card: card.is_visible or (card.asked_for and not card.asked)
            ):
                card.redraw()
            return
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())

    @contextmanager
    def batched(self) -> Iterator[None]:
        """Draw what is marked inside once, at the end."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self.mark(())

    async def wait_until_idle(self) -> None:
        """Wait until nothing is out of date."""
        while self._task is not None and not self._task.done():
            await asyncio.sleep(0.01)

    async def _run(self) -> None:
        while batch := self._take(lambda card: card.is_visible):
            started = time.monotonic()
            for card in batch:
                try:
                    await card.redraw_in_background(partial(self._is_dirty, card))
                except Exception as error:  # one figure must not end the task of the others
                    LOGGER.error("%s could not be sent", card.title, exc_info=error)
            self.frames += 1
            await asyncio.gather(*(card.view.drawn() for card in batch))
            await asyncio.sleep(max(0.0, 1 / FRAMES_A_SECOND - (time.monotonic() - started)))

    def _is_dirty(self, card: FigureCard) -> bool:
        return card in self._dirty

    def _take(self, wanted: Callable[[FigureCard], bool]) -> list[FigureCard]:
        batch = [card for card in self.cards if card in self._dirty and wanted(card)]
        self._dirty.difference_update(batch)
        return batch


class FigureRegistry(Mapping[str, FigureCard]):
    """Every figure by its name; what nobody asks for is neither made nor sent to a browser."""

    def __init__(self, session: Session, kinds: Iterable[type[FigureCard]]) -> None:
        self.kinds = {kind.name: kind for kind in kinds}
        self._session = session
        self._made: dict[str, FigureCard] = {}
        quick = Renderer()
        self._drawn_by = {
            name: Renderer() if kind.slow else quick for name, kind in self.kinds.items()
        }
        self.renderers = tuple(dict.fromkeys((quick, *self._drawn_by.values())))

    def __getitem__(self, name: str) -> FigureCard:
        card = self.placed(name)
        if not card.asked_for:
            card.asked_for = True
            card.appeared()
        return card

    def placed(self, name: str) -> FigureCard:
        """Return a figure for its place on the page, where it is drawn while it is seen."""
        if name not in self._made:
            self._made[name] = self._new(self.kinds[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)

    def __contains__(self, name: object) -> bool:
        return name in self.kinds

    def _new(self, kind: type[FigureCard]) -> FigureCard:
        card, renderer = kind(self._session), self._drawn_by[kind.name]
        card.shown = False
        card.changed = partial(renderer.mark, [card])
        card.appeared = partial(renderer.mark, ())
        card.state.observe(lambda _: card.changed(), list(card.needs))
        renderer.add(card)
        return card
