"""Tables of multiplicity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask, likeliest
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures.inputs import (
    Labels,
    group_codes,
    group_masks,
    need_set,
    only_labels,
)
from rashomon_explorer.measures.multiplicity.catalogue import (
    EXACT,
    MEASURES,
    OF_ALL,
    get_measure,
    refuse_options,
)
from rashomon_explorer.measures.multiplicity.group_tables import measure_rows, nest
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked
from rashomon_explorer.rows.columns import read_column

_CELLS = 2**21  # models × rows × classes in memory at a time: 16 MB per thread
_UNCERTAIN = "scores that are no labels"
_ROWS = "rows"
Key = tuple[str, int]
Sums = dict[Key, Any]


@dataclass(frozen=True, eq=False)
class Found:
    """Sums of all measures over all chunks."""

    sums: Sums
    groups: list[Any]
    certain: bool

    def rows(self, group: int | None) -> int:
        """Return the number of rows in a group, or in all."""
        return int(self._total(_ROWS, group) or 0)

    def curve(self, name: str, group: int | None, sizes: NDArray[np.int_]) -> FloatArray:
        """Measure on a group's rows, or on all, for each number of models."""
        total, rows = self._total(name, group), self.rows(group)
        if not rows:
            return np.full(len(sizes), np.nan)
        return get_measure(name).joined.value(total, rows, sizes)

    def _total(self, name: str, group: int | None) -> Any:
        wanted = range(len(self.groups)) if group is None else [group]
        found = [self.sums[name, code] for code in wanted if (name, code) in self.sums]
        return sum(found[1:], start=found[0]) if found else None


def measure_chunks(
    models: Any,
    table: ChunkedRows,
    names: Sequence[str],
    *,
    groups: Any,
    baseline: ArrayLike | None,
    options: Mapping[str, Any],
    order: NDArray[np.int_],
    sizes: NDArray[np.int_],
) -> Found:
    """Compute every measure's sums in one pass over the rows."""
    column = read_column(table, groups) if isinstance(groups, str) else groups
    nobody = np.zeros(table.n, dtype=np.int8), [None]
    codes, found = nobody if column is None else group_codes(column, table.n)
    beside: dict[str, Any] = {"group": codes}
    if baseline is not None:
        beside["baseline"] = np.asarray(baseline, dtype=float)
    everyone = np.array_equal(order, np.arange(models.n_draws))
    best = getattr(models, "best_scores", None)
    of_block = _ChunkSums(
        models if everyone else models[order], best, tuple(names), dict(options), sizes
    )
    sums = table.with_targets(**beside).reduce(of_block, merge=_added)
    return Found(sums, found, not sums.get((_UNCERTAIN, 0), 0))


@dataclass(frozen=True, eq=False)
class _ChunkSums:
    """Contribution of a chunk of rows to every measure's sum."""

    models: Any  # in the order in which they are added
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
            options = measure.accepted_options({**self.options, "baseline": baseline})
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


FROM_LABELS = "computed from labels"
CURATOR = "Curator: computed from private rows, not private"
ALL = "All draws, those outside the Rashomon set included; not private on private rows"
_OWN = {
    "classification": [name for name in MEASURES if not name.startswith("delta")],
    "regression": ["range_width", "score_variance", "score_std"],
}
_WITH_TOLERANCE = [name for name in MEASURES if name.startswith("delta")]
_EVERYONE = "all rows"
_THREADS = 2
_TOP = 1 + 1e-9  # largest requested ψ relative to that of the draws, to allow for rounding


