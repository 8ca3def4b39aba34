"""What the draws cost, what that means, and under which assumptions it holds."""

import math
from collections.abc import Sequence
from itertools import accumulate

import pandas as pd

from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.tradeoff import plot_tradeoff, tradeoff_table
from rashomon_explorer.privacy import (
    Guarantee,
    Ledger,
    LedgerEntry,
    adaptive_epsilon,
    running_epsilon,
)
from rashomon_explorer.privacy.adaptive import settled
from rashomon_explorer.report.blocks import Block, Facts, Items, Plot, Table, Words
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.material import AnySet, Curator, Paid, Release
from rashomon_explorer.rounding import epsilon_text, rounded_up

Budget = tuple[float, float]
_DELTAS = (0.0, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4)
SEEDED = (
    "The noise came from a known seed: this run is reproducible, not private. Whoever learns or "
    "guesses the seed can take the noise off again; nothing below holds against them."
)


def curator(given: Curator) -> list[Block]:
    """State the guarantee of the draws, or that there is none."""
    blocks = _guarantee(given.models, _planned_delta(given.models))
    return blocks if given.ledger is None else [*blocks, _charges(given.ledger)]


def release(given: Release) -> list[Block]:
    """State the guarantee of everything in the release."""
    delta = _planned_delta(given.models)
    blocks = _guarantee(given.models, delta)
    if given.aggregates:
        every = [given.models.guarantee, *(value.guarantee for value in given.aggregates)]
        blocks.insert(1, _together(adaptive_epsilon(every, delta, order=settled(every)), delta))
    return blocks if given.ledger is None else [*blocks, _public_charges(given.ledger)]


def _together(total: float, delta: float) -> Words:
    if math.isinf(total):
        return Words(
            f"Of draws and aggregates together no finite ε is proved at δ = {number(delta)}: the "
            "draws leave none of it. Each holds by itself, as stated with it.",
            "warning",
        )
    return Words(
        f"Draws and aggregates together: ε = {rounded_up(total)} at δ = {number(delta)}, however "
        "the aggregates were chosen after the draws."
    )


def _guarantee(models: AnySet | Paid, delta: float) -> list[Block]:
    guarantee = models.guarantee
    blocks: list[Block] = [Words(str(guarantee)[:1].upper() + str(guarantee)[1:] + ".")]
    if guarantee.seeded:
        blocks.append(Words(SEEDED, "warning"))
    if not guarantee.holds:
        return [Words("Nothing is guaranteed of these models.", "warning"), *blocks]
    table = tradeoff_table(guarantee)
    made = kind_of(models).mechanism(models)
    return [
        *blocks,
        *([Facts(made)] if made else []),
        Table(
            _prices(guarantee, delta), "Least proved ε of the draws at each δ", "ε is rounded up."
        ),
        Plot(
            plot_tradeoff(table),
            "Least share of misses of any test that tells from the draws two neighbouring data "
            "sets apart, against its share of false alarms.",
            Table(table, "Trade-off between false alarms and misses"),
        ),
        Items({f"Assumption {place}": text for place, text in enumerate(guarantee.assumptions, 1)}),
        Words(kind_of(models).arithmetic, "note"),
    ]


def _prices(guarantee: Guarantee, delta: float) -> pd.DataFrame:
    deltas = sorted({*_DELTAS, delta})
    index = pd.Index([f"{value:g}" for value in deltas], name="δ")
    prices = [epsilon_text(guarantee.epsilon(value)) for value in deltas]
    return pd.DataFrame({"ε": prices}, index=index)


def _planned_delta(models: AnySet | Paid) -> float:
    planned = getattr(models, "plan", None)
    if planned is not None:
        return float(planned.delta)
    return float(models.guarantee.asked[1]) if models.guarantee.asked else 0.0


def _charges(ledger: Ledger) -> Table:
    entries, budget = ledger.entries(), ledger.budget
    frame = pd.DataFrame(
        {
            "when": [entry.when for entry in entries],
            "who": [entry.who for entry in entries],
            "what": [entry.note for entry in entries],
            "state": [entry.state for entry in entries],
            "ε in total": _totals(entries, budget, ledger.order),
        },
        index=pd.Index([entry.id for entry in entries], name="charge"),
    )
    return Table(frame, "Ledger: every charge against the data", _budget(budget))


def _public_charges(ledger: Ledger) -> Table:
    """Those that count, without names, times and remarks, which people write and nobody paid for.

    What a charge cost was settled before it read a row.
    """
    budget = ledger.budget
    entries = [entry for entry in ledger.entries() if entry.counts]
    frame = pd.DataFrame(
        {
            "notion": [entry.mechanism for entry in entries],
            "ε in total": _totals(entries, budget, ledger.order),
        },
        index=pd.Index([entry.id for entry in entries], name="charge"),
    )
    return Table(frame, "Ledger: what was spent on the data", _budget(budget))


def _totals(
    entries: Sequence[LedgerEntry], budget: Budget | None, order: float | None
) -> list[str]:
    """Total after each charge; one that was voided adds nothing."""
    delta = 0.0 if budget is None else budget[1]
    kept = [entry for entry in entries if entry.counts]
    running = running_epsilon(
        [entry.guarantee for entry in kept],
        delta,
        order=order,
        told=[entry.divergence for entry in kept],
    )
    counted = accumulate(int(entry.counts) for entry in entries)
    return [rounded_up(running[count]) for count in counted]


def _budget(budget: Budget | None) -> str:
    if budget is None:
        return "The ledger has no budget; totals are at δ = 0."
    epsilon, delta = budget
    return f"Budget: ε = {rounded_up(epsilon)} at δ = {number(delta)}; totals are rounded up."
