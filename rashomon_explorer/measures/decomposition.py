"""Decomposition of disagreement into model-set width and mechanism noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import inputs
from rashomon_explorer.privacy.audit import binomial_interval
from rashomon_explorer.rows.chunked import read_column
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked

if TYPE_CHECKING:
    from rashomon_explorer.trees import CountedTrees

__all__ = ["DisagreementDecomposition", "Estimate", "disagreement_decomposition"]

ALL_ROWS = "all rows"
MEASURES = {"disagreement": "disagreement", "score_variance": "variance of the score"}
"""Measures that are means over pairs of models, in words."""

_KNOWN = 10**9  # degrees of freedom of an exact value
_FEW = 5  # smallest number of draws whose variance is used
_CURATOR = "Curator: computed from private rows, not private"
_ASSUMED = "the draws are assumed independent, and those inside uniform on the set"
_ROUNDING = 1e-9  # a minimum differs with the summation order of threads


@dataclass(frozen=True)
class Estimate:
    """A number and its confidence interval.

    Parameters
    ----------
    value, low, high : float
        NaN and infinite ends if unknown.

    Examples
    --------
    >>> print(Estimate(0.031, 0.028, 0.034))
    0.031 [0.028, 0.034]
    """

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
    models: Any,
    X: ArrayLike | None = None,
    *,
    measure: str = "disagreement",
    reference: CountedTrees | None = None,
    inside: ArrayLike | None = None,
    groups: ArrayLike | pd.Series | None = None,
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
    models : RashomonSet, PredictorSet, or array-like of shape (n_draws, n_rows[, n_classes])
        All draws of a fit by ``mechanism="exact"`` or ``"finite_grid"``; all private trees of a
        fit; or the labels or scores of independent draws whose hits are uniform.
    X : array-like of shape (n_rows, n_features), ChunkedRows or Dask collection, optional
        Rows for a set. Chunked rows are read once and not kept.
    measure : {"disagreement", "score_variance"}, default="disagreement"
        Pr[f(x) ≠ f'(x)], or ½E(s − s')², the variance of scores (summed over several classes).
    reference : CountedTrees, optional
        All trees of the class of the draws, ``RashomonTreeClassifier(...).counted(X, y)``: the
        width is then exact. Needed if the law of the trees is constant only up to a threshold
        below ψ. X must be some of the table's own rows, in memory.
    inside : array-like of bool, shape (n_draws,), optional
        For arrays: whether each draw lies in the Rashomon set.
    groups : array-like of shape (n_rows,), or str, optional
        Group of each row, for a decomposition per group; for chunked rows the name of a column.
        A group of its own for each person decomposes by person.
    confidence : float, default=0.95
        Level of each interval.

    Returns
    -------
    DisagreementDecomposition
        Its ``table`` has a row for all rows and for each group.

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
    >>> split = disagreement_decomposition(labels, inside=[True] * 40 + [False] * 20)
    >>> print(split.share_of_noise)
    0.537 [0.327, 0.748]
    """
    check_inner_share(confidence=confidence)
    if measure not in MEASURES:
        raise ValueError(
            f"measure must be one of {sorted(MEASURES)}, since only means over pairs of models "
            f"can be decomposed; got {measure!r}"
        )
    if isinstance(models, np.ndarray | list | tuple):
        draws = _draws_of_arrays(models, X, measure, inside, groups)
    else:
        draws = _draws_of_set(models, X, measure, inside, reference, groups)
    lines = [_split(draws, part, confidence) for part in draws.parts]
    index = pd.Index([ALL_ROWS, *(part.name for part in draws.parts[1:])], dtype=object)
    table = pd.DataFrame(lines, index=index.rename("group")).astype({"rows": int})
    table.attrs["view"] = _CURATOR
    hits, n_draws = int(draws.inside.sum()), len(draws.inside)
    return DisagreementDecomposition(
        measure=measure,
        confidence=confidence,
        table=table,
        hit_rate=_hit_interval(hits, n_draws, confidence),
        n_draws=n_draws,
        n_hits=hits,
        n_counted=draws.n_counted,
        guaranteed=draws.guaranteed,
        assumed=draws.assumed,
    )


