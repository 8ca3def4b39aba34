"""The panels of the dashboard; each is usable alone in a notebook."""

from rashomon_explorer.explorer.panels.basket import BasketPanel
from rashomon_explorer.explorer.panels.budget import BudgetGauge, LedgerPanel, TopBar
from rashomon_explorer.explorer.panels.card import AlertPanel, SelectionChip
from rashomon_explorer.explorer.panels.data import DataPanel
from rashomon_explorer.explorer.panels.draw import (
    DrawPanel,
    GoalPanel,
    OneModelPanel,
    TuningPanel,
)
from rashomon_explorer.explorer.panels.export import TakePanel
from rashomon_explorer.explorer.panels.models import ModelsPanel, SelectionPanel
from rashomon_explorer.explorer.panels.numbers import NumbersPanel
from rashomon_explorer.explorer.panels.people import PeopleHeadline, PeopleTable
from rashomon_explorer.explorer.panels.plan import PlanPanel
from rashomon_explorer.explorer.panels.settings import ModelPanel
from rashomon_explorer.explorer.panels.sidebar import Rail

__all__ = [
    "AlertPanel",
    "BasketPanel",
    "BudgetGauge",
    "DataPanel",
    "DrawPanel",
    "GoalPanel",
    "LedgerPanel",
    "ModelPanel",
    "ModelsPanel",
    "NumbersPanel",
    "OneModelPanel",
    "PeopleHeadline",
    "PeopleTable",
    "PlanPanel",
    "Rail",
    "SelectionChip",
    "SelectionPanel",
    "TakePanel",
    "TopBar",
    "TuningPanel",
]
