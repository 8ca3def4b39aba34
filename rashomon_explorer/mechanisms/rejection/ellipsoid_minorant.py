"""Proposals below a quadratic minorant on an ellipsoid, and losses evaluated rows by rows."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize_scalar

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.mechanisms.rejection import plane
from rashomon_explorer.mechanisms.rejection.envelope import ball_around
from rashomon_explorer.mechanisms.rejection.quadratic_minorant import LOWERED, above_minimum
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses.base import EmpiricalLoss, TableRows
from rashomon_explorer.problem.losses.scores import ScoreRisk
from rashomon_explorer.problem.lower_bounds.quadratic import Bowl, Where, bowl_under
from rashomon_explorer.problem.problem import Problem

_TAIL = 6.0  # nats of the radial density below its peak, beyond the ellipsoid of a bowl
_INFLATED = (1.2, 1.02)  # ellipsoids of the bowls, in units of what the last one needs
_PROPOSED = 2048  # models whose mean a bowl is fitted to
_MULTIPLIERS = (-8.0, 3.0)  # logarithms, in units of the largest pull or bend


class EllipsoidProposal:
    """Radial law around the centre of a bowl, a bound on an ellipsoid only (docs/theory.md §3)."""

    pad = 0.0

    def __init__(self, target: GibbsTarget, bowl: Bowl, where: Where | None = None) -> None:
        self._target, p = target, target.problem.p
        self._radius, self._ball = ball_around(target.problem.domain, p)
        shifted = bowl.relative_to(self._ball)
        bends, self._vectors = np.linalg.eigh(shifted.bend)
        bends = np.maximum(bends - LOWERED * np.abs(bends).max(), 0.0)
        pulls = self._vectors.T @ shifted.slope
        self._multiplier = least_multiplier(target, shifted.height, pulls, bends, self._radius)
        # In the eigenvectors, from the centre of the ball.
        self._curvature = bends + self._multiplier
        self._middle = -pulls / self._curvature
        drop = float(pulls @ self._middle) / 2 - self._multiplier / 2 * self._radius**2
        rounding = abs(shifted.height) + abs(drop) + float(bends.max()) * self._radius**2
        self._least = shifted.height + drop - LOWERED * rounding
        self._ends = float(self._curvature.max()), float(self._curvature.min())
        self._centre = self._ball + self._vectors @ self._middle
        level = outer_level(target, p)
        self._needed = math.sqrt(2 * max(level - self._least, 0.0))
        self._edge = self._needed
        if where is not None and where.axes is not None:
            # The largest radius of an ellipsoid in this metric that lies in the set of the bowl.
            away = np.linalg.solve(where.axes, self._centre - where.centre)
            stretch = np.linalg.solve(where.axes, self._vectors / np.sqrt(self._curvature))
            room = max(where.radius - float(np.linalg.norm(away)), 0.0)
            self._edge = room / (float(np.linalg.norm(stretch, 2)) * (1 + 1e-9))
        room = self._multiplier / 2 * (self._radius**2 - float(self._middle @ self._middle))
        self._inmost = float(target.excess(self._centre[:, None])[0]) - room
        furthest = self._radius + float(np.linalg.norm(self._middle))
        self._law = plane.RadialLaw(self._energy, p, furthest * math.sqrt(self._ends[0]))
        sphere = math.log(p) + plane.log_ball_volume(p)
        self.log_mass = self._law.log_mass + sphere - 0.5 * float(np.log(self._curvature).sum())

    def ellipsoid(self, inflated: float) -> Where:
        """Ellipsoid that has next to all the mass, inflated, and the law of the draws there."""
        theta = self.draw(_PROPOSED, np.random.default_rng(0))[0]
        mean = theta.mean(axis=1) if theta.shape[1] else self._centre
        axes = self._vectors / np.sqrt(self._curvature)
        covariance = (axes @ axes.T) * (self._needed**2 / len(mean))
        return Where(self._centre, inflated * self._needed, mean, covariance, axes)

    def contains(self, theta: FloatArray) -> Mask:
        """Whether the bowl is a bound at each model (p, K); shape (K,)."""
        return np.asarray(self._distance(theta) <= self._edge)

    def floor(self, theta: FloatArray) -> FloatArray:
        """Lower bound (K,) on the excess of models (p, K) of the domain."""
        away = theta - self._ball[:, None]
        depth = np.maximum(self._radius**2 - np.einsum("ij,ij->j", away, away), 0.0)
        distance = self._distance(theta)
        bent = self._multiplier / 2 * depth * (distance <= self._edge)
        return np.maximum(self._radial(distance) + bent, 0.0)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw models (p, K) inside the domain and their energies (K,), K ≤ size.

        The distance and the cosine with the centre bound the norm: most models that lie outside
        the ball, or deep inside it, are rejected before their other coordinates are drawn.
        """
        p, square = len(self._middle), self._radius**2
        distance = self._law.sample(size, rng)
        along = rng.standard_normal(size)
        cosine = along / np.sqrt(along**2 + rng.chisquare(p - 1, size))
        whitened = self._middle / np.sqrt(self._curvature)
        lever = float(np.linalg.norm(whitened))
        axis = whitened / lever if lever > 0 else np.eye(1, p)[0]
        norm = float(self._middle @ self._middle) + 2 * lever * distance * cosine
        shortest, longest = (norm + distance**2 / end for end in self._ends)
        deep = np.maximum(square - longest, 0.0) * (distance <= self._edge)
        radial = self._radial(distance)
        energy = self._target.energy(np.maximum(radial + self._multiplier / 2 * deep, 0.0))
        gain = energy - self._energy(distance)
        stays = (np.log1p(-rng.random(size)) <= -gain) & (shortest <= square * (1 + 1e-9))
        distance, cosine = distance[stays], cosine[stays]
        rest = rng.standard_normal((p, len(cosine)))
        rest -= np.outer(axis, axis @ rest)
        rest *= np.sqrt(1 - cosine**2) / np.sqrt(np.einsum("ij,ij->j", rest, rest))
        rest += np.outer(axis, cosine)
        rest *= distance
        at = self._middle[:, None] + rest / np.sqrt(self._curvature)[:, None]
        near = np.einsum("ij,ij->j", at, at) <= square * (1 + 1e-9)
        theta = self._ball[:, None] + self._vectors @ at[:, near]
        inside = self._target.problem.domain.contains(theta)
        return theta[:, inside], energy[stays][near][inside]

    def _distance(self, theta: FloatArray) -> FloatArray:
        at = self._vectors.T @ (theta - self._ball[:, None]) - self._middle[:, None]
        return np.asarray(np.sqrt(self._curvature @ at**2))

    def _radial(self, distance: FloatArray) -> FloatArray:
        edge = self._least + self._edge**2 / 2
        within = self._least + distance**2 / 2
        if edge < self._inmost:  # G may fall beyond the ellipsoid, and a radial law may not
            return np.where(distance <= self._edge, np.minimum(within, 0.0), 0.0)
        rise = (edge - self._inmost) / max(self._edge, 1e-300)
        beyond = np.maximum(edge + rise * (distance - self._edge), 0.0)
        return np.where(distance <= self._edge, within, beyond)

    def _energy(self, distance: FloatArray) -> FloatArray:
        return self._target.energy(np.maximum(self._radial(distance), 0.0))


