"""Closed-form ranges over a released ellipsoid, without further privacy cost."""

from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import fitted_set, set_and_rows
from rashomon_explorer.measures.ranges.exact import row_directions, row_index
from rashomon_explorer.measures.ranges.flips import flip_directions
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.scores import linear_scores

_PAID = "from the released ellipsoid: no further privacy cost"
_CURATOR = "from an ellipsoid without a guarantee: not private"

Drawn: TypeAlias = RashomonSet | ReleasedSet


def released_ranges(models: Drawn, X: ArrayLike | None = None) -> pd.DataFrame:
    """Range of every coefficient, or of every row's linear score, over a released ellipsoid.

    It is post-processing of the release, has no further privacy cost and may be published. The
    range is over the *ellipsoid*. Nearly all its models lie in the Rashomon set if its hit rate is
    high. :func:`exact_ranges` gives the curator the range over the set itself.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        Of ``mechanism="ellipsoid"``.
    X : array-like of shape (n_rows, n_features), optional
        Public or synthetic rows, or the curator's; clipped like the models' own rows. Without rows,
        ranges are those of the coefficients.

    Returns
    -------
    pandas.DataFrame
        One row per parameter, or per person (and class but the first): ``low``, ``centre`` (of the
        released model) and ``high``. For private rows it is for the curator only.

    Raises
    ------
    ValueError
        If no ellipsoid was released with the draws, or rows cannot be used.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 2_000, [1, 1, 0, 0] * 2_000
    >>> clf = RashomonClassifier(mechanism="ellipsoid", ridge=0.1, random_state=0).fit(X, y)
    >>> table = released_ranges(clf.rashomon_set_.release())
    >>> list(table.index), bool((table["low"] < table["high"]).all()), table.attrs["view"]
    (['x0', 'intercept'], True, 'from the released ellipsoid: no further privacy cost')
    """
    models = fitted_set(models)
    region = _region(models)
    if X is None:
        directions, index = np.eye(region.p), pd.Index(models.parameter_names, name="parameter")
    else:
        directions, index = row_directions(_scored_rows(models, X), row_index(X), models.outputs)
    low, high = region.ranges(directions)
    columns = {"low": low, "centre": directions @ region.start, "high": high}
    table = pd.DataFrame(columns, index=index)
    table.attrs.update(view=_view(models), psi=models.psi)
    return table


def released_flips(models: Drawn, X: ArrayLike) -> pd.DataFrame:
    """Whether some model of the released ellipsoid labels a row unlike the released model.

    Parameters
    ----------
    models, X
        As for :func:`released_ranges`, of a classification.

    Returns
    -------
    pandas.DataFrame
        One row per person: ``label`` of the released model (0, 1, …) and ``flips``.

    Raises
    ------
    ValueError
        If no ellipsoid was released with the draws, or rows cannot be used.
    TypeError
        For a regression, which has no labels.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 2_000, [1, 1, 0, 0] * 2_000
    >>> clf = RashomonClassifier(mechanism="ellipsoid", ridge=0.1, random_state=0).fit(X, y)
    >>> released_flips(clf.rashomon_set_, [[0.9], [0.01]])["flips"].tolist()
    [False, True]
    """
    models = fitted_set(models)
    region = _region(models)
    if models.task == "regression":
        raise TypeError("labels need a classification; use released_ranges for regression")
    rows = _scored_rows(models, X)
    directions, label = flip_directions(rows, region.start, models.outputs)
    furthest = region.ranges(directions.reshape(-1, region.p))[1]
    # Scores that are the same for all models, as for a row of zeros, always tie.
    flips = (furthest > 0).reshape(len(rows), -1).any(axis=1)
    table = pd.DataFrame({"label": label, "flips": flips}, index=row_index(X))
    table.attrs.update(view=_view(models), psi=models.psi)
    return table


def _region(models: Drawn) -> CutEllipsoid:
    region = getattr(models, "ellipsoid", None)
    if region is None:
        raise ValueError(
            'no ellipsoid was released with these draws: fit with mechanism="ellipsoid", or use '
            "exact_ranges (curator)"
        )
    return region


def _scored_rows(models: Drawn, X: ArrayLike) -> FloatArray:
    rows = set_and_rows(models, X)[1]
    linear_scores(models.coef[:1], rows, models.row_norm, models.outputs)  # raises if invalid
    return add_intercept(models.rows(rows))


def _view(models: Drawn) -> str:
    return _PAID if models.guarantee.holds else _CURATOR
