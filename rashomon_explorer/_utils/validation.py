"""Validation of parameters and shapes."""

import math
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

LEAST_SHARE, MOST_EPSILON = 1e-12, 1e9


def is_finite(value: Real | float) -> bool:
    """Whether a number is finite and representable as a double."""
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the largest double
        return False


def quote_value(value: object) -> str:
    """Text of an invalid value; integers beyond the largest double are described instead."""
    if isinstance(value, int) and value.bit_length() > 1024:
        return "a whole number beyond the largest double"
    return repr(value)


def _check(values: dict[str, Any], accepts: Callable[[Any], bool], rule: str) -> None:
    for name, value in values.items():
        if not (_is_number(value) and accepts(value)):
            raise ValueError(f"{name} must be {rule}, got {quote_value(value)}")


def _is_number(value: object) -> bool:
    if type(value) in (float, int):  # the usual ones: plans check many
        return True
    return isinstance(value, Real) and not isinstance(value, bool)


def plain_number(value: Any) -> Any:
    """Return a number of NumPy as Python's, which files and exact sums need; others unchanged."""
    if isinstance(value, np.integer):
        return int(value)
    return float(value) if isinstance(value, np.floating) else value


def check_positive(**values: float) -> None:
    """Raise if a value is not finite and > 0."""
    _check(values, lambda value: value > 0 and is_finite(value), "finite and > 0")


def check_nonnegative(**values: float) -> None:
    """Raise if a value is not finite and >= 0."""
    _check(values, lambda value: value >= 0 and is_finite(value), "finite and >= 0")


def check_nonnegative_or_infinite(**values: float) -> None:
    """Raise if a value is not one number >= 0; infinity is allowed."""
    _check(values, lambda value: value >= 0 and (value == math.inf or is_finite(value)), ">= 0")


def check_epsilon(epsilon: float) -> None:
    """Raise if ε is outside the supported range, which includes shares of small budgets."""
    check_positive(epsilon=epsilon)
    if not LEAST_SHARE <= plain_number(epsilon) <= MOST_EPSILON:  # 1e9 overflows half precision
        raise ValueError(
            f"epsilon must be from {LEAST_SHARE:g} to {MOST_EPSILON:g}, usually 0.1 to 10, "
            f"got {quote_value(epsilon)}"
        )


def check_count(**values: int) -> None:
    """Raise if a value is not an integer of at least 1; 3.0 and True are rejected."""
    _check(values, _is_count, "a whole number, at least 1")


def _is_count(value: Any) -> bool:
    whole = type(value) is int or isinstance(value, Integral)
    return whole and is_finite(value) and int(value) >= 1


def check_delta(delta: float) -> None:
    """Raise if δ is outside [0, 1)."""
    _check({"delta": delta}, lambda value: 0 <= value < 1, "in [0, 1)")


def check_share(**values: float) -> None:
    """Raise if a value is outside [0, 1]."""
    _check(values, lambda value: 0 <= value <= 1, "in [0, 1]")


def check_inner_share(**values: float) -> None:
    """Raise if a value is outside (0, 1), for example a confidence level."""
    _check(values, lambda value: 0 < value < 1, "in (0, 1)")


def check_strong_convexity(m: float, theorem: str) -> None:
    """Raise unless m > 0, for theorems that require strong convexity."""
    if not (_is_number(m) and is_finite(m) and m > 0):
        raise ValueError(
            f"{theorem} needs a strongly convex loss: m must be finite and > 0, "
            f"got {quote_value(m)}; add some ridge"
        )


P = ParamSpec("P")
T = TypeVar("T")


def public_shape(data: Any, dimensions: int) -> tuple[int, ...] | None:
    """Shape stated by data, or given by the lengths of lists; None if unknown."""
    shape = getattr(data, "shape", None)
    if shape is not None:
        counted = all(isinstance(length, Integral) for length in shape)
        return tuple(map(int, shape)) if counted else None  # Dask lengths may be unknown
    if not isinstance(data, list | tuple):
        return None
    inner = public_shape(data[0], dimensions - 1) if data and dimensions > 1 else None
    return (len(data), *(inner or ()))


def planned_shape(n_samples: Any, n_features: Any = None) -> tuple[Any, Any]:
    """Shape for a plan, from numbers or from the shape of a table; reads no values."""
    if not hasattr(n_samples, "__len__") and not getattr(n_samples, "shape", ()):
        return n_samples, n_features
    if n_features is not None:
        raise TypeError(
            "a plan reads no rows and no targets: pass numbers, plan(n_samples, n_features), "
            "or one table, plan(X), whose values are not read"
        )
    try:
        shape = public_shape(n_samples, 2)
    except (TypeError, ValueError):  # unknown lengths of lazy tables
        shape = None
    if shape is None or len(shape) != 2:
        raise TypeError(
            f"the shape of this {type(n_samples).__name__} is not known, or not (n_samples, "
            "n_features): give a plan the two numbers, plan(n_samples, n_features)"
        )
    return shape


def accepts_table(method: Callable[P, T]) -> Callable[P, T]:
    """Extend a method of ``(n_samples, n_features)`` to accept one table instead."""

    @wraps(method)
    def by_shape(self: Any, n_samples: Any, n_features: Any = None, *rest: Any, **named: Any) -> T:
        shape = planned_shape(n_samples, n_features)
        return cast(Callable[..., T], method)(self, *shape, *rest, **named)

    return cast(Callable[P, T], by_shape)
