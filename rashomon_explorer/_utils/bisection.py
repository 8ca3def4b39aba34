"""Bisection for a condition; returns an end at which the condition was verified."""

import math
from collections.abc import Callable

_ABOUT = 1e-12


def double(
    holds: Callable[[float], bool], good: float, *, most: float = math.inf
) -> tuple[float, float]:
    """Double a number, from one where a condition holds, up to ``most``: the last, and the next."""
    bad = 2 * good
    while bad <= most and holds(bad):
        good, bad = bad, 2 * bad
    return good, bad


def bisect(
    holds: Callable[[float], bool],
    good: float,
    bad: float,
    *,
    halvings: int,
    width: float = 0.0,
    about: float | None = None,
) -> float:
    """Return the number closest to the change of a condition, on the side of ``good``."""
    if about is not None:
        gap = _ABOUT * abs(about) * (1 if good < bad else -1)
        near, far = about - gap, about + gap
        inside = min(good, bad) < min(near, far) and max(near, far) < max(good, bad)
        if inside and holds(near) and not holds(far):
            good, bad = near, far
    for _ in range(halvings):
        if abs(good - bad) <= width:
            break
        middle = (good + bad) / 2
        if middle in (good, bad):  # adjacent floating-point numbers
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
