"""The part of a domain near one of its models."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.problem.domains import Ball, Domain, Intersection


@dataclass(frozen=True)
class Shifted:
    """Models θ with θ + centre in ``body``: the body, seen from one of its models."""

    body: Domain
    centre: tuple[float, ...]  # a model of the body, so that the origin is one of this set

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.centre)

    @property
    def radius(self) -> float:
        """Upper bound of the largest ‖θ‖."""
        return min(self.body.radius_bound + float(np.linalg.norm(self.centre)), self.diameter)

    @property
    def radius_bound(self) -> float:
        """Upper bound of the largest ‖θ‖."""
        return self.radius

    @property
    def diameter(self) -> float:
        """The body's."""
        return self.body.diameter

    def reach(self, row_bound: float) -> float:
        """Bound of |z·θ| over models in the set and rows with ‖z‖ ≤ row_bound."""
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

    def gauge(self, theta: FloatArray) -> FloatArray:
        """Least t ≥ 0 with θ in t times the set, for each column of ``theta`` (p, K); (K,)."""
        moving = (theta != 0).any(axis=0)
        ahead = np.where(moving, theta, 1.0)
        high = self.chord(np.zeros_like(theta), ahead)[1]
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(moving, 1 / high, 0.0))

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the set, for each column (p, K) of models in it."""
        return self.body.chord(theta + self._column, direction)

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the body's volume."""
        return self.body.log_volume_bound(p)

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size), uniform on the set."""
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
        seen = Intersection(Shifted(domain, there), Ball(distance))
        return cls(seen, tuple(-x for x in there), domain, distance)

    @property
    def middle(self) -> FloatArray:
        """Model (p,) that the others are near to."""
        return -np.asarray(self.centre)

    @property
    def radius(self) -> float:
        """Upper bound of the largest ‖θ‖."""
        near = float(np.linalg.norm(self.centre)) + self.distance
        return min(self.domain.radius_bound, near)

    def gauge(self, theta: FloatArray) -> FloatArray:
        """Not defined, because the set need not hold the origin."""
        raise ValueError("a neighbourhood need not hold the origin, and so has no gauge")


def parts(domain: Domain) -> list[tuple[Domain, FloatArray | float]]:
    """List the sets whose intersection a domain is, each with the shift of its origin."""
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
    """Radius and centre (p,) of the least ball that is known to hold the domain."""
    known = [(part.radius, shift) for part, shift in parts(domain) if isinstance(part, Ball)]
    radius, shift = min([(domain.radius_bound, 0.0), *known], key=lambda ball: ball[0])
    return radius, np.zeros(p) + shift
