"""Tables that notice when somebody looks at a value."""

from typing import Any

import numpy as np
import pandas as pd

LOOKS: list[str] = []


def _look(name):
    LOOKS.append(name)
    raise AssertionError(f"{name} was read")


def _boom(*args, **options):
    return _look("a value")


class TrapArray:
    """Like an array: raises at whatever could show a value; its shape and type are public."""

    __array__ = __getitem__ = __iter__ = __len__ = __bool__ = __eq__ = _boom  # type: ignore[assignment]
    __repr__ = __str__ = __reduce__ = __copy__ = __deepcopy__ = _boom
    __array_ufunc__ = __array_function__ = __array_interface__ = _boom
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *shape):
        self.shape = shape

    def __getattribute__(self, name):
        public = name in ("shape", "__class__", "attrs")
        return object.__getattribute__(self, name) if public else _look(name)


class SubArray(np.ndarray):
    """A true array that raises when numpy or anybody reads it."""

    __array__ = __getitem__ = __iter__ = __len__ = __bool__ = __array_ufunc__ = _boom  # type: ignore[assignment]
    __array_function__ = __repr__ = __str__ = astype = copy = view = tolist = _boom  # type: ignore[assignment]
    dtype = flags = property(_boom)  # type: ignore[assignment]


class _TrapPandas:
    names: frozenset[str] = frozenset(
        "values iloc loc iat at to_numpy dtypes dtype _values array items iterrows itertuples "
        "__array__ __getitem__ __len__ __iter__ __dataframe__ astype copy isna apply describe "
        "to_dict empty".split()
    )
    __array__ = __getitem__ = __iter__ = _boom

    def __getattribute__(self, name):
        return _look(name) if name in _TrapPandas.names else super().__getattribute__(name)


class TrapFrame(_TrapPandas, pd.DataFrame):
    """A DataFrame whose values raise."""


class TrapSeries(_TrapPandas, pd.Series):
    """A Series whose values raise."""

    shape = (40,)  # pandas' own looks at the values


class TrapList(list[Any]):
    """A list of rows: its own length and that of the first row may be known."""

    __iter__ = _boom
