"""Proposals below a quadratic minorant of the loss."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import xlogy

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.rejection import plane
from rashomon_explorer.mechanisms.rejection.envelope import ball_around
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses.base import EmpiricalLoss
from rashomon_explorer.problem.lower_bounds.quadratic import Bowl, Where, bowl_under
from rashomon_explorer.problem.problem import SAMPLE, Problem
from rashomon_explorer.problem.thresholds import Threshold

# Candidate positions of the tangent, in units of the squared radius.
_PLACES = np.append(np.geomspace(1e-6, 0.45, 20), 1 - np.geomspace(0.5, 1e-7, 28))
_FLAT = 1e-9  # per direction: a smaller precision has no effect on a ball of the radius
_SLACK = 1e-9  # added to the bound: logarithms have a relative error of about 1e-13


@dataclass(frozen=True)
class Rest:
    """Weight of the d directions without a pull, which share one precision."""

    d: int
    precision: float
    square: float

    def log_weight(self, used: FloatArray) -> FloatArray:
        """Log of ∫ exp(−½·precision·‖s‖²) ds, ‖s‖² ≤ square − used: concave in ``used`` (K,)."""
        room = np.maximum(self.square - used, 0.0)
        if not self.precision:
            return np.asarray(xlogy(self.d / 2, room) + plane.log_ball_volume(self.d))
        log_total = self.d / 2 * math.log(2 * math.pi / self.precision)
        return log_total + plane.log_chi_square_below(self.d, self.precision * room)

    def steepness(self, used: FloatArray) -> FloatArray:
        """Minus twice the derivative (K,) of ``log_weight``, for ``used`` (K,) below ``square``."""
        room = self.square - used
        if not self.precision:
            return np.asarray(self.d / room)
        a, y = self.d / 2, self.precision * room
        log_density = (a - 1) * np.log(y / 2) - y / 2 - math.lgamma(a) - math.log(2)
        below = plane.log_chi_square_below(self.d, y)
        return np.asarray(2 * self.precision * np.exp(log_density - below))

    def lengths(self, used: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the lengths (K,) of the rest given ``used`` (K,), exactly."""
        room = np.maximum(self.square - used, 0.0)
        if not self.precision:
            return np.asarray(np.sqrt(room) * rng.random(len(room)) ** (1 / self.d))
        values = plane.cut_chi_square(self.d, self.precision * room, rng) / self.precision
        return np.sqrt(np.minimum(values, room))


