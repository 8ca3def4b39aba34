"""Sampled models inside the exact range, and how much of it they did not reach."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.measures.checks import as_models_by_rows
from rashomon_explorer.rashomon_set import RashomonSet

_ROUNDING = 1e-9


def draws_in_range(
    models: RashomonSet | ArrayLike, exact: pd.DataFrame, *, inside: ArrayLike | None = None
) -> pd.DataFrame:
    """Range that draws reach inside the exact one, and the share of it that they miss.

    Extremes of a sample are inner bounds, and fall short of the set's own the more the more
    parameters there are. Only draws of the Rashomon set count: a private mechanism also draws
    outside it.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models : RashomonSet or array-like of shape (n_models, k)
        Draws whose coefficients, by the names that the set has for them, or the values of the
        functionals at each draw: coefficients, or margins of k people.
    exact : pandas.DataFrame
        Their exact ranges for the same rows, loss and ψ: k rows, as from :func:`exact_ranges`.
    inside : array-like of bool of shape (n_models,), optional
        Which models lie in the Rashomon set. A ``RashomonSet`` knows; of an array all do, unless
        it is said.

    Returns
    -------
    pandas.DataFrame
        ``exact`` row by row: exact_low, draw_low, draw_high, exact_high (the exact ends are the
        outer ones), and shortfall = 1 − (draw_high − draw_low)/(exact_high − exact_low); ``best``
        as in ``exact``. ``plots.plot_ranges(models, table)`` takes it as it is.

    Raises
    ------
    ValueError
        If shapes do not fit, no model lies in the set, or one that should is outside the exact
        range: it was computed for other rows, another loss or another ψ.

    Examples
    --------
    >>> columns = ["low_outer", "low", "best", "high", "high_outer"]
    >>> exact = pd.DataFrame([[-1, -1, 0, 1, 1]], index=["age"], columns=columns)
    >>> draws_in_range([[-0.5], [0.5]], exact)["shortfall"].item()
    0.5
    """
    values, inside = _values(models, inside)
    if values.shape[1] != len(exact):
        raise ValueError(f"{values.shape[1]} columns of models for {len(exact)} exact ranges")
    if not {"low_outer", "high_outer"} <= set(exact.columns):
        raise ValueError("exact must have the columns of exact_ranges")
    if isinstance(models, RashomonSet):
        exact = exact.set_axis(pd.Index(models.parameter_names, name=exact.index.name), axis=0)
    low, high = exact[["low_outer", "high_outer"]].to_numpy(dtype=float).T
    kept = values[inside]
    if not len(kept):
        raise ValueError("no model lies in the Rashomon set, so that none shows its range")
    _check_contained(kept, low, high, exact.index)
    width = high - low
    reached = kept.max(axis=0) - kept.min(axis=0)
    table = pd.DataFrame(
        {
            "exact_low": low,
            "draw_low": kept.min(axis=0),
            "draw_high": kept.max(axis=0),
            "exact_high": high,
            "shortfall": 1 - np.divide(reached, width, out=np.ones_like(width), where=width > 0),
        },
        index=exact.index,
    )
    if "best" in exact:
        table["best"] = exact["best"].to_numpy()
    table.attrs.update(
        view="curator: not private",
        note="extremes of draws are inner bounds of the set's range",
        n_inside=len(kept),
        n_models=len(values),
    )
    return table


def _values(models: RashomonSet | ArrayLike, inside: ArrayLike | None) -> tuple[FloatArray, Mask]:
    if isinstance(models, RashomonSet):
        if inside is not None:
            raise ValueError("inside is for arrays: a RashomonSet knows which draws lie in its set")
        return models.coef, np.asarray(models.losses <= models.least + models.psi)
    values = as_models_by_rows(models, "models")
    mask = np.ones(len(values), bool) if inside is None else np.asarray(inside)
    if mask.shape != (len(values),) or mask.dtype != bool:
        raise ValueError(f"inside must hold True or False for each of {len(values)} models")
    return values, mask


def _check_contained(
    values: FloatArray,
    low: FloatArray,
    high: FloatArray,
    index: pd.Index,
) -> None:
    room = _ROUNDING * (high - low + np.abs(values).max(axis=0))
    outside = (values < low - room) | (values > high + room)
    if outside.any():
        model, column = (int(i) for i in np.argwhere(outside)[0])
        raise ValueError(
            f"model {model} has {values[model, column]:.6g} for {index[column]!r}, outside the "
            f"exact range [{low[column]:.6g}, {high[column]:.6g}]: were the ranges computed for "
            "the same rows, loss and psi, and do all these models lie in the Rashomon set?"
        )
