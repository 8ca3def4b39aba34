"""The two sides of a search: rows that are fitted, and rows that score."""

import warnings
from typing import Any

import numpy as np

from rashomon_explorer.array_types import Mask
from rashomon_explorer.containers import is_frame, values_of
from rashomon_explorer.estimators.bilevel_search import DPBilevelSearch
from rashomon_explorer.estimators.unread import UnreadTable
from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.selection import SearchPlan
from rashomon_explorer.sklearn_compat import select_rows
from rashomon_explorer.users_line import users_line


class Sides:
    """Both sides of a table: what is fitted, and what scores.

    ``scoring`` (n,) says which rows score, ``bounds`` what targets are cut to, None for labels.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        table: UnreadTable,
        scoring: Mask,
        bounds: tuple[float, float] | None,
    ) -> None:
        self.table = table
        rows, targets = table.values
        # A frame's names and text are the candidates' to read.
        X, y = (values_of(X), values_of(y)) if is_frame(X) else (rows, targets)
        self.fitted = tuple(select_rows(part, np.flatnonzero(~scoring)) for part in (X, y))
        self._rows = select_rows(X, np.flatnonzero(scoring))
        self._targets = targets[scoring]
        self._bounds = bounds

    def loss(self, model: Any) -> float:
        """Mean over the scoring rows of what lies in [0, 1], whatever a row holds."""
        said = model.predict(self._rows)
        if self._bounds is None:
            return float(np.mean(said != self._targets))
        low, high = self._bounds
        off = np.clip(said, low, high) - np.clip(self._targets, low, high)
        return float(np.mean((off / (high - low)) ** 2))


def warn_if_weak_search(planned: SearchPlan) -> None:
    """Warn where even the candidate that promises most may be worth nothing.

    >>> from rashomon_explorer import RashomonTreeClassifier
    >>> from rashomon_explorer import PrivateSearch
    >>> search = PrivateSearch(RashomonTreeClassifier(), {"psi": [0.01, 0.02]}, epsilon=4.0)
    >>> warn_if_weak_search(search.plan(50_000, 10))
    """
    if planned.weakness:
        told = f"this plan promises little: of its candidates the best, {planned.best.in_words}: "
        warnings.warn(told + planned.weakness, WeakGuaranteeWarning, stacklevel=users_line())


def target_bounds_of(candidates: list[Any]) -> tuple[float, float]:
    """Return the declared range of the target, which all candidates share.

    >>> from rashomon_explorer import DPRegressor
    >>> target_bounds_of([DPRegressor(target_bounds=(0, 5))])
    (0.0, 5.0)
    """
    knowing = [
        one._labels_and_bounds() if isinstance(one, DPBilevelSearch) else one for one in candidates
    ]
    known = {one._target_bounds() for one in knowing}
    if len(known) > 1:
        raise ValueError(f"candidates must share target_bounds, got {sorted(known)}")
    low, high = known.pop()
    return float(low), float(high)
