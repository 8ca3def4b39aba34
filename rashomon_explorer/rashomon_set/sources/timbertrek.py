"""Sparse decision trees from a TimberTrek file."""

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rashomon_set.models.trees import Leaf, Node, Split
from rashomon_explorer.rashomon_set.predictor import PredictorSet
from rashomon_explorer.rashomon_set.sources.trees import tree_set

_SIGNS = {"-": 0, "+": 1}
# An entry of treeMap is [tree, objective] or [tree, objective, accuracy].
_CRITERIA: dict[str, Callable[[Sequence[Any]], float]] = {
    "objective": lambda entry: float(entry[1]),
    "zero_one": lambda entry: 1 - float(entry[2]),
}


def from_timbertrek(
    source: str | PathLike[str] | Mapping[str, Any],
    *,
    criterion: str = "objective",
    psi: float | None = None,
    classes: Sequence[Any] = (0, 1),
    complete: bool | None = None,
) -> PredictorSet:
    """Read the trees of a TimberTrek JSON.  Curator: not private.

    TimberTrek (Wang et al. 2022) reads and writes ``{"trie", "featureMap", "treeMap"}``;
    ``treeMap`` holds every tree as nested ``{"f": [column, …], "c": [if true, if false]}`` with
    leaves ``{"f": ["+" or "-", …]}``, and beside it its objective and its accuracy. Columns are
    counted as in the 0/1 table that the trees were grown on, and rows are given in that form.

    Parameters
    ----------
    source : path or mapping
        The file, or what was in it.
    criterion : {"objective", "zero_one"}, default="objective"
        What is taken as the loss: the regularised objective, errors and a price for each leaf, by
        which the set was enumerated; or one minus the accuracy.
    psi : float, optional
        Rashomon threshold; by default the largest excess in the file.
    classes : sequence of two, default=(0, 1)
        Labels of "-" and "+".
    complete : bool, optional
        Whether all trees within ψ are in the source, so that what is measured over them is exact.
        By default True for the objective, up to the excess of its
        worst tree, and False for any other loss, which did not decide what was enumerated.

    Returns
    -------
    PredictorSet
        Its names are ``"tree 7"``, with TimberTrek's number of each tree.

    Raises
    ------
    DataError
        If the file is not of this form; the message names the tree.
    ValueError
        If ``criterion``, ``psi`` or ``classes`` does not fit.

    Examples
    --------
    >>> leaf = {"-": {"f": ["-", 3, 3]}, "+": {"f": ["+", 2, 1]}}
    >>> tree = {"f": ["1", 5, -1], "c": [leaf["+"], leaf["-"]]}
    >>> known = {"trie": {}, "featureMap": {}, "treeMap": {"7": [tree, 0.24, 0.8]}}
    >>> models = from_timbertrek(known)
    >>> models.names, models.labels([[0, 1], [0, 0]]).tolist(), models.losses.tolist()
    (('tree 7',), [[1, 0]], [0.24])
    """
    if criterion not in _CRITERIA:
        raise ValueError(f"criterion must be one of {[*_CRITERIA]}, got {criterion!r}")
    if len(classes) != 2:
        raise ValueError(f"classes must hold the labels of '-' and '+', got {classes!r}")
    entries = _tree_map(source)
    trees, losses = [], []
    for number, entry in entries.items():
        try:
            trees.append(_node(entry[0]))
            losses.append(_CRITERIA[criterion](entry))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise DataError(
                f"tree {number} of the TimberTrek file cannot be read: {error!r}"
            ) from (error)
    return tree_set(
        trees,
        np.array(losses, dtype=float),
        loss=criterion,
        psi=psi,
        classes=classes,
        names=[f"tree {number}" for number in entries],
        complete=False if complete is None and criterion != "objective" else complete,
    )


def read_json(source: str | PathLike[str]) -> Any:
    """Content of a JSON file."""
    with open(source, encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise DataError(f"{source} is not a JSON file: {error}") from error


def _tree_map(source: str | PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    known = read_json(source) if isinstance(source, str | PathLike) else source
    entries = known.get("treeMap") if isinstance(known, Mapping) else None
    if not isinstance(entries, Mapping):
        raise DataError(
            "a TimberTrek file holds trie, featureMap and treeMap, and this has no treeMap; a trie "
            "or a list of trees is read by from_treefarms"
        )
    return entries


def _node(written: Mapping[str, Any]) -> Node:
    head = str(written["f"][0])
    if head in _SIGNS:
        return Leaf(_SIGNS[head])
    if_true, if_false = written["c"]
    return Split(int(head), _node(if_true), _node(if_false))