class _Part(NamedTuple):
    """Mean differences of pairs of draws on a group's rows."""

    name: Any
    n_rows: int
    means: FloatArray  # (n_draws, n_draws)
    width: float | None  # exact width; None if it is to be estimated


class _Draws(NamedTuple):
    """Independent draws, and what is known about their law."""

    parts: list[_Part]  # all rows first
    inside: Mask  # (n_draws,)
    largest_difference: float  # upper bound on the difference of two models on a row
    uniform: bool = True  # whether draws inside are uniform on the Rashomon set
    guaranteed: bool = False  # whether the draws are known to carry a privacy guarantee
    least_hit_rate: float = 0.0  # guaranteed before the rows were read
    n_counted: int = 0  # number of counted trees
    assumed: str = ""  # assumption on the draws that the code cannot check


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


def _grouped_sums(
    measure: str, values: NDArray[Any], codes: NDArray[Any] | None
) -> dict[int | None, FloatArray]:
    """Pair sums over all rows (None) and over the rows of each group."""
    sums: dict[int | None, FloatArray] = {None: pair_sums(measure, values)}
    if codes is not None:
        for code in np.unique(codes).tolist():
            sums[code] = pair_sums(measure, values[:, codes == code])
    return sums


def _parts(
    sums: dict[int | None, FloatArray],
    codes: NDArray[Any] | None,
    names: list[Any],
    n_rows: int,
    exact: FloatArray | None = None,
) -> list[_Part]:
    """Mean differences on all rows and on those of each group."""
    parts = []
    for code, name in [(None, None), *enumerate(names)]:
        member = np.ones(n_rows, dtype=bool)
        if codes is not None and code is not None:
            member = codes == code
        count = int(member.sum())
        means = sums[code] / count if count else np.full_like(sums[None], np.nan)
        width = None if exact is None or not count else float(exact[member].mean())
        parts.append(_Part(name, count, means, width))
    return parts


def _draws_of_arrays(
    models: Any, X: Any, measure: str, inside: ArrayLike | None, groups: Any
) -> _Draws:
    """Independent draws from their labels or scores."""
    if X is not None:
        raise ValueError("X is only for sets: arrays of labels or scores have their own rows")
    values = np.asarray(models)
    kind = "labels" if measure == "disagreement" else "scores"
    if values.ndim < 2 or 0 in values.shape:
        raise ValueError(
            f"models must be a RashomonSet or {kind} of shape (n_models, n_rows), both at least "
            f"1, got shape {values.shape}"
        )
    hits = np.asarray(inside)
    if inside is None or hits.shape != (len(values),) or hits.dtype != bool:
        raise ValueError(
            f"inside must be True or False for each of the {len(values)} draws: whether it lies "
            "in the Rashomon set"
        )
    _check_hits(hits)
    n_rows = values.shape[1]
    codes, names = (None, []) if groups is None else inputs.group_codes(groups, n_rows)
    parts = _parts(_grouped_sums(measure, values, codes), codes, names, n_rows)
    return _Draws(parts, hits, _largest_difference(measure, values), assumed=_ASSUMED)


