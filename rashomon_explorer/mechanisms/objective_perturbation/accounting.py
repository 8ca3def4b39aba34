"""Privacy accounting of objective perturbation."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincc
from scipy.special.cython_special import erfcx

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.losses import Loss

_CELL, _FAR = 1 / 512, 40.0  # width of cells of lengths, and the length at which they end
_FALL = 14.0  # of a length: e^(−98) is below the precision of a sum of doubles
_MOST_SCORES = 64  # with more scores, the cells do not cover the lengths
_LARGEST_EXPONENT = 700.0


def several_scores_delta(ratio: float, remaining: float, jump: float, outputs: int) -> float:
    """δ at ε = remaining + J of the exact minimiser under Gaussian b, for q scores per row.

    Sums over cells bound the smaller of two integrals from above (docs/theory.md §15).
    """
    if outputs > _MOST_SCORES:
        return 1.0
    return min(_by_order(ratio, remaining, jump, outputs), _by_length(ratio, remaining, outputs))


def _by_order(ratio: float, remaining: float, jump: float, outputs: int) -> float:
    """e^J·∫ u·e^(ur)·P(‖X‖ > r) dr from remaining/u, by cells."""
    if ratio * _FAR + jump > _LARGEST_EXPONENT:
        return math.inf
    places, beyond = _weighty(min(remaining / ratio, _FAR), ratio, outputs)
    grown = math.exp(jump) * np.expm1(ratio * _CELL) * np.exp(ratio * places)
    return float(grown @ beyond)


def _by_length(ratio: float, remaining: float, outputs: int) -> float:
    """∫ u·e^(−u(r − r₀))·P(R > r) dr from r₀ = remaining/u − u/2, by cells."""
    least = remaining / ratio - ratio / 2
    if least < 0:
        return 1.0
    places, beyond = _weighty(min(least, _FAR), 0.0, 2 * outputs)
    left = -math.expm1(-ratio * _CELL) * np.exp(ratio * (least - places))
    return float(left @ beyond)


def _weighty(start: float, slope: float, degrees: int) -> tuple[FloatArray, FloatArray]:
    """Cells from ``start`` on, up to where their terms under e^(slope·r) vanish in a double."""
    places, beyond = _survival(degrees)
    end = max(start, math.sqrt(degrees) + slope) + _FALL
    cells = slice(int(start / _CELL), math.ceil(end / _CELL))
    return places[cells], beyond[cells]


@lru_cache(maxsize=32)
def _survival(degrees: int) -> tuple[FloatArray, FloatArray]:
    """Lower ends of the cells, and the mass of a chi law beyond them."""
    places = np.arange(0.0, _FAR, _CELL)
    return places, np.asarray(gammaincc(degrees / 2, places**2 / 2))


_BLUR = 0.02  # share of the privacy cost for noise that hides the solver's error
_CLOSE = 1e-4  # of the minimiser's sensitivity: distance to it that the solver must reach
_GRADIENT, _SPHERE = 1e-12, 16 * 2.0**-52  # relative rounding of a gradient, and of a length

_SAFE = 1 - 1e-9  # of a privacy cost: keeps it within the budget despite rounding
_UP = 1 + 1e-12  # covers the rounding of a ratio
_LEAST = 1e-6  # of a ratio; at smaller ones only noise remains
_GUESSES, _NEAR = 8, 1e-13  # steps towards a cost's ratio, and relative size of the last one
THEOREM = "objective perturbation (Kifer, Smith and Thakurta 2012; docs/theory.md §15)"
"""Source of the privacy cost of :func:`plan_perturbed_objective`."""


@dataclass(frozen=True)
class PerturbedObjective:
    """Plan of argmin of mean loss + ½m‖θ‖² + b·θ over the ball, with a little noise added."""

    gaussian: bool
    scale: float
    solver: float
    blur: float
    determinant: float
    excess: float
    curve: GaussianObjectivePerturbation | None = None


def plan_perturbed_objective(
    constants: Constants,
    radius: float,
    row_slope: float,
    *,
    added_ridge: float = 0.0,
    monotone: bool,
    epsilon: float,
    delta: float,
    outputs: int = 1,
    order: float | None = None,
) -> PerturbedObjective | None:
    """Noise b for (ε, δ)-DP, pure at δ = 0; None if the ridge is too small for it."""
    n, p, m = constants.n, constants.p, constants.m
    # Rounded up by more than the error of the difference.
    bend = constants.M - m + 1e-12 * constants.M
    jump = outputs * math.log1p(bend / (n * m))
    remaining = (1 - _BLUR) * epsilon * _SAFE - jump
    if not remaining > 0:
        return None
    moved = 2 * row_slope / n
    if order is not None:
        shape = GaussianObjectivePerturbation(0.0, jump, monotone, outputs)
        ratio = _renyi_ratio(shape, (1 - _BLUR) * epsilon * _SAFE, order)
        if ratio == 0:
            return None
        scale, spread = moved / ratio, p
        blurred = _SAFE * math.sqrt(2 * _BLUR * epsilon / order)
    elif delta == 0:
        scale, spread = moved / remaining, p * (p + 1)
        blurred = _BLUR * epsilon
    else:
        tails = 1 if monotone else 2
        scale = moved / _largest_ratio(remaining, jump, (1 - _BLUR) * delta, tails, outputs)
        blurred, spread = _SAFE * gdp_mu(_BLUR * epsilon, _BLUR * delta), p
    # Effect of rounding on the gradient, and on the sphere constraint (`perturbed_minimiser`).
    size = constants.L + math.sqrt(spread) * scale
    least = _GRADIENT * size / m + math.sqrt(_SPHERE * size * radius / m)
    solver = max(_CLOSE * moved / m, least)
    blur = 2 * solver / blurred
    excess = (added_ridge**2 * radius**2 + spread * scale**2) / (2 * (m + added_ridge))
    excess += constants.L * solver + constants.M / 2 * spread * blur**2
    if order is None:
        return PerturbedObjective(delta > 0, scale, solver, blur, jump, excess)
    curve = GaussianObjectivePerturbation(
        moved / scale * _UP, jump, monotone, outputs, mu=2 * solver / blur * _UP
    )
    return PerturbedObjective(True, scale, solver, blur, jump, excess, curve)


def by_divergences(
    curve: GaussianObjectivePerturbation, requested: tuple[float, float]
) -> Guarantee:
    """Guarantee of draws by their Rényi divergences, with the requested (ε, δ)."""
    return Guarantee("tradeoff", THEOREM, curve=curve, requested=requested)


def least_length(
    p: int, epsilon: float, delta: float, *, monotone: bool, order: float | None = None
) -> float:
    """Approximate length of b, over 2S/n, within a budget if the determinant costs nothing."""
    if order is not None:
        return math.sqrt(p) / _renyi_ratio(
            GaussianObjectivePerturbation(0.0, 0.0, monotone), epsilon, order
        )
    if delta == 0:
        return p / epsilon
    return math.sqrt(p) / _largest_ratio(epsilon, 0.0, delta, 1 if monotone else 2, 1)


def row_slope(loss: Loss, domain: Domain, row_norm: float) -> float:
    """Bound S on the slope of one row's loss, at every model if the loss is Lipschitz."""
    reach = math.inf if loss.globally_lipschitz else domain.reach(row_norm)
    return float(loss.lipschitz(reach, row_norm))


