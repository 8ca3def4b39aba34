"""One noisy gradient path of a differentiable model: its plan from public numbers, and its states.

Step t is θ ← θ − η(Σ over a batch of clipped row gradients + σC ξ)/(qn): the Langevin step at the
inverse temperature β = 2(qn)²/(ησ²C²), if the clipped sum is taken for the gradient. Every row
moves the sum by at most C, whatever the model is, so that the accounting is that of a path of
linear models (docs/theory/paths.md). All states are released for one cost, and one noisy query
releases the losses of some of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import Fact, ReprMixin, rounded_up
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import to_public_grid
from rashomon_explorer.mechanisms.improvements import Improvement, Suggestion
from rashomon_explorer.mechanisms.langevin.batches import row_batches
from rashomon_explorer.mechanisms.langevin.sampled_plan import sampled_guarantee
from rashomon_explorer.mechanisms.noisy_descent import Schedule, guarantee, noisy_descent
from rashomon_explorer.mechanisms.request import GDP, POISSON, cost_at_order
from rashomon_explorer.networks.losses import RowLoss
from rashomon_explorer.networks.models import DifferentiableModel
from rashomon_explorer.privacy import Guarantee, compose, gdp
from rashomon_explorer.privacy.conversions import gdp_mu, zcdp_rho
from rashomon_explorer.privacy.guarantee import summary_text

_LOSS_SHARE = 0.1  # of μ² in a Gaussian budget, for the losses of the states
_FIRST = 0.5  # share of the steps before the first state that is kept
_SAFE = 1 - 1e-9
_MORE = 1.0005

ANY_MODEL = "row gradients are clipped, so the cost holds for any model; no closeness is promised"
"""Assumption of guarantees of paths of differentiable models."""


@dataclass(frozen=True, repr=False)
class NetworkPlan(ReprMixin):
    """Public numbers of a path of a differentiable model, and its privacy cost.

    Attributes
    ----------
    n, p : int
        Rows, and parameters of a model.
    epsilon, delta, psi : float
    n_draws : int
        States that are kept.
    n_losses : int
        States whose losses are released.
    rate : float
        Share of the rows in a step, each sampled with this probability; 1 for all rows.
    n_steps, thin : int
        Steps in all, and between two kept states.
    step_size, clip, noise : float
        η, C, and σ: the noise of a sum of gradients is σC.
    loss_bound, loss_deviation : float
        Bound to which a row's loss is clipped, and noise of the mean losses that are released.
    """

    n: int
    p: int
    epsilon: float
    delta: float
    psi: float
    n_draws: int
    n_losses: int
    rate: float
    n_steps: int
    thin: int
    step_size: float
    clip: float
    noise: float
    loss_bound: float
    loss_mu: float
    guarantee: Guarantee
    mechanism: ClassVar[str] = "langevin"
    hit_rate: ClassVar[None] = None
    excess_bound: ClassVar[float] = math.inf

    @property
    def batch_size(self) -> float:
        """Expected number qn of rows in a step."""
        return self.rate * self.n

    @property
    def beta(self) -> float:
        """Inverse temperature of the Langevin step with this noise."""
        return 2 * (self.batch_size / (self.noise * self.clip)) ** 2 / self.step_size

    @property
    def burn_in(self) -> int:
        """Steps before the first kept state."""
        return self.n_steps - self.thin * self.n_draws

    @property
    def loss_deviation(self) -> float:
        """Standard deviation of the noise of each mean loss: √k times its sensitivity, over μ."""
        return self.loss_bound * math.sqrt(self.n_losses) / (self.n * self.loss_mu)

    def loss_margin(self, level: float = 0.95) -> float:
        """Bound, at this level, on the noise of the difference of any two released losses."""
        return float(-2 * ndtri((1 - level) / (2 * self.n_losses)) * self.loss_deviation)

    @property
    def measured(self) -> NDArray[np.intp]:
        """Indices of the states whose losses are released: evenly spaced."""
        return np.linspace(0, self.n_draws - 1, self.n_losses).round().astype(np.intp)

    def to_values(self) -> dict[str, Any]:
        """JSON values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "guarantee": self.guarantee.to_dict()}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> NetworkPlan:
        """Inverse of :meth:`to_values`."""
        return cls(**{**values, "guarantee": Guarantee.from_dict(values["guarantee"])})

    @property
    def weakness(self) -> str:
        """Why released losses cannot tell which states are good; empty if they can."""
        if (margin := self.loss_margin()) <= self.psi:
            return ""
        return (
            "released losses cannot tell which states are good: the noise of two of them, up to "
            f"{margin:.2g}, is more than ψ = {self.psi:g}"
        )

    @property
    def improvements(self) -> list[Improvement]:
        """Numbers of rows, and ψ, from which released losses tell which states are good."""
        margin = self.loss_margin()
        changes = [Suggestion(f"ψ = {rounded_up(margin)}", "psi", float(rounded_up(margin)))]
        if self.psi > 0:  # the noise is inversely proportional to the rows
            rows = math.ceil(self.n * margin / self.psi)
            changes.insert(0, Suggestion(f"{rows:,} rows", "n", float(rows)))
        return [Improvement("released losses that tell", tuple(changes))] if self.weakness else []

    def _title(self) -> str:
        return f"NetworkPlan: {self.n_draws:,} states of one path, {self.p:,} parameters"

    def _facts(self) -> list[Fact]:
        rows = f"about {self.batch_size:,.0f} of {self.n:,} rows" if self.rate < 1 else "all rows"
        return [
            ("privacy", f"{summary_text(self.guarantee)}, for any model"),
            ("steps", f"{self.n_steps:,}, each on {rows}; one of {self.thin:,} is kept"),
            ("noise", f"σ = {self.noise:.3g} times the norm {self.clip:g} of a row's gradient"),
            ("losses", f"of {self.n_losses} states released, with noise of "
             f"{self.loss_deviation:.2g} (a row's are clipped to {self.loss_bound:.3g})"),
            ("closeness", f"not promised; {self.weakness or 'measured by the released losses'}"),
        ]  # fmt: skip


