"""Sets from TreeFARMS."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets import predictions
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node, Split
from rashomon_explorer.sets.predictor import PredictorSet

_TREEFARMS_CRITERIA = ("objective", "loss")
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}

Found = tuple[Mapping[str, Any], Mapping[str, float]]
"""A tree in nested form, and its known values."""


def from_treefarms(
    source: Any,
    *,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    losses: ArrayLike | None = None,
    criterion: str = "objective",
    psi: float | None = None,
    classes: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    complete: bool | None = None,
) -> PredictorSet:
    """Read the trees that TreeFARMS (Xin et al. 2022) enumerated, for the curator: not private.

    Parameters
    ----------
    source : path, list, mapping or TREEFARMS
        A fitted model of their package, its model set, or a JSON file or its content, in one of
        two forms. A list of trees: nested
        ``{"feature", "relation", "reference", "true", "false"}`` with leaves ``{"prediction"}``
        (or objects with such a tree as their ``source``). The trie of its ``to_trie``: one
        layer of nodes per key, -1 and -2 for leaves of class 0 and 1, and ``objective``, ``loss``
        and ``complexity`` at the end.
    X, y : array-like of shape (n_rows, n_features) and (n_rows,), optional
        Rows that the trees were fitted to, and their labels. The error rate of every tree is
        then compared with the source's, and is the loss if the source has none.
    losses : array-like of shape (n_trees,), optional
        Losses of a list of trees, a form that has none.
    criterion : {"objective", "loss"}, default="objective"
        The loss of a trie: the regularised objective, which determined the enumeration, or the
        error rate.
    psi : float, optional
        Rashomon threshold; by default the largest excess loss, or infinity without losses.
    classes : sequence, optional
        Labels of the predictions 0, 1, …; by default the predictions themselves.
    feature_names : sequence of str, optional
        Names of the columns; required if trees identify columns by name, not by number.
    complete : bool, optional
        Whether all trees within ψ are in the source, so that measures over them are exact.
        By default True for the objective that a trie holds, up to the excess loss of its worst
        tree. False for a list, which has no objective, and for any other loss, which
        did not determine the enumeration.

    Returns
    -------
    PredictorSet
        Models are named ``"tree 0"``, ``"tree 1"``, … in the order of the source.

    Raises
    ------
    DataError
        If the source has neither form; the message names the tree.
    ValueError
        If ``losses``, ``criterion``, ``psi`` or ``classes`` is invalid, or the trees' errors on
        these rows differ from those in the source.

    Examples
    --------
    >>> stump = {"feature": 0, "relation": "==", "reference": "true",
    ...          "true": {"prediction": 1}, "false": {"prediction": 0}}
    >>> models = from_treefarms([stump, {"prediction": 1}], losses=[0.1, 0.3], psi=0.1)
    >>> models.labels([[0], [1]]).tolist(), models.complexity().tolist(), models.hit_rate
    ([[0, 1], [1, 1]], [2, 1], 0.5)
    >>> trie = {"0": {"-2 -1": {"objective": 0.12, "loss": 0.1, "complexity": 0.02}}}
    >>> from_treefarms(trie).labels([[0], [1]]).tolist()
    [[0, 1]]
    """
    if criterion not in _TREEFARMS_CRITERIA:
        raise ValueError(f"criterion must be one of {[*_TREEFARMS_CRITERIA]}, got {criterion!r}")
    if isinstance(source, str | PathLike):
        try:
            content = json.loads(Path(source).read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{source} is not a JSON file: {error}") from error
    else:  # a fitted TREEFARMS and its model set have a trie
        model_set = getattr(source, "model_set", source)
        content = model_set.to_trie() if hasattr(model_set, "to_trie") else source
    read = list(_reader(content)(content))
    labels = _labels([tree for tree, _ in read]) if classes is None else tuple(classes)
    names = tuple(feature_names or ())
    trees = []
    for number, (tree, _) in enumerate(read):
        try:
            trees.append(_treefarms_node(tree, labels, names))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"tree {number} cannot be read: {error!r}") from error
    if not trees:
        raise ValueError("there are no trees in the source")
    models = DecisionTrees(tuple(trees), len(labels), names)
    if losses is None:
        values, name = _values(read, criterion), criterion
    else:
        values, name = predictions.known_losses(losses, len(read)), "given"
    if X is not None or y is not None:
        errors = _errors(models, X, y, labels, read)
        if np.isnan(values).all():
            values, name = errors, "zero_one"
    # A list has no objective: nothing says by which loss, and up to which, it was enumerated.
    by_objective = name == "objective" and not np.isnan(values).all()
    if complete is None:
        excess = float(values.max() - values.min())
        complete = by_objective and (psi is None or math.isnan(excess) or psi <= excess)
    return predictions.predictor_set(
        models,
        values,
        loss=name,
        psi=psi,
        classes=labels,
        names=[f"tree {k}" for k in range(len(trees))],
        complete=complete,
    )


def _reader(content: Any) -> Callable[[Any], Iterator[Found]]:
    if isinstance(content, Mapping):
        if "prediction" in content or "feature" in content:
            raise DataError("one tree was given: put it into a list")
        return _from_trie
    if isinstance(content, str | bytes) or not hasattr(content, "__iter__"):
        raise DataError(f"expected a list of trees or a trie, got {content!r}")
    return _from_list


def _from_list(trees: Any) -> Iterator[Found]:
    for tree in trees:
        yield getattr(tree, "source", tree), {}


def _from_trie(trie: Mapping[str, Any], layers: tuple[str, ...] = ()) -> Iterator[Found]:
    for key, below in trie.items():
        path = (*layers, key)
        if not isinstance(below, Mapping):
            raise DataError(f"the trie ends at {' > '.join(path)} without objective and loss")
        if "objective" in below:
            yield _from_layers(path), below
        else:
            yield from _from_trie(below, path)


def _from_layers(layers: tuple[str, ...]) -> Mapping[str, Any]:
    """Tree whose nodes are listed by layer, those of each split next to each other."""
    try:
        numbers = [[int(word) for word in layer.split()] for layer in layers]
    except ValueError as error:
        raise DataError(f"the trie's key {' > '.join(layers)} must hold numbers") from error
    nodes: list[list[dict[str, Any]]] = [
        [{"feature": k} if k >= 0 else {"prediction": -1 - k} for k in layer] for layer in numbers
    ]
    for upper, lower in zip(nodes, [*nodes[1:], []], strict=True):
        splits = [node for node in upper if "feature" in node]
        if len(lower) != 2 * len(splits):
            raise DataError(
                f"the trie's layer for {len(splits)} splits holds {len(lower)} nodes: "
                f"{' > '.join(layers)}"
            )
        for split, yes, no in zip(splits, lower[::2], lower[1::2], strict=True):
            split["true"], split["false"] = yes, no
    return nodes[0][0]


def _values(read: list[Found], name: str) -> FloatArray:
    """Known values of the trees; NaN where one is missing."""
    return np.array([float(values.get(name, np.nan)) for _, values in read])


def _errors(models: DecisionTrees, X: Any, y: Any, classes: Any, read: list[Found]) -> FloatArray:
    """Error rates of the trees; raise if the source states others."""
    if X is None or y is None:
        raise ValueError("give both X and y: rows, and the label of each")
    scores = models.scores(X)
    errors = predictions.model_losses(scores, y, classes=classes, loss="zero_one", certain=True)[0]
    stated = _values(read, "loss")
    differs = np.abs(errors - stated) > 0.5 / len(y)
    if differs.any():
        tree = int(np.argmax(differs))
        raise ValueError(
            f"tree {tree} has the error rate {errors[tree]:.4f} on these rows and "
            f"{stated[tree]:.4f} in the source: give the rows that the trees were fitted to, with "
            "the columns in their order, and labels by classes="
        )
    return errors


def _labels(trees: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Predicted labels: numbers up to the largest, or sorted text."""
    try:
        labels = predictions.sort_labels([leaf for tree in trees for leaf in _predictions(tree)])
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"a tree cannot be read: {error!r}") from error
    if all(isinstance(label, int) for label in labels):
        return tuple(range(max(1, *labels) + 1)) if labels else (0, 1)
    if len(labels) < 2:
        raise DataError(f"at least two classes are needed, got {list(labels)}: name them all")
    return labels


