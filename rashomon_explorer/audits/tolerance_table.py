"""Answers of an audit at several tolerances: how fast they change with ψ."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtr, ndtri

from rashomon_explorer import measures
from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges.flips import least_crossings

MULTIPLES = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
"""Multiples of ψ in a table: ranges about a quarter, half, twice and four times as wide."""
SHOWN = (1 / 4, 1.0, 4.0)
"""Those in a summary."""

_PRECISION = 0.01  # of the ψ at which a sign is lost
_LIKELIHOODS = ("logistic", "softmax", "identity")


def tolerance_table(audit: Any, multiples: Sequence[float] = MULTIPLES) -> pd.DataFrame:
    """Per multiple of ψ (sampled: up to 1): people who can flip, settled signs, what ψ means."""
    exact = audit.kind == "exact"
    listed = [share for share in sorted(multiples) if exact or share <= 1]
    rows = pd.DataFrame({"psi": np.array(listed) * audit.psi}, index=pd.Index(listed, name="×ψ"))
    if exact:
        rows["of_loss"] = rows["psi"] / audit.problem.minimum.value
        rows["level"] = [_level(audit.problem, psi) for psi in rows["psi"]]
    if audit.task == "classification":
        n = len(audit.inputs.index)
        rows["flips"] = _flips(audit, listed)
        rows["share"] = rows["flips"] / n
    else:
        rows["median_range"] = [
            _at_multiple(audit, share, lambda part: np.median(widths(part))) for share in listed
        ]
    if audit.has_coefficients and len(names := effects(audit).index):
        rows["settled_signs"] = [
            _at_multiple(audit, share, lambda part: part.coefficients.loc[names, "settled"].sum())
            for share in listed
        ]
        rows["coefficients"] = len(names)
    return rows


def _level(problem: Any, psi: float) -> float:
    """Level of the likelihood ratio test of one parameter that does not reject excess ψ."""
    if problem.loss.link not in _LIKELIHOODS:
        return math.nan
    weight = problem.n  # weights have mean 1
    if problem.loss.link == "identity":
        return float(chdtr(1, weight * math.log1p(psi / problem.minimum.value)))
    return float(chdtr(1, 2 * weight * psi))


def _at_multiple(audit: Any, share: float, answer: Callable[[Any], Any]) -> float:
    """Answer at a multiple of ψ; NaN if a sample, or a set without bounds, does not tell."""
    if share != 1:
        if audit.kind != "exact":
            return math.nan
        inputs = replace(audit.inputs, psi=audit.psi * share)
        audit = replace(audit, answers=replace(audit.answers, inputs=inputs))
    try:
        return float(answer(audit))
    except DataError:
        return math.nan


def _flips(audit: Any, multiples: Sequence[float]) -> list[float]:
    """Count who can flip at each multiple: whoever can at a smaller ψ can at a larger one."""
    if audit.kind != "exact":
        return _sampled_flips(audit, multiples)
    table, best = audit.decided, audit.answers.best_decided
    counts = {1.0: float(table["flips"].sum())}
    best_differs = (table["label"] != best["label"]).to_numpy()  # flipped by the best model
    can = best["flips"].to_numpy()
    for share in sorted((share for share in multiples if share < 1), reverse=True):
        can = can & _can_flip(audit, share, can)
        counts[share] = float((can | best_differs).sum())
    can = best["flips"].to_numpy()
    for share in sorted(share for share in multiples if share > 1):
        try:
            can = can | _can_flip(audit, share, ~can)
            counts[share] = float((can | best_differs).sum())
        except DataError:  # no bounded set is known
            counts[share] = math.nan
    return [counts[share] for share in multiples]


def _can_flip(audit: Any, share: float, people: Mask) -> Mask:
    answers, flips = audit.answers, np.zeros(len(people), dtype=bool)
    if people.any():
        table = measures.exact_flips(
            answers.problem, audit.psi * share, answers.rows[people], threshold=answers.cut
        )
        flips[people] = table["flips"]
    return flips


def _sampled_flips(audit: Any, multiples: Sequence[float]) -> list[float]:
    changes = np.asarray(audit.answers.label_codes) != audit.decided["label"].to_numpy()
    models = audit.models
    upper = np.asarray(models.excess) + float(ndtri(models.confidence)) * np.asarray(models.errors)
    good = [(upper <= share * audit.psi) | (share == 1) for share in multiples]
    return [float(changes[each].any(axis=0).sum()) for each in good]


def widths(audit: Any) -> FloatArray:
    """Width (n_rows,) of the range of each person's prediction."""
    ranges = audit.person_ranges
    return np.asarray((ranges["high"] - ranges["low"]).to_numpy(), dtype=float)


def effects(audit: Any) -> pd.DataFrame:
    """Coefficients in the units of the table without intercepts, the most certain sign first."""
    opaque = {column.name for column in audit.inputs.model.columns if not column.in_units}
    has_unit = [str(name).split(": ")[-1] not in opaque for name in audit.effects.index]
    table = audit.coefficients.loc[audit.effects.index[has_unit]]
    width = (table["high"] - table["low"]).to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        certainty = np.nan_to_num(np.abs(table["fitted"].to_numpy(float)) / width, posinf=np.inf)
    return table.iloc[np.argsort(-certainty, kind="stable")]


def half_settled_psi(audit: Any) -> float:
    """Greatest ψ at which at least half of the coefficients keep their sign, from below."""
    problem, model = audit.problem, audit.inputs.model
    scores = problem.class_scores if problem.loss.outputs > 1 else np.ones((1, 1))
    directions, names = model.directions(problem.intercept, scores)
    is_effect = np.isin(names, effects(audit).index.to_numpy(dtype=str))
    best = directions[is_effect] @ problem.minimum.theta
    outward = -np.sign(best)[:, None] * directions[is_effect]
    zero = float(problem.value(np.zeros((problem.p, 1)))[0]) - problem.minimum.value
    lower = least_crossings(problem, outward.T, 1.01 * max(zero, 1e-12), _PRECISION)[0]
    order = np.sort(lower)[::-1]
    return float(order[(len(order) - 1) // 2]) if len(order) else math.nan
