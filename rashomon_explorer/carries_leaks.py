"""Transformers that write on what they return that it was made with what was learnt from rows."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.leak_memory import recall, remember
from rashomon_explorer.leaks import leak_of, mark


class CarriesLeaks:
    """Marks what ``transform`` returns, after scikit-learn put it into the wanted container.

    Inherit from it first; ``_leak()`` says what the transformer itself learnt, or nothing.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        transform: Callable[..., Any] = cls.transform  # type: ignore[attr-defined]

        @wraps(transform)
        def marking(self: Any, X: Any) -> Any:
            check_is_fitted(self)
            return with_leak(_with_names(self, X, transform(self, X)), X, self._leak())

        cls.transform = marking  # type: ignore[attr-defined]


def with_leak(made: Any, rows: Any, leak: str = "") -> Any:
    """Mark what was made of rows with what the rows or their maker learnt, and remember it.

    Parameters
    ----------
    made : array or DataFrame
    rows : array or DataFrame
        What it was made of.
    leak : str, default=""
        What its maker learnt, in words.

    Raises
    ------
    TypeError
        If it can carry no mark and its numbers could not be known again.

    Examples
    --------
    >>> leak_of(with_leak(np.eye(2), np.eye(2), "bounds were learnt"))
    'bounds were learnt'
    """
    known = (leak, leak_of(rows) or recall(rows))
    every = "; ".join(dict.fromkeys(filter(None, known)))
    made = mark(made, every)
    remember(made, every)
    if every and not (leak_of(made) or recall(made)):
        raise TypeError(
            f"a {type(made).__module__} {type(made).__name__} cannot carry the mark that {every}: "
            "choose set_output(transform='default') or 'pandas'"
        )
    return made


def _with_names(transformer: Any, X: Any, made: Any) -> Any:
    """Return a DataFrame for a DataFrame: a plain array would lose which column is which."""
    chosen = getattr(transformer, "_sklearn_output_config", {}).get("transform")
    if chosen is not None or not isinstance(X, pd.DataFrame) or not isinstance(made, np.ndarray):
        return made
    return pd.DataFrame(made, index=X.index, columns=transformer.get_feature_names_out())
