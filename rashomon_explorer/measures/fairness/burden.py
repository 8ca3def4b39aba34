"""Multiplicity by group: how much each group's predictions depend on the choice of model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.measures.fairness.rates import Groups, GroupsLike
from rashomon_explorer.measures.fairness.task import need_curator
from rashomon_explorer.measures.inputs import set_and_rows
from rashomon_explorer.measures.multiplicity.table import multiplicity_table

_MEASURES = {
    "classification": (
        "ambiguity",
        "discrepancy",
        "obscurity",
        "disagreement",
        "range_width",
        "score_std",
    ),
    "regression": ("range_width", "score_std"),
}


def multiplicity_by_person_group(
    models: Any,
    X: Any,
    groups: GroupsLike,
    *,
    psi: float | None = None,
    measures: Sequence[str] | None = None,
    baseline: ArrayLike | None = None,
) -> pd.DataFrame:
    """Multiplicity of each group of people, and of all rows.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models, X, groups, psi
        As for :func:`fairness_audit`.
    measures : sequence of str, optional
        Keys of ``MEASURES`` without a tolerance; by default ambiguity (people flipped by some
        model), discrepancy (most people flipped by one model), obscurity (mean share of models
        that flip), disagreement, and range and spread of scores.
    baseline : array-like, optional
        Scores of the reference model, as in :func:`multiplicity_table`.

    Returns
    -------
    pandas.DataFrame
        One row per group, after ``"all rows"``; columns ``rows``, each measure, and its ratio
        ``<name>_ratio`` to that of all rows, NaN for a ratio of 0 and 0. Extremes (ambiguity,
        discrepancy, range width) are lower bounds on the set's own, in each group.

    Raises
    ------
    ValueError
        If a shape or value is wrong, a category has no rows, there is only one group, or no model
        lies inside.
    CuratorOnlyError
        If given a release, which does not state which draws lie inside.
    TypeError
        If ``models`` is of another type.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> chances = [[0.9, 0.4, 0.6, 0.1], [0.8, 0.6, 0.7, 0.2], [0.9, 0.7, 0.8, 0.1]]
    >>> models = from_predictions(chances, [1, 0, 1, 0], psi=1.0)
    >>> groups = ["a", "b", "a", "b"]
    >>> table = multiplicity_by_person_group(models, None, groups, measures=["ambiguity"])
    >>> table["ambiguity_ratio"].to_dict()
    {'all rows': 1.0, 'a': 0.0, 'b': 2.0}
    """
    models, X = set_and_rows(models, X)
    need_curator(models, "multiplicity_table(..., groups=..., inside_only=False)")
    if np.ndim(groups) == 0:
        raise ValueError(f"groups must hold one group for each row, got {groups!r}")
    measure_names = list(measures or _MEASURES[models.task])
    found = Groups.from_attributes(groups, np.shape(groups)[0])
    texts = pd.Series(np.asarray(_different(found.texts))[found.codes])
    long = multiplicity_table(
        models, X, psi=psi, groups=texts, measures=measure_names, baseline=baseline
    )
    wide = long.pivot(index="group", columns="measure", values="value")
    wide = wide.loc[["all rows", *found.texts], measure_names].rename_axis(
        index="group", columns=None
    )
    ratios = wide / wide.loc["all rows"]
    rows = long.groupby("group", observed=True)["rows"].first().loc[wide.index]
    table = pd.concat([rows, wide, ratios.add_suffix("_ratio")], axis=1)
    table.attrs.update(long.attrs)
    return table


def _different(texts: list[str]) -> list[str]:
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise ValueError(f"two groups have the same name {twice!r}: give them different names")
    return texts
