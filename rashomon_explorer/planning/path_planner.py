"""From a budget to a noisy path: temperature, step and time, without reading a row."""

import math
from dataclasses import dataclass, field, replace

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.losses import Loss, get_loss, loss_of_zeros
from rashomon_explorer.planning.bounds.excess import accelerated_share
from rashomon_explorer.planning.path import path_guarantee
from rashomon_explorer.planning.planned import Plan
from rashomon_explorer.planning.sensitivity import data_slope, gradient_sensitivity
from rashomon_explorer.planning.warn_weak import warn_if_weak
from rashomon_explorer.privacy.gaussian import gdp_mu
from rashomon_explorer.privacy.zcdp import zcdp_rho
from rashomon_explorer.shown import Fact
from rashomon_explorer.threshold import NoThreshold, SmoothThreshold, Threshold
from rashomon_explorer.validation import check_count, check_nonnegative

_WIDTHS = range(-3, 12)  # powers of 2, times ψ
_WORTHWHILE = 0.1  # share of p/β that the size of steps may add before more of them are taken
_SAFE = 1 - 1e-9  # of the time: what is charged must not pass the budget by an ulp


@dataclass(frozen=True, repr=False)
class PathPlan(Plan):
    """What a budget buys of noisy gradient chains, known before the rows are touched.

    ``eta`` is infinite, because a path has no pure price; ``hit_rate_bound`` is 0, because
    no hit rate is promised; ``excess_bound`` is that of a draw, which is a weighted average of a
    chain's states.

    Parameters
    ----------
    width : float
        Width s of the smooth threshold, 0 at ψ = 0.
    sensitivity : float
        Δ of the gradient.
    step_size : float
        h, the mean time of a step; step t takes 2ht/(n_steps + 1).
    n_steps : int
        Steps of each chain.
    """

    width: float
    sensitivity: float
    step_size: float
    n_steps: int
    sampler: str = field(default="langevin", kw_only=True, compare=False)

    @property
    def along_path(self) -> bool:
        """Every draw is a chain's time average."""
        return True

    @property
    def threshold(self) -> Threshold:
        """Smooth, or none at ψ = 0."""
        return SmoothThreshold(self.width) if self.width else NoThreshold()

    def _facts(self) -> list[Fact]:
        steps = f"{self.n_steps:,} of h = {self.step_size:.3g}"
        return [*super()._facts(), ("steps", f"{steps} on average")]


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
    ledger: bool = False,
) -> PathPlan:
    """Choose β, step and time of Langevin chains for a total budget; reads no row.

    With T = Nh a draw, which is the average of a chain's states with weights that grow with time,
    has an expected excess of at most

        p/(β − b) + R²/(2βT) + ψ + s/2,  b = 4M'β²T/(N + 1)², M' = M + L²/s

    (:func:`rashomon_explorer.planning.bounds.accelerated_path_excess`), and k chains are μ-GDP for
    μ² = kβ²Δ²T/2. So the budget fixes c = β²T = 2μ²/(kΔ²), β = b + √(2cp)/R makes the bound least,
    and what is left of it is

        RΔ√(kp)/μ + 2M'R²/(N + 1)² + ψ + s/2:

    the noise that the budget asks for, and the path not walked to its end. As many steps are taken
    as make b a tenth of √(2cp)/R, or ``max_steps``. That number grows with √n only, because the
    gradient is taken at the running average (own derivation, docs/theory.md §6).

    Parameters
    ----------
    n, p : int
        Rows, and parameters with the intercept.
    psi : float
        Rashomon threshold, ≥ 0.
    loss : str or Loss, default="logistic"
    radius : float
        Radius of the ball of models.
    row_norm : float
        Bound on the norm of a whole row, see :func:`rashomon_explorer.constants.row_bound`.
    ridge : float, default=0.0
        Strong convexity added.
    epsilon, delta : float
        Total price of all chains together, δ > 0.
    n_draws : int, default=1
        Chains, one draw each.
    width : float, optional
        Width s of the smooth threshold, by default the one of least bound: a wide one costs s/2
        of excess, a narrow one sensitivity.
    max_steps : int, default=2_000
        Most steps of a chain that are worth waiting for.
    ledger : bool, default=False
        Whether the price is to stay within (ε, δ) as a ledger counts it, which is by the zCDP that
        a path has too, and not by its Gaussian DP.

    Raises
    ------
    ValueError
        If a parameter is out of range, ψ = 0 has a width, or the loss has kinks.

    Warns
    -----
    WeakGuaranteeWarning
        If the excess bound is no better than the loss of the model of zeros.

    Examples
    --------
    >>> bought = plan_path(50_000, 11, 0.0, radius=4.0, row_norm=1.5, epsilon=1.0, delta=1e-6)
    >>> round(bought.beta), bought.n_steps, round(bought.excess_bound, 4)
    (7213, 327, 0.0035)
    """
    check_nonnegative(psi=psi)
    check_count(n_draws=n_draws, max_steps=max_steps)
    if width is not None and (
        not (math.isfinite(width) and width >= 0) or (width > 0) != (psi > 0)
    ):
        raise ValueError(f"width must be finite, and > 0 exactly if psi is, got {width!r}")
    loss = get_loss(loss)
    constants = Constants.of(loss, n=n, p=p, domain=Ball(radius), row_bound=row_norm, ridge=ridge)
    if not math.isfinite(constants.M):
        raise ValueError(f"{loss.name} loss has kinks, and no largest stable step: smooth it")
    mu = math.sqrt(2 * zcdp_rho(epsilon, delta)) if ledger else gdp_mu(epsilon, delta)
    widths = [psi * 2.0**k for k in _WIDTHS] if width is None and psi > 0 else [width or 0.0]
    path = min(
        (_Path.of(constants, psi, s, radius, mu, n_draws, max_steps) for s in widths),
        key=lambda path: path.excess,
    )
    planned = PathPlan(
        n=n,
        p=p,
        psi=psi,
        loss=loss.name,
        epsilon=epsilon,
        delta=delta,
        n_draws=n_draws,
        eta=math.inf,
        beta=path.beta,
        oscillation=constants.priced_osc,
        hit_rate_bound=0.0,
        excess_bound=path.excess,
        guarantee=replace(
            path_guarantee(
                beta=path.beta,
                sensitivity=path.sensitivity,
                step_size=path.step_size,
                n_steps=path.n_steps,
                n_chains=n_draws,
            ),
            asked=(epsilon, delta),
        ),
        width=path.width,
        sensitivity=path.sensitivity,
        step_size=path.step_size,
        n_steps=path.n_steps,
        certificate="path",
        ledger=ledger,
        radius=float(radius),
        row_norm=float(row_norm),
        ridge=float(ridge),
        outputs=loss.outputs,
        zero_loss=loss_of_zeros(loss),
    )
    warn_if_weak(planned, "this plan")
    return planned


@dataclass(frozen=True)
class _Path:
    """The best path for one width, and its bound."""

    width: float
    sensitivity: float
    beta: float
    step_size: float
    n_steps: int
    excess: float

    @classmethod
    def of(
        cls,
        constants: Constants,
        psi: float,
        width: float,
        radius: float,
        mu: float,
        n_chains: int,
        max_steps: int,
    ) -> "_Path":
        moved = data_slope(constants, Ball(radius))
        sensitivity = gradient_sensitivity(constants, psi, width=width, data_slope=moved)
        bought = 2 * mu**2 / (n_chains * sensitivity**2) * _SAFE  # β²T
        p, bend = constants.p, constants.M + (constants.L**2 / width if width else 0.0)
        ideal = math.sqrt(2 * bought * p) / radius  # β of the least bound, were steps free
        enough = math.sqrt(accelerated_share(bend, bought, 0) / (_WORTHWHILE * ideal)) - 1
        n_steps = math.ceil(min(max(enough, 1.0), max_steps))
        beta = ideal + accelerated_share(bend, bought, n_steps)
        excess = p / ideal + radius**2 * beta / (2 * bought) + psi + width / 2
        return cls(width, sensitivity, beta, bought / beta**2 / n_steps, n_steps, excess)