def _draws_of_set(
    models: Any, X: Any, measure: str, inside: Any, reference: Any, groups: Any
) -> _Draws:
    """Draws of a fit, and their exact width if all trees are counted."""
    from rashomon_explorer.sets import CuratorSet, ReleasedSet, ReleasedTrees

    if isinstance(models, ReleasedSet | ReleasedTrees):
        raise CuratorOnlyError(
            "the decomposition depends on which draws lie inside the set, hence on private rows: "
            "it is not available for a release; use the curator's set"
        )
    models, X = inputs.set_and_rows(models, X)
    if not isinstance(models, CuratorSet):
        return _draws_of_arrays(models, X, measure, inside, groups)
    if inside is not None:
        raise ValueError("inside is for arrays: a set has this information already")
    if X is None:
        raise ValueError("X is required: the rows on which the models are compared")
    uniform, least_hit_rate = _check_law(models, reference)
    predict = partial(_predictions, models, measure)
    exact, n_counted = None, 0
    if is_chunked(X):
        if reference is not None:
            raise ValueError("reference is for rows in memory: pass a sample of the rows as X")
        chunks = as_chunked_rows(X)
        n_rows = chunks.n
        groups = read_column(chunks, groups) if isinstance(groups, str) else groups
        codes, names = (None, []) if groups is None else inputs.group_codes(groups, n_rows)
        column = np.zeros(n_rows, dtype=np.int8) if codes is None else codes
        work = partial(_chunk_sums, predict, measure, codes is not None)
        sums = inputs.sum_chunks(chunks, work, chunks.rows, group=column)
        sample = predict(np.array(next(chunks.chunks(0, 1))[0]))
    else:
        sample = predict(X)
        n_rows = sample.shape[1]
        codes, names = (None, []) if groups is None else inputs.group_codes(groups, n_rows)
        sums = _grouped_sums(measure, sample, codes)
        if reference is not None:
            exact = _counted_width(inputs.fitted_set(reference), models, X, measure)
            n_counted = reference.size(float(models.psi))
    return _Draws(
        _parts(sums, codes, names, n_rows, exact),
        np.asarray(models.losses <= models.least + models.psi),
        # No bound is known here for the scores of a regression.
        math.inf if models.task != "classification" else _largest_difference(measure, sample),
        uniform=uniform,
        guaranteed=models.guarantee.holds,
        least_hit_rate=least_hit_rate,
        n_counted=n_counted,
    )


def _predictions(models: Any, measure: str, rows: Any) -> NDArray[Any]:
    return np.asarray(models.labels(rows) if measure == "disagreement" else models.scores(rows))


def _chunk_sums(
    predict: Any, measure: str, grouped: bool, rows: FloatArray, columns: Any
) -> dict[int | None, FloatArray]:
    return _grouped_sums(measure, predict(rows), columns["group"] if grouped else None)


def _largest_difference(measure: str, values: NDArray[Any]) -> float:
    """Largest possible difference of two models on a row; infinite if unknown."""
    if measure == "disagreement":
        return 1.0
    scores = np.asarray(values, dtype=float)
    if scores.min() < 0 or scores.max() > 1:
        return math.inf
    return 0.5 if scores.ndim == 2 else 1.0


def _check_law(models: Any, reference: Any) -> tuple[bool, float]:
    """Whether draws inside are uniform on the set, and the guaranteed hit rate; or raise."""
    from rashomon_explorer.mechanisms.registry import mechanism_traits
    from rashomon_explorer.mechanisms.sparse_trees import hit_rate_within
    from rashomon_explorer.sets import RashomonSet
    from rashomon_explorer.sets.models.trees import DecisionTrees

    remedy = "raise epsilon or psi"
    why = "draws of this mechanism are not proved to be uniform inside"
    if isinstance(models, RashomonSet):
        traits = mechanism_traits(models.mechanism)
        independent, uniform = traits.independent, bool(traits.uniform_on)
        least_hit_rate = models.plan.hit_rate_bound if traits.planned_law else 0.0
        remedy += ", or draw with mechanism='exact'"
    else:
        independent = isinstance(models.models, DecisionTrees) and models.independent
        planned: Any = models.planned
        uniform = bool(models.uniform or (planned is not None and models.psi <= planned.law_psi))
        least_hit_rate = 1.0 if models.uniform else 0.0
        remedy = "pass reference=RashomonTreeClassifier(...).counted(X, y)"
        if planned is None:
            why = "the law of these trees is unknown"
        else:
            least_hit_rate = hit_rate_within(planned, models.psi)
            why = (
                f"drawn trees are equally likely only up to an excess loss of s = "
                f"{planned.law_psi:.4g}, and the set extends to ψ = {models.psi:.4g}"
            )
            remedy += f", or decompose for the trees up to s, models.rethreshold({planned.law_psi})"
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
    _check_hits(inside, remedy, needed=2 if reference is None else 0)
    return uniform, least_hit_rate


