"""Who is affected: how wide people's ranges are, and the rows the models disagree about most."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures import viable_prediction_range
from rashomon_explorer.measures.multiplicity import row_disagreement
from rashomon_explorer.plots import plot_people
from rashomon_explorer.plots.tables import people_table
from rashomon_explorer.rashomon_set import PredictorSet, RashomonSet
from rashomon_explorer.rashomon_set.links import likeliest
from rashomon_explorer.report.blocks import Block, Plot, Table, Words
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.rows import need_rows

MOST_PEOPLE = 10
_MOST_SCORES = 4_000_000
_NOTE = (
    "Over the models within ψ, where losses are known. Rows are counted from 0, as they were "
    "handed in."
)


def curator(given: Curator) -> list[Block]:
    """Show everybody's range, and the rows with the most disagreement."""
    need_rows(given)
    blocks: list[Block] = [Words(given.whose)] if given.whose else []
    given = given.people
    if isinstance(given.models, RashomonSet):
        blocks.append(_everybody(given, given.models))
    return [*blocks, Table(_most_affected(given), "Rows the models disagree about most", _NOTE)]


def _everybody(given: Curator, models: RashomonSet) -> Plot:
    name = "group" if given.groups is None else str(given.groups.name)
    return Plot(
        plot_people(models, given.X, given.groups, group_name=name),
        "Left, every person's range of predictions; right, how many people have a wide one.",
        Table(people_table(models, given.X, given.groups), "Width of people's ranges"),
    )


def _most_affected(given: Curator) -> pd.DataFrame:
    frame = pd.concat(_blocks(given), ignore_index=True).rename_axis("row")
    if given.groups is not None:
        frame[str(given.groups.name)] = given.groups.astype(str).to_numpy()
    width = frame["largest score"] - frame["least score"]
    first = frame["disagreement"] if "disagreement" in frame else width
    return frame.iloc[np.lexsort((-width, -first))[:MOST_PEOPLE]]


def _blocks(given: Curator) -> Iterator[pd.DataFrame]:
    """Ranges of all rows, so many rows at a time that all models' scores fit into memory."""
    models = given.members
    if isinstance(models, PredictorSet) and given.X is None:
        yield _ranges(models.scores(), models.task)
        return
    step = max(1, _MOST_SCORES // (models.n_draws * max(1, models.n_classes)))
    for start in range(0, len(given.X), step):
        yield _ranges(models.scores(given.rows(start, start + step)), models.task)


def _ranges(scores: FloatArray, task: str) -> pd.DataFrame:
    ends = viable_prediction_range(scores if scores.ndim == 2 else scores.max(axis=-1))
    columns = {"least score": ends[:, 0], "largest score": ends[:, 1]}
    if task == "classification" and len(scores) > 1:
        columns["disagreement"] = row_disagreement(likeliest(scores))
    return pd.DataFrame(columns)
