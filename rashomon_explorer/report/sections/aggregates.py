"""Aggregates of the rows that were made private and paid for."""

from rashomon_explorer.report.blocks import Block, Table, Words
from rashomon_explorer.report.material import Release
from rashomon_explorer.report.sections.base import Skip


def release(given: Release) -> list[Block]:
    """List every released aggregate with its own guarantee."""
    if not given.aggregates:
        raise Skip("no released aggregate was handed in: report(path, aggregates=[…])")
    blocks: list[Block] = []
    for place, value in enumerate(given.aggregates, 1):
        name = getattr(value, "name", "") or f"Aggregate {place}"
        blocks.append(Table(value.table(), str(name), str(value.guarantee)))
    return [Words("Numbers with noise; their errors include it."), *blocks]
