"""Laws that lie above a thresholded Gibbs law and can be drawn from exactly."""

import math
from typing import Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.domains import Ball
from rashomon_explorer.samplers.rejection.envelope import Envelope
from rashomon_explorer.samplers.rejection.faces import Faces, Steep, faces_of
from rashomon_explorer.samplers.rejection.neighbourhood import parts
from rashomon_explorer.samplers.rejection.radial import RadialLaw
from rashomon_explorer.samplers.rejection.volumes import log_ball_volume
from rashomon_explorer.target import GibbsTarget

_PAD_EXPONENTS = range(-6, 3)
_STEEP = 0.3  # times the curvature's standard deviation, squared: tried from 0.01 to 1


class Proposal(Protocol):
    """Density exp(−energy) on models, at least the target's, with a known mass.

    The smaller the mass, the more proposals are accepted.
    """

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
    """Uniform on the domain: for temperatures at which the loss hardly matters.

    On an intersection, uniform on the part of least volume and thinned to the domain.

    ``pad`` is of the envelope that a model's floor is taken from, if there is one.
    """

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
    """Radial around the minimiser in depths below faces and whitened directions along them.

    With depths a ≥ 0 (k of them) below faces, Σ a ≤ pull·h + gap, and u the whitened rest along
    the faces, ‖u‖² ≤ r_τ² because u is the shortest whitened step with these depths. The bound
    rises no faster than r²/2, so that with r² = 2Σa + ‖u‖²

        excess ≥ Σ a − gap + bound(‖u‖) − … ≥ bound(r) − gap − …,

    and half the squared norm of two Gaussian coordinates is as exponential as a depth: r is
    drawn as the radius of a point of p + k coordinates, two for a depth.
    """

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
