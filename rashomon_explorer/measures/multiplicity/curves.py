"""A measure as a curve over the Rashomon threshold, from one set of draws."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.encoding import Labels
from rashomon_explorer.measures.multiplicity.catalogue import get_measure, refuse_options
from rashomon_explorer.measures.nested import evaluate_nested


def multiplicity_curve(
    measure: str | Callable[..., float],
    values: ArrayLike,
    excess: ArrayLike,
    psi: ArrayLike,
    **options: Any,
) -> FloatArray:
    """Measure of the models within each ψ, at no further sampling.

    Rashomon sets are nested: draws that are uniform on G(ψ) and lie in G(ψ') with ψ' ≤ ψ are
    uniform on G(ψ'). A named measure is followed through the models in the order of their excess,
    all ψ in one pass over the labels; extremes never fall along the curve.

    Parameters
    ----------
    measure : str or callable
        A key of ``MEASURES``, or a function of labels or scores, called anew for each ψ.
    values : array-like of shape (n_models, n_rows[, n_classes])
        Labels or scores, as the measure asks for.
    excess : array-like of shape (n_models,)
        Loss of each model above the least, which makes the curve a curator's.
    psi : array-like of shape (n_psi,)
        Thresholds in any order, up to the ψ that the models were drawn with.
    **options
        Of the measure: ``baseline``, ``tolerance``, ``kappa``. A baseline given by its place is
        the same model for every ψ, even where it lies outside.

    Returns
    -------
    ndarray of shape (n_psi,)
        NaN where no model lies within ψ, or one only and the measure needs a pair.

    Raises
    ------
    ValueError
        If a shape or value is wrong, or no measure has that name.
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
    """Order of the models by excess, and how many of them lie within each ψ.

    >>> order, sizes = nest([0.3, 0.1], np.array([0.2, 0.3]), 2)
    >>> order.tolist(), sizes.tolist()
    ([1, 0], [1, 2])
    """
    above = np.asarray(excess, dtype=float)
    if above.shape != (n_models,):
        raise ValueError(
            f"excess must hold one number for each of {n_models} models, got shape {above.shape}"
        )
    if np.isnan(above).any():
        raise ValueError(f"excess holds NaN for model {int(np.isnan(above).argmax())}")
    order = np.argsort(above, kind="stable")
    return order, np.searchsorted(above[order], psi, side="right")
