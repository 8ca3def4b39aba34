"""Samplers of Langevin chains: a path to a target, and a path planned for a budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits, cost_sentence, hits_sentence
from rashomon_explorer.mechanisms.bounds import accelerated_share
from rashomon_explorer.mechanisms.improvements import Improvement, path_improvements
from rashomon_explorer.mechanisms.langevin import gradients
from rashomon_explorer.mechanisms.langevin import plan as plans
from rashomon_explorer.mechanisms.noisy_descent import (
    DescentStep,
    Schedule,
    chain_noise,
    fading_shares,
    noisy_descent,
    watched,
)
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.losses import clipped

_PUBLIC_START = "the model at which the chains start is public, or was released before"


@dataclass(frozen=True)
class LangevinSampler:
    """Batched chains θ ← Π(θ − hβ∇energy(θ) + √(2h) ξ) from a start that depends on no row.

    The Euler scheme of the projected Langevin diffusion, equation (2) of Ganesh, Thakurta and
    Upadhyay (2023). Its iterates only approach the target's law. Its *privacy* is exact and is
    that of the steps that run. By default it covers the path: every state of every chain may be
    released, and the chains may be stopped at any time, at the privacy cost of ``certificate``.

    Parameters
    ----------
    step_size : float
        h, the time of one step.
    n_steps : int
        Steps of each chain.
    n_chains : int, default=64
    thin : int, default=1
        Steps between two batches.
    burn_in : int, default=0
        First steps that no batch and no average includes; they are charged like the others.
    start : sequence of float, optional
        Model (p,) at which every chain starts, 0 by default. It must not depend on the rows, except
        through an earlier release; a fitted model is not allowed.
    batch_size : int, optional
        Rows per step; all of them by default.
    batch_order : {"in_turn", "sampled"}, default="in_turn"
        Whether the batches are cut once and used in turn, or drawn anew in each step, without
        replacement and for all chains together. Batches are never shown.
    shown : {"path", "last"}, default="path"
        What may be released: everything, or the last state of each chain only, which costs less for
        long chains of a smooth convex energy. To decide this after the start, before any release,
        see :class:`~rashomon_explorer.papers.MeteredLangevin`.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> from rashomon_explorer.mechanisms.target import GibbsTarget
    >>> problem = Problem([[0.5], [-0.5]], [1, -1])
    >>> target = GibbsTarget(problem, beta=20.0, psi=0.1, threshold="smooth")
    >>> sampler = LangevinSampler(step_size=1e-3, n_steps=50, n_chains=8, thin=25)
    >>> [batch.theta.shape for batch in sampler.batches(target, np.random.default_rng(0))]
    [(2, 8), (2, 8)]
    """

    name: ClassVar[str] = "langevin"

    step_size: float
    n_steps: int
    n_chains: int = 64
    thin: int = 1
    burn_in: int = 0
    start: tuple[float, ...] | None = None
    batch_size: int | None = None
    batch_order: str = gradients.IN_TURN
    shown: str = "path"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_positive(step_size=self.step_size)
        check_count(n_steps=self.n_steps, n_chains=self.n_chains, thin=self.thin)
        if not 0 <= self.burn_in < self.n_steps:
            raise ValueError(
                f"burn_in must be from 0 to n_steps − 1 = {self.n_steps - 1}, got {self.burn_in!r}"
            )
        orders = gradients.IN_TURN, gradients.SAMPLED
        for name, choices in (("shown", ("path", "last")), ("batch_order", orders)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}")
        if self.start is not None:
            start = tuple(float(x) for x in self.start)
            if not np.isfinite(start).all():
                raise ValueError("start must hold finite numbers")
            object.__setattr__(self, "start", start)

    def certificate(self, target: GibbsTarget, n_steps: int | None = None) -> Guarantee:
        """Privacy of what may be released of all chains together, for the steps that run.

        ``n_steps`` is the number of steps that ran, if the path was stopped early. A ledger must be
        charged in advance, for all of them.

        Raises
        ------
        ValueError
            If there is no certificate of the last state, or it is requested for fewer steps.
        """
        drift = self._drift(target)
        steps = self.n_steps if n_steps is None else n_steps
        if not 0 <= steps <= self.n_steps:
            raise ValueError(f"n_steps must be from 0 to {self.n_steps}, got {n_steps!r}")
        if self.shown == "path":
            return self._from_start(drift.path_guarantee(self.step_size, steps, self.n_chains))
        if steps != self.n_steps:
            raise ValueError(
                "the last state is certified for a number of steps that is fixed in advance: "
                'use shown="path" to stop at any time'
            )
        return self._from_start(drift.last_state_guarantee(self.step_size, steps, self.n_chains))

    def _from_start(self, guarantee: Guarantee) -> Guarantee:
        if self.start is None:
            return guarantee
        return replace(guarantee, assumptions=(*guarantee.assumptions, _PUBLIC_START))

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield states of the chains: every ``thin`` steps after the burn-in, and the last.

        With ``shown="last"`` only the last. Ends after ``n_steps``.

        Raises
        ------
        ValueError
            If the step is too large for the chain to be stable, or only the last state is
            requested and has no certificate.
        """
        drift = self._drift(target)
        if self.shown == "last":
            drift.contraction(self.step_size)
        schedule, waited = self._schedule(), 0
        steps = watched(self._chains(drift, schedule, rng), target.problem, schedule)
        for t, step in enumerate(steps, start=1):
            waited += 1
            due = t > self.burn_in and (t - self.burn_in) % self.thin == 0
            if t == self.n_steps or (due and self.shown == "path"):
                losses = target.problem.value(step.state)
                yield Batch(step.state, losses, evaluated=(waited + 1) * self.n_chains)
                waited = 0

    def states(
        self, target: GibbsTarget, rng: np.random.Generator, first: FloatArray | None = None
    ) -> Iterator[FloatArray]:
        """Yield states (p, n_chains) after each of ``n_steps`` steps, including the burn-in.

        ``first`` (p, n_chains) are states to continue from, such as the last ones of a path that
        was charged; the certificate is that of the steps taken from there.

        Raises
        ------
        ValueError
            If the step is too large for the chain to be stable, ``first`` has another shape, or
            only the last state may be released.
        """
        self._need_path("states")
        steps = self._chains(self._drift(target), self._schedule(), rng, first)
        return (step.state for step in steps)

    def average(
        self, target: GibbsTarget, rng: np.random.Generator, *, m: float = 0.0
    ) -> FloatArray:
        """Weighted time average of each chain, one model per chain: shape (p, n_chains).

        It averages the states θ₀, …, θ_{N−1} at which gradients are taken, so not the last state.
        Weights are ∝ exp(mβt). With m = 0 it is the plain average, which
        :func:`rashomon_explorer.mechanisms.bounds.path_average_excess` bounds; with m the strong
        convexity, early states are forgotten exponentially fast (own derivation after Theorems F.1
        and F.2 of the finite-time analysis, whose printed schedules do not work). It is computed
        from the path, so that ``certificate`` covers it.

        Raises
        ------
        ValueError
            If ``m`` is negative, the step is too large, or only the last state may be
            released.
        """
        self._need_path("averages")
        check_nonnegative(m=m)
        drift = self._drift(target)
        fade = float(np.exp(-m * drift.beta * self.step_size))
        schedule = self._schedule(fading_shares(fade, self.n_steps, self.burn_in))
        for step in self._chains(drift, schedule, rng):
            average = step.average
        return average

    def _schedule(self, shares: FloatArray | None = None) -> Schedule:
        return Schedule.chain(self.step_size, self.n_steps, shares, batch=self.batch_size or 0)

    def _chains(
        self,
        drift: gradients.Drift,
        schedule: Schedule,
        rng: np.random.Generator,
        first: FloatArray | None = None,
    ) -> Iterator[DescentStep]:
        """Yield the steps of the chains, from ``first`` (p, n_chains) or from the start."""
        if self.step_size > drift.largest_step:
            raise ValueError(
                f"step_size {self.step_size:.3g} is too large for the path to be stable: use at "
                f"most 2/(β·smoothness) = {drift.largest_step:.3g}, or a wider threshold or "
                "smaller β"
            )
        p, project = drift.target.problem.p, drift.target.problem.domain.project
        if first is None:
            start = np.zeros(p) if self.start is None else np.array(self.start)
            if start.shape != (p,):
                raise ValueError(f"start must hold {p} parameters, got {len(start)}")
            first = np.repeat(project(start[:, None]), self.n_chains, axis=1)
        theta = np.array(first, dtype=float)
        if tuple(theta.shape) != (p, self.n_chains):
            raise ValueError(
                f"first must hold a state per chain, shape ({p}, {self.n_chains}), got "
                f"{tuple(theta.shape)}"
            )
        return noisy_descent(drift.run(rng), project, project(theta), schedule, rng)

    def _drift(self, target: GibbsTarget) -> gradients.Drift:
        return gradients.drift_for(target, self.batch_size, self.batch_order)

    def _need_path(self, what: str) -> None:
        if self.shown != "path":
            raise ValueError(
                f'{what} show the path, but only its last state is accounted for: use shown="path"'
            )


