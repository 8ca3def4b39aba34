"""The five small browser widgets the dashboard adds to ipywidgets."""

from rashomon_explorer.explorer.widgets.dial import Dial
from rashomon_explorer.explorer.widgets.file_picker import FilePicker
from rashomon_explorer.explorer.widgets.kernel_watch import KernelWatch
from rashomon_explorer.explorer.widgets.live import LiveText
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView
from rashomon_explorer.explorer.widgets.saver import Saver
from rashomon_explorer.explorer.widgets.table_form import TableForm

__all__ = ["Dial", "FilePicker", "KernelWatch", "LiveText", "PlotlyView", "Saver", "TableForm"]
