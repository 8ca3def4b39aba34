"""The shape of data without a look at a value."""

from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def public_shape(data: Any, dimensions: int) -> tuple[int, ...] | None:
    """Shape that data state, or that lists have by their lengths.

    None for data that would have to be converted or computed, and so read, to be measured.
    ``dimensions=1`` looks at a list's length alone, 2 at its first row's too.

    >>> public_shape([[0.1, 0.2]] * 3, 2), public_shape(["HIV", "none"], 1), public_shape("HIV", 1)
    ((3, 2), (2,), None)
    """
    shape = getattr(data, "shape", None)
    if shape is not None:
        known = all(isinstance(length, Integral) for length in shape)
        return tuple(map(int, shape)) if known else None  # a length that Dask computes is none
    if not isinstance(data, list | tuple):
        return None
    inner = public_shape(data[0], dimensions - 1) if data and dimensions > 1 else None
    return (len(data), *(inner or ()))


def planned_shape(n_samples: Any, n_features: Any = None) -> tuple[Any, Any]:
    """Shape that a plan is asked for, as numbers or as a table, of which no value is read.

    >>> planned_shape(300, 4), planned_shape(300), planned_shape([[0.1, 0.2]] * 3)
    ((300, 4), (300, None), (3, 2))
    """
    if not hasattr(n_samples, "__len__") and not getattr(n_samples, "shape", ()):
        return n_samples, n_features
    if n_features is not None:
        raise TypeError(
            "a plan reads no rows and no targets: give it numbers, plan(n_samples, n_features), or "
            "one table whose shape counts, plan(X)"
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
