"""Privacy accounting of objective perturbation."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import gammaincc
from scipy.special.cython_special import erfcx

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff import GaussianTilt
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.losses import Loss

_CELL, _FAR = 1 / 512, 40.0  # of lengths; beyond it no double holds what is left
_FALL = 14.0  # of a length: e^(−98), of which a sum of doubles knows nothing
_MOST_SCORES = 64  # of whose lengths a double's least is beyond all cells
_LARGEST_EXPONENT = 700.0


def several_scores_delta(ratio: float, kept: float, jump: float, outputs: int) -> float:
    """δ at ε = kept + J of the exact minimiser under Gaussian b, q scores a row.

    Its slopes c, c' are vectors, of length S/B at most, so that a record's part of b·v is at most
    (S/n)σ‖X‖, X standard normal in q dimensions, and both records' parts lie in 2q. With
    u = 2S/(nσ) the less of

        E(e^(J + u‖X‖) − e^ε)₊,   E(1 − e^(ε − J − u²/2 − uR))₊,   R of chi law with 2q degrees

    (docs/theory.md §15). Both are integrals against a survival function, which falls: they are
    summed over cells with its value at the lower end, and so never too small.

    Parameters
    ----------
    ratio : float
        u > 0.
    kept : float
        ε − J ≥ 0.
    jump : float
        J.
    outputs : int
        q; of more than 64 nothing is said, which is 1.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.objective_perturbation.accounting import perturbed_delta
    >>> one, two = (several_scores_delta(0.25, 1.0, 0.0, q) for q in (1, 2))
    >>> 1 < one / perturbed_delta(0.25, 1.0, 0.0, tails=2) < 1.02, one < two
    (True, True)
    """
    if outputs > _MOST_SCORES:
        return 1.0
    return min(_by_order(ratio, kept, jump, outputs), _by_length(ratio, kept, outputs))


def _by_order(ratio: float, kept: float, jump: float, outputs: int) -> float:
    """e^J·∫ u·e^(ur)·P(‖X‖ > r) dr from kept/u, by cells."""
    if ratio * _FAR + jump > _LARGEST_EXPONENT:
        return math.inf
    places, beyond = _weighty(min(kept / ratio, _FAR), ratio, outputs)
    grown = math.exp(jump) * np.expm1(ratio * _CELL) * np.exp(ratio * places)
    return float(grown @ beyond)


def _by_length(ratio: float, kept: float, outputs: int) -> float:
    """∫ u·e^(−u(r − r₀))·P(R > r) dr from r₀ = kept/u − u/2, by cells."""
    least = kept / ratio - ratio / 2
    if least < 0:
        return 1.0
    places, beyond = _weighty(min(least, _FAR), 0.0, 2 * outputs)
    left = -math.expm1(-ratio * _CELL) * np.exp(ratio * (least - places))
    return float(left @ beyond)


def _weighty(start: float, slope: float, degrees: int) -> tuple[FloatArray, FloatArray]:
    """Cells from ``start`` on, up to where no double holds what they add under e^(slope·r).

    The logarithm of P(‖X‖ > r) falls at a rate of at least r − √q, so that beyond the start and
    √q + slope the summand falls by e^(14²/2) within 14.
    """
    places, beyond = _survival(degrees)
    end = max(start, math.sqrt(degrees) + slope) + _FALL
    cells = slice(int(start / _CELL), math.ceil(end / _CELL))
    return places[cells], beyond[cells]


@lru_cache(maxsize=32)
def _survival(degrees: int) -> tuple[FloatArray, FloatArray]:
    """Lower ends of the cells, and what of a chi law lies beyond them."""
    places = np.arange(0.0, _FAR, _CELL)
    return places, np.asarray(gammaincc(degrees / 2, places**2 / 2))


_BLUR = 0.02  # share of the price that hides what the solver is off
_CLOSE = 1e-4  # of the minimiser's sensitivity: how near to it the solver must come
_GRADIENT, _SPHERE = 1e-12, 16 * 2.0**-52  # relative rounding of a gradient, and of a length

_SAFE = 1 - 1e-9  # of a price: an ulp must not pass it
_UP = 1 + 1e-12  # roundings of a ratio
_LEAST = 1e-6  # of a ratio; less leaves nothing but noise
_GUESSES, _NEAR = 8, 1e-13  # steps towards a price's ratio, and the last one's share of it
THEOREM = "objective perturbation (Kifer, Smith and Thakurta 2012; docs/theory.md §15)"
"""Source of the price of what :func:`plan_perturbed_objective` plans."""


@dataclass(frozen=True)
class PerturbedObjective:
    """argmin of mean loss + ½m‖θ‖² + b·θ over the ball, and a little noise on it; public numbers.

    Parameters
    ----------
    gaussian : bool
        Whether b and the noise are Gaussian, or have density ∝ exp(−‖·‖/scale).
    scale : float
        Deviation of b, or its scale.
    solver : float
        Distance e from the minimiser that the solver keeps to.
    blur : float
        Deviation, or scale, of the noise that hides what is left of it.
    determinant : float
        J = q·log(1 + M₀/(nm)), the part of ε that the map's determinant takes; q scores a row.
    excess : float
        Expected excess of mean loss + ½m₀‖θ‖², m₀ the user's ridge, is at most this.
    curve : GaussianTilt or None
        What of its Rényi divergences is proved, where its price is in them.
    """

    gaussian: bool
    scale: float
    solver: float
    blur: float
    determinant: float
    excess: float
    curve: GaussianTilt | None = None


def plan_perturbed_objective(
    constants: Constants,
    radius: float,
    row_slope: float,
    *,
    own: float = 0.0,
    monotone: bool,
    epsilon: float,
    delta: float,
    outputs: int = 1,
    order: float | None = None,
) -> PerturbedObjective | None:
    """Noise b for (ε, δ)-DP, pure at δ = 0; None where the ridge is too small for it.

    For losses of one score a row, smooth with M₀, of slope at most ``row_slope`` = S per row: one
    record changes the determinant of b ↦ θ by a factor of at most 1 + M₀/(nm), and the b that leads
    to a given θ by at most 2S/n. Density ∝ exp(−‖b‖/s) is so (2S/(ns) + J)-DP. With N(0, σ²I) and
    u = 2S/(nσ), (ε, δ)-DP holds for ε ≥ J and the less of

        δ = κe^J·E[(exp(u·max(X, 0)) − e^(ε − J))₊],   X ~ N(0, 1),
        δ = E[(1 − exp(ε − J − u²/2 − uR))₊],   P(R > r) = e^(−r²/2),

    κ = 1 for losses that only rise, or only fall, in the score, and 2 for others (docs/theory.md
    §15); of several scores
    :func:`~rashomon_explorer.mechanisms.objective_perturbation.accounting.several_scores_delta`.
    At one Rényi order the price is that of :class:`GaussianTilt`, which ledgers add up.
    The solver is off by e at most; given the exact minimiser its result is a function of the rows
    that moves by 2e, which noise hides for a fiftieth of the price. For the best model θ* of the
    ball, with m' = m − m₀ the method's own part of the ridge m,

        E excess ≤ m'²R²/(2(m + m')) + E‖b‖²/(2(m + m')) + Le + ½ME‖noise‖².

    Parameters
    ----------
    constants : Constants
        Of the loss on the ball under the whole ridge m > 0.
    radius : float
        R of the ball.
    row_slope : float
        S, without the ridge, at every model and not on the ball alone.
    own : float, default=0.0
        m', of which the user did not ask.
    monotone : bool
        Whether a row's loss only rises or only falls with its score.
    epsilon, delta : float
        Total price.
    outputs : int, default=1
        Scores a row has, q: the determinant changes by a factor of at most (1 + M₀/(nm))^q.
    order : float, optional
        Order a > 1 at which ``epsilon`` is what D_a may be; b is Gaussian then, and ``delta`` has
        no part.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> rows = {"n": 1_000, "p": 31, "domain": Ball(4.0), "row_bound": 1.4, "ridge": 0.05}
    >>> known = Constants.of("logistic", **rows)
    >>> asked = {"own": 0.05, "monotone": True, "epsilon": 1.0}
    >>> found = plan_perturbed_objective(known, 4.0, 1.4, delta=1e-5, **asked)
    >>> round(found.scale, 5), round(found.determinant, 4), round(found.excess, 3)
    (0.01111, 0.0098, 0.219)
    """
    n, p, m = constants.n, constants.p, constants.m
    # Larger by more than the rounding of the difference.
    bend = constants.M - m + 1e-12 * constants.M
    jump = outputs * math.log1p(bend / (n * m))
    kept = (1 - _BLUR) * epsilon * _SAFE - jump
    if not kept > 0:
        return None
    moved = 2 * row_slope / n
    if order is not None:
        shape = GaussianTilt(0.0, jump, monotone, outputs)
        ratio = _renyi_ratio(shape, (1 - _BLUR) * epsilon * _SAFE, order)
        if ratio == 0:
            return None
        scale, spread = moved / ratio, p
        blurred = _SAFE * math.sqrt(2 * _BLUR * epsilon / order)
    elif delta == 0:
        scale, spread = moved / kept, p * (p + 1)
        blurred = _BLUR * epsilon
    else:
        tails = 1 if monotone else 2
        scale = moved / _largest_ratio(kept, jump, (1 - _BLUR) * delta, tails, outputs)
        blurred, spread = _SAFE * gdp_mu(_BLUR * epsilon, _BLUR * delta), p
    # What rounding leaves of the gradient, and of the way to the sphere (`tilted_minimiser`).
    size = constants.L + math.sqrt(spread) * scale
    least = _GRADIENT * size / m + math.sqrt(_SPHERE * size * radius / m)
    solver = max(_CLOSE * moved / m, least)
    blur = 2 * solver / blurred
    excess = (own**2 * radius**2 + spread * scale**2) / (2 * (m + own))
    excess += constants.L * solver + constants.M / 2 * spread * blur**2
    if order is None:
        return PerturbedObjective(delta > 0, scale, solver, blur, jump, excess)
    curve = GaussianTilt(moved / scale * _UP, jump, monotone, outputs, mu=2 * solver / blur * _UP)
    return PerturbedObjective(True, scale, solver, blur, jump, excess, curve)


def by_divergences(curve: GaussianTilt, asked: tuple[float, float]) -> Guarantee:
    """Guarantee of draws whose Rényi divergences are known, for the (ε, δ) that was asked for.

    Examples
    --------
    >>> held = by_divergences(GaussianTilt(0.2, 0.01, monotone=True), asked=(1.0, 1e-6))
    >>> print(str(held)[:29])
    ε = 1 at δ = 1e-6 (Rényi DP),
    """
    return Guarantee("tradeoff", THEOREM, curve=curve, asked=asked)


def least_length(
    p: int, epsilon: float, delta: float, *, monotone: bool, order: float | None = None
) -> float:
    """Length of b, over 2S/n, that a price pays for where the determinant costs nothing: about.

    p/ε, or √p over the largest ratio; prices as in :func:`plan_perturbed_objective`.

    Examples
    --------
    >>> for p in (10, 100):
    ...     pure, gaussian = (least_length(p, 0.1, d, monotone=True) for d in (0.0, 1e-6))
    ...     print(round(pure), round(gaussian))
    100 115
    1000 364
    """
    if order is not None:
        return math.sqrt(p) / _renyi_ratio(GaussianTilt(0.0, 0.0, monotone), epsilon, order)
    if delta == 0:
        return p / epsilon
    return math.sqrt(p) / _largest_ratio(epsilon, 0.0, delta, 1 if monotone else 2, 1)


def row_slope(loss: Loss, domain: Domain, row_norm: float) -> float:
    """Slope S of one row's loss at every model: the exact one's limit may come from outside.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> from rashomon_explorer.problem.losses import get_loss
    >>> row_slope(get_loss("logistic"), Ball(0.1), row_norm=2.0)
    2.0
    """
    reach = math.inf if loss.globally_lipschitz else domain.reach(row_norm)
    return float(loss.lipschitz(reach, row_norm))


def perturbed_delta(ratio: float, kept: float, jump: float, tails: int, outputs: int = 1) -> float:
    """δ at ε = kept + J of the exact minimiser under Gaussian b with 2S/(nσ) = ratio.

    The less of two bounds, the first for a small price and the second for a large one, u = ratio:

        κe^J(e^{u²/2}Φ(u − k) − e^{uk}Φ(−k)),  k = kept/u;
        u√(2π)·e^kept·Φ(−(k + u/2)),  if kept ≥ u²/2, or else 1.

    Parameters
    ----------
    ratio : float
        u > 0.
    kept : float
        ε − J ≥ 0.
    jump : float
        J.
    tails : int
        κ.
    outputs : int, default=1
        Scores a row has; of several neither order nor sign is used.

    Examples
    --------
    >>> from rashomon_explorer.privacy.conversions import gdp_delta
    >>> round(perturbed_delta(0.25, 1.0, 0.0, 1) / gdp_delta(0.25, 1.0), 2)
    1.76
    """
    if outputs > 1:
        return several_scores_delta(ratio, kept, jump, outputs)
    return min(_objective_by_order(ratio, kept, jump, tails), _objective_by_length(ratio, kept))


def _objective_by_order(ratio: float, kept: float, jump: float, tails: int) -> float:
    """Bound the slopes' sum by one of twice the size: both terms share a factor."""
    far = kept / ratio
    near = far - ratio
    exponent = jump + kept - far**2 / 2
    if exponent > _LARGEST_EXPONENT:
        return math.inf
    lost = erfcx(near / math.sqrt(2)) - erfcx(far / math.sqrt(2))
    return tails / 2 * math.exp(exponent) * lost


def _objective_by_length(ratio: float, kept: float) -> float:
    """Bound the slopes' sum by the length of b in the plane of two records, a Rayleigh variable."""
    least = kept / ratio - ratio / 2
    if least < 0:
        return 1.0
    beyond = erfcx((least + ratio) / math.sqrt(2))
    return ratio * math.sqrt(math.pi / 2) * math.exp(-(least**2) / 2) * beyond


@lru_cache(maxsize=4096)
def _renyi_ratio(shape: GaussianTilt, price: float, order: float) -> float:
    """Largest u at which D_a of a tilt of this shape is at most the price; 0 if J leaves none."""
    most = math.sqrt(2 * (price - shape.jump) / order)  # of a Gaussian mechanism

    def holds(ratio: float) -> bool:
        return replace(shape, ratio=ratio).renyi(order) <= price

    if not holds(_LEAST * most):
        return 0.0
    guess = most
    for _ in range(_GUESSES):  # log g, which is what is more than a Gaussian's, hardly moves
        more = replace(shape, ratio=guess).renyi(order) - shape.jump - order * guess**2 / 2
        guess = math.sqrt(2 * max(price - shape.jump - more, 0.0) / order)
    return bisect(holds, _LEAST * most, most, halvings=60, about=guess)


@lru_cache(maxsize=4096)  # of one price, for every ball and length that a rule compares
def _largest_ratio(kept: float, jump: float, delta: float, tails: int, outputs: int) -> float:
    """Largest u with :func:`perturbed_delta` at most δ."""
    most = math.sqrt(2 * kept)  # beyond it the second bound is 1, and the first larger

    def spent(ratio: float) -> float:
        return perturbed_delta(ratio, kept, jump, tails, outputs)

    return _SAFE * bisect(
        lambda ratio: spent(ratio) <= delta,
        min(1e-9 * most, 1e-9),
        most,
        halvings=100 if outputs == 1 else 45,
        about=_guess(spent, kept, delta) if outputs == 1 else None,
    )


def _guess(spent: Callable[[float], float], kept: float, delta: float) -> float:
    """About where δ is spent, by secants: √(−2 log δ) is nearly a = kept/u − u/2."""
    wanted = math.sqrt(-2 * math.log(delta))
    ahead, step, off, slope = wanted, 0.0, math.inf, 1.0
    for _ in range(_GUESSES):
        ratio = 2 * kept / (math.sqrt(ahead**2 + 2 * kept) + ahead)
        found = spent(ratio)
        if not 0 < found < 1:
            break
        missing = math.sqrt(-2 * math.log(found)) - wanted
        if math.isfinite(off) and missing != off:
            slope = (missing - off) / step
        step, off = -missing / slope, missing
        ahead += step
        if abs(step) <= _NEAR * ahead:
            break
    return ratio
