"""Constants of penalty tuning: sensitivities, ranges and Lipschitz constants."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import lambertw

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer.problem.losses import logistic, squared, zero_model_loss

MARGINS: Mapping[str, squared.SquaredLoss | logistic.LogisticLoss] = {
    "ridge": squared.SquaredLoss(),
    "logistic": logistic.LogisticLoss(),
}
"""Losses ℓ(m, b) of a margin m for targets |b| ≤ 1, by the name of the estimator that is tuned."""

# Least upper bound of −m·ℓ'(m, b): m(b − m) ≤ ¼, and t/(1 + eᵗ) ≤ W(1/e), W Lambert's function.
PULL = {"ridge": 0.25, "logistic": float(lambertw(math.exp(-1.0)).real)}
# Least upper bound of |ℓ'''|, of σ'' at σ = ½ ± 1/(2√3).
THIRD = {"ridge": 0.0, "logistic": 1 / (6 * math.sqrt(3))}


def _with_meanings(known: object, names: tuple[str, ...]) -> list[Fact]:
    meanings = {name: str(getattr(type(known), name).__doc__) for name in names}
    return [
        (name, f"{getattr(known, name):.4g}, {meaning.splitlines()[0]}")
        for name, meaning in meanings.items()
    ]


@dataclass(frozen=True, repr=False)
class BilevelConstants(ReprMixin):
    """Constants of Φ(x) = F(x, y*(x)) from bounds on one record's f and g.

    Neighbours replace one record, which enters both F and G. A sensitivity is stated for n records,
    times 1/n for a single one. All constants are data-free; those not given are 0.

    Parameters
    ----------
    mu : float
        Strong convexity μ of g in y.
    f_x, f_y, g_y : float
        Lfx, Lfy, Lgy: Lipschitz constants of f in x and y, and of the record's part of g in y.
    f_xx, f_xy, f_yy, g_xy, g_yy : float
        βf,xx, …: bounds on the blocks of Hessians.
    g_xy_x, g_yy_x, g_xy_y, g_yy_y : float
        Mg,xy, Mg,yy, Cg,xy, Cg,yy: Lipschitz constants of blocks of g in x (M) and y (C).
    diameter_x, diameter_y : float
        Dx and Dy, of the domain of x and of a set that holds every y*.

    Examples
    --------
    >>> scalar = BilevelConstants(mu=1.0, f_x=1.0, f_y=1.0, g_y=100.0, g_xy=1.0, g_yy=100.0)
    >>> scalar.slope, scalar.stability, scalar.gradient_sensitivity
    (2.0, 200.0, 208.0)
    """

    mu: float
    f_x: float = 0.0
    f_y: float = 0.0
    g_y: float = 0.0
    f_xx: float = 0.0
    f_xy: float = 0.0
    f_yy: float = 0.0
    g_xy: float = 0.0
    g_yy: float = 0.0
    g_xy_x: float = 0.0
    g_yy_x: float = 0.0
    g_xy_y: float = 0.0
    g_yy_y: float = 0.0
    diameter_x: float = math.inf
    diameter_y: float = math.inf

    def __post_init__(self) -> None:
        """Check the ranges of the constants."""
        validation.check_positive(mu=self.mu)
        validation.check_nonnegative_or_infinite(
            **{k: v for k, v in vars(self).items() if k != "mu"}
        )

    @property
    def stability(self) -> float:
        """2·Lgy/μ: n·‖y*_Z − y*_Z'‖ is at most this (Lemma 3.1 of Lowy and Liu)."""
        return 2 * self.g_y / self.mu

    @property
    def slope(self) -> float:
        """L̄: bound on ‖∇Φ‖, by the chain rule with ‖∇y*‖ ≤ βg,xy/μ."""
        return self.f_x + self.g_xy * self.f_y / self.mu

    @property
    def spread(self) -> float:
        """Ψ: scale of the exponential mechanism in rates; the privacy cost uses ``range``."""
        far = self.f_x * self.diameter_x + self.f_y * self.diameter_y
        return far + self.f_y * self.g_y / self.mu

    @property
    def inexactness(self) -> float:
        """C: bound on ‖∇Φ(x) − ∇̄F(x, y)‖/‖y − y*‖ (equation 11)."""
        through_y = self.f_yy * self.g_xy / self.mu
        through_blocks = self.g_xy_y / self.mu + self.g_yy_y * self.g_xy / self.mu**2
        return self.f_xy + through_y + self.f_y * through_blocks

    @property
    def gradient_sensitivity(self) -> float:
        """K: bound on n·‖∇Φ_Z − ∇Φ_Z'‖ (equation 12, which prints 2K)."""
        mu = self.mu
        return 2 * (
            self.f_xy * self.g_y / mu
            + 2 * self.slope
            + self.g_xy * self.f_yy * self.g_y / mu**2
            + self.f_y * self.g_xy_y * self.g_y / mu**2
            + self.f_y * self.g_xy * self.g_y * self.g_yy_y / mu**3
            + self.f_y * self.g_yy * self.g_xy / mu**2
        )

    @property
    def smoothness(self) -> float:
        """βΦ: Lipschitz constant of ∇Φ (equation 28)."""
        ratio = self.g_xy / self.mu
        blocks = self.g_yy_x + self.g_yy_y * ratio
        return (
            self.f_xx
            + 2 * self.f_xy * ratio
            + ratio**2 * self.f_yy
            + self.f_y * ratio / self.mu * blocks
            + self.f_y * self.g_xy_y * ratio / self.mu
            + self.f_y * self.g_xy_x / self.mu
        )

    @property
    def range(self) -> float:
        """s: bound on n·(max − min) of Φ_Z − Φ_Z'; k = ε·n/s makes an exponential mechanism ε-DP.

        The printed s omits 1/n in its last term, and the printed k = ε/2s charges it twice:
        h = Φ_Z − Φ_Z' has range s/n for every anchor, which is sufficient.
        """
        far = min(self.diameter_y, self.g_xy * self.diameter_x / self.mu)
        direct = self.f_x * self.diameter_x if self.f_x else 0.0
        return 2 * (direct + self.f_y * far) + 2 * self.f_y * self.stability

    def _title(self) -> str:
        return f"Bilevel constants: μ = {self.mu:g}"

    def _facts(self) -> list[Fact]:
        names = ("stability", "slope", "spread", "inexactness", "gradient_sensitivity")
        return _with_meanings(self, (*names, "smoothness", "range"))


