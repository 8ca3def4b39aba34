"""Checks of parameters and shapes."""

import math
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar, cast

LEAST_SHARE, MOST_EPSILON = 1e-12, 1e9


def is_finite(value: Real | float) -> bool:
    """Whether a number is finite and one that a double can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest double
        return False


def quote_value(value: object) -> str:
    """Quote a refused value; shorten whole numbers beyond the largest double."""
    if isinstance(value, int) and value.bit_length() > 1024:
        return "a whole number beyond the largest double"
    return repr(value)


def check_positive(**values: float) -> None:
    """Refuse values that are not finite and above 0, by name."""
    for name, value in values.items():
        if type(value) is float and 0 < value < math.inf:
            continue  # as nearly always, and faster
        if not (_is_number(value) and is_finite(value) and value > 0):
            raise ValueError(f"{name} must be finite and > 0, got {quote_value(value)}")


def check_nonnegative(**values: float) -> None:
    """Refuse values that are not finite and at least 0, by name."""
    for name, value in values.items():
        if type(value) is float and 0 <= value < math.inf:
            continue
        if not (_is_number(value) and is_finite(value) and value >= 0):
            raise ValueError(f"{name} must be finite and >= 0, got {quote_value(value)}")


def check_nonnegative_or_infinite(**values: float) -> None:
    """Refuse values that are not at least 0, by name; infinity, of what has no bound, is."""
    for name, value in values.items():
        if type(value) is float and value >= 0:
            continue
        if not _is_number(value):
            raise ValueError(f"{name} must be one number >= 0, got {quote_value(value)}")
        if not (value >= 0 and (value == math.inf or is_finite(value))):
            raise ValueError(f"{name} must be >= 0, got {quote_value(value)}")


def check_epsilon(epsilon: float) -> None:
    """Refuse an ε that no mechanism is planned for; shares of a small budget are in range."""
    check_positive(epsilon=epsilon)
    if not LEAST_SHARE <= epsilon <= MOST_EPSILON:
        raise ValueError(
            f"epsilon must be from {LEAST_SHARE:g} to {MOST_EPSILON:g}, usually 0.1 to 10, "
            f"got {quote_value(epsilon)}"
        )


def check_count(**values: int) -> None:
    """Refuse values that are no whole numbers of at least 1, by name; 3.0 and True are none."""
    for name, value in values.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not (whole and is_finite(value) and value >= 1):
            raise ValueError(f"{name} must be a whole number, at least 1, got {quote_value(value)}")


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1)."""
    if not (_is_number(delta) and 0 <= delta < 1):
        raise ValueError(f"delta must be in [0, 1), got {quote_value(delta)}")


def check_share(**values: float) -> None:
    """Refuse values outside [0, 1], by name."""
    for name, value in values.items():
        if not (_is_number(value) and 0 <= value <= 1):
            raise ValueError(f"{name} must be in [0, 1], got {quote_value(value)}")


def check_inner_share(**values: float) -> None:
    """Refuse values outside (0, 1), by name: a level of confidence is neither 0 nor 1."""
    for name, value in values.items():
        if not (_is_number(value) and 0 < value < 1):
            raise ValueError(f"{name} must be in (0, 1), got {quote_value(value)}")


def check_strong_convexity(m: float, theorem: str) -> None:
    """Refuse m = 0, for theorems that require strong convexity."""
    if not (_is_number(m) and is_finite(m) and m > 0):
        raise ValueError(
            f"{theorem} needs a strongly convex loss: m must be finite and > 0, "
            f"got {quote_value(m)}; add some ridge"
        )


def _is_number(value: object) -> bool:
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


P = ParamSpec("P")
T = TypeVar("T")


def public_shape(data: Any, dimensions: int) -> tuple[int, ...] | None:
    """Shape that data state, or that lists have by their lengths."""
    shape = getattr(data, "shape", None)
    if shape is not None:
        known = all(isinstance(length, Integral) for length in shape)
        return tuple(map(int, shape)) if known else None  # a length that Dask computes is none
    if not isinstance(data, list | tuple):
        return None
    inner = public_shape(data[0], dimensions - 1) if data and dimensions > 1 else None
    return (len(data), *(inner or ()))


def planned_shape(n_samples: Any, n_features: Any = None) -> tuple[Any, Any]:
    """Shape for a plan, from numbers or from a table whose values are not read."""
    if not hasattr(n_samples, "__len__") and not getattr(n_samples, "shape", ()):
        return n_samples, n_features
    if n_features is not None:
        raise TypeError(
            "a plan reads no rows and no targets: give it numbers, plan(n_samples, n_features), "
            "or one table, of which only the shape is read, plan(X)"
        )
    try:
        shape = public_shape(n_samples, 2)
    except (TypeError, ValueError):  # lengths of lazy tables, which are not known
        shape = None
    if shape is None or len(shape) != 2:
        raise TypeError(
            f"the shape of this {type(n_samples).__name__} is not known, or not (n_samples, "
            "n_features): give a plan the two numbers, plan(n_samples, n_features)"
        )
    return shape


def accepts_table(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method of ``(n_samples, n_features)`` take one table in their place."""

    @wraps(method)
    def by_shape(self: Any, n_samples: Any, n_features: Any = None, *rest: Any, **named: Any) -> T:
        shape = planned_shape(n_samples, n_features)
        return cast(Callable[..., T], method)(self, *shape, *rest, **named)

    return cast(Callable[P, T], by_shape)
