"""Fairness audit of a Rashomon set, and multiplicity by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer.measures.fairness import gaps, rates
from rashomon_explorer.measures.inputs import by_index, set_and_rows, sum_chunks
from rashomon_explorer.measures.multiplicity.table import CURATOR, multiplicity_table
from rashomon_explorer.measures.ranges import exact
from rashomon_explorer.measures.ranges.people import draws_in_range
from rashomon_explorer.privacy.guarantee import guarantee_text
from rashomon_explorer.rows import ChunkedRows, chunked, coercion

if TYPE_CHECKING:
    from rashomon_explorer.sets import CuratorSet


_CELLS = 2**21  # models × rows × classes in memory at a time
_ROUNDING = 1e-12  # rounding tolerance: 0.3 − 0.1 and 0.2 − 0 are the same gap


@dataclass(frozen=True, eq=False, repr=False)
class FairnessAudit(ReprMixin):
    """Quality and group gaps of every model inside ψ.  Curator: computed from private rows.

    Returned by :func:`fairness_audit`. It is not private, even if the draws are. Selecting a model
    by it is not post-processing of the draws: the selection depends on the private rows, so the
    selected model has no privacy guarantee.

    Parameters
    ----------
    models : RashomonSet or PredictorSet
        All models, also those outside ψ.
    X : array-like of shape (n_rows, n_features), ChunkedRows or None
    task : FairnessTask
        Truth, groups and metrics.
    psi : float
    table : pandas.DataFrame
        One row per model inside ψ, with its index in ``models`` as ``model``; columns ``loss``,
        ``excess``, ``accuracy`` (for a regression ``mean_absolute_error``) and the gaps. Losses are
        on the rows that the set was drawn from, accuracy and gaps on the rows given.
    best : pandas.Series
        The same values for the best model.
    values : dict of str to ndarray of shape (n_models + 1, n_groups + 1)
        Each rate of each model inside ψ, and last of the best model; in each group, and last over
        all rows. ``overall``, ``by_group``, ``difference()`` and ``ratio()`` are its ranges.
    """

    models: Any
    X: Any
    task: gaps.FairnessTask
    psi: float
    table: pd.DataFrame
    best: pd.Series
    values: gaps.RateValues

    @property
    def overall(self) -> pd.DataFrame:
        """Range of each rate over all rows: columns of :meth:`difference`, one row per rate."""
        return self._intervals({name: table[:, -1] for name, table in self.values.items()}, "rate")

    @property
    def by_group(self) -> pd.DataFrame:
        """Range of each rate in each group: columns of :meth:`difference`."""
        texts = self.task.groups.texts
        columns = {
            (rate, text): table[:, column]
            for rate, table in self.values.items()
            for column, text in enumerate(texts)
        }
        return self._intervals(columns, ["rate", "group"])

    def difference(self, *, method: str | None = None) -> pd.DataFrame:
        """Range over the models inside ψ of each metric's largest difference between groups.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}, optional
            As for :func:`fairness_gaps`; by default the audit's.

        Returns
        -------
        pandas.DataFrame
            One row per metric: ``best`` (of the best model), ``lower`` and ``upper`` over the
            models inside and the best one, and ``sampled``: "inner bound" (the set's own range is
            at least as wide), or "exact" for a complete set.
        """
        return self._gap_range("difference", self.task.metrics, method)

    def ratio(self, *, method: str | None = None) -> pd.DataFrame:
        """Range of each metric's smallest ratio of groups, as :meth:`difference`.

        Metrics that may be negative have none.
        """
        signed = [name for name, rate in gaps.RATES.items() if rate.signed]
        names = [name for name in self.task.metrics if name not in signed]
        return self._gap_range("ratio", names, method)

    def _gap_range(self, agg: str, names: Sequence[str], method: str | None) -> pd.DataFrame:
        method = self.task.method if method is None else method
        gaps.check_kinds(agg, method)
        table = gaps.gap_table(names, self.values, agg, method)
        return self._intervals(dict(table.items()), "metric")

    def _intervals(self, columns: Mapping[Any, Any], names: Any) -> pd.DataFrame:
        """Best, least and greatest value (n_models + 1,) of each column, the best model's last."""
        table = pd.DataFrame(columns)
        ends = {"best": table.iloc[-1], "lower": table.min(), "upper": table.max()}
        ranges = pd.DataFrame({**ends, "sampled": self._sampled}).rename_axis(index=names)
        ranges.attrs.update(view=CURATOR, psi=self.psi, left_out=self.left_out)
        return ranges

    @property
    def _sampled(self) -> str:
        return "exact" if self.models.complete else "inner bound"

    @property
    def gaps(self) -> list[str]:
        """Names of the gaps in ``table``."""
        return [f"{name}_{self.task.agg}" for name in self.task.metrics]

    @property
    def left_out(self) -> dict[str, str]:
        """Default metrics that are undefined for some group, and why."""
        return self.task.left_out

    @property
    def quality(self) -> str:
        """Name of the quality column: accuracy, or mean absolute error."""
        return gaps.QUALITY[self.task.task]

    def _title(self) -> str:
        groups = ", ".join(self.task.groups.texts)
        return f"FairnessAudit of {groups}: {len(self.table):,} of {len(self.models):,} models"

    def _facts(self) -> list[Fact]:
        guarantee, table = self.models.guarantee, self.table[self.gaps]
        return [
            ("curator", "not private: computed from the rows"),
            ("inside", f"ψ = {self.psi:g}"),
            *((str(name), f"{gap.min():.3f} to {gap.max():.3f}") for name, gap in table.items()),
            ("draws", guarantee_text(guarantee) if guarantee.holds else "no guarantee"),
        ]

    def ranges(self, problem: Any = None) -> pd.DataFrame:
        """Range of each gap over the models inside ψ, the best one included.

        Parameters
        ----------
        problem : Problem or PenalisedProblem, optional
            The problem of linear draws. The table then also has the signed difference of the mean
            linear scores of every pair of groups, with the exact ends of its range over the
            whole set (:func:`exact_group_gap`).

        Returns
        -------
        pandas.DataFrame
            One row per gap; columns ``best``, ``low``, ``median``, ``high``, ``share_fairer``
            (share of the models that are fairer than the best one), ``models`` and ``sampled``:
            "inner bound" (the set's own range is at least as wide), or "exact" for a complete set.
            With a problem also ``exact_low`` and ``exact_high``, NaN if the gap is not linear.

        Raises
        ------
        ValueError
            If a draw lies outside the exact range: the problem has other rows or another ψ.
        """
        values, best = self.table[self.gaps], self.best[self.gaps]
        unfair, limit = self._unfairness(values), self._unfairness(best)
        table = _ranges(values, best, (unfair < limit - _ROUNDING * limit.abs()).mean())
        if problem is not None:
            groups = np.asarray(self.task.groups.texts)[self.task.groups.codes]
            signed, exact_gaps = margin_gaps(
                self.models, self.table.index, problem, self.X, groups, self.psi
            )
            fairer = (signed.abs() < exact_gaps["best"].abs()).mean()
            table = pd.concat([table, _ranges(signed, exact_gaps["best"], fairer)])
            table["exact_low"] = exact_gaps["low_outer"]
            table["exact_high"] = exact_gaps["high_outer"]
        table.insert(5, "models", len(self.table))
        table.insert(6, "sampled", self._sampled)
        table.attrs.update(view=CURATOR, psi=self.psi, left_out=self.left_out)
        return table

    def frontier(self, gap: str, *, by: str | None = None, with_best: bool = False) -> pd.DataFrame:
        """Models inside ψ that no other model inside beats at both quality and gap.

        Parameters
        ----------
        gap : one of ``gaps``
        by : ``quality``, which is the default, or ``"loss"``
        with_best : whether the best model competes, which is no draw; its row is ``"best"``

        Returns
        -------
        pandas.DataFrame
            Rows of ``table``, ordered from the best quality.
        """
        self._column(gap)  # which checks the name
        name = self.quality if by is None else by
        if name not in (self.quality, "loss"):
            raise ValueError(f"by must be {self.quality!r} or 'loss', got {by!r}")
        side = "accuracy" if name == "accuracy" else "losses"
        best = [self.best.rename("best").to_frame().T] if with_best else []
        table = pd.concat([self.table, *best])
        unfair = self._unfairness(table[gap].astype(float))
        undominated = gaps.frontier(_rounded(unfair), **{side: table[name].astype(float)})
        return table.iloc[undominated.index]

    def least_unfair(
        self, gap: str, *, psi: float | None = None, min_accuracy: float | None = None
    ) -> pd.Series:
        """Fairest model inside ψ by one gap; ties are broken by the smallest loss.

        The gap of the selected model is biased downwards, as the minimum over many models with
        sampling error. Evaluate it on rows that were not used for the selection.

        Parameters
        ----------
        gap : one of ``gaps``
        psi : largest excess loss, at most the audit's ψ, which is the default
        min_accuracy : smallest accuracy, for classification

        Returns
        -------
        pandas.Series
            Its row of ``table``; ``name`` is its index in ``models``.
        """
        unfair = _rounded(self._unfairness(self._column(gap)).dropna())
        table = self.table.loc[unfair.index]
        if psi is not None:
            if not 0 <= psi <= self.psi:
                raise ValueError(f"psi must be in [0, {self.psi:g}], the audit's psi, got {psi!r}")
            table = table[table["loss"] <= self.models.least + psi]
        if min_accuracy is not None:
            if self.quality != "accuracy":
                raise ValueError("min_accuracy is for classification: use psi for a regression")
            table = table[table["accuracy"] >= min_accuracy]
        if table.empty:
            raise ValueError(
                f"none of the {len(self.table)} models inside remains: raise psi or lower "
                "min_accuracy"
            )
        order = np.lexsort((table["loss"], unfair.loc[table.index]))
        return table.iloc[order[0]]

    def rates(self, rate: str) -> pd.DataFrame:
        """Rate (models inside ψ, groups) by its key in ``LABEL_RATES``, for classifiers."""
        gaps.check_names([rate], rates.LABEL_RATES)
        if self.task.task != "classification":
            raise ValueError("rates of labels need classifiers, but these models are regressors")
        sizes = {rate: self.task.sizes(rate)}
        sums = task_sums(self.task, self.X, self.models[self.table.index], [rate])
        values = gaps.rate_values(sums, sizes)[rate][:, :-1]
        return pd.DataFrame(values, self.table.index, self.task.groups.index())

    def _column(self, gap: str) -> pd.Series:
        if gap not in self.gaps:
            raise ValueError(f"gap must be one of {self.gaps}, got {gap!r}")
        return self.table[gap]

    def _unfairness(self, values: Any) -> Any:
        return 1 - values if self.task.agg == "ratio" else values


