"""Uniform draws from the Rashomon set by hit-and-run: a reference, for the curator only."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.progress import ChainLooks, ChainState, tally
from rashomon_explorer._utils.threads import one_blas_thread, pause
from rashomon_explorer.mechanisms.base import Batch, Traits
from rashomon_explorer.mechanisms.exact import Exact, plan_law
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.rejection import plane
from rashomon_explorer.mechanisms.rejection.envelope import Envelope
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.domains import inner
from rashomon_explorer.problem.losses.scores import ScoreRisk
from rashomon_explorer.problem.problem import Problem

_TOGETHER = 16  # steps of a chain between two synchronisations of all chains
_ROUNDING = 1e-14  # least length of a chord, in the units of its direction
_FLAT = 1e-9  # of the largest curvature: below it a direction changes no row's score
_MOST_RAYS = 256
_NEWTON_STEPS = 4
_NO_GUARANTEE = no_guarantee("hit-and-run reads the rows without noise: curator only")
_LEAST_BEND = 1e-3  # at the ends of an interval: below it e⁻ˣ − 1 + x loses its digits


@dataclass(frozen=True)
class HitAndRunSampler:
    """Markov chains whose stationary law is uniform on G = {θ in C : L(θ) ≤ min L + ψ}.

    Each step draws a uniform direction in the whitened space and a uniform point of the set on
    this line. The point is drawn from a longer interval, which every rejected point shortens: the
    set is an interval around the current state, so this is exact. Bounds on the loss leave few
    points whose loss must be evaluated.

    Parameters
    ----------
    n_chains : int, default=32
        Number of chains; a batch holds one state of each.
    burn_in : int, optional
        Steps before the first batch; by default 3 per parameter.
    thin : int, optional
        Steps between batches; by default 2 per parameter.

    Notes
    -----
    Draws are correlated within a chain and follow the uniform law only in the limit. They have no
    privacy guarantee.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> planned = RashomonClassifier(mechanism="hit_and_run", n_draws=3).plan(200, 1)
    >>> planned.mechanism, planned.guarantee.holds, HitAndRunSampler(n_chains=4).name
    ('hit_and_run', False, 'hit_and_run')
    """

    name: ClassVar[str] = "hit_and_run"

    n_chains: int = 32
    burn_in: int | None = None
    thin: int | None = None

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of ``n_chains`` states, ``thin`` steps apart; empty during burn-in."""
        p = target.problem.p
        # On an ellipsoid a step multiplies the mean of the chains by 1 − 1/p.
        burn_in = 3 * p if self.burn_in is None else self.burn_in
        thin = max(1, 2 * p if self.thin is None else self.thin)
        walk, look = _Walk(target, self.n_chains), ChainLooks()
        for start in range(0, burn_in, _TOGETHER):
            evaluated = walk.move(min(_TOGETHER, burn_in - start), rng)
            look(partial(walk.look, start + _TOGETHER, burn_in, evaluated))
            yield Batch(np.empty((p, 0)), np.empty(0), evaluated)
        while True:
            strides = [min(_TOGETHER, thin - start) for start in range(0, thin, _TOGETHER)]
            evaluated = sum(walk.move(steps, rng) for steps in strides)
            losses = target.problem.value(walk.theta)
            yield Batch(walk.theta.copy(), losses, evaluated + self.n_chains)


class HitAndRun(Exact):
    """Uniform draws from the Rashomon set by hit-and-run, for the curator only."""

    name: ClassVar[str] = "hit_and_run"
    summary: ClassVar[str] = "a uniform model of the set, for the curator only"
    traits: ClassVar[Traits] = Traits(
        n_chains=HitAndRunSampler.n_chains,
        unplanned="guaranteed for private draws; hit-and-run never leaves the set",
        uniform_on="ball",
        stays_inside=True,
        curator_only=True,
    )

    def plan_supported(self, request: Request) -> Plan:
        return replace(plan_law(request), mechanism=self.name, guarantee=_NO_GUARANTEE)

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        return HitAndRunSampler().batches(target, rng)


class Intervals:
    """Intervals of t around 0 that contain the set on each chain's line, and a point of each."""

    def __init__(self, low: FloatArray, high: FloatArray, shortest: float = _ROUNDING) -> None:
        self._low, self._high, self.t = low, high, np.zeros(len(low))
        self._shortest = shortest

    def place(self, chains: IntArray, shares: FloatArray) -> None:
        """Place the points of some chains at uniform shares of their intervals."""
        low = self._low[chains]
        self.t[chains] = low + shares * (self._high[chains] - low)

    def shorten(self, chains: IntArray) -> IntArray:
        """Shorten intervals whose point lies outside the set; return the chains to draw again."""
        t = self.t[chains]
        self._low[chains] = np.where(t < 0, t, self._low[chains])
        self._high[chains] = np.where(t < 0, self._high[chains], t)
        self.t[chains] = 0.0
        return self.longer_than_rounding(chains)

    def longer_than_rounding(self, chains: IntArray) -> IntArray:
        """Return the chains whose interval has more than rounding size; others stay in place."""
        return chains[(self._high - self._low)[chains] >= self._shortest]


