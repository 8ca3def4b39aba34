"""Proposals of exact rejection."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.mechanisms.rejection.envelope import Envelope, Tangent
from rashomon_explorer.mechanisms.rejection.neighbourhood import parts
from rashomon_explorer.mechanisms.rejection.plane import log_ball_volume
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball, Box, L1Ball, Simplex
from rashomon_explorer.problem.problem import Problem

_CELLS = 4096
_TAIL = 45.0  # nats below the peak; what lies beyond is sampled too, from coarse cells
_TAIL_CELLS = 64


class RadialLaw:
    """Law on [0, furthest] with density proportional to r^{p−1} exp(−energy(r))."""

    def __init__(self, energy: Callable[[FloatArray], FloatArray], p: int, furthest: float) -> None:
        self._energy = energy
        self._p = p
        edges = np.linspace(0.0, furthest, _CELLS + 1)
        for _ in range(2):
            edges = self._refined(edges)
        self._edges = edges
        self._upper = self._upper_log_density(edges)
        mass = np.exp(self._upper - self._upper.max()) * np.diff(edges)
        self._cumulative = np.cumsum(mass)

    @property
    def log_mass(self) -> float:
        """Logarithm of an upper bound of ∫ r^{p−1} exp(−energy(r)) dr, tight to the cells."""
        return float(self._upper.max() + np.log(self._cumulative[-1]))

    def log_density(self, radius: FloatArray) -> FloatArray:
        """Unnormalised log density at each radius > 0."""
        return (self._p - 1) * np.log(radius) - self._energy(radius)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Exact draws, ``size`` of them."""
        kept = np.empty(0)
        while len(kept) < size:
            kept = np.concatenate([kept, self._propose(size - len(kept) + 16, rng)])
        return kept[:size]

    def _propose(self, size: int, rng: np.random.Generator) -> FloatArray:
        place = rng.random(size) * self._cumulative[-1]
        last = len(self._cumulative) - 1
        cell = np.minimum(np.searchsorted(self._cumulative, place, side="right"), last)
        # 1 − U lies in (0, 1]: a radius of exactly 0 has no logarithm.
        low, high = self._edges[cell], self._edges[cell + 1]
        radius = low + (1.0 - rng.random(size)) * (high - low)
        log_ratio = self.log_density(radius) - self._upper[cell]
        return np.asarray(radius[np.log1p(-rng.random(size)) <= log_ratio])

    def _upper_log_density(self, edges: FloatArray) -> FloatArray:
        """Bound on each cell: the power at its right end, the energy at its left."""
        return (self._p - 1) * np.log(edges[1:]) - self._energy(edges[:-1])

    def _refined(self, edges: FloatArray) -> FloatArray:
        upper = self._upper_log_density(edges)
        heavy = np.flatnonzero(upper > upper.max() - _TAIL)
        low, high = edges[heavy[0]], edges[heavy[-1] + 1]
        pieces = [
            np.linspace(0.0, low, _TAIL_CELLS, endpoint=False) if low > 0 else np.empty(0),
            np.linspace(low, high, _CELLS, endpoint=False),
            np.linspace(high, edges[-1], _TAIL_CELLS) if high < edges[-1] else edges[-1:],
        ]
        return np.concatenate(pieces)


Steep = Callable[[FloatArray], Mask]

_LEAST_GAP = 1e-14


class Faces(Protocol):
    """Depths a (k,) below k faces, and models at given depths."""

    @property
    def normals(self) -> FloatArray:
        """Matrix (k, p) of full rank that is 0 exactly on the directions along all faces."""
        ...

    @property
    def gap(self) -> float:
        """Upper bound of Σ a − pull·h over the domain."""
        ...

    @property
    def deepest(self) -> float:
        """Upper bound of Σ a over the domain."""
        ...

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume, across the faces, of the models with depths in a unit cube."""
        ...

    def place(self, depths: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Models (p, K), one of those with the depths (k, K), of equal density for each."""
        ...


