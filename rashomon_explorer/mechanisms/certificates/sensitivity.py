"""Sensitivities of losses, gradients and minimisers."""

import math
from dataclasses import dataclass

from rashomon_explorer._utils.validation import check_count, check_nonnegative_or_infinite
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain


def data_lipschitz(constants: Constants, domain: Domain) -> float:
    """Lipschitz constant of one row's loss without the ridge, which cancels between neighbours."""
    # Rounded up by more than the error of the difference.
    rest = constants.L - constants.m * domain.radius + 1e-12 * constants.L
    if not rest > 0:
        raise ValueError(
            f"L = {constants.L:g} is less than the ridge {constants.m:g} requires on a domain "
            f"of radius {domain.radius:g}: make the constants with Constants.of for this "
            "domain"
        )
    return rest


def data_slope(constants: Constants, domain: Domain) -> float:
    """Lipschitz constant 2L₀/n of L_D − L_D' for neighbours, L₀ as in :func:`data_lipschitz`."""
    return 2 * data_lipschitz(constants, domain) / constants.n


def gradient_sensitivity(
    constants: Constants,
    psi: float,
    *,
    width: float,
    interior: bool = False,
    data_slope: float | None = None,
) -> float:
    """Bound on the change of the thresholded loss's gradient when one record is replaced."""
    check_nonnegative_or_infinite(psi=psi, width=width)
    both = 2 * constants.L / constants.n if data_slope is None else data_slope
    if psi == 0 and width == 0:
        return both
    omega = constants.charged_oscillation
    largest = constants.L
    if interior:
        largest = min(largest, math.sqrt(2 * constants.M * (psi + width + omega)))
    if width == 0:  # the slopes are 0 or 1: both losses are beyond ψ, or only one
        return max(both, largest)
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
    """Root mean square change by one record over a path of batches in turn (docs/theory.md §6)."""
    check_nonnegative_or_infinite(psi=psi, width=width)
    if not 1 <= n_batches <= constants.n:
        raise ValueError(f"n_batches must be from 1 to n = {constants.n}, got {n_batches!r}")
    check_count(n_steps=n_steps)
    size = constants.n // n_batches
    moved = 2 * constants.L / constants.n if data_slope is None else data_slope
    own, other = moved * constants.n / size, 0.0
    if psi > 0 or width > 0:
        omega, batch_omega = constants.charged_oscillation, constants.osc * constants.n / size
        other = _slope_change(omega, width) * constants.L
        weighed = _slope_change(omega + batch_omega, width) * constants.L
        own = own + weighed if width else max(own, weighed)
    own_steps = math.ceil(n_steps / n_batches)
    return math.sqrt((own_steps * own**2 + (n_steps - own_steps) * other**2) / n_steps)


def _slope_change(omega: float, width: float) -> float:
    return min(1.0, omega / width) if width else 1.0


# The whole domain's minimum mostly reaches this accuracy nearby, without a new solve.
_GAP_PER_OSCILLATION = 1e-3
_ROUNDING = 16 * 2.0**-52  # of the losses: no smaller gap can be certified
_WITH_KINKS = 1e-6  # of the oscillation: accuracy that smoothing reaches for a loss with kinks


@dataclass(frozen=True)
class LocalConstants(Constants):
    """Constants on a part of a domain, whose minimum may be less accurate than the domain's."""

    least_tolerance: float  # least gap that rounding and kinks allow to be certified

    @property
    def gap_tolerance(self) -> float:
        """Duality gap that the minimum must reach; public, because every draw is charged for it."""
        return max(_GAP_PER_OSCILLATION * self.osc, self.least_tolerance)


def local_constants(constants: Constants, domain: Domain, diameter: float) -> Constants:
    """Constants on a part of the domain of at most this diameter."""
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
    """Gap that can be certified for all rows, for losses of the size the domain allows."""
    rounding = _ROUNDING * (1 + constants.L * domain.diameter)
    return rounding if math.isfinite(constants.M) else max(rounding, _WITH_KINKS * constants.osc)


_CLOSE = 0.01  # of half the sensitivity: distance to the minimiser that the solver must reach


def solver_distance(constants: Constants, domain: Domain) -> float:
    """Distance √(2τ/m) from the minimiser that the solver must reach before noise is added."""
    target = _CLOSE * data_lipschitz(constants, domain) / (constants.m * constants.n)
    return max(target, math.sqrt(2 * certifiable_gap(constants, domain) / constants.m))
