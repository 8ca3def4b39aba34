"""The table on the page: its rows as they came, and the one schema that is edited."""

from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.explorer.table.files import read_table
from rashomon_explorer.explorer.table.remarks import confirmations, remarks

__all__ = ["TableEditor", "confirmations", "read_table", "remarks"]
