"""A plan follows from public numbers alone, so that the same ones need it made once only."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.warn_weak import said_elsewhere


@lru_cache(maxsize=64, typed=True)
def made_once(make: Callable[..., Plan], n: int, p: int, psi: float, **settings: Any) -> Plan:
    """Make a plan, or hand on the one that these settings gave before; it does not warn.

    What a page showed, what its budget was checked for and what a fit charges is so one plan.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> rows = {"radius": 4.0, "row_norm": 1.5, "epsilon": 1.0}
    >>> shown = made_once(plan, 50_000, 11, 0.02, **rows)
    >>> made_once(plan, 50_000, 11, 0.02, **rows) is shown
    True
    """
    with said_elsewhere():  # of a plan made before nobody would hear: who asks for it warns
        return make(n, p, psi, **settings)