def perturbed_delta(
    ratio: float, remaining: float, jump: float, tails: int, outputs: int = 1
) -> float:
    """δ at ε = remaining + J of the exact minimiser under Gaussian b with 2S/(nσ) = ratio."""
    if outputs > 1:
        return several_scores_delta(ratio, remaining, jump, outputs)
    return min(
        _objective_by_order(ratio, remaining, jump, tails), _objective_by_length(ratio, remaining)
    )


def _objective_by_order(ratio: float, remaining: float, jump: float, tails: int) -> float:
    """Bound the sum of slopes by one of twice the size; both terms share a factor."""
    far = remaining / ratio
    near = far - ratio
    exponent = jump + remaining - far**2 / 2
    if exponent > _LARGEST_EXPONENT:
        return math.inf
    lost = erfcx(near / math.sqrt(2)) - erfcx(far / math.sqrt(2))
    return tails / 2 * math.exp(exponent) * lost


def _objective_by_length(ratio: float, remaining: float) -> float:
    """Bound the slopes' sum by the length of b in the plane of two records, a Rayleigh variable."""
    least = remaining / ratio - ratio / 2
    if least < 0:
        return 1.0
    beyond = erfcx((least + ratio) / math.sqrt(2))
    return ratio * math.sqrt(math.pi / 2) * math.exp(-(least**2) / 2) * beyond


@lru_cache(maxsize=4096)
def _renyi_ratio(shape: GaussianObjectivePerturbation, price: float, order: float) -> float:
    """Largest u at which D_a for this shape is at most the budget; 0 if J leaves none."""
    most = math.sqrt(2 * (price - shape.jump) / order)  # the ratio of a Gaussian mechanism

    def over(ratio: float) -> float:
        return replace(shape, ratio=ratio).renyi(order) - price

    if over(_LEAST * most) > 0:
        return 0.0
    root = brentq(over, _LEAST * most, most, xtol=_NEAR * _LEAST * most, rtol=_NEAR)
    return bisect(lambda ratio: over(ratio) <= 0, _LEAST * most, most, halvings=60, about=root)


@lru_cache(maxsize=4096)  # a rule compares many balls and lengths at one privacy cost
def _largest_ratio(remaining: float, jump: float, delta: float, tails: int, outputs: int) -> float:
    """Largest u with :func:`perturbed_delta` at most δ."""
    most = math.sqrt(2 * remaining)  # beyond it the second bound is 1, and the first larger

    def spent(ratio: float) -> float:
        return perturbed_delta(ratio, remaining, jump, tails, outputs)

    return _SAFE * bisect(
        lambda ratio: spent(ratio) <= delta,
        min(1e-9 * most, 1e-9),
        most,
        halvings=100 if outputs == 1 else 45,
        about=_guess(spent, remaining, delta) if outputs == 1 else None,
    )


def _guess(spent: Callable[[float], float], remaining: float, delta: float) -> float:
    """First guess where δ is spent, by secants: √(−2 log δ) is nearly a = remaining/u − u/2."""
    target = math.sqrt(-2 * math.log(delta))
    ahead, step, off, slope = target, 0.0, math.inf, 1.0
    for _ in range(_GUESSES):
        ratio = 2 * remaining / (math.sqrt(ahead**2 + 2 * remaining) + ahead)
        found = spent(ratio)
        if not 0 < found < 1:
            break
        missing = math.sqrt(-2 * math.log(found)) - target
        if math.isfinite(off) and missing != off:
            slope = (missing - off) / step
        step, off = -missing / slope, missing
        ahead += step
        if abs(step) <= _NEAR * ahead:
            break
    return ratio
