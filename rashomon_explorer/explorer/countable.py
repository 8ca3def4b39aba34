"""Whether the trees that the settings allow can be counted here, in words; reads no row."""

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.family import questions_of, tree_class
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.whole import shape_of
from rashomon_explorer.plots.text import plural
from rashomon_explorer.trees import TreeClass
from rashomon_explorer.trees.tree_class import allowed_memory


def check_countable(state: ExplorerState) -> TreeClass:
    """Return the class of trees of the settings.

    Raises
    ------
    DataError
        If counting them might take more memory than there is, saying what would fit.
    """
    trees, n = tree_class(state), shape_of(state.data)[0]
    needed, (room, _) = trees.memory(n), allowed_memory(None)
    if needed <= room:
        return trees
    fits = trees.largest(n, room).max_leaves
    raise DataError(
        f"to count trees of at most {trees.max_leaves} leaves on "
        f"{plural(trees.n_features, 'question')} may take {in_memory(needed)}, and "
        f"{in_memory(room)} are there. With at most {fits} {'leaf' if fits == 1 else 'leaves'} "
        "they fit; fewer thresholds or less depth help too"
    )


def class_in_words(state: ExplorerState) -> str:
    """Say how many trees the settings allow, and whether they can be counted."""
    asked = plural(len(questions_of(state.data)), "question")
    try:
        trees = check_countable(state)
    except DataError as error:
        return f"{asked}. These trees cannot be counted here: {error}."
    memory = in_memory(trees.memory(shape_of(state.data)[0]))
    return f"{asked}, {_many(trees)}. They can be counted here, in at most {memory}."


def in_memory(size: int) -> str:
    """Write a number of bytes.

    >>> in_memory(200 * 2**20), in_memory(3 * 2**29), in_memory(5 * 2**45)
    ('200 MiB', '1.5 GiB', '163,840 GiB')
    """
    mib = size / 2**20
    if mib < 1000:
        return f"{max(1, round(mib)):,} MiB"
    return f"{mib / 1024:.1f} GiB" if mib < 2**17 else f"{mib / 1024:,.0f} GiB"


def _many(trees: TreeClass) -> str:
    if trees.size < 10**12:
        return plural(trees.size, "tree")
    return f"about {trees.size:.1e} trees".replace("e+", " · 10^")