class CutNormal:
    """Density exp(−pull·t − ½Σ precision_j t_j² − ½·rest·‖s‖²) on ‖t‖² + ‖s‖² ≤ radius²."""

    def __init__(
        self, pull: FloatArray, precision: FloatArray, d: int, rest: float, radius: float
    ) -> None:
        square = radius**2
        self._rest = Rest(d, rest if rest * square > _FLAT * d else 0.0, square)
        used = _PLACES * square
        tilt = self._rest.steepness(used)
        # One row for each position of the tangent.
        precisions = precision + tilt[:, None]
        masses = self._rest.log_weight(used) + tilt * used / 2
        masses += (pull**2 / precisions - np.log(precisions)).sum(axis=1) / 2
        best = int(np.argmin(masses))
        self._used, self.tilt = float(used[best]), float(tilt[best])
        self._top = float(self._rest.log_weight(used[best : best + 1])[0]) + _SLACK
        self._precision = precisions[best]
        self._middle = -pull / self._precision
        self.log_mass = float(masses[best]) + len(pull) / 2 * math.log(2 * math.pi) + _SLACK

    @property
    def middle(self) -> FloatArray:
        """Mean (k,) of t before thinning."""
        return self._middle

    @property
    def variances(self) -> tuple[FloatArray, float]:
        """Variances (k,) of t before thinning, and an approximate one for each direction of s."""
        room = self._rest.square - min(self._used, float(self._middle @ self._middle))
        flat = room / (self._rest.d + 2)
        bent = 1 / self._rest.precision if self._rest.precision else math.inf
        return 1 / self._precision, min(flat, bent)

    def sample(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw exact t (k, K) and lengths of s (K,), K ≤ size: those kept of ``size`` proposals."""
        noise = rng.standard_normal((len(self._middle), size))
        t = self._middle[:, None] + noise / np.sqrt(self._precision)[:, None]
        used = np.einsum("ij,ij->j", t, t)
        inside = used < self._rest.square
        t, used = t[:, inside], used[inside]
        tangent = self._top - self.tilt / 2 * (used - self._used)
        log_ratio = self._rest.log_weight(used) - tangent
        if (log_ratio > 0).any():
            raise EnvelopeError(
                f"a log weight lies {log_ratio.max():.2e} above its tangent: the draws would not "
                "be exact; please report the settings"
            )
        keep = np.log1p(-rng.random(len(log_ratio))) <= log_ratio
        t, used = t[:, keep], used[keep]
        return t, self._rest.lengths(used, rng)


_ROUNDING = 1e-13  # of the largest value: sums of n terms have an error of about 1e-15 of it
LOWERED = 1e-12  # of the largest bend, subtracted from every bend: error of the eigenvectors
_COUNTS = sorted({int(1.35**k) for k in range(24)})  # candidate numbers of separate directions
_SHARES = (1.0, 0.8, 0.6, 0.45, 0.33, 0.22, 0.15, 0.1)  # of β, for a bowl below a threshold
_STEPS = 12
_ALONG = (0.5, 0.25, 0.1, 0.03)  # of the distance to another bowl, tried while the mass falls
_ENOUGH = 0.05  # nats of mass that a step must save to continue


@dataclass(frozen=True)
class Simpler:
    """A quadratic below a bowl, in its eigenvectors, with few separate bends."""

    height: float
    pulls: FloatArray
    bends: FloatArray
    last: FloatArray

    @classmethod
    def of(
        cls, height: float, pulls: FloatArray, bends: FloatArray, apart: int, tilt: float
    ) -> "Simpler":
        """Simplify a bowl with ``pulls`` and decreasing ``bends`` (p,)."""
        least = bends[-1]
        more = bends[apart:] - least
        middle = -pulls[apart:] / (bends[apart:] + tilt)
        rest = pulls[apart:] + more * middle
        steep = float(np.linalg.norm(rest))
        last = rest / steep if steep > 0 else np.eye(1, len(rest))[0]
        return cls(
            height - float(more @ middle**2) / 2,
            np.append(pulls[:apart], steep),
            np.append(bends[:apart], least),
            last,
        )

    def value(self, t: FloatArray, length: FloatArray) -> FloatArray:
        """Values (K,) at coordinates t (k + 1, K) and lengths (K,) of the rest."""
        bent = self.bends @ t**2 + self.bends[-1] * length**2
        return np.asarray(self.height + self.pulls @ t + bent / 2)


class BowlProposal:
    """Law with a bowl in place of the loss, on a ball around the domain (docs/theory.md §3)."""

    pad = 0.0

    def __init__(self, target: GibbsTarget, bowl: Bowl) -> None:
        self._target, self.bowl, p = target, bowl, target.problem.p
        self._radius, self._centre = ball_around(target.problem.domain, p)
        shifted = bowl.relative_to(self._centre)
        bends, vectors = np.linalg.eigh(shifted.bend)
        lowered = bends[::-1] - LOWERED * np.abs(bends).max()
        self._height, self._bends = shifted.height, np.maximum(lowered, 0.0)
        self._vectors = vectors[:, ::-1]
        self._pulls = self._vectors.T @ shifted.slope
        apart, self._share = self._least()
        self._constant = _constant_of(target, self._share)
        self._simpler, self._law = self._law_of(apart, self._share)
        self.log_mass = self._log_mass(apart, self._share)
        last = self._vectors[:, apart:] @ self._simpler.last
        self._basis = np.column_stack([self._vectors[:, :apart], last])

    @property
    def mean(self) -> FloatArray:
        """Approximate mean (p,) of the law."""
        return self._centre + self._basis @ self._law.middle

    @property
    def covariance(self) -> FloatArray:
        """Approximate covariance (p, p) of the law."""
        bent, flat = self._law.variances
        identity = np.eye(len(self._centre))
        return flat * identity + (self._basis * (bent - flat)) @ self._basis.T

    def floor(self, theta: FloatArray) -> FloatArray:
        """Lower bound (K,) on the excess of models (p, K)."""
        return np.maximum(self.bowl.value(theta), 0.0)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw models (p, K) inside the domain and their energies (K,), K ≤ size."""
        t, length = self._law.sample(size, rng)
        rest = rng.standard_normal((len(self._centre), len(length)))
        rest -= self._basis @ (self._basis.T @ rest)
        rest *= length / np.linalg.norm(rest, axis=0)
        theta = self._centre[:, None] + self._basis @ t + rest
        energy = self._energy(t, length)
        inside = self._target.problem.domain.contains(theta)
        return theta[:, inside], energy[inside]

    def _energy(self, t: FloatArray, length: FloatArray) -> FloatArray:
        below = self._share * self._simpler.value(t, length) - self._constant
        return self._target.beta * below

    def _law_of(self, apart: int, share: float) -> tuple[Simpler, CutNormal]:
        """Simpler bowl and its law, in two passes: the first finds the effect of the ball."""
        steep, d = share * self._target.beta, len(self._centre) - apart - 1
        tilt = len(self._centre) / self._radius**2
        for _ in range(2):
            bowl = Simpler.of(self._height, self._pulls, self._bends, apart, tilt / steep)
            bends = steep * bowl.bends
            law = CutNormal(steep * bowl.pulls, bends, d, float(bends[-1]), self._radius)
            tilt = law.tilt
        return bowl, law

    def _log_mass(self, apart: int, share: float) -> float:
        bowl, law = self._law_of(apart, share)
        below = share * bowl.height - _constant_of(self._target, share)
        return law.log_mass - self._target.beta * below

    def _least(self) -> tuple[int, float]:
        """Directions apart and share that minimise the mass, searched one after the other."""
        counts = [0, *(k for k in _COUNTS if k <= len(self._bends) - 2)]
        shares = _SHARES if self._target.psi > 0 else _SHARES[:1]
        apart = min(counts, key=lambda count: self._log_mass(count, 1.0))
        share = min(shares, key=lambda one: self._log_mass(apart, one))
        if share < 1:
            apart = min(counts, key=lambda count: self._log_mass(count, share))
        return apart, share


def _constant_of(target: GibbsTarget, share: float) -> float:
    """Least c with energy(v − ψ) ≥ share·v − c for losses v above the minimum."""
    highest = 1 + target.problem.L * target.problem.domain.diameter
    return _least_constant(target.shape, target.psi, highest, share)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _least_constant(shape: Threshold, psi: float, highest: float, share: float) -> float:
    def gentle(v: float) -> bool:
        return float(shape.slope(np.array([v]))[0]) <= share

    low = highest
    if share < 1 and not gentle(highest):
        low = bisect(gentle, 0.0, highest, halvings=60)
    high = low if low == highest else math.nextafter(low, math.inf) + 1e-15 * highest
    below = float(shape.energy(np.array([low]))[0])
    return share * (psi + high) - below


def least_bowl(target: GibbsTarget, under: plane.Plane) -> BowlProposal:
    """Proposal under a bowl with nearly the least mass."""
    problem = target.problem
    risk = problem.evaluator().loss
    few = risk if problem.n <= SAMPLE else problem.sample
    flat = Bowl(under.height, under.slope, under.ridge * np.eye(problem.p))
    best = _start(target, few, flat)
    for _ in range(_STEPS):
        candidate = _between(target, best, bowl_below(problem, few, _around(problem, best)))
        gain = best.log_mass - candidate.log_mass
        best = candidate if gain > 0 else best
        if gain < _ENOUGH:
            break
    if few is risk:
        return best
    start = BowlProposal(target, flat)
    return _between(target, start, bowl_below(problem, risk, _around(problem, best)))


def _start(target: GibbsTarget, risk: EmpiricalLoss, flat: Bowl) -> BowlProposal:
    problem, flat_proposal = target.problem, BowlProposal(target, flat)
    spread = problem.domain.radius**2 / (4 * (problem.p + 2))
    laws = [(flat_proposal.mean, spread), (problem.minimum.theta, 0.0)]
    radius, centre = ball_around(problem.domain, problem.p)
    sets = [Where(centre, radius, middle, wide * np.eye(problem.p)) for middle, wide in laws]
    bowls = [bowl_below(problem, risk, where) for where in sets]
    proposals = [flat_proposal, *(BowlProposal(target, bowl) for bowl in bowls)]
    return min(proposals, key=lambda one: one.log_mass)


def _around(problem: Problem, bowl: BowlProposal) -> Where:
    """Ball around the domain, and the law under a bowl."""
    radius, centre = ball_around(problem.domain, problem.p)
    return Where(centre, radius, bowl.mean, bowl.covariance)


def _between(target: GibbsTarget, here: BowlProposal, toward: Bowl) -> BowlProposal:
    best = BowlProposal(target, toward)
    for share in _ALONG:
        candidate = BowlProposal(target, here.bowl.towards(toward, share))
        if candidate.log_mass > best.log_mass:
            break
        best = candidate
    return best


def bowl_below(problem: Problem, risk: EmpiricalLoss, where: Where) -> Bowl:
    """Bowl below the loss minus its minimum, despite rounding, on a set around the draws."""
    return above_minimum(problem, bowl_under(risk, where), where)


def above_minimum(problem: Problem, bowl: Bowl, where: Where) -> Bowl:
    """Bowl of a mean loss with the ridge's penalty, less the minimum and the rounding errors."""
    far = where.ball + float(np.linalg.norm(where.centre))
    largest = 1 + problem.minimum.value + problem.L * problem.domain.diameter
    largest += far**2 * float(np.abs(bowl.bend).sum(axis=1).max())
    return bowl.plus(-problem.minimum.value - _ROUNDING * largest, problem.ridge)