_SECONDS_BETWEEN_LOOKS = 0.1  # between checks of the Stop button


class Langevin(Mechanism):
    """Weighted average of each of the plan's chains; the privacy cost covers all their states."""

    name: ClassVar[str] = "langevin"
    summary: ClassVar[str] = "the average of a Langevin chain"
    traits: ClassVar[Traits] = Traits(independent=True, bound_slack=30.0)

    def why_unsupported(self, request: Request) -> str:
        """Decline pure DP, and losses with kinks."""
        return request.why_no_descent

    def plan_supported(self, request: Request) -> Plan:
        """Plan along the smooth threshold; see :func:`plan_path`."""
        return plans.plan_for_request(request)

    def explain(self, plan: Plan) -> list[str]:
        """Say what chains cost, their steps, and what is guaranteed of their averages."""
        excess = rounded_up(plan.excess_bound)
        return [
            cost_sentence(plan, "chain"),
            _steps_sentence(plan),
            "A draw is an average of a chain's states, and its loss exceeds the least by at most "
            f"{excess} in expectation. {hits_sentence(plan)}",
        ]

    def improvements(self, plan: Plan, *, ridge: bool = False) -> list[Improvement]:
        """List what lowers the excess bound."""
        return path_improvements(plan)

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield empty batches, so that a caller may stop, and all chains at the end."""
        last_batch = time.perf_counter()
        for step in watched(self.steps(target, plan, rng), target.problem, path_schedule(plan)):
            if time.perf_counter() - last_batch > _SECONDS_BETWEEN_LOOKS:
                yield Batch(step.average[:, :0], np.empty(0), evaluated=0)
                last_batch = time.perf_counter()
        evaluated = plan.n_draws * (plan.details.n_steps + 1)
        losses = target.problem.value(step.average)
        yield Batch(step.average, losses, evaluated=evaluated)

    def steps(
        self, target: GibbsTarget, plan: Plan, rng: np.random.Generator
    ) -> Iterator[DescentStep]:
        """Yield the steps of all chains, each with its average."""
        drift = self._drift(target, plan)
        smoothness = 2 / (drift.beta * drift.largest_step)
        n_steps, step_size = plan.details.n_steps, plan.details.step_size
        if not accelerated_share(smoothness, drift.beta * step_size * n_steps, n_steps) < 1:
            raise ValueError(
                f"{n_steps} steps of {step_size:.3g} are too few for the chains to be stable on "
                "this target: plan for its own n, p, loss, radius and row_norm"
            )
        project = target.problem.domain.project
        start = project(np.zeros((target.problem.p, plan.n_draws)))
        return noisy_descent(drift.run(rng), project, start, path_schedule(plan), rng)

    def _drift(self, target: GibbsTarget, plan: Plan) -> gradients.Drift:
        """Gradient that the chains follow."""
        return gradients.drift_for(target)


class LangevinAverage(Langevin):
    """Averages of chains that follow exp(−βL), for any ψ of the set; they always end."""

    name: ClassVar[str] = "langevin_average"
    summary: ClassVar[str] = "the average of a Langevin chain at ψ = 0"
    traits: ClassVar[Traits] = Traits(independent=True, compared=True, bound_slack=30.0)

    def plan_supported(self, request: Request) -> Plan:
        """Plan at ψ = 0; Markov's inequality on the expected excess gives the hit rate at ψ."""
        planned = plans.plan_for_request(replace(request, psi=0.0))
        within = 1 - planned.excess_bound / request.psi if request.psi else 0.0
        return replace(
            planned,
            request=request,
            mechanism=self.name,
            law_psi=0.0,
            hit_rate=within if within > 0 else None,
        )


