"""Who is affected: how wide people's ranges are, and the rows the models disagree about most."""

import numpy as np
import pandas as pd

from rashomon_explorer.measures import row_disagreement, viable_prediction_range
from rashomon_explorer.plots import plot_people
from rashomon_explorer.plots.tables import people_table
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.report.blocks import Block, Plot, Table
from rashomon_explorer.report.figures import of_members
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.rows import need_rows

MOST_PEOPLE = 10
_NOTE = (
    "Over the models within ψ, where losses are known. Rows are counted from 0, as they were "
    "handed in."
)


def curator(given: Curator) -> list[Block]:
    """Show everybody's range, and the rows with the most disagreement."""
    need_rows(given)
    blocks: list[Block] = []
    if isinstance(given.members, RashomonSet):
        blocks.append(_everybody(given, given.members))
    return [*blocks, Table(_most_affected(given), "Rows the models disagree about most", _NOTE)]


def _everybody(given: Curator, models: RashomonSet) -> Plot:
    name = "group" if given.groups is None else str(given.groups.name)
    figure = plot_people(models, given.X, given.groups, group_name=name)
    return Plot(
        of_members(figure, guaranteed=given.models.guarantee.holds),
        "Left, every person's range of predictions; right, how many people have a wide one.",
        Table(people_table(models, given.X, given.groups), "Width of people's ranges"),
    )


def _most_affected(given: Curator) -> pd.DataFrame:
    models = given.members
    scores = models.scores(given.X)
    spread = scores if scores.ndim == 2 else scores.max(axis=-1)
    ranges = viable_prediction_range(spread)
    columns = {"least score": ranges[:, 0], "largest score": ranges[:, 1]}
    width = ranges[:, 1] - ranges[:, 0]
    if models.task == "classification" and models.n_draws > 1:
        columns["disagreement"] = row_disagreement(models.labels(given.X))
        order = np.lexsort((-width, -columns["disagreement"]))
    else:
        order = np.argsort(-width, kind="stable")
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(width), name="row"))
    if given.groups is not None:
        frame[str(given.groups.name)] = given.groups.astype(str).to_numpy()
    return frame.iloc[order[:MOST_PEOPLE]]
