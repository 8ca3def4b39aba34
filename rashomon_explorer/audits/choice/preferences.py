"""What a model is preferred for: each preference narrows the models that are left, with a proof."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import number
from rashomon_explorer.audits.answers import NO_GROUPS
from rashomon_explorer.audits.choice.card import CardSearch
from rashomon_explorer.audits.choice.region import Region
from rashomon_explorer.audits.choice.sparse import OutOfTime, SupportSearch, WorkBudget
from rashomon_explorer.audits.comparison import common_parameters
from rashomon_explorer.audits.group_rates import group_names, members_by_group
from rashomon_explorer.audits.models import AuditedModel
from rashomon_explorer.exceptions import MissingAnswerError

_CLOSE = 1e-6  # distance of a value and its bound that counts as none, relative to the largest
_MOST_VALUES = 100  # of a column, between which a sign is required
_BASES = 3  # rows whose column is changed
_SAME = 1e-9
_CLOSER = 1e-4  # of a gap, relative: a smaller improvement by other features is not looked for
_ROUNDS = 20  # of better sets of features
CONVEX = "a tangent of the loss"
BRANCHES = "branch and bound"
LABELS = "search; bound by the people whose label no good model changes"


@dataclass(frozen=True)
class Limits:
    """What a choice must meet, and what a preference is for."""

    signs: Mapping[str, Any] | None = None
    max_features: int | None = None
    max_gap: float | None = None
    gap: str = "scores"
    near: Any = None
    to: str = "coefficients"
    points: int = 5
    seconds: float | None = 10.0


@dataclass(frozen=True)
class Preferred:
    """Value of what was preferred, and a proved bound of the best one among the models left."""

    name: str
    value: float
    bound: float
    unit: str
    multiplier: float = 0.0  # of the points of a card
    proof: str = ""  # how the bound is known
    among: str = ""  # good models that the bound is of, if not of all

    @property
    def optimal(self) -> bool:
        """Whether the value is proved to be the best, up to rounding."""
        return self.value - self.bound <= _CLOSE * (1e-3 + abs(self.value))

    @property
    def text(self) -> str:
        """The value with its proof."""
        value = f"{number(self.value)} {self.unit}".strip()
        if self.optimal:
            return f"{value}: no good model{self.among} has less"
        bound = number(self.bound, rounding="down")
        return f"{value}: no good model{self.among} has less than {bound}"


Narrowed = tuple[Region, Preferred]


def table_features(audit: Any) -> tuple[list[str], Mask]:
    """Columns of the table, and whether each column of the problem's rows is computed from them."""
    columns, intercept = audit.inputs.model.columns, audit.problem.intercept
    names = list(dict.fromkeys(source for column in columns for source in column.sources))
    uses = [[name in column.sources for column in columns] + [False] * intercept for name in names]
    return names, np.array(uses, dtype=bool).reshape(len(names), -1)


def limited(audit: Any, limits: Limits) -> Region:
    """Models of the set that meet the limits."""
    region = Region.from_set(audit.problem, audit.psi)
    if limits.signs:
        normals = sign_constraints(audit, limits.signs)
        region = _nonempty(
            region.within(normals, np.zeros(len(normals))), "has all signs as declared"
        )
    if limits.max_gap is not None:
        gaps = gap_normals(audit)
        text = f"has a gap in mean scores of at most {number(limits.max_gap)}"
        region = _nonempty(_with_gap(region, gaps, limits.max_gap), text)
    if limits.max_features is not None:
        region = _with_features(audit, region, limits)
    return region


def _nonempty(region: Region, text: str) -> Region:
    """Region, or an error with the proof that no good model is in it."""
    best = region.best
    if best.value > region.level:
        excess = best.value - float(region.problem.minimum.value)
        raise MissingAnswerError(
            f"no good model {text}: the least excess loss with it is {number(excess)}, and psi is "
            f"{number(region.psi)}"
        )
    return region


def _with_features(audit: Any, region: Region, limits: Limits) -> Region:
    names, uses = table_features(audit)
    limit = min(int(limits.max_features or 0), len(names))
    search = SupportSearch(region, uses, WorkBudget(limits.seconds))
    dropped = search.at_most(limit)
    if dropped is None:
        raise MissingAnswerError(
            f"no good model uses {limit} features or fewer (psi is {number(region.psi)}): "
            'choose("sparse") finds how many are needed'
        )
    return region.with_features(search.columns_without(dropped), uses, limit)


