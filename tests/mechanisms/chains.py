"""Exact laws of noisy projected steps on an interval, and what two laws tell apart."""

import math

import numpy as np
from scipy.special import ndtr


def kernel(places, means, deviation):
    """Masses (K, K) on the cells around places after a step: the ends hold what is projected."""
    cuts = np.concatenate([[-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]])
    return np.diff(ndtr((cuts - means[:, None]) / deviation), axis=1)


def last_law(places, means, deviation, n_steps):
    """Law of the last of equal steps, from the place in the middle."""
    steps = np.linalg.matrix_power(kernel(places, means, deviation), n_steps)
    return steps[len(places) // 2]


def delta(one, other, epsilon):
    """Exact δ(ε) of two laws of masses, the larger of both directions."""
    both, scale = ((one, other), (other, one)), math.exp(min(epsilon, 700.0))
    return max(float(np.maximum(p - scale * q, 0).sum()) for p, q in both)
