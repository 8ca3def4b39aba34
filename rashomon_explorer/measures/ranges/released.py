"""Ranges over a released ellipsoid, in closed form: paid for already, and free to publish."""

from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.ranges.exact import row_directions, row_index
from rashomon_explorer.measures.ranges.flips import flip_directions
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.scores import linear_scores

_PAID = "from the released ellipsoid: paid"
_CURATOR = "from an ellipsoid without a guarantee: not private"

Drawn: TypeAlias = RashomonSet | ReleasedSet


def released_coefficient_ranges(models: Drawn) -> pd.DataFrame:
    """Range of every coefficient over the ellipsoid that was released with a set's draws.

    Made of the release alone: it costs nothing more and may be published with it. It is a range
    over the *ellipsoid*, whose models nearly all lie in the Rashomon set where its hit rate is
    high; :func:`exact_coefficient_ranges` has that of the set itself, for the curator.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        Of ``sampler="ellipsoid"``.

    Returns
    -------
    pandas.DataFrame
        One row a parameter: ``low``, ``centre`` (of the released model) and ``high``.

    Raises
    ------
    ValueError
        If no ellipsoid was released with the draws.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 2_000, [1, 1, 0, 0] * 2_000
    >>> clf = RashomonClassifier(sampler="ellipsoid", ridge=0.1, random_state=0).fit(X, y)
    >>> table = released_coefficient_ranges(clf.rashomon_set_.release())
    >>> list(table.index), bool((table["low"] < table["high"]).all()), table.attrs["view"]
    (['x0', 'intercept'], True, 'from the released ellipsoid: paid')
    """
    region = _region(models)
    index = pd.Index(models.parameter_names, name="parameter")
    return _table(models, region, np.eye(region.p), index)


def released_score_ranges(models: Drawn, X: ArrayLike) -> pd.DataFrame:
    """Range of every row's linear score over the released ellipsoid.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        Of ``sampler="ellipsoid"``.
    X : array-like of shape (n_rows, n_features)
        Public or synthetic rows, or the curator's; shortened as the models' own were.

    Returns
    -------
    pandas.DataFrame
        One row a person, or a person and class but the first: ``low``, ``centre`` and ``high``.
        Of rows that are private it is for the curator.

    Raises
    ------
    ValueError
        If no ellipsoid was released with the draws, or rows cannot be used.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 2_000, [1, 1, 0, 0] * 2_000
    >>> clf = RashomonClassifier(sampler="ellipsoid", ridge=0.1, random_state=0).fit(X, y)
    >>> released_score_ranges(clf.rashomon_set_, [[0.5], [0.0]]).shape
    (2, 3)
    """
    region = _region(models)
    rows = _scored_rows(models, X)
    directions, index = row_directions(rows, row_index(X), models.outputs)
    return _table(models, region, directions, index)


def released_flips(models: Drawn, X: ArrayLike) -> pd.DataFrame:
    """Whether some model of the released ellipsoid gives a row another label than its start.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        Of ``sampler="ellipsoid"`` and a classification.
    X : array-like of shape (n_rows, n_features)
        Public or synthetic rows, or the curator's.

    Returns
    -------
    pandas.DataFrame
        One row a person: ``label`` of the released model (0, 1, …) and ``flips``.

    Raises
    ------
    ValueError
        If no ellipsoid was released with the draws, or rows cannot be used.
    TypeError
        For a regression, which knows no labels.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 2_000, [1, 1, 0, 0] * 2_000
    >>> clf = RashomonClassifier(sampler="ellipsoid", ridge=0.1, random_state=0).fit(X, y)
    >>> released_flips(clf.rashomon_set_, [[0.9], [0.01]])["flips"].tolist()
    [False, True]
    """
    region = _region(models)
    if models.task == "regression":
        raise TypeError("labels need a classification; use released_score_ranges for regression")
    rows = _scored_rows(models, X)
    directions, label = flip_directions(rows, region.start, models.outputs)
    furthest = region.ranges(directions.reshape(-1, region.p))[1]
    # Scores that no model moves, those of a row of zeros, tie for ever.
    flips = (furthest > 0).reshape(len(rows), -1).any(axis=1)
    table = pd.DataFrame({"label": label, "flips": flips}, index=row_index(X))
    table.attrs.update(view=_view(models), psi=models.psi)
    return table


def _region(models: Drawn) -> CutEllipsoid:
    region = models.ellipsoid
    if region is None:
        raise ValueError(
            'no ellipsoid was released with these draws: fit with sampler="ellipsoid", or ask the '
            "curator's exact_ranges"
        )
    return region


def _scored_rows(models: Drawn, X: ArrayLike) -> FloatArray:
    linear_scores(models.coef[:1], X, models.row_norm, models.outputs)  # refuses what has no score
    return add_intercept(models.rows(X))


def _table(
    models: Drawn, region: CutEllipsoid, directions: FloatArray, index: pd.Index
) -> pd.DataFrame:
    low, high = region.ranges(directions)
    columns = {"low": low, "centre": directions @ region.start, "high": high}
    table = pd.DataFrame(columns, index=index)
    table.attrs.update(view=_view(models), psi=models.psi)
    return table


def _view(models: Drawn) -> str:
    return _PAID if models.guarantee.holds else _CURATOR
