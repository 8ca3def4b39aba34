"""The six views of the page: which panels and figures answer which question."""

from rashomon_explorer.explorer.views.catalogue import VIEWS, ViewPlan
from rashomon_explorer.explorer.views.view import Part, Slot, View

__all__ = ["VIEWS", "Part", "Slot", "View", "ViewPlan"]