def outer_level(target: GibbsTarget, p: int) -> float:
    """Excess v from which v^{p/2 − 1}·exp(−energy(v)) is ``_TAIL`` nats below its peak."""
    top = max(target.psi, p / (2 * target.beta))

    def is_outside(v: float) -> bool:
        fall = float(target.energy(np.array([v]))[0] - target.energy(np.array([top]))[0])
        return fall - p / 2 * math.log(v / top) > _TAIL

    high = 2 * top
    while not is_outside(high):
        high *= 2
    return bisect(is_outside, high, top, halvings=40)


def least_multiplier(
    target: GibbsTarget, height: float, pulls: FloatArray, bends: FloatArray, radius: float
) -> float:
    """Multiplier λ at which the radial law has about the least mass."""
    p = len(bends)
    level = max(target.psi, p / (2 * target.beta))
    scale = max(float(np.linalg.norm(pulls)) / radius, float(bends.max()), 1e-300)

    def log_mass(exponent: float) -> float:
        multiplier = scale * math.exp(exponent)
        curvature = bends + multiplier
        least = height - float(pulls**2 @ (1 / curvature)) / 2 - multiplier / 2 * radius**2
        room = max(level - least, p / (2 * target.beta))
        return p / 2 * math.log(room) - 0.5 * float(np.log(curvature).sum())

    search = minimize_scalar(log_mass, bounds=_MULTIPLIERS, method="bounded")
    return scale * math.exp(float(search.x))


