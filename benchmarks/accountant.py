"""What a privacy ledger of many charges answers in the time of a slider's move."""

import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.timing import median_seconds
from rashomon_explorer.privacy import (
    Ledger,
    adaptive_epsilon,
    bounded_range,
    repeated_bounded_range,
)
from rashomon_explorer.privacy.ledger.file import write_totals
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.privacy.tradeoff import Composition, Gaussian, Subsampled

ENTRIES = (100, 10_000)
LIMIT = 0.05  # seconds in which what is shown while a slider moves has to be there
DELTA = 1e-6


def measure(seconds: float) -> dict[str, Any]:
    """Time queries of a ledger at each number of charges, and of plans fixed in advance."""
    with tempfile.TemporaryDirectory() as folder:
        queries = [
            entry
            for n in ENTRIES
            for entry in _measure_ledger(filled(Path(folder) / f"{n}.ledger", n), n, seconds)
        ]
    return {
        "limit_seconds": LIMIT,
        "queries": queries,
        "plans": _measure_plans(seconds),
        "growth": _growth(queries),
    }


def filled(path: Path, n: int) -> Ledger:
    """Return a ledger of ``n`` charges, written at once instead of one by one."""
    ledger = Ledger.create(path, epsilon=1e6, delta=DELTA)
    one = bounded_range(0.01)
    ledger.reserve(one).commit()
    order = ledger.order
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    (columns,) = connection.execute(
        "SELECT group_concat(name) FROM pragma_table_info('charges') WHERE name <> 'id'"
    ).fetchone()
    connection.execute(
        f"WITH RECURSIVE k(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM k WHERE i < {n}) "
        f"INSERT INTO charges ({columns}) SELECT {columns} FROM charges, k WHERE id = 1"
    )
    connection.execute(
        "INSERT INTO divergences SELECT id, value, steady FROM charges, divergences "
        "WHERE charge = 1 AND id > 1"
    )
    write_totals(connection, Totals.from_charges([one] * n, order))
    connection.execute("COMMIT")
    connection.close()
    ledger.check()
    return ledger


def _measure_ledger(ledger: Ledger, n: int, seconds: float) -> list[dict[str, Any]]:
    one = bounded_range(0.01)
    guarantees = [entry.guarantee for entry in ledger.entries()]
    again = median_seconds(lambda: adaptive_epsilon(guarantees, DELTA), seconds / 10)
    work: dict[str, Callable[[], object]] = {
        "spent": ledger.spent,
        "epsilon_after": lambda: ledger.epsilon_after(one),
        "can_afford": lambda: ledger.can_afford(one),
        "reserve_and_commit": lambda: ledger.reserve(one).commit(),
    }
    return [_entry(name, n, query, again, seconds / 10) for name, query in work.items()]


def _entry(
    name: str, n: int, query: Callable[[], object], again: float, seconds: float
) -> dict[str, Any]:
    took = median_seconds(query, seconds, least=5)
    return {
        "query": name,
        "charges": n,
        "milliseconds": round(1e3 * took, 3),
        "fraction_of_limit": round(took / LIMIT, 4),
        "fraction_of_recomposing": round(took / again, 4),
    }


def _measure_plans(seconds: float) -> list[dict[str, Any]]:
    """Time what is asked about draws that are all planned beforehand; no ledger is involved."""
    work: dict[str, Callable[[], object]] = {
        "subsampled Gaussian, 1,000 steps, grid 1e-3": lambda: Composition(
            ((Subsampled(Gaussian(1.0), 0.01), 1000),), grid=1e-3
        ).epsilon(DELTA),
        "bounded range, 1,000 draws": lambda: repeated_bounded_range(0.05, 1000).epsilon(DELTA),
    }
    return [_plan(name, median_seconds(query, seconds / 5)) for name, query in work.items()]


def _plan(name: str, took: float) -> dict[str, Any]:
    return {
        "plan": name,
        "milliseconds": round(1e3 * took, 3),
        "fraction_of_limit": round(took / LIMIT, 4),
    }


def _growth(queries: list[dict[str, Any]]) -> float:
    """Time of ``spent`` at the most charges over that at the fewest; 1 is no growth."""
    times = {entry["charges"]: entry["milliseconds"] for entry in queries if _is_spent(entry)}
    return round(float(times[max(times)] / times[min(times)]), 3)


def _is_spent(entry: dict[str, Any]) -> bool:
    return bool(entry["query"] == "spent")