def _rounded(unfair: pd.Series) -> pd.Series:
    step = _ROUNDING * (unfair.abs().max() or 1.0)
    return (unfair / step).round() * step


def _ranges(values: pd.DataFrame, best: pd.Series, fairer: pd.Series) -> pd.DataFrame:
    # The best model also lies in the set, so it may widen the range of the draws.
    candidates = pd.concat([values, best.to_frame().T], ignore_index=True)
    columns = {
        "best": best,
        "low": candidates.min(),
        "median": values.median(),
        "high": candidates.max(),
        "share_fairer": fairer,
    }
    return pd.DataFrame(columns).rename_axis(index="gap")


def margin_gaps(
    models: Any, members: pd.Index, problem: Any, X: Any, groups: ArrayLike, psi: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Signed gaps (models, pairs of groups) of linear models, and their exact ranges."""
    coef = getattr(models, "coef", None)
    if coef is None or coef.shape[1] != problem.p:
        raise TypeError(
            "exact ranges need linear models with the parameters of the problem; omit problem"
        )
    directions, names = exact.gap_directions(problem, X, np.asarray(groups))
    labels = pd.Index([f"mean_margin: {name}" for name in names])
    ranges = exact.exact_ranges(problem, psi, directions, names=labels)
    values = coef[members] @ directions.T
    draws_in_range(values, ranges)
    return pd.DataFrame(values, members, labels), ranges


@by_index
def fairness_audit(
    models: CuratorSet,
    X: Any,
    y: ArrayLike | None,
    groups: rates.GroupsLike | str,
    *,
    metrics: Sequence[str] | None = None,
    psi: float | None = None,
    positive: Any = None,
    agg: str = "difference",
    method: str = "between_groups",
    n_bins: int = 10,
) -> FairnessAudit:
    """Compute quality and group gaps of every model of the Rashomon set.

    **Curator: computed from private rows, not private.** Only models inside ψ count: a private
    draw outside reflects the mechanism's noise, not the set.

    Parameters
    ----------
    models : RashomonSet or PredictorSet
    X : DataFrame or array-like of shape (n_rows, n_features), chunked rows or Dask
        The table that the estimator took; None for stored predictions. Chunked rows are
        read once and not kept, except for targets and groups.
    y : array-like of shape (n_rows,)
        Labels or targets in the estimator's original form; None for those of chunked rows.
    groups : array-like of shape (n_rows,), table of shape (n_rows, n_attributes), or str
        Group of each row; for several attributes every combination that occurs is a group. For
        chunked rows the name of a column or a list of names suffices.
    metrics : sequence of str, optional
        Keys of ``LABEL_GAPS`` or ``SCORE_GAPS``. By default demographic parity, equal
        opportunity, equalised odds, accuracy and both calibration gaps; for a regression the gaps
        of mean prediction, mean absolute error and mean residual. A metric that is undefined for
        some group raises an error if requested by name, and otherwise is listed in ``left_out``.
    psi : float, optional
        A threshold, at most the set's own, which is the default.
    positive : label, optional
        The class to which rates and scores refer; of two classes by default the second.
    agg : {"difference", "ratio"}, default="difference"
    method : {"between_groups", "to_overall"}, default="between_groups"
    n_bins : int, default=10
        Number of bins of the expected calibration error.

    Raises
    ------
    ValueError
        If a shape, value or name is wrong, a rate is undefined for a group, or no model lies
        inside.
    CuratorOnlyError
        If given a release, which does not state which draws lie inside.
    TypeError
        If ``models`` is of another type.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> chances = [[0.9, 0.2, 0.4, 0.1], [0.8, 0.1, 0.6, 0.2], [0.7, 0.6, 0.4, 0.6]]
    >>> models = from_predictions(chances, [1, 0, 1, 0], psi=1.0)
    >>> audit = fairness_audit(models, None, [1, 0, 1, 0], list("aabb"), metrics=["accuracy_score"])
    >>> audit.ranges()[["best", "low", "high"]].values.tolist()
    [[0.0, 0.0, 0.5]]
    >>> audit.by_group.loc["accuracy_score", ["lower", "upper"]].values.tolist()
    [[0.5, 1.0], [0.0, 1.0]]
    >>> int(audit.least_unfair("accuracy_score_difference").name)
    1
    """
    models, X = set_and_rows(models, X)
    gaps.need_curator(models, "fairness_gaps(released.labels(X), y, groups)")
    blocks = coercion.as_chunked_rows(X) if coercion.is_chunked(X) else None
    if blocks is not None:
        y, groups = _named_columns(blocks, y, groups)
    if y is None:
        raise TypeError("y may be omitted only for chunked rows, which have their own")
    task = gaps.FairnessTask.from_models(
        models, y, groups, metrics, positive, agg=agg, method=method, n_bins=n_bins
    )
    inside = models.inside(psi)
    members = np.flatnonzero(np.asarray(models.losses) <= models.least + inside.psi)
    if not len(members):
        raise ValueError(
            f"none of the {models.n_draws} models lies in the Rashomon set: raise epsilon or psi"
        )
    rows = X if blocks is None else blocks
    sizes = task.rates
    sums = task_sums(task, rows, inside, list(sizes), best=models)
    values = gaps.rate_values(sums, sizes)
    table = task.table(sums, values)
    losses = np.append(np.asarray(inside.losses), models.least)
    table.insert(0, "loss", losses)
    table.insert(1, "excess", losses - models.least)
    best = table.iloc[-1].rename("best")
    table = table.iloc[:-1].set_index(pd.Index(members, name="model"))
    table.attrs.update(view=CURATOR, psi=inside.psi)
    return FairnessAudit(models, rows, task, inside.psi, table, best, values)


def task_sums(
    task: gaps.FairnessTask, X: Any, models: Any, names: Sequence[str], best: Any = None
) -> dict[str, NDArray[Any]]:
    """Sum quality and rates over all rows, (n_models, …); of the best model of ``best`` last."""
    if isinstance(X, ChunkedRows):
        chunk = partial(_chunk_sums, task, names, models, best)
        step = max(1, _CELLS // (models.n_draws + 1))
        return sum_chunks(X, chunk, step, truth=task.truth, group=task.groups.codes)
    step = max(1, 2 * _CELLS // max(1, len(task.truth) * max(1, models.n_classes)))
    batches = [models[low : low + step] for low in range(0, models.n_draws, step)]
    parts = [
        task.sums(names, np.asarray(batch.scores(X)), task.truth, task.groups.codes)
        for batch in batches
    ]
    if best is not None:
        scores = np.asarray(best.best_scores(X))[None]
        parts.append(task.sums(names, scores, task.truth, task.groups.codes))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _chunk_sums(
    task: gaps.FairnessTask,
    names: Sequence[str],
    models: Any,
    best: Any,
    rows: FloatArray,
    columns: Any,
) -> dict[str, NDArray[Any]]:
    scores = np.asarray(models.scores(rows))
    if best is not None:
        scores = np.concatenate([scores, np.asarray(best.best_scores(rows))[None]])
    truth = np.ascontiguousarray(columns["truth"])
    return task.sums(names, scores, truth, columns["group"])


def _named_columns(table: ChunkedRows, y: Any, groups: Any) -> tuple[Any, Any]:
    """Read targets and groups that are given by column names."""
    truth = chunked.read_targets(table) if y is None else y
    if isinstance(groups, str):
        return truth, chunked.read_column(table, groups)
    if isinstance(groups, list | tuple) and 0 < len(groups) < table.n:
        if all(isinstance(name, str) for name in groups):
            return truth, pd.DataFrame({name: chunked.read_column(table, name) for name in groups})
    return truth, groups


_MEASURES = {
    "classification": (
        "ambiguity",
        "discrepancy",
        "obscurity",
        "disagreement",
        "range_width",
        "score_std",
    ),
    "regression": ("range_width", "score_std"),
}


@by_index
def multiplicity_by_person_group(
    models: Any,
    X: Any,
    groups: rates.GroupsLike,
    *,
    psi: float | None = None,
    measures: Sequence[str] | None = None,
    baseline: ArrayLike | None = None,
) -> pd.DataFrame:
    """Multiplicity of each group of people, and of all rows.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models, X, groups, psi
        As for :func:`fairness_audit`.
    measures : sequence of str, optional
        Keys of ``MEASURES`` without a tolerance; by default ambiguity (people flipped by some
        model), discrepancy (most people flipped by one model), obscurity (mean share of models
        that flip), disagreement, and range and spread of scores.
    baseline : array-like, optional
        Scores of the reference model, as in :func:`multiplicity_table`.

    Returns
    -------
    pandas.DataFrame
        One row per group, after ``"all rows"``; columns ``rows``, each measure, and its ratio
        ``<name>_ratio`` to that of all rows, NaN for a ratio of 0 and 0. Extremes (ambiguity,
        discrepancy, range width) are lower bounds on the set's own, in each group.

    Raises
    ------
    ValueError
        If a shape or value is wrong, a category has no rows, there is only one group, or no model
        lies inside.
    CuratorOnlyError
        If given a release, which does not state which draws lie inside.
    TypeError
        If ``models`` is of another type.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> chances = [[0.9, 0.4, 0.6, 0.1], [0.8, 0.6, 0.7, 0.2], [0.9, 0.7, 0.8, 0.1]]
    >>> models = from_predictions(chances, [1, 0, 1, 0], psi=1.0)
    >>> groups = ["a", "b", "a", "b"]
    >>> table = multiplicity_by_person_group(models, None, groups, measures=["ambiguity"])
    >>> table["ambiguity_ratio"].to_dict()
    {'all rows': 1.0, 'a': 0.0, 'b': 2.0}
    """
    models, X = set_and_rows(models, X)
    gaps.need_curator(models, "multiplicity_table(..., groups=..., inside_only=False)")
    if np.ndim(groups) == 0:
        raise ValueError(f"groups must hold one group for each row, got {groups!r}")
    measure_names = list(measures or _MEASURES[models.task])
    coded_groups = rates.Groups.from_attributes(groups, np.shape(groups)[0])
    texts = coded_groups.texts
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise ValueError(f"two groups have the same name {twice!r}: give them different names")
    by_row = np.asarray(texts)[coded_groups.codes]
    long = multiplicity_table(
        models, X, psi=psi, groups=by_row, measures=measure_names, baseline=baseline
    )
    wide = long.pivot(index="group", columns="measure", values="value")
    wide = wide.loc[["all rows", *texts], measure_names].rename_axis(index="group", columns=None)
    ratios = wide / wide.loc["all rows"]
    rows = long.groupby("group", observed=True)["rows"].first().loc[wide.index]
    table = pd.concat([rows, wide, ratios.add_suffix("_ratio")], axis=1)
    table.attrs.update(long.attrs)
    return table
