"""Brackets of many directions, in parts that any worker can do alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.blocks.workers import workers_of
from rashomon_explorer.measures.ranges.brackets import brackets
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.ranges.search import Extents
from rashomon_explorer.problem import Problem

_COLUMNS = 512  # of a part: enough for a matrix product to be worth its rows, few enough to share


@dataclass(frozen=True)
class Past:
    """What is known as soon as one end of a bracket is past it.

    Parameters
    ----------
    need : ndarray of shape (K,)
    """

    need: FloatArray

    def __call__(self, columns: NDArray[np.intp], inner: FloatArray, outer: FloatArray) -> Mask:
        """Whether these columns need no more search."""
        need = self.need[columns]
        return np.asarray((inner > need) | (outer < need))


@dataclass(frozen=True)
class _Part:
    directions: FloatArray
    decided: Past | None


def bracketed(
    problem: Problem | PenalisedProblem,
    psi: float,
    directions: FloatArray,
    tolerance: float,
    decided: Past | None = None,
    *,
    n_jobs: int | None = None,
    executor: Any = None,
) -> Extents:
    """Bracket as :func:`brackets` does, here or where joblib or an executor says.

    Parts are of the same size whoever works, so that the digits are the same for any number of
    workers.

    Raises
    ------
    TypeError
        If both ``n_jobs`` and ``executor`` are given, or the executor is none.
    ClusterError
        If workers were lost again and again.
    """
    starts = range(0, max(directions.shape[1], 1), _COLUMNS)
    parts = [_part(directions, decided, slice(low, low + _COLUMNS)) for low in starts]
    what = (psi, tolerance)
    if n_jobs is None and executor is None:
        found: Iterator[Extents] = (_bracket(problem, what, part) for part in parts)
    else:
        _ = problem.minimum  # found once, and sent along
        found = workers_of(n_jobs, executor).run(_bracket, problem, what, parts)
    inner, outer, points = zip(*((one.inner, one.outer, one.points) for one in found), strict=True)
    return Extents(np.concatenate(inner), np.concatenate(outer), np.concatenate(points, axis=1))


def _part(directions: FloatArray, decided: Past | None, columns: slice) -> _Part:
    return _Part(directions[:, columns], None if decided is None else Past(decided.need[columns]))


def _bracket(
    problem: Problem | PenalisedProblem, what: tuple[float, float], part: _Part
) -> Extents:
    psi, tolerance = what
    return brackets(problem, psi, part.directions, tolerance, part.decided)
