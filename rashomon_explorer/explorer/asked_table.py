"""The table that the command was asked to open."""

import json
import os

from sklearn.utils import Bunch

from rashomon_explorer.blocks import row_blocks
from rashomon_explorer.explorer.table.in_blocks import data_in_blocks

TABLE_VARIABLE = "RASHOMON_EXPLORER_TABLE"
"""Environment variable with ``path``, ``target`` and ``schema`` of a table in blocks, as JSON."""


def asked_table() -> Bunch | None:
    """Return the data set of ``rashomon-explorer --data``; None where there is none.

    Raises
    ------
    DataError
        If it cannot be opened any more.
    """
    told = os.environ.get(TABLE_VARIABLE)
    if not told:
        return None
    asked = json.loads(told)
    return data_in_blocks(row_blocks(asked["path"], target=asked["target"]), asked["schema"])