def sparse(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Fewest columns of the table, levels of a column counted once."""
    names, uses = table_features(audit)
    search = SupportSearch(region, uses, WorkBudget(limits.seconds))
    solution = search.fewest()
    n_used = len(names) - int(solution.dropped.sum())
    unit, columns = f"of {len(names)} features", search.columns_without(solution.dropped)
    preferred = Preferred("sparse", float(n_used), float(solution.fewest), unit, proof=BRANCHES)
    return region.with_features(columns, uses, n_used), preferred


def sign_constraints(audit: Any, signs: Mapping[str, Any]) -> FloatArray:
    """Return normals (m, p), ≤ 0 for models whose score grows as declared: by the pipeline."""
    problem, model = audit.problem, audit.inputs.model
    if problem.loss.outputs > 1:
        raise MissingAnswerError("signs need one score a person, and this model has several")
    parts = [_growth(model, str(name), sign) for name, sign in signs.items()]
    normals = -np.unique(np.vstack(parts).round(12), axis=0)
    return np.pad(normals, [(0, 0), (0, int(problem.intercept))])


def _growth(model: AuditedModel, name: str, sign: Any) -> FloatArray:
    """Return changes of the encoded row from each value of a column to the next one in order."""
    table = model.table
    if name not in table.columns:
        raise ValueError(f"signs has no column {name!r}; the columns are {list(table.columns)}")
    if isinstance(sign, str):
        if sign not in ("+", "-", "−"):
            raise ValueError(
                f"signs[{name!r}] must be '+', '-' or a list of levels in order, got {sign!r}"
            )
        values = np.unique(table[name].dropna().to_numpy())
        if not np.issubdtype(values.dtype, np.number) and values.dtype != bool:
            raise ValueError(f"signs[{name!r}] must list the levels from low to high")
        some = np.linspace(0, len(values) - 1, min(len(values), _MOST_VALUES)).astype(int)
        ordered = list(values[np.unique(some)])
        ordered = ordered if sign == "+" else ordered[::-1]
    else:
        ordered = list(sign)
        unknown = [level for level in ordered if level not in set(table[name])]
        if unknown or len(ordered) < 2:
            raise ValueError(
                f"signs[{name!r}] must list two levels or more of the column, got {ordered}"
            )
    bases = np.unique(np.linspace(0, len(table) - 1, _BASES).astype(int))
    steps = []
    for base in bases:
        rows = table.iloc[[base] * len(ordered)].copy()
        rows[name] = pd.Series(ordered, rows.index).astype(table[name].dtype)
        steps.append(np.diff(np.asarray(model.encoded(rows), dtype=float), axis=0))
    scale = 1 + np.abs(steps[0]).max()
    if any(np.abs(step - steps[0]).max() > _SAME * scale for step in steps[1:]):
        raise MissingAnswerError(
            f"the effect of {name!r} depends on other columns, so that it has no one sign"
        )
    lengths = np.linalg.norm(steps[0], axis=1, keepdims=True)
    return np.asarray(steps[0][lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0])


def monotone(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Least loss of a model whose score grows as the signs declare."""
    if not limits.signs:
        raise ValueError('"monotone" needs signs=, such as signs={"age": "+"}')
    minimum = float(region.problem.minimum.value)
    value, bound = region.best.value - minimum, region.best.bound - minimum
    bound = max(min(value, bound), 0.0)
    return region, Preferred("monotone", value, bound, "excess loss", proof=CONVEX)


def gap_normals(audit: Any) -> FloatArray:
    """Directions (m, p) of the differences in mean score between each two groups."""
    if audit.inputs.groups is None:
        raise MissingAnswerError(NO_GROUPS)
    if audit.problem.loss.outputs > 1:
        raise MissingAnswerError("a gap in scores needs one score a person: two classes or numbers")
    means = group_shares(audit) @ audit.answers.rows
    gaps = np.array([first - second for first, second in combinations(means, 2)])
    return np.pad(gaps, [(0, 0), (0, int(audit.problem.intercept))])


def group_shares(audit: Any, counted: Mask | None = None) -> FloatArray:
    """Share (n_groups, n_rows) of each person in the mean of the group, by the weights."""
    groups, weights = audit.inputs.groups, audit.inputs.model.row_weights
    members = members_by_group(groups, group_names(groups)) * weights
    if counted is not None:
        members = members * counted
    return np.asarray(members / members.sum(axis=1, keepdims=True))


def _with_gap(region: Region, gaps: FloatArray, largest: float) -> Region:
    both = np.vstack([gaps, -gaps])
    return region.within(both, np.full(len(both), largest))


def fair(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Least gap in mean scores between two groups, the largest one of several pairs."""
    gaps = gap_normals(audit)
    attained = float(np.abs(gaps @ region.best.theta).max())
    low, high, narrowed = least_gap(region, gaps, attained)
    proof = CONVEX
    if region.support is not None:  # other features, as few, may have a smaller gap
        (whole, uses, limit), proof, low = region.support, BRANCHES, 0.0
        budget = WorkBudget(limits.seconds)
        try:
            for _ in range(_ROUNDS):
                if (closer := high - _CLOSER * (attained / 100 + high)) <= 0:
                    break
                search = SupportSearch(_with_gap(whole, gaps, closer), uses, budget)
                dropped = search.within(limit)
                if dropped is None:
                    low = closer
                    break
                part = whole.with_features(search.columns_without(dropped), uses, limit)
                _, high, narrowed = least_gap(part, gaps, closer)
        except OutOfTime:
            pass
    unit = f"gap in mean {audit.answers.score_unit}"
    return narrowed, Preferred("fair", high, low, unit, proof=proof)


def least_gap(region: Region, gaps: FloatArray, attained: float) -> tuple[float, float, Region]:
    """Largest gap that is proved to leave no model, the least that leaves one, and its region."""
    low, high, limit = 0.0, attained, 0.0
    best = _with_gap(region, gaps, attained)
    while True:
        narrowed = _with_gap(region, gaps, limit)
        if narrowed.contains(narrowed.best.theta):
            high, best = limit, narrowed
        elif narrowed.is_empty:
            low = limit
        else:  # on the level up to rounding
            break
        if high - low <= _CLOSE / 2 * (1e-3 * attained + high):
            break
        limit = (low + high) / 2
    return low, high, best


def other_model(audit: Any, limits: Limits) -> AuditedModel:
    """Return the model that should change least, with the rule that decides in the audit."""
    if limits.near is None:
        raise ValueError('"near" needs near=, the model that should change least')
    model, rule = audit.inputs.model, {}
    if model.decision is not None and model.decision.replaced:
        rule = {"threshold": model.decision.threshold, "wanted": model.decision.positive}
    second = AuditedModel.from_fit(limits.near, audit.table, model.targets, **rule)
    return replace(second, reversed=model.reversed and len(second.classes) == 2)


def near(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Least change of the coefficients of another model, per standard deviation of a column."""
    model, problem = audit.inputs.model, audit.problem
    centre = common_parameters(problem, model, other_model(audit, limits))
    if centre is None:
        raise MissingAnswerError(
            "near= must be a linear model that scores the same columns of the last step"
        )
    spread = np.append(np.asarray(model.rows, dtype=float).std(axis=0), [0.0] * problem.intercept)
    theta, bound = region.nearest(centre, spread**2)
    distance = float(np.linalg.norm(spread * (theta - centre)))
    unit = "change of coefficients per deviation"
    bound = math.sqrt(2 * max(bound, 0.0))
    preferred = Preferred("near", distance, bound, unit, proof=CONVEX)
    return region.only_at(theta), preferred


def card(audit: Any, region: Region, limits: Limits) -> Narrowed:
    """Scorecard: whole points for each column in the units of the table, and one multiplier."""
    if audit.problem.loss.outputs > 1:
        raise MissingAnswerError("a scorecard needs one score a person: two classes or numbers")
    columns, largest = audit.inputs.model.columns, int(limits.points)
    slopes = np.array([column.slope if column.in_units else 1.0 for column in columns])
    scorecard, bound = CardSearch(region, slopes, WorkBudget(limits.seconds)).least_range(largest)
    if scorecard is None:
        left = sum(region.columns[: len(columns)])
        some = "" if left == len(columns) else f" for the {left} columns that were chosen first"
        what = f"a scorecard with points from −{largest} to {largest}{some}"
        if bound > largest:
            raise MissingAnswerError(
                f"no good model is {what} (psi is {number(region.psi)}): raise points= or psi="
            )
        raise MissingAnswerError(f"whether a good model is {what} is open: raise seconds=")
    points = float(np.abs(scorecard.points).max())
    unit = "points at most for a column"
    preferred = Preferred("card", points, float(bound), unit, scorecard.multiplier, BRANCHES)
    return region.only_at(scorecard.theta), preferred
