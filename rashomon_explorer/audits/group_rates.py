"""Rates of the wanted label by group over the good models, and their gaps between groups.

With one label set for each person (settled, or both), the rate of n people lies between the share
who are accepted by every good model and the share who are accepted by some good model.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.containers import as_pandas
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.exceptions import warn_stacklevel

NO_RATES = (
    "rates need one class that counts as accepted: pass wanted=, and a model that predicts labels"
)
_ENDS = ("low", "fitted", "high")
_CONDITIONS = {"": None, "true_positive_": True, "false_positive_": False}
"""Rates by the prefix of their columns: of everyone, of those with the wanted label, of others."""


def accepted_code(model: Any) -> int | None:
    """Code 0, 1, … of the class that rates are of; None if there is no such class."""
    decision = model.decision
    if decision is None or (decision.wanted is None and len(model.classes) > 2):
        return None
    return int(model.classes.index(decision.scored))


def accepted_text(model: Any) -> str:
    """Name of the class that rates are of, such as ``approve='denied'``."""
    return str(model.decision.scored_text)


def fitted_codes(audit: Any) -> NDArray[np.int_]:
    """Codes (n_rows,) of the labels that the fitted model decides."""
    return np.asarray(audit.inputs.model.codes)


class Acceptances:
    """Acceptances (k, n_rows): fitted; by every and by some good model, or by each of a sample."""

    def __init__(self, audit: Any) -> None:
        model, code = audit.inputs.model, accepted_code(audit.inputs.model)
        self.weight: FloatArray = model.row_weights
        if code is None:
            raise ValueError(NO_RATES)
        self.exact = audit.kind == "exact"
        self.wanted: Mask = np.asarray(model.targets) == model.classes[code]
        fitted = fitted_codes(audit) == code
        if self.exact:
            table = audit.answers.best_decided
            best = table["label"].to_numpy() == code
            stays = (table["decided"] & ~table["flips"]).to_numpy()
            every = np.stack([best & stays, best | ~stays])
        else:
            every = np.asarray(audit.answers.label_codes) == code
        self.rows: Mask = np.vstack([fitted, every])

    def rates(self, members: Mask, condition: bool | None = None) -> FloatArray:
        """Rates (k, n_groups) of the groups (n_groups, n_rows); NaN without people."""
        inside = members if condition is None else members & (self.wanted == condition)
        counted = inside * self.weight
        people = counted.sum(axis=1)
        people[people == 0] = np.nan
        return np.asarray(self.rows.astype(float) @ counted.T / people)

    def ends(self, rates: FloatArray) -> FloatArray:
        """Least, fitted and greatest rate (3, n_groups)."""
        if self.exact:
            return rates[[1, 0, 2]]
        return np.stack([rates.min(axis=0), rates[0], rates.max(axis=0)])

    def gaps(self, rates: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
        """Least, fitted and greatest difference (3, n_pairs) of the rates of pairs of groups."""
        if not self.exact:
            return self.ends(rates[:, first] - rates[:, second])
        fitted, low, high = rates
        return np.stack(
            [low[first] - high[second], fitted[first] - fitted[second], high[first] - low[second]]
        )


def rates_table(audit: Any) -> pd.DataFrame:
    """Per group: people, base rate, and the ranges of three rates over the good models."""
    accepted, groups = Acceptances(audit), audit.inputs.groups
    names = group_names(groups)
    members = members_by_group(groups, names)
    weighted = members * accepted.weight
    base_rate = weighted @ accepted.wanted / weighted.sum(axis=1)
    columns = {"people": members.sum(axis=1), "base_rate": base_rate}
    for prefix, condition in _CONDITIONS.items():
        ends = accepted.ends(accepted.rates(members, condition))
        columns |= {f"{prefix}{end}": values for end, values in zip(_ENDS, ends, strict=True)}
    return pd.DataFrame(columns, index=pd.Index(names, name=groups.name))


def rate_gaps(audit: Any, names: Sequence[Any] | None = None) -> pd.DataFrame:
    """Per pair of groups: difference of rates, its range, and disparate impact (least/greatest)."""
    accepted, groups = Acceptances(audit), audit.inputs.groups
    names = group_names(groups, names)
    first, second = np.triu_indices(len(names), k=1)
    rates = accepted.rates(members_by_group(groups, names))
    ends = accepted.ends(rates)
    columns = dict(zip(_ENDS, accepted.gaps(rates, first, second), strict=True))
    ratios = ratio_range(ends[:, first], ends[:, second])
    columns |= dict(zip(("ratio_low", "ratio", "ratio_high"), ratios, strict=True))
    index = [pair_name(groups.name, names[i], names[j]) for i, j in zip(first, second, strict=True)]
    return pd.DataFrame(columns, index=pd.Index(index, name="gap"))


def members_by_group(groups: pd.Series, names: Sequence[Any]) -> Mask:
    """Whether each person (n_groups, n_rows) is of each group."""
    codes = pd.Index(names).get_indexer(groups.to_numpy())
    return np.asarray(codes == np.arange(len(names))[:, None])


def ratio_range(first: FloatArray, second: FloatArray) -> FloatArray:
    """Bounds (3, n) of the smaller rate over the larger, from least, fitted and greatest rates."""
    (low, rate, high), (other_low, other_rate, other_high) = first, second
    lowest = np.minimum(_quotient(low, other_high), _quotient(other_low, high))
    fitted = np.minimum(_quotient(rate, other_rate), _quotient(other_rate, rate))
    highest = np.ones_like(lowest)
    below, above = high < other_low, other_high < low
    highest[below] = _quotient(high, other_low)[below]
    highest[above] = _quotient(other_high, low)[above]
    return np.stack([lowest, fitted, highest])


def _quotient(rate: FloatArray, other: FloatArray) -> FloatArray:
    """Ratio of two rates, 1 if both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate == other, 1.0, rate / other)


