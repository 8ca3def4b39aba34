"""Proposals of exact rejection, and the stream of those that passed all tests without rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.mechanisms.rejection import ellipsoid_minorant, quadratic_minorant
from rashomon_explorer.mechanisms.rejection import plane as planes
from rashomon_explorer.mechanisms.rejection.envelope import Envelope, Tangent, parts
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.chunked import loss_kind
from rashomon_explorer.problem.lower_bounds import has_envelope
from rashomon_explorer.problem.lower_bounds.quadratic import BOWLS
from rashomon_explorer.problem.lower_bounds.smooth import LARGEST_SPECTRUM
from rashomon_explorer.problem.problem import SAMPLE, Problem


@dataclass(frozen=True)
class Face:
    """Depth a = pull·θ + offset below a face of the domain, on which it is nonnegative."""

    pull: FloatArray  # (p,)
    offset: float
    gap: float  # upper bound on a − pull·h over the domain
    deepest: float  # upper bound on a over the domain

    @classmethod
    def of(cls, problem: Problem, tangent: Tangent) -> "Face":
        """Face of the tangent's pull."""
        offset = tangent.gap - float(tangent.pull @ problem.minimum.theta)
        deepest = float(problem.domain.support(tangent.pull[:, None])[0]) + offset
        return cls(tangent.pull, offset, tangent.gap, deepest)

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume, across the face, of the models with a depth in [0, 1]."""
        return -0.5 * math.log(float(self.pull @ self.pull))

    def place(self, depth: FloatArray) -> FloatArray:
        """Models (p, K) at the depths (K,), nearest to the origin."""
        return np.outer(self.pull / (self.pull @ self.pull), depth - self.offset)


_PAD_EXPONENTS = range(-6, 3)
_STEEP = 0.3  # times the curvature's standard deviation, squared: tried from 0.01 to 1


class Proposal(Protocol):
    """Density exp(−energy) on models, at least the target's, with a known mass."""

    @property
    def log_mass(self) -> float:
        """Logarithm of the integral of exp(−energy)."""
        ...

    @property
    def pad(self) -> float:
        """Pad of the envelope that the energy is taken from."""
        ...

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw models (p, K) and their energies (K,), K ≤ size."""
        ...


class UniformProposal:
    """Uniform law on the domain, for temperatures at which the loss hardly matters."""

    def __init__(self, target: GibbsTarget, pad: float = 0.0) -> None:
        self._p, self._domain = target.problem.p, target.problem.domain
        self._part, self._shift = min(
            parts(self._domain), key=lambda part: part[0].log_volume_bound(self._p)
        )
        self.pad = pad
        self.log_mass = self._part.log_volume_bound(self._p)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw models (p, K), with zeros (K,) as energies."""
        theta = self._part.uniform(self._p, size, rng)
        if self._part is not self._domain:
            theta = theta + np.reshape(self._shift, (-1, 1))
            theta = theta[:, self._domain.contains(theta)]
        return theta, np.zeros(theta.shape[1])