def plan_path(
    *,
    n: int,
    p: int,
    epsilon: float,
    delta: float,
    psi: float,
    n_draws: int,
    n_losses: int,
    n_steps: int,
    batch_size: int | None,
    step_size: float,
    clip: float,
    loss_bound: float,
    ledger: bool | str = False,
) -> NetworkPlan:
    """Plan a path within (ε, δ), by a ledger's composition if there is one; reads no row.

    Raises
    ------
    SamplerError
        If δ = 0, or rows are to be sampled under a ledger in which sampling has no lower cost.
    """
    if not delta > 0:
        raise SamplerError("a path of a differentiable model needs delta > 0")
    samples = batch_size is not None and batch_size < n
    order = _order(epsilon, delta, ledger, samples=samples)
    rate = batch_size / n if batch_size is not None and samples else 1.0
    thin = max(1, math.floor((1 - _FIRST) * n_steps / n_draws))
    if n_draws > n_steps:
        raise SamplerError(f"{n_draws:,} states need as many steps, got n_steps={n_steps:,}")
    mu = gdp_mu(epsilon, delta)
    if ledger and ledger != GDP:
        mu = math.sqrt(2 * zcdp_rho(epsilon, delta))
    noise, loss_mu, total = _least_noise((epsilon, delta), rate, n_steps, order, mu)
    request = {"n": n, "p": p, "epsilon": epsilon, "delta": delta, "psi": psi, "n_draws": n_draws}
    steps = {"n_steps": n_steps, "step_size": step_size, "clip": clip, "rate": rate, "thin": thin}
    noises = {"noise": noise, "loss_bound": loss_bound, "loss_mu": loss_mu}
    numbers: dict[str, Any] = {**request, **steps, **noises, "n_losses": min(n_losses, n_draws)}
    return NetworkPlan(**numbers, guarantee=total)


def _order(
    epsilon: float, delta: float, ledger: bool | str, *, samples: bool
) -> tuple[float, float] | None:
    """Order at which a ledger counts; raise if sampled rows have no lower cost in it."""
    order = cost_at_order(epsilon, delta, ledger)
    if samples and ledger and order is None:
        raise SamplerError(
            "this ledger counts zCDP or Gaussian DP alone, in which sampled rows cost as much as "
            "all rows: set batch_size=None"
        )
    return order


@lru_cache(maxsize=64)
def _least_noise(
    budget: tuple[float, float],
    rate: float,
    n_steps: int,
    order: tuple[float, float] | None,
    mu: float,
) -> tuple[float, float, Guarantee]:
    """Least σ at which the steps and the losses cost (ε, δ), the μ of the losses, the guarantee."""
    epsilon, delta = budget
    loss_mu = math.sqrt(_LOSS_SHARE) * mu * _SAFE
    noise = 2 * rate * math.sqrt(n_steps) / (math.sqrt(1 - _LOSS_SHARE) * mu * _SAFE)
    noise *= _MORE if rate < 1 else 1.0  # usually enough, and each try takes a moment
    while True:  # more noise always costs less
        total = _composed(noise, rate, n_steps, order is not None, loss_mu)
        if rate == 1:
            break
        if order is None:
            ratio = total.epsilon(delta) / epsilon
        else:
            ratio = math.sqrt(total.renyi(order[0]) / order[1])
        if ratio <= 1:
            break
        noise *= ratio * _MORE
    stated = (*total.assumptions, ANY_MODEL)
    return noise, loss_mu, replace(total, assumptions=stated, requested=budget)


