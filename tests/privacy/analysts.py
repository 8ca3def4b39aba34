"""An analyst who picks each mechanism after seeing what the earlier ones gave, exactly."""

import itertools
import math
from functools import cache

import numpy as np

Shape = tuple[tuple[float, int], ...]  # probability and privacy loss, in steps, of each outcome
Menu = list[list[Shape]]
Bought = tuple[int, ...]  # how often each item of the menu

STEP = 0.1  # of privacy losses, unless another is passed


def two_points(up, down, step=STEP):
    """Pair of laws whose loss is ``up`` or −``down``."""
    low = math.exp(down * step)
    p = (low - 1) / (low - math.exp(-up * step))
    return ((p, up), (1 - p, -down))


def of_range(size, step=STEP):
    """Every pair of this bounded range, on the grid."""
    return [two_points(up, size - up, step) for up in range(size)]


def analyst(epsilon, admitted, menu, *, leak=0.0, step=STEP):
    """Largest δ(ε) of an analyst who sees every loss and buys what the rule admits.

    By backward induction: at every step the analyst stops, or buys one item of the menu, a pair of
    any of its shapes. With ``leak`` there is a last item, which betrays everything with that
    probability.
    """
    reach = [max(abs(loss) for shape in item for _, loss in shape) for item in menu]

    @cache
    def value(bought):
        far = sum(count * size for count, size in zip(bought, reach, strict=False))
        loss = np.arange(-far, far + 1) * step
        best = np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - loss)))
        for item in range(len(bought)):
            after = tuple(count + (item == j) for j, count in enumerate(bought))
            if not admitted(after):
                continue
            then = value(after)
            if item == len(menu):
                best = np.maximum(best, leak + (1 - leak) * then)
                continue
            for shape in menu[item]:
                mean = sum(p * then[reach[item] + by :][: len(loss)] for p, by in shape)
                best = np.maximum(best, mean)
        return best

    return float(value((0,) * (len(menu) + (leak > 0)))[0])


def adversary(eta, count, epsilon, steps=10):
    """Largest δ(ε) of ``count`` η-bounded-range pairs, each picked after the earlier outcomes."""
    step = eta / steps
    return analyst(epsilon, lambda bought: bought[0] <= count, [of_range(steps, step)], step=step)


def any_pair(rng, eta, points):
    """Two distributions whose log ratios lie in an interval of width η."""
    second = rng.dirichlet(np.full(points, rng.choice([0.2, 1.0])))
    ratio = eta * rng.random(points) ** rng.choice([0.2, 1.0, 5.0])
    if rng.random() < 0.5:
        ratio = eta * (ratio > ratio.mean())  # the corners of the family
    ratio -= math.log((second * np.exp(ratio)).sum())
    return second * np.exp(ratio), second


def product_delta(pairs, epsilon):
    """δ(ε) of independent pairs, by brute force over all outcomes."""
    first, second = (
        np.array([math.prod(masses) for masses in itertools.product(*laws)])
        for laws in zip(*pairs, strict=True)
    )
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())
