"""What theorems promise of a draw, one number each, beside what the draws show."""

import math
from dataclasses import dataclass, replace

import pandas as pd

from rashomon_explorer.constants import Constants
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.bounds import (
    expected_excess,
    hit_probability_from_excess,
    population_risk,
    uniform_stability,
)
from rashomon_explorer.plots._checks import need_as_drawn, need_exact_draws
from rashomon_explorer.plots.bounds import promised_law
from rashomon_explorer.plots.text import at_least, at_most, number, percent
from rashomon_explorer.rashomon_set import RashomonSet

GTU = "GTU: Ganesh, Thakurta and Upadhyay, COLT 2023"
"""What the theorems' names are short for."""

_MISSING = float("nan")
_NO_RIDGE = "needs ridge > 0"
_PAPERS = ", the paper's"
_BOUND = {"≥": at_least, "≤": at_most}


@dataclass(frozen=True)
class Promise:
    """One bound, and what it bounds.

    Attributes
    ----------
    name : str
        What is bounded.
    theorem : str
        Where it is proved.
    sense : {"≥", "≤"}
        Which side the bound is on.
    bound : float
        Known without reading a row; NaN if the theorem's conditions fail.
    measured : float
        The same of the draws (curator: read from private rows); NaN where there are no draws or
        one table cannot show it.
    is_share : bool
        Whether it is a share of draws rather than a loss.
    missing : str
        Why there is no bound.
    """

    name: str
    theorem: str
    sense: str
    bound: float
    measured: float = _MISSING
    is_share: bool = False
    missing: str = ""

    @property
    def of_a_paper(self) -> bool:
        """Whether a stronger bound of the same stands beside it."""
        return self.name.endswith(_PAPERS)

    @property
    def promised(self) -> str:
        """The bound in words, rounded to the side on which it is still true.

        Examples
        --------
        >>> Promise("Draws within ψ", "a theorem", "≥", 0.664, is_share=True).promised
        '≥ 66%'
        """
        return self.missing or _BOUND[self.sense](self.bound, share=self.is_share)

    @property
    def found(self) -> str:
        """What was measured, in words; a dash if nothing was."""
        if math.isnan(self.measured):
            return "–"
        return percent(self.measured) if self.is_share else number(self.measured)


def promises(given: Plan | RashomonSet, constants: Constants | None = None) -> list[Promise]:
    """List what is proved of exact draws, of a plan or beside the draws it brought.

    Parameters
    ----------
    given : Plan or RashomonSet
        A plan leaves the measured side empty; a set's is computed from private rows (curator).
    constants : Constants, optional
        Public constants, as an estimator's ``constants`` gives them: what stability and
        population risk need.

    Returns
    -------
    list of Promise
        Hit rate and mean excess loss, both as proved here and as in GTU; with ``constants`` also
        uniform stability and population risk.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> clf = RashomonClassifier(epsilon=4.0, radius=4.0, ridge=0.1, n_draws=20)
    >>> for promise in promises(clf.plan(50_000, 10), clf.constants(50_000, 10)):
    ...     print(promise.promised, promise.name)
    ≥ 88% Draws within ψ
    ≥ 0% Draws within ψ, the paper's
    ≤ 0.0186 Mean excess loss
    ≤ 0.0224 Mean excess loss, the paper's
    ≤ 4.58 Change of a row's mean loss
    ≤ 4.61 Mean excess loss on new rows
    """
    need_as_drawn(given, "promises")
    models = given if isinstance(given, RashomonSet) and given.n_draws else None
    planned = given.plan if isinstance(given, RashomonSet) else given
    need_exact_draws(planned, "promises")
    p, beta, psi = planned.p, planned.beta, planned.drawn_psi
    psi_of_set = planned.psi  # of which it is promised, whatever the draws are held against now
    crowded = "" if planned.law_psi is None else "of the law with the set's ψ, and not of that at 0"
    inside = models.share_within(psi_of_set) if models else _MISSING
    excess = float(models.excess.mean()) if models else _MISSING
    return [
        Promise(
            name="Draws within ψ",
            theorem="sharp for convex losses: theory §2",
            sense="≥",
            bound=planned.hit_rate_bound,
            measured=inside,
            is_share=True,
        ),
        Promise(
            name="Draws within ψ, the paper's",
            theorem="GTU Theorem D.6",
            sense="≥",
            bound=_MISSING if crowded else hit_probability_from_excess(p=p, beta=beta, psi=psi),
            measured=inside,
            is_share=True,
            missing=crowded,
        ),
        Promise(
            name="Mean excess loss",
            theorem="sharp for convex losses: theory §8",
            sense="≤",
            bound=promised_law(planned).mean,
            measured=excess,
        ),
        Promise(
            name="Mean excess loss, the paper's",
            theorem="p/β + ψ: GTU Theorem 2.4",
            sense="≤",
            bound=expected_excess(p=p, beta=beta, psi=psi),
            measured=excess,
        ),
        *(_on_new_rows(planned, constants) if constants is not None else []),
    ]


def _on_new_rows(planned: Plan, known: Constants) -> list[Promise]:
    """Stability and population risk, which are bounded under a ridge alone."""
    stable = Promise(
        name="Change of a row's mean loss",
        theorem="if one record is replaced: GTU Theorem 2.5",
        sense="≤",
        bound=_MISSING,
        missing=_NO_RIDGE,
    )
    beyond = Promise(
        name="Mean excess loss on new rows",
        theorem="of the same population: GTU Theorem 2.6",
        sense="≤",
        bound=_MISSING,
        missing=_NO_RIDGE,
    )
    if not known.m > 0:
        return [stable, beyond]
    p, beta, psi = planned.p, planned.beta, planned.drawn_psi
    moved = uniform_stability(L=known.L, m=known.m, n=known.n, psi=psi)
    risk = population_risk(p=p, beta=beta, L=known.L, m=known.m, n=known.n, psi=psi)
    return [replace(stable, bound=moved, missing=""), replace(beyond, bound=risk, missing="")]


def promises_table(given: Plan | RashomonSet, constants: Constants | None = None) -> pd.DataFrame:
    """Tabulate :func:`promises`.

    Parameters
    ----------
    given : Plan or RashomonSet
        As for :func:`promises`.
    constants : Constants, optional
        As for :func:`promises`.

    Returns
    -------
    DataFrame
        One row a promise: bound, measured and theorem.
    """
    rows = promises(given, constants)
    return pd.DataFrame(
        {
            "bound": [row.bound for row in rows],
            "measured": [row.measured for row in rows],
            "theorem": [row.theorem for row in rows],
        },
        index=pd.Index([f"{row.name} {row.sense}" for row in rows], name="promise"),
    )
