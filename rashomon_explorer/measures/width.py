"""How widely the models of a set lie, and how many independent models a path's states are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import set_and_rows
from rashomon_explorer.measures.ranges.exact import exact_coefficient_ranges
from rashomon_explorer.measures.stopping import effective_size
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.problem.problem import Problem


def split_r_hat(states: FloatArray) -> FloatArray:
    """R̂ (p,) of the halves of one path of states (k, p) (Gelman et al. 2013); near 1 if mixed."""
    half = len(states) // 2
    halves = np.stack([states[:half], states[-half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = np.sqrt((half - 1) / half + between / within)
    return np.where(within > 0, r_hat, np.where(between > 0, np.inf, 1.0))


def set_width(models: Any, problem: Problem | None = None) -> pd.DataFrame:
    """Spread of each coefficient over the models, and its share of the exact range.

    Mean, spread, effective size and R̂ are functions of the released models. With ``problem`` the
    table also has the share of the exact range over the Rashomon set that the models inside cover.

    **With problem for the curator only: computed from private rows, not private.**

    Parameters
    ----------
    models : ReleasedSet, RashomonSet or fitted estimator
        At least eight models; those of a path in the order of drawing.
    problem : Problem, optional
        Rows and loss, as :func:`declared_problem` makes them from the estimator and its rows.

    Returns
    -------
    pandas.DataFrame
        One row per parameter: ``mean``, ``spread`` (standard deviation), ``effective`` (independent
        models that the states are worth for the mean) and ``r_hat`` (near 1 if both halves of the
        path agree; NaN for independent models). With ``problem`` also ``low`` and ``high`` of the
        models inside the set, ``exact_low``, ``exact_high`` and ``covered``.

    Raises
    ------
    ValueError
        If there are fewer than eight models, or none is inside the set.
    ImportError
        For a path, if ArviZ is not installed (the extra ``diagnostics``).

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> clf = RashomonClassifier(mechanism="ellipsoid", n_draws=50, row_norm=1.5, random_state=0)
    >>> models = clf.fit(data.X, data.y).rashomon_set_
    >>> set_width(models.release()).columns.tolist()
    ['mean', 'spread', 'effective', 'r_hat']
    """
    models, _ = set_and_rows(models)
    coef = models.coef
    if len(coef) < _FEWEST:
        raise ValueError(f"models must be at least {_FEWEST}, got {len(coef)}")
    index = pd.Index(models.parameter_names, name="parameter")
    columns = {"mean": coef.mean(axis=0), "spread": coef.std(axis=0, ddof=1)}
    if mechanism_traits(models.plan.mechanism).n_chains == 1:
        columns["effective"] = np.array([effective_size(column[None]) for column in coef.T])
        columns["r_hat"] = split_r_hat(coef)
    else:
        columns["effective"] = np.full(coef.shape[1], float(len(coef)))
        columns["r_hat"] = np.full(coef.shape[1], np.nan)
    table = pd.DataFrame(columns, index=index)
    if problem is None:
        return table
    inside = coef[problem.value(coef.T) <= problem.minimum.value + models.psi]
    if not len(inside):
        raise ValueError(f"no model is inside the Rashomon set of ψ = {models.psi:g}")
    exact = exact_coefficient_ranges(problem, models.psi)
    low, high = inside.min(axis=0), inside.max(axis=0)
    ends = {"exact_low": exact["low"].to_numpy(), "exact_high": exact["high"].to_numpy()}
    covered = (high - low) / (ends["exact_high"] - ends["exact_low"])
    return table.assign(low=low, high=high, **ends, covered=covered)


_FEWEST = 8
