"""The three MONK's problems: every robot there is, and the published rule that labels it."""

import itertools
from collections.abc import Callable, Mapping

import pandas as pd

from rashomon_explorer.datasets.catalog import CatalogEntry

ATTRIBUTE_VALUES: dict[str, int] = {"a1": 3, "a2": 3, "a3": 2, "a4": 3, "a5": 4, "a6": 2}
"""Number of values of each attribute; they are 1, 2, ..."""


def _first(robots: pd.DataFrame) -> pd.Series:
    return (robots["a1"] == robots["a2"]) | (robots["a5"] == 1)


def _second(robots: pd.DataFrame) -> pd.Series:
    return (robots == 1).sum(axis=1) == 2


def _third(robots: pd.DataFrame) -> pd.Series:
    return ((robots["a5"] == 3) & (robots["a4"] == 1)) | ((robots["a5"] != 4) & (robots["a2"] != 3))


RULES: Mapping[int, Callable[[pd.DataFrame], pd.Series]] = {1: _first, 2: _second, 3: _third}
"""Rule of each problem, from Thrun et al. 1991, "The MONK's Problems", CMU-CS-91-197."""


def load_monks(entry: CatalogEntry) -> pd.DataFrame:
    """All 432 robots with their noise-free label.

    ``options["rule"]`` is 1, 2 or 3; the columns are ``a1`` … ``a6`` and the target, 0 or 1.

    >>> from rashomon_explorer.datasets.catalog import read_catalog
    >>> int(load_monks(read_catalog()["monks1"])["monk"].sum())
    216
    """
    values = (range(1, count + 1) for count in ATTRIBUTE_VALUES.values())
    robots = pd.DataFrame(list(itertools.product(*values)), columns=list(ATTRIBUTE_VALUES))
    labels = RULES[entry.options["rule"]](robots)
    return robots.assign(**{entry.target: labels.astype(int)})
