"""Numbers of every single model: what the table of models shows, and rules that pick a few."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.picked import some, taken

LARGE = 0.1
"""Share of a model's largest coefficient from which another of it counts as large."""

FEW = 5
_MOST_ANSWERS = 50_000_000
_BLOCK = 4_000_000
_FEW_ROWS = 500


def large_coefficients(models: Any) -> NDArray[np.int_]:
    """Count each model's coefficients of at least a tenth of its largest, intercepts aside.

    >>> from types import SimpleNamespace
    >>> two = SimpleNamespace(coef=np.array([[1.0, 0.05, -0.5, 9.0], [0, 0, 0, 9.0]]), outputs=1)
    >>> large_coefficients(two).tolist()
    [2, 0]
    """
    each = np.abs(models.coef.reshape(len(models.coef), models.outputs, -1)[..., :-1])
    most = each.max(axis=(1, 2), initial=0.0)[:, None, None]
    return np.asarray(((each >= LARGE * most) & (each > 0)).sum(axis=(1, 2)))


def accuracies(models: Any, rows: Any, targets: Any) -> tuple[FloatArray, int]:
    """Share of the rows that each model labels right, and how many rows were read (curator).

    Where all answers would take long, a fixed random part of the rows.
    """
    kept = some(np.arange(len(rows)), max(500, _MOST_ANSWERS // max(1, models.n_draws)))
    known = np.asarray(taken(targets, kept))
    X = taken(rows, kept)
    names = np.asarray(models.classes) if models.classes else None
    size = max(1, _BLOCK // max(1, len(kept)))
    found = np.empty(models.n_draws)
    for start in range(0, models.n_draws, size):
        labels = models[list(range(start, min(start + size, models.n_draws)))].labels(X)
        said = labels if names is None else names[labels]
        found[start : start + len(said)] = (said == known).mean(axis=1)
    return found, len(kept)


def accuracies_in_blocks(models: Any, rows: RowBlocks) -> tuple[FloatArray, int]:
    """Share of all rows that each model labels right, and how many there are (curator).

    Parameters
    ----------
    models : RashomonSet
    rows : RowBlocks
        As its models see them, with targets by the names that the set has for classes.
    """
    (right,) = rows.reduce(_Right(models))
    return right / rows.n, rows.n


@dataclass(frozen=True, eq=False)
class _Right:
    """How many rows of a block each model labels right."""

    models: Any

    def __call__(self, rows: Any, targets: Any) -> tuple[NDArray[np.int_]]:
        names = np.asarray(self.models.classes) if self.models.classes else None
        labels = self.models.labels(rows)
        said = labels if names is None else names[labels]
        return ((said == np.asarray(targets)).sum(axis=1),)


def leaves(models: Any) -> NDArray[np.int_]:
    """Count the leaves of each tree of a set.

    >>> from rashomon_explorer.trees import CountedTrees
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 1, 0], max_leaves=2)
    >>> leaves(counted.draw(2, psi=0.0, random_state=0)).tolist()
    [2, 2]
    """
    return np.asarray(models.models.complexity(0.0))


def answers(models: Any, rows: Any) -> FloatArray:
    """Answer a fixed few hundred rows with every model, the best one last (curator).

    What tells two trees apart is whom they label otherwise: as far as these places are apart.
    """
    X = np.asarray(taken(rows, some(np.arange(len(rows)), _FEW_ROWS)), dtype=float)
    both = np.vstack([models.labels(X), models.reference.labels(X)])
    return both.astype(float)


def nearest(coef: FloatArray, goal: FloatArray, among: NDArray[np.intp]) -> list[int]:
    """Pick the few models nearest to some coefficients.

    >>> nearest(np.array([[0.0], [3.0], [1.0]]), np.array([0.9]), np.arange(3))[:2]
    [2, 0]
    """
    away = np.linalg.norm(coef[among] - goal, axis=1)
    return [int(draw) for draw in among[np.argsort(away, kind="stable")[:FEW]]]


def simplest(models: Any, among: NDArray[np.intp]) -> list[int]:
    """Pick the few models with the fewest large coefficients, or leaves."""
    trees = trees_in(models) is not None
    size = (leaves(models) if trees else large_coefficients(models))[among]
    return [int(draw) for draw in among[np.argsort(size, kind="stable")[:FEW]]]


def most_different(coef: FloatArray, among: NDArray[np.intp]) -> list[int]:
    """Pick two models far apart: the farthest from the middle, and the farthest from that.

    No two are more than twice as far apart.

    >>> most_different(np.array([[0.0], [3.0], [-4.0]]), np.arange(3))
    [1, 2]
    """
    if len(among) < 2:
        return [int(draw) for draw in among]
    here = coef[among]
    first = int(np.argmax(np.linalg.norm(here - here.mean(axis=0), axis=1)))
    second = int(np.argmax(np.linalg.norm(here - here[first], axis=1)))
    return sorted(int(among[place]) for place in (first, second))
