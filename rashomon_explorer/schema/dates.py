"""Columns of days or months written as text: as levels each date would stand for itself."""

import re

import numpy as np
import pandas as pd

from rashomon_explorer.schema.cells import as_text, is_missing, read_numbers

_DAY, _MONTH = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])"
_CLOCK = r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"\d{{4}}([-/.]){_MONTH}(\1{_DAY}{_CLOCK})?",  # 2019-01, 2019-01-05, with a time of day
        rf"{_DAY}([-/.]){_MONTH}\2\d{{4}}{_CLOCK}",  # 05.01.2019
        rf"{_MONTH}([-/.])({_DAY}\2)?\d{{4}}",  # 01/05/2019, 01/2019
    )
)


def looks_like_dates(cells: pd.Series) -> bool:
    """Whether all that is there are days or months of one form, and more than two of them.

    Examples
    --------
    >>> looks_like_dates(pd.Series(["2019-01", "2019-02", "2020-11", None]))
    True
    >>> looks_like_dates(pd.Series(["05.01.2019", "31.12.2020", "1.2.2021"]))
    True
    >>> looks_like_dates(pd.Series(["1.2019", "2.2019", "3.2019"]))  # numbers
    False
    """
    if pd.api.types.is_datetime64_any_dtype(cells):
        return True
    if pd.api.types.is_numeric_dtype(cells):
        return False
    words = as_text(cells)
    found = pd.Series(words[~is_missing(words)].unique())
    if np.isfinite(read_numbers(found)[0]).any():  # 1.2019 is a number
        return False
    return len(found) > 2 and any(all(form.fullmatch(one) for one in found) for form in _FORMS)