def newcombe(
    accepted: FloatArray, people: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Interval of a difference of proportions, from counts (…, 2): Newcombe (1998), method 10."""
    check_inner_share(confidence=confidence)
    z = float(ndtri((1 + confidence) / 2))
    rate = accepted / people
    centre = (rate + z**2 / (2 * people)) / (1 + z**2 / people)
    half = np.sqrt(rate * (1 - rate) / people + (z / (2 * people)) ** 2) * z / (1 + z**2 / people)
    low, high = centre - half, centre + half
    gap = rate[..., 0] - rate[..., 1]
    below = np.hypot(rate[..., 0] - low[..., 0], high[..., 1] - rate[..., 1])
    above = np.hypot(high[..., 0] - rate[..., 0], rate[..., 1] - low[..., 1])
    return gap - below, gap + above


def welch(
    means: FloatArray, variances: FloatArray, people: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Interval of the difference of two means (…, 2) of large samples with unequal variances."""
    check_inner_share(confidence=confidence)
    gap = means[..., 0] - means[..., 1]
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt((variances / people).sum(axis=-1))
    return gap - half, gap + half


def gap_intervals(audit: Any, confidence: float) -> pd.DataFrame:
    """Per pair of groups: interval of the fitted gap for other people, and range over models."""
    groups = audit.inputs.groups
    names = group_names(groups)
    members = members_by_group(groups, names)
    weighted = members * audit.inputs.model.row_weights
    people = weighted.sum(axis=1) ** 2 / (weighted**2).sum(axis=1)  # Kish's effective number
    pairs = np.column_stack(np.triu_indices(len(names), k=1))
    if audit.task == "classification":
        accepted = Acceptances(audit).rates(members)[0] * people
        low, high = newcombe(accepted[pairs], people[pairs], confidence)
        table = rate_gaps(audit)
    else:
        scores = np.asarray(audit.person_ranges["fitted"], dtype=float)
        shares = weighted / weighted.sum(axis=1, keepdims=True)
        means = shares @ scores
        variances = (shares * (scores - means[:, None]) ** 2).sum(axis=1) * people / (people - 1)
        low, high = welch(means[pairs], variances[pairs], people[pairs], confidence)
        table = audit.gaps
    columns = {"fitted": table["fitted"], "data_low": low, "data_high": high}
    columns |= {"models_low": table["low"], "models_high": table["high"]}
    return pd.DataFrame(columns, index=table.index)


def pair_name(column: Any, first: Any, second: Any) -> str:
    """Name of a gap between two groups, with the column that the groups are of."""
    return f"{column}: {first} − {second}"


_LEAST_CELL = 10  # people of a cell of an intersection, below which it is not compared
_MANY_NUMBERS = 20  # groups of a numeric column that are more likely its values


def group_series(groups: Any, table: Any, rows: pd.DataFrame) -> pd.Series | None:
    """Group of each row; intersections have their small ``cells`` in ``attrs``."""
    if groups is None:
        return None
    values = as_pandas(_named_columns(groups, table, len(rows)))
    if len(values) != len(rows):
        raise ValueError(
            f"groups must hold one group for each of {len(rows):,} rows, got {len(values):,}"
        )
    if isinstance(values, pd.DataFrame) and values.shape[1] > 1:
        return _intersections(values, rows)
    if isinstance(values, pd.DataFrame):
        values = values.iloc[:, 0]
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(
            f"groups must be one column, or a list of names of columns, got shape {values.shape}"
        )
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
    name = "group" if series.name is None else series.name
    if pd.api.types.is_numeric_dtype(series) and series.nunique() > _MANY_NUMBERS:
        warnings.warn(
            f"groups={name!r} holds {series.nunique():,} different numbers, each of them a group: "
            f"pass a few bands instead, such as pd.qcut(X[{name!r}], 4)",
            stacklevel=warn_stacklevel(),
        )
    values = series.astype(object).where(series.notna(), "missing")
    return pd.Series(values.to_numpy(), rows.index, name=name)


def _named_columns(groups: Any, table: Any, n_rows: int) -> Any:
    names: list[Any] = [groups]
    if isinstance(groups, list | tuple) and len(groups) != n_rows:
        names = list(groups)
    if not all(isinstance(name, str) for name in names):
        return groups
    columns = list(getattr(table, "columns", []))
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ValueError(
            f"groups={unknown[0]!r} is no column of X, and not one group for each of {n_rows:,} "
            f"rows; the columns are {columns[:10]}"
        )
    return table[names]


def _intersections(values: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    parts = []
    for name, column in values.items():
        texts = column.astype(object).map(str)
        parts.append(texts.where(column.notna(), f"{name} missing").to_numpy())
    joined = pd.Series([" × ".join(cell) for cell in zip(*parts, strict=True)], rows.index)
    joined.name = " × ".join(str(name) for name in values.columns)
    sizes = joined.value_counts()
    cells = sizes[sizes < _LEAST_CELL]
    if len(cells):
        small = f"fewer than {_LEAST_CELL} people"
        joined = joined.where(~joined.isin(cells.index), small)
        joined.attrs.update(small=small, cells=dict(cells.sort_index()))
    return joined


def group_names(groups: pd.Series, names: Sequence[Any] | None = None) -> list[Any]:
    """Return the groups that are compared, in order: not the one of small cells."""
    every = pd.factorize(groups.to_numpy(), sort=True)[1]
    listed = [name for name in every if name != groups.attrs.get("small", None)]
    return listed if names is None else [name for name in listed if name in set(names)]


def shown_groups(values: pd.Series, most: int = 4) -> list[Any]:
    """Return all groups, or of many those with the lowest and highest values."""
    if len(values) <= most:
        return list(values.index)
    order = values.sort_values(kind="stable").index
    return [*order[: most // 2], *order[-(most - most // 2) :]]
