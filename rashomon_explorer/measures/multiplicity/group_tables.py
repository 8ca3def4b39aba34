"""Multiplicity by group, and curves over the tolerance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.inputs import Labels, evaluate_nested, group_masks
from rashomon_explorer.measures.multiplicity.catalogue import Measure, get_measure, refuse_options


def by_group(
    measure: str | Callable[..., float],
    values: ArrayLike,
    groups: ArrayLike | pd.Series,
    **options: Any,
) -> pd.DataFrame:
    """Measure of the rows of each group.

    Parameters
    ----------
    measure : str or callable
        A key of ``MEASURES``, or a function of labels or scores.
    values : array-like of shape (n_models, n_rows[, n_classes])
        Labels or scores, as the measure asks for.
    groups : array-like of shape (n_rows,)
        Group of each row. For a pandas categorical every category is listed, used or not.
    **options
        Of the measure: ``baseline`` (an index or one entry per row), ``tolerance``, ``kappa``.

    Returns
    -------
    pandas.DataFrame
        Index ``group``; columns ``rows``, the number of rows in the group, and ``value``, NaN for
        a category without rows.

    Raises
    ------
    ValueError
        If a shape or value is wrong, a group is missing (NaN or None), or the measure's name is
        unknown.
    TypeError
        If the measure is neither a name nor a function, or does not take an option.

    Examples
    --------
    >>> table = by_group("ambiguity", [[0, 0, 1, 1], [0, 1, 1, 1]], ["a", "a", "b", "b"])
    >>> table.to_dict("index")
    {'a': {'rows': 2, 'value': 0.5}, 'b': {'rows': 2, 'value': 0.0}}
    """
    if not (isinstance(measure, str) or callable(measure)):
        raise TypeError(
            f"measure must be a key of MEASURES or a function, got {type(measure).__name__}: "
            "by_group(measure, values, groups)"
        )
    if isinstance(measure, str):
        refuse_options(measure, options)
        found = get_measure(measure)
        prepared = found.prepare(values)
        n_rows = _n_rows(prepared)
        compute = partial(measure_rows, found, prepared, options=options)
    else:
        whole = np.asarray(values)
        n_rows = whole.shape[1]
        compute = partial(_call_rows, measure, whole, options=options)
    masks = group_masks(groups, n_rows)
    table = {
        "rows": [int(mask.sum()) for mask in masks.values()],
        "value": [compute(mask) if mask.any() else float("nan") for mask in masks.values()],
    }
    return pd.DataFrame(table, index=pd.Index(list(masks), name="group"))


def measure_rows(
    measure: Measure,
    prepared: Any,
    rows: Mask | None,
    *,
    options: dict[str, Any],
    sizes: NDArray[np.int_] | None = None,
    order: NDArray[np.int_] | None = None,
) -> Any:
    """Measure on some or all rows of prepared values; an array if ``sizes`` is given."""
    part = prepared if rows is None else _take(prepared, rows)
    array = part.codes if isinstance(part, Labels) else part
    chosen = options if rows is None else _of_rows(options, rows)
    make = partial(measure.tally, part, **chosen)
    result = evaluate_nested(array, make, sizes, order)
    return float(result[0]) if sizes is None else result


def _call_rows(
    measure: Callable[..., float], whole: NDArray[Any], rows: Mask, *, options: dict[str, Any]
) -> float:
    return float(measure(whole[:, rows], **_of_rows(options, rows)))


def _of_rows(options: dict[str, Any], rows: Mask) -> dict[str, Any]:
    """Options with the baseline restricted to the rows."""
    baseline = options.get("baseline")
    if baseline is None or np.ndim(baseline) == 0:
        return options
    whole = np.asarray(baseline)
    if whole.shape[0] != len(rows):
        raise ValueError(
            f"baseline must hold one entry for each of {len(rows)} rows, got shape {whole.shape}"
        )
    return {**options, "baseline": whole[rows]}


def _take(prepared: Any, rows: Mask) -> Any:
    if isinstance(prepared, Labels):
        return Labels(prepared.codes[:, rows], prepared.classes)
    return prepared[:, rows]


def _n_rows(prepared: Any) -> int:
    array = prepared.codes if isinstance(prepared, Labels) else prepared
    return int(array.shape[1])


def multiplicity_curve(
    measure: str | Callable[..., float],
    values: ArrayLike,
    excess: ArrayLike,
    psi: ArrayLike,
    **options: Any,
) -> FloatArray:
    """Measure of the models within each ψ, without further sampling.

    Rashomon sets are nested: draws that are uniform on G(ψ) and lie in G(ψ') with ψ' ≤ ψ are
    uniform on G(ψ'). A named measure is updated model by model in the order of excess loss, which
    gives all ψ in one pass over the labels. Extremes never decrease along the curve.

    Parameters
    ----------
    measure : str or callable
        A key of ``MEASURES``, or a function of labels or scores, called once for each ψ.
    values : array-like of shape (n_models, n_rows[, n_classes])
        Labels or scores, as the measure asks for.
    excess : array-like of shape (n_models,)
        Excess loss of each model. It depends on private rows, so the curve is the curator's.
    psi : array-like of shape (n_psi,)
        Thresholds in any order, up to the ψ that the models were drawn with.
    **options
        Options of the measure: ``baseline``, ``tolerance``, ``kappa``. A baseline given by its
        index is the same model for every ψ, even if it lies outside the set.

    Returns
    -------
    ndarray of shape (n_psi,)
        NaN where no model lies within ψ, or only one and the measure needs a pair.

    Raises
    ------
    ValueError
        If a shape or value is wrong, or the measure's name is unknown.
    TypeError
        If the measure does not take an option.

    Examples
    --------
    >>> labels = [[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]]
    >>> multiplicity_curve("ambiguity", labels, [0.0, 0.01, 0.02], [0.005, 0.015, 0.03]).tolist()
    [0.0, 0.25, 0.5]
    """
    thresholds = np.atleast_1d(np.asarray(psi, dtype=float))
    if thresholds.ndim != 1 or np.isnan(thresholds).any():
        raise ValueError(f"psi must be numbers of shape (n_psi,), got {psi!r}")
    if not isinstance(measure, str):
        whole = np.asarray(values)
        order, sizes = nest(excess, thresholds, len(whole))
        each = [measure(whole[order[:k]], **options) if k else float("nan") for k in sizes]
        return np.array(each, dtype=float)
    refuse_options(measure, options)
    found = get_measure(measure)
    prepared = found.prepare(values)
    array = prepared.codes if isinstance(prepared, Labels) else prepared
    order, sizes = nest(excess, thresholds, len(array))
    return evaluate_nested(array, partial(found.tally, prepared, **options), sizes, order)


def nest(
    excess: ArrayLike, psi: FloatArray, n_models: int
) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Order of the models by excess loss, and the number of them within each ψ."""
    above = np.asarray(excess, dtype=float)
    if above.shape != (n_models,):
        raise ValueError(
            f"excess must hold one number for each of {n_models} models, got shape {above.shape}"
        )
    if np.isnan(above).any():
        raise ValueError(f"excess holds NaN for model {int(np.isnan(above).argmax())}")
    order = np.argsort(above, kind="stable")
    return order, np.searchsorted(above[order], psi, side="right")
