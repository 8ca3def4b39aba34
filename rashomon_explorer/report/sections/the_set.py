"""The set: its threshold, its best model, and how many draws lie in it."""

from typing import Any

import numpy as np
from scipy.special import betaincinv

from rashomon_explorer.plots import plot_bounds, plot_losses
from rashomon_explorer.plots.tables import excess_table, losses_table
from rashomon_explorer.plots.text import number, percent, plural
from rashomon_explorer.rashomon_set import PredictorSet, RashomonSet
from rashomon_explorer.report.blocks import Block, Facts, Plot, Table, Words
from rashomon_explorer.report.kinds import Rows, kind_of
from rashomon_explorer.report.material import AnySet, Curator, Release
from rashomon_explorer.samplers import traits_of

_ALPHA = 0.05


def curator(given: Curator) -> list[Block]:
    """Show threshold, best loss and hit rate, and the losses of the draws."""
    models = given.models
    facts: Rows = [("Models", f"{models.n_draws:,}", _made_by(models))]
    facts += _losses(models)
    facts += kind_of(models).settings(given, models)
    facts += [(f"Choice {place + 1}", step, "") for place, step in enumerate(models.steps)]
    blocks: list[Block] = [Facts(facts)]
    blocks += [Words(f"{note[0].upper()}{note[1:]}.", "note") for note in models.notes]
    if isinstance(models, RashomonSet) and models.n_draws:
        blocks.append(_losses_plot(models))
        if models.as_drawn and models.plan.of_exact_draws:
            blocks.append(_bounds_plot(models))
    elif not isinstance(models, RashomonSet):
        blocks.append(Words(_of_others(models), "note"))
    return blocks


def release(given: Release) -> list[Block]:
    """List the public settings of the draws."""
    models = given.models
    facts: Rows = [
        ("Models", f"{models.n_draws:,}", _planned(models)),
        *kind_of(models).settings(given, models),
        *((f"Choice {place + 1}", step, "") for place, step in enumerate(models.steps)),
    ]
    return [Facts(facts), Words(_UNKNOWN_INSIDE, "note")]


def hit_rate_interval(hits: int, trials: int, alpha: float = _ALPHA) -> tuple[float, float]:
    """Interval of Clopper and Pearson (1934) for a share of independent draws.

    >>> [round(end, 4) for end in hit_rate_interval(0, 10)]  # 1 − 0.025^(1/10)
    [0.0, 0.3085]
    """
    low = betaincinv(hits, trials - hits + 1, alpha / 2) if hits else 0.0
    high = betaincinv(hits + 1, trials - hits, 1 - alpha / 2) if hits < trials else 1.0
    return float(low), float(high)


def _losses(models: AnySet) -> Rows:
    facts: Rows = [("Threshold ψ", number(models.psi), "in units of the loss")]
    if not np.isfinite(models.least):
        return [*facts, ("Losses", "not known", "so that nothing is said of which lie in the set")]
    gap = getattr(getattr(models, "minimum", None), "gap", None)
    known = "of any model that the source has" if gap is None else f"certified to {gap:.1g}"
    facts.append(("Least loss", number(models.least, 6), known))
    if models.n_draws:
        facts.append(("Models within ψ", percent(models.hit_rate), _interval(models)))
    return facts


def _interval(models: AnySet) -> str:
    if not traits_of(models.sampler).independent or not models.as_drawn:
        return "of these models; no interval is proved, for they are no independent sample"
    hits = round(models.hit_rate * models.n_draws)
    low, high = hit_rate_interval(hits, models.n_draws)
    ends = f"{100 * low:.1f} % to {100 * high:.1f} %"
    return f"{hits} of {models.n_draws}; 95 % interval of Clopper and Pearson: {ends}"


def _made_by(models: AnySet) -> str:
    if isinstance(models, RashomonSet):
        return f"drawn by the sampler “{models.sampler}”"
    if models.independent:
        return f"independent draws: {models.models.kind}"
    return f"made elsewhere: {models.sampler}"


def _planned(models: Any) -> str:
    found = getattr(models, "plan", None)
    return "" if found is None else f"of {plural(found.n_draws, 'planned draw')}"


def _of_others(models: PredictorSet) -> str:
    if models.complete:
        return _COMPLETE
    return _DRAWN if models.independent else _OTHERS


def _losses_plot(models: RashomonSet) -> Plot:
    inside = round(models.hit_rate * models.n_draws)
    return Plot(
        plot_losses(models),
        f"Histogram of the excess losses of {models.n_draws} draws; {inside} lie within ψ = "
        f"{number(models.psi)}.",
        Table(losses_table(models), "Losses of the draws"),
    )


def _bounds_plot(models: RashomonSet) -> Plot:
    return Plot(
        plot_bounds(models),
        "Share of the draws with at most each excess loss, beside the share that was promised "
        "before any row was read.",
        Table(excess_table(models), "Promised and found shares of draws"),
    )


_OTHERS = (
    "These models were not drawn here: nothing says that they fill the set, and models better "
    "than the best of them may exist. Extremes over them are lower bounds of the set's."
)
_DRAWN = (
    "These models are independent draws of one law on all models of the class: shares over them "
    "have intervals, and extremes over them are lower bounds of the set's."
)
_COMPLETE = (
    "These models were enumerated, all of the source's class within ψ: what is measured over them "
    "is exact of this set, on these rows."
)
_UNKNOWN_INSIDE = (
    "Which of the released draws lie in the Rashomon set is known to the curator alone: it is read "
    "off the private rows. At least the share promised below does, in expectation."
)
