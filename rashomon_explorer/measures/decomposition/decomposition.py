"""Decomposition of disagreement into model-set width and mechanism noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.measures.decomposition.estimates import (
    CURATOR,
    FEW,
    KNOWN,
    PAIRS,
    DisagreementDecomposition,
    GroupEstimates,
    Mixture,
    hit_interval,
    mixture_estimates,
    variance,
)
from rashomon_explorer.measures.decomposition.inputs import (
    Inputs,
    check_chunked_inputs,
    check_inputs,
)
from rashomon_explorer.measures.decomposition.kernels import (
    Layout,
    PairMeasure,
    Units,
    get_pair_measure,
)
from rashomon_explorer.measures.inputs import group_masks, model_steps
from rashomon_explorer.rows.coercion import is_chunked

_ESTIMATES = ("total", "width", "noise", "share_of_noise")


def disagreement_decomposition(
    models: Any,
    X: ArrayLike | None = None,
    *,
    measure: str = "disagreement",
    reference: Any = None,
    reference_chains: int | None = None,
    inside: ArrayLike | None = None,
    groups: ArrayLike | pd.Series | None = None,
    confidence: float = 0.95,
) -> DisagreementDecomposition:
    """Decompose a measure of private draws into model-set width and mechanism noise.

    Draws have the law P = hU + (1 − h)Q, where h is the hit rate and Q the law outside the
    Rashomon set G. U is uniform on G at any temperature, since the thresholded density is constant
    there. The mechanism's noise thus comes only from draws that miss. For a measure that is a mean
    over pairs of models, write k(U, Q) for E k(f, f') of independent f ~ U and f' ~ Q. Then

        k(P, P) = h²·k(U, U) + 2h(1 − h)·k(U, Q) + (1 − h)²·k(Q, Q),
        width = k(U, U),  noise = k(P, P) − k(U, U).

    Draws inside are independent and uniform on G (docs/decomposition.md), so pairs inside
    estimate the width. The mean over the pairs of each kind is an unbiased estimate of its term.
    Intervals use the delete-one jackknife over draws (:class:`Estimate`); pairs are dependent and
    are not treated as independent.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models : RashomonSet, PredictorSet, or array-like of shape (n_draws, n_rows[, n_classes])
        All draws of a fit by the sampler ``"exact"``, ``"finite_grid"`` or, with a reference,
        ``"langevin"``; all private trees of a fit, with a reference if their law is constant only
        up to a threshold below ψ; or the labels or scores of independent draws whose hits are
        uniform.
    X : array-like of shape (n_rows, n_features), ChunkedRows or Dask collection, optional
        Rows for a set. Chunked rows are read once and not kept.
    measure : {"disagreement", "score_variance"}, default="disagreement"
        Pr[f(x) ≠ f'(x)], or ½E(s − s')², the variance of scores (summed over several classes).
    reference : RashomonSet, PredictorSet, CountedTrees or array-like, optional
        Models that are uniform on the same set, from ``mechanism="hit_and_run"`` or, for trees,
        ``CountedTrees.draw``. They are pooled with the draws inside, or replace them if these are
        not proved uniform. With CountedTrees, all trees within ψ, the width is exact, and X
        must be some of the table's own rows.
    reference_chains : int, optional
        Number of chains of the reference, whose states alternate; by default the sampler's own
        number for ``"hit_and_run"`` (one per model if there are fewer models), and independent
        models for arrays.
    inside : array-like of bool, shape (n_draws,), optional
        For arrays: whether each draw lies in the Rashomon set.
    groups : array-like of shape (n_rows,), or str, optional
        Group of each row, for a decomposition per group; for chunked rows the name of a column.
    confidence : float, default=0.95
        Level of each interval.

    Raises
    ------
    ValueError
        If a shape or value is wrong, draws were selected or are not independent, or fewer than
        two models are known to be uniform on the set.
    CuratorOnlyError
        If given a release, which does not state which draws lie inside.

    Examples
    --------
    >>> labels = [[0, place % 5 == 0] for place in range(40)] + [[0, 1], [1, 0]] * 10
    >>> found = disagreement_decomposition(labels, inside=[True] * 40 + [False] * 20)
    >>> print(found.share_of_noise)
    0.537 [0.327, 0.748]
    >>> found.parts["pairs"].round(3).tolist()
    [0.441, 0.452, 0.107]
    """
    check_inner_share(confidence=confidence)
    pair_measure = get_pair_measure(measure)
    if is_chunked(X):
        if inside is not None:
            raise ValueError("inside is for arrays: a set has this information already")
        found = check_chunked_inputs(models, X, pair_measure, reference, reference_chains, groups)
    else:
        found = check_inputs(models, X, pair_measure, inside, reference, reference_chains)
    units = select_units(found, pair_measure)
    mixture = Mixture.of(units, found.uniform, _width_of(found))
    split = estimates(found, units, mixture, confidence)
    hits, n_draws = int(found.inside.sum()), len(found.inside)
    return DisagreementDecomposition(
        measure=measure,
        confidence=confidence,
        total=split.total,
        width=split.width,
        noise=split.noise,
        share_of_noise=split.share_of_noise,
        hit_rate=hit_interval(hits, n_draws, confidence),
        parts=_parts(mixture),
        groups=None if groups is None else _by_group(found, pair_measure, groups, confidence),
        n_draws=n_draws,
        n_hits=hits,
        n_reference=found.n_counted or len(found.chains),
        cross_check=_cross_check(units, _width_of(found)) if found.comparable else None,
        counted=found.exact is not None,
        guaranteed=found.guaranteed,
        assumed=found.assumed,
    )


def select_units(found: Inputs, measure: PairMeasure, rows: Mask | None = None) -> Units:
    """Units on some rows, or on all."""
    if rows is None and found.pairs is not None:
        return _units(found, found.pairs.whole)
    values = found.values if rows is None else found.values[:, rows]
    return _units(found, measure.matrix(values))


def _units(found: Inputs, means: FloatArray) -> Units:
    return Units.of(means, Layout.of(found.inside, found.chains))


def estimates(found: Inputs, units: Units, mixture: Mixture, confidence: float) -> GroupEstimates:
    """Estimates of a mixture for the given inputs."""
    return mixture_estimates(
        units,
        mixture,
        uniform=found.uniform,
        most=found.most,
        confidence=confidence,
        least_hit_rate=found.least_hit_rate,
        exact=found.exact is not None,
    )


def _width_of(found: Inputs, rows: Mask | None = None) -> float | None:
    """Exact width on some rows, or on all; None if unknown."""
    if found.exact is None:
        return None
    return float((found.exact if rows is None else found.exact[rows]).mean())


def flat(split: GroupEstimates) -> dict[str, float]:
    """Value and interval ends of every estimate, as columns of a table."""
    columns = {}
    for name in _ESTIMATES:
        estimate = getattr(split, name)
        columns[name] = estimate.value
        columns[f"{name}_low"], columns[f"{name}_high"] = estimate.low, estimate.high
    return columns


def _parts(mixture: Mixture) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "pairs": mixture.pairs[:, 0],
            "value": mixture.values[:, 0],
            "total": mixture.terms[:, 0],
            "noise": mixture.noise_terms[:, 0],
        },
        index=pd.Index(PAIRS, name="draws"),
    )
    table.attrs["view"] = CURATOR
    return table


def _by_group(
    found: Inputs, measure: PairMeasure, groups: ArrayLike | pd.Series, confidence: float
) -> pd.DataFrame:
    table: dict[Any, dict[str, float]] = {}
    for name, count, units, width in _grouped(found, measure, groups):
        table[name] = {"rows": count}
        if units is not None:
            mixture = Mixture.of(units, found.uniform, width)
            split = estimates(found, units, mixture, confidence)
            table[name].update(flat(split))
    frame = pd.DataFrame.from_dict(table, orient="index").astype({"rows": int})
    frame.index.name = "group"
    frame.attrs["view"] = CURATOR
    return frame


def _grouped(
    found: Inputs, measure: PairMeasure, groups: ArrayLike | pd.Series
) -> Iterator[tuple[Any, int, Units | None, float | None]]:
    """Yield each group with its number of rows and, if not empty, its units and exact width."""
    if found.pairs is not None:
        for name, (count, means) in found.pairs.groups.items():
            yield name, count, _units(found, means), None
        return
    for name, mask in group_masks(groups, found.values.shape[1]).items():
        some = bool(mask.any())
        units = select_units(found, measure, mask) if some else None
        yield name, int(mask.sum()), units, _width_of(found, mask) if some else None


def _cross_check(units: Units, exact: float | None) -> float | None:
    """Width of the hits minus that of the reference, in standard errors; None if unknown."""
    drawn = units.layout.drawn
    if drawn.all() and exact is None:
        return None
    hits = Mixture.of(units.only(units.layout.hit), uniform=True).width
    if exact is not None:
        beside, more = exact, 0.0
    else:
        reference = Mixture.of(units.only(~drawn), uniform=False).width
        beside, more = reference[0], _error(reference)
    apart, error = hits[0] - beside, math.hypot(_error(hits), more)
    return float(apart / error) if error > 0 and math.isfinite(apart) else None


def _error(replicates: FloatArray) -> float:
    return math.sqrt(float(variance(replicates[1:])))


VERDICTS = ("the set", "the mechanism", "undecided", "no disagreement")


def decomposition_by_person(
    models: Any,
    X: ArrayLike | None = None,
    *,
    measure: str = "disagreement",
    reference: Any = None,
    reference_chains: int | None = None,
    inside: ArrayLike | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Apply :func:`disagreement_decomposition` to every person's measure instead of the mean.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models, X, measure, reference, reference_chains, inside
        As for :func:`disagreement_decomposition`.
    confidence : float, default=0.95
        Level of each verdict separately: among many persons at the boundary, with width close to
        total/2, one in twenty gets a wrong verdict.

    Returns
    -------
    pandas.DataFrame
        One row per person, in the order and with the index of ``X``: ``total``, ``width``,
        ``noise``, ``share_of_noise`` (NaN where all draws agree), and ``verdict``. It is ``"the
        set"`` if the interval of width − total/2 lies above 0 (more than half of the total is
        model-set width), ``"the mechanism"`` if it lies below, ``"undecided"`` otherwise, and
        ``"no disagreement"`` where all draws agree. The means of ``total``, ``width`` and
        ``noise`` are the values of :func:`disagreement_decomposition`.

    Raises
    ------
    ValueError, CuratorOnlyError
        As :func:`disagreement_decomposition`.

    Examples
    --------
    >>> labels = [[0, place % 2, 0] for place in range(20)]
    >>> labels += [[0, 0, place % 2] for place in range(20)]
    >>> table = decomposition_by_person(labels, inside=[True] * 20 + [False] * 20)
    >>> table["verdict"].tolist()
    ['no disagreement', 'the set', 'the mechanism']
    """
    check_inner_share(confidence=confidence)
    pair_measure = get_pair_measure(measure)
    found = check_inputs(models, X, pair_measure, inside, reference, reference_chains)
    layout = Layout.of(found.inside, found.chains)
    by_row = found.values.swapaxes(0, 1)
    parts = []
    for start, stop, _ in progress(model_steps(by_row, np.array([len(by_row)])), "decomposition"):
        rows = RowUnits(found.values[:, start:stop], pair_measure, layout)
        exact = None if found.exact is None else found.exact[start:stop]
        parts.append(_table(found, rows, exact, confidence))
    table = pd.concat(parts, ignore_index=True)
    if isinstance(X, pd.DataFrame):
        table.index = X.index
    table.attrs["view"] = CURATOR
    return table


@dataclass(frozen=True)
class RowUnits:
    """Pair sums of each row separately; otherwise as :class:`Units`."""

    values: Any  # (n_models, n_rows[, n_classes])
    measure: PairMeasure
    layout: Layout
    # cached sums, by the bytes of the weights: each is needed several times
    known: dict[bytes, FloatArray] = field(default_factory=dict)

    def pairs(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Count the pairs, (1 + n_units, 1)."""
        return self.layout.pairs(first, second)[:, None]

    def total(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Σ of k over pairs, for all units and without each, (1 + n_units, n_rows)."""
        to_first, to_second = (self._known(weights) for weights in (first, second))
        whole = first @ to_second
        without = whole - first[:, None] * to_second - second[:, None] * to_first
        return np.concatenate([whole[None], without])

    def _known(self, weights: FloatArray) -> FloatArray:
        key = weights.tobytes()
        if key not in self.known:
            self.known[key] = self._towards(weights)
        return self.known[key]

    def _towards(self, weights: FloatArray) -> FloatArray:
        """Σ of k from the models of each unit to those of others, (n_units, n_rows)."""
        layout = self.layout
        each = self.measure.towards(self.values, weights[layout.unit])
        if len(each) == len(layout.sizes):
            return each
        result = np.zeros((len(layout.sizes), each.shape[1]))
        for model, unit in enumerate(layout.unit):
            result[unit] += each[model]
        for chain in np.flatnonzero(layout.sizes > 1):
            own = self.values[layout.unit == chain]
            result[chain] -= self.measure.towards(own, np.full(len(own), weights[chain])).sum(
                axis=0
            )
        return result


def _table(
    found: Inputs, rows: RowUnits, exact: FloatArray | None, confidence: float
) -> pd.DataFrame:
    mixture = Mixture.of(rows, found.uniform, exact)
    total, width = mixture.total, mixture.width
    contrast = width - total / 2
    value, half = contrast[0], _half_width(found, rows.layout, contrast, confidence)
    differ = total[0] > 0
    verdict = np.select(
        [~differ, value > half, value < -half], [VERDICTS[3], *VERDICTS[:2]], VERDICTS[2]
    )
    noise = total[0] - width[0]
    share = np.divide(noise, total[0], out=np.full_like(noise, np.nan), where=differ)
    return pd.DataFrame(
        {
            "total": total[0],
            "width": width[0],
            "noise": noise,
            "share_of_noise": share,
            "verdict": verdict,
        }
    )


def _half_width(
    found: Inputs, layout: Layout, contrast: FloatArray, confidence: float
) -> FloatArray:
    """Half-width of each row's interval, widened by a worst-case bound if few draws miss."""
    wide = len(found.chains) + (int(found.inside.sum()) if found.uniform else 0)
    if found.exact is not None:
        wide = KNOWN
    if wide < FEW:
        return np.full(contrast.shape[1], np.inf)
    missed = int(layout.missed.sum())
    few = missed < FEW
    chance = 0.5 + confidence / 2 if few else confidence
    freedom = wide - 1 if few else min(missed, wide) - 1
    drawn = layout.drawn
    deviation = np.sqrt(variance(contrast[1:][drawn]) + variance(contrast[1:][~drawn]))
    half = stdtrit(freedom, 0.5 + chance / 2) * deviation
    if few:
        hits = hit_interval(int(found.inside.sum()), len(found.inside), chance)
        half = half + (1 - max(hits.low, found.least_hit_rate) ** 2) * found.most / 2
    return np.asarray(half)
