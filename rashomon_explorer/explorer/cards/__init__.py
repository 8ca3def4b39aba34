"""Figures of the page: their arguments, their controls, and their cards."""

from collections.abc import Mapping

from rashomon_explorer.explorer.cards import guarantees, inputs, people, trees
from rashomon_explorer.explorer.cards.base import FigureCard, Inputs
from rashomon_explorer.explorer.cards.controls import CONTROLS, PREPARE
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots.registry import FigureSpec

INPUTS: Mapping[str, Inputs] = {
    "losses": inputs.losses,
    "chains": inputs.chains,
    "coefficients": inputs.cloud,
    "importance": inputs.importances,
    "importance_cloud": inputs.importance_cloud,
    "importance_distribution": inputs.distribution,
    "profile": inputs.feature_profile,
    "class_reliance": inputs.class_reliance,
    "exact_ranges": inputs.exact_ranges,
    "ranges": inputs.ranges,
    "exact": inputs.exact,
    "columns": inputs.columns,
    "sets": inputs.sets,
    "pair": inputs.pair,
    "budget": inputs.budget,
    "tradeoff": inputs.tradeoff,
    "aggregates": inputs.aggregates,
    "penalties": inputs.penalties,
    "bounds": guarantees.bounds,
    "promise": guarantees.bounds,
    "plan": guarantees.plan,
    "people": people.people,
    "people_ranges": people.people_ranges,
    "person": people.person,
    "gaps": people.gaps,
    "frontier": people.frontier,
    "burden": people.burden,
    "decomposition": people.decomposition,
    "trees": trees.drawn_trees,
    "tree_use": trees.drawn_trees,
    "rules": trees.rules,
    "tree_parity": trees.parity,
    "witness": trees.example,
    "tree_sizes": trees.exact_answer("sizes", "sizes()", lambda answers: answers.sizes()),
    "tree_flips": trees.exact_answer(
        "flips", 'flips()["psi"]', lambda answers: answers.flips()["psi"]
    ),
    "tree_questions": trees.exact_answer("table", "features()", lambda answers: answers.features()),
}
"""Inputs of figures by name; the other figures take what every figure gets."""


def figure_card(session: Session, spec: FigureSpec) -> FigureCard:
    """Return the card of a figure."""
    name = spec.name
    card = FigureCard(session, spec, INPUTS.get(name), CONTROLS.get(name, {}), PREPARE.get(name))
    if name == "plan":
        guarantees.follow_handle(card)
    return card


__all__ = ["FigureCard", "figure_card"]
