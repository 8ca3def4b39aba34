"""Rows in blocks: tables that are never held whole, and sums with the same digits everywhere."""

from rashomon_explorer.rows.chunked import ChunkedRows, Step
from rashomon_explorer.rows.coercion import row_blocks
from rashomon_explorer.rows.workers import Workers

__all__ = ["ChunkedRows", "Step", "Workers", "row_blocks"]


def __dir__() -> list[str]:
    """Names that are meant to be used."""
    return list(__all__)
