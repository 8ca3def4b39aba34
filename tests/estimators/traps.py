"""Tables that notice when somebody looks at a value."""

from typing import Any

import numpy as np
import pandas as pd

LOOKS: list[str] = []


class Trap:
    """Raises at whatever could show a value; shape, names and types are public."""

    open_to: frozenset[str] = frozenset({"shape", "__class__", "attrs"})

    def __getattribute__(self, name: str) -> Any:
        if name in type(self).open_to:
            return object.__getattribute__(self, name)
        LOOKS.append(name)
        raise AssertionError(f"{name} was read")

    def _boom(self, *args: object, **options: object) -> Any:
        LOOKS.append("special method")
        raise AssertionError("a value was read")

    __array__ = __getitem__ = __iter__ = __len__ = __bool__ = __eq__ = _boom  # type: ignore[assignment]
    __repr__ = __str__ = __reduce__ = __copy__ = __deepcopy__ = _boom
    __array_ufunc__ = __array_function__ = __array_interface__ = _boom
    __hash__ = None  # type: ignore[assignment]


class TrapArray(Trap):
    """Like an array."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


class SubArray(np.ndarray):
    """A true array that raises when numpy or anybody reads it."""

    def _boom(self, *args: object, **options: object) -> Any:
        LOOKS.append("special method")
        raise AssertionError("a value was read")

    __array__ = __getitem__ = __iter__ = __len__ = __bool__ = __array_ufunc__ = _boom  # type: ignore[assignment]
    __array_function__ = __repr__ = __str__ = astype = copy = view = tolist = _boom  # type: ignore[assignment]
    dtype = property(_boom)  # type: ignore[assignment]
    flags = property(_boom)  # type: ignore[assignment]


class _TrapPandas:
    names: frozenset[str] = frozenset(
        "values iloc loc iat at to_numpy dtypes dtype _values array items iterrows itertuples "
        "__array__ __getitem__ __len__ __iter__ __dataframe__ astype copy isna apply describe "
        "to_dict empty".split()
    )

    def __getattribute__(self, name: str) -> Any:
        if name in _TrapPandas.names:
            LOOKS.append(name)
            raise AssertionError(f"{name} was read")
        return super().__getattribute__(name)


class TrapFrame(_TrapPandas, pd.DataFrame):
    """A DataFrame whose values raise."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        LOOKS.append("__array__")
        raise AssertionError("a value was read")

    __getitem__ = __iter__ = __array__  # type: ignore[assignment]


class TrapSeries(_TrapPandas, pd.Series):
    """A Series whose values raise."""

    shape = (40,)  # pandas' own looks at the values

    def __array__(self, *args: Any, **options: Any) -> Any:
        LOOKS.append("__array__")
        raise AssertionError("a value was read")

    __getitem__ = __iter__ = __array__  # type: ignore[assignment]


class TrapList(list[Any]):
    """A list of rows: its own length and that of the first row may be known."""

    def __iter__(self) -> Any:
        LOOKS.append("__iter__")
        raise AssertionError("a value was read")
