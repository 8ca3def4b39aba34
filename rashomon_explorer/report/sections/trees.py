"""The trees themselves: a few in full, the rules of all, and how many ask what."""

from typing import Any

import pandas as pd

from rashomon_explorer.plots import plot_rules, plot_tree_use, plot_trees
from rashomon_explorer.plots.rules import rules_table
from rashomon_explorer.plots.text import plural
from rashomon_explorer.plots.tree_use import tree_use_table
from rashomon_explorer.rashomon_set import PredictorSet, ReleasedTrees
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.report.blocks import Block, Code, Plot, Table, Words
from rashomon_explorer.report.material import Curator, Release
from rashomon_explorer.report.sections.base import Skip

_MOST_WRITTEN = 12
_SIZES = "Leaves of each tree, and the first question that it asks"


def are_trees(models: Any) -> bool:
    """Whether a set, the curator's or a release, is of decision trees."""
    return isinstance(getattr(models, "models", None), DecisionTrees)


def no_trees(models: Any) -> bool:
    """Whether it is of anything else."""
    return not are_trees(models)


def curator(given: Curator) -> list[Block]:
    """Show trees with their losses."""
    models: Any = given.models
    return _shown(models, pd.Series(models.losses, name="loss"))


def release(given: Release) -> list[Block]:
    """Show released trees: what follows is computed from them alone."""
    models: Any = given.models
    told = "What follows is read off these trees alone; no row was read for it."
    return [Words(told, "note"), *_shown(models, None)]


def _shown(models: PredictorSet | ReleasedTrees, losses: "pd.Series[float] | None") -> list[Block]:
    if not models.n_draws:
        raise Skip("the set holds no trees")
    return [
        Plot(
            plot_trees(models),
            "Some of the trees beside each other; yes leads to the left, no to the right.",
            Table(_sizes(models, losses), _SIZES),
        ),
        Plot(
            plot_tree_use(models),
            "Share of the trees that ask each question, the part that asks it first darker.",
            Table(tree_use_table(models), "How many trees ask each question", _INTERVALS),
        ),
        Plot(
            plot_rules(models),
            "Rules of all trees as rings: the first question inside, the next around it.",
            Table(rules_table(models), "Rules: questions from the root to a leaf"),
        ),
        *_written(models),
    ]


def _sizes(models: Any, losses: "pd.Series[float] | None") -> pd.DataFrame:
    firsts = [models.text(draw).splitlines()[0] for draw in range(models.n_draws)]
    table = pd.DataFrame({"leaves": models.complexity(), "first line": firsts})
    if losses is not None and losses.notna().all():
        table["loss"] = losses.to_numpy()
    return table.rename_axis("tree")


def _written(models: Any) -> list[Block]:
    """Write different trees for people, the most frequent first."""
    texts = pd.Series([models.text(draw) for draw in range(models.n_draws)])
    counts = texts.value_counts(sort=True)
    lines: list[str] = []
    for text, count in counts.iloc[:_MOST_WRITTEN].items():
        draws = ", ".join(map(str, texts.index[texts == text][:8]))
        lines += [f"# {plural(int(count), 'draw')}: {draws}", *str(text).splitlines(), ""]
    many = f"{plural(len(counts), 'different tree')} among {plural(models.n_draws, 'draw')}"
    cut = f"; {_MOST_WRITTEN} of them" if len(counts) > _MOST_WRITTEN else ""
    return [Words(f"{many}{cut}, in words:"), Code(lines)]


_INTERVALS = (
    "Intervals, where there are any, are of Clopper and Pearson (95 %) for the law that the trees "
    "were drawn from: not for the set of good trees."
)
