"""Sensitivities of losses, gradients and minimisers."""

import math
from dataclasses import dataclass

from rashomon_explorer._utils.validation import check_count, check_nonnegative_or_infinite
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain


def data_lipschitz(constants: Constants, domain: Domain) -> float:
    """Lipschitz constant of one row's loss without the ridge, which cancels between neighbours.

    >>> from rashomon_explorer.problem.domains import Ball
    >>> ball = Ball(2.0)
    >>> ridged = Constants.of("squared", n=9, p=2, domain=ball, row_bound=1.0, ridge=0.5)
    >>> round(data_lipschitz(ridged, ball), 9)
    3.0
    """
    # Larger by more than the rounding of the difference.
    rest = constants.L - constants.m * domain.radius_bound + 1e-12 * constants.L
    if not rest > 0:
        raise ValueError(
            f"L = {constants.L:g} is less than the ridge {constants.m:g} alone needs on a domain "
            f"of radius {domain.radius_bound:g}: make the constants with Constants.of for this "
            "domain"
        )
    return rest


def data_slope(constants: Constants, domain: Domain) -> float:
    """Lipschitz constant 2L₀/n of L_D − L_D' for neighbours, L₀ as in :func:`data_lipschitz`.

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> ridged = Constants.of("logistic", n=50, p=2, domain=Ball(2.0), row_bound=1.0, ridge=0.5)
    >>> round(data_slope(ridged, Ball(2.0)), 5), round(2 * ridged.L / 50, 5)
    (0.03523, 0.07523)
    """
    return 2 * data_lipschitz(constants, domain) / constants.n


def gradient_sensitivity(
    constants: Constants,
    psi: float,
    *,
    width: float,
    interior: bool = False,
    gradient_error: float = 0.0,
    value_error: float = 0.0,
    data_slope: float | None = None,
) -> float:
    """Largest change of the thresholded loss's gradient when one record is replaced.

    For the smooth threshold of width s, v = L − min L − ψ moves by at most ω = osc, so that

        Δ ≤ 2L₀/n + min(1, ω/s)·G,   G = min{L, √(2M(ψ + s + ω))},

    where 2L₀/n is ``data_slope``, or 2L/n, and the second form of G needs a loss that is smooth
    on all of ℝᵖ and, for every data set, a global minimiser inside the domain (own derivation,
    docs/theory.md §6). The hard threshold, ``width=0``, has Δ = max{2L₀/n, G}, and 2L₀/n at
    ψ = 0, where nothing is thresholded. Equation (9) of Ganesh et al. (2023) is smaller and not
    valid: it lacks the case in which only one of two neighbours is beyond the threshold at a
    model whose gradient is large.

    ``interior`` says that the minimiser is so, as it is for a ball of radius at least L/ridge.
    ``gradient_error`` and ``value_error``, what rounding adds between neighbours, add to 2L/n and
    to ω. ``data_slope`` is the Lipschitz constant of L_D − L_D', in which the ridge, which reads no
    row, cancels; not so in G.

    >>> from rashomon_explorer.problem.domains import Ball
    >>> lending = Constants.of("logistic", n=50_000, p=11, domain=Ball(4.0), row_bound=1.0)
    >>> round(gradient_sensitivity(lending, 0.02, width=0.01), 5)
    0.01575
    >>> round(gradient_sensitivity(lending, 0.02, width=0.0), 5)
    0.98201
    """
    check_nonnegative_or_infinite(
        psi=psi, width=width, gradient_error=gradient_error, value_error=value_error
    )
    both = 2 * constants.L / constants.n if data_slope is None else data_slope
    both += gradient_error
    if psi == 0 and width == 0:
        return both
    omega = constants.priced_osc + value_error
    largest = constants.L
    if interior:
        largest = min(largest, math.sqrt(2 * constants.M * (psi + width + omega)))
    if width == 0:  # the slope is 0 or 1: either both are beyond, or one gradient is all
        return max(both, largest + gradient_error)
    return both + min(1.0, omega / width) * largest


