"""Draws picked in one figure are ringed in the others."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rashomon_explorer.explorer.cards.base import FigureCard


def picks(card: "FigureCard") -> None:
    """Let clicks and box selections in a card's figure choose draws.

    Its points carry the draw's number as ``customdata``.
    """

    def clicked(change: dict[str, Any]) -> None:
        draw = _draw_of(change["new"], card)
        if draw is None:
            return
        chosen = card.state.selection
        card.state.selection = (
            tuple(d for d in chosen if d != draw) if draw in chosen else (*chosen, draw)
        )

    def selected(change: dict[str, Any]) -> None:
        draws = {_draw_of(point, card) for point in change["new"]} - {None}
        card.state.selection = tuple(sorted(draw for draw in draws if draw is not None))

    card.view.observe(clicked, "clicked")
    card.view.observe(selected, "selected")


def picks_people(card: "FigureCard") -> None:
    """Let clicks and box selections in a card's figure choose people.

    Its points carry the person's place among the rows as ``customdata``.
    """

    def clicked(change: dict[str, Any]) -> None:
        person, chosen = _person_of(change["new"], card), card.state.people
        if person is not None:
            card.state.people = () if chosen == (person,) else (person,)

    def selected(change: dict[str, Any]) -> None:
        people = {_person_of(point, card) for point in change["new"]} - {None}
        card.state.people = tuple(sorted(one for one in people if one is not None))

    card.view.observe(clicked, "clicked")
    card.view.observe(selected, "selected")


def _person_of(point: dict[str, Any], card: "FigureCard") -> int | None:
    person, rows = point.get("id"), card.session.rows
    known = rows is not None and isinstance(person, int) and 0 <= person < len(rows)
    return person if known else None


def _draw_of(point: dict[str, Any], card: "FigureCard") -> int | None:
    models = card.state.rashomon_set
    draw = point.get("id")
    if models is None or not isinstance(draw, int) or not 0 <= draw < models.n_draws:
        return None
    return draw
