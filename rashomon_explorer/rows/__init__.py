"""Chunked rows: tables that are never in memory whole, and sums with reproducible digits."""

from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.coercion import chunk_rows
from rashomon_explorer.rows.reduction import Step
from rashomon_explorer.rows.workers import Workers

__all__ = ["ChunkedRows", "Step", "Workers", "chunk_rows"]


def __dir__() -> list[str]:
    """Public names of the module."""
    return list(__all__)
