"""Constants of a loss on a part of its domain: a smaller oscillation, a minimum known less well."""

import math
from dataclasses import dataclass

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Domain
from rashomon_explorer.planning.sensitivity import data_slope

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
    >>> from rashomon_explorer.domains import Ball
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
