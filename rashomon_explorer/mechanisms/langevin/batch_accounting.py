"""Costs of noisy gradient chains on batches, in turn or drawn anew.

A ``shift`` s, by which a record moves a step on its batch, and a ``diameter`` D of the domain are
in standard deviations of a step's noise, c is the ``contraction`` and q the ``rate`` of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from scipy.special import ndtr

from rashomon_explorer._utils.validation import (
    check_count,
    check_nonnegative,
    check_nonnegative_or_infinite,
    check_positive,
    check_share,
)
from rashomon_explorer.mechanisms.noisy_descent import least_shift
from rashomon_explorer.privacy import Guarantee, gdp, zcdp
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled, TradeOff, compose_tradeoffs

_FLAT = -1e-300
"""Where l·log c is above it, c is treated as 1."""


def _earlier_epochs(c: float, l: int, epochs: int) -> float:  # noqa: E741
    """c^(2l−2) (1 − c²)/(1 − c^l)² · tanh(l(E − 1)|log c|/2); for c → 1 its limit (E − 1)/l."""
    if epochs == 1 or c == 0:
        return float(epochs > 1 and l == 1)
    log = math.log(c)
    if log > _FLAT / l:
        return (epochs - 1) / l
    return _epoch_weight(log, l, 2 * l - 2) * math.tanh(-l * (epochs - 1) * log / 2)


def _epoch_weight(log: float, l: int, power: int) -> float:  # noqa: E741
    """c^power (1 − c²)/(1 − c^l)², by expm1 of log c to avoid 0/0 for c → 1."""
    return math.exp(power * log) * math.expm1(2 * log) / -(math.expm1(l * log) ** 2)


def last_batch_state_guarantee(
    *,
    shift: float,
    n_batches: int,
    n_steps: int,
    contraction: float = 1.0,
    diameter: float = math.inf,
) -> Guarantee:
    """μ² = s² + S: last of N steps over l batches in turn (Theorem 4.5 of Bok et al. 2024)."""
    check_nonnegative(shift=shift)
    check_nonnegative_or_infinite(diameter=diameter)
    check_count(n_batches=n_batches, n_steps=n_steps)
    check_share(contraction=contraction)
    visits = math.ceil(n_steps / n_batches)
    contracted = shift**2 * _earlier_epochs(contraction, n_batches, visits)
    earlier = min(contracted, least_shift(diameter, shift, visits - 1, n_batches))
    return replace(
        gdp(mu=math.sqrt(shift**2 + earlier)),
        theorem=f"last of {n_steps} noisy gradient steps over {n_batches} batches in turn (Bok, Su "
        "and Altschuler 2024)",
    )


def last_batch_state_renyi(
    *, shift: float, n_batches: int, epochs: int, contraction: float
) -> Guarantee:
    """(α/2)s²(1 + S'): the same by Rényi divergences, the column "RDP" of Table 1."""
    exact = last_batch_state_guarantee(
        shift=shift, n_batches=n_batches, n_steps=n_batches * epochs, contraction=contraction
    )
    log = math.log(contraction) if contraction > 0 else -math.inf
    if epochs == 1 or contraction == 0:
        earlier = float(epochs > 1 and n_batches == 1)
    elif log > _FLAT / n_batches:
        earlier = 2 * (epochs - 1) / n_batches
    else:
        left = -math.expm1(n_batches * (epochs - 1) * log)
        earlier = _epoch_weight(log, n_batches, n_batches - 1) * left
    rho = shift**2 * (1 + earlier) / 2
    return replace(zcdp(rho=rho), theorem=f"Rényi bound of the {exact.theorem}")


_DRAWN = "batches are drawn without replacement, anew in each step, and never shown"
_LAST_ONLY = "only the last state is ever shown; the number of steps is fixed in advance"


def sampled_path_guarantee(*, shift: float, rate: float, n_steps: int) -> Guarantee:
    """C_q(G(s))^⊗t of all states of t steps on batches drawn anew (Theorem 4.8)."""
    steps = f"{n_steps} noisy steps on batches drawn anew"
    theorem = f"path of {steps} (Theorem 4.8 of Bok, Su and Altschuler 2024)"
    return _sampled([(shift, n_steps)], 0.0, rate, theorem)


def last_sampled_state_guarantee(
    *, shift: float, rate: float, n_steps: int, contraction: float = 1.0, diameter: float = math.inf
) -> Guarantee:
    """Guarantee of the last of t steps on batches drawn anew (docs/theory.md §12)."""
    check_count(n_steps=n_steps)
    check_positive(rate=rate)
    check_nonnegative(shift=shift)
    check_nonnegative_or_infinite(diameter=diameter)
    check_share(contraction=contraction)
    _, parts, start = min(_split_steps(shift, rate, n_steps, contraction, diameter))
    steps = f"{n_steps} noisy steps on batches drawn anew"
    theorem = f"last of {steps} (shifted interpolation, own constants; docs/theory.md §12)"
    return _sampled(list(parts), start, rate, theorem, _LAST_ONLY)


_Split = tuple[float, tuple[tuple[float, int], ...], float]


def _split_steps(s: float, rate: float, t: int, c: float, diameter: float) -> Iterator[_Split]:
    """Central limit of μ², sampled parts and μ of the Gaussian part, for each r and K tried."""
    composed = _limit(s, rate)
    yield t * composed, ((s, t),), 0.0
    for last in {round(t ** (k / 24)) for k in range(24)} - {t}:
        apart = min(diameter, s * _geometric(c, t - last)) * c**last
        for moving in {min(2**k, last) for k in range(last.bit_length() + 1)}:
            bare = apart**2 / _geometric(c * c, moving)
            # The share that is best if the cost of sampled steps is proportional to s².
            whole, rest = math.sqrt(bare), math.sqrt(moving * composed)
            share = whole / (whole + rest) if rest > 0 else 0.0
            wide, start = s / math.sqrt(1 - share), math.sqrt(whole * (whole + rest))
            square = start**2 + moving * _limit(wide, rate) + (last - moving) * composed
            yield square, ((wide, moving), (s, last - moving)), start


def _geometric(c: float, count: int) -> float:
    """1 + c + … + c^(count − 1), rounded up."""
    if c in (0.0, 1.0):
        return float(min(count, 1) if c == 0 else count)
    return math.expm1(count * math.log(c)) / (c - 1) * (1 + 1e-12)


def _sampled(
    steps: list[tuple[float, int]], start: float, rate: float, theorem: str, *assumptions: str
) -> Guarantee:
    """G(start) ⊗ C_q(G(μ_i))^⊗k_i, and the μ without sampling."""
    plain = gdp(mu=math.sqrt(start**2 + math.fsum(count * mu**2 for mu, count in steps)))
    all_of_it = (*plain.assumptions, _DRAWN, *assumptions)
    guarantee = replace(plain, theorem=theorem, assumptions=all_of_it)
    if rate == 1 or plain.mu == 0:
        return guarantee
    parts: list[tuple[TradeOff, int]] = [(Gaussian(start), 1)]
    parts += [(Subsampled(Gaussian(mu), rate), count) for mu, count in steps if mu and count]
    return replace(guarantee, notion="tradeoff", curve=compose_tradeoffs(parts))


def _limit(mu: float, rate: float) -> float:
    """About μ² of a sampled step, for a search (Corollary 4 of Dong, Roth and Su 2022)."""
    if mu > 5:
        return mu**2
    several = math.exp(mu * mu) * ndtr(1.5 * mu) + 3 * ndtr(-mu / 2) - 2
    return min(mu**2, 2 * rate**2 * max(0.0, float(several)))
