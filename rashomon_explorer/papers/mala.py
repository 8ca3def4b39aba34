"""Metropolis-adjusted Langevin chains: a non-private reference for the curator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.threads import pause
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.mechanisms.base import Batch, Traits
from rashomon_explorer.mechanisms.exact import Exact, plan_law
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.notions import no_guarantee

_WANTED = 0.574  # acceptance at which MALA is most efficient (Roberts and Rosenthal 1998)
_GAIN = 0.6  # adaptation decays by this power of the step: divergent sum, summable squares


@dataclass(frozen=True)
class MalaSampler:
    """Markov chains with the target, hard or smooth, as stationary distribution on its domain.

    A proposal u' = u − ½h²∇E(u) + hξ, ξ standard normal, E = −log density in coordinates
    whitened at the minimiser, is accepted with probability min{1, e^{E(u)−E(u')} q(u|u')/q(u'|u)}
    and never outside the domain (Roberts and Tweedie 1996, §1.4). The distribution is invariant for
    any drift, so that the kink of the hard threshold causes no bias.
    """

    name: ClassVar[str] = "mala"

    n_chains: int = 64
    burn_in: int | None = None
    thin: int | None = None

    def __post_init__(self) -> None:
        """Raise if a setting is out of range."""
        check_count(n_chains=self.n_chains)
        if self.thin is not None:
            check_count(thin=self.thin)
        if self.burn_in is not None and self.burn_in < 0:
            raise ValueError(f"burn_in must be at least 0, got {self.burn_in!r}")

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of ``n_chains`` states, ``thin`` steps apart; empty ones during burn-in."""
        p = target.problem.p
        burn_in = 200 + 20 * p if self.burn_in is None else self.burn_in
        kernel = Kernel.of(target)
        state = kernel.start(self.n_chains)
        step_size = 1.0
        for step in range(1, burn_in + 1):
            state, accepted = kernel.step(state, step_size, rng)
            step_size = adapted(step_size, accepted, step)
            if step % 8 == 0:
                yield Batch(np.empty((p, 0)), np.empty(0), 8 * self.n_chains)
            pause()  # otherwise the event loop of a dashboard starves
        thin = 2 * p if self.thin is None else self.thin
        while True:
            for _ in range(thin):
                state, _ = kernel.step(state, step_size, rng)
                pause()
            yield Batch(kernel.models(state.u), state.losses, thin * self.n_chains)


@dataclass(frozen=True)
class State:
    """Positions of the chains, with losses, energies and gradients there."""

    u: FloatArray  # (p, K): positions in whitened coordinates
    # losses and energy: (K,); energy is −log density relative to G
    losses: FloatArray
    energy: FloatArray
    gradient: FloatArray  # (p, K): gradient of the energy by ``u``


@dataclass(frozen=True)
class Kernel:
    """One MALA step on a target, in coordinates θ = centre + whiten·u."""

    target: GibbsTarget
    centre: FloatArray  # (p,)
    whiten: FloatArray  # (p, p)

    @classmethod
    def of(cls, target: GibbsTarget) -> Kernel:
        """Kernel whitened by the Hessian at the minimiser and the size of the Rashomon set."""
        problem, minimum = target.problem, target.problem.minimum
        curvature, vectors = np.linalg.eigh(problem.hessian(minimum.theta))
        height = target.psi + problem.p / target.beta  # approximate excess of a draw
        metric = np.maximum(curvature, 0.0) / height + 1 / problem.domain.diameter**2
        return cls(target, minimum.theta, vectors / np.sqrt(metric))

    def start(self, n_chains: int) -> State:
        """Return the state of chains that start at the minimiser."""
        return self.at(np.zeros((len(self.centre), n_chains)))

    def models(self, u: FloatArray) -> FloatArray:
        """Models (p, K) at whitened positions (p, K)."""
        return self.centre[:, None] + self.whiten @ u

    def at(self, u: FloatArray) -> State:
        """State at positions (p, K) whose models are in the domain."""
        target = self.target
        losses, gradient = target.problem.value_and_gradient(self.models(u))
        excess = losses - target.problem.minimum.value
        slope = target.beta * target.shape.slope(excess - target.psi)
        return State(u, losses, target.energy(excess), self.whiten.T @ gradient * slope)

    def step(
        self, state: State, step_size: float, rng: np.random.Generator
    ) -> tuple[State, FloatArray]:
        """Move chains once; also return the acceptance probabilities (K,)."""
        noise = rng.standard_normal(state.u.shape)
        u = state.u - step_size**2 / 2 * state.gradient + step_size * noise
        inside = self.target.problem.domain.contains(self.models(u))
        # A chain stays if the proposal is outside the domain; its position is substituted there.
        proposed = self.at(np.where(inside, u, state.u))
        log_ratio = np.where(inside, log_acceptance(state, proposed, step_size, noise), -np.inf)
        moved = np.log1p(-rng.random(len(log_ratio))) <= log_ratio
        return _select(moved, proposed, state), np.exp(np.minimum(log_ratio, 0.0))


def log_acceptance(
    state: State, proposed: State, step_size: float, noise: FloatArray
) -> FloatArray:
    """Logarithm (K,) of e^{E(u)−E(u')} q(u|u')/q(u'|u) for proposals made with ``noise`` (p, K)."""
    back = (state.u - proposed.u) / step_size + step_size / 2 * proposed.gradient
    log_q_back = -0.5 * np.einsum("ij,ij->j", back, back)
    log_q = -0.5 * np.einsum("ij,ij->j", noise, noise)
    return np.asarray(state.energy - proposed.energy + log_q_back - log_q)


def adapted(step_size: float, accepted: FloatArray, step: int) -> float:
    """Step size adapted towards an acceptance of 0.574, with decreasing gain (Robbins–Monro)."""
    return step_size * math.exp((float(accepted.mean()) - _WANTED) / step**_GAIN)


def _select(moved: Mask, proposed: State, state: State) -> State:
    return State(
        u=np.where(moved, proposed.u, state.u),
        losses=np.where(moved, proposed.losses, state.losses),
        energy=np.where(moved, proposed.energy, state.energy),
        gradient=np.where(moved, proposed.gradient, state.gradient),
    )


class Mala(Exact):
    """Metropolis-adjusted Langevin chains, for the curator only."""

    name: ClassVar[str] = "mala"
    summary: ClassVar[str] = "a state of a Metropolis-adjusted Langevin chain, for the curator only"
    traits: ClassVar[Traits] = Traits(n_chains=MalaSampler.n_chains, curator_only=True)

    def plan_supported(self, request: Request) -> Plan:
        """Plan the law, without a privacy guarantee."""
        without = no_guarantee("MALA reads the rows without noise: curator only")
        return replace(plan_law(request), mechanism=self.name, guarantee=without)

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of states of all chains."""
        return MalaSampler().batches(target, rng)
