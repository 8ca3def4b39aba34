"""Noisy gradient descent on batches drawn anew in each step: Theorems 4.8 to 4.10."""

import math
from collections.abc import Callable
from dataclasses import replace

from scipy.special import ndtr

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled, TradeOff, compose_tradeoffs
from rashomon_explorer.theory.theorems.common import (
    LAST_ONLY,
    NO_JUMPS,
    PROJECTED,
    WHOLE_PATH,
    check_batch,
    check_convex_step,
    contracting,
    contraction_of,
    shift,
    state,
)
from rashomon_explorer.validation import check_count, check_positive

_DRAWN = "batches are drawn without replacement, anew in each step, and never shown"


def sgd_composition(
    *, sensitivity: float, n: int, batch_size: int, sigma: float, n_steps: int
) -> Guarantee:
    """All iterates with batches of fixed size b drawn anew: C_{b/n}(G(L/(bσ)))^⊗t.

    Theorem 4.8 of Bok, Su and Altschuler 2024. ``mu`` is that of t steps without sampling, which
    C_q(f) ≥ f keeps; ``epsilon``, ``delta`` and ``tradeoff`` use the whole curve, for t > 1 by the
    extra ``accounting``.

    Parameters
    ----------
    sensitivity, n, batch_size, sigma, n_steps
        As :mod:`rashomon_explorer.theory.theorems` says.

    Examples
    --------
    >>> paid = sgd_composition(sensitivity=2.0, n=1000, batch_size=10, sigma=0.2, n_steps=100)
    >>> paid.mu, round(paid.epsilon(1e-5), 2)
    (10.0, 0.77)
    """
    check_batch(batch_size, n)
    check_count(n_steps=n_steps)
    moved = shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    return _state([(moved, n_steps)], 0.0, batch_size / n, "Theorem 4.8", WHOLE_PATH)


def sgd_strongly_convex(
    *,
    sensitivity: float,
    n: int,
    batch_size: int,
    sigma: float,
    n_steps: int,
    contraction: float | None = None,
    ridge: float | None = None,
    smoothness: float | None = None,
    step_size: float | None = None,
    tau: int | None = None,
) -> Guarantee:
    """Last iterate for strongly convex, smooth losses, batches drawn anew.

    With s = L/(bσ) and any 1 ≤ τ < t,

        G(2√2 s (c^(t−τ+1) − c^t)/(1 − c)) ⊗ C_{b/n}(G(2√2 s)) ⊗ C_{b/n}(G(2s))^⊗(t−τ)

    (Theorem 4.9 of Bok, Su and Altschuler 2024). At τ = 0, where the paper's first term is of no
    sign, τ = 1 promises more. Every τ is true; the search for a good one takes the central limit
    of sampled steps for their curve, the result does not.

    Parameters
    ----------
    sensitivity, n, batch_size, sigma, n_steps
        As :mod:`rashomon_explorer.theory.theorems` says.
    contraction, ridge, smoothness, step_size : float, optional
        The first, or the other three.
    tau : int, optional
        τ, from 1 to t − 1, so that t ≥ 2; by default the best found.

    Examples
    --------
    >>> settings = {"sensitivity": 2.0, "n": 1000, "batch_size": 10, "sigma": 0.8}
    >>> paid = [
    ...     sgd_strongly_convex(**settings, contraction=0.8, n_steps=t).epsilon(1e-5)
    ...     for t in (1000, 10**6)
    ... ]
    >>> paid[0] == paid[1]
    True
    """
    check_batch(batch_size, n)
    _check_steps(n_steps)
    c = contraction_of(
        contraction=contraction, ridge=ridge, smoothness=smoothness, step_size=step_size
    )
    moved = shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    rate, wide = batch_size / n, 2 * math.sqrt(2) * moved

    def start(last: int) -> float:
        return wide * (c ** (last + 1) - c**n_steps) / (1 - c)

    def approximate(last: int) -> float:
        return start(last) ** 2 + _limit(wide, rate) + last * _limit(2 * moved, rate)

    last = _last_steps(approximate, n_steps, tau)
    sampled = [(wide, 1), (2 * moved, last)]
    theorem = f"Theorem 4.9 (τ = t - {last})"
    return _state(sampled, start(last), rate, theorem, contracting(c), NO_JUMPS, LAST_ONLY)


