"""Faces that a minimiser lies on: directions in which the loss rises linearly from the start.

With pull·h ≥ 0 the linear part of the loss on the domain, depths a ≥ 0 with Σ a = pull·h + const
say how far below its faces a model lies, in units of the loss. A sampler draws the depths, which
are as good as exponential, and leaves the curvature to the directions along the faces.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.domains import Box, L1Ball, Simplex
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.rejection.neighbourhood import parts
from rashomon_explorer.samplers.rejection.tangent import Tangent

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
    """Depths below the faces of an L1 ball that meet at a sparse minimiser.

    With λ = max |pull_j|, Z the coordinates at 0 and S the others, on Σ|θ_j| ≤ R

        pull·θ + λR = Σ_{j in Z} (λ|θ_j| + pull_j·θ_j) + (λR + pull_S·θ_S − λΣ_{j in Z}|θ_j|),

    and every term is ≥ 0. A coordinate of Z has two sides, of slopes λ ± pull_j.
    """

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
    """Ways to see the pull as depths below faces.

    ``steep`` says which of some normals (k, p) have a slope that matters beside the curvature; only
    those become faces.
    """
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
