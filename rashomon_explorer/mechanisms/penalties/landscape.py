"""Fits, their validation loss, and that loss as a function of the penalties."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rashomon_explorer._utils.arrays import Delegated, FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_nonnegative, check_positive
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms import finite_grid
from rashomon_explorer.mechanisms.penalties.constants import MARGINS, THIRD, PenaltyConstants
from rashomon_explorer.problem.losses.base import EmpiricalLoss

_HALVINGS = 60


@dataclass(frozen=True)
class Solved:
    """Model near y*(λ), with a bound on its error."""

    y: FloatArray
    error: float


@dataclass(frozen=True)
class InnerProblem:
    """G(λ, y) = (1/n) Σ ℓ(a_i·y, b_i) + ½ Σ λ_j y_j² of given rows."""

    rows: FloatArray
    targets: FloatArray
    estimator: str

    n = Delegated("rows", "Number of training rows.", len)

    @cached_property
    def risk(self) -> EmpiricalLoss:
        """Mean loss of the rows."""
        return MARGINS[self.estimator].empirical(self.rows, self.targets)

    def gradient(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇_y G (p,) at penalties (p,) and a model (p,)."""
        return self.risk.value_and_gradient(y[:, None])[1][:, 0] + penalties * y

    def hessian(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇²_yy G (p, p) at penalties (p,) and a model (p,)."""
        return self.risk.hessian(y) + np.diag(penalties)

    def most_steps(self, penalties: FloatArray, tolerance: float) -> int:
        """Count of Newton steps that suffices for these rows, in exact arithmetic."""
        norm = float(np.linalg.norm(self.rows, axis=1).max(initial=0.0))
        scaled = norm / math.sqrt(float(penalties.min()))
        third = THIRD[self.estimator] * scaled**3
        start = max(MARGINS[self.estimator].lipschitz(0.0, 1.0) * scaled, tolerance)
        return math.ceil(4 * third * start + 4 * math.log(start / tolerance)) + 8

    def solve(self, penalties: FloatArray, tolerance: float) -> Solved:
        """Minimise by damped Newton steps from 0 until the error is at most ``tolerance``."""
        check_positive(tolerance=tolerance)
        y = np.zeros(len(penalties))
        gradient = self.gradient(penalties, y)
        error = _scaled(gradient, penalties)
        steps = self.most_steps(penalties, tolerance)
        while error > tolerance:
            if steps == 0:
                raise _unconverged(error, tolerance)
            steps -= 1
            step = cho_solve(cho_factor(self.hessian(penalties, y)), gradient)
            y, gradient, error = self._shortened(penalties, y, step, error, tolerance)
        return Solved(y, error)

    def _shortened(
        self, penalties: FloatArray, y: FloatArray, step: FloatArray, error: float, goal: float
    ) -> tuple[FloatArray, FloatArray, float]:
        """Take the longest of the steps 1, ½, ¼, … that shortens the gradient enough."""
        length = 1.0
        for _ in range(_HALVINGS):
            tried = y - length * step
            gradient = self.gradient(penalties, tried)
            now = _scaled(gradient, penalties)
            if now <= (1 - length / 2) * error:
                return tried, gradient, now
            length /= 2
        raise _unconverged(error, goal)


def _scaled(gradient: FloatArray, penalties: FloatArray) -> float:
    return float(np.linalg.norm(gradient / np.sqrt(penalties)))


def _unconverged(error: float, goal: float) -> SamplerError:
    return SamplerError(
        f"an inner fit did not converge: its error is {error:.2g}, and {goal:.2g} was required. "
        f"Raise the lowest penalty, or scale the rows"
    )


@dataclass(frozen=True)
class OuterLoss:
    """F(y) = (1/n) Σ ℓ(clip(a_i·y), b_i) of validation rows."""

    rows: FloatArray
    targets: FloatArray
    estimator: str
    margin_bound: float | None = None

    n = Delegated("rows", "Number of validation rows.", len)

    @cached_property
    def _linear_form(self) -> tuple[FloatArray, FloatArray]:
        """Rows z_i = ±a_i (n, p) and offsets (n, 1) with ℓ(a_i·y, b_i) = f(z_i·y + offset_i)."""
        rows, offsets = MARGINS[self.estimator].linear_form(self.rows, self.targets)
        return rows, np.zeros((self.n, 1)) if offsets is None else offsets[:, None]

    def value(self, y: FloatArray) -> FloatArray:
        """Mean loss (K,) of each column of ``y`` (p, K)."""
        rows, offsets = self._linear_form
        margins, most = rows @ y, self.margin_bound
        margins = margins if most is None else np.clip(margins, -most, most)
        return np.asarray(MARGINS[self.estimator].function.value(margins + offsets).mean(axis=0))

    def gradient(self, y: FloatArray) -> FloatArray:
        """∇F (p,) at one model (p,); a clipped margin has slope 0."""
        rows, offsets = self._linear_form
        margins = rows @ y
        slopes = MARGINS[self.estimator].function.slope(margins + offsets[:, 0])
        if self.margin_bound is not None:
            slopes = np.where(np.abs(margins) < self.margin_bound, slopes, 0.0)
        return np.asarray(rows.T @ slopes / self.n)


LOWEST = -1
"""Group of a column that has the lowest of the chosen penalties, such as the intercept's."""

MEAN = -2
"""Group of a column that has their geometric mean, which is smooth in all of them."""


@dataclass(frozen=True)
class Cube:
    """Points with every |x_j| ≤ radius."""

    radius: float

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (d, K) lies inside; shape (K,)."""
        return np.asarray((np.abs(theta) <= self.radius).all(axis=0))


@dataclass(frozen=True)
class PenaltyBox:
    """Penalties λ_j = λ₀·exp(x_g), one x for each group of columns, low ≤ λ_j ≤ high."""

    groups: tuple[int, ...]
    low: float
    high: float

    def __post_init__(self) -> None:
        check_positive(low=self.low, high=self.high)
        if not self.low < self.high:
            raise ValueError(
                f"bounds must be (low, high) with low < high, got ({self.low}, {self.high})"
            )
        used = {group for group in self.groups if group not in (LOWEST, MEAN)}
        if used != set(range(len(used))) or not used:
            raise ValueError(
                f"groups must be 0, 1, … with a column in each, {LOWEST} for the lowest of them or "
                f"{MEAN} for their mean, got {self.groups!r}"
            )

    @property
    def d(self) -> int:
        """Number of penalties to choose."""
        return max(self.groups) + 1

    p = Delegated("groups", "Number of columns.", len)

    @property
    def half_width(self) -> float:
        """½·log(high/low): largest |x_j|."""
        return math.log(self.high / self.low) / 2

    @property
    def domain(self) -> Cube:
        """The cube of x."""
        return Cube(self.half_width)

    def group_penalties(self, x: FloatArray) -> FloatArray:
        """Penalty (d, K) of each group at columns of ``x`` (d, K), clipped to the bounds."""
        middle = math.sqrt(self.low * self.high)
        return np.clip(middle * np.exp(x), self.low, self.high)

    def penalties(self, x: FloatArray) -> FloatArray:
        """Penalty (p, K) of each column of the rows at columns of ``x`` (d, K)."""
        return self.by_column(self.group_penalties(x))

    def by_column(self, penalties: FloatArray) -> FloatArray:
        """Penalty (p, K) of each column of the rows, from the penalties (d, K) of the groups."""
        mean = np.exp(np.log(penalties).mean(axis=0, keepdims=True))
        options = np.vstack([penalties, mean, penalties.min(axis=0, keepdims=True)])
        return np.asarray(options[np.array(self.groups)])

    def jacobian(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇²_xy G (p, d) = ∂(λ(x)∘y)/∂x: the entries of λ∘y, each in its group's column."""
        group = np.array(self.groups)
        grouped = group >= 0
        follows = group[grouped][int(penalties[grouped].argmin())]
        spread = np.zeros((self.p, self.d))
        spread[np.arange(self.p), np.where(grouped, group, follows)] = penalties * y
        shared = group == MEAN
        spread[shared] = (penalties * y)[shared, None] / self.d
        return spread


def column_groups(
    penalty: str, n_features: int, groups: Sequence[Sequence[int]] | None = None
) -> tuple[int, ...]:
    """Group of each feature, followed by that of the intercept."""
    if penalty not in ("scalar", "group", "feature"):
        raise ValueError(f"penalty must be 'scalar', 'group' or 'feature', got {penalty!r}")
    if (penalty == "group") != (groups is not None):
        raise ValueError(
            "groups is required with penalty='group' and invalid otherwise: give the indices of "
            f"the features of each group, got penalty={penalty!r} and groups={groups!r}"
        )
    if groups is None:
        return (*(range(n_features) if penalty == "feature" else [0] * n_features), LOWEST)
    places = sorted(place for group in groups for place in group)
    if places != list(range(n_features)) or not all(len(group) for group in groups):
        raise ValueError(
            f"groups must contain each of the {n_features} features once, and no empty group, got "
            f"{groups!r}"
        )
    of = {place: number for number, group in enumerate(groups) for place in group}
    return (*(of[place] for place in range(n_features)), LOWEST)


@dataclass(frozen=True)
class PenaltyLandscape:
    """Φ(x) = F(y*(x)), y*(x) = argmin G(λ(x), ·), on a cube of log penalties.

    It is not convex, and each value needs a fit; it is a landscape for the exact grid sampler.
    ``tolerance`` bounds ‖Λ^½(y − y*)‖; it is public, because every draw is charged for it.
    """

    inner: InnerProblem
    outer: OuterLoss
    box: PenaltyBox
    tolerance: float = 1e-9

    p = Delegated[int]("box.d", "Number of penalties, the parameters of this landscape.")
    n = Delegated[int](
        "inner.n", "Number of training rows, by which samplers size their chunks of work."
    )
    domain = Delegated[Cube]("box.domain", "Domain of the log penalties.")

    def model(self, x: FloatArray, tolerance: float | None = None) -> Solved:
        """y*(x) at one point (d,), with a bound on its error."""
        tolerance = self.tolerance if tolerance is None else tolerance
        return self.inner.solve(self.box.penalties(x[:, None])[:, 0], tolerance)

    def value(self, theta: FloatArray) -> FloatArray:
        """Φ (K,) at columns of ``theta`` (d, K)."""
        models = [self.model(x).y for x in progress(theta.T, "fits")]
        return self.outer.value(np.stack(models, axis=1))

    def gradient(self, x: FloatArray, tolerance: float | None = None) -> FloatArray:
        """Hypergradient ∇Φ (d,) at one point (d,): −(∇²_xy G)ᵀ [∇²_yy G]⁻¹ ∇F, one linear solve.

        Equation (9) of Lowy and Liu; F does not depend on x otherwise.
        """
        penalties = self.box.penalties(x[:, None])[:, 0]
        y = self.model(x, tolerance).y
        direction = cho_solve(cho_factor(self.inner.hessian(penalties, y)), self.outer.gradient(y))
        return np.asarray(-self.box.jacobian(penalties, y).T @ direction)


@dataclass(frozen=True)
class PenaltyTarget:
    """Law ∝ exp(−β·max(Φ − min Φ − ψ, 0)) of penalties, for a sampler on a grid."""

    problem: finite_grid.Landscape
    beta: float
    psi: float = 0.0

    def __post_init__(self) -> None:
        check_positive(beta=self.beta)
        check_nonnegative(psi=self.psi)

    def energy(self, excess: FloatArray) -> FloatArray:
        return np.asarray(self.beta * np.maximum(excess - self.psi, 0.0))


def first_draws(
    sampler: finite_grid.FiniteGridSampler,
    target: finite_grid.GridTarget,
    n_draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """First ``n_draws`` points (d, n_draws) of a sampler."""
    drawn = np.empty((target.problem.p, 0))
    for batch in sampler.batches(target, rng):
        drawn = np.hstack([drawn, batch.theta])
        if drawn.shape[1] >= n_draws:
            return np.asarray(drawn[:, :n_draws])
    raise AssertionError("a sampler's batches never end")


def pair_sensitivity(known: PenaltyConstants, lowest: FloatArray) -> FloatArray:
    """Bound on the change of Φ(x) − Φ(x') by one record, for every two points of a grid."""
    levels, place = np.unique(lowest, return_inverse=True)
    there = [replace(known, low=float(level)) for level in levels]
    pulls = np.array([one.whitened_gradient_bound for one in there])
    moved = pulls * np.array([one.moved for one in there])
    width = np.array([one.loss.oscillation(one.validation_reach) for one in there])
    wider = np.maximum(width[:, None], width)
    training = np.minimum(moved[:, None] + moved, wider)
    slips = 2 * known.tolerance * (pulls[:, None] + pulls)
    pairs = np.maximum(training, wider / known.n_val) + slips
    return np.asarray(pairs[np.ix_(place, place)])


@dataclass(frozen=True)
class GeneralisedTarget:
    """Law ∝ exp(−(η/2)·max over x' of (Φ(x) − Φ(x') − ψ)₊/Δ(x, x')) (docs/theory.md §22)."""

    problem: PenaltyLandscape
    eta: float
    pairs: FloatArray
    psi: float = 0.0

    def __post_init__(self) -> None:
        check_positive(eta=self.eta)
        check_nonnegative(psi=self.psi)

    def energy(self, excess: FloatArray) -> FloatArray:
        """Energies (N,) from the excess of all points of the grid, in its order."""
        ahead = excess[:, None] - excess[None, :] - self.psi
        scores = np.maximum((ahead / self.pairs).max(axis=1), 0.0)
        return np.asarray(self.eta / 2 * scores)
