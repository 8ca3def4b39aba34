"""Noisy subgradient descent on sampled rows: Algorithm 1 of 002, for losses with kinks."""

import math
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import get_loss, loss_of_zeros
from rashomon_explorer.one_model.gradients import affordable_mu
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.one_model.unseen import generalisation_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.offers import price_at_order
from rashomon_explorer.planning.sampled_descent import SampledDescent, plan_sampled_descent
from rashomon_explorer.problem import Problem
from rashomon_explorer.progress import progress

_EXTRA = ' (sampled rows need pip install "rashomon-explorer[accounting]")'
_IN_CHUNKS = " (rows in chunks are summed, and none are picked)"
_WITHOUT_ORDER = " (in a ledger without a Rényi order, where sampling costs more)"


@dataclass(frozen=True)
class NoisySGD:
    """The average of noisy subgradient steps, on few rows each where that promises more."""

    name: ClassVar[str] = "noisy_sgd"
    model: ClassVar[str] = "the average of noisy subgradient descent"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        if not request.delta > 0:
            return declined(self, "needs delta > 0")
        if math.isfinite(request.constants.M):
            return declined(self, "without kinks all rows a step promise more: see noisy_descent")
        unsampled = unsampled_because(request)
        bought = plan_sampled_descent(
            request.constants,
            request.radius,
            loss_of_zeros(get_loss(request.loss)),
            epsilon=request.epsilon,
            delta=request.delta,
            mu=affordable_mu(request),
            sampling=not unsampled,
            orders=_orders(request),
        )
        rows = f"about {bought.rate * request.n:.0f} rows" if bought.rate < 1 else "all rows"
        return ModelOffer(
            self.name,
            self.model,
            f"every state of {bought.n_steps} steps on {rows} is paid for{unsampled}",
            guarantee=bought.guarantee,
            excess=bought.excess,
            unseen=bought.excess + generalisation_gap(request),
            ridge=request.ridge,
            settings=bought,
            picks_rows=bought.rate < 1,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return average_of_steps(problem, offer.settings, np.zeros(problem.p), rng)


def average_of_steps(
    problem: Problem, planned: SampledDescent, start: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Mean (p,) of the states of noisy subgradient descent, the last one left out."""
    theta, mean = start, np.zeros(problem.p)
    for step in progress(range(planned.n_steps), "steps"):
        mean += (theta - mean) / (step + 1)
        slope = noisy_slope(problem, planned, theta, rng) + problem.ridge * theta
        theta = problem.domain.project((theta - planned.pace * slope)[:, None])[:, 0]
    return mean


def unsampled_because(request: Request) -> str:
    """Why all rows are taken in each step; empty where some may be.

    Examples
    --------
    >>> rows = {"n": 100, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0, "row_norm": 1.0}
    >>> budget = {"ridge": 0.0, "epsilon": 1.0, "delta": 1e-6, "n_draws": 1}
    >>> unsampled_because(Request(**rows, **budget, ledger="zcdp"))
    ' (in a ledger without a Rényi order, where sampling costs more)'
    """
    if request.in_chunks:
        return _IN_CHUNKS
    if request.ledger and request.price_at_order is None:
        return _WITHOUT_ORDER
    return "" if find_spec("dp_accounting") else _EXTRA


def _orders(request: Request) -> tuple[tuple[float, float], ...]:
    """Orders at which sampled steps must cost what a path does: a ledger's, and that of (ε, δ).

    Their D_a/a may rise with a, so that only at the latter do they prove (ε, δ) by themselves.
    """
    at = request.price_at_order
    own = price_at_order(request.epsilon, request.delta, True)
    return () if at is None or own is None else tuple({at, own})


def noisy_slope(
    problem: Problem, planned: SampledDescent, theta: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """(Σ over rows each taken with probability q of ∇ℓ_i + L₀σξ)/(qn), shape (p,).

    How many were taken is not shown: what is divided by is public.
    """
    noisy = planned.slope * planned.noise * rng.standard_normal(problem.p)
    size, mean = problem.n, problem.of_loss(problem.loss) if planned.rate == 1 else None
    if mean is None:
        size = rng.binomial(problem.n, planned.rate)
        taken = rng.choice(problem.n, size, replace=False, shuffle=False)
        mean = problem.loss.empirical(problem.rows[taken], problem.targets[taken]) if size else None
    if mean is not None:
        noisy = noisy + size * mean.value_and_gradient(theta[:, None])[1][:, 0]
    return np.asarray(noisy / (planned.rate * problem.n))
