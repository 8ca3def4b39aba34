"""What is known of a minimum, and how well."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.shown import Fact, Shown

ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True, repr=False)
class Minimum(Shown):
    """Best model, with a proof of how good it is.  Curator: computed from private rows.

    Parameters
    ----------
    theta : ndarray of shape (p,)
        Model whose loss is within ``gap`` of the least.
    value : float
        Its loss.
    gap : float
        Duality gap, an upper bound of L(θ) − min L for convex L: max_{ϑ in C} ∇L(θ)·(θ − ϑ) for
        smooth losses, L(θ) less a dual point's value for those with kinks.
    multiplier : float
        λ ≥ 0 of the ball: ∇L(θ) ≈ −λθ; 0 inside it, on other domains, and for losses with kinks.
    slack : float
        Upper bound of what the Lagrangian's minimum at θ leaves out, for points of the domain:
        2R‖∇L(θ) + λθ‖ + ½λ(R² − ‖θ‖²) on the ball, the gap where there is no multiplier.
    """

    theta: FloatArray
    value: float
    gap: float
    multiplier: float
    slack: float

    @property
    def on_boundary(self) -> bool:
        """Whether the ball holds the minimiser back."""
        return self.multiplier > 0

    def _title(self) -> str:
        return f"Minimum, certified, of {len(self.theta)} parameters (curator)"

    def _facts(self) -> list[Fact]:
        where = "on the domain's edge, which binds" if self.on_boundary else "not held back"
        return [
            ("loss", f"{self.value:.6g}, at most {self.gap:.2g} above the least"),
            ("length", f"{float(np.linalg.norm(self.theta)):.4g}, {where}"),
        ]