def batch_sensitivity(
    constants: Constants,
    psi: float,
    *,
    width: float,
    n_batches: int,
    n_steps: int,
    data_slope: float | None = None,
) -> float:
    """Root mean square over a path's steps of what one record moves, for batches in turn.

    Steps take the gradient of a batch of at least b = ⌊n/batches⌋ rows, one batch after the
    other, so that a record is in ⌈N/batches⌉ of N steps. There the gradient moves by

        2L/b + min(1, (ω_b + ω)/s)·L,   ω_b = osc·n/b,

    because the batch's loss moves by ω_b and min L by ω = osc; in the other steps only min L
    moves, by which the slope changes by min(1, ω/s) (own derivation, docs/theory.md §6). Nothing
    is gained from the order of the batches, which is taken to be known. Without a threshold,
    ψ = 0 and ``width=0``, it is 2L/b in the record's own steps and 0 in all others.

    ``constants`` are of all n rows; n/b times ``data_slope``, of L_D − L_D' over all of them, takes
    the place of 2L/b.

    >>> from rashomon_explorer.problem.domains import Ball
    >>> lending = Constants.of("logistic", n=50_000, p=11, domain=Ball(4.0), row_bound=1.0)
    >>> one_pass = batch_sensitivity(lending, 0.0, width=0.0, n_batches=100, n_steps=100)
    >>> round(one_pass / gradient_sensitivity(lending, 0.0, width=0.0), 6)
    10.0
    """
    check_nonnegative_or_infinite(psi=psi, width=width)
    if not 1 <= n_batches <= constants.n:
        raise ValueError(f"n_batches must be from 1 to n = {constants.n}, got {n_batches!r}")
    check_count(n_steps=n_steps)
    size = constants.n // n_batches
    moved = 2 * constants.L / constants.n if data_slope is None else data_slope
    own, other = moved * constants.n / size, 0.0
    if psi > 0 or width > 0:
        omega, whole = constants.priced_osc, constants.osc * constants.n / size
        other = _slope_change(omega, width) * constants.L
        weighed = _slope_change(omega + whole, width) * constants.L
        own = own + weighed if width else max(own, weighed)
    taken = math.ceil(n_steps / n_batches)
    return math.sqrt((taken * own**2 + (n_steps - taken) * other**2) / n_steps)


def _slope_change(omega: float, width: float) -> float:
    return min(1.0, omega / width) if width else 1.0


# The whole domain's minimum mostly reaches a thousandth of the oscillation nearby: no new solve.
_GAP_PER_OSCILLATION = 1e-3
_ROUNDING = 16 * 2.0**-52  # of the losses: no gap below it can be certified
_WITH_KINKS = 1e-6  # of the oscillation: as close as smoothing brings a loss with kinks


@dataclass(frozen=True)
class LocalConstants(Constants):
    """Constants on a part of a domain, whose minimum may be known less well than the domain's."""

    least_tolerance: float  # gap that rounding and kinks allow to be certified

    @property
    def gap_tolerance(self) -> float:
        """Duality gap that the minimum must reach; public, because every draw pays for it."""
        return max(_GAP_PER_OSCILLATION * self.osc, self.least_tolerance)


def local_constants(constants: Constants, domain: Domain, diameter: float) -> Constants:
    """Constants on a part of the domain of at most this diameter.

    The difference of two records' losses has Lipschitz constant 2L/n, L without the ridge, so
    that it varies by at most 2L·diameter/n on the part (and by no more than on the domain).

    Examples
    --------
    >>> from rashomon_explorer.problem.domains import Ball
    >>> wide = Constants.of("squared", n=100, p=2, domain=Ball(1.0), row_bound=1.0)
    >>> wide.osc, round(local_constants(wide, Ball(1.0), 0.1).osc, 9)
    (0.04, 0.004)
    """
    if diameter >= domain.diameter:
        return constants
    return LocalConstants(
        n=constants.n,
        p=constants.p,
        L=constants.L,
        M=constants.M,
        m=constants.m,
        osc=min(constants.osc, data_slope(constants, domain) * diameter),
        least_tolerance=certifiable_gap(constants, domain),
    )


def certifiable_gap(constants: Constants, domain: Domain) -> float:
    """Gap that can be certified whatever the rows, for losses of the size the domain allows."""
    rounding = _ROUNDING * (1 + constants.L * domain.diameter)
    return rounding if math.isfinite(constants.M) else max(rounding, _WITH_KINKS * constants.osc)
