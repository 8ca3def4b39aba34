"""Trees as TimberTrek has them: every tree, and the trie of the rules of all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.rashomon_set.models.trees import RELATIONS, Leaf, Node, Split
from rashomon_explorer.rashomon_set.models.written import as_question

_SIGNS = ("-", "+")


@dataclass(frozen=True)
class Questions:
    """Which questions trees ask: a column of 0 and 1 as itself, a comparison as one of its own.

    Examples
    --------
    >>> asked = Questions.of([Split(2, Leaf(1), Leaf(0))], ["a", "b", "c"])
    >>> asked.number(Split(2, Leaf(0), Leaf(1))), asked.in_words
    (2, ('a', 'b', 'c'))
    """

    of_column: bool
    numbers: dict[tuple[int, str, float], int]
    in_words: tuple[str, ...]

    @classmethod
    def of(cls, trees: Sequence[Node], names: Sequence[str]) -> "Questions":
        """Find and number the questions of all trees."""
        splits = [node for tree in trees for node in splits_of(tree)]
        if all(split.asks_for_truth for split in splits):
            width = max(len(names), 1 + max((s.feature for s in splits), default=-1))
            return cls(True, {}, tuple(as_question(j, names) for j in range(width)))
        asked = sorted({_key(split) for split in splits})
        words = tuple(as_question(j, names, relation, value) for j, relation, value in asked)
        return cls(False, {one: place for place, one in enumerate(asked)}, words)

    def number(self, split: Split) -> int:
        """Place of a split's question."""
        return split.feature if self.of_column else self.numbers[_key(split)]


def splits_of(tree: Node) -> Iterator[Split]:
    """Every question of a tree, from the root down."""
    if isinstance(tree, Split):
        yield tree
        yield from splits_of(tree.if_true)
        yield from splits_of(tree.if_false)


def rules_of(tree: Node) -> Iterator[tuple[tuple[Split, ...], int]]:
    """Every rule of a tree: the questions down to a leaf, and what it says.

    >>> [(len(path), says) for path, says in rules_of(Split(0, Leaf(1), Leaf(0)))]
    [(1, 1), (1, 0)]
    """
    if isinstance(tree, Leaf):
        yield (), tree.prediction
        return
    for branch in (tree.if_true, tree.if_false):
        for path, says in rules_of(branch):
            yield (tree, *path), says


def as_timbertrek(
    trees: Sequence[Node],
    numbers: Sequence[int],
    objectives: Sequence[float],
    names: Sequence[str],
    rows: tuple[FloatArray, NDArray[np.int_]] | None = None,
) -> dict[str, Any]:
    """Write trees of two classes as TimberTrek's ``{"trie", "featureMap", "treeMap"}``.

    With rows, and the class 0 or 1 of each, every node says how many reach it, every leaf how
    many it labels rightly, and every tree its accuracy.

    >>> written = as_timbertrek([Split(0, Leaf(1), Leaf(0))], [7], [0.2], ["owns"])
    >>> written["treeMap"]["7"][0]["c"][0], written["trie"]["c"][0]["c"]
    ({'f': ['+', -1, -1]}, [{'f': '_', 't': 7}])
    """
    asked = Questions.of(trees, names)
    tree_map = {}
    for tree, number, objective in zip(trees, numbers, objectives, strict=True):
        written, right = _written(tree, asked, rows, None)
        accuracy = [] if rows is None else [round(right / len(rows[1]), 5)]
        tree_map[str(number)] = [written, float(objective), *accuracy]
    return {
        "trie": trie(trees, numbers, asked),
        "featureMap": {str(j): _feature(words) for j, words in enumerate(asked.in_words)},
        "treeMap": tree_map,
    }


def trie(trees: Sequence[Node], numbers: Sequence[int], asked: Questions) -> dict[str, Any]:
    """Rules of all trees as one trie of questions, whatever was answered; trees at their ends."""
    root: dict[str, Any] = {"f": "root", "c": []}
    known: dict[tuple[str, ...], dict[str, Any]] = {(): root}
    ended: set[tuple[tuple[str, ...], int]] = set()
    for tree, number in zip(trees, numbers, strict=True):
        for path, _ in rules_of(tree):
            place: tuple[str, ...] = ()
            for split in path:
                above, name = known[place], str(asked.number(split))
                place = (*place, name)
                if place not in known:
                    known[place] = {"f": name, "c": []}
                    above["c"].append(known[place])
            if path and (place, number) not in ended:
                ended.add((place, number))
                known[place]["c"].append({"f": "_", "t": number})
    return root


def _written(
    tree: Node,
    asked: Questions,
    rows: tuple[FloatArray, NDArray[np.int_]] | None,
    here: Mask | None,
) -> tuple[dict[str, Any], int]:
    """Write a node as TimberTrek does, and say how many rows it labels rightly."""
    inside = None if rows is None else np.ones(len(rows[1]), bool) if here is None else here
    count = -1 if inside is None else int(inside.sum())
    if isinstance(tree, Leaf):
        right = -1
        if rows is not None and inside is not None:
            right = int((rows[1][inside] == tree.prediction).sum())
        return {"f": [_SIGNS[tree.prediction], count, right]}, right
    branches, total = [], 0
    for branch, wanted in ((tree.if_true, True), (tree.if_false, False)):
        below = None
        if rows is not None and inside is not None:
            answers = RELATIONS[tree.relation](rows[0][:, tree.feature], tree.reference)
            below = inside & (answers == wanted)
        written, right = _written(branch, asked, rows, below)
        branches.append(written)
        total += right
    return {"f": [str(asked.number(tree)), count, -1], "c": branches}, total


def _key(split: Split) -> tuple[int, str, float]:
    return split.feature, split.relation, float(split.reference)


def _feature(words: str) -> list[str]:
    """Name, level and short name: TimberTrek's columns are named ``name:level``."""
    name, _, level = words.partition(":")
    return [name, level, name]
