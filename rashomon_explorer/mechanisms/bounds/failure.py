"""Bounds on rejections."""

import math

import numpy as np

from rashomon_explorer._utils.validation import (
    check_inner_share,
)

_STEPS = 4000
_COLDEST = 60.0  # e⁻⁶⁰ of the mass lies beyond
_ROUNDING = 1e-9  # far above what four thousand terms can lose


def least_acceptance(p: int, beta: float, psi: float, spread: float) -> float:
    """Lower bound of the probability that a proposal becomes a draw, for a convex loss.

    A proposal of the uniform law on the domain is accepted with probability
    E exp(−β(excess − ψ)₊) ≥ p ∫₀¹ tᵖ⁻¹ exp(−β(t·spread − ψ)₊) dt, because the models of excess at
    most t·spread include the domain shrunk by t towards the minimiser. A proposal of less mass is
    accepted more often (docs/theory.md §3). The integral is bounded by a lower sum.

    Parameters
    ----------
    p : int
        Number of parameters.
    beta, psi : float
        Inverse temperature and Rashomon threshold.
    spread : float
        Public upper bound of max − min of the loss over the domain, > 0.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> least_acceptance(p=3, beta=0.0, psi=0.0, spread=4.0) > 0.999999
    True
    >>> exact = (1 - math.exp(-8.0)) / 8  # p = 1: the integral of exp(−8t)
    >>> 0.97 * exact < least_acceptance(p=1, beta=8.0, psi=0.0, spread=1.0) <= exact
    True
    """
    if psi >= spread:
        return 1.0
    top = spread if beta == 0 else min(spread, psi + _COLDEST / beta)
    # The last level stands for itself alone: beyond it the sum counts nothing.
    levels = np.linspace(psi, top, _STEPS + 1)
    shares = (levels / spread) ** p
    total = shares[0] + float(np.diff(shares) @ np.exp(-beta * (levels[1:] - psi)))
    return float(min(1.0, max(0.0, total)) * (1 - _ROUNDING))


def giving_up_probability(acceptance: float, patience: int, n_draws: int) -> float:
    """Upper bound n_draws·(1 − a)^patience of the probability to give up before the last draw."""
    if acceptance >= 1:
        return 0.0
    bound = n_draws * math.exp(patience * math.log1p(-acceptance))
    return min(1.0, bound * (1 + _ROUNDING * (1 + patience * acceptance)))


def enough_patience(acceptance: float, n_draws: int, failure: float) -> int:
    """Least number of proposals in a row after which giving up is as unlikely as is wanted.

    Parameters
    ----------
    acceptance : float
        In (0, 1).
    n_draws : int
    failure : float
        Wanted bound of the probability, in (0, 1).

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> enough = enough_patience(1e-4, n_draws=20, failure=1e-12)
    >>> 300_000 < enough < 310_000, giving_up_probability(1e-4, enough, 20) <= 1e-12
    (True, True)
    """
    check_inner_share(acceptance=acceptance, failure=failure)
    patience = max(1, math.ceil(math.log(n_draws / failure) / -math.log1p(-acceptance)))
    while giving_up_probability(acceptance, patience, n_draws) > failure:
        patience += max(1, patience // 10**6)
    return patience