class RadialProposal:
    """Radial law around the minimiser in the metric of the Lagrangian, padded."""

    def __init__(self, target: GibbsTarget, envelope: Envelope, pad: float) -> None:
        self._p, self._domain = target.problem.p, target.problem.domain
        self._target = target
        self._envelope = envelope
        self.pad = pad
        self._law = planes.RadialLaw(self._energy, self._p, envelope.furthest(pad))
        sphere = math.log(self._p) + planes.log_ball_volume(self._p)
        self._halved = envelope.multiplier > 0 and isinstance(self._domain, Ball)
        halved = math.log(2) if self._halved else 0.0
        self.log_mass = self._law.log_mass + sphere + envelope.log_volume(pad) - halved

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw models (p, K) inside the domain and their energies (K,)."""
        radius = self._law.sample(size, rng)
        step = self._envelope.step(planes.directions(self._p, size, rng) * radius, self.pad)
        if self._halved:
            # From a point of the sphere every feasible step points inwards. The proposal is
            # symmetric, so reversing the other steps keeps its law on that half-space.
            step *= np.where(self._envelope.centre @ step > 0, -1.0, 1.0)
        theta = self._envelope.centre[:, None] + step
        inside = self._domain.contains(theta)
        return theta[:, inside], self._energy(radius[inside])

    def _energy(self, radius: FloatArray) -> FloatArray:
        return self._target.energy(self._envelope.radial(radius, self.pad))


class FaceProposal:
    """Radial law around the minimiser in the depth below a face and directions along it."""

    def __init__(self, target: GibbsTarget, envelope: Envelope, face: Face, pad: float) -> None:
        self._target, self._envelope, self._face = target, envelope, face
        self.pad = pad
        self._size = target.problem.p + 1
        metric = (envelope.vectors * (envelope.curvature + pad)) @ envelope.vectors.T
        along = np.linalg.svd(face.pull[None, :])[2][1:].T
        curvature, turn = np.linalg.eigh(along.T @ metric @ along)
        # The columns along the face are orthonormal in the metric.
        self._along = along @ (turn / np.sqrt(curvature))
        self._tilt = self._along.T @ metric
        furthest = math.sqrt(envelope.furthest(pad) ** 2 + 2 * face.deepest)
        self._law = planes.RadialLaw(self._energy, self._size, furthest)
        sphere = math.log(self._size) + planes.log_ball_volume(self._size)
        self.log_mass = (
            self._law.log_mass
            + sphere
            - math.log(2 * math.pi)
            - 0.5 * float(np.log(curvature).sum())
            + face.log_volume
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw models (p, K) inside the domain and their energies (K,)."""
        radius = self._law.sample(size, rng)
        point = planes.directions(self._size, size, rng) * radius
        base = self._face.place((point[0] ** 2 + point[1] ** 2) / 2)
        shortest = self._tilt @ (base - self._envelope.centre[:, None])
        theta = base + self._along @ (point[2:] - shortest)
        inside = self._target.problem.domain.contains(theta)
        return theta[:, inside], self._energy(radius[inside])

    def _energy(self, radius: FloatArray) -> FloatArray:
        return self._target.energy(self._envelope.radial(radius, self.pad, self._face.gap))


def tightest_proposal(target: GibbsTarget, envelope: Envelope) -> Proposal:
    """Proposal of least mass: uniform, or radial with the best pad, with or without a face."""
    scale = target.problem.p / (target.beta * envelope.longest_step**2)
    tried = [envelope.least_pad, *(scale * 2.0**k for k in _PAD_EXPONENTS)]
    pads = [pad for pad in tried if pad >= envelope.least_pad]
    proposals: list[Proposal] = [UniformProposal(target, envelope.least_pad)]
    proposals += [RadialProposal(target, envelope, pad) for pad in pads]
    # Whether the slope of the pull matters at the scale of the draws' spread.
    spread = target.psi + target.problem.p / target.beta
    metric = envelope.curvature + envelope.least_pad
    square = float(((envelope.tangent.pull @ envelope.vectors) ** 2 / metric).sum())
    if square * target.problem.p > _STEEP * spread:
        face = Face.of(target.problem, envelope.tangent)
        proposals += [FaceProposal(target, envelope, face, pad) for pad in pads]
    return min(proposals, key=lambda proposal: proposal.log_mass)


Floor = Callable[[FloatArray], FloatArray]

