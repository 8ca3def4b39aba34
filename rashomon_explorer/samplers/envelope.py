"""A certified lower bound of the loss around its minimiser, radial in a suitable metric."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.losses import ExcessBound
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]

_FLAT = 0.5  # β·R²·curvature below this: the ball, not the loss, holds the draws
_LEAST_PAD = 0.125  # in units of 1/(βR²): costs at most exp(−¼) of the acceptance
_ROUNDING = 1e-13  # of the largest loss: sums of n terms are right to about 1e-15 of it


@dataclass(frozen=True)
class Envelope:
    """L(θ) − L(θ*) ≥ bound(r_τ) − ½τ‖h‖² + ½λ(R² − ‖θ‖²) − slack on the ball, for every τ.

    Here h = θ − θ*, r_τ² = hᵀ(A + τI)h, A = H + λI is the Hessian of the Lagrangian at θ* and
    λ the multiplier of the ball, whose quadratic part is exact. The pad τ ≥ ``least_pad`` makes
    the metric definite where the loss is flat; whitened rows only shrink as τ grows, so that
    the bound computed for ``least_pad`` holds for all (docs/theory.md §3).

    Parameters
    ----------
    centre : ndarray of shape (p,)
        θ*.
    vectors, curvature : ndarray of shape (p, p) and (p,)
        Eigenvectors and eigenvalues of A.
    least_pad : float
    bound : ExcessBound
    slack : float
        What the numerical minimum and rounding leave out.
    multiplier : float
        λ, 0 when θ* is inside the ball.
    ball_radius : float
        R.
    """

    centre: FloatArray
    vectors: FloatArray
    curvature: FloatArray
    least_pad: float
    bound: ExcessBound
    slack: float
    multiplier: float
    ball_radius: float

    @classmethod
    def of(cls, target: GibbsTarget) -> "Envelope":
        """Envelope of a target's problem."""
        problem, minimum = target.problem, target.problem.minimum
        radius = problem.domain.radius
        scale = target.beta * radius**2
        metric = problem.hessian(minimum.theta) + minimum.multiplier * np.eye(problem.p)
        curvature, vectors = np.linalg.eigh(metric)
        curvature = np.maximum(curvature, 0.0)
        pad = 0.0 if curvature[0] * scale >= _FLAT else _LEAST_PAD / scale
        return cls(
            centre=minimum.theta,
            vectors=vectors,
            curvature=curvature,
            least_pad=pad,
            bound=problem.excess_bound(minimum.theta, vectors / np.sqrt(curvature + pad)),
            slack=minimum.slack + _ROUNDING * (1 + minimum.value + problem.L * 2 * radius),
            multiplier=minimum.multiplier,
            ball_radius=radius,
        )

    @property
    def longest_step(self) -> float:
        """Largest ‖θ − θ*‖ over the ball."""
        return self.ball_radius + float(np.linalg.norm(self.centre))

    def furthest(self, pad: float) -> float:
        """Largest r_τ over the ball."""
        return self.longest_step * float(np.sqrt(self.curvature[-1] + pad))

    def log_volume(self, pad: float) -> float:
        """Logarithm of the volume of a unit cube of the whitened space, in the models' space."""
        return -0.5 * float(np.log(self.curvature + pad).sum())

    def step(self, u: FloatArray, pad: float) -> FloatArray:
        """Map whitened points u (p, K) to steps h (p, K)."""
        return self.vectors @ (u / np.sqrt(self.curvature + pad)[:, None])

    def radial(self, radius: FloatArray, pad: float) -> FloatArray:
        """Lower bound of the excess by r_τ alone; same shape as ``radius``."""
        worst = self.slack + pad / 2 * self.longest_step**2
        return np.maximum(self.bound.radial(radius) - worst, 0.0)

    def floor(self, theta: FloatArray, pad: float) -> FloatArray:
        """Lower bound (K,) of the excess of models (p, K) in the ball, without a look at the rows.

        At least ``radial`` of the same pad.
        """
        h = theta - self.centre[:, None]
        square = np.einsum("ij,ij->j", h, h)
        stretch = np.einsum("ij,i->j", (self.vectors.T @ h) ** 2, self.curvature)
        bounds = [
            self.bound.radial(np.sqrt(stretch + tau * square)) - tau / 2 * square
            for tau in {self.least_pad, pad}
        ]
        depth = np.maximum(self.ball_radius**2 - np.einsum("ij,ij->j", theta, theta), 0.0)
        below = self.multiplier / 2 * depth - self.slack
        return np.maximum(np.max(bounds, axis=0) + below, 0.0)

    def sharper_floor(self, theta: FloatArray) -> FloatArray:
        """Lower bound (K,) by the third and fourth moments along each model's own direction.

        Costs a few thousand operations a model for ten parameters, p⁴/4 in general: worth it
        where a look at the rows costs more.
        """
        h = theta - self.centre[:, None]
        whitened = (self.vectors.T @ h) * np.sqrt(self.curvature + self.least_pad)[:, None]
        square = np.einsum("ij,ij->j", h, h)
        depth = np.maximum(self.ball_radius**2 - np.einsum("ij,ij->j", theta, theta), 0.0)
        below = self.multiplier / 2 * depth - self.least_pad / 2 * square - self.slack
        return np.maximum(self.bound.at(whitened) + below, 0.0)

    def outer_radius(self, psi: float) -> float:
        """Radius, at the least pad, beyond which no model has an excess of ``psi`` or less."""
        low, high = 0.0, self.furthest(self.least_pad)
        for _ in range(60):
            middle = (low + high) / 2
            inside = float(self.radial(np.array([middle]), self.least_pad)[0]) <= psi
            low, high = (middle, high) if inside else (low, middle)
        return high
