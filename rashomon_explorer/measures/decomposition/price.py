"""Mechanism noise at larger privacy budgets, estimated from the available draws."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures.decomposition.decomposition import estimates, flat, select_units
from rashomon_explorer.measures.decomposition.estimates import CURATOR, Mixture
from rashomon_explorer.measures.decomposition.inputs import check_inputs
from rashomon_explorer.measures.decomposition.kernels import Layout, get_pair_measure

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.planning.plan import Plan
    from rashomon_explorer.sets import RashomonSet

_SAME = 1 - 1e-9  # relative tolerance on the budget spent, which bisection recomputes


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
    X : array-like of shape (n_rows, n_features)
    epsilon : float or array-like of shape (n_budgets,)
        Total privacy budgets for as many draws at the plan's δ, at least the one spent; may be ∞.
    measure : {"disagreement", "score_variance"}, default="disagreement"
    reference : RashomonSet, optional
        As for :func:`disagreement_decomposition`.
    confidence : float, default=0.95

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
    >>> asked = {"psi": 0.1, "epsilon": 40.0, "n_draws": 50, "radius": 4.0, "random_state": 0}
    >>> fitted = RashomonClassifier(mechanism="exact", ridge=0.0, **asked).fit(X, y)
    >>> table = noise_by_budget(fitted.rashomon_set_, X, [40, 90, np.inf])
    >>> table["hit_rate"].round(2).tolist(), float(table["noise"].iloc[-1])
    ([0.66, 0.77, 1.0], 0.0)
    """
    check_inner_share(confidence=confidence)
    pair_measure = get_pair_measure(measure)
    _check_models(models)
    found = check_inputs(models, X, pair_measure, None, reference, None)
    units, plan = select_units(found, pair_measure), models.plan
    energy = plan.threshold.energy(np.asarray(models.excess) - models.psi)
    energy = np.pad(np.where(found.inside, 0.0, energy), (0, len(units.layout.sizes) - len(energy)))
    rows = []
    for price in _prices(epsilon, plan):
        eta = _eta(price, plan)
        weighted = units.reweighted(_weights(energy, eta / plan.oscillation - plan.beta))
        proved = plan.at(eta)[1] if np.isfinite(eta) else 1.0
        split = estimates(
            replace(found, least_hit_rate=proved),
            weighted,
            Mixture.of(weighted, found.uniform),
            confidence,
        )
        worth = _worth(weighted.layout)
        rows.append({"epsilon": price, "beta": eta / plan.oscillation, **worth, **flat(split)})
    table = pd.DataFrame(rows)
    table.attrs.update(view=CURATOR, measure=measure, guaranteed=found.guaranteed)
    return table


def _worth(layout: Layout) -> dict[str, float]:
    kept = layout.weights[layout.drawn]
    return {
        "hit_rate": float(layout.hit.sum() / kept.sum()),
        "draws": float(kept.sum() ** 2 / (kept @ kept)),
    }


def _weights(energy: FloatArray, colder: float) -> FloatArray:
    with np.errstate(invalid="ignore"):  # at ε = ∞ draws inside have energy 0·∞
        return np.where(energy > 0, np.exp(-np.maximum(colder, 0.0) * energy), 1.0)


def _eta(price: float, plan: Plan) -> float:
    from rashomon_explorer.mechanisms.planning.pricing import affordable_eta

    if not np.isfinite(price):
        return float("inf")
    return max(plan.eta, affordable_eta(price, plan.delta, plan.n_draws, ledger=plan.ledger))


def _check_models(models: Any) -> None:
    from rashomon_explorer.measures.reliance.tree_reliance import held_trees
    from rashomon_explorer.mechanisms.samplers.registry import sampler_traits
    from rashomon_explorer.sets import RashomonSet, ReleasedSet, ReleasedTrees

    if isinstance(models, ReleasedSet | ReleasedTrees):
        raise CuratorOnlyError(
            "the weights of draws outside depend on private rows: not available for a release"
        )
    if held_trees(models) is not None:
        raise ValueError(
            "the threshold of a plan for trees depends on epsilon, so draws of one plan cannot "
            "represent another: fit again with the larger epsilon, and "
            "decompose those draws"
        )
    known = isinstance(models, RashomonSet) and sampler_traits(models.mechanism).planned_law
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
