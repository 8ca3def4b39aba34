"""What one record can do to the choice of a penalty, from public numbers alone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.shown import Fact, Shown
from rashomon_explorer.tuning.bilevel_constants import BilevelConstants
from rashomon_explorer.tuning.margins import MARGINS, MarginLoss, widest
from rashomon_explorer.validation import check_count, check_positive

FORMULAS: Mapping[str, str] = {
    "reach": "M = R·√(c/λ): margins of fits; yᵀΛy ≤ c = max −m·ℓ'(m), ¼ or W(1/e)",
    "validation_range": "osc(min(M, clip))/n_val: a validation record changes two losses",
    "training_range": "4·Lf·Lg/(λ·n_train): it moves every fit by 2·Lg/(λ·n_train) at most",
    "range": "s: the larger of the two, because the split is public",
    "slope": "L̄ = Lf·√(c/λ): ‖∇Φ‖, by ‖Λ^½H⁻¹Λ^½‖ ≤ 1",
    "validation_slope": "2·Lf·√(c/λ)/n_val",
    "training_slope": "[e·v + √c·v·(h·R²/(λ·n_train) + t·(R²/λ)^(3/2)·e) + √c·h·R²·e/λ], "
    "e = 2·Lg/(√λ·n_train), v = Lf/√λ",
    "gradient_sensitivity": "K/n: the larger of the two",
    "smoothness": "βΦ = h·R²·c/λ + v·(t·(R²/λ)^(3/2)·c + 3·√c): Lipschitz constant of ∇Φ",
    "inexactness": "C = v + √c·(v·t·(R²/λ)^(3/2) + h·R²/λ): of ∇Φ per ‖Λ^½(y − y*)‖",
}
"""What each number is, by the name of its property."""


_OF_SMOOTH_LOSSES = frozenset(
    {"training_slope", "gradient_sensitivity", "inexactness", "smoothness"}
)


@dataclass(frozen=True, repr=False)
class PenaltyConstants(Shown):
    """Constants of the validation loss as a function of log penalties.

    Everything is scaled by Λ^½, in which the inner problem is 1-strongly convex: no ratio of the
    bounds of the penalties enters, only the lowest (docs/tuning.md).

    Parameters
    ----------
    estimator : {"ridge", "logistic"}
    row_bound : float
        R, bound on the norm of a row with its constant column.
    low, high : float
        Bounds of the penalties.
    n_train, n_val : int
        Rows on the two sides of a public split.
    margin_bound : float, optional
        Where validation margins are clipped; None for a smooth validation loss.

    Examples
    --------
    >>> known = PenaltyConstants("logistic", 1.0, 0.1, 10.0, 1000, 1000, margin_bound=4.0)
    >>> round(known.reach, 3), round(known.validation_range, 5), round(known.training_range, 3)
    (1.669, 0.00334, 0.028)
    """

    estimator: str
    row_bound: float
    low: float
    high: float
    n_train: int
    n_val: int
    margin_bound: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no table has."""
        if self.estimator not in MARGINS:
            raise ValueError(f"estimator must be one of {[*MARGINS]}, got {self.estimator!r}")
        check_positive(row_bound=self.row_bound, low=self.low, high=self.high)
        check_count(n_train=self.n_train, n_val=self.n_val)

    @property
    def loss(self) -> MarginLoss:
        """Loss of the fits and of their validation."""
        return MARGINS[self.estimator]

    @property
    def fit_norm(self) -> float:
        """√(c/λ): no fit is longer. At y*, yᵀΛy = −mean m·ℓ'(m) ≤ c."""
        return math.sqrt(self.loss.pull / self.low)

    @property
    def reach(self) -> float:
        """Largest margin that a fit gives an allowed row."""
        return self.row_bound * self.fit_norm

    @property
    def seen_reach(self) -> float:
        """Largest margin that the validation loss sees."""
        return self.reach if self.margin_bound is None else min(self.reach, self.margin_bound)

    @property
    def inner_slope(self) -> float:
        """Lg: gradient of one training row's loss at a fit."""
        return self.row_bound * self.loss.steepest(self.reach)

    @property
    def outer_slope(self) -> float:
        """Lf: gradient of one validation row's loss at a fit."""
        return self.row_bound * self.loss.steepest(self.seen_reach)

    @property
    def loss_range(self) -> float:
        """Largest range of Φ itself over the penalties: half of that of two rows' difference."""
        return widest(self.loss, self.seen_reach) / 2

    @property
    def zero_loss(self) -> float:
        """What the validation loss of the model of zeros is at most."""
        return math.log(2) if self.estimator == "logistic" else 0.5

    @property
    def moved(self) -> float:
        """e: ‖Λ^½(y*_Z − y*_Z')‖ when a training record is replaced."""
        return 2 * self.inner_slope / (math.sqrt(self.low) * self.n_train)

    @property
    def validation_range(self) -> float:
        """Range of Φ_Z − Φ_Z' when a validation record is replaced."""
        return widest(self.loss, self.seen_reach) / self.n_val

    @property
    def training_range(self) -> float:
        """Range of Φ_Z − Φ_Z' when a training record is replaced."""
        moves = 2 * self.pulled * self.moved
        return min(moves, widest(self.loss, self.seen_reach))

    @property
    def range(self) -> float:
        """Range s of Φ_Z − Φ_Z' for any record."""
        return max(self.validation_range, self.training_range)

    @property
    def slope(self) -> float:
        """L̄: bound of ‖∇Φ‖ in log penalties."""
        return self.outer_slope * self.fit_norm

    @property
    def validation_slope(self) -> float:
        """Bound of ‖∇Φ_Z − ∇Φ_Z'‖ for a validation record."""
        return 2 * self.slope / self.n_val

    @property
    def training_slope(self) -> float:
        """Bound of ‖∇Φ_Z − ∇Φ_Z'‖ for a training record."""
        self._check_smooth()
        one_row = self._bend / self.n_train
        root = math.sqrt(self.loss.pull)
        by_hessian = root * self.pulled * (one_row + self._twist * self.moved)
        return self.moved * self.pulled + by_hessian + root * self._bend * self.moved

    @property
    def gradient_sensitivity(self) -> float:
        """K/n: bound of ‖∇Φ_Z − ∇Φ_Z'‖ for any record."""
        return max(self.validation_slope, self.training_slope)

    @property
    def inexactness(self) -> float:
        """C: what a unit of ‖Λ^½(y − y*)‖ does to the hypergradient."""
        self._check_smooth()
        root = math.sqrt(self.loss.pull)
        return self.pulled * (1 + root * self._twist) + root * self._bend

    @property
    def smoothness(self) -> float:
        """βΦ: Lipschitz constant of ∇Φ in log penalties, where the intercept's is their mean.

        Along a unit direction in x, ‖Λ^½y'‖ ≤ √c and ‖Λ^½y''‖ ≤ t·(R²/λ)^(3/2)·c + 3√c, by
        differentiating ∇_y G = 0 twice; Φ'' = y'ᵀ∇²F y' + ∇F·y''.
        """
        self._check_smooth()
        pull = self.loss.pull
        bends = self._twist * pull + 3 * math.sqrt(pull)
        return self._bend * pull + self.pulled * bends

    @property
    def most_loss(self) -> float:
        """Largest Φ there can be: at the margin of largest size, against the target."""
        worst = np.array([self.seen_reach, -self.seen_reach])
        return float(self.loss.value(worst, np.ones(2)).max())

    @property
    def gradient_tolerance(self) -> float:
        """Inner error that makes ∇Φ right to K/(2000·n); public."""
        return 1e-3 * self.gradient_sensitivity / (2 * self.inexactness)

    @property
    def priced_slope(self) -> float:
        """What a hypergradient is charged for: Δ = K/n + 2·C·α, α its inner error."""
        return self.gradient_sensitivity + 2 * self.inexactness * self.gradient_tolerance

    @property
    def tolerance(self) -> float:
        """Inner error that makes Φ right to s/400,000; public."""
        return 1e-5 * self.range / (4 * self.pulled)

    @property
    def priced_range(self) -> float:
        """What a draw is charged for: s + 4·τ, where |Φ̃ − Φ| ≤ τ is what the inner errors do."""
        return self.range + 4 * self.pulled * self.tolerance

    def general(self) -> BilevelConstants:
        """Pose the same problem to the general formulas, for records that are on both sides.

        Examples
        --------
        >>> known = PenaltyConstants("ridge", 1.0, 0.1, 10.0, 1000, 1000)
        >>> known.gradient_sensitivity < known.general().gradient_sensitivity / 1000
        True
        """
        steep, root = self.loss.curvature_bound * self.row_bound**2, self.fit_norm
        return BilevelConstants(
            mu=self.low,
            f_y=self.outer_slope,
            g_y=self.inner_slope,
            f_yy=steep,
            g_xy=self.high * root,
            g_yy=steep + self.high,
            g_xy_x=self.high * root,
            g_yy_x=self.high,
            g_xy_y=self.high,
            g_yy_y=self.loss.third_bound * self.row_bound**3,
            diameter_x=math.log(self.high / self.low),
            diameter_y=2 * root,
        )

    @property
    def pulled(self) -> float:
        """v: ‖Λ^(−½)∇F‖."""
        return self.outer_slope / math.sqrt(self.low)

    @property
    def _bend(self) -> float:
        """h·R²/λ: the largest scaled Hessian of one row."""
        return self.loss.curvature_bound * self.row_bound**2 / self.low

    @property
    def _twist(self) -> float:
        """t·(R²/λ)^(3/2): Lipschitz constant of the scaled Hessian."""
        return self.loss.third_bound * (self.row_bound / math.sqrt(self.low)) ** 3

    def _check_smooth(self) -> None:
        if self.margin_bound is not None:
            raise ValueError(
                f"margin_bound={self.margin_bound:g} clips the validation loss, whose gradient "
                "then jumps: no bound of its changes holds. Use margin_bound=None for gradients"
            )

    def _title(self) -> str:
        sides = f"{self.n_train:,} + {self.n_val:,} rows"
        return f"Constants of tuning: {self.estimator}, {sides}, λ ≥ {self.low:g}"

    def _facts(self) -> list[Fact]:
        clipped = self.margin_bound is not None
        return [
            (name, f"{getattr(self, name):.4g}, {said}")
            for name, said in FORMULAS.items()
            if not (clipped and name in _OF_SMOOTH_LOSSES)
        ]
