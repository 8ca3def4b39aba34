"""Controls of figures, and what updates them: tables by the figure's name."""

from collections.abc import Mapping

import ipywidgets

from rashomon_explorer.explorer.cards import inputs, trees
from rashomon_explorer.explorer.cards.base import Control, FigureCard, Prepare, picker
from rashomon_explorer.explorer.panels.models import ThresholdControl, inside_only
from rashomon_explorer.explorer.panels.people import PersonForm
from rashomon_explorer.explorer.widgets import basic


def _text(card: FigureCard, label: str) -> ipywidgets.Text:
    box = basic.Text(description=label, placeholder="a question", continuous_update=False)
    box.observe(lambda _: card.changed(), "value")
    return box


def _checkbox(card: FigureCard, label: str) -> ipywidgets.Checkbox:
    box = basic.Checkbox(description=label, indent=False)
    box.add_class("rx-tick")
    box.observe(lambda _: card.changed(), "value")
    return box


def _toggle(card: FigureCard, label: str) -> ipywidgets.ToggleButton:
    button = basic.ToggleButton(description=label, value=False)
    button.add_class("rx-quiet")
    button.observe(lambda _: card.changed(), "value")
    return button


CONTROLS: Mapping[str, Mapping[str, Control]] = {
    "losses": {"threshold": lambda card, label: ThresholdControl(card.state)},
    "coefficients": {
        "across": picker(),
        "up": picker(),
        "inside": lambda card, label: inside_only(card.state),
    },
    "importance": {"show": picker(*inputs.IMPORTANCE)},
    "importance_cloud": {"across": picker(), "up": picker(), "by": picker(*inputs.MEASURES)},
    "profile": {"feature": picker()},
    "class_reliance": {inputs.ALL_FEATURES: _toggle},
    "columns": {"column": picker()},
    "sets": {"compare with": picker()},
    "people": {"by": picker()},
    "person": {"features": lambda card, label: PersonForm(card.session)},
    "frontier": {"gap": picker()},
    "burden": {"of": picker()},
    "rules": {"search": _text, "starred only": _checkbox},
    "tree_parity": {"rate of": picker()},
    "witness": {"the best that": picker(*trees.PROPERTIES), "question": picker()},
}
"""Controls of each figure by their labels."""

PREPARE: Mapping[str, Prepare] = {
    "coefficients": inputs.clear_axes,
    "importance": inputs.coefficients_instead,
    "sets": inputs.offer_sets,
}
"""Functions that update controls before each call."""