def multiplicity_table(
    models: Any,
    X: Any = None,
    *,
    psi: ArrayLike | None = None,
    groups: ArrayLike | pd.Series | str | None = None,
    measures: Sequence[str] | None = None,
    tolerance: float | None = None,
    kappa: float = 0.75,
    baseline: ArrayLike | None = None,
    inside_only: bool = True,
) -> pd.DataFrame:
    """Multiplicity measures of a Rashomon set on rows, by ψ and by group.

    Only draws inside the Rashomon set count: a private draw outside reflects the mechanism's
    noise, not the set. Membership depends on the losses on the private rows, so the table is for
    the curator, who may see those rows.

    Parameters
    ----------
    models : RashomonSet, PredictorSet or ReleasedSet
        Or any object with ``labels(X)`` or ``scores(X)``, ``task``, ``n_draws``, and, for
        ``inside_only`` or a curve, ``excess`` and ``psi``.
    X : array-like of shape (n_rows, n_features), ChunkedRows or Dask collection, optional
        Omitted for stored predictions, which have their own rows. Chunked rows are read once and
        not kept; with a schema, encode them first by ``table.through(clf.encoder_)``.
    psi : float or array-like of shape (n_psi,), optional
        Thresholds, at most that of the draws, which is the default: beyond it the draws inside
        are not uniform.
    groups : array-like of shape (n_rows,), or str, optional
        Group of each row; the table then lists every group after all rows. For chunked rows the
        name of a column suffices, which need not be a feature.
    measures : sequence of str, optional
        Keys of ``MEASURES``; by default all for the task, including those with a tolerance if one
        is given. A sign link has no probabilities: its scores are 0 and 1.
    tolerance : float, optional
        Smallest score change that is counted, in the units of the scores.
    kappa : float, default=0.75
        Smallest self-consistency for a decision.
    baseline : array-like of shape (n_rows,) or (n_rows, n_classes), optional
        Scores of the reference model. By default those of the certified best model if the set has
        one, else of the model of smallest loss, or of the first draw of a release.
    inside_only : bool, default=True
        Whether to exclude draws outside the set. A release requires False.

    Returns
    -------
    pandas.DataFrame
        Columns ``psi``, ``group`` ("all rows" for all), ``measure``, ``value``, ``sampled``
        ("lower bound" on the set's exact value, which more draws only raise, or "estimate"; "all
        draws", which is neither, if some may lie outside; "exact" for a complete set),
        ``models``, ``rows`` and ``note``: "computed from labels" for a spread or capacity of
        scores that are all 0 or 1. ``attrs["view"]`` states whether the table is the curator's.

    Raises
    ------
    ValueError
        If a shape or value is wrong, no draw is counted, or a ψ is beyond the draws'.
    TypeError
        If a measure does not suit the task, or needs a tolerance.
    CuratorOnlyError
        If ``models`` is a release and ``inside_only`` is true.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> asked = {"mechanism": "exact", "radius": 4.0, "n_draws": 9, "epsilon": 50.0}
    >>> models = RashomonClassifier(**asked, random_state=0).fit(X, y).rashomon_set_
    >>> table = multiplicity_table(models, X, measures=["ambiguity", "disagreement"])
    >>> table[["measure", "sampled"]].values.tolist()
    [['ambiguity', 'lower bound'], ['disagreement', 'estimate']]
    """
    need_set(models)
    names = _names(models, measures, tolerance)
    thresholds, order, sizes = _nested(models, psi, inside_only)
    if order.size == 0:
        raise ValueError(_empty_set_message(models, inside_only))
    options = {"tolerance": tolerance, "kappa": kappa}
    asked = _Request(models, X, names, groups, baseline, options, order, sizes)
    table, certain = _of_blocks(asked) if is_chunked(X) else _of_all(asked)
    frame = pd.DataFrame(table, columns=["place", "group", "measure", "value", "sampled", "rows"])
    place = frame.pop("place").to_numpy()
    frame.insert(0, "psi", thresholds[place])
    frame.insert(5, "models", sizes[place])
    if not inside_only:  # draws outside may exceed the set's own extremes
        frame["sampled"] = OF_ALL
    elif getattr(models, "complete", False):
        frame["sampled"] = EXACT
    certain = certain and models.task == "classification"
    of_scores = frame["measure"].map(lambda name: _kind(name) == "scores")
    frame["note"] = np.where(of_scores & certain, FROM_LABELS, "")
    frame.attrs["view"] = CURATOR if inside_only else ALL
    return frame


class _Request(NamedTuple):
    models: Any
    X: Any
    names: list[str]
    groups: Any
    baseline: Any
    options: dict[str, Any]
    order: NDArray[np.int_]
    sizes: NDArray[np.int_]


