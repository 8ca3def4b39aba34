"""Rényi divergences of curves whose tail is known, from their δ(ε)."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import check_order

_CELLS = 2**15
_NOTHING = 60.0  # log of what the tail is below, beside an integral of about a rate squared
_LARGEST_EXPONENT = 600.0
_UP = 1 + 1e-11


def renyi_of_profile(delta: Callable[[FloatArray], FloatArray], mu: float, order: float) -> float:
    """Bound D_a of a symmetric curve that is nowhere below G(μ), such as one of sampled rows.

    e^((a − 1)D_a) = 1 + a(a − 1)∫(e^((a − 1)ε) + e^(−aε))δ(ε)dε over ε > 0 (Sason and Verdú 2016).
    δ falls: it is taken at the lower end of cells. Beyond them δ(ε) ≤ Φ(μ/2 − ε/μ), of which the
    integral is at most √(2π)/2·μ·e^((a − 1)μ²/2 + s²/2)·Φ(s − z), s = (a − 1)μ, at ε = μ(z + μ/2).
    Never more than aμ²/2.

    Parameters
    ----------
    delta : callable
        δ(ε) at ε ≥ 0.
    mu : float
        μ.
    order : float
        a > 1.

    Examples
    --------
    >>> from rashomon_explorer.privacy.tradeoff import Gaussian
    >>> round(renyi_of_profile(Gaussian(0.5).delta, 0.6, 4.0), 3), 4.0 * 0.5**2 / 2
    (0.5, 0.5)
    """
    check_order(order)
    excess, most = order - 1, order * mu**2 / 2
    s = excess * mu
    size = excess * mu**2 / 2 + s**2 / 2
    far = math.sqrt(2 * (size + _NOTHING))
    top = mu * (mu / 2 + s + far)
    if mu == 0 or order * top > _LARGEST_EXPONENT:
        return most
    # Finer next to 0, where the losses of rows that are rarely taken lie.
    places = top * (np.arange(_CELLS + 1) / _CELLS) ** 2
    rising, falling = np.expm1(excess * places) / excess, -np.expm1(-order * places) / order
    weights = np.diff(rising + falling)
    inside = float(weights @ delta(places[:-1]))
    beyond = math.sqrt(2 * math.pi) * mu * math.exp(size + float(log_ndtr(-far)))
    return min(most, _UP * math.log1p(order * excess * (inside + beyond)) / excess)
