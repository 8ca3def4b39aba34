"""A view of the page, made of panels and figures, of which it shows those in sight."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Protocol

import ipywidgets

from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.views.catalogue import ViewPlan


class Part(Protocol):
    """A panel or a figure."""

    @property
    def widget(self) -> ipywidgets.Widget:
        """What stands on the page."""


class Slot:
    """A place for one figure of several, chosen by name.

    Parameters
    ----------
    parts : sequence of FigureCard or panel
        What takes turns; one alone needs no list to choose from.

    Attributes
    ----------
    choice : ipywidgets.Dropdown
        Titles of what takes turns.
    widget : ipywidgets.Widget
        The place.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        titles = [(_called(part), place) for place, part in enumerate(parts)]
        self.choice = ipywidgets.Dropdown(description="Figure shown here", options=titles, value=0)
        self.choice.add_class("rx-slot-choice")
        self._seen = False
        self.choice.observe(lambda _: self.show(seen=self._seen), "value")
        pickers = [self.choice] if len(self.parts) > 1 else []
        self.widget = ipywidgets.Box([*pickers, *(part.widget for part in self.parts)])
        self.widget.add_class("rx-slot")
        self.show(seen=False)

    def show(self, *, seen: bool) -> None:
        """Show the chosen part alone; tell the figures whether anyone sees them."""
        self._seen = seen
        for place, part in enumerate(self.parts):
            chosen = place == self.choice.value
            if len(self.parts) > 1:
                part.widget.layout.display = None if chosen else "none"
            if isinstance(part, FigureCard):
                part.shown = seen and chosen
                if part.shown:
                    part.appeared()


def _called(part: Part) -> str:
    return getattr(part, "short", "") or getattr(part, "title", "")


class View:
    """One question, its figures and its controls.

    Parameters
    ----------
    plan : ViewPlan
        What stands where.
    parts : mapping of str to FigureCard or panel
        The panels and figures by name.

    Attributes
    ----------
    slots : tuple of Slot
        Its places.
    names : tuple of tuple of str
        What stands in each.
    widget : ipywidgets.Widget
        The view.
    """

    def __init__(self, plan: ViewPlan, parts: Mapping[str, Part]) -> None:
        self.plan = plan
        held = [tuple(name for name in names if name in parts) for names in plan.slots]
        self.names = tuple(names for names in held if names)
        self.slots = tuple(Slot([parts[name] for name in names]) for names in self.names)
        heading = ipywidgets.HTML(f"<h2>{escape(plan.question)}</h2>")
        heading.add_class("rx-question")
        grid = ipywidgets.Box([slot.widget for slot in self.slots])
        grid.add_class("rx-grid")
        strips = [parts[name].widget for name in plan.strips]
        self.widget = ipywidgets.VBox([heading, *strips, grid])
        self.widget.add_class("rx-view")
        self.widget.add_class(f"rx-view-{plan.name}")

    def show(self, *, seen: bool) -> None:
        """Let its figures be drawn, or leave them as they are until the view is seen again."""
        for slot in self.slots:
            slot.show(seen=seen)

    def bring(self, name: str) -> bool:
        """Put a figure or panel into sight within its slot; False if it is not here."""
        for slot, names in zip(self.slots, self.names, strict=True):
            if name in names:
                slot.choice.value = names.index(name)
                return True
        return name in self.plan.strips