@dataclass(frozen=True)
class LinearFaces:
    """Depths a = normals·θ + offsets, each nonnegative on the domain."""

    normals: FloatArray  # (k, p): of full rank
    offsets: FloatArray  # (k,): support function of the domain, or of a set around it, at −normals
    # gap, deepest: see :class:`Faces`
    gap: float
    deepest: float

    @property
    def log_volume(self) -> float:
        """−½ log det of the normals' Gram matrix."""
        return -0.5 * float(np.linalg.slogdet(self.normals @ self.normals.T)[1])

    def place(self, depths: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Models (p, K) of the depths (k, K) nearest to the origin."""
        inverse = np.linalg.pinv(self.normals)
        return np.asarray(inverse @ (depths - self.offsets[:, None]))


@dataclass(frozen=True)
class CrossFaces:
    """Depths below the faces of an L1 ball that meet at a sparse minimiser."""

    pull: FloatArray  # (p,)
    zeros: Mask  # (p,): Z; |pull_j| < λ there
    radius: float  # R
    gap: float  # see :class:`Faces`

    @property
    def normals(self) -> FloatArray:
        """Rows e_j for j in Z, and pull on S."""
        return np.vstack([np.eye(len(self.pull))[self.zeros], np.where(self.zeros, 0, self.pull)])

    @property
    def deepest(self) -> float:
        """2λR: pull·θ is at most λR."""
        return 2 * self._largest * self.radius

    @property
    def log_volume(self) -> float:
        """Both sides of every zero count: Σ log(1/(λ + pull_j) + 1/(λ − pull_j)) − log‖pull_S‖."""
        across = np.linalg.norm(self.pull[~self.zeros])
        return float(np.log(sum(1 / self._slopes)).sum() - np.log(across))

    def place(self, depths: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Models (p, K) of the depths (k, K), those of Z first, on sides chosen at random."""
        up, down = self._slopes[:, :, None]
        positive = rng.random((len(depths) - 1, depths.shape[1])) * (1 / up + 1 / down) < 1 / up
        zeros = np.where(positive, depths[:-1] / up, -depths[:-1] / down)
        rest = depths[-1] - self._largest * (self.radius - np.abs(zeros).sum(axis=0))
        others = self.pull[~self.zeros]
        theta = np.empty((len(self.pull), depths.shape[1]))
        theta[self.zeros] = zeros
        theta[~self.zeros] = others[:, None] * (rest / (others @ others))
        return theta

    @property
    def _largest(self) -> float:
        return float(np.abs(self.pull).max())

    @property
    def _slopes(self) -> FloatArray:
        """λ + pull_j and λ − pull_j for j in Z, shape (2, |Z|)."""
        inner = self.pull[self.zeros]
        return self._largest + np.vstack([inner, -inner])


def faces_of(problem: Problem, tangent: Tangent, steep: Steep) -> Iterator[Faces]:
    """Ways to see the pull as depths below faces."""
    if not steep(tangent.pull[None, :])[0]:
        return
    for part, _ in parts(problem.domain):
        if type(part) in _SPLITS:
            yield from _SPLITS[type(part)](part, problem.minimum.theta, tangent.pull, steep)
    theta = problem.minimum.theta
    offset = tangent.gap - float(tangent.pull @ theta)
    width = float(problem.domain.support(tangent.pull[:, None])[0]) + offset
    yield LinearFaces(tangent.pull[None, :], np.array([offset]), tangent.gap, width)


def _linear(
    part: Box | Simplex, theta: FloatArray, pull: FloatArray, normals: FloatArray
) -> LinearFaces:
    """Depths below faces of a set with these normals, whatever is left of the pull ignored."""
    rest = pull - normals.sum(axis=0)
    pulls = np.vstack([normals, rest]).T
    offsets = part.support(-pulls)
    gap = float((pulls.T @ theta + offsets).sum()) + _LEAST_GAP * float(np.abs(pull).sum())
    deepest = float((part.support(pulls) + offsets)[:-1].sum())
    return LinearFaces(normals, offsets[:-1], max(gap, 0.0), deepest)


def _box_faces(part: Box, theta: FloatArray, pull: FloatArray, steep: Steep) -> Iterator[Faces]:
    normals = np.diag(pull)
    chosen = steep(normals)
    if chosen.any():
        yield _linear(part, theta, pull, normals[chosen])


def _simplex_faces(
    part: Simplex, theta: FloatArray, pull: FloatArray, steep: Steep
) -> Iterator[Faces]:
    top = max(0.0, -float(pull.min()))  # multiplier of the largest sum
    normals = np.vstack([np.diag(pull + top), np.full((1, len(pull)), -top)])
    chosen = steep(normals)
    if chosen.any():
        yield _linear(part, theta, pull, normals[chosen])


def _cross_faces(
    part: L1Ball, theta: FloatArray, pull: FloatArray, steep: Steep
) -> Iterator[Faces]:
    largest = float(np.abs(pull).max())
    zeros = steep(np.diag(largest - np.abs(pull)))
    gap = float(pull @ theta) + largest * part.radius + _LEAST_GAP * largest * len(pull)
    yield CrossFaces(pull, zeros, part.radius, max(gap, 0.0))


_SPLITS: dict[type, Callable[[Any, FloatArray, FloatArray, Steep], Iterator[Faces]]] = {
    Box: _box_faces,
    Simplex: _simplex_faces,
    L1Ball: _cross_faces,
}


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
        """Models (p, K) and their energies (K,), K ≤ size."""
        ...


class UniformProposal:
    """Uniform on the domain: for temperatures at which the loss hardly matters."""

    def __init__(self, target: GibbsTarget, pad: float = 0.0) -> None:
        self._p, self._domain = target.problem.p, target.problem.domain
        self._part, self._shift = min(
            parts(self._domain), key=lambda part: part[0].log_volume_bound(self._p)
        )
        self.pad = pad
        self.log_mass = self._part.log_volume_bound(self._p)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Models (p, K) and zeros (K,)."""
        theta = self._part.uniform(self._p, size, rng)
        if self._part is not self._domain:
            theta = theta + np.reshape(self._shift, (-1, 1))
            theta = theta[:, self._domain.contains(theta)]
        return theta, np.zeros(theta.shape[1])


class RadialProposal:
    """Radial around the minimiser in the metric of the Lagrangian, padded."""

    def __init__(self, target: GibbsTarget, envelope: Envelope, pad: float) -> None:
        self._p, self._domain = target.problem.p, target.problem.domain
        self._target = target
        self._envelope = envelope
        self.pad = pad
        self._law = RadialLaw(self._energy, self._p, envelope.furthest(pad))
        sphere = math.log(self._p) + log_ball_volume(self._p)
        self._halved = envelope.multiplier > 0 and isinstance(self._domain, Ball)
        halved = math.log(2) if self._halved else 0.0
        self.log_mass = self._law.log_mass + sphere + envelope.log_volume(pad) - halved

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Models (p, K) inside the domain and their energies (K,)."""
        radius = self._law.sample(size, rng)
        step = self._envelope.step(_directions(self._p, size, rng) * radius, self.pad)
        if self._halved:
            # From a point of the sphere every feasible step points inwards; the proposal is
            # symmetric, so turning the others round keeps its law on that half-space.
            step *= np.where(self._envelope.centre @ step > 0, -1.0, 1.0)
        theta = self._envelope.centre[:, None] + step
        inside = self._domain.contains(theta)
        return theta[:, inside], self._energy(radius[inside])

    def _energy(self, radius: FloatArray) -> FloatArray:
        return self._target.energy(self._envelope.radial(radius, self.pad))


class FaceProposal:
    """Radial around the minimiser in depths below faces and whitened directions along them."""

    def __init__(self, target: GibbsTarget, envelope: Envelope, faces: Faces, pad: float) -> None:
        self._target, self._envelope, self._faces = target, envelope, faces
        self.pad = pad
        self._k = len(faces.normals)
        self._size = target.problem.p + self._k
        metric = (envelope.vectors * (envelope.curvature + pad)) @ envelope.vectors.T
        along = np.linalg.svd(faces.normals)[2][self._k :].T
        curvature, turn = np.linalg.eigh(along.T @ metric @ along)
        # Columns of length 1 in the metric, orthogonal in it, along the faces.
        self._along = along @ (turn / np.sqrt(curvature))
        self._tilt = self._along.T @ metric
        furthest = math.sqrt(envelope.furthest(pad) ** 2 + 2 * faces.deepest)
        self._law = RadialLaw(self._energy, self._size, furthest)
        sphere = math.log(self._size) + log_ball_volume(self._size)
        self.log_mass = (
            self._law.log_mass
            + sphere
            - self._k * math.log(2 * math.pi)
            - 0.5 * float(np.log(curvature).sum())
            + faces.log_volume
        )

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Models (p, K) inside the domain and their energies (K,)."""
        radius = self._law.sample(size, rng)
        point = _directions(self._size, size, rng) * radius
        pairs, rest = point[: 2 * self._k], point[2 * self._k :]
        depths = (pairs[: self._k] ** 2 + pairs[self._k :] ** 2) / 2
        base = self._faces.place(depths, rng)
        shortest = self._tilt @ (base - self._envelope.centre[:, None])
        theta = base + self._along @ (rest - shortest)
        inside = self._target.problem.domain.contains(theta)
        return theta[:, inside], self._energy(radius[inside])

    def _energy(self, radius: FloatArray) -> FloatArray:
        return self._target.energy(self._envelope.radial(radius, self.pad, self._faces.gap))


def tightest_proposal(target: GibbsTarget, envelope: Envelope) -> Proposal:
    """Proposal of least mass: uniform, or a radial one with the best pad, with faces or without."""
    scale = target.problem.p / (target.beta * envelope.longest_step**2)
    tried = [envelope.least_pad, *(scale * 2.0**k for k in _PAD_EXPONENTS)]
    pads = [pad for pad in tried if pad >= envelope.least_pad]
    proposals: list[Proposal] = [UniformProposal(target, envelope.least_pad)]
    proposals += [RadialProposal(target, envelope, pad) for pad in pads]
    for faces in faces_of(target.problem, envelope.tangent, _steep(target, envelope)):
        proposals += [FaceProposal(target, envelope, faces, pad) for pad in pads]
    return min(proposals, key=lambda proposal: proposal.log_mass)


def _steep(target: GibbsTarget, envelope: Envelope) -> Steep:
    """Whether the slope of each normal (k, p) matters at the scale on which the draws spread."""
    spread = target.psi + target.problem.p / target.beta
    metric = envelope.curvature + envelope.least_pad

    def steep(normals: FloatArray) -> Mask:
        squares = ((normals @ envelope.vectors) ** 2 / metric).sum(axis=1)
        return np.asarray(squares * target.problem.p > _STEEP * spread)

    return steep


def _directions(p: int, size: int, rng: np.random.Generator) -> FloatArray:
    directions = rng.standard_normal((p, size))
    return np.asarray(directions / np.linalg.norm(directions, axis=0))
