"""Rules that say how much worse than the best model a good model may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """Rashomon threshold with the rule that gave it.

    Parameters
    ----------
    psi : float
        Largest excess loss of a good model, in the unit of the objective.
    rule : str
        Name of the rule, such as ``"cv"``.
    text : str
        One sentence on what the rule means.
    """

    psi: float
    rule: str
    text: str
