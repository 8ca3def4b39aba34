"""Preferences about labels, which are not convex: the best of a search, and a proved bound."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.audits.answers import NO_GROUPS, drawn_codes
from rashomon_explorer.audits.choice import preferences
from rashomon_explorer.audits.choice.preferences import Limits, Narrowed, Preferred
from rashomon_explorer.audits.choice.region import Region
from rashomon_explorer.audits.group_rates import (
    NO_RATES,
    Acceptances,
    group_names,
    members_by_group,
)
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.mechanisms.hit_and_run import uniform_models

_GAPS = 13  # gaps in scores at which the least loss is found
_MIXTURES = np.linspace(0.0, 1.0, 17)[1:]  # of two models, which are in the set like both
_ROUNDS = 3
_DRAWN = 100


def fair_rates(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Least gap in the rate of the wanted label, of everyone or of those who have it."""
    if audit.inputs.groups is None:
        raise MissingAnswerError(NO_GROUPS)
    if not audit.has_rates or audit.problem.loss.outputs > 1:
        raise MissingAnswerError(NO_RATES)
    accepted, names = Acceptances(audit), group_names(audit.inputs.groups)
    condition = True if limits.gap == "opportunity" else None
    members = members_by_group(audit.inputs.groups, names)
    if condition and not (members & accepted.wanted).any(axis=1).all():
        raise MissingAnswerError("a group has nobody with the wanted label")
    shares = preferences.group_shares(audit, accepted.wanted if condition else None)
    first, second = np.array(list(combinations(range(len(names)), 2))).T
    low, _, high = accepted.gaps(accepted.rates(members, condition), first, second)
    bound = float(np.maximum(np.maximum(low, -high), 0.0).max())

    def largest_gap(codes: NDArray[np.int_]) -> FloatArray:
        rates = codes @ shares.T
        return np.asarray(np.abs(rates[:, first] - rates[:, second]).max(axis=1))

    means = shares @ _design(audit)
    gaps = means[first] - means[second]
    attained = float(np.abs(gaps @ region.best.theta).max())
    candidates = [region.best.theta, *_drawn_models(audit, region)]
    for gap in np.linspace(-attained, attained, _GAPS):
        normals, offsets = np.vstack([gaps, -gaps]), np.full(2 * len(gaps), abs(gap))
        if len(gaps) == 1:  # at this gap, of either sign
            offsets = np.array([gap, -gap])
        narrowed = region.within(normals, offsets)
        if narrowed.contains(narrowed.best.theta):
            candidates.append(narrowed.best.theta)
    what = "true positive rates" if condition else "rates"
    theta, value = _least_of(audit, candidates, largest_gap)
    preferred = Preferred("fair", value, bound, f"gap in {what}", proof=preferences.LABELS)
    return region.only_at(theta), preferred


def robust(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Least worst share of good models that give a person another label than the chosen model."""
    if audit.task != "classification" or audit.problem.loss.outputs > 1:
        raise MissingAnswerError('"robust" needs a model of two classes')
    shares = drawn_codes(audit.models, audit.answers.rows, audit.answers.cut).mean(axis=0)

    def worst(codes: NDArray[np.int_]) -> FloatArray:
        return np.asarray(np.where(codes == 1, 1 - shares, shares).max(axis=1))

    candidates = [region.best.theta, *_drawn_models(audit, region)]
    theta, value = _least_of(audit, candidates, worst)
    bound = float(np.minimum(shares, 1 - shares).max())
    unit = f"worst conflict ratio over {audit.models.n_draws:,} drawn models"
    proof = "search; bound: the less frequent label of each person"
    return region.only_at(theta), Preferred("robust", value, bound, unit, proof=proof)


def near_labels(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Fewest people whose label differs from that of another model."""
    if audit.task != "classification" or audit.problem.loss.outputs > 1:
        raise MissingAnswerError('to="labels" needs a model of two classes')
    codes = preferences.other_model(audit, limits).codes
    best = audit.answers.best_decided
    stays = (best["decided"] & ~best["flips"]).to_numpy()
    bound = int((stays & (best["label"].to_numpy() != codes)).sum())

    def changes(labels: NDArray[np.int_]) -> FloatArray:
        return np.asarray((labels != codes).sum(axis=1), dtype=float)

    candidates = [region.best.theta, preferences.near(audit, region, limits)[0].best.theta]
    theta, value = _least_of(audit, candidates, changes)
    unit = f"of {len(codes):,} people with another label"
    preferred = Preferred("near", value, float(bound), unit, proof=preferences.LABELS)
    return region.only_at(theta), preferred


def _design(audit: Any) -> FloatArray:
    """Rows (n_rows, p) with the constant of an intercept."""
    rows = audit.answers.rows
    return np.column_stack([rows, np.ones(len(rows))]) if audit.problem.intercept else rows


def _drawn_models(audit: Any, region: Region) -> FloatArray:
    """Mean of models drawn uniformly from a region, and these models (K, p)."""
    restricted, used = region.restricted, region.parameters
    room = region.level - restricted.minimum.value
    drawn = np.zeros((_DRAWN, len(used)))
    if room <= 0:
        return drawn[:0]
    drawn[:, used] = uniform_models(restricted, room, _DRAWN, audit.inputs.rng())
    drawn = drawn[(drawn @ region.normals.T <= region.offsets).all(axis=1)]
    return np.vstack([drawn.mean(axis=0)[None], drawn]) if len(drawn) else drawn


def _least_of(
    audit: Any, candidates: list[FloatArray], measure: Callable[[NDArray[np.int_]], FloatArray]
) -> tuple[FloatArray, float]:
    """Model with the least measure of its labels among models of a set and their mixtures."""
    design, problem = _design(audit), audit.problem
    models = np.array(candidates)
    for _ in range(_ROUNDS):
        values = measure((models @ design.T > audit.answers.cut).astype(int))
        # Of equal ones that with the least loss.
        order = np.lexsort((problem.value(models.T), values))
        best, rest = models[order[0]], models[order[: _GAPS + 1]]
        mixed = best + _MIXTURES[:, None, None] * (rest[1:] - best)
        models = np.vstack([best[None], mixed.reshape(-1, len(best))])
    values = measure((models @ design.T > audit.answers.cut).astype(int))
    index = np.lexsort((problem.value(models.T), values))[0]
    return models[index], round(float(values[index]), 12)


BY_LABELS = {"fair": fair_rates, "near": near_labels}
"""Preferences that are about labels instead of scores or coefficients."""