def sgd_convex(
    *,
    sensitivity: float,
    n: int,
    batch_size: int,
    sigma: float,
    n_steps: int,
    diameter: float,
    step_size: float,
    smoothness: float,
    tau: int | None = None,
) -> Guarantee:
    """Last iterate for convex, smooth losses on a domain of diameter D, batches drawn anew.

    With any τ < t, G(√2 D/(ησ√(t − τ))) ⊗ C_{b/n}(G(2√2 L/(bσ)))^⊗(t−τ) (Theorem 4.10 of Bok, Su
    and Altschuler 2024); τ as in :func:`sgd_strongly_convex`.

    Parameters
    ----------
    sensitivity, n, batch_size, sigma, n_steps, diameter, step_size, smoothness
        As :mod:`rashomon_explorer.theory.theorems` says.
    tau : int, optional
        τ; by default the best found.

    Examples
    --------
    >>> settings = {"sensitivity": 2.0, "n": 1000, "batch_size": 10, "sigma": 0.8}
    >>> domain = {"diameter": 1.0, "step_size": 0.5, "smoothness": 4.0}
    >>> paid = [sgd_convex(**settings, **domain, n_steps=t).epsilon(1e-5) for t in (10**4, 10**6)]
    >>> paid[0] == paid[1]
    True
    """
    check_batch(batch_size, n)
    check_count(n_steps=n_steps)
    check_positive(diameter=diameter)
    check_convex_step(step_size=step_size, smoothness=smoothness)
    moved = shift(sensitivity=sensitivity, batch_size=batch_size, sigma=sigma)
    rate, wide = batch_size / n, 2 * math.sqrt(2) * moved

    def start(last: int) -> float:
        return math.sqrt(2 / last) * diameter / (step_size * sigma)

    def approximate(last: int) -> float:
        return start(last) ** 2 + last * _limit(wide, rate)

    last = _last_steps(approximate, n_steps, tau, least_tau=0)
    theorem = f"Theorem 4.10 (τ = t - {last})"
    return _state([(wide, last)], start(last), rate, theorem, PROJECTED, NO_JUMPS, LAST_ONLY)


def _state(
    sampled: list[tuple[float, int]], start: float, rate: float, theorem: str, *assumptions: str
) -> Guarantee:
    """G(start) ⊗ C_q(G(μ_i))^⊗k_i, with the μ of no sampling beside it."""
    plain = math.sqrt(start**2 + math.fsum(count * mu**2 for mu, count in sampled))
    parts: list[tuple[TradeOff, int]] = [(Gaussian(start), 1)]
    parts += [(Subsampled(Gaussian(mu), rate), count) for mu, count in sampled if mu > 0]
    guarantee = state(plain, theorem, _DRAWN, *assumptions)
    if rate == 1 or plain == 0:
        return guarantee
    return replace(guarantee, notion="tradeoff", curve=compose_tradeoffs(parts))


def _check_steps(n_steps: int) -> None:
    check_count(n_steps=n_steps)
    if n_steps < 2:
        raise ValueError("n_steps must be at least 2: one step is sgd_composition's")


def _last_steps(
    square: Callable[[int], float], n_steps: int, tau: int | None, *, least_tau: int = 1
) -> int:
    """T − τ, as asked for or where the square of μ is about least."""
    most = n_steps - least_tau
    if tau is not None:
        if not (least_tau <= tau < n_steps and tau == int(tau)):
            raise ValueError(f"tau must be from {least_tau} to n_steps - 1, got {tau!r}")
        return n_steps - int(tau)
    low, high = 1, most
    while high - low > 2:  # the square falls, then rises
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (low, right) if square(left) <= square(right) else (left, high)
    return min(range(low, high + 1), key=square)


def _limit(mu: float, rate: float) -> float:
    """μ² of one of many sampled steps, 2q²(e^(μ²) Φ(3μ/2) + 3Φ(−μ/2) − 2), or μ² if that is less.

    Corollary 4 of Dong, Roth and Su 2022: a limit, so good for a search and for no promise.
    """
    if mu > 5:
        return mu**2
    several = math.exp(mu * mu) * ndtr(1.5 * mu) + 3 * ndtr(-mu / 2) - 2
    return min(mu**2, 2 * rate**2 * max(0.0, float(several)))
