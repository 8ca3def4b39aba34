"""What a domain makes of the gradient at the minimiser: a multiplier, and a pull into the set."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains import Ball
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.rejection.neighbourhood import parts

_ON_SPHERE = 1e-6
_MOST_LEFT = 10  # in units of the minimum's tolerance, which is a millionth of the oscillation


@dataclass(frozen=True)
class Tangent:
    """The linear part of the loss at a minimiser θ*, split by the domain.

    With a ball ‖θ − c‖ ≤ R among the sets whose intersection the domain is, and λ ≥ 0,

        ∇L(θ*)·h = pull·h + ½λ‖h‖² + ½λ(R² − ‖θ − c‖²) − left,   h = θ − θ*,

    with pull = ∇L(θ*) + λ(θ* − c) and left = ½λ(R² − ‖θ* − c‖²): an identity, for every λ. At a
    minimiser pull·h ≥ 0 on the domain; ``gap`` bounds how far below 0 it is, by the support
    functions of the sets, whatever found θ* and λ.
    """

    multiplier: float  # λ, 0 without a ball or where it does not bind
    centre: FloatArray  # (p,): c
    radius: float  # R
    pull: FloatArray  # (p,)
    gap: float  # upper bound of max −pull·h over the domain
    # upper bound of what the identity loses at a minimiser off the sphere; for a ball alone, where
    # the pull is left out, of that too
    left: float

    @classmethod
    def of(cls, problem: Problem) -> "Tangent":
        """Tangent at the certified minimum of a problem (curator: reads private rows)."""
        minimum, domain = problem.minimum, problem.domain
        zero = np.zeros(problem.p)
        if isinstance(domain, Ball):
            # Its pull is rounding, and the minimum's slack allows for it.
            return cls(minimum.multiplier, zero, domain.radius, zero, 0.0, minimum.slack)
        gradient = problem.value_and_gradient(minimum.theta[:, None])[1][:, 0]
        worst = _MOST_LEFT * problem.constants.gap_tolerance
        for ball, centre in _binding_balls(problem):
            bent = _bent(problem, gradient, centre, ball.radius)
            if bent.gap + bent.left <= worst:
                return bent
        gap = _gap(problem, gradient)
        if gap > worst:
            whole = problem.domain.support(-gradient[:, None])[0] + gradient @ minimum.theta
            gap = min(gap, max(float(whole), 0.0))
        return cls(0.0, zero, 0.0, gradient, gap, 0.0)


def _binding_balls(problem: Problem) -> list[tuple[Ball, FloatArray]]:
    """Balls on whose sphere the minimiser lies, and their centres."""
    theta, found = problem.minimum.theta, []
    for part, shift in parts(problem.domain):
        centre = np.zeros_like(theta) + shift
        if isinstance(part, Ball):
            near = float(np.linalg.norm(theta - centre)) > part.radius * (1 - _ON_SPHERE)
            found += [(part, centre)] if near else []
    return found


def _bent(problem: Problem, gradient: FloatArray, centre: FloatArray, radius: float) -> Tangent:
    """Tangent with the multiplier of one ball that leaves the smallest gap."""
    outward = problem.minimum.theta - centre
    square = float(outward @ outward)
    room = max(radius**2 - square, 0.0)

    def left(multiplier: float) -> float:
        return _gap(problem, gradient + multiplier * outward) + multiplier / 2 * room

    top = 2 * float(np.linalg.norm(gradient)) / radius
    found = minimize_scalar(left, bounds=(0.0, top), method="bounded", options={"xatol": 0.0})
    guesses = [float(found.x), max(0.0, -float(gradient @ outward) / square)]
    best = min(guesses, key=left)
    pull = gradient + best * outward
    return Tangent(best, centre, radius, pull, _gap(problem, pull), best / 2 * room)


def _gap(problem: Problem, pull: FloatArray) -> float:
    """Bound of −pull·h on the domain, by the best of the sets whose intersection it is."""
    theta = problem.minimum.theta
    gaps = [
        float(part.support(-pull[:, None])[0] - pull @ (np.zeros_like(theta) + shift))
        for part, shift in parts(problem.domain)
    ]
    return max(min(gaps) + float(pull @ theta), 0.0)
