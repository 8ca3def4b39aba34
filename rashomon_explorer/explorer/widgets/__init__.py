"""The small browser widgets the dashboard adds to ipywidgets."""

from rashomon_explorer.explorer.widgets.choice_table import ChoiceTable
from rashomon_explorer.explorer.widgets.dial import Dial
from rashomon_explorer.explorer.widgets.download import Download, Made, ToPicture
from rashomon_explorer.explorer.widgets.file_picker import FilePicker
from rashomon_explorer.explorer.widgets.fold import Fold
from rashomon_explorer.explorer.widgets.kernel_watch import KernelWatch
from rashomon_explorer.explorer.widgets.live import LiveText
from rashomon_explorer.explorer.widgets.model_table import ModelTable, table_column
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView
from rashomon_explorer.explorer.widgets.row_table import RowTable
from rashomon_explorer.explorer.widgets.saver import Saver
from rashomon_explorer.explorer.widgets.step import Step
from rashomon_explorer.explorer.widgets.table_form import TableForm
from rashomon_explorer.explorer.widgets.tabs import Tabs
from rashomon_explorer.explorer.widgets.theme_switch import ThemeSwitch

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