def _predictions(tree: Mapping[str, Any]) -> Iterator[Any]:
    if "prediction" in tree:
        yield tree["prediction"]
        return
    yield from _predictions(tree["true"])
    yield from _predictions(tree["false"])


def _treefarms_node(
    tree: Mapping[str, Any], labels: tuple[Any, ...], names: tuple[str, ...]
) -> Node:
    if "prediction" in tree:
        return Leaf(_code(tree["prediction"], labels))
    return Split(
        _column(tree["feature"], names),
        _treefarms_node(tree["true"], labels, names),
        _treefarms_node(tree["false"], labels, names),
        str(tree.get("relation", "==")),
        _reference(tree.get("reference", "true")),
    )


def _code(prediction: Any, labels: tuple[Any, ...]) -> int:
    if isinstance(prediction, int):
        return prediction
    if prediction not in labels:
        raise ValueError(f"the class {prediction!r} is not in {list(labels)}")
    return labels.index(prediction)


def _column(feature: Any, names: tuple[str, ...]) -> int:
    if isinstance(feature, str) and not feature.isdecimal():
        if feature not in names:
            raise ValueError(f"the column {feature!r} is not in feature_names")
        return names.index(feature)
    return int(feature)


def _reference(reference: Any) -> float:
    word = str(reference).lower()
    return _TRUTH[word] if word in _TRUTH else float(reference)
