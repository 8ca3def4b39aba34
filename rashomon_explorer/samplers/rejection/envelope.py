"""A certified lower bound of the loss around its minimiser, radial in a suitable metric."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes import ExcessBound, excess_bound
from rashomon_explorer.samplers.rejection.tangent import Tangent
from rashomon_explorer.search import bisect
from rashomon_explorer.target import GibbsTarget

_FLAT = 0.5  # β·R²·curvature below this: the ball, not the loss, holds the draws
_LEAST_PAD = 0.125  # in units of 1/(βR²): costs at most exp(−¼) of the acceptance
_ROUNDING = 1e-13  # of the largest loss: sums of n terms are right to about 1e-15 of it
_PADDING = 0.5 + 1e-13  # a pad far above the curvature drowns it, and its own half is rounded


@dataclass(frozen=True)
class Envelope:
    """L(θ) − L(θ*) ≥ bound(r_τ) − ½τ‖h‖² + ½λ(R² − ‖θ − c‖²) + pull·h − slack, for every τ.

    Here h = θ − θ*, r_τ² = hᵀ(A + τI)h, A = H + λI is the Hessian of the Lagrangian at θ* and
    λ the multiplier of a ball, whose quadratic part is exact; the pull is what is left of the
    gradient, pull·h ≥ −pull_gap on the domain. The pad τ ≥ ``least_pad`` makes
    the metric definite where the loss is flat; whitened rows only shrink as τ grows, so that
    the bound computed for ``least_pad`` holds for all (docs/theory.md §3).
    """

    centre: FloatArray  # (p,): θ*
    # vectors, curvature: (p, p) and (p,): eigenvectors and eigenvalues of A
    vectors: FloatArray
    curvature: FloatArray
    least_pad: float
    bound: ExcessBound
    slack: float  # what the numerical minimum and rounding leave out
    tangent: Tangent  # λ, c, R and the pull
    longest_step: float  # upper bound of ‖θ − θ*‖ over the domain

    @classmethod
    def of(cls, target: GibbsTarget) -> "Envelope":
        """Envelope of a target's problem."""
        problem, minimum = target.problem, target.problem.minimum
        domain, tangent = problem.domain, Tangent.of(problem)
        scale = target.beta * (domain.diameter / 2) ** 2
        metric = problem.hessian(minimum.theta) + tangent.multiplier * np.eye(problem.p)
        curvature, vectors = np.linalg.eigh(metric)
        curvature = np.maximum(curvature, 0.0)
        pad = 0.0 if curvature[0] * scale >= _FLAT else _LEAST_PAD / scale
        whiten = vectors / np.sqrt(curvature + pad)
        largest = 1 + minimum.value + problem.L * 2 * domain.radius
        return cls(
            centre=minimum.theta,
            vectors=vectors,
            curvature=curvature,
            least_pad=pad,
            bound=excess_bound(problem.evaluator().loss, minimum.theta, whiten),
            slack=tangent.left + _ROUNDING * largest,
            tangent=tangent,
            longest_step=min(domain.radius + float(np.linalg.norm(minimum.theta)), domain.diameter),
        )

    @property
    def multiplier(self) -> float:
        """λ, 0 where no ball holds the minimiser back."""
        return self.tangent.multiplier

    def furthest(self, pad: float) -> float:
        """Upper bound of r_τ over the domain."""
        return self.longest_step * float(np.sqrt(self.curvature[-1] + pad))

    def log_volume(self, pad: float) -> float:
        """Logarithm of the volume of a unit cube of the whitened space, in the models' space."""
        return -0.5 * float(np.log(self.curvature + pad).sum())

    def step(self, u: FloatArray, pad: float) -> FloatArray:
        """Map whitened points u (p, K) to steps h (p, K)."""
        return self.vectors @ (u / np.sqrt(self.curvature + pad)[:, None])

    def radial(self, radius: FloatArray, pad: float, pull_gap: float | None = None) -> FloatArray:
        """Lower bound of the excess by r_τ alone; same shape as ``radius``.

        Also, with another ``pull_gap``, by r² = r_τ² + 2·(depths below faces of that gap): the
        bound rises no faster than r²/2 (see :class:`FaceProposal`).
        """
        gap = self.tangent.gap if pull_gap is None else pull_gap
        worst = self.slack + gap + _PADDING * pad * self.longest_step**2
        return np.maximum(self.bound.radial(radius) - worst, 0.0)

    def floor(self, theta: FloatArray, pad: float) -> FloatArray:
        """Lower bound (K,) of the excess of models (p, K) in the domain, without a look at rows.

        At least ``radial`` of the same pad.
        """
        h = theta - self.centre[:, None]
        square = np.einsum("ij,ij->j", h, h)
        stretch = np.einsum("ij,i->j", (self.vectors.T @ h) ** 2, self.curvature)
        bounds = [
            self.bound.radial(np.sqrt(stretch + tau * square)) - _PADDING * tau * square
            for tau in {self.least_pad, pad}
        ]
        return np.maximum(np.max(bounds, axis=0) + self._linear(theta, h) - self.slack, 0.0)

    def sharper_floor(self, theta: FloatArray) -> FloatArray:
        """Lower bound (K,) by the third and fourth moments along each model's own direction.

        Costs a few thousand operations a model for ten parameters, p⁴/4 in general: worth it
        where a look at the rows costs more.
        """
        h = theta - self.centre[:, None]
        whitened = (self.vectors.T @ h) * np.sqrt(self.curvature + self.least_pad)[:, None]
        padding = _PADDING * self.least_pad * np.einsum("ij,ij->j", h, h)
        below = self._linear(theta, h) - padding - self.slack
        return np.maximum(self.bound.at(whitened) + below, 0.0)

    def outer_radius(self, psi: float) -> float:
        """Radius, at the least pad, beyond which no model has an excess of ``psi`` or less."""

        def outside(radius: float) -> bool:
            return not float(self.radial(np.array([radius]), self.least_pad)[0]) <= psi

        return bisect(outside, self.furthest(self.least_pad), 0.0, halvings=60)

    def _linear(self, theta: FloatArray, h: FloatArray) -> FloatArray:
        """½λ(R² − ‖θ − c‖²) + pull·h (K,), which no row is needed for."""
        tangent = self.tangent
        outward = theta - tangent.centre[:, None]
        depth = np.maximum(tangent.radius**2 - np.einsum("ij,ij->j", outward, outward), 0.0)
        return np.asarray(tangent.multiplier / 2 * depth + tangent.pull @ h)
