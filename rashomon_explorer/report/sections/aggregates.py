"""Aggregates of the rows that were made private and paid for."""

import math

from rashomon_explorer.plots import plot_released
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.release import Released
from rashomon_explorer.report.blocks import Block, Items, Plot, Table, Words
from rashomon_explorer.report.material import Release
from rashomon_explorer.report.sections.base import Skip
from rashomon_explorer.report.sections.privacy import SEEDED


def release(given: Release) -> list[Block]:
    """Show every released aggregate with its error bars, definition and guarantee."""
    if not given.aggregates:
        raise Skip("none was handed in: report(path, aggregates=[release.release(…)])")
    return [block for value in given.aggregates for block in _one(value, given)]


def _one(value: Released, given: Release) -> list[Block]:
    blocks: list[Block] = [Words(f"{value.guarantee}.")]
    if value.guarantee.reproducible:
        blocks.append(Words(SEEDED, "warning"))
    if _numbers(value.models) != _numbers(given.models.guarantee):
        blocks.append(Words(_OTHER_DRAWS, "warning"))
    return [
        *blocks,
        Plot(
            plot_released(value),
            "Each released number with its 95 % interval, which has the noise in it.",
            Table(value.table(), "Released numbers", _INTERVALS),
        ),
        Items({answer.query: f"{answer.definition}; {answer.noise}" for answer in value.answers}),
    ]


def _numbers(guarantee: Guarantee) -> tuple[float, ...]:
    every = guarantee.pure_epsilon, guarantee.rho, guarantee.mu, guarantee.approximate_epsilon
    return tuple(round(x, 12) if math.isfinite(x) else x for x in every)


_INTERVALS = (
    "Intervals hold the value for these rows; rows_error bounds what other rows drawn from the "
    "same population would add."
)
_OTHER_DRAWS = (
    "These aggregates were made of draws with another guarantee than the ones of this report: what "
    "those cost comes on top of the total above."
)
