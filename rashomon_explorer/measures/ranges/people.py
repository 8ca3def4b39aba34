"""How far good models' answers to each person go: what draws show, beside what is proved."""

from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.ranges.exact import exact_score_ranges
from rashomon_explorer.measures.ranges.flips import exact_flips
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem import Problem
from rashomon_explorer.rashomon_set.links import likeliest

_NARROW = 1e-3
_NOT = "not told"
_ENDS = {"best": "best", "exact_low": "low_outer", "exact_high": "high_outer"}


def people_ranges(
    models: Any, X: Any, problem: Problem | None = None, *, tolerance: float = _NARROW
) -> pd.DataFrame:
    """Range of each person's answer over the draws inside ψ, and over the whole set.

    What draws reach is an inner bound of what the set allows. **Curator: computed from private
    rows, not private.**

    Parameters
    ----------
    models : RashomonSet or PredictorSet
        Those inside ψ count.
    X : array-like of shape (n_rows, n_features)
        Rows as the models take them.
    problem : Problem, optional
        What linear draws are of, as :func:`set_problem` makes it: adds what is proved of all models
        within ψ.
    tolerance : float, default=0.001
        Of the exact ends, as in :func:`exact_score_ranges`.

    Returns
    -------
    pandas.DataFrame
        One row a person, in the order and with the index of ``X``: ``best`` (the best model's
        probability of the last class, or prediction), ``drawn_low`` and ``drawn_high``; for classes
        ``drawn_flips``, the share of draws that give another label than the best model.
        With a problem also ``flips`` (``"yes"``, ``"no"``, or ``"not told"`` within the tolerance)
        and, of one score a row, ``exact_low`` and ``exact_high``.

    Raises
    ------
    ValueError
        If no model lies inside ψ, or as :func:`exact_flips`.

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
    inside = models if np.isnan(models.least) else models.inside()
    if not inside.n_draws:
        raise ValueError("no model lies inside psi: raise epsilon or psi")
    scores, best = np.asarray(inside.scores(X)), np.asarray(models.best_scores(X))
    answers, own = (scores[..., -1], best[..., -1]) if scores.ndim == 3 else (scores, best)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(own))
    table = pd.DataFrame(
        {"best": own, "drawn_low": answers.min(axis=0), "drawn_high": answers.max(axis=0)},
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
    problem: Problem | PenalisedProblem,
    psi: float,
    X: Any,
    *,
    target_bounds: tuple[float, float] = (-1.0, 1.0),
    tolerance: float = _NARROW,
) -> pd.DataFrame:
    """Range of each person's answer over the whole set, and whether the label can flip.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem : Problem or PenalisedProblem
    psi : float
    X : array-like of shape (n_rows, n_features)
    target_bounds : (float, float), default=(-1, 1)
        What a regression's scores from −1 to 1 stand for.
    tolerance : float, default=0.001

    Returns
    -------
    pandas.DataFrame
        Columns ``flips``, of classes, and, of one score a row, ``best``, ``exact_low`` and
        ``exact_high``, as in :func:`people_ranges`.

    Examples
    --------
    >>> problem = Problem([[0.5], [-0.5]] * 9, [1, -1] * 9)
    >>> proved_people(problem, 0.05, [[0.05], [0.9]])["flips"].tolist()
    ['yes', 'no']
    """
    classes = problem.loss.task == "classification"
    table = pd.DataFrame(index=X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(X)))
    if classes:
        found = exact_flips(problem, psi, X)
        table["flips"] = np.where(found["flips"], "yes", np.where(found["decided"], "no", _NOT))
    if problem.loss.outputs == 1:
        ends = exact_score_ranges(problem, psi, X, tolerance=tolerance)
        for name, end in _ENDS.items():
            table[name] = _answer(ends[end].to_numpy(), classes, target_bounds)
    table.attrs.update(view="curator: not private", psi=float(psi))
    return table


def _answer(scores: FloatArray, classes: bool, bounds: tuple[float, float]) -> FloatArray:
    """Turn linear scores into probabilities, or targets in their own units."""
    if classes:
        return np.asarray(np.exp(-np.logaddexp(0.0, -scores)))
    low, high = bounds
    return (low + high) / 2 + scores * (high - low) / 2