def _composed(noise: float, rate: float, n_steps: int, by_order: bool, loss_mu: float) -> Guarantee:
    return compose([_of_steps(noise, rate, n_steps, by_order), gdp(loss_mu)])


def _of_steps(noise: float, rate: float, n_steps: int, by_order: bool) -> Guarantee:
    if rate == 1:
        return guarantee(Schedule.constant(1.0, noise, n_steps), sensitivity=2.0)
    return sampled_guarantee(noise, (rate, n_steps), POISSON, by_order=by_order)


def part_guarantee(plan: NetworkPlan, n_steps: int, ledger: bool | str) -> Guarantee:
    """Guarantee of some steps of a plan's path; those of all parts and the losses add up."""
    order = _order(plan.epsilon, plan.delta, ledger, samples=plan.rate < 1)
    part = _of_steps(plan.noise, plan.rate, n_steps, order is not None)
    stated = (*part.assumptions, ANY_MODEL)
    return replace(part, assumptions=stated, requested=plan.guarantee.requested)


def further_plan(plan: NetworkPlan, n_draws: int, n_losses: int, ledger: bool | str) -> NetworkPlan:
    """Plan of more steps of a path, and of losses with the same noise; reads no row."""
    loss_mu = plan.loss_mu * math.sqrt(n_losses / plan.n_losses)
    n_steps = plan.thin * n_draws
    total = compose([part_guarantee(plan, n_steps, ledger), gdp(loss_mu)])
    numbers: dict[str, Any] = {"n_draws": n_draws, "n_losses": n_losses, "n_steps": n_steps}
    return replace(plan, **numbers, loss_mu=loss_mu, guarantee=replace(total, requested=None))


def joined_plan(
    plan: NetworkPlan, further: NetworkPlan, n_draws: int, total: Guarantee
) -> NetworkPlan:
    """Plan of a path and of its continuation together, with this guarantee."""
    return replace(
        plan,
        n_draws=n_draws,
        n_losses=plan.n_losses + further.n_losses,
        n_steps=plan.burn_in + plan.thin * n_draws,
        loss_mu=math.hypot(plan.loss_mu, further.loss_mu),
        epsilon=total.epsilon(plan.delta),
        guarantee=total,
    )


def released_states(
    model: DifferentiableModel,
    loss: RowLoss,
    rows: FloatArray,
    targets: FloatArray,
    plan: NetworkPlan,
    rng: np.random.Generator,
    start: FloatArray | None = None,
) -> Iterator[FloatArray | None]:
    """Yield the state (k + h,) on the public grid after each step where it is kept, else None.

    The path goes on from a released state, or starts where the model does.
    """
    if start is None:
        start = np.concatenate([model.start(rows.shape[1], loss.n_outputs, rng), loss.start])
    k, batches = len(start) - len(loss.start), _batches(plan, rng)

    def gradient(theta: FloatArray) -> FloatArray:
        chosen, column = next(batches), theta[:, 0]
        slopes = partial(loss.slopes, targets=targets[chosen], eta=column[k:])
        total = model.clipped_sum(column[:k], rows[chosen], loss.n_outputs, slopes, plan.clip)
        return total[:, None] / plan.batch_size

    deviation = plan.noise * plan.clip / plan.batch_size
    schedule = Schedule.constant(plan.step_size, deviation, plan.n_steps)
    with one_blas_thread():
        steps = noisy_descent(gradient, lambda state: state, start[:, None], schedule, rng)
        for t, step in enumerate(steps):
            is_due = t >= plan.burn_in and (t - plan.burn_in) % plan.thin == plan.thin - 1
            yield to_public_grid(step.state[:, 0]) if is_due else None


def _batches(plan: NetworkPlan, rng: np.random.Generator) -> Iterator[Any]:
    """Yield the rows of each step, without end."""
    if plan.rate < 1:
        yield from row_batches(plan.n, plan.rate, POISSON, rng)
    while True:
        yield slice(None)


def mean_losses(
    model: DifferentiableModel,
    loss: RowLoss,
    states: FloatArray,
    rows: FloatArray,
    targets: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Mean losses (K,) of states (K, k + h), and with each row's clipped to the public bound."""
    h = len(loss.start)
    exact, clipped = np.empty(len(states)), np.empty(len(states))
    for index, theta in enumerate(progress(states, "losses of the models")):
        body, eta = theta[: len(theta) - h], theta[len(theta) - h :]
        values = loss.values(model.scores(body, rows, loss.n_outputs), targets, eta)
        exact[index] = values.mean()
        clipped[index] = np.clip(np.nan_to_num(values, nan=loss.bound), 0.0, loss.bound).mean()
    return exact, clipped