def _check_hits(inside: Mask, remedy: str = "raise epsilon or psi", needed: int = 2) -> None:
    """Raise unless there are two draws, and as many inside as needed."""
    if len(inside) < 2:
        raise ValueError(f"models must be at least 2 draws, got {len(inside)}")
    hits = int(inside.sum())
    if hits < needed:
        number = "only one" if hits else "none"
        raise ValueError(
            f"{number} of the {len(inside)} draws is in the Rashomon set, too few to estimate "
            f"the model-set width: {remedy}"
        )


def _counted_width(counted: Any, drawn: Any, X: ArrayLike, measure: str) -> FloatArray:
    """Measure, for each row, of two trees drawn uniformly from all within ψ."""
    from rashomon_explorer.sets.models.trees import DecisionTrees
    from rashomon_explorer.trees import CountedTrees, label_shares

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
    from rashomon_explorer.trees.private import planned_class

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
        if not np.array_equal(_costs(planned.request.costs), _costs(counted.rows.costs)):
            differences.append("its costs differ")
    if abs(drawn.least - counted.least) > _ROUNDING:
        differences.append(f"its least is {counted.least!r}, the draws' {drawn.least!r}")
    if differences:
        raise ValueError(
            f"reference must describe the same Rashomon set: {'; '.join(differences)}. "
            "Use RashomonTreeClassifier(...).counted(X, y) with the settings, rows and targets of "
            "the draws"
        )


def _costs(costs: ArrayLike | None) -> NDArray[Any]:
    return np.zeros(0) if costs is None else np.asarray(costs)


def pair_mean(means: FloatArray, member: Mask) -> FloatArray:
    """Mean over pairs of members, then without each model (1 + n_models,); NaN without pairs."""
    weights = member.astype(float)
    to_members = (means - np.diag(np.diag(means))) @ weights
    total, count = weights @ to_members, weights.sum()
    sums = np.append(total, total - 2 * weights * to_members)
    pairs = np.append(count * (count - 1), np.where(member, (count - 1) * (count - 2), 0))
    pairs[1:] = np.where(member, pairs[1:], pairs[0])
    return np.divide(sums, pairs, out=np.full_like(sums, np.nan), where=pairs > 0)


def _split(draws: _Draws, part: _Part, confidence: float) -> dict[str, float]:
    """Value and interval ends of every estimate on one group's rows."""
    if not part.n_rows:
        return {"rows": 0}
    hits, misses = int(draws.inside.sum()), int((~draws.inside).sum())
    means, exact = part.means, part.width is not None
    if part.width is not None and draws.uniform:  # pairs inside have this expectation
        means = np.where(np.outer(draws.inside, draws.inside), part.width, means)
    total = pair_mean(means, np.ones(len(means), dtype=bool))
    between_hits = pair_mean(means, draws.inside)
    width = np.full_like(total, part.width) if exact else between_hits
    noise = total - width
    freedom = hits - 1 if hits >= _FEW else 0
    freedom = _KNOWN if exact else freedom

    def width_interval(level: float) -> Estimate:
        if part.width is not None:
            return Estimate(part.width, part.width, part.width)
        return jackknife(width, level, freedom).clipped(0, draws.largest_difference)

    # The misses skew the distribution of the total, so their number sets its degrees of freedom.
    of_total = jackknife(total, confidence, max(misses, _FEW) - 1)
    of_width = width_interval(confidence)
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
            inner = jackknife(between_hits, level, hits - 1).clipped(0, draws.largest_difference)
            hit_excess = jackknife(between_hits - width, level, min(hits - 1, freedom))
        of_hits = _hit_interval(hits, hits + misses, level)
        missing = 1 - max(of_hits.low, draws.least_hit_rate) ** 2
        of_noise = _widest(float(noise[0]), missing, inner, hit_excess, draws.largest_difference)
        of_share = Estimate(
            _fraction(of_noise.value, outer.value, math.nan),
            _fraction(of_noise.low, outer.low, -math.inf),
            _fraction(of_noise.high, outer.low, 1.0),
        )
        low, high = outer.low + of_noise.low, outer.high + of_noise.high
        of_total = Estimate(of_total.value, min(of_total.low, low), max(of_total.high, high))
    estimates = {
        "total": of_total.clipped(0, draws.largest_difference),
        "width": of_width,
        "noise": of_noise.clipped(-draws.largest_difference, draws.largest_difference),
        "share_of_noise": of_share.clipped(-math.inf, 1),
    }
    line: dict[str, float] = {"rows": part.n_rows}
    for name, estimate in estimates.items():
        line[name] = estimate.value
        line |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return line


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


