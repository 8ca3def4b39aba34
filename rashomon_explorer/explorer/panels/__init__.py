"""The panels of the dashboard; each is usable alone in a notebook."""

from rashomon_explorer.explorer.panels.alert import AlertPanel
from rashomon_explorer.explorer.panels.bar import TopBar
from rashomon_explorer.explorer.panels.basket import BasketPanel
from rashomon_explorer.explorer.panels.budget import BudgetGauge
from rashomon_explorer.explorer.panels.chip import SelectionChip
from rashomon_explorer.explorer.panels.data import DataPanel
from rashomon_explorer.explorer.panels.draw import DrawPanel
from rashomon_explorer.explorer.panels.ledger import LedgerPanel
from rashomon_explorer.explorer.panels.model import ModelPanel
from rashomon_explorer.explorer.panels.models import ModelsPanel
from rashomon_explorer.explorer.panels.numbers import NumbersPanel
from rashomon_explorer.explorer.panels.people_headline import PeopleHeadline
from rashomon_explorer.explorer.panels.people_table import PeopleTable
from rashomon_explorer.explorer.panels.plan import PlanPanel
from rashomon_explorer.explorer.panels.rail import Rail
from rashomon_explorer.explorer.panels.selection import SelectionPanel
from rashomon_explorer.explorer.panels.single import GoalPanel, OneModelPanel
from rashomon_explorer.explorer.panels.take import TakePanel
from rashomon_explorer.explorer.panels.tuning import TuningPanel

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
