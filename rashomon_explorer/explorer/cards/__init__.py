"""Figures of the page: their arguments, their controls, and their cards."""

from collections.abc import Mapping
from typing import Any

import ipywidgets

from rashomon_explorer.explorer.cards import inputs, people
from rashomon_explorer.explorer.cards.base import Control, FigureCard, Inputs, Prepare, picker
from rashomon_explorer.explorer.panels.card import styled
from rashomon_explorer.explorer.panels.models import inside_only
from rashomon_explorer.explorer.panels.people import PersonForm
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.plots.registry import FigureSpec

INPUTS: Mapping[str, Inputs] = {
    "losses": inputs.losses,
    "chains": inputs.chains,
    "path_width": inputs.path_width,
    "map": inputs.model_map,
    "dots": inputs.dots,
    "importance": inputs.importances,
    "importance_cloud": inputs.importance_cloud,
    "importance_distribution": inputs.distribution,
    "profile": inputs.feature_profile,
    "shapes": inputs.shapes,
    "class_reliance": inputs.class_reliance,
    "ranges": inputs.ranges,
    "columns": inputs.columns,
    "sets": inputs.sets,
    "pair": inputs.pair,
    "budget": inputs.budget,
    "tradeoff": inputs.tradeoff,
    "aggregates": inputs.aggregates,
    "bounds": inputs.bounds,
    "price": inputs.price,
    "promise": inputs.bounds,
    "plan": inputs.plan,
    "people": people.people,
    "people_ranges": people.people_ranges,
    "person": people.person,
    "gaps": people.gaps,
    "frontier": people.frontier,
    "burden": people.burden,
    "decomposition": people.decomposition,
    "trees": people.drawn_trees,
    "tree_use": people.drawn_trees,
    "rules": people.rules,
    "tree_parity": people.parity,
    "witness": people.example,
    "tree_list": people.tree_list,
    "tree_sizes": people.exact_answer("sizes", "sizes()", lambda answers: answers.sizes()),
    "tree_questions": people.exact_answer("table", "features()", lambda trees: trees.features()),
}
"""Inputs of figures by name; the other figures take what every figure gets."""


def _redrawing(kind: Any, css: str = "", **traits: Any) -> Control:
    def make(card: FigureCard, label: str) -> ipywidgets.Widget:
        widget = styled(kind(description=label, **traits), *([css] if css else []))
        widget.observe(lambda _: card.changed(), "value")
        return widget

    return make


CONTROLS: Mapping[str, Mapping[str, Control]] = {
    "map": {
        "across": picker(inputs.MAIN),
        "up": picker(inputs.MAIN),
        "inside": lambda card, label: inside_only(card.state),
    },
    "importance": {"show": picker(*inputs.IMPORTANCE)},
    "importance_cloud": {"across": picker(), "up": picker(), "by": picker(*inputs.MEASURES)},
    "profile": {"feature": picker()},
    "shapes": {"feature": picker()},
    "columns": {"column": picker()},
    "sets": {"compare with": picker()},
    "people": {"by": picker()},
    "person": {"features": lambda card, label: PersonForm(card.session)},
    "frontier": {"gap": picker()},
    "burden": {"of": picker()},
    "rules": {
        "search": _redrawing(ui.Text, placeholder="a question", continuous_update=False),
        "starred only": _redrawing(ui.Checkbox, "rx-tick", indent=False),
    },
    "tree_parity": {"rate of": picker()},
    "witness": {"the best that": picker(*people.PROPERTIES), "question": picker()},
    "tree_list": {
        "leaves": picker(),
        "trees that": picker("ask anything", *people.PROPERTIES[:2]),
        "question": picker(),
    },
}
"""Controls of each figure by their labels."""

PREPARE: Mapping[str, Prepare] = {
    "importance": inputs.coefficients_instead,
    "sets": inputs.offer_sets,
}
"""Functions that update controls before each call."""


def figure_card(session: Session, spec: FigureSpec) -> FigureCard:
    name = spec.name
    card = FigureCard(session, spec, INPUTS.get(name), CONTROLS.get(name, {}), PREPARE.get(name))
    if name == "plan":
        inputs.follow_handle(card)
    if name == "price":
        inputs.follow_price(card)
    return card


__all__ = ["FigureCard", "figure_card"]