@dataclass(frozen=True, repr=False)
class PenaltyConstants(ReprMixin):
    """Constants of the validation loss as a function of log penalties.

    All constants are scaled by Λ^½, in which the inner problem is 1-strongly convex. They depend
    only on the lowest penalty, not on a ratio of penalties (docs/theory.md §22).

    Parameters
    ----------
    estimator : {"ridge", "logistic"}
    row_bound : float
        R, bound on the norm of a row including its constant column.
    low, high : float
        Bounds of the penalties.
    n_train, n_val : int
        Rows on the two sides of a public split.
    margin_bound : float, optional
        Bound to which validation margins are clipped; None for a smooth validation loss.

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
        """Check the settings."""
        if self.estimator not in MARGINS:
            raise ValueError(f"estimator must be one of {[*MARGINS]}, got {self.estimator!r}")
        validation.check_positive(row_bound=self.row_bound, low=self.low, high=self.high)
        validation.check_count(n_train=self.n_train, n_val=self.n_val)

    @property
    def loss(self) -> squared.SquaredLoss | logistic.LogisticLoss:
        """Loss of the fits and of their validation."""
        return MARGINS[self.estimator]

    @property
    def pull(self) -> float:
        """c: least upper bound of −m·ℓ'(m), which bounds yᵀΛy of a fit."""
        return PULL[self.estimator]

    @property
    def fit_norm(self) -> float:
        """Bound √(c/λ) on the norm of a fit. At y*, yᵀΛy = −mean m·ℓ'(m) ≤ c."""
        return math.sqrt(self.pull / self.low)

    @property
    def reach(self) -> float:
        """M = R·√(c/λ): largest margin that a fit gives an allowed row."""
        return self.row_bound * self.fit_norm

    @property
    def validation_reach(self) -> float:
        """Largest margin in the validation loss, after clipping."""
        return self.reach if self.margin_bound is None else min(self.reach, self.margin_bound)

    @property
    def inner_slope(self) -> float:
        """Lg: bound on the gradient of one training row's loss at a fit."""
        return self.loss.lipschitz(self.reach, self.row_bound)

    @property
    def outer_slope(self) -> float:
        """Lf: bound on the gradient of one validation row's loss at a fit."""
        return self.loss.lipschitz(self.validation_reach, self.row_bound)

    @property
    def loss_range(self) -> float:
        """Largest range of Φ over the penalties: half of that of the difference of two rows."""
        return self.loss.oscillation(self.validation_reach) / 2

    @property
    def zero_loss(self) -> float:
        """Bound on the validation loss of the model of zeros."""
        return zero_model_loss(self.loss)

    @property
    def moved(self) -> float:
        """e: ‖Λ^½(y*_Z − y*_Z')‖ when a training record is replaced."""
        return 2 * self.inner_slope / (math.sqrt(self.low) * self.n_train)

    @property
    def validation_range(self) -> float:
        """Range of Φ_Z − Φ_Z' when a validation record is replaced."""
        return self.loss.oscillation(self.validation_reach) / self.n_val

    @property
    def training_range(self) -> float:
        """Range of Φ_Z − Φ_Z' when a training record is replaced."""
        moves = 2 * self.whitened_gradient_bound * self.moved
        return min(moves, self.loss.oscillation(self.validation_reach))

    @property
    def range(self) -> float:
        """Range s of Φ_Z − Φ_Z' for any record."""
        return max(self.validation_range, self.training_range)

    @property
    def slope(self) -> float:
        """L̄: bound on ‖∇Φ‖ in log penalties."""
        return self.outer_slope * self.fit_norm

    @property
    def validation_slope(self) -> float:
        """Bound on ‖∇Φ_Z − ∇Φ_Z'‖ for a validation record."""
        return 2 * self.slope / self.n_val

    @property
    def training_slope(self) -> float:
        """Bound on ‖∇Φ_Z − ∇Φ_Z'‖ for a training record."""
        self._check_smooth()
        one_row = self._bend / self.n_train
        root = math.sqrt(self.pull)
        by_hessian = root * self.whitened_gradient_bound * (one_row + self._twist * self.moved)
        return (
            self.moved * self.whitened_gradient_bound + by_hessian + root * self._bend * self.moved
        )

    @property
    def gradient_sensitivity(self) -> float:
        """K/n: bound on ‖∇Φ_Z − ∇Φ_Z'‖ for any record."""
        return max(self.validation_slope, self.training_slope)

    @property
    def inexactness(self) -> float:
        """C: factor from ‖Λ^½(y − y*)‖ to the error of the hypergradient."""
        self._check_smooth()
        root = math.sqrt(self.pull)
        return self.whitened_gradient_bound * (1 + root * self._twist) + root * self._bend

    @property
    def smoothness(self) -> float:
        """βΦ: Lipschitz constant of ∇Φ in log penalties, where the intercept's is their mean.

        Along a unit direction in x, ‖Λ^½y'‖ ≤ √c and ‖Λ^½y''‖ ≤ t·(R²/λ)^(3/2)·c + 3√c, by
        differentiating ∇_y G = 0 twice; Φ'' = y'ᵀ∇²F y' + ∇F·y''.
        """
        self._check_smooth()
        pull = self.pull
        bends = self._twist * pull + 3 * math.sqrt(pull)
        return self._bend * pull + self.whitened_gradient_bound * bends

    @property
    def most_loss(self) -> float:
        """Largest possible Φ: at the margin of largest size, against the target."""
        worst = np.array([self.validation_reach, -self.validation_reach])
        return float(self.loss.row_losses(worst, np.ones(2)).max())

    @property
    def gradient_tolerance(self) -> float:
        """Inner error for which ∇Φ has an error of at most K/(2000·n); public."""
        return 1e-3 * self.gradient_sensitivity / (2 * self.inexactness)

    @property
    def charged_slope(self) -> float:
        """Sensitivity charged for a hypergradient: Δ = K/n + 2·C·α, α its inner error."""
        return self.gradient_sensitivity + 2 * self.inexactness * self.gradient_tolerance

    @property
    def tolerance(self) -> float:
        """Inner error for which Φ has an error of at most s/400,000; public."""
        return 1e-5 * self.range / (4 * self.whitened_gradient_bound)

    @property
    def charged_range(self) -> float:
        """Range charged for a draw: s + 4·τ, where inner errors give |Φ̃ − Φ| ≤ τ."""
        return self.range + 4 * self.whitened_gradient_bound * self.tolerance

    @property
    def whitened_gradient_bound(self) -> float:
        """v: bound on ‖Λ^(−½)∇F‖."""
        return self.outer_slope / math.sqrt(self.low)

    @property
    def _bend(self) -> float:
        """h·R²/λ: bound on the scaled Hessian of one row."""
        return self.loss.smoothness(self.row_bound) / self.low

    @property
    def _twist(self) -> float:
        """t·(R²/λ)^(3/2): Lipschitz constant of the scaled Hessian."""
        return THIRD[self.estimator] * (self.row_bound / math.sqrt(self.low)) ** 3

    def _check_smooth(self) -> None:
        if self.margin_bound is not None:
            raise ValueError(
                f"margin_bound={self.margin_bound:g} clips the validation loss: its gradient is "
                "not continuous and has no sensitivity bound. Use margin_bound=None for gradients"
            )

    def _title(self) -> str:
        sides = f"{self.n_train:,} + {self.n_val:,} rows"
        return f"Constants of tuning: {self.estimator}, {sides}, λ ≥ {self.low:g}"

    def _facts(self) -> list[Fact]:
        of_values = ("reach", "validation_range", "training_range", "range", "slope")
        of_gradients = ("gradient_sensitivity", "smoothness", "inexactness")
        return _with_meanings(self, of_values + (of_gradients if self.margin_bound is None else ()))
