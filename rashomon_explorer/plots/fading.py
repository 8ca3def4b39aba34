"""What is not picked fades: it stays to be seen, and no longer asks for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.plots.text import plural
from rashomon_explorer.plots.theme import PURPLE

SEEN, FADED = 0.8, 0.16
_REST = "rgba(128,128,128,0.7)"


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


def edges(chosen: Mask, picked: float, resting: float) -> dict[str, Any]:
    """Edge of every dot: wide and purple where it is picked.

    By number and scale and not by name: plotly checks names of colours one by one, half a second
    for 5,000 dots at every brush.

    >>> edges(np.array([False, True]), 3, 0.8)["width"].tolist()
    [0.8, 3.0]
    """
    return {
        "color": chosen.astype(np.float32),
        "colorscale": [[0, _REST], [1, PURPLE]],
        "cmin": 0,
        "cmax": 1,
        "width": np.where(chosen, picked, resting),
    }


def faded_words(chosen: Mask) -> str:
    """Say how many dots are faded; empty while none is picked.

    >>> faded_words(np.array([True, False, False])), faded_words(np.array([False]))
    ('1 model picked, 2 faded', '')
    """
    picked = int(chosen.sum())
    return f"{plural(picked, 'model')} picked, {len(chosen) - picked:,} faded" if picked else ""
