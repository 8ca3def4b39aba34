"""The figures of the dashboard, each with its table and its Python line."""

from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.cards.bounds import BoundsCard, PromiseCard
from rashomon_explorer.explorer.cards.budget import BudgetCard, PlanCard
from rashomon_explorer.explorer.cards.cloud import CloudCard
from rashomon_explorer.explorer.cards.exact import ExactCard
from rashomon_explorer.explorer.cards.losses import LossesCard
from rashomon_explorer.explorer.cards.people import PeopleCard
from rashomon_explorer.explorer.cards.spread import SpreadCard

CARDS: tuple[type[FigureCard], ...] = (
    LossesCard,
    CloudCard,
    SpreadCard,
    PeopleCard,
    BoundsCard,
    PromiseCard,
    PlanCard,
    BudgetCard,
)
"""Every figure of the page."""

__all__ = [
    "CARDS",
    "BoundsCard",
    "BudgetCard",
    "CloudCard",
    "ExactCard",
    "FigureCard",
    "LossesCard",
    "PeopleCard",
    "PlanCard",
    "PromiseCard",
    "SpreadCard",
]
