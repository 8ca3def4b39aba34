"""Measures by name, the terms of the glossary, and the table by threshold and by group."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask, likeliest
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import thread_map
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import inputs
from rashomon_explorer.measures.multiplicity import capacity, labels, scores
from rashomon_explorer.measures.multiplicity.measure import EXACT, OF_ALL, PREPARE, Measure, Sizes
from rashomon_explorer.rows.chunked import read_column
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        labels.AMBIGUITY,
        labels.DISCREPANCY,
        labels.ANY_PAIR_DISCREPANCY,
        labels.OBSCURITY,
        labels.DISAGREEMENT,
        labels.SELF_CONSISTENCY,
        labels.ABSTENTION,
        labels.COHEN_KAPPA,
        labels.PATTERN_COUNT,
        labels.PATTERN_DIVERSITY,
        scores.DELTA_AMBIGUITY,
        scores.DELTA_DISCREPANCY,
        scores.DELTA_OBSCURITY,
        scores.RANGE_WIDTH,
        scores.SCORE_VARIANCE,
        scores.SCORE_STD,
        capacity.RASHOMON_CAPACITY,
    )
}


def get_measure(name: str) -> Measure:
    """Measure by its name."""
    if name not in MEASURES:
        raise ValueError(f"measure must be one of {sorted(MEASURES)}, got {name!r}")
    return MEASURES[name]


def refuse_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise TypeError for options that the measure does not take."""
    allowed = get_measure(name).options
    strange = sorted(set(options) - set(allowed))
    if strange:
        raise TypeError(f"{name} takes the options {list(allowed)}, got {strange}")
    if "tolerance" in allowed and "tolerance" not in options:
        raise TypeError(f"{name} needs tolerance=, the smallest score change that is counted")


TERMS = {
    "Rashomon set": (
        "G = {θ ∈ C : L(θ) ≤ min L + ψ}, where L is the mean loss over the rows plus the ridge "
        "penalty, and C is the declared set of models"
    ),
    "Excess": "L(θ) − min L, with the certified minimum",
    "Hit rate": "share of the draws whose excess is at most ψ",
    "Draw": (
        "a model drawn with density ∝ exp(−β·max{L, min L + ψ}) on C (Ganesh, Thakurta and "
        "Upadhyay 2023); β is the inverse temperature"
    ),
    "Sparse tree": (
        "a tree with few leaves over declared yes-or-no questions, none repeated on a path; two "
        "sibling leaves predict different labels; a leaf may predict any label and may contain no "
        "rows"
    ),
    "Draw of a tree": (
        "a tree with probability ∝ exp(−β·max{L, min L + s}) among all sparse trees, where L is "
        "the share of errors plus a penalty per leaf, and s ≤ ψ is the threshold of the mechanism"
    ),
    "(ε, δ)-DP": (
        "for data sets that differ in one record and every event E: "
        "P(E) ≤ e^ε·P'(E) + δ (Dwork, McSherry, Nissim and Smith 2006)"
    ),
    "Bounded range": (
        "log-density ratios of neighbours lie in an interval of width η, which is η-DP and "
        "η²/8-zCDP (Cesar and Rogers 2021)"
    ),
    "Trade-off": (
        "least type II error of a test between neighbours at each type I error (Dong, Roth and Su "
        "2022); μ-GDP is that of two unit normal distributions with means μ apart"
    ),
    "Exact range": "[min, max] over the whole of G, by convex programmes with proved bounds",
    "Permutation importance": "increase of the loss when a feature is shuffled",
    "Model class reliance": (
        "[min, max] over G of the loss with a feature switched between rows, minus the loss "
        "(Fisher, Rudin and Dominici 2019)"
    ),
}


FROM_LABELS = "computed from labels"
CURATOR = "Curator: computed from private rows, not private"
ALL = "All draws, those outside the Rashomon set included; not private on private rows"
_EVERYONE = "all rows"
_ROWS = "number of rows"
_UNCERTAIN = "scores that are no labels"
_CELLS = 2**21  # models × rows × classes in memory at a time: 16 MB per thread
_THREADS = 2
_TOP = 1 + 1e-9  # largest requested ψ relative to that of the draws, to allow for rounding

Sums = dict[tuple[int | None, str], Any]
"""Sums over rows by group, None for all rows, and by the first measure with that kernel."""


