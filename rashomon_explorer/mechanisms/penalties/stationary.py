"""Plans of penalties near a stationary point of the validation loss, and noisy walks to one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import Delegated, FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import Fact, rounded_up
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.costs import affordable_eta, draws_guarantee
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler, Landscape
from rashomon_explorer.mechanisms.noisy_descent import Schedule, noisy_descent
from rashomon_explorer.mechanisms.penalties import landscape as landscapes
from rashomon_explorer.mechanisms.penalties import plan
from rashomon_explorer.mechanisms.penalties.constants import PenaltyConstants
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon, approximate, compose, gdp
from rashomon_explorer.privacy.conversions import gdp_epsilon, gdp_mu, zcdp_rho

STATIONARY = ("hypergradient", "warm_hypergradient", "gradient_norm")
"""Mechanisms that guarantee a small gradient of the validation loss, not a small excess."""


def walk_bound(
    *, smoothness: float, drop: float, n_steps: int, noise: float, bias: float, slope: float
) -> float:
    """√(4βΔ₀/T + 6E‖e‖² + 4·bias·L̄) ≥ E‖G‖ at a uniform state of T steps (docs/theory.md §22)."""
    square = 4 * smoothness * drop / n_steps + 6 * noise + 4 * bias * slope
    return min(math.sqrt(square), slope)


@dataclass(frozen=True, repr=False, kw_only=True)
class StationaryPlan(plan.PenaltyPlan):
    """Plan of penalties where the validation loss is nearly flat, by a walk or from a grid."""

    mu: float = 0.0
    n_steps: int = 0

    @property
    def beta(self) -> float:
        moved = 2 * self.constants.charged_slope
        return self.eta / (moved if self.on_grid else self.constants.charged_range)

    @property
    def on_grid(self) -> bool:
        """Whether the penalties are drawn from a grid and not reached by a walk."""
        return self.mechanism == "gradient_norm"

    @property
    def n_points(self) -> int:
        """Number of grid points: of all penalties, or of one shared penalty of a walk's start."""
        few = self.d if self.on_grid or self.d <= plan.MOST_PENALTIES else 1
        return plan.grid_points(self.constants, few, self.spacing) if self.eta else 1

    @property
    def noise(self) -> float:
        """Largest noise per coordinate of a step; it is smaller where penalties are higher."""
        return self.constants.charged_slope / self.mu if self.mu else 0.0

    @property
    def start_excess(self) -> float:
        """Bound on the expected excess of a private start over the least loss of its grid."""
        started = (math.log(self.n_points - 1) + 1) / self.beta
        return min(started, self.constants.loss_range)

    @property
    def drop(self) -> float:
        """Δ₀: bound on the excess of a walk's start over the least validation loss."""
        known = self.constants
        width = math.log(known.high / known.low)
        if self.mechanism == "warm_hypergradient" and self.d <= plan.MOST_PENALTIES:
            between = known.slope * self.spacing / 2 * math.sqrt(self.d)
            return min(self.start_excess + between, known.loss_range)
        middle = replace(known, low=math.sqrt(known.low * known.high))
        return min(middle.most_loss, known.slope * width / 2 * math.sqrt(self.d))

    @property
    def gradient_bound(self) -> float:
        """Bound on the expected norm of the gradient mapping at the chosen penalties."""
        known = self.constants
        if self.on_grid:
            return min((math.log(self.n_points - 1) + 1) / self.beta, known.slope)
        bias = known.inexactness * known.gradient_tolerance
        return walk_bound(
            smoothness=known.smoothness,
            drop=self.drop,
            n_steps=self.n_steps,
            noise=self.d * self.noise**2 + bias**2,
            bias=bias,
            slope=known.slope,
        )

    @property
    def weakness(self) -> str:
        if self.gradient_bound < self.constants.slope:
            return ""
        return (
            f"the guaranteed bound on the gradient of the validation loss at the chosen penalties "
            f"is {rounded_up(self.constants.slope)}, which holds everywhere: a public penalty has "
            f"the same guarantee"
        )

    @property
    def suggestion(self) -> str:
        return (
            "Use more rows, a larger ε, or a lowest penalty above "
            f"{self.constants.low:g}: the sensitivity of a gradient grows with the third power of "
            f"1/λ"
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {**super().parameters, "mu": self.mu, "n_steps": self.n_steps}

    def _bounds(self) -> list[Fact]:
        known, over = self.constants, ", over the grid's least" if self.on_grid else ""
        far = f"≤ {rounded_up(self.gradient_bound)} on average{over}, ≤ "
        facts = [
            ("gradient", f"{far}{rounded_up(known.slope)} anywhere"),
            ("excess", "no guarantee: a stationary point need not be the minimum"),
        ]
        if self.n_steps:
            facts.append(("walk", f"{self.n_steps:,} steps, noise ≤ {self.noise:.3g} each"))
        if self.n_steps and self.eta:
            text = f"excess ≤ {rounded_up(self.start_excess)} over its grid's best"
            facts.append(("start", text))
        if self.eta:
            facts.append(("grid", f"{self.n_points:,} points, η = {self.eta:.3g}"))
        return facts


_START_SHARE = 0.5
_STEPS = sorted({round(2 ** (k / 2)) for k in range(17)})  # up to 256: each step is a fit


def plan_stationary(
    constants: PenaltyConstants,
    d: int,
    mechanism: str,
    *,
    epsilon: float,
    delta: float,
    spacing: float | None = None,
    n_draws: int = 1,
    psi: float = 0.0,
    refit: Plan | None = None,
    ledger: bool = False,
) -> StationaryPlan:
    """Plan penalties where the validation loss is nearly flat; reads no row.

    ``mechanism``: noisy hypergradient steps from the middle of the bounds (Algorithm 1 of Lowy and
    Liu) or from a draw of the exponential mechanism (Algorithm 2) on the grid, of all penalties up
    to three, otherwise of one shared penalty; or a draw from a grid by the norm of the gradient.
    Others are as in :func:`plan_tuning`; a margin bound is ignored, as the gradient of a clipped
    loss is not continuous, and ψ must be 0.
    """
    validation.check_epsilon(epsilon)
    validation.check_delta(delta)
    validation.check_count(n_draws=n_draws, d=d)
    if mechanism not in STATIONARY:
        raise ValueError(f"mechanism must be one of {STATIONARY}, got {mechanism!r}")
    if psi:
        raise ValueError(f"psi must be 0 for mechanism={mechanism!r}, got {psi!r}")
    on_grid, warm = mechanism == "gradient_norm", mechanism == "warm_hypergradient"
    if on_grid:  # raises the errors of every grid
        plan.plan_tuning(constants, d, epsilon=epsilon, spacing=spacing)
    elif delta == 0:
        raise SamplerError(
            f"mechanism={mechanism!r} adds Gaussian noise, which is not pure DP: delta must be "
            "> 0, for example 1e-6"
        )
    apart = plan.log_spacing(constants, d if on_grid or d <= plan.MOST_PENALTIES else 1, spacing)
    known, left = replace(constants, margin_bound=None), _left(epsilon, delta, refit)
    budget = _Budget(epsilon, delta, n_draws, refit, ledger)

    def plan_with(eta: float, guarantee: Guarantee, mu: float = 0.0, n: int = 0) -> StationaryPlan:
        return StationaryPlan(
            constants=known, d=d, mechanism=mechanism, spacing=apart, epsilon=epsilon, delta=delta,
            n_draws=n_draws, guarantee=guarantee, eta=eta, refit=refit, mu=mu, n_steps=n,
        )  # fmt: skip

    if on_grid:
        return plan_with(*budget.pure())
    splits = [split for split in budget.splits(left if warm else 0.0) if split[1] > 0]
    if not splits:
        raise ValueError(
            f"start and refit leave none of epsilon={rounded_up(epsilon)} for the steps: lower "
            "refit_share, refit=None, or mechanism='hypergradient'"
        )
    every = [
        plan_with(eta, guarantee, mu=total / math.sqrt(steps * n_draws), n=steps)
        for eta, total, guarantee in splits
        for steps in _STEPS
    ]
    return min(every, key=lambda one: one.gradient_bound)


def _left(epsilon: float, delta: float, refit: Plan | None) -> float:
    left = epsilon if refit is None else epsilon - refit.guarantee.epsilon(delta)
    if left <= 0:
        raise ValueError(
            f"the refit takes all of epsilon={rounded_up(epsilon)}: lower refit_share, or use "
            "refit=None"
        )
    return left


@dataclass(frozen=True)
class _Budget:
    """Costs other than a walk's steps, and their composition."""

    epsilon: float
    delta: float
    n_draws: int
    refit: Plan | None
    ledger: bool

    def pure(self) -> tuple[float, Guarantee]:
        """Largest bounded range of a draw after the refit, and the total guarantee."""
        if self.refit is None:
            eta = affordable_eta(self.epsilon, self.delta, self.n_draws, ledger=True)
        else:
            eta = bisect(
                lambda eta: self._affords([self._started(eta)]), 0.0, 2 * self.epsilon, halvings=60
            )
        return eta, self._total([self._started(eta)])

    def splits(self, started: float) -> list[tuple[float, float, Guarantee]]:
        """η of a start, Gaussian DP of all steps, and the total guarantee: by ρ, and by (ε, δ)."""
        by_rho = 0.0
        if started:
            rho = _START_SHARE * zcdp_rho(started, self.delta)
            by_rho = math.sqrt(8 * rho / self.n_draws)
        splits = [self._split(by_rho, gdp)]
        composed = bool(started) or self.refit is not None
        if composed and (not self.ledger or splits[0][1] <= 0):  # a ledger uses ρ if possible
            share = self.delta / (1 if self.refit is None else 2)
            half = _START_SHARE * started
            eta = affordable_eta(half, 0.0, self.n_draws) if started else 0.0
            splits.append(self._split(eta, lambda mu: approximate(gdp_epsilon(mu, share), share)))
        return splits

    def _split(
        self, eta: float, walked: Callable[[float], Guarantee]
    ) -> tuple[float, float, Guarantee]:
        started = [self._started(eta)] if eta else []
        most = gdp_mu(self.epsilon, self.delta)
        if self._affords([*started, walked(most)]):
            return eta, most, self._total([*started, walked(most)])
        mu = bisect(lambda mu: self._affords([*started, walked(mu)]), 0.0, most, halvings=40)
        return eta, mu, self._total([*started, walked(mu)])

    def _started(self, eta: float) -> Guarantee:
        return draws_guarantee(eta, self.n_draws, ledger=True)

    def _total(self, parts: list[Guarantee]) -> Guarantee:
        return compose([*parts, *([] if self.refit is None else [self.refit.guarantee])])

    def _affords(self, parts: list[Guarantee]) -> bool:
        total = self._total(parts)
        cost = adaptive_epsilon([total], self.delta) if self.ledger else total.epsilon(self.delta)
        return cost <= self.epsilon


def gradient_mapping(
    landscape: landscapes.PenaltyLandscape, x: FloatArray, tolerance: float
) -> FloatArray:
    """Return x − P(x − ∇Φ(x)) (d,): ∇Φ inside the box, 0 where no descent stays in it."""
    reach = landscape.domain.radius
    return np.asarray(x - np.clip(x - landscape.gradient(x, tolerance), -reach, reach))


def known_at(
    known: PenaltyConstants, landscape: landscapes.PenaltyLandscape, x: FloatArray
) -> PenaltyConstants:
    """Constants at one point, with its lowest penalty in place of the lower bound."""
    lowest = float(landscape.box.penalties(x[:, None]).min())
    return replace(known, low=max(known.low, lowest))


def walk(
    landscape: landscapes.PenaltyLandscape,
    planned: StationaryPlan,
    start: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """States x_0 … x_{T−1} (d, T) of x ← P(x − (∇Φ(x) + N(0, σ²I))/β), all of them private."""
    known, reach = planned.constants, landscape.domain.radius

    def gradient(x: FloatArray) -> FloatArray:
        tolerance = known_at(known, landscape, x[:, 0]).gradient_tolerance
        return landscape.gradient(x[:, 0], tolerance)[:, None]

    steps = noisy_descent(
        gradient,
        lambda x: np.clip(x, -reach, reach),
        start[:, None],
        Schedule.constant(1 / known.smoothness, 1 / planned.mu, planned.n_steps),
        rng,
        scale=lambda x: known_at(known, landscape, x[:, 0]).charged_slope,
    )
    return np.concatenate([step.at for step in steps], axis=1)


@dataclass(frozen=True)
class _DerivedLandscape:
    landscape: landscapes.PenaltyLandscape

    n = Delegated[int]("landscape.n", "Number of training rows.")
    domain = Delegated[landscapes.Cube]("landscape.domain", "Domain of the log penalties.")

    @property
    def p(self) -> int:
        """Number of penalties."""
        return self.landscape.p


@dataclass(frozen=True)
class GradientLandscape(_DerivedLandscape):
    """‖x − P(x − ∇Φ(x))‖ on the cube of log penalties: score of the gradient-norm mechanism."""

    tolerance: float

    def value(self, theta: FloatArray) -> FloatArray:
        """Norm (K,) of the gradient mapping at columns of ``theta`` (d, K)."""
        each = progress(theta.T, "slopes")
        found = [gradient_mapping(self.landscape, x, self.tolerance) for x in each]
        return np.linalg.norm(found, axis=1)


@dataclass(frozen=True)
class SharedPenalty(_DerivedLandscape):
    """A landscape along its diagonal, where all penalties are equal."""

    @property
    def p(self) -> int:
        return 1

    def value(self, theta: FloatArray) -> FloatArray:
        """Φ (K,) at the shared log penalties ``theta`` (1, K)."""
        return self.landscape.value(np.repeat(theta, self.landscape.p, axis=0))


def drawn_where_level(
    landscape: landscapes.PenaltyLandscape, planned: StationaryPlan, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Draw log penalties (d, n_draws) as planned, with all states (n_draws, d, T), also charged.

    A draw from the grid has no states: None.
    """
    if planned.on_grid:
        known = planned.constants
        sizes = GradientLandscape(landscape, known.gradient_tolerance)
        return _drawn(sizes, planned, rng), None
    starts = np.zeros((landscape.p, planned.n_draws))  # the middle of the bounds
    if planned.eta and landscape.p <= plan.MOST_PENALTIES:
        starts = _drawn(landscape, planned, rng)
    elif planned.eta:
        starts = np.repeat(_drawn(SharedPenalty(landscape), planned, rng), landscape.p, axis=0)
    walks = np.stack([walk(landscape, planned, start, rng) for start in starts.T])
    steps = rng.integers(planned.n_steps, size=len(walks))
    return walks[np.arange(len(walks)), :, steps].T, walks


def _drawn(sizes: Landscape, planned: StationaryPlan, rng: np.random.Generator) -> FloatArray:
    sampler = FiniteGridSampler(spacing=planned.spacing)
    return landscapes.first_draws(
        sampler, landscapes.PenaltyTarget(sizes, planned.beta), planned.n_draws, rng
    )