def _of_all(asked: _Request) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows of the table, and whether all scores are 0 or 1."""
    names, order, sizes = asked.names, asked.order, asked.sizes
    values, reference = _values(asked.models, asked.X, names, asked.baseline, int(order[0]))
    parts = _parts(asked.groups, next(iter(values.values())).shape[1])
    first = {get_measure(name).of: name for name in names}
    prepared = {of: get_measure(name).prepare(values[_kind(name)]) for of, name in first.items()}

    def rows_of(name: str) -> list[tuple[Any, ...]]:
        chosen = get_measure(name).accepted_options({**asked.options, **reference[_kind(name)]})
        return _rows(name, prepared[get_measure(name).of], chosen, parts, order, sizes)

    with ThreadPoolExecutor(_THREADS) as pool:  # NumPy releases the GIL
        table = [row for rows in pool.map(rows_of, names) for row in rows]
    return table, "scores" in values and only_labels(values["scores"])


def _of_blocks(asked: _Request) -> tuple[list[tuple[Any, ...]], bool]:
    found = measure_chunks(
        asked.models,
        as_chunked_rows(asked.X),
        asked.names,
        groups=asked.groups,
        baseline=asked.baseline,
        options=asked.options,
        order=asked.order,
        sizes=asked.sizes,
    )
    named = [] if asked.groups is None else list(enumerate(found.groups))
    _refuse_everyone(found.groups)
    table = [
        (place, group, name, float(value), get_measure(name).sampled, found.rows(code))
        for name in asked.names
        for code, group in [(None, _EVERYONE), *named]
        for place, value in enumerate(found.curve(name, code, asked.sizes))
    ]
    return table, found.certain


def _rows(
    name: str,
    prepared: Any,
    options: dict[str, Any],
    parts: Mapping[Any, Mask],
    order: NDArray[np.int_],
    sizes: NDArray[np.int_],
) -> list[tuple[Any, ...]]:
    measure, rows = get_measure(name), []
    for group, mask in parts.items():
        curve = np.full(len(sizes), np.nan)
        if mask.any():
            some = None if mask.all() else mask
            curve = measure_rows(measure, prepared, some, options=options, sizes=sizes, order=order)
        count = int(mask.sum())
        rows += [
            (place, group, name, float(value), measure.sampled, count)
            for place, value in enumerate(curve)
        ]
    return rows


def _parts(groups: ArrayLike | pd.Series | None, n_rows: int) -> dict[Any, Mask]:
    masks = {} if groups is None else group_masks(groups, n_rows)
    _refuse_everyone(masks)
    return {_EVERYONE: np.ones(n_rows, dtype=bool), **masks}


def _refuse_everyone(groups: Collection[Any]) -> None:
    if _EVERYONE in groups:
        raise ValueError(f"groups must not contain {_EVERYONE!r}: the name stands for every row")


def _names(models: Any, measures: Sequence[str] | None, tolerance: float | None) -> list[str]:
    if measures is None:
        return _OWN[models.task] + (_WITH_TOLERANCE if tolerance is not None else [])
    if isinstance(measures, str) or not len(measures):
        raise ValueError(f"measures must be a list of names, at least one, got {measures!r}")
    allowed = set(_OWN[models.task]) | set(_WITH_TOLERANCE)
    for name in measures:
        if name not in allowed | set(MEASURES):
            get_measure(name)
        if name not in allowed:
            raise TypeError(f"{name} needs classes: for a regression use {sorted(allowed)}")
        refuse_options(name, {} if tolerance is None else _tolerance(name, tolerance))
    return list(measures)


def _tolerance(name: str, tolerance: float) -> dict[str, float]:
    return {"tolerance": tolerance} if name in _WITH_TOLERANCE else {}


def _nested(
    models: Any, psi: ArrayLike | None, inside_only: bool
) -> tuple[FloatArray, NDArray[np.int_], NDArray[np.int_]]:
    """Thresholds, the counted models in order of addition, and their number per threshold."""
    if psi is None and not inside_only:
        count = int(models.n_draws)
        return np.array([np.nan]), np.arange(count), np.array([count])
    try:
        excess = np.asarray(models.excess, dtype=float)
    except CuratorOnlyError as error:
        raise CuratorOnlyError(
            f"{error}; it is unknown which draws lie inside: use inside_only=False for measures of "
            "all released draws, including those outside"
        ) from error
    if not inside_only:
        raise ValueError("psi selects the draws within it: omit psi for all draws")
    drawn = float(models.psi)
    wanted = np.atleast_1d(np.asarray(drawn if psi is None else psi, dtype=float))
    if wanted.ndim != 1 or not (wanted >= 0).all() or not (wanted <= drawn * _TOP).all():
        raise ValueError(
            f"psi must be between 0 and {drawn:g}, the threshold of the draws, got "
            f"{wanted.tolist()}: draws inside a larger set would not be uniform on it"
        )
    order, sizes = nest(_capped_excess(models, excess, drawn), wanted, len(excess))
    return wanted, order[: sizes.max()], sizes


def _capped_excess(models: Any, excess: FloatArray, psi: float) -> FloatArray:
    """Excess losses, capped at ψ for draws that the sampler found to be inside."""
    if not (hasattr(models, "losses") and hasattr(models, "least")):
        return excess
    inside = np.asarray(models.losses) <= models.least + psi
    return np.where(inside, np.minimum(excess, psi), np.maximum(excess, np.nextafter(psi, np.inf)))


def _values(
    models: Any, X: Any, names: Sequence[str], baseline: ArrayLike | None, least: int
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Labels and scores that the measures need, and those of the reference model."""
    kinds = {_kind(name) for name in names}
    reference: Any = least
    if baseline is not None:
        reference = np.asarray(baseline, dtype=float)
    elif hasattr(models, "best_scores"):
        reference = np.asarray(models.best_scores(X))
    values: dict[str, Any] = {}
    if "scores" in kinds:
        values["scores"] = np.asarray(models.scores(X))
    if "labels" in kinds:
        values["labels"] = np.asarray(models.labels(X))
    of_labels = reference if isinstance(reference, int) else _labels(reference)
    return values, {"scores": {"baseline": reference}, "labels": {"baseline": of_labels}}


def _labels(scores: FloatArray) -> NDArray[np.int_]:
    """Labels as a set predicts them: the likeliest class, the first at ½."""
    return np.asarray(scores.argmax(axis=-1) if scores.ndim == 2 else (scores > 0.5).astype(int))


def _kind(name: str) -> str:
    return "labels" if get_measure(name).of == "labels" else "scores"


def _empty_set_message(models: Any, inside_only: bool) -> str:
    if not models.n_draws:
        return "models holds no draws: fit with n_draws of at least 1"
    return (
        f"none of the {models.n_draws} draws lies in the Rashomon set: raise epsilon or psi"
        + ", or use inside_only=False to include draws outside it" * inside_only
    )
