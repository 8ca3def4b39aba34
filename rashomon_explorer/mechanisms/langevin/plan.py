"""Plans of Langevin paths."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import Fact, rounded_up
from rashomon_explorer._utils.validation import check_count, check_nonnegative
from rashomon_explorer.mechanisms import centres, noisy_descent
from rashomon_explorer.mechanisms.bounds import (
    accelerated_share,
    accelerated_steps,
    generalisation_gap,
)
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, gradient_sensitivity
from rashomon_explorer.mechanisms.plans import Details, Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import MOST_PULL, Loss, clipped
from rashomon_explorer.problem.thresholds import NoThreshold, SmoothThreshold, Threshold

_WIDTHS = range(-3, 12)  # candidates for the width: powers of 2, times ψ
_WORTHWHILE = 0.1  # share of p/β that steps of finite size may add to the bound
_SAFE = 1 - 1e-9  # of the time: keeps the charge within the budget despite rounding


@dataclass(frozen=True)
class PathDetails(Details):
    """Steps of noisy gradient chains, in public numbers."""

    width: float
    sensitivity: float
    step_size: float
    n_steps: int
    slope_bound: float = math.inf
    """Largest slope of a row's loss that the chains follow; infinite unless slopes are clipped."""

    def threshold(self, plan: Plan) -> Threshold:
        return SmoothThreshold(self.width) if self.width else NoThreshold()

    def bounds(self, plan: Plan) -> list[Fact]:
        if math.isinf(self.slope_bound):
            return []
        excess = rounded_up(plan.comparison_excess)
        return [("clipped loss", f"exceeds its least by ≤ {excess} on average")]

    def facts(self, plan: Plan) -> list[Fact]:
        return [("steps", f"{self.n_steps:,} of size {self.step_size:.3g} on average")]


def plan_path(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    epsilon: float,
    delta: float,
    n_draws: int = 1,
    width: float | None = None,
    max_steps: int = 2_000,
    ledger: bool | str = False,
    in_chunks: bool = False,
) -> Plan:
    """Choose β, step and time of Langevin chains for a total budget; reads no row.

    Let T = Nh. A draw is the average of a chain's states with weights that increase with time. Its
    expected excess is at most

        p/(β − b) + R²/(2βT) + ψ + s/2,  b = 4M'β²T/(N + 1)², M' = M + L²/s

    (:func:`rashomon_explorer.mechanisms.bounds.accelerated_path_excess`), and k chains are μ-GDP
    for μ² = kβ²Δ²T/2. So the budget fixes c = β²T = 2μ²/(kΔ²), β = b + √(2cp)/R minimises the
    bound, and the minimum is

        RΔ√(kp)/μ + 2M'R²/(N + 1)² + ψ + s/2:

    the noise of the budget, and the remaining optimisation error. The number of steps is such that
    b is a tenth of √(2cp)/R, up to half of it where so many take long, or ``max_steps``. It grows
    only as √n, because the gradient is taken at the running average (own derivation,
    docs/theory.md §6).

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger
        As in :func:`~rashomon_explorer.mechanisms.plan`, δ > 0; every draw is one chain. A ledger
        composes the zCDP of a path and not its Gaussian DP.
    width : float, optional
        Width s of the smooth threshold, by default that of the least bound: a wide one adds s/2 to
        the excess, a narrow one increases the sensitivity.
    max_steps : int, default=2_000
        Largest number of steps of a chain.

    Raises
    ------
    ValueError
        If a parameter is out of range, ψ = 0 has a width, or the loss has kinks.

    Examples
    --------
    >>> planned = plan_path(50_000, 11, 0.0, radius=4.0, row_norm=1.5, epsilon=1.0, delta=1e-6)
    >>> round(planned.beta), planned.details.n_steps, round(planned.excess_bound, 4)
    (7213, 327, 0.0035)
    """
    request = Request(
        n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger, in_chunks
    )
    return plan_for_request(request, width=width, max_steps=max_steps)


def plan_for_request(
    request: Request, *, width: float | None = None, max_steps: int = 2_000
) -> Plan:
    """Plan the chains of a request; see :func:`plan_path`."""
    psi, n_draws, constants = request.psi, request.n_draws, request.constants
    request.check()
    check_count(max_steps=max_steps)
    if width is not None and (
        not (math.isfinite(width) and width >= 0) or (width > 0) != (psi > 0)
    ):
        raise ValueError(f"width must be finite, and > 0 exactly if psi is, got {width!r}")
    if not math.isfinite(constants.M):
        raise ValueError(
            f"{request.loss_name} loss has kinks, and no largest stable step: smooth it"
        )
    widths = [psi * 2.0**k for k in _WIDTHS] if width is None and psi > 0 else [width or 0.0]
    mu = request.gaussian_mu
    path = min(
        (
            _Path.for_width(constants, psi, s, request.radius, mu, n_draws, max_steps)
            for s in widths
        ),
        key=lambda path: path.excess,
    )
    guarantee = noisy_descent.path_guarantee(
        beta=path.beta,
        sensitivity=path.sensitivity,
        step_size=path.step_size,
        n_steps=path.n_steps,
        n_chains=n_draws,
    )
    return Plan(
        request=request,
        mechanism="langevin",
        guarantee=replace(guarantee, requested=(request.epsilon, request.delta)),
        excess_bound=path.excess,
        certificate="path",
        beta=path.beta,
        generalisation_gap=generalisation_gap(request),
        steps=float(path.n_steps),
        repeats=n_draws,
        details=PathDetails(path.width, path.sensitivity, path.step_size, path.n_steps),
    )


