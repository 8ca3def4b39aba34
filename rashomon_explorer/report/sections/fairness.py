"""Group gaps over the set: how fair a model could be at almost no loss, and how unfair."""

import pandas as pd

from rashomon_explorer.measures.fairness import FairnessAudit, fairness_audit
from rashomon_explorer.plots import plot_fairness_range
from rashomon_explorer.plots.text import number
from rashomon_explorer.report.blocks import Block, Plot, Table, Words
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.base import Skip
from rashomon_explorer.report.sections.rows import need_rows


def curator(given: Curator) -> list[Block]:
    """Range of every gap over the models inside ψ, and the fairest model by each."""
    need_rows(given, targets=True)
    if given.groups is None:
        raise Skip("no groups were handed in: report(path, X, y, groups=…)")
    try:
        audit = fairness_audit(given.models, given.X, given.y, given.groups.to_numpy())
        ranges = audit.ranges(given.problem)
    except ValueError as error:  # a rate that a group has no rows for, one group only, no losses
        raise Skip(str(error)) from error
    return [
        Words(
            f"Gaps between the groups of {given.groups.name}, over the models within ψ = "
            f"{number(given.models.psi)}, on the rows of this report. "
            f"{_WHOLE if given.models.complete else _SAMPLE}"
        ),
        Plot(
            plot_fairness_range(audit),
            "Range of each group gap over the models within ψ, with the best model's.",
            Table(ranges, "Range of each group gap over the Rashomon set"),
        ),
        Table(_fairest(audit), "The fairest model by each gap, and what it costs", _CHOSEN),
    ]


def _fairest(audit: FairnessAudit) -> pd.DataFrame:
    rows = {}
    for gap in audit.gaps:
        if audit.table[gap].notna().any():
            model = audit.least_unfair(gap)
            rows[gap] = {
                "model": model.name,
                "gap": float(model[gap]),
                "gap of the best model": float(audit.best[gap]),
                "excess loss": float(model["excess"]),
                audit.quality: float(model[audit.quality]),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("gap")


_CHOSEN = (
    "A gap of the model that was chosen for it is too small: it is the smallest of many. The "
    "choice reads rows, so that nothing is guaranteed of the model that was chosen."
)
_SAMPLE = "Ranges over draws are inner bounds: the set's own are at least as wide."
_WHOLE = "The set is complete, so that its ranges are exact."
