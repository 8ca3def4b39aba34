"""Public constants of a problem, known before any row is read."""

import math
from dataclasses import dataclass

from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.losses import Loss, get_loss

LARGEST_REACH = 1e100  # the square of a larger score, and values computed from it, may overflow

# The error of the minimum adds to the privacy cost: 1e-6 of the oscillation, or 1e-3 for a
# loss with kinks, whose minimum converges slowly.
_GAP_PER_OSCILLATION = 1e-6
_GAP_PER_OSCILLATION_WITH_KINKS = 1e-3


@dataclass(frozen=True)
class Constants:
    """Constants that hold for every data set of ``n`` rows within the declared bounds."""

    n: int
    p: int
    L: float
    M: float
    m: float
    osc: float

    @property
    def gap_tolerance(self) -> float:
        """Duality gap that the minimum must reach; public: it affects the cost of every draw."""
        smooth = math.isfinite(self.M)
        return self.osc * (_GAP_PER_OSCILLATION if smooth else _GAP_PER_OSCILLATION_WITH_KINKS)

    @property
    def charged_oscillation(self) -> float:
        """η/β of a bounded-range draw at β for every ψ; the minimum errs by ``gap_tolerance``."""
        return self.osc + 2 * self.gap_tolerance

    @classmethod
    def from_loss(
        cls,
        loss: str | Loss,
        *,
        n: int,
        p: int,
        domain: Domain,
        row_bound: float,
        ridge: float = 0.0,
    ) -> "Constants":
        """Constants of a loss on a domain for rows of norm at most ``row_bound``."""
        check_count(n=n, p=p)
        check_positive(row_bound=row_bound)
        loss = get_loss(loss)
        if domain.dimension not in (None, p):
            raise ValueError(f"the domain has {domain.dimension} parameters, got p={p}")
        if p % loss.outputs:
            raise ValueError(
                f"p must be a multiple of the loss's {loss.outputs} scores per row, got p={p}"
            )
        reach = domain.reach(row_bound)
        if not reach <= LARGEST_REACH:
            raise ValueError(
                f"scores could reach {reach:g}, more than {LARGEST_REACH:g}: lower radius or "
                "row_norm (scale the features by their public ranges)"
            )
        # A small reach may be a huge row times a tiny radius: the squared row overflows.
        size = max(row_bound, domain.radius, getattr(loss, "target_bound", 0.0))
        if not size <= LARGEST_REACH:
            raise ValueError(
                f"rows, models or targets could be as long as {size:g}, more than "
                f"{LARGEST_REACH:g}: lower row_norm, radius or the loss's target_bound"
            )
        data = cls(
            n=n,
            p=p,
            L=float(loss.lipschitz(reach, row_bound)),
            M=loss.smoothness(row_bound),
            m=0.0,
            osc=float(loss.oscillation(reach)) / n,
        )
        check_nonnegative(ridge=ridge)
        return data.with_ridge(ridge, domain.radius)

    def with_ridge(self, ridge: float, radius: float) -> "Constants":
        """Constants of the loss with a ridge, on models of length up to ``radius``."""
        return Constants(
            self.n, self.p, self.L + ridge * radius, self.M + ridge, self.m + ridge, self.osc
        )


def row_bound(row_norm: float, intercept: bool) -> float:
    """Norm bound of a whole row: the features' bound, and 1 for the intercept's column."""
    check_positive(row_norm=row_norm)
    return math.hypot(row_norm, 1.0) if intercept else row_norm
