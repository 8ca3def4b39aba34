"""What was learnt from rows without paying for it, written on the data that carries it on."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_KEY = "privacy_leak"  # among the attributes of a pandas object

ONE_BY_ONE = "each row was prepared by itself, from declared settings only"
"""What a guarantee assumes of rows, for nobody can see where they come from."""


class LeakyArray(np.ndarray):
    """An array that remembers why what is computed from it has no guarantee.

    Slices, copies, pickles and results of numpy's functions remember it too. What makes a new
    plain array forgets: ``numpy.asarray``, and so every scikit-learn transformer in between. There
    :mod:`rashomon_explorer.leak_memory` knows the numbers again, as long as they are the same.

    Attributes
    ----------
    leak : str
        What was learnt, in words; empty for nothing.
    """

    leak: str

    def __array_finalize__(self, other: Any) -> None:
        """Take the reason over from the array that this one was made from."""
        self.leak = getattr(other, "leak", "")

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any, kwargs: Any
    ) -> Any:
        """Mark results, for several arrays that are joined hand on the attributes of none."""
        result = super().__array_function__(func, types, args, kwargs)
        if isinstance(result, list | tuple):
            return type(result)(_marked(part, self.leak) for part in result)
        return _marked(result, self.leak)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the reason beside the numbers."""
        plain = super().__reduce__()
        return plain[0], plain[1], (plain[2], self.leak)

    def __setstate__(self, state: Any) -> None:
        """Read both back."""
        numbers, self.leak = state
        super().__setstate__(numbers)


def mark(data: Any, leak: str) -> Any:
    """Write on an array or a pandas object that ``leak`` was learnt from rows.

    A pandas object is marked in place. What can hold no mark, such as a list, a sparse matrix or a
    frame of polars, is returned as it is; so is all, for an empty ``leak``.

    >>> rows = mark(np.eye(2), "bounds were learnt")
    >>> leak_of(np.vstack([np.zeros(2), rows[:1]])), leak_of(np.eye(2))
    ('bounds were learnt', '')
    """
    if not leak:
        return data
    if isinstance(data, np.ndarray):
        data = data.view(LeakyArray)
        data.leak = leak
    elif isinstance(getattr(data, "attrs", None), dict):
        data.attrs[_KEY] = leak
    return data


def leak_of(*data: Any) -> str:
    """Read what was learnt without paying for it, as far as any of the data remembers.

    All reasons, each once; empty if there is none.
    """
    leaks = map(_written_on, data)
    return "; ".join(dict.fromkeys(leak for leak in leaks if isinstance(leak, str) and leak))


def _written_on(data: Any) -> Any:
    # A column or a row that is called "leak" is an attribute of a pandas object, too: its values
    # are no mark, and private.
    return data.leak if isinstance(data, LeakyArray) else _attributes(data).get(_KEY, "")


def _attributes(data: Any) -> dict[Any, Any]:
    attributes = getattr(data, "attrs", None)
    return attributes if isinstance(attributes, dict) else {}


def _marked(result: Any, leak: str) -> Any:
    return mark(result, leak) if isinstance(result, np.ndarray) else result
