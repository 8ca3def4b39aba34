"""Measures of multiplicity on rows that come in blocks: no table of all models and rows is held."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.blocks.columns import column_of
from rashomon_explorer.measures.checks import only_labels
from rashomon_explorer.measures.encoding import Labels
from rashomon_explorer.measures.groups import group_codes
from rashomon_explorer.measures.multiplicity.catalogue import get_measure
from rashomon_explorer.rashomon_set.links import likeliest

_CELLS = 2**21  # models × rows × classes that are held at once: a thread's sixteen megabytes
_UNCERTAIN = "scores that are no labels"
_ROWS = "rows"
Key = tuple[str, int]
Sums = dict[Key, Any]


@dataclass(frozen=True, eq=False)
class Found:
    """What all blocks say together.

    Parameters
    ----------
    sums : dict
        By measure and group.
    groups : list
        Names of the groups.
    certain : bool
        Whether all scores that were looked at are 0 or 1.
    """

    sums: Sums
    groups: list[Any]
    certain: bool

    def rows(self, group: int | None) -> int:
        """Rows of a group, or of all."""
        return int(self._total(_ROWS, group) or 0)

    def curve(self, name: str, group: int | None, sizes: NDArray[np.int_]) -> FloatArray:
        """Measure of a group's rows, or of all, for each number of models."""
        total, rows = self._total(name, group), self.rows(group)
        if not rows:
            return np.full(len(sizes), np.nan)
        return get_measure(name).joined.value(total, rows, sizes)

    def _total(self, name: str, group: int | None) -> Any:
        wanted = range(len(self.groups)) if group is None else [group]
        found = [self.sums[name, code] for code in wanted if (name, code) in self.sums]
        return sum(found[1:], start=found[0]) if found else None


def measured_in_blocks(
    models: Any,
    table: RowBlocks,
    names: Sequence[str],
    *,
    groups: Any,
    baseline: ArrayLike | None,
    options: Mapping[str, Any],
    order: NDArray[np.int_],
    sizes: NDArray[np.int_],
) -> Found:
    """Make every measure's sums in one pass over the rows.

    Parameters
    ----------
    models : RashomonSet, PredictorSet or ReleasedSet
    table : RowBlocks
        Rows as the models take them.
    names : sequence of str
    groups : array-like of shape (n_rows,), or str
        A column of the table, by its name, need be no feature.
    baseline : array-like of shape (n_rows,) or (n_rows, n_classes), optional
    options : mapping
        Of the measures.
    order, sizes : ndarray
        In which order models enter, and how many for each ψ.
    """
    column = column_of(table, groups) if isinstance(groups, str) else groups
    nobody = np.zeros(table.n, dtype=np.int8), [None]
    codes, found = nobody if column is None else group_codes(column, table.n)
    beside: dict[str, Any] = {"group": codes}
    if baseline is not None:
        beside["baseline"] = np.asarray(baseline, dtype=float)
    everyone = np.array_equal(order, np.arange(models.n_draws))
    best = getattr(models, "best_scores", None)
    of_block = _OfBlock(
        models if everyone else models[order], best, tuple(names), dict(options), sizes
    )
    sums = table.beside(**beside).reduce(of_block, merge=_added)
    return Found(sums, found, not sums.get((_UNCERTAIN, 0), 0))


@dataclass(frozen=True, eq=False)
class _OfBlock:
    """What the rows of a block add to every measure's sum."""

    models: Any  # in the order in which they enter
    best: Callable[[Any], Any] | None
    names: tuple[str, ...]
    options: dict[str, Any]
    sizes: NDArray[np.int_]

    def __call__(self, rows: FloatArray, beside: Any) -> Sums:
        step = max(1, _CELLS // (self.models.n_draws * max(1, self.models.n_classes)))
        sums: Sums = {}
        for low in range(0, len(rows), step):
            part = slice(low, low + step)
            sums = _added(sums, self._of_some(rows[part], beside[part]))
        return sums

    def _of_some(self, rows: FloatArray, beside: Any) -> Sums:
        scores = np.asarray(self.models.scores(rows))
        reference: Any = 0
        if "baseline" in beside.dtype.names:
            reference = np.ascontiguousarray(beside["baseline"])
        elif self.best is not None:
            reference = np.asarray(self.best(rows))
        sums: Sums = {(_UNCERTAIN, 0): int(not only_labels(scores))}
        for code in np.unique(beside["group"]).tolist():
            where = np.flatnonzero(beside["group"] == code)
            whole = len(where) == len(rows)
            held = scores if whole else scores[:, where]
            least = reference if np.ndim(reference) == 0 else reference[where]
            sums[_ROWS, code] = len(where)
            sums |= {(name, code): part for name, part in self._parts(held, least)}
        return sums

    def _parts(self, scores: FloatArray, reference: Any) -> Iterator[tuple[str, Any]]:
        prepared: dict[str, Any] = {}
        for name in self.names:
            measure = get_measure(name)
            if measure.of not in prepared:
                prepared[measure.of] = self._prepared(measure.of, scores)
            of = prepared[measure.of]
            baseline = reference
            if measure.of == "labels" and np.ndim(reference):
                baseline = likeliest(reference[None])[0]
            options = measure.chosen({**self.options, "baseline": baseline})
            values = of.codes if isinstance(of, Labels) else of
            make = partial(measure.tally, of, **options)
            yield name, measure.joined.part(values, make, self.sizes)

    def _prepared(self, of: str, scores: FloatArray) -> Any:
        if of != "labels":
            return next(get_measure(x) for x in self.names if get_measure(x).of == of).prepare(
                scores
            )
        n_classes = max(2, self.models.n_classes)
        return Labels(likeliest(scores).astype(np.uint8), np.arange(n_classes))


def _added(one: Sums, other: Sums) -> Sums:
    both = {key: one[key] + other[key] for key in one.keys() & other.keys()}
    return {**one, **other, **both}
