"""Stopping rule for the number of draws."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_inner_share, check_positive
from rashomon_explorer.measures.confidence_sequence import ConfidenceSequence
from rashomon_explorer.measures.inputs import Labels, as_models_by_rows
from rashomon_explorer.measures.multiplicity.catalogue import LOWER_BOUND, MEASURES
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS, sampler_traits
from rashomon_explorer.sets.diagnostics import effective_size

_FEWEST = 4  # states of a chain, below which ArviZ has no answer


def chain_interval(
    terms: FloatArray,
    n_chains: int,
    models_a_term: int,
    confidence: float,
    bounds: tuple[float, float],
) -> tuple[float, float, float, float]:
    """Mean, low and high end, and effective size of terms of states of chains in turn."""
    check_inner_share(confidence=confidence)
    if n_chains < models_a_term or n_chains % models_a_term:
        raise ValueError(
            f"n_chains must be an even number for a measure of pairs, got {n_chains}: the models "
            "of a pair must be of two chains"
        )
    columns = n_chains // models_a_term
    length = len(terms) // columns
    if length < _FEWEST * (1 + (columns == 1)):
        raise ValueError(
            f"{len(terms) * models_a_term} states of {n_chains} chains are too few to estimate "
            f"their dependence: at least {_FEWEST} of each chain are needed; draw more, "
            "or pass n_chains= if there were fewer chains"
        )
    kept = terms[: length * columns]
    effective = effective_size(kept.reshape(length, columns).T)
    mean = float(kept.mean())
    if not effective > 1:
        return mean, *bounds, effective
    reach = float(stdtrit(effective - 1, (1 + confidence) / 2)) * float(kept.std(ddof=1))
    half = reach / math.sqrt(effective)
    return mean, max(bounds[0], mean - half), min(bounds[1], mean + half), effective


@dataclass(frozen=True)
class Enough:
    """Answer of :func:`enough_draws`."""

    measure: str
    enough: bool
    low: float
    high: float
    value: float
    half_width: float
    confidence: float
    n_draws: int
    stopped_at: int | None
    effective: float | None = None

    def __str__(self) -> str:
        """Say it in one sentence."""
        interval = f"{self.measure} in [{self.low:.4f}, {self.high:.4f}] at {self.confidence:.0%}"
        if self.effective is not None:
            interval += f" (asymptotic, for one look; effective size {self.effective:.0f})"
        if self.enough:
            return f"{interval}: ±{self.half_width:g} after {self.stopped_at} draws: enough"
        return f"{interval} after {self.n_draws} draws: not yet ±{self.half_width:g}"


def enough_draws(
    measure: str,
    values: ArrayLike,
    *,
    half_width: float = 0.01,
    confidence: float = 0.95,
    baseline: ArrayLike | None = None,
    sampler: str = "exact",
    n_chains: int | None = None,
) -> Enough:
    """Whether the models drawn so far fix a measure to ± ``half_width``.

    Valid whenever one looks and stops (:class:`ConfidenceSequence`), because each measure is
    written as the mean of independent bounded terms, one a model or one for each *disjoint* pair
    of models, (1, 2), (3, 4), …: overlapping pairs would make it sharper, but they are dependent.
    Draws of the samplers ``"exact"``, ``"finite_grid"`` and an estimator's ``"langevin"`` are
    independent. Those of them that lie inside the Rashomon set are independent too, in their
    order; sorted ones are not. States of chains (``"hit_and_run"``, ``"mala"``) are not: their
    interval is asymptotic, from the effective sample size that ArviZ finds, and says so.

    Parameters
    ----------
    measure : {"disagreement", "self_consistency", "obscurity", "score_variance"}
        The score variance of probabilities of one class. Extremes over the set (ambiguity,
        discrepancy, ranges, capacity) are no means: no number of draws bounds them from above
        without looking at the set, as the exact ranges do.
    values : array-like of shape (n_models, n_rows)
        Labels, or probabilities for the score variance, in the order of drawing.
    half_width : float, default=0.01
    confidence : float, default=0.95
    baseline : array-like of shape (n_rows,), optional
        Labels of the reference model of the obscurity; it may not be one of the draws.
    sampler : str, default="exact"
        Name of the sampler that drew the models (``rashomon_set_.sampler``).
    n_chains : int, optional
        Chains that the models are states of, one of each in turn; by default the sampler's own.

    Raises
    ------
    ValueError
        If the measure is an extreme, the sampler is unknown, the obscurity has no baseline,
        there are no two models for a pair, chains are too few or too short, or a number is out
        of range.
    ImportError
        For chains, if ArviZ is not installed (the extra ``diagnostics``).

    Examples
    --------
    >>> labels = np.random.default_rng(0).random((3000, 50)) < 0.05
    >>> print(enough_draws("disagreement", labels))
    disagreement in [0.0910, 0.0985] at 95%: ±0.01 after 764 draws: enough
    """
    chains = _check(measure, half_width, sampler, n_chains)
    terms, bounds, models_a_term = _TERMS[measure](values, baseline)
    if chains is not None:
        value, low, high, effective = chain_interval(
            terms, chains, models_a_term, confidence, bounds
        )
        enough, count = (high - low) / 2 <= half_width, len(terms) * models_a_term
        return Enough(
            measure,
            enough,
            low,
            high,
            value,
            half_width,
            confidence,
            count,
            count if enough else None,
            effective,
        )
    sequence = ConfidenceSequence(confidence, bounds)
    stopped_at = None
    for place, term in enumerate(terms.tolist(), start=1):
        sequence.update(term)
        if stopped_at is None and sequence.half_width <= half_width:
            stopped_at = place * models_a_term
    return Enough(
        measure=measure,
        enough=stopped_at is not None,
        low=sequence.low,
        high=sequence.high,
        value=sequence.mean,
        half_width=half_width,
        confidence=confidence,
        n_draws=len(terms) * models_a_term,
        stopped_at=stopped_at,
    )


def _check(measure: str, half_width: float, sampler: str, n_chains: int | None) -> int | None:
    """Refuse what has no interval; return the number of chains, None for independent draws."""
    if measure in MEASURES and MEASURES[measure].sampled == LOWER_BOUND:
        raise ValueError(
            f"the {measure} is an extreme over the set: draws bound it from below only; "
            "use exact ranges over the set for the other side"
        )
    if measure not in _TERMS:
        raise ValueError(f"measure must be one of {sorted(_TERMS)}, got {measure!r}")
    known = sampler_traits(sampler)
    if n_chains is None and not known.dependence_known:
        allowed = sorted(name for name, kind in SAMPLERS.items() if kind.traits.dependence_known)
        raise ValueError(
            f"the dependence between draws of the sampler {sampler!r} is unknown: use one of "
            f"{allowed}, or pass n_chains= for states of chains"
        )
    check_positive(half_width=half_width)
    return (known.n_chains or None) if n_chains is None else n_chains


def _pairs(models: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    if len(models) < 2:
        raise ValueError(f"at least two models are needed for a pair, got {len(models)}")
    even = len(models) // 2 * 2
    return models[0:even:2], models[1:even:2]


def _differing(values: ArrayLike, _: Any) -> tuple[FloatArray, tuple[float, float], int]:
    one, other = _pairs(Labels.of(values).codes)
    return (one != other).mean(axis=1), (0.0, 1.0), 2


def _agreeing(values: ArrayLike, _: Any) -> tuple[FloatArray, tuple[float, float], int]:
    terms, bounds, models = _differing(values, None)
    return 1 - terms, bounds, models


def _from_baseline(
    values: ArrayLike, baseline: ArrayLike | None
) -> tuple[FloatArray, tuple[float, float], int]:
    if baseline is None or np.ndim(baseline) == 0:
        raise ValueError(
            "baseline must be the labels of a model that is not one of the draws, such as the "
            f"certified best: a draw would depend on the others' terms; got {baseline!r}"
        )
    labels = Labels.of(values)
    return (labels.codes != labels.reference(baseline)).mean(axis=1), (0.0, 1.0), 1


def _half_squares(values: ArrayLike, _: Any) -> tuple[FloatArray, tuple[float, float], int]:
    scores = as_models_by_rows(values, "scores")
    if scores.min() < 0 or scores.max() > 1:
        raise ValueError(
            "scores must be probabilities in [0, 1], so that the terms are bounded, got "
            f"[{scores.min():g}, {scores.max():g}]"
        )
    one, other = _pairs(scores)
    return ((one - other) ** 2).mean(axis=1) / 2, (0.0, 0.5), 2


_TERMS: dict[str, Callable[..., tuple[FloatArray, tuple[float, float], int]]] = {
    "disagreement": _differing,
    "self_consistency": _agreeing,
    "obscurity": _from_baseline,
    "score_variance": _half_squares,
}