_PROPOSAL_CELLS = 2**17  # proposals × parameters in a chunk
_ROUNDING = 1e-6
_PILOT = (16, 64)  # fewest and most models on which a share is estimated
_SURE = 4.0  # kept models by which a share is known well enough
_FEW = 20  # draws: the default number of a fit
_SEARCH = 8  # typical number of steps, and of evaluations along a line, to find a bowl
_PARABOLAS, _LAWS = 300, 2 * 10**6  # operations for a row's parabolas, and for a bowl's laws
MOST_AHEAD = 8192  # proposals in a chunk, and so the largest number that is not judged yet
_PROPOSING = 4.0  # work for a proposal, in units of p², which is p/n of a loss
_PRODUCTS = 0.2  # time of an operation of a matrix product, in units of a row's in a look
_MOST_CHUNKS = 16  # keeps the Stop button responsive if all proposals are rejected


class Candidates:
    """Stream of independent models with density exp(−energy of a certified floor)."""

    def __init__(self, target: GibbsTarget) -> None:
        self.target = target
        under = planes.plane_proposals(target)
        # With the uniform law among them the mass is at most the domain's volume, for all rows: a
        # public bound on how often a proposal is kept (docs/theory.md §3).
        candidates: list[Proposal] = [*under, UniformProposal(target)]
        self._proposal = min(candidates, key=lambda one: one.log_mass)
        self._floors: list[Floor] = [plane.floor for plane in under]
        self._sharper: Floor | None = None
        self._near: ellipsoid_minorant.EllipsoidProposal | None = None
        self._blocks: ellipsoid_minorant.RowBlocks | None = None
        self._judged, self._wasted = 0, 0.0
        self._chunk = int(np.clip(_PROPOSAL_CELLS // target.problem.p, 256, MOST_AHEAD))
        self._forget()
        if bowl_pays(self) and math.isfinite(target.problem.constants.M):
            self._near, self._blocks = ellipsoid_minorant.ellipsoid_proposal(target)
            self._add(self._near, self._near.floor)
        if bowl_pays(self):
            self._add(bowl := quadratic_minorant.least_bowl(target, under[0].plane), bowl.floor)
        if envelope_pays(self):
            self._add_envelope()

    def _forget(self) -> None:
        self._theta, self._floor = np.empty((self.target.problem.p, 0)), np.empty(0)

    def _add_envelope(self) -> None:
        envelope = Envelope.of(self.target)
        tightest = tightest_proposal(self.target, envelope)
        self._add(tightest, partial(envelope.floor, pad=tightest.pad))
        self._sharper, self._blocks = envelope.sharper_floor, None
        self._forget()

    def judge(
        self, theta: FloatArray, floor: FloatArray, rng: np.random.Generator, *, whole: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Accept some of the models (p, K) by their losses; return these with their losses.

        With ``whole`` every model is evaluated on all rows, and compared with its bound ``floor``.
        """
        target = self.target
        most = target.energy(floor) - np.log1p(-rng.random(len(floor)))
        index, looks = np.arange(len(floor)), float(len(floor))
        if self._near is None or self._blocks is None or whole:
            losses = target.problem.value(theta)
        else:
            early = self._near.contains(theta)
            index, losses, looks = self._blocks.evaluate(target, theta, most, early)
        # A model may lie below the numerical minimum, by no more than its certified gap.
        excess = np.maximum(losses - target.problem.minimum.value, 0.0)
        if (floor[index] > excess).any():
            raise EnvelopeError(
                "a loss lies below its certified bound: the draws would not be exact; please "
                "report the problem's n, p and settings"
            )
        keep = target.energy(excess) <= most[index]
        self._judged += len(floor)
        self._wasted += looks - int(keep.sum())
        return theta[:, index[keep]], losses[keep]

    def accepts_less(self, share: float) -> bool:
        """Whether the loss accepts less than a share of what it costs to find candidates."""
        if share > 1:
            return True
        self._propose(generator(0))
        pilot = int(np.clip(_SURE / share, *_PILOT))
        theta, floor, many = self._theta[:, :pilot], self._floor[:pilot], len(self._floor)
        self._forget()
        if not many:
            return True
        excess = np.maximum(self.target.excess(theta), 0.0)
        accepted = np.exp(self.target.energy(floor) - self.target.energy(excess)).mean()
        problem = self.target.problem
        proposing = self._chunk / many * _PROPOSING * problem.p / problem.n
        return bool(accepted < share * (1 + proposing))

    def _add(self, proposal: Proposal, floor: Floor) -> None:
        """Thin by one more floor, and propose from the law below it if that has less mass."""
        self._floors.append(floor)
        self._proposal = min([self._proposal, proposal], key=lambda one: one.log_mass)

    def take(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, int]:
        """Return at most ``size`` models (p, k), lower bounds (k,), and the number proposed."""
        if self._sharper is None and envelope_pays_by_now(self, self._judged, self._wasted):
            self._add_envelope()
        proposed = 0
        while len(self._floor) < size and proposed < _MOST_CHUNKS * self._chunk:
            self._propose(rng)
            proposed += self._chunk
        batch = self._theta[:, :size], self._floor[:size], proposed
        self._theta, self._floor = self._theta[:, size:], self._floor[size:]
        return batch

    def _propose(self, rng: np.random.Generator) -> None:
        target = self.target
        theta, energy = self._proposal.draw(self._chunk, rng)
        floor = np.max([floor(theta) for floor in self._floors], axis=0)
        certified = target.energy(floor)
        if (energy > certified + _ROUNDING * (1 + certified)).any():
            raise EnvelopeError(
                "a proposal's energy lies above the certified one: the draws would not be exact; "
                "please report the problem's n, p, domain and settings"
            )
        keep = accept(energy - certified, rng)
        theta, floor = theta[:, keep], floor[keep]
        if self._sharper is not None:
            sharper = np.maximum(self._sharper(theta), floor)
            keep = accept(target.energy(floor) - target.energy(sharper), rng)
            theta, floor = theta[:, keep], sharper[keep]
        self._theta = np.hstack([self._theta, theta])
        self._floor = np.concatenate([self._floor, floor])


def bowl_pays(candidates: Candidates) -> bool:
    """Whether a bowl costs less than reading the rows for models that the loss rejects."""
    problem = candidates.target.problem
    n, p = problem.n, problem.p
    if p < 2 or loss_kind(problem.evaluator().loss) not in BOWLS:
        return False
    passes = n + _SEARCH * min(n, SAMPLE)
    work = passes * (p**2 + _PARABOLAS) + _SEARCH**2 * (p**3 + _LAWS)
    return candidates.accepts_less(_FEW * n * p / work)


def envelope_pays(candidates: Candidates) -> bool:
    """Whether an envelope costs less than reading the rows for models that the loss rejects."""
    once, _ = _envelope_looks(candidates.target)
    return math.isfinite(once) and candidates.accepts_less(_FEW / once)


def envelope_pays_by_now(candidates: Candidates, judged: int, wasted: float) -> bool:
    """Whether rejected models have taken more looks at the rows than an envelope takes.

    Draws after an envelope is added have the same law: each has it whatever came before it.
    """
    once, each = _envelope_looks(candidates.target)
    return wasted > max(once, judged * each)


def _envelope_looks(target: GibbsTarget) -> tuple[float, float]:
    """Return the looks at the rows that an envelope takes, and its sharper floor for a model."""
    problem = target.problem
    if not has_envelope(problem.evaluator().loss) or not math.isfinite(problem.constants.M):
        return math.inf, math.inf
    pairs = min(problem.p, LARGEST_SPECTRUM) * (min(problem.p, LARGEST_SPECTRUM) + 1) / 2
    look = problem.n * problem.p / _PRODUCTS
    return (problem.n * pairs**2 + pairs**3) / look, pairs**2 / look


def accept(log_ratio: FloatArray, rng: np.random.Generator) -> Mask:
    """Outcomes (K,) of independent coins with log probabilities ``log_ratio`` (K,) ≤ 0."""
    return np.asarray(np.log1p(-rng.random(len(log_ratio))) <= log_ratio)
