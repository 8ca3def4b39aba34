"""Envelopes of the target: tangents, and the neighbourhood of the minimum."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from rashomon_explorer._utils.arrays import Delegated, FloatArray, Mask
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball, Domain, Intersection
from rashomon_explorer.problem.lower_bounds import excess_bound
from rashomon_explorer.problem.lower_bounds.smooth import ExcessBound
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class Shifted:
    """Models θ with θ + centre in ``body``: the body relative to one of its models."""

    body: Domain
    centre: tuple[float, ...]  # a model of the body, so that this set contains the origin

    dimension = Delegated("centre", "Number of parameters.", len)

    @property
    def radius(self) -> float:
        """Upper bound on the largest ‖θ‖."""
        return min(self.body.radius + float(np.linalg.norm(self.centre)), self.diameter)

    diameter = Delegated[float]("body.diameter")

    def reach(self, row_bound: float) -> float:
        """Bound on |z·θ| over models in the set and rows with ‖z‖ ≤ row_bound."""
        return self.radius * row_bound

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in the set; shape (K,)."""
        return self.body.contains(theta + self._column)

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the set to each column of ``theta`` (p, K)."""
        return self.body.project(theta + self._column) - self._column

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Point of the set furthest along each column of ``direction`` (p, K)."""
        return self.body.extreme(direction) - self._column

    def support(self, direction: FloatArray) -> FloatArray:
        """Support function (K,) of the columns of ``direction`` (p, K)."""
        return np.asarray(self.body.support(direction) - np.asarray(self.centre) @ direction)

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the set, for each column (p, K) of models in it."""
        return self.body.chord(theta + self._column, direction)

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the body's volume."""
        return self.body.log_volume_bound(p)

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw independent models (p, size), uniform on the set."""
        return self.body.uniform(p, size, rng) - self._column

    @property
    def _column(self) -> FloatArray:
        return np.asarray(self.centre)[:, None]


@dataclass(frozen=True)
class Neighbourhood(Shifted):
    """Models of ``domain`` within ``distance`` of ``middle``, one of its models; made by ``of``."""

    domain: Domain
    distance: float

    @classmethod
    def of(cls, domain: Domain, middle: FloatArray, distance: float) -> "Neighbourhood":
        """Part of ``domain`` within ``distance`` of its model ``middle`` (p,)."""
        if not domain.contains(middle[:, None])[0]:
            raise ValueError("the middle of a neighbourhood must be a model of the domain")
        there = tuple(float(x) for x in middle)
        shifted = Intersection(Shifted(domain, there), Ball(distance))
        return cls(shifted, tuple(-x for x in there), domain, distance)

    @property
    def middle(self) -> FloatArray:
        """Model (p,) in the middle of the neighbourhood."""
        return -np.asarray(self.centre)

    @property
    def radius(self) -> float:
        near = float(np.linalg.norm(self.centre)) + self.distance
        return min(self.domain.radius, near)


def parts(domain: Domain) -> list[tuple[Domain, FloatArray | float]]:
    """List the sets whose intersection is the domain, each with the shift of its origin."""
    if isinstance(domain, Neighbourhood):
        return [*parts(domain.domain), (Ball(domain.distance), domain.middle)]
    if isinstance(domain, Intersection):
        return [*parts(domain.body), (domain.ball, 0.0)]
    return [(domain, 0.0)]


def round_into_domain(domain: Domain, theta: FloatArray) -> FloatArray:
    """Nearest model (p,) of the domain, moved inwards so that rounding leaves it inside."""
    point = domain.project(theta[:, None])
    for step in 2.0 ** np.arange(-52, 0):
        if domain.contains(point)[0]:
            break
        point = point * (1 - step)
    return np.asarray(point[:, 0])


def ball_around(domain: Domain, p: int) -> tuple[float, FloatArray]:
    """Radius and centre (p,) of the smallest known ball that contains the domain."""
    balls = [(part.radius, shift) for part, shift in parts(domain) if isinstance(part, Ball)]
    radius, shift = min([(domain.radius, 0.0), *balls], key=lambda ball: ball[0])
    return radius, np.zeros(p) + shift


_ON_SPHERE = 1e-6
_MOST_LEFT = 10  # in units of the minimum's tolerance, which is a millionth of the oscillation


@dataclass(frozen=True)
class Tangent:
    """Linear part of the loss at a minimiser θ*, split by the domain."""

    multiplier: float  # λ, 0 without a ball or if the ball does not bind
    centre: FloatArray  # (p,): c
    radius: float  # R
    pull: FloatArray  # (p,)
    gap: float  # upper bound on max −pull·h over the domain
    # upper bound on the error of the identity at a minimiser off the sphere; for a ball, where
    # the pull is left out, also on the pull's effect
    left: float

    @classmethod
    def of(cls, problem: Problem) -> "Tangent":
        """Tangent at the certified minimum of a problem (curator: reads private rows)."""
        minimum, domain = problem.minimum, problem.domain
        zero = np.zeros(problem.p)
        if isinstance(domain, Ball):
            # The pull is rounding error, and the minimum's slack covers it.
            return cls(minimum.multiplier, zero, domain.radius, zero, 0.0, minimum.slack)
        gradient = problem.value_and_gradient(minimum.theta[:, None])[1][:, 0]
        worst = _MOST_LEFT * problem.constants.gap_tolerance
        for ball, shift in parts(problem.domain):
            centre = zero + shift
            outward = float(np.linalg.norm(minimum.theta - centre))
            if not (isinstance(ball, Ball) and outward > ball.radius * (1 - _ON_SPHERE)):
                continue
            bent = _bent(problem, gradient, centre, ball.radius)
            if bent.gap + bent.left <= worst:
                return bent
        gap = _gap(problem, gradient)
        if gap > worst:
            domain_gap = problem.domain.support(-gradient[:, None])[0] + gradient @ minimum.theta
            gap = min(gap, max(float(domain_gap), 0.0))
        return cls(0.0, zero, 0.0, gradient, gap, 0.0)


def _bent(problem: Problem, gradient: FloatArray, centre: FloatArray, radius: float) -> Tangent:
    """Tangent with the multiplier of one ball that leaves the smallest gap."""
    outward = problem.minimum.theta - centre
    square = float(outward @ outward)
    room = max(radius**2 - square, 0.0)

    def left(multiplier: float) -> float:
        return _gap(problem, gradient + multiplier * outward) + multiplier / 2 * room

    top = 2 * float(np.linalg.norm(gradient)) / radius
    search = minimize_scalar(left, bounds=(0.0, top), method="bounded", options={"xatol": 0.0})
    guesses = [float(search.x), max(0.0, -float(gradient @ outward) / square)]
    best = min(guesses, key=left)
    pull = gradient + best * outward
    return Tangent(best, centre, radius, pull, _gap(problem, pull), best / 2 * room)


def _gap(problem: Problem, pull: FloatArray) -> float:
    """Bound on −pull·h over the domain, by the best of the sets whose intersection it is."""
    theta = problem.minimum.theta
    gaps = [
        float(part.support(-pull[:, None])[0] - pull @ (np.zeros_like(theta) + shift))
        for part, shift in parts(problem.domain)
    ]
    return max(min(gaps) + float(pull @ theta), 0.0)


_FLAT = 0.5  # β·R²·curvature below this: the ball, not the loss, limits the draws
_LEAST_PAD = 0.125  # in units of 1/(βR²): costs at most exp(−¼) of the acceptance
_ROUNDING = 1e-13  # of the largest loss: sums of n terms have an error of about 1e-15 of it
_PADDING = 0.5 + 1e-13  # covers the rounding of half the pad, and of a pad above the curvature


@dataclass(frozen=True)
class Envelope:
    """L(θ) − L(θ*) ≥ bound(r_τ) − ½τ‖h‖² + ½λ(R² − ‖θ − c‖²) + pull·h − slack, for every τ."""

    centre: FloatArray  # (p,): θ*
    # vectors, curvature: (p, p) and (p,): eigenvectors and eigenvalues of A
    vectors: FloatArray
    curvature: FloatArray
    least_pad: float
    bound: ExcessBound
    slack: float  # error of the numerical minimum and of rounding
    tangent: Tangent  # λ, c, R and the pull
    longest_step: float  # upper bound on ‖θ − θ*‖ over the domain

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

    multiplier = Delegated[float]("tangent.multiplier", "λ; 0 if no ball constrains the minimiser.")

    def furthest(self, pad: float) -> float:
        """Upper bound on r_τ over the domain."""
        return self.longest_step * float(np.sqrt(self.curvature[-1] + pad))

    def log_volume(self, pad: float) -> float:
        """Logarithm of the volume of a unit cube of the whitened space, in the models' space."""
        return -0.5 * float(np.log(self.curvature + pad).sum())

    def step(self, u: FloatArray, pad: float) -> FloatArray:
        """Map whitened points u (p, K) to steps h (p, K)."""
        return self.vectors @ (u / np.sqrt(self.curvature + pad)[:, None])

    def radial(self, radius: FloatArray, pad: float, pull_gap: float | None = None) -> FloatArray:
        """Lower bound on the excess as a function of r_τ; same shape as ``radius``."""
        gap = self.tangent.gap if pull_gap is None else pull_gap
        worst = self.slack + gap + _PADDING * pad * self.longest_step**2
        return np.maximum(self.bound.radial(radius) - worst, 0.0)

    def floor(self, theta: FloatArray, pad: float) -> FloatArray:
        """Lower bound (K,) on the excess of models (p, K) in the domain, without reading rows."""
        h = theta - self.centre[:, None]
        square = np.einsum("ij,ij->j", h, h)
        stretch = np.einsum("ij,i->j", (self.vectors.T @ h) ** 2, self.curvature)
        bounds = [
            self.bound.radial(np.sqrt(stretch + tau * square)) - _PADDING * tau * square
            for tau in {self.least_pad, pad}
        ]
        return np.maximum(np.max(bounds, axis=0) + self._linear(theta, h) - self.slack, 0.0)

    def sharper_floor(self, theta: FloatArray) -> FloatArray:
        """Lower bound (K,) by the third and fourth moments along each model's own direction."""
        h = theta - self.centre[:, None]
        whitened = (self.vectors.T @ h) * np.sqrt(self.curvature + self.least_pad)[:, None]
        padding = _PADDING * self.least_pad * np.einsum("ij,ij->j", h, h)
        below = self._linear(theta, h) - padding - self.slack
        return np.maximum(self.bound.at(whitened) + below, 0.0)

    def outer_radius(self, psi: float) -> float:
        """Radius, at the least pad, beyond which every model has an excess above ``psi``."""

        def is_outside(radius: float) -> bool:
            return not float(self.radial(np.array([radius]), self.least_pad)[0]) <= psi

        return bisect(is_outside, self.furthest(self.least_pad), 0.0, halvings=60)

    def _linear(self, theta: FloatArray, h: FloatArray) -> FloatArray:
        """½λ(R² − ‖θ − c‖²) + pull·h (K,), which needs no rows."""
        tangent = self.tangent
        outward = theta - tangent.centre[:, None]
        depth = np.maximum(tangent.radius**2 - np.einsum("ij,ij->j", outward, outward), 0.0)
        return np.asarray(tangent.multiplier / 2 * depth + tangent.pull @ h)
