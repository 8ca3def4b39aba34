"""Ranges of individuals, of draws beside the exact ones, and of a released ellipsoid."""

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray, Mask, likeliest
from rashomon_explorer.measures.inputs import as_models_by_rows, fitted_set, set_and_rows
from rashomon_explorer.measures.ranges.exact import exact_score_ranges, row_directions, row_index
from rashomon_explorer.measures.ranges.flips import exact_flips, flip_directions
from rashomon_explorer.measures.ranges.penalised import ConvexProblem
from rashomon_explorer.problem.domains import CutEllipsoid
from rashomon_explorer.problem.problem import Problem, add_intercept
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.scores import LINKS, linear_scores

_NARROW = 1e-3
_NOT = "undecided"
_ENDS = {"best": "best", "exact_low": "low_outer", "exact_high": "high_outer"}


def people_ranges(
    models: Any, X: Any, problem: Problem | None = None, *, tolerance: float = _NARROW
) -> pd.DataFrame:
    """Range of each person's prediction over the draws inside ψ, and over the whole set.

    The range over draws is an inner bound on that of the set. **Curator: computed from private
    rows, not private.**

    Parameters
    ----------
    models : RashomonSet, PredictorSet or fitted Rashomon estimator
        Only models inside ψ count.
    X : array-like of shape (n_rows, n_features)
        The table that the estimator took, or encoded rows.
    problem : Problem, optional
        The problem of linear draws, from :func:`declared_problem`: adds proved ranges over all
        models within ψ.
    tolerance : float, default=0.001
        Tolerance of the exact ends, as in :func:`exact_score_ranges`.

    Returns
    -------
    pandas.DataFrame
        One row per person, in the order and with the index of ``X``: ``best`` (the best model's
        probability of the last class, or prediction), ``drawn_low`` and ``drawn_high``; for classes
        ``drawn_flips``, the share of draws that give another label than the best model.
        With a problem also ``flips`` (``"yes"``, ``"no"``, or ``"undecided"`` within the tolerance)
        and, for models with one score per row, ``exact_low`` and ``exact_high``.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> from rashomon_explorer.measures.ranges import set_problem
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(epsilon=200.0, random_state=0).fit(X, y).rashomon_set_
    >>> table = people_ranges(models, [[0.02], [0.9]], set_problem(models, X, y))
    >>> table["flips"].tolist()
    ['yes', 'no']
    """
    models, rows = set_and_rows(models, X)
    inside = models if np.isnan(models.least) else models.inside()
    if not inside.n_draws:
        raise ValueError("no model lies inside psi: raise epsilon or psi")
    scores, best = np.asarray(inside.scores(rows)), np.asarray(models.best_scores(rows))
    answers, best_answers = (scores[..., -1], best[..., -1]) if scores.ndim == 3 else (scores, best)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(best_answers))
    table = pd.DataFrame(
        {"best": best_answers, "drawn_low": answers.min(axis=0), "drawn_high": answers.max(axis=0)},
        index=index,
    )
    if models.task == "classification":
        labels = likeliest(np.concatenate([scores, best[None]]))
        table["drawn_flips"] = (labels[:-1] != labels[-1]).mean(axis=0)
    if problem is None:
        return table
    proved = proved_people(
        problem, models.psi, X, target_bounds=models.target_bounds, tolerance=tolerance
    )
    joined = table.join(proved.drop(columns="best", errors="ignore"))
    joined.attrs.update(proved.attrs)
    return joined


def proved_people(
    problem: ConvexProblem,
    psi: float,
    X: Any,
    *,
    target_bounds: tuple[float, float] = (-1.0, 1.0),
    threshold: float = 0.0,
    tolerance: float = _NARROW,
) -> pd.DataFrame:
    """Range of each person's prediction over the whole set, and whether the label can flip.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem, psi, X, tolerance
        As for :func:`people_ranges`; ``problem`` may also be a PenalisedProblem.
    target_bounds : (float, float), default=(-1, 1)
        Targets that a regression's scores −1 and 1 represent.
    threshold : float, default=0.0
        Score above which the label is 1, as in :func:`exact_flips`.

    Returns
    -------
    pandas.DataFrame
        Columns ``flips``, for classes, and, for one score per row, ``best``, ``exact_low`` and
        ``exact_high``, as in :func:`people_ranges`: probabilities, targets, or labels 0 and 1 of
        a loss without probabilities.
    """
    classes = problem.loss.task != "regression"
    table = pd.DataFrame(index=X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(X)))
    if classes:
        flips = exact_flips(problem, psi, X, threshold=threshold)
        table["flips"] = np.where(flips["flips"], "yes", np.where(flips["decided"], "no", _NOT))
    if problem.loss.outputs == 1:
        ends = exact_score_ranges(problem, psi, X, tolerance=tolerance)
        for name, end in _ENDS.items():
            table[name] = LINKS[problem.loss.link](ends[end].to_numpy(), target_bounds)
    table.attrs.update(view="curator: not private", psi=float(psi))
    return table


