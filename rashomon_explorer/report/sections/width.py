"""How much of the disagreement is the set's own, and how much the private mechanism's."""

import pandas as pd

from rashomon_explorer.measures import width_or_noise
from rashomon_explorer.measures.decomposition import WidthOrNoise
from rashomon_explorer.plots import plot_width_or_noise
from rashomon_explorer.report.blocks import Block, Plot, Table, Words
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.base import Skip
from rashomon_explorer.report.sections.rows import need_linear_or_trees, need_rows

_MEASURES = {"classification": "disagreement", "regression": "score_variance"}
_PARTS = ("total", "width", "noise", "share_of_noise", "hit_rate")


def curator(given: Curator) -> list[Block]:
    """Split what the draws disagree about into width and noise, with intervals."""
    models = need_linear_or_trees(given)
    need_rows(given, inside=False)
    groups = None if given.groups is None else given.groups.to_numpy()
    try:
        found = width_or_noise(
            models,
            given.X,
            measure=_MEASURES[models.task],
            reference=kind_of(models).reference(given),
            groups=groups,
        )
    except ValueError as error:  # too few hits, chosen draws, or draws that are not independent
        raise Skip(str(error)) from error
    return [
        Words(str(found)),
        Plot(
            plot_width_or_noise(found),
            f"The {found.measure.replace('_', ' ')} among the draws as one bar: the set's own "
            "part, and what the mechanism adds.",
            Table(_estimates(found), "Width or noise"),
        ),
    ]


def _estimates(found: WidthOrNoise) -> pd.DataFrame:
    every = [getattr(found, name) for name in _PARTS]
    ends = {end: [getattr(one, end) for one in every] for end in ("value", "low", "high")}
    names = [name.replace("_", " ") for name in _PARTS]
    return pd.DataFrame(ends, index=pd.Index(names, name=f"{found.confidence:.0%} intervals"))
