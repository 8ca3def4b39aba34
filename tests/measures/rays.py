"""Models of a Rashomon set on rays from the best one."""

import numpy as np


def edge_of_set(problem, psi, ray, furthest=50.0):
    """Furthest models (p, n) of the set along rays (p, n) from the minimum, by halving."""
    best, n = problem.minimum, ray.shape[1]
    low, high = np.zeros(n), np.full(n, furthest)
    for _ in range(50):
        middle = (low + high) / 2
        theta = best.theta[:, None] + middle * ray
        inside = (problem.value(theta) <= best.value + psi) & problem.domain.contains(theta)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return best.theta[:, None] + low * ray
