"""A plan follows from public numbers alone, so that the same ones need it made once only."""

from functools import lru_cache
from typing import Any

from rashomon_explorer.planning import MECHANISMS, Plan, Request
from rashomon_explorer.planning.rule import AUTO, completed
from rashomon_explorer.planning.warn_weak import said_elsewhere


@lru_cache(maxsize=64, typed=True)
def made_once(mechanism: str, **asked: Any) -> Plan:
    """Make a mechanism's plan, or hand on the one that these numbers gave before; does not warn.

    What a page showed, what its budget was checked for and what a fit charges is so one plan. What
    is left to the rule (``"auto"``) is settled first.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "loss": "logistic", "ridge": 0.0}
    >>> asked = {**rows, "radius": 4.0, "row_norm": 1.5, "epsilon": 1.0, "delta": 0.0, "n_draws": 1}
    >>> shown = made_once("exact", **asked)
    >>> made_once("exact", **asked) is shown
    True
    """
    with said_elsewhere():  # of a plan made before nobody would hear: who asks for it warns
        settled = completed(mechanism, **asked) if AUTO in asked.values() else Request(**asked)
        planned: Plan = MECHANISMS[mechanism].plan(settled)
    return planned
