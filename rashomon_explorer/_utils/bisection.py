"""Where a condition turns, by halving: what is returned is an end at which it was seen to hold."""

from collections.abc import Callable

_ABOUT = 1e-12


def bisect(
    holds: Callable[[float], bool],
    good: float,
    bad: float,
    *,
    halvings: int,
    width: float = 0.0,
    about: float | None = None,
) -> float:
    """Return the number next to where a condition turns, on the side of ``good``.

    Rounding and a condition that turns more than once cannot hurt: the number is ``good`` itself,
    or one at which the condition was tried and held.

    ``good`` and ``bad`` are where it holds and where it does not, in either order; neither is
    tried. At most ``halvings`` numbers are, and ends within ``width`` are near enough. With
    ``about``, a guess that is right to a part in 10¹², two numbers beside it are tried first and
    the halving begins there.

    >>> root = bisect(lambda x: x * x <= 2, 0.0, 2.0, halvings=60)
    >>> root, root * root <= 2
    (1.414213562373095, True)
    >>> bisect(lambda x: x * x >= 2, 2.0, 0.0, halvings=60)
    1.4142135623730951
    >>> tried = []
    >>> bisect(lambda x: tried.append(x) or x * x <= 2, 0.0, 2.0, halvings=60, about=1.414213562373)
    1.414213562373095
    >>> len(tried) < 20
    True
    """
    if about is not None:
        apart = _ABOUT * abs(about) * (1 if good < bad else -1)
        near, far = about - apart, about + apart
        inside = min(good, bad) < min(near, far) and max(near, far) < max(good, bad)
        if inside and holds(near) and not holds(far):
            good, bad = near, far
    for _ in range(halvings):
        if abs(good - bad) <= width:
            break
        middle = (good + bad) / 2
        if middle in (good, bad):  # no number lies between them
            break
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