@inputs.by_index
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
    models : RashomonSet, PredictorSet, ReleasedSet or fitted Rashomon estimator
        Or any object with ``labels(X)`` or ``scores(X)``, ``task``, ``n_draws``, and, for
        ``inside_only`` or a curve, ``excess`` and ``psi``.
    X : DataFrame or array-like of shape (n_rows, n_features), chunked rows or Dask, optional
        The table that the estimator took; omitted for stored predictions, which have their own
        rows. Chunked rows are read once and not kept.
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
    >>> settings = {"mechanism": "exact", "radius": 4.0, "n_draws": 9, "epsilon": 50.0}
    >>> models = RashomonClassifier(**settings, random_state=0).fit(X, y).rashomon_set_
    >>> table = multiplicity_table(models, X, measures=["ambiguity", "disagreement"])
    >>> table[["measure", "sampled"]].values.tolist()
    [['ambiguity', 'lower bound'], ['disagreement', 'estimate']]
    """
    models, X = inputs.set_and_rows(models, X)
    inputs.need_set(models)
    names = _names(models, measures, tolerance)
    thresholds, order, sizes = _nested(models, psi, inside_only)
    if order.size == 0:
        if not models.n_draws:
            raise ValueError("models holds no draws: fit with n_draws of at least 1")
        raise ValueError(
            f"none of the {models.n_draws} draws lies in the Rashomon set: raise epsilon or psi"
            + ", or use inside_only=False to include draws outside it" * inside_only
        )
    task = _Task(tuple(names), {"tolerance": tolerance, "kappa": kappa}, sizes)
    compute = _chunked_sums if is_chunked(X) else _sums_in_memory
    sums, group_names = compute(task, models, X, groups, baseline, order)
    if _EVERYONE in group_names:
        raise ValueError(f"groups must not contain {_EVERYONE!r}: the name stands for every row")
    frame = pd.DataFrame(
        [
            (thresholds[index], group, name, value, get_measure(name).sampled, sizes[index], n_rows)
            for name in names
            for code, group in [(None, _EVERYONE), *enumerate(group_names)]
            for n_rows in [int(sums.get((code, _ROWS), 0))]
            for index, value in enumerate(task.curve(sums, name, code).tolist())
        ],
        columns=["psi", "group", "measure", "value", "sampled", "models", "rows"],
    )
    if not inside_only:  # draws outside may exceed the set's own extremes
        frame["sampled"] = OF_ALL
    elif getattr(models, "complete", False):
        frame["sampled"] = EXACT
    certain = models.task == "classification" and not sums[None, _UNCERTAIN]
    of_scores = frame["measure"].map(lambda name: get_measure(name).of != "labels")
    frame["note"] = np.where(of_scores & certain, FROM_LABELS, "")
    frame.attrs["view"] = CURATOR if inside_only else ALL
    return frame


@dataclass(frozen=True, eq=False)
class _Task:
    """Measures of a table, their options, and the numbers of models."""

    names: tuple[str, ...]
    options: dict[str, Any]
    sizes: Sizes

    @property
    def kinds(self) -> set[str]:
        """Inputs of the measures."""
        return {get_measure(name).of for name in self.names}

    @property
    def kernels(self) -> dict[Callable[..., Any], list[str]]:
        """Names of the measures with each kernel."""
        names_by_kernel: dict[Callable[..., Any], list[str]] = {}
        for name in self.names:
            names_by_kernel.setdefault(get_measure(name).kernel, []).append(name)
        return names_by_kernel

    def sums(
        self,
        predictions: Mapping[str, inputs.Predictions],
        codes: NDArray[Any] | None,
        run: Callable[..., Any] = map,
    ) -> Sums:
        """Sum over the rows of a chunk, over all of them and over each group that occurs."""
        n_rows = next(iter(predictions.values())).values.shape[1]
        masks: dict[int | None, Mask] = {None: np.ones(n_rows, dtype=bool)}
        if codes is not None:
            masks |= {int(code): codes == code for code in np.unique(codes)}
        parts = [(code, names) for names in self.kernels.values() for code in masks]

        def kernel_sums(code: int | None, names: list[str]) -> Any:
            first = get_measure(names[0])
            options: dict[str, Any] = {}
            for name in names:
                options |= get_measure(name).own_options(self.options)
            some = predictions[first.of].select_rows(masks[code])
            return first.kernel(some, inputs.model_steps(some.values, self.sizes), **options)

        totals = progress(run(kernel_sums, *zip(*parts, strict=True)), "measures", total=len(parts))
        sums = {(code, names[0]): total for (code, names), total in zip(parts, totals, strict=True)}
        return sums | {(code, _ROWS): np.count_nonzero(mask) for code, mask in masks.items()}

    def curve(self, sums: Sums, name: str, group: int | None) -> FloatArray:
        """Measure of a group's rows for each number of models; NaN without rows."""
        measure = get_measure(name)
        total = sums.get((group, self.kernels[measure.kernel][0]))
        if total is None:
            return np.full(len(self.sizes), np.nan)
        return measure.at(total, int(sums[group, _ROWS]), self.sizes)


