"""The small browser widgets the dashboard adds to ipywidgets."""

from rashomon_explorer.explorer.widgets.controls import (
    ChoiceTable,
    Dial,
    Fold,
    Step,
    Tabs,
    ThemeSwitch,
)
from rashomon_explorer.explorer.widgets.files import Download, FilePicker, Made, Saver, ToPicture
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView
from rashomon_explorer.explorer.widgets.status import KernelWatch, LiveText
from rashomon_explorer.explorer.widgets.tables import ModelTable, RowTable, TableForm, table_column

__all__ = [
    "ChoiceTable",
    "Dial",
    "Download",
    "FilePicker",
    "Fold",
    "KernelWatch",
    "LiveText",
    "Made",
    "ModelTable",
    "PlotlyView",
    "RowTable",
    "Saver",
    "Step",
    "TableForm",
    "Tabs",
    "ThemeSwitch",
    "ToPicture",
    "table_column",
]