_ROUNDING = 1e-9


def draws_in_range(
    models: Any, exact: pd.DataFrame, *, inside: ArrayLike | None = None
) -> pd.DataFrame:
    """Range of the draws compared with the exact range, and the share that they miss.

    Extremes of a sample are inner bounds. Their shortfall grows with the number of parameters.
    Only draws inside the Rashomon set count: a private mechanism also draws
    outside it.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    models : RashomonSet, fitted Rashomon estimator or array-like of shape (n_models, k)
        A set, whose coefficients are compared under its parameter names, or the values of k
        functionals at each draw: coefficients, or margins of k people.
    exact : pandas.DataFrame
        Their exact ranges for the same rows, loss and ψ: k rows, as from :func:`exact_ranges`.
    inside : array-like of bool of shape (n_models,), optional
        For arrays: whether each model lies in the Rashomon set; by default all do. A
        ``RashomonSet`` has this information.

    Returns
    -------
    pandas.DataFrame
        For each row of ``exact``: exact_low, draw_low, draw_high, exact_high (the exact ends are
        the outer ones), shortfall = 1 − (draw_high − draw_low)/(exact_high − exact_low), and
        ``best`` as in ``exact``. ``plots.plot_ranges(models, table)`` plots the table.

    Raises
    ------
    ValueError
        If shapes do not match, no model lies in the set, or a model inside lies outside the exact
        range, which was then computed for other rows, another loss or another ψ.

    Examples
    --------
    >>> columns = ["low_outer", "low", "best", "high", "high_outer"]
    >>> exact = pd.DataFrame([[-1, -1, 0, 1, 1]], index=["age"], columns=columns)
    >>> draws_in_range([[-0.5], [0.5]], exact)["shortfall"].item()
    0.5
    """
    models = fitted_set(models)
    values, inside = _values(models, inside)
    if values.shape[1] != len(exact):
        raise ValueError(f"{values.shape[1]} columns of models for {len(exact)} exact ranges")
    if not {"low_outer", "high_outer"} <= set(exact.columns):
        raise ValueError("exact must have the columns of exact_ranges")
    if isinstance(models, RashomonSet):
        exact = exact.set_axis(pd.Index(models.parameter_names, name=exact.index.name), axis=0)
    low, high = exact[["low_outer", "high_outer"]].to_numpy(dtype=float).T
    inner = values[inside]
    if not len(inner):
        raise ValueError("no model lies in the Rashomon set, so its range cannot be compared")
    _check_contained(inner, low, high, exact.index)
    width = high - low
    drawn_width = inner.max(axis=0) - inner.min(axis=0)
    table = pd.DataFrame(
        {
            "exact_low": low,
            "draw_low": inner.min(axis=0),
            "draw_high": inner.max(axis=0),
            "exact_high": high,
            "shortfall": 1
            - np.divide(drawn_width, width, out=np.ones_like(width), where=width > 0),
        },
        index=exact.index,
    )
    if "best" in exact:
        table["best"] = exact["best"].to_numpy()
    table.attrs.update(
        view="curator: not private",
        note="extremes of draws are inner bounds of the set's range",
        n_inside=len(inner),
        n_models=len(values),
    )
    return table


def _values(models: RashomonSet | ArrayLike, inside: ArrayLike | None) -> tuple[FloatArray, Mask]:
    if isinstance(models, RashomonSet):
        if inside is not None:
            raise ValueError("inside is for arrays: a RashomonSet has this information already")
        return models.coef, np.asarray(models.losses <= models.least + models.psi)
    values = as_models_by_rows(models, "models")
    mask = np.ones(len(values), bool) if inside is None else np.asarray(inside)
    if mask.shape != (len(values),) or mask.dtype != bool:
        raise ValueError(f"inside must hold True or False for each of {len(values)} models")
    return values, mask


def _check_contained(
    values: FloatArray, low: FloatArray, high: FloatArray, index: pd.Index
) -> None:
    room = _ROUNDING * (high - low + np.abs(values).max(axis=0))
    out_of_range = (values < low - room) | (values > high + room)
    if out_of_range.any():
        model, column = (int(i) for i in np.argwhere(out_of_range)[0])
        raise ValueError(
            f"model {model} has {values[model, column]:.6g} for {index[column]!r}, outside the "
            f"exact range [{low[column]:.6g}, {high[column]:.6g}]: were the ranges computed for "
            "the same rows, loss and psi, and do all these models lie in the Rashomon set?"
        )


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
