"""Where a warning points: at the line of whoever called the package, not into it."""

import functools
import sys
from importlib.util import find_spec
from pathlib import Path

_ABOVE = ("sklearn", "joblib")

# Between a user's ``pipeline.fit`` and our warning stand scikit-learn's own frames, and joblib's
# where it fits a transformer. To know where they are they need not be imported, which is slow.
_INSIDE = (
    *(str(Path(str(found.origin)).parent) for found in map(find_spec, _ABOVE) if found),
    str(Path(__file__).parent),
    functools.__file__,
)


def users_line() -> int:
    """``stacklevel`` with which a warning names the line that called the package.

    For a ``warnings.warn`` in the function that asks.

    >>> users_line()
    1
    """
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
        level += 1
    return level
