"""The ridge that a method adds for itself, and what it costs."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from rashomon_explorer.planning.offers import Request
from rashomon_explorer.planning.sensitivity import data_lipschitz

T = TypeVar("T")

_SHARES = (0.0, *(2.0 ** (-k) for k in range(-1, 15)))  # of L₀/R
_MOST_RIDGE = 2.0**20


def added(request: Request, ridge: float) -> float:
    """Ridge that a method added to the user's.

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "logistic", "radius": 4.0, "row_norm": 1.5}
    >>> added(Request(**rows, ridge=0.5, epsilon=1.0, delta=0.0, n_draws=1), 0.75)
    0.25
    """
    return max(0.0, ridge - request.ridge)


def own_cost(request: Request, ridge: float) -> float:
    """Say what an added ridge m' costs: ½m'R² at the best model.

    A minimum under the ridge is at most the loss of the best model plus ½m'R².

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "logistic", "radius": 4.0, "row_norm": 1.5}
    >>> own_cost(Request(**rows, ridge=0.5, epsilon=1.0, delta=0.0, n_draws=1), 0.75)
    2.0
    """
    return added(request, ridge) / 2 * request.radius**2


def best_ridged(
    request: Request, made: Callable[[Request], tuple[float, T]], every: int = 1
) -> tuple[float, T]:
    """Ridge of the least first number that ``made`` gives, and what it made beside it.

    The user's own ridge is tried, and larger ones on a public grid; ``every`` leaves some of it
    out, for what takes long to make.

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "logistic", "radius": 4.0, "row_norm": 1.0}
    >>> asked = Request(**rows, ridge=0.0, epsilon=1.0, delta=0.0, n_draws=1)
    >>> ridge, _ = best_ridged(asked, lambda tried: ((tried.ridge - 0.1) ** 2, ""))
    >>> round(ridge, 2)
    0.12
    """
    scale = data_lipschitz(request.constants, request.domain) / request.radius
    wanted = {min(request.ridge + scale * share, _MOST_RIDGE) for share in _SHARES[::every]}
    tried = [replace(request, ridge=ridge) for ridge in sorted(wanted)]
    results = [(one.ridge, made(one)) for one in tried]
    ridge, (_, best) = min(results, key=lambda result: result[1][0])
    return ridge, best
