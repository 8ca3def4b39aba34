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
from rashomon_explorer.trees import CountedTrees, label_shares
from rashomon_explorer.trees.private import planned_class

__all__ = ["DisagreementDecomposition", "Estimate", "disagreement_decomposition"]

ALL_ROWS = "all rows"
MEASURES = {"disagreement": "disagreement", "score_variance": "variance of the score"}
"""Measures that are means over pairs of models, in words."""

_KNOWN = 10**9  # degrees of freedom of an exact value
_FEW = 5  # smallest number of draws whose variance is used
_CURATOR = "Curator: computed from private rows, not private"
_ROUNDING = 1e-9  # a minimum differs with the summation order of threads


class Estimate(NamedTuple):
    """A number and its confidence interval; NaN and infinite ends if unknown."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return value and ends with three digits."""
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def clipped(self, lower: float, upper: float) -> Estimate:
        """Clip the ends to the known bounds of the quantity."""
        return Estimate(self.value, max(self.low, lower), min(self.high, upper))


@inputs.by_index
def disagreement_decomposition(
    models: CuratorSet,
    X: Any,
    *,
    measure: str = "disagreement",
    reference: CountedTrees | None = None,
    groups: ArrayLike | pd.Series | str | None = None,
    confidence: float = 0.95,
) -> DisagreementDecomposition:
    """Decompose a measure of private draws into model-set width and mechanism noise.

    Draws have the law P = hU + (1 − h)Q, where h is the hit rate and Q the law outside the
    Rashomon set G. U is uniform on G at any temperature, since the thresholded density is constant
    there. The mechanism's noise thus comes only from draws that miss. For a measure that is a mean
    E k(f, f') over pairs of independent models,

        total = k(P, P),  width = k(U, U),  noise = total − width.

    The mean over all pairs of draws estimates the total, and that over the pairs of draws inside
    the width, both without bias (docs/measures.md). Intervals use the delete-one jackknife
    over draws: pairs are dependent and are not treated as independent.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models : RashomonSet or PredictorSet
        All draws of a fit by ``mechanism="exact"`` or ``"finite_grid"``, or all private trees of a
        fit.
    X : array-like of shape (n_rows, n_features), ChunkedRows or Dask collection
        Chunked rows are read once and not kept.
    measure : {"disagreement", "score_variance"}, default="disagreement"
        Pr[f(x) ≠ f'(x)], or ½E(s − s')², the variance of scores (summed over several classes).
    reference : CountedTrees, optional
        All trees of the class of the draws, ``RashomonTreeClassifier(...).counted(X, y)``: the
        width is then exact. Needed if the law of the trees is constant only up to a threshold
        below ψ. X must be some of the table's own rows, in memory.
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
        the four properties are estimates with a ``value``, ``low`` and ``high``.

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
    if measure not in MEASURES:
        raise ValueError(
            f"measure must be one of {sorted(MEASURES)}, since only means over pairs of models "
            f"can be decomposed; got {measure!r}"
        )
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
    draws = _checked_draws(models, reference, measure)
    exact = None
    if is_chunked(X):
        if reference is not None:
            raise ValueError("reference is for rows in memory: pass a sample of the rows as X")
        chunks = as_chunked_rows(X)
        groups = read_column(chunks, groups) if isinstance(groups, str) else groups
        codes, names = _group_codes(groups, chunks.n)
        chunk = partial(_chunk_sums, models, measure)
        sums = inputs.sum_chunks(chunks, chunk, chunks.rows, group=codes)
    else:
        if reference is not None:
            exact = _counted_width(inputs.fitted_set(reference), models, X, measure)
        values = _predictions(models, measure, X)
        codes, names = _group_codes(groups, values.shape[1])
        sums = group_sums(measure, values, codes)
    hits, n_draws = int(draws.inside.sum()), len(draws.inside)
    return DisagreementDecomposition(
        measure=measure,
        confidence=confidence,
        table=decomposition_table(draws, sums, codes, names, confidence, exact),
        hit_rate=hit_interval(hits, n_draws, confidence),
        n_draws=n_draws,
        n_hits=hits,
        n_counted=0 if reference is None else reference.size(float(models.psi)),
        guaranteed=models.guarantee.holds,
    )


class IndependentDraws(NamedTuple):
    """What is known about independent draws and their law."""

    inside: Mask  # (n_draws,)
    largest_difference: float  # upper bound on the difference of two models on a row
    uniform: bool = True  # whether draws inside are uniform on the Rashomon set
    least_hit_rate: float = 0.0  # guaranteed before the rows were read


def pair_sums(measure: str, values: NDArray[Any]) -> FloatArray:
    """Sum over rows (n_draws, n_draws) of the differences of labels, or ½ of squared scores."""
    if measure == "disagreement":
        codes = inputs.Predictions.from_labels(values).values
        agree = np.zeros((len(codes), len(codes)))
        # Counts in single precision are exact up to 2²⁴.
        precision = np.float32 if codes.shape[1] < 2**24 else np.float64
        for code in range(int(codes.max()) + 1):
            gives = (codes == code).astype(precision)
            agree += gives @ gives.T
        return codes.shape[1] - agree
    scores = inputs.as_scores(values)
    # Only differences matter, and centring reduces cancellation.
    flat = (scores - scores.mean(axis=0)).reshape(len(scores), -1)
    products = flat @ flat.T
    squares = np.diag(products)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * products, 0) / 2)


def group_sums(measure: str, values: NDArray[Any], codes: NDArray[Any]) -> dict[int, FloatArray]:
    """Pair sums over the rows of each group that occurs."""
    return {
        code: pair_sums(measure, values[:, codes == code]) for code in np.unique(codes).tolist()
    }


def _chunk_sums(models: Any, measure: str, rows: FloatArray, columns: Any) -> dict[int, FloatArray]:
    return group_sums(measure, _predictions(models, measure, rows), columns["group"])


def _predictions(models: Any, measure: str, rows: Any) -> NDArray[Any]:
    return np.asarray(models.labels(rows) if measure == "disagreement" else models.scores(rows))


def _group_codes(groups: Any, n_rows: int) -> tuple[NDArray[Any], list[Any]]:
    """Group index of each row and the groups' names; without groups a single unnamed one."""
    return (np.zeros(n_rows, np.int8), []) if groups is None else inputs.group_codes(groups, n_rows)


