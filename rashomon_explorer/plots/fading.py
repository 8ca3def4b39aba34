"""What is not picked fades: it stays to be seen, and no longer asks for it."""

from collections.abc import Sequence

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.plots.text import plural

SEEN, FADED = 0.8, 0.16


def chosen_of(kept: np.ndarray, highlight: Sequence[int]) -> Mask:
    """Mark the dots whose model was picked.

    >>> chosen_of(np.array([0, 2, 5]), [5, 9]).tolist()
    [False, False, True]
    """
    return np.isin(kept, np.asarray(highlight, dtype=int))


def opacities(chosen: Mask) -> FloatArray:
    """Opacity of every dot: all are seen while none is picked.

    >>> opacities(np.array([False, False])).tolist(), opacities(np.array([True, False])).tolist()
    ([0.8, 0.8], [0.8, 0.16])
    """
    seen = chosen | (not chosen.any())
    return np.where(seen, SEEN, FADED)


def faded_words(chosen: Mask) -> str:
    """Say how many dots are faded; empty while none is picked.

    >>> faded_words(np.array([True, False, False])), faded_words(np.array([False]))
    ('1 model picked, 2 faded', '')
    """
    picked = int(chosen.sum())
    return f"{plural(picked, 'model')} picked, {len(chosen) - picked:,} faded" if picked else ""
