"""Ridge of one private model, and bounds on its loss on new rows."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.mechanisms.request import Request

T = TypeVar("T")

_SHARES = (0.0, *(2.0 ** (-k) for k in range(-1, 15)))  # of L₀/R
_MOST_RIDGE = 2.0**20


def added(request: Request, ridge: float) -> float:
    """Ridge that a mechanism adds to the user's."""
    return max(0.0, ridge - request.ridge)


def own_cost(request: Request, ridge: float) -> float:
    """Excess loss ½m'R² that an added ridge m' costs at the best model."""
    return added(request, ridge) / 2 * request.radius**2


def best_ridged(
    request: Request, made: Callable[[Request], tuple[float, T]], every: int = 1
) -> tuple[float, T]:
    """Ridge with the least first value of ``made`` (≥ the ridge's cost), and the second there."""
    scale = data_lipschitz(request.constants, request.domain) / request.radius
    ridges = {min(request.ridge + scale * share, _MOST_RIDGE) for share in _SHARES[::every]}
    least, best = math.inf, None
    for ridge in sorted(ridges):
        if best is not None and own_cost(request, ridge) >= least:
            break  # this ridge alone, and every larger one, costs more than the best of all
        value, made_of = made(replace(request, ridge=ridge))
        if best is None or value < least:
            least, best = value, (ridge, made_of)
    assert best is not None
    return best


def generalisation_gap(request: Request) -> float:
    """Bound 2L₀R/√n on E[risk − loss on the rows], for any model computed from the rows."""
    return batch_gap(request, request.n, request.radius)


def batch_gap(request: Request, size: int, reach: float) -> float:
    """Bound the same gap for ``size`` rows, also sampled ones, and a ball (Hoeffding 1963)."""
    outputs = request.loss_function.outputs
    several = math.sqrt(2 * outputs) if outputs > 1 else 1.0
    slope = data_lipschitz(request.constants, request.domain)
    return 2 * several * slope * reach / math.sqrt(size)


def stable_gap(request: Request, ridge: float, error: float = 0.0) -> float:
    """L₀(2L₀/(mn) + error): the same gap under a ridge m (Bousquet and Elisseeff 2002)."""
    slope = data_lipschitz(request.constants, request.domain)
    moved = 2 * slope / (ridge * request.n) + error if ridge > 0 else math.inf
    return min(generalisation_gap(request), slope * moved)
