"""Columns with what was declared of them."""

from collections.abc import Sequence

import pandas as pd

from rashomon_explorer.plots.text import number
from rashomon_explorer.report.material import Bounds


def declared(names: Sequence[str], bounds: Bounds) -> pd.DataFrame:
    """List declared bounds of each feature, in its own units.

    >>> declared(["age", "owns"], {"age": (18, 99)}).iloc[:, 0].to_dict()
    {'age': '18 to 99', 'owns': '–'}
    """
    told = [
        f"{number(bounds[name][0])} to {number(bounds[name][1])}" if name in bounds else "–"
        for name in names
    ]
    index = pd.Index(names, name="feature")
    return pd.DataFrame({"declared bounds, own units": told}, index=index)