def ellipsoid_proposal(target: GibbsTarget) -> tuple[EllipsoidProposal, "RowBlocks"]:
    """Proposal under a bowl that is fitted to the ellipsoid of the models that matter."""
    problem = target.problem
    theta = problem.minimum.theta
    gradient = problem.value_and_gradient(theta[:, None])[1][:, 0]
    bend = problem.hessian(theta)
    # Not a bound: the second-order expansion only finds the first ellipsoid.
    bent = bend @ theta
    expansion = Bowl(float(theta @ bent / 2 - gradient @ theta), gradient - bent, bend)
    proposal = EllipsoidProposal(target, expansion)
    for inflated in _INFLATED:
        where = proposal.ellipsoid(inflated)
        blocks = RowBlocks.of(problem, where)
        proposal = EllipsoidProposal(target, blocks.rest[0], where)
    return proposal, blocks


_BLOCKS, _BLOCK_ROWS = 8, 1024  # most blocks, and fewest rows of one


@dataclass(frozen=True)
class RowBlocks:
    """Losses of blocks of rows, and bowls below what the later blocks add to the excess."""

    losses: list[EmpiricalLoss]
    shares: list[float]  # of the rows
    rest: list[Bowl]  # before the first block, the second, …
    ridge: float

    @classmethod
    def of(cls, problem: Problem, where: Where) -> "RowBlocks":
        """Blocks of a problem's rows; one for losses that are no function of a score."""
        risk = problem.evaluator().loss
        losses: list[EmpiricalLoss] = [risk]
        count = min(_BLOCKS, problem.n // _BLOCK_ROWS)
        if isinstance(risk, ScoreRisk) and count > 1:
            cuts = np.linspace(0, problem.n, count + 1).astype(int).tolist()
            losses = []
            for part in (slice(*ends) for ends in pairwise(cuts)):
                offsets = None if risk.offsets is None else risk.offsets[part]
                losses.append(replace(risk, table=TableRows(risk.rows[part]), offsets=offsets))
        shares, rest = [loss.n / problem.n for loss in losses], list[Bowl]()
        height, slope, bend = 0.0, np.zeros(problem.p), np.zeros((problem.p, problem.p))
        for loss, share in zip(reversed(losses), reversed(shares), strict=True):
            bowl = bowl_under(loss, where)
            height += share * bowl.height
            slope, bend = slope + share * bowl.slope, bend + share * bowl.bend
            rest.insert(0, above_minimum(problem, Bowl(height, slope, bend), where))
        return cls(losses, shares, rest, problem.ridge)

    def evaluate(
        self, target: GibbsTarget, theta: FloatArray, most: FloatArray, early: Mask
    ) -> tuple[IntArray, FloatArray, float]:
        """Return the indices (k,) of models that may have energies of at most ``most``, and losses.

        Models are dropped as soon as the blocks so far and the bowl below the others show that
        their energy is larger, only where ``early`` (K,) says that the bowls are bounds. The last
        number is that of the looks at all rows.
        """
        open_ = np.arange(theta.shape[1])
        total, looks = np.zeros(len(open_)), 0.0
        for number, (loss, share) in enumerate(zip(self.losses, self.shares, strict=True)):
            if number:
                floor = np.maximum(total + self.rest[number].value(theta[:, open_]), 0.0)
                stays = (target.energy(floor) <= most[open_]) | ~early[open_]
                open_, total = open_[stays], total[stays]
            total = total + share * loss.value(theta[:, open_])
            looks += share * len(open_)
        rest = theta[:, open_]
        return open_, total + self.ridge / 2 * np.einsum("ij,ij->j", rest, rest), looks
