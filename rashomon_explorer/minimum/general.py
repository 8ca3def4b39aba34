"""Smooth losses on any domain: Newton steps with an accelerated quadratic subproblem."""

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains import Domain
from rashomon_explorer.minimum.certificate import ROUNDING, Minimum
from rashomon_explorer.minimum.objective import Objective, Place, step_towards

_MOST_STEPS = 100
_MOST_INNER = 20_000
_LOOK_EVERY = 20  # a support function may cost as much as many projections
_INNER_SHARE = 0.01


def minimise_on(
    objective: Objective, domain: Domain, tolerance: float, start: FloatArray
) -> Minimum:
    """Best model found, perhaps with a gap above the tolerance.

    The certificate is the Frank–Wolfe gap max_{ϑ in C} ∇L(θ)·(θ − ϑ) = ∇L(θ)·θ + h(−∇L(θ)) with
    the domain's support function h (Jaggi, ICML 2013): an upper bound of L(θ) − min L whatever
    found θ.
    """
    place = Place.of(objective, start)
    best = _certify(place, domain)
    for _ in range(_MOST_STEPS):
        if best.gap <= tolerance / 10:
            break
        goal = max(_INNER_SHARE * min(best.gap, 1.0), tolerance / 100)
        target = _model_minimiser(objective.hessian(place.theta), place, domain, goal)
        moved = step_towards(objective, place, target)
        if moved is place:
            break
        place = moved
        best = min(best, _certify(place, domain), key=lambda one: one.gap)
    return best


def _certify(place: Place, domain: Domain) -> Minimum:
    support = float(domain.support(-place.gradient[:, None])[0])
    size = domain.radius_bound * float(np.linalg.norm(place.gradient)) + abs(place.value)
    gap = max(0.0, float(place.gradient @ place.theta) + support) + ROUNDING * size
    return Minimum(place.theta, place.value, gap, multiplier=0.0, slack=gap)


def _model_minimiser(hessian: FloatArray, place: Place, domain: Domain, goal: float) -> FloatArray:
    """Minimiser over the domain of the second-order model, to a gap of ``goal``.

    Accelerated projected gradient, restarted when the momentum points uphill (O'Donoghue and
    Candès, Found. Comput. Math. 2015).
    """
    constant = place.gradient - hessian @ place.theta
    # Where the loss is flat a step is a hundred radii: further, projections lose their digits.
    flat = 0.01 * float(np.linalg.norm(place.gradient)) / domain.radius_bound
    step = 1 / max(float(np.linalg.eigvalsh(hessian)[-1]), flat, 1e-300)
    smallest = float(np.finfo(float).eps) * domain.radius_bound / 2
    theta = ahead = place.theta
    momentum = 1.0
    for k in range(_MOST_INNER):
        slope = hessian @ ahead + constant
        new = domain.project((ahead - step * slope)[:, None])[:, 0]
        if (ahead - new) @ (new - theta) > 0:
            ahead, momentum = theta, 1.0
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / grown * (new - theta)
        still = bool(np.abs(new - theta).max() <= smallest)
        theta, momentum = new, grown
        if k % _LOOK_EVERY == _LOOK_EVERY - 1 or still:
            slope = hessian @ theta + constant
            if still or slope @ theta + domain.support(-slope[:, None])[0] <= goal:
                break
    return theta