def _hit_interval(hits: int, n_draws: int, confidence: float) -> Estimate:
    """Share of independent draws that hit, with the interval of Clopper and Pearson (1934)."""
    return Estimate(hits / n_draws, *binomial_interval(hits, n_draws, confidence))


def _widest(
    value: float, missing: float, inner: Estimate, hit_excess: Estimate, largest_difference: float
) -> Estimate:
    """Worst-case interval in which pairs with a model outside may have any value."""
    if missing <= 0:
        return Estimate(value, hit_excess.low, hit_excess.high)
    high = hit_excess.high + missing * (largest_difference - inner.low)
    return Estimate(value, hit_excess.low - missing * inner.high, high)


def _fraction(noise: float, width: float, otherwise: float) -> float:
    """noise/(width + noise)."""
    total = noise + width
    return noise / total if 0 < total < math.inf else otherwise


@dataclass(frozen=True, eq=False)
class DisagreementDecomposition:
    """A measure of private draws, decomposed into model-set width and mechanism noise.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    measure : str
        Key of the measure.
    confidence : float
        Level of each interval separately.
    table : pandas.DataFrame
        A row for all rows, then one per group: ``rows``, and value, ``_low`` and ``_high`` of
        ``total``, the measure under the law of the draws; ``width``, that under the uniform law
        on the Rashomon set; ``noise``, total − width, below 0 if models outside agree more than
        those inside; ``share_of_noise``, noise/total, NaN where all draws agree.
    hit_rate : Estimate
        Probability that a draw lies in the set.
    n_draws, n_hits, n_counted : int
        Numbers of draws, of draws inside, and of the counted trees that make the width exact.
    guaranteed : bool
        Whether the draws are known to carry a privacy guarantee; False for arrays.
    assumed : str
        Assumption made for arrays, whose law is unknown.

    See Also
    --------
    disagreement_decomposition : Computes the decomposition.
    """

    view: ClassVar[str] = _CURATOR

    measure: str
    confidence: float
    table: pd.DataFrame
    hit_rate: Estimate
    n_draws: int
    n_hits: int
    n_counted: int
    guaranteed: bool
    assumed: str = ""

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
        name = MEASURES[self.measure]
        missed = f"{_percent(1 - self.hit_rate.value)} of the draws missed the set"
        share, total = self.share_of_noise, f"{self.total.value:.3g}"
        if math.isnan(share.value):
            return f"The draws show no {name}, so there is nothing to decompose; {missed}."
        ends = f"[{_percent(share.low)}, {_percent(share.high)}]"
        if share.value < 0:
            text = (
                f"The {name} of the model set ({self.width.value:.3g}) exceeds that of these "
                f"draws ({total}): mechanism noise is {_percent(share.value)} {ends}"
            )
        else:
            text = (
                f"{_percent(1 - share.value)} of the {name} among these draws ({total}) is "
                f"model-set width; {_percent(share.value)} {ends} is mechanism noise"
            )
        if self.n_counted:
            missed += f". The width is that of all {self.n_counted:,} trees within ψ"
        assumed = f" Assumed: {self.assumed}." if self.assumed else ""
        return f"{text}: {missed}.{assumed}"


def _percent(share: float) -> str:
    if math.isinf(share):
        return "−∞"
    return f"{round(100 * share)} %".replace("-", "−")
