"""Decomposition of disagreement into model-set width and mechanism noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures.decomposition import estimates, kernels
from rashomon_explorer.measures.decomposition.inputs import Inputs, PairMeans, check_inputs
from rashomon_explorer.measures.inputs import model_steps, set_and_rows

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.planning.plan import Plan
    from rashomon_explorer.sets import RashomonSet


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
) -> estimates.DisagreementDecomposition:
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
    pair_measure = kernels.get_pair_measure(measure)
    found = check_inputs(models, X, pair_measure, inside, reference, reference_chains)
    overall, *parts = found.pair_means(groups)
    units, mixture, split = _estimates(found, overall, confidence)
    table: dict[Any, dict[str, float]] = {}
    for part in parts:
        table[part.name] = {"rows": part.n_rows}
        if part.n_rows:
            table[part.name] |= _estimates(found, part, confidence)[2].columns()
    frame = pd.DataFrame.from_dict(table, orient="index").rename_axis(index="group")
    frame.attrs["view"] = estimates.CURATOR
    hits, n_draws = int(found.inside.sum()), len(found.inside)
    return estimates.DisagreementDecomposition(
        measure=measure,
        confidence=confidence,
        **vars(split),
        hit_rate=estimates.hit_interval(hits, n_draws, confidence),
        parts=_parts(mixture),
        groups=None if groups is None else frame.astype({"rows": int}),
        n_draws=n_draws,
        n_hits=hits,
        n_reference=found.n_reference,
        cross_check=_cross_check(units, overall.width) if found.comparable else None,
        counted=found.exact is not None,
        guaranteed=found.guaranteed,
        assumed=found.assumed,
    )


def _estimates(
    found: Inputs, part: PairMeans, confidence: float
) -> tuple[kernels.Units, estimates.Mixture, estimates.GroupEstimates]:
    """Estimates on a group's rows, of which there is at least one."""
    assert part.means is not None
    units = kernels.Units.from_matrix(
        part.means, kernels.Layout.from_hits(found.inside, found.chains)
    )
    mixture = estimates.Mixture.from_units(units, found.uniform, part.width)
    return units, mixture, estimates.mixture_estimates(found, units, mixture, confidence)


def _parts(mixture: estimates.Mixture) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "pairs": mixture.pairs[:, 0],
            "value": mixture.values[:, 0],
            "total": mixture.terms[:, 0],
            "noise": mixture.noise_terms[:, 0],
        },
        index=pd.Index(estimates.PAIRS, name="draws"),
    )
    table.attrs["view"] = estimates.CURATOR
    return table


def _cross_check(units: kernels.Units, exact: float | None) -> float | None:
    """Width of the hits minus that of the reference, in standard errors; None if unknown."""
    drawn = units.layout.drawn
    if drawn.all() and exact is None:
        return None
    hits = estimates.Mixture.from_units(units.only(units.layout.hit), uniform=True).width
    if exact is not None:
        reference_width, more = exact, 0.0
    else:
        reference = estimates.Mixture.from_units(units.only(~drawn), uniform=False).width
        reference_width, more = reference[0], _error(reference)
    apart, error = hits[0] - reference_width, math.hypot(_error(hits), more)
    return float(apart / error) if error > 0 and math.isfinite(apart) else None


def _error(replicates: FloatArray) -> float:
    return math.sqrt(float(estimates.variance(replicates[1:])))


