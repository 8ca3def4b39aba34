"""What a budget buys of the choice among several private models, before a row is read."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rashomon_explorer.planning.weakness import weakness
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.label import price_of
from rashomon_explorer.rounding import hit_rate_text, rounded_up
from rashomon_explorer.selection.picks import Pick
from rashomon_explorer.selection.runs import Runs
from rashomon_explorer.shown import Fact, Shown

WAYS = {
    "every": "every candidate is fitted once, and one is picked by its score",
    "geometric": "candidates are run at random, a geometric number of times; the best is kept",
    "logarithmic": "candidates are run at random, a logarithmic number of times; the best is kept",
}
"""Ways to choose among candidates, in words."""

_VACUOUS = 10.0  # a promise that is worse than this says nothing either


@dataclass(frozen=True)
class Candidate:
    """One of the models that are tried.

    Parameters
    ----------
    params : mapping
        What it was set to.
    plan : object
        The estimator's own plan, at the price that it has here.
    guarantee : Guarantee
        Of its fit.

    Examples
    --------
    >>> from rashomon_explorer import DPClassifier
    >>> plan = DPClassifier(epsilon=0.5, delta=0.0, row_norm=1.5).plan(35_000, 10)
    >>> Candidate({"method": "auto"}, plan, plan.guarantee).excess < 0.2
    True
    """

    params: Mapping[str, Any]
    plan: Any
    guarantee: Guarantee

    @property
    def excess(self) -> float:
        """Bound of its expected excess loss, cut where it says nothing."""
        return min(float(self.plan.excess_bound), _VACUOUS)

    @property
    def in_words(self) -> str:
        """Its settings."""
        return ", ".join(f"{name}={value!r}" for name, value in self.params.items()) or "as given"


@dataclass(frozen=True, repr=False)
class SearchPlan(Shown):
    """A private choice among several models, and what is promised of it.

    Parameters
    ----------
    way : str
        Key in :data:`WAYS`.
    n_train, n_val : int
        Rows that are fitted, and rows that score.
    epsilon, delta : float
        Total price.
    each : tuple of float
        (ε, δ) that every candidate is fitted with.
    candidates : tuple of Candidate
    guarantee : Guarantee
        Of the chosen model and of which it is; with ``"every"`` of all the others too.
    score_regret : float
        Expected score of the choice, in share of wrong rows or in squared error of targets of width
        1, above that of the best that was fitted, is at most this on the scoring rows.
    pick : Pick, optional
        Law of the choice among all.
    runs : Runs, optional
        Law of the number of fits.
    why : str, default=""
        Why this way was taken.
    options : tuple of SearchPlan, default=()
        The ways that were weighed, the best first.

    Notes
    -----
    :attr:`promised` compares ways: the least excess that a candidate promises on the rows that are
    fitted, that of the worst as often as the best is never run, and ``score_regret``.
    """

    way: str
    n_train: int
    n_val: int
    epsilon: float
    delta: float
    each: tuple[float, float]
    candidates: tuple[Candidate, ...]
    guarantee: Guarantee
    score_regret: float
    pick: Pick | None = None
    runs: Runs | None = None
    why: str = ""
    options: tuple["SearchPlan", ...] = ()

    @property
    def n(self) -> int:
        """Number of rows of both sides."""
        return self.n_train + self.n_val

    @property
    def mean_fits(self) -> float:
        """How many models are fitted, on average."""
        return float(len(self.candidates)) if self.runs is None else self.runs.mean

    @property
    def missed(self) -> float:
        """Probability that a given candidate is never fitted."""
        return 0.0 if self.runs is None else self.runs.missed(len(self.candidates))

    @property
    def best(self) -> Candidate:
        """The candidate that promises most; a score may speak for another."""
        return min(self.candidates, key=lambda one: one.excess)

    @property
    def promised(self) -> float:
        """By what ways are compared; see the notes."""
        worst = max(one.excess for one in self.candidates)
        return (1 - self.missed) * self.best.excess + self.missed * worst + self.score_regret

    @property
    def weakness(self) -> str:
        """Why even the candidate that promises most may be worth nothing; empty where it is not."""
        planned = self.best.plan
        known = getattr(planned, "weakness", None)
        return weakness(planned) if known is None else str(known)

    def _title(self) -> str:
        return f"SearchPlan: {len(self.candidates)} candidates on {self.n:,} rows"

    def _facts(self) -> list[Fact]:
        facts = [
            ("way", WAYS[self.way]),
            ("why", self.why),
            ("price", price_of(self.epsilon, self.delta)),
            ("a fit", price_of(*self.each)),
            ("fits", f"{self.mean_fits:.3g}" + (" on average" if self.runs else "")),
            ("sides", f"{self.n_train:,} rows are fitted, {self.n_val:,} score"),
            ("score", f"≤ {rounded_up(self.score_regret)} above the best that was fitted"),
        ]
        if self.runs is not None:
            facts.append(("unseen", f"a candidate is never run in {hit_rate_text(self.missed)}"))
        facts += [(f"excess ≤ {rounded_up(one.excess)}", one.in_words) for one in self.candidates]
        return facts + [("but", self.weakness)] * bool(self.weakness)


def most_noise(scale: float, mean_runs: float) -> float:
    """Bound 2b(1 + log E K) of what Laplace noise of scale b does to the choice among K runs.

    The largest of K sizes is b times a sum of 1/i, i ≤ K, on average, and both the best and the one
    that is taken for it have one.

    Examples
    --------
    >>> round(most_noise(0.01, 40.0), 4)
    0.0938
    """
    return 2 * scale * (1 + math.log(mean_runs))
