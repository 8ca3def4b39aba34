"""Recourse over sets of decision trees: the cheapest cell of questions that all trees accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.measures.ranges.changes import Changes, Recourse
from rashomon_explorer.sets.models.trees import Leaf, Split, tree_questions

if TYPE_CHECKING:
    from rashomon_explorer.trees import CountedTrees

_MOST_CELLS = 200_000
_AT_ONCE = 256


@dataclass(frozen=True)
class TreeSet:
    """Trees that must all accept: counted or listed, with the best of them."""

    names: tuple[str, ...]
    questions: tuple[Split, ...]  # of all trees, on the columns
    accepts: Callable[[FloatArray], Mask]  # whether all trees accept each row
    best_accepts: Callable[[FloatArray], Mask]

    @classmethod
    def counted(cls, trees: CountedTrees, psi: float, wanted: int) -> TreeSet:
        """All trees of a counted class within ψ."""
        from rashomon_explorer.trees import possible_labels

        best = trees.as_set([trees.best()], psi=psi).models
        names = trees.feature_names if trees.questions is None else trees.questions.names
        binary = tuple((column, None) for column in range(len(names)))
        splits = binary if trees.questions is None else trees.questions.splits
        no, yes = Leaf(0), Leaf(1)
        questions = tuple(
            Split(column, yes, no) if cut is None else Split(column, yes, no, ">", cut)
            for column, cut in splits
        )

        def accepts(rows: FloatArray) -> Mask:
            possible = possible_labels(trees, psi, rows)
            return np.asarray(possible[:, wanted] & (possible.sum(axis=1) == 1))

        return cls(tuple(names), questions, accepts, _unanimous(best, wanted))

    @classmethod
    def listed(cls, models: Any, psi: float, wanted: int) -> TreeSet:
        """Trees of a set within ψ."""
        inside = models.inside(psi).models
        both = (*inside.trees, *models.reference.trees)
        questions = {split.question: split for tree in both for split in tree_questions(tree)}
        width = 1 + max((column for column, *_ in questions), default=0)
        names = inside.feature_names or tuple(f"x{j}" for j in range(width))
        best = _unanimous(models.reference, wanted)
        every = tuple(questions[question] for question in sorted(questions))
        return cls(tuple(names), every, _unanimous(inside, wanted), best)


def _unanimous(trees: Any, wanted: int) -> Callable[[FloatArray], Mask]:
    return lambda rows: np.asarray((trees.labels(rows) == wanted).all(axis=0))


def tree_recourse(
    trees: TreeSet, changes: Changes, people: FloatArray, index: pd.Index, psi: float
) -> Recourse:
    """Cheapest change of each person after which all trees accept, exact over all cells."""
    verdicts: dict[bytes, bool] = {}
    tracked = progress(list(people), "recourse")
    answers = [_cheapest(trees, changes, person, verdicts) for person in tracked]
    best_verdicts: dict[bytes, bool] = {}
    single = TreeSet(trees.names, trees.questions, trees.best_accepts, trees.best_accepts)
    best_answers = [_cheapest(single, changes, person, best_verdicts) for person in people]
    nothing = np.full(people.shape[1], np.nan)
    rows = np.array([nothing if row is None else row for row, _ in answers])
    one_rows = np.array([nothing if row is None else row for row, _ in best_answers])
    accepted = np.array([row is not None for row, _ in answers])
    costs = np.array([cost for _, cost in answers])
    one_worst = np.array(
        [np.nan if row is None else float(trees.accepts(row[None])[0]) for row, _ in best_answers]
    )
    table = pd.DataFrame(
        {
            "status": np.where(accepted, "found", "impossible"),
            "cost": costs,
            "cost_at_least": costs,
            "worst_score": accepted.astype(float),
            "one_cost": np.array([np.nan if row is None else cost for row, cost in best_answers]),
            "one_worst_score": one_worst,
        },
        index=index,
    )
    return Recourse.from_people(table, people, rows, one_rows, changes.names, psi)


def _cheapest(
    trees: TreeSet, changes: Changes, person: FloatArray, cache: dict[bytes, bool]
) -> tuple[FloatArray | None, float]:
    """Cheapest features in a cell that all trees accept, and their cost; None and ∞ if none."""
    rows, costs = _cells(trees, changes, person)
    for some in _in_parts(np.argsort(costs, kind="stable")):
        each = [entry.answers(rows[some][:, entry.feature]) for entry in trees.questions]
        answers = np.packbits(np.column_stack(each), axis=1)
        keys = [entry.tobytes() for entry in answers]
        new = {key: index for key, index in zip(keys, some, strict=True) if key not in cache}
        if new:
            verdicts = trees.accepts(rows[list(new.values())])
            cache |= dict(zip(new, verdicts.tolist(), strict=True))
        for key, index in zip(keys, some, strict=True):
            if cache[key]:
                return rows[index], float(costs[index])
    return None, np.inf


def _in_parts(order: Any) -> Iterator[Any]:
    """Yield the cheapest cells first, a few and then many at a time."""
    start, size = 0, 8
    while start < len(order):
        yield order[start : start + size]
        start, size = start + size, min(2 * size, _AT_ONCE)


def _cells(trees: TreeSet, changes: Changes, person: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cheapest features in each cell that a person can reach, and their costs."""
    parts = [
        [({k: value}, changes.cost[k] * abs(value - person[k])) for value in values]
        for k in changes.numbers
        for values in [_values(trees.questions, changes, person, k)]
    ]
    for group in changes.groups:
        indicators = [column for column in group.columns if column is not None]
        now = group.now(person)
        parts.append(
            [
                ({k: float(k == column) for k in indicators}, group.cost * (level != now))
                for level, column in enumerate(group.columns)
            ]
        )
    count = int(np.prod([len(part) for part in parts], dtype=float))
    if count > _MOST_CELLS:
        raise ValueError(
            f"the questions about the changeable features have {count:,} combinations of answers "
            f"for a person, more than {_MOST_CELLS:,}: let fewer features change, or bound them"
        )
    rows, costs = np.tile(person, (count, 1)), np.zeros(count)
    for row, choice in enumerate(product(*parts)):
        for values, cost in choice:
            rows[row, list(values)] = list(values.values())
            costs[row] += cost
    return rows, costs


def _values(
    questions: tuple[Split, ...], changes: Changes, person: FloatArray, place: int
) -> list[float]:
    """Value nearest to a person's in each interval between the questions about one feature."""
    relevant = [question for question in questions if question.feature == place]
    now, cuts = float(person[place]), np.array([question.reference for question in relevant])
    if changes.integral[place]:
        steps = np.floor(cuts - now)
        near = now + np.concatenate([steps - 1, steps, steps + 1])
    elif any(question.is_binary for question in relevant):
        near = np.array([0.0, 1.0])
    else:
        near = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)])
    numbers = list(changes.numbers)
    up, down = (room[numbers.index(place)] for room in changes.room(person))
    near = near[(near - now <= up) & (now - near <= down)]
    near = np.append(now, near[np.argsort(np.abs(near - now), kind="stable")])
    answers = near[:, None] * 0
    if relevant:
        answers = np.column_stack([question.answers(near) for question in relevant])
    _, first = np.unique(answers, axis=0, return_index=True)
    return [float(value) for value in near[np.sort(first)]]
