"""Decomposition of disagreement into model-set width and mechanism noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import inputs
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.mechanisms.sparse_trees import hit_rate_within
from rashomon_explorer.privacy.audit import binomial_interval
from rashomon_explorer.rows.chunked import read_column
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked
from rashomon_explorer.sets import CuratorSet, RashomonSet, ReleasedSet, ReleasedTrees
from rashomon_explorer.sets.models.trees import DecisionTrees

__all__ = ["DisagreementDecomposition", "Estimate", "disagreement_decomposition"]

ALL_ROWS = "all rows"
_FEW = 5  # smallest number of draws whose variance is used
_CURATOR = "Curator: computed from private rows, not private"


class Estimate(NamedTuple):
    """A number and its confidence interval; NaN and infinite ends if unknown."""

    value: float
    low: float
    high: float

    def clipped(self, lower: float, upper: float) -> Estimate:
        """Clip the ends to the known bounds of the quantity."""
        return Estimate(self.value, max(self.low, lower), min(self.high, upper))


@inputs.by_index
def disagreement_decomposition(
    models: CuratorSet,
    X: Any,
    *,
    groups: ArrayLike | pd.Series | str | None = None,
    confidence: float = 0.95,
) -> DisagreementDecomposition:
    """Decompose the disagreement of private draws into model-set width and mechanism noise.

    Draws have the law P = hU + (1 − h)Q, where h is the hit rate and Q the law outside the
    Rashomon set G. U is uniform on G at any temperature, since the thresholded density is constant
    there. The mechanism's noise thus comes only from draws that miss. With k(f, f') = 1[f ≠ f'] for
    labels, and ½(f − f')² (the variance) for a regression, a mean over independent pairs is

        total = k(P, P),  width = k(U, U),  noise = total − width.

    The mean over all pairs of draws estimates the total, and that over the pairs of draws inside
    the width, both without bias (docs/measures.md). Intervals use the delete-one jackknife
    over draws: pairs are dependent and are not treated as independent.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models : RashomonSet or PredictorSet
        All draws of a fit by ``mechanism="exact"`` or ``"finite_grid"``, or all private trees of a
        fit. Trees are equally likely only up to the threshold ``plan.law_psi`` of their law: where
        it is below their ψ, the set G is that of the smaller threshold.
    X : array-like of shape (n_rows, n_features), ChunkedRows or Dask collection
        Chunked rows are read once and not kept.
    groups : array-like of shape (n_rows,), or str, optional
        Group of each row, for a decomposition per group; for chunked rows the name of a column.
        A group of its own for each person decomposes by person.
    confidence : float, default=0.95
        Level of each interval.

    Returns
    -------
    DisagreementDecomposition
        Its ``table`` has a row for all rows and for each group: ``rows``, and value, ``_low`` and
        ``_high`` of ``total``, ``width``, ``noise`` and ``share_of_noise`` (NaN where all draws
        agree). Noise is below 0 if models outside agree more than those inside. ``hit_rate`` and
        the four properties are estimates with a ``value``, ``low`` and ``high``; ``psi`` is the
        threshold of G.

    Raises
    ------
    ValueError
        If a shape or value is wrong, draws were selected or are not independent, or fewer than
        two models are known to be uniform on the set.
    CuratorOnlyError
        If given a release, which does not state which draws lie inside.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 0, 0, 1] * 50
    >>> settings = {"mechanism": "exact", "psi": 0.05, "epsilon": 500.0, "n_draws": 60}
    >>> models = RashomonClassifier(**settings, random_state=0).fit(X, y).rashomon_set_
    >>> split = disagreement_decomposition(models, X)
    >>> split.width.low <= split.width.value <= split.width.high
    True
    """
    check_inner_share(confidence=confidence)
    if isinstance(models, ReleasedSet | ReleasedTrees):
        raise CuratorOnlyError(
            "the decomposition depends on which draws lie inside the set, hence on private rows: "
            "it is not available for a release; use the curator's set"
        )
    models, X = inputs.set_and_rows(models, X)
    if not isinstance(models, CuratorSet):
        raise TypeError(
            f"models must be a RashomonSet or a set of private trees, got {type(models).__name__}"
        )
    if X is None:
        raise ValueError("X is required: the rows on which the models are compared")
    draws = _checked_draws(models)
    if is_chunked(X):
        chunks = as_chunked_rows(X)
        groups = read_column(chunks, groups) if isinstance(groups, str) else groups
        codes, names = _group_codes(groups, chunks.n)
        sums = inputs.sum_chunks(chunks, partial(_chunk_sums, models), chunks.rows, group=codes)
    else:
        values = _predictions(models, X)
        codes, names = _group_codes(groups, values.shape[1])
        sums = group_sums(models.task, values, codes)
    return DisagreementDecomposition(
        confidence=confidence,
        psi=draws.psi,
        table=decomposition_table(draws, sums, codes, names, confidence),
        hit_rate=hit_interval(int(draws.inside.sum()), len(draws.inside), confidence),
        n_draws=len(draws.inside),
        guaranteed=models.guarantee.holds,
    )


class IndependentDraws(NamedTuple):
    """What is known about independent draws and their law."""

    inside: Mask  # (n_draws,)
    largest_difference: float  # upper bound on the difference of two models on a row
    least_hit_rate: float = 0.0  # guaranteed before the rows were read
    psi: float = math.nan  # threshold of the set on which hits are uniform


def pair_sums(task: str, values: NDArray[Any]) -> FloatArray:
    """Sum over rows (n_draws, n_draws) of the differences of labels, or ½ of squared numbers."""
    if task == "classification":
        codes = inputs.Predictions.from_labels(values).values
        agree = np.zeros((len(codes), len(codes)))
        # Counts in single precision are exact up to 2²⁴.
        precision = np.float32 if codes.shape[1] < 2**24 else np.float64
        for code in range(int(codes.max()) + 1):
            gives = (codes == code).astype(precision)
            agree += gives @ gives.T
        return codes.shape[1] - agree
    scores = inputs.as_scores(values)
    centred = scores - scores.mean(axis=0)  # only differences matter; it reduces cancellation
    products = centred @ centred.T
    squares = np.diag(products)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * products, 0) / 2)


def group_sums(task: str, values: NDArray[Any], codes: NDArray[Any]) -> dict[int, FloatArray]:
    """Pair sums over the rows of each group that occurs."""
    return {code: pair_sums(task, values[:, codes == code]) for code in np.unique(codes).tolist()}


def _chunk_sums(models: Any, rows: FloatArray, columns: Any) -> dict[int, FloatArray]:
    return group_sums(models.task, _predictions(models, rows), columns["group"])


def _predictions(models: Any, rows: Any) -> NDArray[Any]:
    labelled = models.task == "classification"
    return np.asarray(models.labels(rows) if labelled else models.scores(rows))


def _group_codes(groups: Any, n_rows: int) -> tuple[NDArray[Any], list[Any]]:
    """Group index of each row and the groups' names; without groups a single unnamed one."""
    return (np.zeros(n_rows, np.int8), []) if groups is None else inputs.group_codes(groups, n_rows)


def decomposition_table(
    draws: IndependentDraws,
    sums: dict[int, FloatArray],
    codes: NDArray[Any],
    names: list[Any],
    confidence: float,
) -> pd.DataFrame:
    """Table of all rows and of each group, from pair sums."""
    parts = [(np.sum(list(sums.values()), axis=0), np.ones(len(codes), dtype=bool))]
    parts += [(sums.get(code), codes == code) for code in range(len(names))]
    lines: list[dict[str, float]] = []
    for total, member in parts:
        n_rows = int(member.sum())
        lines.append({"rows": n_rows})
        if n_rows:
            for name, estimate in decompose_pairs(draws, total / n_rows, confidence).items():
                ends = {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
                lines[-1] |= {name: estimate.value, **ends}
    index = pd.Index([ALL_ROWS, *names], dtype=object, name="group")
    table = pd.DataFrame(lines, index=index).astype({"rows": int})
    table.attrs["view"] = _CURATOR
    return table


def _checked_draws(models: Any) -> IndependentDraws:
    """Law of the draws; raise unless they are independent, complete and known inside."""
    psi, planned = float(models.psi), getattr(models, "planned", None)
    if isinstance(models, RashomonSet):
        traits = mechanism_traits(models.mechanism)
        independent, uniform = traits.independent, bool(traits.uniform_on)
        least_hit_rate = models.plan.hit_rate_bound if traits.planned_law else 0.0
    else:
        independent = isinstance(models.models, DecisionTrees) and models.independent
        uniform, least_hit_rate = models.uniform or planned is not None, float(models.uniform)
        if planned is not None and not models.uniform:
            psi = min(psi, planned.law_psi)
            least_hit_rate = hit_rate_within(planned, psi)
    if not independent:
        raise ValueError(
            "these models depend on each other or on no mechanism: pass the independent draws of "
            "a private mechanism, or trees of RashomonTreeClassifier"
        )
    if not models.as_drawn:
        raise ValueError(
            f"models must be all draws of a fit, but some were selected "
            f"({'; '.join(models.steps)}): the draws outside the set are needed too"
        )
    if not uniform:
        raise ValueError(
            "these draws are not proved to be uniform inside, so that their width is not that of "
            "the set: draw with mechanism='exact', or trees with RashomonTreeClassifier"
        )
    inside = np.asarray(models.losses <= models.least + psi)
    if len(inside) < 2:
        raise ValueError(f"models must be at least 2 draws, got {len(inside)}")
    hits = int(inside.sum())
    if hits < 2:
        number = "only one" if hits else "none"
        raise ValueError(
            f"{number} of the {len(inside)} draws is in the Rashomon set of ψ = {psi:.4g}, too few "
            "to estimate the model-set width: raise epsilon or psi"
        )
    # No bound on the differences of a regression is known here.
    largest_difference = 1.0 if models.task == "classification" else math.inf
    return IndependentDraws(inside, largest_difference, least_hit_rate, psi)


def pair_mean(means: FloatArray, member: Mask) -> FloatArray:
    """Mean over pairs of members, then without each model (1 + n_models,); NaN without pairs."""
    weights = member.astype(float)
    to_members = (means - np.diag(np.diag(means))) @ weights
    total, count = weights @ to_members, weights.sum()
    sums = np.append(total, total - 2 * weights * to_members)
    pairs = np.append(count * (count - 1), np.where(member, (count - 1) * (count - 2), 0))
    pairs[1:] = np.where(member, pairs[1:], pairs[0])
    return np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)


def decompose_pairs(
    draws: IndependentDraws, means: FloatArray, confidence: float
) -> dict[str, Estimate]:
    """Total, width, noise and its share, from mean differences (n_draws, n_draws) of pairs."""
    hits, misses = int(draws.inside.sum()), int((~draws.inside).sum())
    total = pair_mean(means, np.ones(len(means), dtype=bool))
    width = pair_mean(means, draws.inside)
    noise = total - width
    freedom = hits - 1 if hits >= _FEW else 0
    largest = draws.largest_difference
    # The misses skew the distribution of the total, so their number sets its degrees of freedom.
    of_total = jackknife(total, confidence, max(misses, _FEW) - 1)
    if misses >= _FEW:
        common = min(misses - 1, freedom)
        of_noise = jackknife(noise, confidence, common)
        ratio = np.divide(noise, total, out=np.full_like(noise, np.nan), where=total > 0)
        # No skewness correction: the denominator limits the tail of a ratio.
        of_share = jackknife(ratio, confidence, common, skewed=False)
    else:
        level = 0.5 + confidence / 2  # union bound: two statements with half the error each
        of_width = jackknife(width, level, freedom).clipped(0, largest)
        # A pair with a model outside may have any difference.
        of_hits = hit_interval(hits, hits + misses, level)
        missing = 1 - max(of_hits.low, draws.least_hit_rate) ** 2
        low = -missing * of_width.high if missing else 0.0
        high = missing * (largest - of_width.low) if missing else 0.0
        of_noise = Estimate(float(noise[0]), low, high)
        of_share = Estimate(
            _fraction(of_noise.value, of_width.value, math.nan),
            _fraction(low, of_width.low, -math.inf),
            _fraction(high, of_width.low, 1.0),
        )
        ends = min(of_total.low, of_width.low + low), max(of_total.high, of_width.high + high)
        of_total = Estimate(of_total.value, *ends)
    return {
        "total": of_total.clipped(0, largest),
        "width": jackknife(width, confidence, freedom).clipped(0, largest),
        "noise": of_noise.clipped(-largest, largest),
        "share_of_noise": of_share.clipped(-math.inf, 1),
    }


def jackknife(
    replicates: FloatArray, confidence: float, freedom: float, *, skewed: bool = True
) -> Estimate:
    """Student interval of replicates (1 + n_draws,) by jackknife, with Johnson's (1978) shift."""
    value, without, n = float(replicates[0]), replicates[1:], len(replicates) - 1
    variance = float((n - 1) * without.var())
    if math.isnan(value) or math.isnan(variance) or freedom < 1:
        return Estimate(value, -math.inf, math.inf)
    t, error = float(stdtrit(freedom, 0.5 + confidence / 2)), math.sqrt(variance)
    shift = 0.0
    if skewed and error:
        influence = (n - 1) * (without.mean() - without)
        third = float((influence**3).sum()) / n**3
        shift = min(max(third / (6 * error**3) * (1 + 2 * t**2), -t / 2), t / 2)
    return Estimate(value, value + (shift - t) * error, value + (shift + t) * error)


def hit_interval(hits: int, n_draws: int, confidence: float) -> Estimate:
    """Share of independent draws that hit, with the interval of Clopper and Pearson (1934)."""
    return Estimate(hits / n_draws, *binomial_interval(hits, n_draws, confidence))


def _fraction(noise: float, width: float, otherwise: float) -> float:
    total = noise + width
    return noise / total if 0 < total < math.inf else otherwise


@dataclass(frozen=True, eq=False)
class DisagreementDecomposition:
    """Width and noise of private draws' disagreement.  Curator: computed from private rows."""

    confidence: float
    psi: float
    table: pd.DataFrame
    hit_rate: Estimate
    n_draws: int
    guaranteed: bool

    def _overall(self, name: str) -> Estimate:
        line = self.table.iloc[0]
        return Estimate(*(float(line[f"{name}{end}"]) for end in ("", "_low", "_high")))

    @property
    def total(self) -> Estimate:
        """Mean difference of two draws, on all rows."""
        return self._overall("total")

    @property
    def width(self) -> Estimate:
        """Mean difference of two models drawn uniformly from the Rashomon set, on all rows."""
        return self._overall("width")

    @property
    def noise(self) -> Estimate:
        """Total − width, on all rows."""
        return self._overall("noise")

    @property
    def share_of_noise(self) -> Estimate:
        """Noise/total, on all rows."""
        return self._overall("share_of_noise")