@dataclass(frozen=True)
class _Path:
    width: float
    sensitivity: float
    beta: float
    step_size: float
    n_steps: int
    excess: float

    @classmethod
    def for_width(
        cls,
        constants: Constants,
        psi: float,
        width: float,
        radius: float,
        mu: float,
        n_chains: int,
        max_steps: int,
    ) -> _Path:
        moved = data_slope(constants, Ball(radius))
        sensitivity = gradient_sensitivity(constants, psi, width=width, data_slope=moved)
        scaled_time = 2 * mu**2 / (n_chains * sensitivity**2) * _SAFE  # β²T
        p, bend = constants.p, constants.M + (constants.L**2 / width if width else 0.0)
        ideal = math.sqrt(2 * scaled_time * p) / radius  # β of the least bound, for N → ∞
        cells = constants.n * p * n_chains
        enough = accelerated_steps(bend, scaled_time, ideal, _WORTHWHILE, cells)
        n_steps = math.ceil(min(enough, max_steps))
        beta = ideal + accelerated_share(bend, scaled_time, n_steps)
        excess = p / ideal + radius**2 * beta / (2 * scaled_time) + psi + width / 2
        return cls(width, sensitivity, beta, scaled_time / beta**2 / n_steps, n_steps, excess)


def plan_clipped_path(request: Request, slope_bound: float = MOST_PULL) -> Plan:
    """Plan averages of chains on the loss with clipped slopes, at ψ = 0; reads no row."""
    check_nonnegative(psi=request.psi)
    surrogate = clipped(request.loss_function, slope_bound)
    if surrogate is None:
        raise ValueError(f"{request.loss_name} loss has no form with a clipped slope")
    path = plan_for_request(replace(request, psi=0.0, loss=surrogate))
    return replace(
        path,
        request=request,
        mechanism="langevin_clipped",
        excess_bound=math.inf,
        comparison_excess=path.excess_bound,
        certificate="clipped path",
        law_psi=0.0,
        generalisation_gap=generalisation_gap(request),
        details=replace(path.details, slope_bound=slope_bound),
    )


_STEPS = tuple(sorted({round(2000 ** (k / 17)) for k in range(18)}))
_PACES = (1.0, 0.25, 0.0625)  # candidates for η·M
_LAST_STATE_SAFE = 1 + 1e-9  # of σ: keeps the charge within the budget despite rounding


@dataclass(frozen=True)
class LastState:
    """Noisy gradient descent that releases only its last state, in public numbers."""

    pace: float
    noise: float
    n_steps: int
    excess: float
    guarantee: Guarantee

    @property
    def beta(self) -> float:
        """β of the Langevin chain with the same steps, 2/(ησ²)."""
        return 2 / (self.pace * self.noise**2)

    @property
    def step_size(self) -> float:
        """Step h = η/β of that chain: its noise has the deviation √(2h) = ησ."""
        return self.pace / self.beta


def plan_last_state(
    constants: Constants, radius: float, mu: float, zero_loss: float, sampling: float = 0.0
) -> LastState:
    """Noisy descent from 0 with the least bound whose last state is μ-GDP (docs/theory.md §17)."""
    start, ball = centres.furthest_start(constants, radius, zero_loss), Ball(radius)
    moved = data_slope(constants, ball)

    def contraction(pace: float) -> float:
        return max(0.0, 1 - pace * constants.m)

    def priced(pace: float, n_steps: int) -> tuple[float, float, int, float]:
        square = noisy_descent.least_square(pace * moved, n_steps, contraction(pace), 2 * radius)
        noise = math.sqrt(square) / (pace * mu) * _LAST_STATE_SAFE  # cost ∝ 1/σ
        square = constants.p * noise**2 + sampling
        excess = last_state_excess(
            pace, constants.m, square, n_steps, start=start, diameter=2 * radius
        )
        return excess, pace, n_steps, noise

    excess, pace, n_steps, noise = min(
        priced(share / constants.M, n_steps) for share in _PACES for n_steps in _STEPS
    )
    step = (pace * noise) ** 2 / 2
    guarantee = noisy_descent.last_iterate_guarantee(
        beta=pace / step,
        sensitivity=moved,
        step_size=step,
        n_steps=n_steps,
        contraction=contraction(pace),
        diameter=2 * radius,
    )
    return LastState(pace, noise, n_steps, excess, guarantee)


def last_state_excess(
    pace: float, m: float, square: float, n_steps: int, *, start: float, diameter: float
) -> float:
    """Bound on E L(θ_N) − L* for noise of mean square E‖σξ‖² per step (docs/theory.md §17)."""
    shrink = (1 - pace * m) / (1 + pace * m)
    last = np.arange(1.0, n_steps + 1)  # K
    far = _distances(shrink, 2 * pace**2 * square / (1 + pace * m), n_steps - last, start)
    harmonic = np.cumsum(1 / last)
    bounds = np.minimum(far, diameter**2) / (2 * pace * last) + pace * square * harmonic
    return float(bounds.min())


def _distances(shrink: float, added: float, steps: FloatArray, start: float) -> FloatArray:
    left = shrink**steps
    total = steps if shrink == 1 else (1 - left) / (1 - shrink)
    return np.asarray(left * start**2 + added * total)
