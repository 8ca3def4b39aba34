"""The figures of the page, each made when it is first seen or asked for."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.renderer import Renderer
from rashomon_explorer.explorer.session import Session


class Gallery(Mapping[str, FigureCard]):
    """Every figure by its name; what nobody asks for is neither made nor sent to a browser.

    Parameters
    ----------
    session : Session
        What the figures show.
    kinds : iterable of FigureCard classes
        The figures, in the order in which they are drawn.

    Attributes
    ----------
    kinds : dict of str to FigureCard class
        By name; titles are known before a figure is made.
    renderers : tuple of Renderer
        Who draws them: all quick ones in one task, each slow one in a task of its own.
    """

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
        card = self.hung(name)
        if not card.asked_for:
            card.asked_for = True
            card.appeared()
        return card

    def hung(self, name: str) -> FigureCard:
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
