"""Laws that lie above a thresholded Gibbs law and can be drawn from exactly."""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.samplers.envelope import Envelope
from rashomon_explorer.samplers.radial import RadialLaw
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]

_PAD_EXPONENTS = range(-6, 3)


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


class BallProposal:
    """Uniform on the ball: for temperatures at which the loss hardly matters."""

    def __init__(self, target: GibbsTarget, envelope: Envelope) -> None:
        self._p, self._radius = target.problem.p, target.problem.domain.radius
        self.pad = envelope.least_pad
        self.log_mass = log_ball_volume(self._p) + self._p * math.log(self._radius)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Models (p, size) and zeros (size,)."""
        radius = self._radius * rng.random(size) ** (1 / self._p)
        return _directions(self._p, size, rng) * radius, np.zeros(size)


class RadialProposal:
    """Radial around the minimiser in the metric of the Lagrangian, padded.

    Parameters
    ----------
    target : GibbsTarget
    envelope : Envelope
    pad : float
        At least the envelope's least.
    """

    def __init__(self, target: GibbsTarget, envelope: Envelope, pad: float) -> None:
        self._p, self._domain = target.problem.p, target.problem.domain
        self._target = target
        self._envelope = envelope
        self.pad = pad
        self._law = RadialLaw(self._energy, self._p, envelope.furthest(pad))
        sphere = math.log(self._p) + log_ball_volume(self._p)
        halved = math.log(2) if envelope.multiplier > 0 else 0.0
        self.log_mass = self._law.log_mass + sphere + envelope.log_volume(pad) - halved

    def draw(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Models (p, K) inside the ball and their energies (K,)."""
        radius = self._law.sample(size, rng)
        step = self._envelope.step(_directions(self._p, size, rng) * radius, self.pad)
        if self._envelope.multiplier > 0:
            # From a point of the sphere every feasible step points inwards; the proposal is
            # symmetric, so turning the others round keeps its law on that half-space.
            step *= np.where(self._envelope.centre @ step > 0, -1.0, 1.0)
        theta = self._envelope.centre[:, None] + step
        inside = self._domain.contains(theta)
        return theta[:, inside], self._energy(radius[inside])

    def _energy(self, radius: FloatArray) -> FloatArray:
        return self._target.energy(self._envelope.radial(radius, self.pad))


def tightest_proposal(target: GibbsTarget, envelope: Envelope) -> Proposal:
    """Proposal of least mass: the ball, or a radial one with the best pad.

    Parameters
    ----------
    target : GibbsTarget
    envelope : Envelope

    Returns
    -------
    Proposal
    """
    scale = target.problem.p / (target.beta * envelope.longest_step**2)
    pads = [envelope.least_pad, *(scale * 2.0**k for k in _PAD_EXPONENTS)]
    proposals: list[Proposal] = [BallProposal(target, envelope)]
    proposals += [
        RadialProposal(target, envelope, pad) for pad in pads if pad >= envelope.least_pad
    ]
    return min(proposals, key=lambda proposal: proposal.log_mass)


def log_ball_volume(p: int) -> float:
    """Logarithm of the volume of the unit ball of R^p.

    Examples
    --------
    >>> round(math.exp(log_ball_volume(2)), 6)
    3.141593
    """
    return p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1)


def _directions(p: int, size: int, rng: np.random.Generator) -> FloatArray:
    directions = rng.standard_normal((p, size))
    return np.asarray(directions / np.linalg.norm(directions, axis=0))
