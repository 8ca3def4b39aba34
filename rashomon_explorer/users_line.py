"""Where a warning points: at the line of whoever called the package, not into it."""

import functools
import sys
from pathlib import Path

import joblib
import sklearn

# Between a user's ``pipeline.fit`` and our warning stand scikit-learn's own frames, and joblib's
# where it fits a transformer.
_INSIDE = (
    *(str(Path(str(module.__file__)).parent) for module in (sklearn, joblib)),
    str(Path(__file__).parent),
    functools.__file__,
)


def users_line() -> int:
    """``stacklevel`` with which a warning names the line that called the package.

    Returns
    -------
    int
        For a ``warnings.warn`` in the function that asks.

    Examples
    --------
    >>> users_line()
    1
    """
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
        level += 1
    return level