_SAME = 1 - 1e-9  # relative tolerance on the budget spent, which bisection recomputes
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

    Examples
    --------
    >>> labels = [[0, place % 2, 0] for place in range(20)]
    >>> labels += [[0, 0, place % 2] for place in range(20)]
    >>> table = decomposition_by_person(labels, inside=[True] * 20 + [False] * 20)
    >>> table["verdict"].tolist()
    ['no disagreement', 'the set', 'the mechanism']
    """
    check_inner_share(confidence=confidence)
    pair_measure = kernels.get_pair_measure(measure)
    found = check_inputs(models, X, pair_measure, inside, reference, reference_chains)
    layout = kernels.Layout.from_hits(found.inside, found.chains)
    by_row = found.values.swapaxes(0, 1)
    parts = []
    for start, stop, _ in progress(model_steps(by_row, np.array([len(by_row)])), "decomposition"):
        rows = kernels.RowUnits(found.values[:, start:stop], pair_measure, layout)
        exact = None if found.exact is None else found.exact[start:stop]
        parts.append(_table(found, rows, exact, confidence))
    table = pd.concat(parts, ignore_index=True)
    if isinstance(X, pd.DataFrame):
        table.index = X.index
    table.attrs["view"] = estimates.CURATOR
    return table


def _table(
    found: Inputs, rows: kernels.RowUnits, exact: FloatArray | None, confidence: float
) -> pd.DataFrame:
    mixture = estimates.Mixture.from_units(rows, found.uniform, exact)
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
    found: Inputs, layout: kernels.Layout, contrast: FloatArray, confidence: float
) -> FloatArray:
    """Half-width of each row's interval, widened by a worst-case bound if few draws miss."""
    wide = len(found.chains) + (int(found.inside.sum()) if found.uniform else 0)
    if found.exact is not None:
        wide = estimates.KNOWN
    if wide < estimates.FEW:
        return np.full(contrast.shape[1], np.inf)
    missed = int(layout.missed.sum())
    few = missed < estimates.FEW
    chance = 0.5 + confidence / 2 if few else confidence
    freedom = wide - 1 if few else min(missed, wide) - 1
    drawn = layout.drawn
    deviation = np.sqrt(
        estimates.variance(contrast[1:][drawn]) + estimates.variance(contrast[1:][~drawn])
    )
    half = stdtrit(freedom, 0.5 + chance / 2) * deviation
    if few:
        hits = estimates.hit_interval(int(found.inside.sum()), len(found.inside), chance)
        half = half + (1 - max(hits.low, found.least_hit_rate) ** 2) * found.most / 2
    return np.asarray(half)


