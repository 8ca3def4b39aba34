"""Figures of the page; a figure with controls of its own has a class."""

from collections.abc import Mapping

from rashomon_explorer.explorer.cards import controls
from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.cards.inputs import INPUTS
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots.registry import FigureSpec

CONTROLS: Mapping[str, type[FigureCard]] = {
    "losses": controls.LossesCard,
    "coefficients": controls.CloudCard,
    "importance": controls.ImportanceCard,
    "people": controls.PeopleCard,
    "bounds": controls.BoundsCard,
    "promise": controls.BoundsCard,
    "plan": controls.PlanCard,
    "class_reliance": controls.ClassRelianceCard,
    "importance_cloud": controls.ImportancePairCard,
    "profile": controls.ProfileCard,
    "frontier": controls.FrontierCard,
    "burden": controls.BurdenCard,
    "columns": controls.ColumnsCard,
    "sets": controls.SetsCard,
    "rules": controls.RulesCard,
    "tree_parity": controls.TreeParityCard,
    "witness": controls.ExampleTreeCard,
}


def figure_card(session: Session, spec: FigureSpec) -> FigureCard:
    """Return the card of a figure."""
    return CONTROLS.get(spec.name, FigureCard)(session, spec, INPUTS.get(spec.name))


__all__ = ["FigureCard", "figure_card"]
