"""A ledger as text for others: nothing in it is decided by rows."""

import json
import math
import sqlite3

from rashomon_explorer.privacy.ledger.budget import delta_of
from rashomon_explorer.privacy.ledger.rows import read_entries
from rashomon_explorer.privacy.ledger.schema import SCHEMA_VERSION, read_budget, read_totals


def as_text(connection: sqlite3.Connection) -> str:
    """Write budget, what is spent and left, and every entry as JSON, in one transaction."""
    budget, totals = read_budget(connection), read_totals(connection)
    spent = totals.epsilon(delta_of(budget))
    left = math.inf if budget is None else max(0.0, budget[0] - spent)
    plain = {
        "format": "rashomon-explorer ledger",
        "version": SCHEMA_VERSION,
        "budget": None if budget is None else {"epsilon": budget[0], "delta": budget[1]},
        "order": totals.order,
        "spent": "inf" if spent == math.inf else spent,
        "remaining": "inf" if left == math.inf else left,
        "entries": [entry.to_dict() for entry in read_entries(connection)],
    }
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=2)
