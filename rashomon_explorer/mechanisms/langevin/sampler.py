"""Samplers of Langevin chains: a path to a target, and a path planned for a budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.base import Batch
from rashomon_explorer.mechanisms.langevin import gradients
from rashomon_explorer.mechanisms.noisy_descent import (
    DescentStep,
    Schedule,
    fading_shares,
    noisy_descent,
    watched,
)
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee

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
        long chains of a smooth convex energy.

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
