"""Sections on budget, guarantee, plan and released aggregates."""

import math
from typing import Any

import pandas as pd

from rashomon_explorer._utils.formatting import epsilon_text, rounded_up
from rashomon_explorer.mechanisms.planner import explain
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.networks.path import NetworkPlan
from rashomon_explorer.plots.budget import plot_tradeoff, tradeoff_table
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.text import number, sentence
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon
from rashomon_explorer.privacy.composition import ledger_order
from rashomon_explorer.release import ReleasedAggregates, ReleasedThreshold
from rashomon_explorer.report.blocks import Block, Facts, Items, Plot, Table, Words, figure
from rashomon_explorer.report.kinds import model_kind
from rashomon_explorer.report.material import AnyRelease, AnySet, Curator, Release
from rashomon_explorer.report.sections.document import Skip

_DELTAS = (0.0, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4)
SEEDED = (
    "The noise came from a known seed: this run is reproducible, not private. Anyone who knows "
    "or guesses the seed can remove the noise; the guarantee below does not hold against them."
)


def privacy_curator(material: Curator) -> list[Block]:
    return _guarantee(material.models, _planned_delta(material.models))


def privacy_release(material: Release) -> list[Block]:
    delta = _planned_delta(material.models)
    blocks = _guarantee(material.models, delta)
    if material.aggregates:
        every = [material.models.guarantee, *(value.guarantee for value in material.aggregates)]
        total = adaptive_epsilon(every, delta, order=ledger_order(every))
        text = (
            f"Draws and aggregates together: ε = {rounded_up(total)} at δ = {number(delta)}, even "
            "if the aggregates were chosen after the draws."
        )
        if math.isinf(total):
            text = (
                "No finite ε is proved for draws and aggregates together at δ = "
                f"{number(delta)}: the draws use all of δ. Each guarantee holds separately, as "
                "stated."
            )
        blocks.insert(1, Words(text, "warning" if math.isinf(total) else ""))
    return blocks


def _guarantee(models: AnySet | AnyRelease, delta: float) -> list[Block]:
    guarantee = models.guarantee
    blocks: list[Block] = [Words(sentence(" ".join(str(guarantee).split())))]
    if guarantee.seeded:
        blocks.append(Words(SEEDED, "warning"))
    if not guarantee.holds:
        return [Words("These models have no privacy guarantee.", "warning"), *blocks]
    table, spec = tradeoff_table(guarantee), FIGURES["tradeoff"]
    deltas = sorted({*_DELTAS, delta})
    index = pd.Index([f"{value:g}" for value in deltas], name="δ")
    costs = pd.DataFrame({"ε": [epsilon_text(guarantee.epsilon(d)) for d in deltas]}, index=index)
    return [
        *blocks,
        Table(costs, "Least proved ε of the draws at each δ", "ε is rounded up."),
        Plot(plot_tradeoff(table), f"{spec.label}.", Table(table, spec.title)),
        Items(
            {f"Assumption {number}": text for number, text in enumerate(guarantee.assumptions, 1)}
        ),
        Words(model_kind(models).arithmetic, "note"),
    ]


def _planned_delta(models: AnySet | AnyRelease) -> float:
    planned = getattr(models, "plan", None)
    if planned is not None:
        return float(planned.delta)
    return float(models.guarantee.requested[1]) if models.guarantee.requested else 0.0


def plan_section(material: Any) -> list[Block]:
    planned = _planned(material)
    if isinstance(planned, NetworkPlan):
        blocks: list[Block] = [Facts([(name, value, "") for name, value in planned._facts()])]
    else:
        blocks = [Words(line) for line in explain(planned).splitlines()]
    models = material.models
    stated = isinstance(planned, Plan) and models.as_drawn and models.guarantee.holds
    doubt = planned.weakness if stated else ""
    if doubt:
        blocks.insert(0, Words(f"Weak guarantee: {doubt}.", "warning"))
    if not material.models.guarantee.holds:
        blocks.append(Words(_NOT_THESE, "warning"))
    if not material.models.as_drawn:
        blocks.append(Words(_CHOSEN, "warning"))
    return [*blocks, *model_kind(material.models).guarantees(material, material.models)]


def _planned(material: Any) -> Plan | NetworkPlan:
    planned = getattr(material.models, "plan", None)
    if isinstance(planned, NetworkPlan):
        return planned
    if not isinstance(planned, Plan) or math.isnan(planned.beta):
        raise Skip(
            "these models were not drawn by an estimator: they have no plan and no guarantee"
        )
    return planned


_NOT_THESE = (
    "This plan is for exact, private draws. The models of this report have no privacy guarantee, "
    "at any ε."
)
_CHOSEN = (
    "This plan is for all draws. Some were selected since: the guarantees on the share within "
    "ψ and on mean losses do not hold for the selection."
)


def aggregates_release(material: Release) -> list[Block]:
    if not material.aggregates:
        raise Skip("none was given: report(path, aggregates=[release.release(…)])")
    return [block for value in material.aggregates for block in _one(value, material)]


def _one(value: ReleasedAggregates, material: Release) -> list[Block]:
    blocks: list[Block] = [Words(f"{value.guarantee}.")]
    if value.guarantee.seeded:
        blocks.append(Words(SEEDED, "warning"))
    if _numbers(value.models) != _numbers(material.models.guarantee):
        blocks.append(Words(_OTHER_DRAWS, "warning"))
    noted = [
        statistic
        for answer in value.answers
        for statistic in answer.statistics
        if answer.of_every_model or isinstance(statistic, ReleasedThreshold)
    ]
    return [
        *blocks,
        figure(material, "aggregates", _INTERVALS, released=value),
        *([Items({statistic.name: statistic.note for statistic in noted})] if noted else []),
        Items({answer.query: f"{answer.definition}; {answer.noise}" for answer in value.answers}),
    ]


def _numbers(guarantee: Guarantee) -> tuple[float, ...]:
    every = guarantee.pure_epsilon, guarantee.rho, guarantee.mu, guarantee.approximate_epsilon
    return tuple(round(x, 12) if math.isfinite(x) else x for x in every)


_INTERVALS = (
    "Intervals hold the value for these rows, and coefficients' that for the population; "
    "rows_error bounds the additional error from sampling the rows from a population."
)
_OTHER_DRAWS = (
    "These aggregates were computed for draws with another guarantee than the draws of this "
    "report: add the cost of those draws to the total above."
)
