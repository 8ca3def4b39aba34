"""How far from the best model one has to go until somebody's label changes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.measures.ranges.flips import exact_flips
from rashomon_explorer.measures.ranges.level_set import check_problem
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem import Problem
from rashomon_explorer.validation import check_inner_share

_LEAST = 1e-7
"""Of the way to the model of zeros: nearer than this is "at once"."""


class FlipPsi(NamedTuple):
    """Least ψ at which a label flips, between two proved ends.

    Parameters
    ----------
    lower : float
        No model within this of the best flips the label; 0 if already the nearest looked at does.
    upper : float
        Some model within this does.
    """

    lower: float
    upper: float


def flip_psi(
    problem: Problem | PenalisedProblem, x: ArrayLike, *, tolerance: float = 0.01
) -> FlipPsi:
    """Least ψ at which some model of the Rashomon set gives a person another label.

    ψ* = min {L(θ) − L(θ*) : f_θ(x) ≠ f_θ*(x)}, found by halving over :func:`exact_flips`, so that
    each end is proved. It is a person's own distance to the decision, in units of the loss: whoever
    says how many models count as good, ψ, says whose label is settled. The model of zeros
    gives every row the same score, so that ψ* is at most its excess loss.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    problem : Problem or PenalisedProblem
        Of a classification loss.
    x : array-like of shape (n_features,)
        One person.
    tolerance : float, default=0.01
        Where halving ends: upper ≤ (1 + tolerance)·lower.

    Returns
    -------
    FlipPsi
        Lower and upper end.

    Raises
    ------
    ValueError
        If the person is not one row, or the tolerance is no inner share.
    TypeError
        For a regression loss.

    Examples
    --------
    >>> problem = Problem([[0.5], [-0.5]] * 9, [1, -1] * 9)
    >>> near, far = flip_psi(problem, [0.01]), flip_psi(problem, [0.9])
    >>> near.upper < far.lower
    True
    """
    check_problem(problem)
    check_inner_share(tolerance=tolerance)
    row = np.asarray(x, dtype=float)
    if row.ndim != 1:
        raise ValueError(f"x must be one person, of shape (n_features,), got {row.shape}")

    def told(psi: float) -> Any:
        return exact_flips(problem, psi, row[None]).iloc[0]

    zero = float(problem.value(np.zeros((problem.p, 1)))[0]) - problem.minimum.value
    upper = 1.01 * max(zero, 1e-12)
    lower = _LEAST * upper
    if told(lower)["flips"]:
        return FlipPsi(0.0, lower)
    if not told(upper)["flips"]:  # a row that no model moves
        return FlipPsi(upper, float("inf"))
    while upper > (1 + tolerance) * lower:
        middle = float(np.sqrt(lower * upper))
        found = told(middle)
        if found["flips"]:
            upper = middle
        elif found["decided"]:
            lower = middle
        else:
            break
    return FlipPsi(lower, upper)