class LangevinClipped(Langevin):
    """Averages of chains that follow the loss with clipped slopes; they always end."""

    name: ClassVar[str] = "langevin_clipped"
    summary: ClassVar[str] = "the average of a Langevin chain with clipped slopes"
    traits: ClassVar[Traits] = Traits(
        independent=True, compared=True, bound_slack=30.0, bias=0.0015, regression_bias=0.1
    )

    def why_unsupported(self, request: Request) -> str:
        """Decline losses without a clipped form."""
        if clipped(request.loss_function) is None:
            return "needs logistic or squared loss"
        return super().why_unsupported(request)

    def plan_supported(self, request: Request) -> Plan:
        """See :func:`plan_clipped_path`; only the clipped loss has a bound."""
        return plans.plan_clipped_path(request)

    def explain(self, plan: Plan) -> list[str]:
        """Say what chains cost, their steps, and what is guaranteed of the clipped loss."""
        clipped_bound = (
            f"The slope of each row is clipped to {plan.details.slope_bound:g}, which keeps the "
            f"noise small. The clipped loss of a draw exceeds its least by at most "
            f"{rounded_up(plan.comparison_excess)} in expectation; no bound is guaranteed for the "
            f"loss itself or for the hit rate."
        )
        return [cost_sentence(plan, "chain"), _steps_sentence(plan), clipped_bound]

    def _drift(self, target: GibbsTarget, plan: Plan) -> gradients.Drift:
        return gradients.ClippedDrift(target, plan.details.slope_bound)


def path_schedule(plan: Plan) -> Schedule:
    """Schedule of the accelerated steps of a plan."""
    size = plan.details.step_size
    return Schedule.accelerated(size, chain_noise(size), plan.details.n_steps)


def _steps_sentence(plan: Plan) -> str:
    details = plan.details
    return (
        f"Each of {details.n_steps:,} steps, of h = {details.step_size:.3g} on average, adds "
        f"noise at β = {plan.beta:,.0f}, a time of {details.n_steps * details.step_size:.3g}; one "
        f"record moves the gradient by at most {rounded_up(details.sensitivity)}, and every state "
        "is accounted for."
    )