class _Walk:
    def __init__(self, target: GibbsTarget, n_chains: int) -> None:
        minimum = target.problem.minimum
        self._target = target
        # The metric of the chains, and so the draws of a seed, do not depend on a budget.
        metric = GibbsTarget(target.problem, 1 / target.psi, target.psi) if target.psi else target
        self._envelope = Envelope.of(metric)
        self._outer = self._envelope.outer_radius(target.psi)
        self._level = minimum.value + target.psi
        self._by_line = _expandable(target.problem, self._envelope)
        self._u = np.zeros((target.problem.p, n_chains))
        self.theta = np.repeat(minimum.theta[:, None], n_chains, axis=1)

    def look(self, step: int, burn_in: int, evaluated: int) -> ChainState:
        """State of the chains, with the share of evaluated points that were accepted."""
        problem, moved = self._target.problem, _TOGETHER * self.theta.shape[1]
        excess = problem.value(self.theta) - problem.minimum.value
        share = min(1.0, moved / max(1, evaluated))
        return ChainState(min(step, burn_in), burn_in, excess, np.empty(0), acceptance=share)

    def move(self, steps: int, rng: np.random.Generator) -> int:
        """Move every chain by ``steps`` steps; return the number of evaluated losses."""
        evaluated = 0
        for direction, move in zip(*self.directions(steps, rng), strict=True):
            ends = self._chord(direction, move)
            if self._by_line is not None:
                ends = self._shortened(self._by_line, move, ends)
                evaluated += ends.shape[1]
            lines = Intervals(*ends)
            going = lines.longer_than_rounding(np.arange(ends.shape[1]))
            while len(going):
                outside = going
                while len(outside):  # most points outside are known without reading rows
                    lines.place(outside, rng.random(len(outside)))
                    theta = self.theta[:, outside] + lines.t[outside] * move[:, outside]
                    outside = lines.shorten(outside[~self._may_contain(theta)])
                theta = self.theta[:, going] + lines.t[going] * move[:, going]
                above = self._target.problem.value(theta) > self._level
                evaluated += len(going)
                going = lines.shorten(going[above])
            self.theta += lines.t * move
            self._u += lines.t * direction
            pause()  # lets a dashboard's event loop run
        return evaluated

    def _may_contain(self, theta: FloatArray) -> Mask:
        """Whether models (p, K) may lie in the set; reads no row."""
        inside = self._target.problem.domain.contains(theta)
        if self._by_line is None:
            inside &= self._envelope.sharper_floor(theta) <= self._target.psi
        return inside

    def _shortened(self, loss: ScoreRisk, move: FloatArray, ends: FloatArray) -> FloatArray:
        """Shorten intervals (2, K) by Newton steps that never pass a root of a lower bound."""
        # f(t) ≥ f(0) + f'(0)t + f''(0)(e⁻ˣ − 1 + x)/c², x = c|t|, convex in t, as |f'''| ≤ c·f''.
        problem = self._target.problem
        value, slope, curvature, widest = loss.expansion(self.theta, move)
        rest = value + problem.ridge / 2 * inner(self.theta, self.theta) - self._level
        slope = slope + problem.ridge * inner(self.theta, move)
        curvature = curvature + problem.ridge * inner(move, move)
        c = widest * getattr(problem.loss, "third_derivative", 0.0)
        c = np.maximum(c, _LEAST_BEND / np.maximum(np.abs(ends).max(axis=0), _ROUNDING))
        for _ in range(_NEWTON_STEPS):
            x = c * np.abs(ends)
            decay = np.expm1(-x)
            above = rest + slope * ends + curvature / c**2 * (decay + x)
            steep = slope - np.sign(ends) * curvature / c * decay
            step = np.divide(above, steep, out=np.zeros_like(x), where=(above > 0) & (x > 0))
            ends = np.where(step * ends > 0, ends - step, ends)
        return np.asarray(ends)

    def directions(self, steps: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Directions (steps, p, n_chains) in the envelope's metric, and the models' moves."""
        p, n_chains = self._u.shape
        drawn = plane.directions(p, steps * n_chains, rng)
        moves = self._envelope.step(drawn, self._envelope.least_pad)
        first, second = (a.reshape(p, steps, n_chains).transpose(1, 0, 2) for a in (drawn, moves))
        return first, second

    def _chord(self, direction: FloatArray, move: FloatArray) -> FloatArray:
        along = inner(self._u, direction)
        root = np.sqrt(np.maximum(along**2 + self._outer**2 - inner(self._u, self._u), 0.0))
        low, high = self._target.problem.domain.chord(self.theta, move)
        low, high = np.maximum(-along - root, low), np.minimum(-along + root, high)
        return np.stack([np.minimum(low, 0.0), np.maximum(high, 0.0)])


def _expandable(problem: Problem, envelope: Envelope) -> ScoreRisk | None:
    """Loss whose derivatives bound it on a line; None if the envelope bounds each direction."""
    loss, bend = problem.objective.loss, getattr(problem.loss, "third_derivative", 0.0)
    if not (bend > 0 and isinstance(loss, ScoreRisk)):
        return None
    directed = envelope.bound.along(np.eye(problem.p, 1), np.ones(1)) is not None
    return None if directed else loss


_FLAT_SCORES = 1e-12  # of the largest curvature: along flatter directions no score changes
_MOST_DOUBLINGS = 60
_SHORTEST = 1e-12  # chord, relative to the ellipsoid's
_RAYS = 4  # of a model
_ENOUGH = 0.5  # of the rays as an effective sample size: otherwise chains move the models on
_MOVES = 6
_RAY_STEPS, _ON_BOUNDARY = 60, 1e-6  # Newton steps, and the error of the excess that ends them


@one_blas_thread()
def uniform_models(problem: Any, psi: float, n_models: int, rng: np.random.Generator) -> FloatArray:
    """Models (n_models, p) of {L ≤ min L + ψ} for any L with a Hessian (curator).

    The set is star-shaped around its best model: of rays in random directions one is taken with a
    chance as its length^rank, and a share U^(1/rank) of it. Where few rays have most of the chance,
    a few steps of hit-and-run set the models apart.
    """
    best = problem.minimum
    level = best.value + psi
    curvature, vectors = np.linalg.eigh(problem.hessian(best.theta))
    bent = curvature > _FLAT_SCORES * curvature[-1]
    metric = vectors[:, bent] * math.sqrt(2 * psi) / np.sqrt(curvature[bent])
    rank = metric.shape[1]

    def draw_moves(count: int) -> FloatArray:
        normal = rng.standard_normal((rank, count))
        return np.asarray(metric @ (normal / np.linalg.norm(normal, axis=0)))

    moves = draw_moves(_RAYS * n_models)
    lengths = ray_lengths(problem, psi, moves)
    chances = np.exp(rank * (np.log(lengths) - np.log(lengths.max())))
    chances /= chances.sum()
    ticks = (np.arange(n_models) + rng.random()) / n_models
    rays = np.minimum(np.searchsorted(np.cumsum(chances), ticks), len(chances) - 1)
    shares = rng.random(n_models) ** (1 / rank) * lengths[rays]
    theta = best.theta[:, None] + shares * moves[:, rays]
    if 1 / (chances @ chances) >= _ENOUGH * len(chances):
        return theta.T

    def beyond(move: FloatArray, sign: float) -> FloatArray:
        """Double t until it is outside on every line."""
        end = np.full(n_models, sign)
        for _ in range(_MOST_DOUBLINGS):
            within = np.asarray(problem.value(theta + end * move) <= level)
            if not within.any():
                break
            end = np.where(within, 2 * end, end)
        return end

    with tally(_MOVES, "models of the set") as done:
        for step in range(_MOVES):
            move = draw_moves(n_models)
            lines = Intervals(beyond(move, -1.0), beyond(move, 1.0), _SHORTEST)
            going = np.arange(n_models)
            while len(going):
                lines.place(going, rng.random(n_models)[going])
                points = theta[:, going] + lines.t[going] * move[:, going]
                going = lines.shorten(going[~np.asarray(problem.value(points) <= level)])
            theta = theta + lines.t * move
            done(step + 1)
    return theta.T


def ray_lengths(problem: Any, psi: float, moves: FloatArray) -> FloatArray:
    """Largest t (K,) of models θ* + t·move of the set, by Newton steps from outside."""
    best, lengths = problem.minimum, np.ones(moves.shape[1])
    going = np.arange(len(lengths))
    for _ in range(_RAY_STEPS):
        theta = best.theta[:, None] + lengths[going] * moves[:, going]
        value, gradient = problem.value_and_gradient(theta)
        excess, slope = value - best.value, inner(gradient, moves[:, going])
        done = np.abs(excess - psi) <= _ON_BOUNDARY * psi
        inside = np.minimum(psi / np.maximum(excess, psi), 1.0)  # by convexity
        step = (excess - psi) / np.maximum(slope, 1e-300)
        longest = 2 * lengths[going]
        new = np.where(done, lengths[going] * inside, np.minimum(lengths[going] - step, longest))
        lengths[going] = np.where(new > 0, new, lengths[going] / 2)
        going = going[~done]
        if not len(going):
            break
    return lengths


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