def decomposition_table(
    draws: IndependentDraws,
    sums: dict[int, FloatArray],
    codes: NDArray[Any],
    names: list[Any],
    confidence: float,
    exact: FloatArray | None = None,
) -> pd.DataFrame:
    """Table of all rows and of each group, from pair sums and the exact width (n_rows,)."""
    parts = [(np.sum(list(sums.values()), axis=0), np.ones(len(codes), dtype=bool))]
    parts += [(sums.get(code), codes == code) for code in range(len(names))]
    lines: list[dict[str, float]] = []
    for total, member in parts:
        n_rows = int(member.sum())
        lines.append({"rows": n_rows})
        if n_rows:
            width = None if exact is None else float(exact[member].mean())
            for name, estimate in decompose_pairs(draws, total / n_rows, confidence, width).items():
                ends = {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
                lines[-1] |= {name: estimate.value, **ends}
    index = pd.Index([ALL_ROWS, *names], dtype=object, name="group")
    table = pd.DataFrame(lines, index=index).astype({"rows": int})
    table.attrs["view"] = _CURATOR
    return table


def _checked_draws(models: Any, reference: Any, measure: str) -> IndependentDraws:
    """Law of the draws; raise unless they are independent, complete and known inside."""
    if isinstance(models, RashomonSet):
        traits = mechanism_traits(models.mechanism)
        independent, uniform = traits.independent, bool(traits.uniform_on)
        least_hit_rate = models.plan.hit_rate_bound if traits.planned_law else 0.0
        why = "draws of this mechanism are not proved to be uniform inside"
        remedy = "raise epsilon or psi, or draw with mechanism='exact'"
    else:
        independent = isinstance(models.models, DecisionTrees) and models.independent
        uniform, least_hit_rate, why, remedy = _tree_law(models)
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
    if reference is None and not uniform:
        raise ValueError(f"{why}, so that their width is not that of the set: {remedy}")
    inside = np.asarray(models.losses <= models.least + models.psi)
    if len(inside) < 2:
        raise ValueError(f"models must be at least 2 draws, got {len(inside)}")
    hits = int(inside.sum())
    if hits < 2 and reference is None:
        number = "only one" if hits else "none"
        raise ValueError(
            f"{number} of the {len(inside)} draws is in the Rashomon set, too few to estimate "
            f"the model-set width: {remedy}"
        )
    largest_difference = 1.0
    if models.task != "classification":
        largest_difference = math.inf  # no bound is known here
    elif measure == "score_variance" and models.n_classes <= 2:
        largest_difference = 0.5
    return IndependentDraws(inside, largest_difference, uniform, least_hit_rate)


def _tree_law(models: Any) -> tuple[bool, float, str, str]:
    """Whether trees inside are equally likely, the guaranteed hit rate, and an error's words."""
    planned, remedy = models.planned, "pass reference=RashomonTreeClassifier(...).counted(X, y)"
    if planned is None:
        return models.uniform, float(models.uniform), "the law of these trees is unknown", remedy
    why = (
        f"drawn trees are equally likely only up to an excess loss of s = {planned.law_psi:.4g}, "
        f"and the set extends to ψ = {models.psi:.4g}"
    )
    remedy += f", or decompose for the trees up to s, models.rethreshold({planned.law_psi})"
    uniform = models.uniform or models.psi <= planned.law_psi
    return bool(uniform), hit_rate_within(planned, models.psi), why, remedy


def _counted_width(counted: Any, drawn: Any, X: ArrayLike, measure: str) -> FloatArray:
    """Measure, for each row, of two trees drawn uniformly from all within ψ."""
    trees = getattr(drawn, "models", None)
    if not isinstance(counted, CountedTrees) or not isinstance(trees, DecisionTrees):
        raise ValueError(
            "reference must be all trees of the class of drawn trees: "
            "RashomonTreeClassifier(...).counted(X, y)"
        )
    _check_same_class(counted, drawn)
    shares = label_shares(counted, float(drawn.psi), np.asarray(trees.rows(X)))
    disagreement = 1 - (shares**2).sum(axis=1)
    one_score = measure == "score_variance" and shares.shape[1] == 2
    return np.asarray(disagreement / 2 if one_score else disagreement)


def _check_same_class(counted: Any, drawn: Any) -> None:
    """Raise if counted trees are of another class or table than the drawn ones."""
    planned, differences = drawn.planned, list[str]()
    if planned is None or not planned.request.questions:
        if drawn.complexity().max(initial=0) > counted.trees.most_leaves:
            differences.append(
                f"it has at most {counted.trees.most_leaves} leaves, some draws have more"
            )
    else:
        if planned_class(planned).sizes != counted.trees.sizes:
            differences.append("its leaves, depth or questions differ")
        if planned.request.leaf_penalty != counted.leaf_penalty:
            penalties = f"{counted.leaf_penalty:g}, the draws' {planned.request.leaf_penalty:g}"
            differences.append(f"its leaf_penalty is {penalties}")
        if not _are_equal(planned.request.costs, counted.rows.costs):
            differences.append("its costs differ")
    if abs(drawn.least - counted.least) > _ROUNDING:
        differences.append(f"its least is {counted.least!r}, the draws' {drawn.least!r}")
    if differences:
        raise ValueError(
            f"reference must describe the same Rashomon set: {'; '.join(differences)}. "
            "Use RashomonTreeClassifier(...).counted(X, y) with the settings, rows and targets of "
            "the draws"
        )


def _are_equal(costs: ArrayLike | None, other: ArrayLike | None) -> bool:
    return np.array_equal([] if costs is None else costs, [] if other is None else other)


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
    draws: IndependentDraws, means: FloatArray, confidence: float, exact: float | None = None
) -> dict[str, Estimate]:
    """Total, width, noise and its share, from mean differences (n_draws, n_draws) of pairs."""
    hits, misses = int(draws.inside.sum()), int((~draws.inside).sum())
    if exact is not None and draws.uniform:  # pairs inside have this expectation
        means = np.where(np.outer(draws.inside, draws.inside), exact, means)
    total = pair_mean(means, np.ones(len(means), dtype=bool))
    between_hits = pair_mean(means, draws.inside)
    width = between_hits if exact is None else np.full_like(total, exact)
    noise = total - width
    freedom = hits - 1 if hits >= _FEW else 0
    freedom = freedom if exact is None else _KNOWN
    largest = draws.largest_difference

    def width_interval(level: float) -> Estimate:
        if exact is not None:
            return Estimate(exact, exact, exact)
        return jackknife(width, level, freedom).clipped(0, largest)

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
        outer = width_interval(level)
        inner, hit_excess = outer, Estimate(0.0, 0.0, 0.0)
        if not draws.uniform:
            inner = jackknife(between_hits, level, hits - 1).clipped(0, largest)
            hit_excess = jackknife(between_hits - width, level, min(hits - 1, freedom))
        # A pair with a model outside may have any difference.
        of_hits = hit_interval(hits, hits + misses, level)
        missing = 1 - max(of_hits.low, draws.least_hit_rate) ** 2
        low, high = hit_excess.low, hit_excess.high
        if missing > 0:
            low, high = low - missing * inner.high, high + missing * (largest - inner.low)
        of_noise = Estimate(float(noise[0]), low, high)
        of_share = Estimate(
            _fraction(of_noise.value, outer.value, math.nan),
            _fraction(low, outer.low, -math.inf),
            _fraction(high, outer.low, 1.0),
        )
        ends = min(of_total.low, outer.low + low), max(of_total.high, outer.high + high)
        of_total = Estimate(of_total.value, *ends)
    return {
        "total": of_total.clipped(0, largest),
        "width": width_interval(confidence),
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
    """noise/(width + noise)."""
    total = noise + width
    return noise / total if 0 < total < math.inf else otherwise


@dataclass(frozen=True, eq=False)
class DisagreementDecomposition:
    """Width and noise of a measure of private draws.  Curator: computed from private rows."""

    measure: str
    confidence: float
    table: pd.DataFrame
    hit_rate: Estimate
    n_draws: int
    n_hits: int
    n_counted: int
    guaranteed: bool

    def _overall(self, name: str) -> Estimate:
        line = self.table.iloc[0]
        return Estimate(*(float(line[f"{name}{end}"]) for end in ("", "_low", "_high")))

    @property
    def total(self) -> Estimate:
        """The measure under the law of the draws, on all rows."""
        return self._overall("total")

    @property
    def width(self) -> Estimate:
        """The measure under the uniform law on the Rashomon set, on all rows."""
        return self._overall("width")

    @property
    def noise(self) -> Estimate:
        """Total − width, on all rows."""
        return self._overall("noise")

    @property
    def share_of_noise(self) -> Estimate:
        """Noise/total, on all rows."""
        return self._overall("share_of_noise")

    def __str__(self) -> str:
        """Return the result in words."""
        name, share = MEASURES[self.measure], self.share_of_noise
        missed = f"{_percent(1 - self.hit_rate.value)} of the draws missed the set"
        if math.isnan(share.value):
            return f"The draws show no {name}, so there is nothing to decompose; {missed}."
        if self.n_counted:
            missed += f". The width is that of all {self.n_counted:,} trees within ψ"
        return (
            f"{_percent(1 - share.value)} of the {name} among these draws ({self.total.value:.3g}) "
            f"is model-set width; {_percent(share.value)} [{_percent(share.low)}, "
            f"{_percent(share.high)}] is mechanism noise: {missed}."
        )


def _percent(share: float) -> str:
    if math.isinf(share):
        return "−∞"
    return f"{round(100 * share)} %".replace("-", "−")
