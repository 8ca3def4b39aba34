"""What a bundle of trees holds beside what every bundle does."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import plotly.graph_objects as go

from rashomon_explorer.explorer.basket import score_trees
from rashomon_explorer.explorer.basket.contents import Contents
from rashomon_explorer.explorer.family import reads_well
from rashomon_explorer.plots import plot_rules, plot_tree_use, plot_trees
from rashomon_explorer.rashomon_set import ReleasedTrees

LISTED = """
trees.json        the trees as plain data; score.py predicts with them, by numpy alone
trees.txt         the trees for people, a line a question
dot/              the trees as graphs that Graphviz draws, a file a tree
trees.npz         the same for Python: ReleasedTrees.load("trees.npz") of rashomon_explorer
score.py          read it: thirty lines
schema.toml       what is public of the table, and how a row becomes what the trees ask about
""".strip()
"""Lines of the README."""


def trees_of(given: Contents) -> ReleasedTrees:
    """Return the released trees of a bundle of trees."""
    if not isinstance(given.models, ReleasedTrees):
        raise TypeError(f"a bundle of trees needs ReleasedTrees, got {type(given.models).__name__}")
    return given.models


def _for_people(given: Contents) -> ReleasedTrees:
    return reads_well(trees_of(given), given.schema)


def tree_figures(given: Contents) -> dict[str, go.Figure]:
    """Make the figures of trees that may leave, by name."""
    models = _for_people(given)
    return {
        "trees": plot_trees(models),
        "rules": plot_rules(models),
        "questions": plot_tree_use(models),
    }


def dot_files(given: Contents) -> dict[str, str]:
    """Write each tree as a graph, by the name of its file."""
    models = _for_people(given)
    width = len(str(max(0, models.n_draws - 1)))
    return {f"dot/tree_{k:0{width}d}.dot": models.dot(k) + "\n" for k in range(models.n_draws)}


def _json(given: Contents) -> str:
    models = trees_of(given)
    told = {
        "format": "rashomon-explorer trees",
        "version": 1,
        "columns": list(models.models.feature_names),
        "classes": list(models.classes),
        "psi": models.psi,
        "chosen": list(models.steps),
        "trees": models.to_treefarms(),
    }
    return json.dumps(told, ensure_ascii=False, indent=1, default=str)


def _text(given: Contents) -> str:
    models = _for_people(given)
    return "\n\n".join(f"tree {k}\n{models.text(k)}" for k in range(models.n_draws)) + "\n"


def _npz(given: Contents) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees.npz"
        trees_of(given).save(path)
        return path.read_bytes()


def _score(given: Contents) -> str:
    return Path(score_trees.__file__).read_text(encoding="utf-8")


TREE_FILES: Mapping[str, Callable[[Contents], str | bytes]] = {
    "trees.json": _json,
    "trees.txt": _text,
    "trees.npz": _npz,
    "score.py": _score,
}
"""Files of a bundle of trees in the place of a linear one's."""