def noise_by_budget(
    models: RashomonSet,
    X: ArrayLike,
    epsilon: ArrayLike,
    *,
    measure: str = "disagreement",
    reference: Any = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Estimate width and noise for the same number of draws at larger budgets, without drawing.

    The law at a lower temperature β' ≥ β has density ∝ exp(−(β' − β)·(L − min L − ψ)₊) ≤ 1
    relative to that of the draws. Thinning each draw with this probability would give independent
    draws from exactly that law. Instead, draws outside get this probability as a weight. Draws
    inside have weight 1; at ε = ∞ only they remain and give the width. Smaller budgets are not
    supported: their weights grow with the loss, so the draws do not represent them well.

    **Curator: computed from private rows, not private.** A budget chosen by it is data-dependent.

    Parameters
    ----------
    models : RashomonSet
        All draws of a fit with the sampler ``"exact"``.
    epsilon : float or array-like of shape (n_budgets,)
        Total privacy budgets for as many draws at the plan's δ, at least the one spent; may be ∞.
    X, measure, reference, confidence
        As for :func:`disagreement_decomposition`.

    Returns
    -------
    pandas.DataFrame
        One row per budget: ``epsilon``, ``beta``, ``hit_rate``, ``draws``, the effective sample
        size (Σw)²/Σw² of the weighted draws, and value, ``_low`` and ``_high`` of ``total``,
        ``width``, ``noise`` and ``share_of_noise``. ``attrs`` has the view, the measure
        and whether the draws carry a guarantee.

    Raises
    ------
    ValueError
        If a budget is below the one spent, or as :func:`disagreement_decomposition`.
    CuratorOnlyError
        If given a release.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> settings = {"psi": 0.1, "epsilon": 40.0, "n_draws": 50, "radius": 4.0, "random_state": 0}
    >>> fitted = RashomonClassifier(mechanism="exact", ridge=0.0, **settings).fit(X, y)
    >>> table = noise_by_budget(fitted.rashomon_set_, X, [40, 90, np.inf])
    >>> table["hit_rate"].round(2).tolist(), float(table["noise"].iloc[-1])
    ([0.66, 0.77, 1.0], 0.0)
    """
    check_inner_share(confidence=confidence)
    pair_measure = kernels.get_pair_measure(measure)
    models, X = set_and_rows(models, X)
    _check_models(models)
    found = check_inputs(models, X, pair_measure, None, reference, None)
    units, plan = _estimates(found, found.pair_means()[0], confidence)[0], models.plan
    energy = plan.threshold.energy(np.asarray(models.excess) - models.psi)
    energy = np.pad(np.where(found.inside, 0.0, energy), (0, len(units.layout.sizes) - len(energy)))
    rows = []
    for price in _prices(epsilon, plan):
        eta = _eta(price, plan)
        weighted = units.reweighted(_weights(energy, eta / plan.oscillation - plan.beta))
        proved = plan.at(eta)[1] if np.isfinite(eta) else 1.0
        mixture = estimates.Mixture.from_units(weighted, found.uniform)
        here = replace(found, least_hit_rate=proved)
        split = estimates.mixture_estimates(here, weighted, mixture, confidence)
        weights = weighted.layout.weights[units.layout.drawn]
        rows.append(
            {
                "epsilon": price,
                "beta": eta / plan.oscillation,
                "hit_rate": float(units.layout.hit.sum() / weights.sum()),
                "draws": float(weights.sum() ** 2 / (weights @ weights)),
                **split.columns(),
            }
        )
    table = pd.DataFrame(rows)
    table.attrs.update(view=estimates.CURATOR, measure=measure, guaranteed=found.guaranteed)
    return table


def _weights(energy: FloatArray, colder: float) -> FloatArray:
    with np.errstate(invalid="ignore"):  # at ε = ∞ draws inside have energy 0·∞
        return np.where(energy > 0, np.exp(-np.maximum(colder, 0.0) * energy), 1.0)


def _eta(price: float, plan: Plan) -> float:
    from rashomon_explorer.mechanisms.planning.pricing import affordable_eta

    if not np.isfinite(price):
        return float("inf")
    return max(plan.eta, affordable_eta(price, plan.delta, plan.n_draws, ledger=plan.ledger))


def _check_models(models: Any) -> None:
    from rashomon_explorer.measures.reliance.set_reliance import find_trees
    from rashomon_explorer.mechanisms.planning.registry import mechanism_traits
    from rashomon_explorer.sets import RashomonSet, ReleasedSet, ReleasedTrees

    if isinstance(models, ReleasedSet | ReleasedTrees):
        raise CuratorOnlyError(
            "the weights of draws outside depend on private rows: not available for a release"
        )
    if find_trees(models) is not None:
        raise ValueError(
            "the threshold of a plan for trees depends on epsilon, so draws of one plan cannot "
            "represent another: fit again with the larger epsilon, and "
            "decompose those draws"
        )
    known = isinstance(models, RashomonSet) and mechanism_traits(models.mechanism).planned_law
    # As ε → ∞, a law at ψ = 0 concentrates at the best model and does not yield the set's width.
    if not known or models.plan.law_psi is not None:
        kind = getattr(models, "mechanism", type(models).__name__)
        raise ValueError(
            f"models must be a RashomonSet of mechanism='exact', whose law is known at every "
            f"epsilon, got {kind!r}"
        )
    if not models.plan.by_bounded_range:
        raise ValueError(
            f"models were composed by the certificate {models.plan.certificate!r}: the comparison "
            "needs draws composed by 'oscillation'"
        )


def _prices(epsilon: ArrayLike, plan: Plan) -> FloatArray:
    prices = np.atleast_1d(np.asarray(epsilon, dtype=float))
    if prices.ndim != 1 or not (prices >= plan.epsilon * _SAME).all():
        raise ValueError(
            f"epsilon must be at least {rounded_up(plan.epsilon)}, the privacy cost of the draws, "
            f"got {prices.tolist()}: draws at a smaller budget have larger losses, which these "
            "draws cannot represent"
        )
    return prices