def _sums_in_memory(
    task: _Task, models: Any, X: Any, groups: Any, baseline: Any, order: NDArray[np.int_]
) -> tuple[Sums, list[Any]]:
    """Sum over all rows as one chunk; returns the sums and the names of the groups."""
    reference: Any = int(order[0])
    if baseline is not None:
        reference = np.asarray(baseline, dtype=float)
    elif hasattr(models, "best_scores"):
        reference = np.asarray(models.best_scores(X))
    predictions, certain = {}, False
    if task.kinds - {"labels"}:
        scores = np.asarray(models.scores(X))
        certain = inputs.only_labels(scores)
        for kind in task.kinds - {"labels"}:
            predictions[kind] = PREPARE[kind](scores, reference).select_models(order)
    if "labels" in task.kinds:
        label = reference if np.ndim(reference) == 0 else likeliest(reference[None])[0]
        coded = inputs.Predictions.from_labels(models.labels(X), label)
        predictions["labels"] = coded.select_models(order)
    n_rows = next(iter(predictions.values())).values.shape[1]
    codes, names = (None, []) if groups is None else inputs.group_codes(groups, n_rows)
    with thread_map(_THREADS) as run:  # NumPy releases the GIL
        sums = task.sums(predictions, codes, run)
    return sums | {(None, _UNCERTAIN): int(not certain)}, names


def _chunked_sums(
    task: _Task, models: Any, X: Any, groups: Any, baseline: Any, order: NDArray[np.int_]
) -> tuple[Sums, list[Any]]:
    """Sum over all chunks in one pass; returns the sums and the names of the groups."""
    table = as_chunked_rows(X)
    columns: dict[str, Any] = {"row": np.zeros(table.n, dtype=np.int8)}
    names: list[Any] = []
    if groups is not None:
        column = read_column(table, groups) if isinstance(groups, str) else groups
        columns["group"], names = inputs.group_codes(column, table.n)
    if baseline is not None:
        columns["baseline"] = np.asarray(baseline, dtype=float)
    everyone = np.array_equal(order, np.arange(models.n_draws))
    best = getattr(models, "best_scores", None)
    chunk = partial(_chunk_sums, task, models if everyone else models[order], best)
    step = max(1, _CELLS // (len(order) * max(1, models.n_classes)))
    return inputs.sum_chunks(table, chunk, step, **columns), names


def _chunk_sums(
    task: _Task, models: Any, best: Callable[[Any], Any] | None, rows: FloatArray, columns: Any
) -> Sums:
    """Sum over the rows of a chunk, for models in the order in which they are added."""
    scores = np.asarray(models.scores(rows))
    reference: Any = scores[0]
    if "baseline" in columns.dtype.names:
        reference = np.ascontiguousarray(columns["baseline"])
    elif best is not None:
        reference = np.asarray(best(rows))
    kinds = task.kinds
    predictions = {kind: PREPARE[kind](scores, reference) for kind in kinds - {"labels"}}
    if "labels" in kinds:
        labels = likeliest(scores).astype(np.uint8), likeliest(reference[None])[0]
        classes = np.arange(max(2, models.n_classes))
        predictions["labels"] = inputs.Predictions(labels[0], classes, labels[1])
    codes = columns["group"] if "group" in columns.dtype.names else None
    uncertain = int(not inputs.only_labels(scores))
    return task.sums(predictions, codes) | {(None, _UNCERTAIN): uncertain}


def _names(models: Any, measures: Sequence[str] | None, tolerance: float | None) -> list[str]:
    """Names of the requested measures, or of all for the task."""
    allowed = [
        name
        for name, measure in MEASURES.items()
        if measure.of == "scores" or models.task == "classification"
    ]
    if measures is None:
        untuned = [name for name in allowed if "tolerance" not in MEASURES[name].options]
        return untuned + [name for name in allowed if name not in untuned and tolerance is not None]
    if isinstance(measures, str) or not len(measures):
        raise ValueError(f"measures must be a list of names, at least one, got {measures!r}")
    for name in measures:
        takes = get_measure(name).options
        if name not in allowed:
            raise TypeError(f"{name} needs classes: for a regression use {sorted(allowed)}")
        options = {"tolerance": tolerance} if "tolerance" in takes and tolerance is not None else {}
        refuse_options(name, options)
    return list(measures)


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
    thresholds = np.atleast_1d(np.asarray(drawn if psi is None else psi, dtype=float))
    if (
        thresholds.ndim != 1
        or not (thresholds >= 0).all()
        or not (thresholds <= drawn * _TOP).all()
    ):
        raise ValueError(
            f"psi must be between 0 and {drawn:g}, the threshold of the draws, got "
            f"{thresholds.tolist()}: draws inside a larger set would not be uniform on it"
        )
    if hasattr(models, "losses") and hasattr(models, "least"):
        # Draws that the sampler found to be inside have an excess of at most ψ.
        inside = np.asarray(models.losses) <= models.least + drawn
        outer = np.maximum(excess, np.nextafter(drawn, np.inf))
        excess = np.where(inside, np.minimum(excess, drawn), outer)
    order = np.argsort(excess, kind="stable")
    sizes = np.searchsorted(excess[order], thresholds, side="right")
    return thresholds, order[: sizes.max()], sizes
