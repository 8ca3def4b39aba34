"""Uniform draws from the Rashomon set by hit-and-run: a reference, for the curator only."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.rejection.envelope import Envelope
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee

_TOGETHER = 16  # steps of a chain between two synchronisations of all chains
_ROUNDING = 1e-14  # least length of a chord, in the units of its direction
_FLAT = 1e-9  # of the largest curvature: below it a direction changes no row's score
_MOST_RAYS = 256


@dataclass(frozen=True)
class HitAndRunSampler(Mechanism):
    """Markov chains whose stationary law is uniform on G = {θ in C : L(θ) ≤ min L + ψ}.

    Each step draws a uniform direction in the whitened space and a uniform point of the chord
    through an outer ellipsoid, and shrinks the chord towards the current state until the point
    lies in G. Shrinking keeps the uniform law invariant (Neal, Slice sampling, 2003, §5) and
    needs two or three evaluations per step instead of a root search.

    Parameters
    ----------
    n_chains : int, default=32
        Number of chains; a batch holds one state of each.
    burn_in : int, optional
        Steps before the first batch; by default 20 per parameter.
    thin : int, optional
        Steps between batches; by default 2 per parameter.

    Notes
    -----
    Draws are correlated within a chain and follow the uniform law only in the limit. They have no
    privacy guarantee.
    """

    name: ClassVar[str] = "hit_and_run"
    summary: ClassVar[str] = "a uniform model of the set, for the curator only"

    n_chains: int = 32
    burn_in: int | None = None
    thin: int | None = None

    traits: ClassVar[Traits] = Traits(
        n_chains=n_chains,
        unplanned="guaranteed for private draws; hit-and-run never leaves the set",
        uniform_on="ball",
        stays_inside=True,
        curator_only=True,
    )

    @classmethod
    def plan_for(cls, request: Request) -> Plan:
        """Plan the law of exact draws, which the chains approach."""
        return plan(**request.numbers)

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Create the sampler with default settings; it never gives up."""
        return cls()

    def guarantee(self, plan: Plan) -> Guarantee:
        """No guarantee: the chain reads the rows without noise."""
        return no_guarantee("hit-and-run reads the rows without noise: curator only")

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of ``n_chains`` states, ``thin`` steps apart; empty during burn-in."""
        p = target.problem.p
        burn_in = 20 * p if self.burn_in is None else self.burn_in
        thin = max(1, 2 * p if self.thin is None else self.thin)
        walk = _Walk(target, self.n_chains)
        for start in range(0, burn_in, _TOGETHER):
            evaluated = walk.move(min(_TOGETHER, burn_in - start), rng)
            yield Batch(np.empty((p, 0)), np.empty(0), evaluated)
        while True:
            strides = [min(_TOGETHER, thin - start) for start in range(0, thin, _TOGETHER)]
            evaluated = sum(walk.move(steps, rng) for steps in strides)
            yield Batch(walk.theta.copy(), walk.losses.copy(), evaluated)


class _Walk:
    """States of the chains."""

    def __init__(self, target: GibbsTarget, n_chains: int) -> None:
        minimum = target.problem.minimum
        self._target = target
        # The metric of the chains, and so the draws of a seed, do not depend on a budget.
        metric = GibbsTarget(target.problem, 1 / target.psi, target.psi) if target.psi else target
        self._envelope = Envelope.of(metric)
        self._outer = self._envelope.outer_radius(target.psi)
        self._level = minimum.value + target.psi
        self._u = np.zeros((target.problem.p, n_chains))
        self.theta = np.repeat(minimum.theta[:, None], n_chains, axis=1)
        self.losses = np.full(n_chains, minimum.value)

    def move(self, steps: int, rng: np.random.Generator) -> int:
        """Move every chain by ``steps`` steps; return the number of evaluated losses."""
        directions, moves = self._directions(steps, rng)
        n_chains = self._u.shape[1]
        done, low, high = np.zeros(n_chains, dtype=int), np.empty(n_chains), np.empty(n_chains)
        going = starting = np.arange(n_chains)
        evaluated = 0
        while len(going):
            if len(starting):
                at = done[starting], slice(None), starting
                chord = self._chord(starting, directions[at].T, moves[at].T)
                low[starting], high[starting] = chord
            wide = high[going] - low[going]
            t = low[going] + rng.random(len(going)) * wide
            theta = self.theta[:, going] + t * moves[done[going], :, going].T
            losses = self._target.problem.value(theta)
            evaluated += len(going)
            inside = self._target.problem.domain.contains(theta) & (losses <= self._level)
            moved = going[inside]
            self.theta[:, moved], self.losses[moved] = theta[:, inside], losses[inside]
            self._u[:, moved] += t[inside] * directions[done[moved], :, moved].T
            # Shrink the chord towards the current state, which is t = 0.
            low[going] = np.where(t < 0, t, low[going])
            high[going] = np.where(t < 0, high[going], t)
            # On a chord of rounding size the chain stays in place.
            ended = going[inside | (wide < _ROUNDING)]
            done[ended] += 1
            starting, going = ended[done[ended] < steps], going[done[going] < steps]
            pause()  # lets a dashboard's event loop run
        return evaluated

    def _directions(self, steps: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw uniform directions (steps, p, n_chains) in the whitened space, and their moves."""
        p, n_chains = self._u.shape
        drawn = rng.standard_normal((p, steps * n_chains))
        drawn /= np.linalg.norm(drawn, axis=0)
        moves = self._envelope.step(drawn, self._envelope.least_pad)
        first, second = (a.reshape(p, steps, n_chains).transpose(1, 0, 2) for a in (drawn, moves))
        return first, second

    def _chord(
        self, chains: IntArray, direction: FloatArray, move: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Interval of t inside both the outer ellipsoid and the ball of models."""
        u = self._u[:, chains]
        along = np.einsum("ij,ij->j", u, direction)
        rest = self._outer**2 - np.einsum("ij,ij->j", u, u)
        root = np.sqrt(np.maximum(along**2 + rest, 0.0))
        low, high = self._target.problem.domain.chord(self.theta[:, chains], move)
        low = np.minimum(np.maximum(-along - root, low), 0.0)
        return low, np.maximum(np.minimum(-along + root, high), 0.0)


def reaches_sphere(target: GibbsTarget, draws: FloatArray) -> bool:
    """Whether the Rashomon set is known to extend beyond the ball of models (curator)."""
    problem, minimum = target.problem, target.problem.minimum
    level = minimum.value + target.psi
    if minimum.on_boundary:
        return True
    curvature, vectors = np.linalg.eigh(problem.hessian(minimum.theta))
    curvature = curvature - problem.ridge
    vectors = vectors[:, curvature > _FLAT * curvature[-1]]
    best = vectors @ (vectors.T @ minimum.theta)
    along = vectors @ (vectors.T @ (draws[:_MOST_RAYS].T - minimum.theta[:, None]))
    rays = np.concatenate([vectors, -vectors, along], axis=1)
    lengths = np.linalg.norm(rays, axis=0)
    rays = rays[:, lengths > 0] / lengths[lengths > 0]
    inward = rays.T @ best
    reach = np.sqrt(inward**2 + problem.domain.radius**2 - best @ best) - inward
    points = best[:, None] + reach * rays
    blocks = (points[:, at : at + _TOGETHER] for at in range(0, points.shape[1], _TOGETHER))
    return any(bool((problem.value(block) <= level).any()) for block in blocks)
