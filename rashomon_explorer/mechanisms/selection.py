"""Private selection of one of several models."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import Fact, ReprMixin, hit_rate_text, rounded_up
from rashomon_explorer.privacy import Guarantee, bounded_range, pure
from rashomon_explorer.privacy.guarantee import epsilon_delta_text

__all__ = [
    "PICKS",
    "SELECTIONS",
    "Candidate",
    "Exponential",
    "PermuteAndFlip",
    "Pick",
    "Runs",
    "SearchPlan",
    "max_over_splits",
]


def max_over_splits(first: Guarantee, second: Guarantee) -> Guarantee:
    """Guarantee of two mechanisms on disjoint rows, whose split depends on no value."""
    sides = (first, second)
    numbers = ("pure_epsilon", "rho", "approximate_epsilon", "approximate_delta")
    stated = dict.fromkeys(assumption for side in sides for assumption in side.assumptions)
    return Guarantee(
        "composition",
        f"the larger cost of two disjoint parts of the rows: {first.theorem}; {second.theorem}",
        **{name: max(getattr(side, name) for side in sides) for name in numbers},
        assumptions=(*stated, "the split is by place, and public"),
        seeded=any(side.seeded for side in sides),
    )


@dataclass(frozen=True)
class Pick:
    """Selection mechanism: a law on k candidates that prefers small losses."""

    name: ClassVar[str]
    epsilon: float
    sensitivity: float

    def law(self, losses: ArrayLike) -> FloatArray:
        """Probabilities (k,) of selection."""
        raise NotImplementedError

    def draw(self, losses: ArrayLike, rng: np.random.Generator) -> int:
        """Index of the selected candidate."""
        raise NotImplementedError

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of the selected index."""
        raise NotImplementedError

    def weights(self, losses: ArrayLike) -> FloatArray:
        """Weights exp(−ε(u − min u)/2Δ) (k,), 1 for the best candidate."""
        values = np.asarray(losses, dtype=float)
        return np.asarray(np.exp(-self.epsilon * (values - values.min()) / (2 * self.sensitivity)))


class PermuteAndFlip(Pick):
    """Visit candidates in random order, accept each with its weight (docs/theory/selection.md)."""

    name: ClassVar[str] = "permute_and_flip"

    def law(self, losses: ArrayLike) -> FloatArray:
        accept = self.weights(losses)
        nodes, weights = np.polynomial.legendre.leggauss(len(accept) // 2 + 1)  # exact: polynomials
        factors = 1 - np.outer(accept, (nodes + 1) / 2)
        rejections = np.array(
            [np.delete(factors, j, axis=0).prod(axis=0) for j in range(len(accept))]
        )
        return np.asarray(accept * (rejections @ weights) / 2)

    def draw(self, losses: ArrayLike, rng: np.random.Generator) -> int:
        accept = self.weights(losses)
        for candidate in rng.permutation(len(accept)):
            if rng.random() < accept[candidate]:
                return int(candidate)
        raise AssertionError("the best candidate is always accepted")

    @property
    def guarantee(self) -> Guarantee:
        """Pure ε-DP."""
        return pure(self.epsilon)


class Exponential(Pick):
    """Exponential mechanism, ∝ the weights: ε-bounded range, so ε-DP and ε²/8-zCDP."""

    name: ClassVar[str] = "exponential"

    def law(self, losses: ArrayLike) -> FloatArray:
        weights = self.weights(losses)
        return np.asarray(weights / weights.sum())

    def draw(self, losses: ArrayLike, rng: np.random.Generator) -> int:
        ends = np.cumsum(self.law(losses))
        return int(np.searchsorted(ends[:-1], rng.random(), side="right"))

    @property
    def guarantee(self) -> Guarantee:
        """ε-bounded range."""
        return bounded_range(self.epsilon)


PICKS: dict[str, type[Pick]] = {kind.name: kind for kind in (PermuteAndFlip, Exponential)}
"""Selection mechanisms by name."""


def regret(pick: Pick, k: int) -> float:
    """Bound 2Δ·log(k)/ε on the expected loss of the selected candidate, above the least."""
    return 2 * pick.sensitivity * math.log(k) / pick.epsilon


@dataclass(frozen=True)
class Runs:
    """Number K of runs, independent of the rows; the best costs (2 + shape)·ε₀."""

    shape: int
    gamma: float

    def __post_init__(self) -> None:
        if self.shape not in (0, 1):
            raise ValueError(f"shape must be 0 or 1, got {self.shape!r}")
        if not 0 < self.gamma < 1:
            raise ValueError(f"gamma must be in (0, 1), got {self.gamma!r}")

    @classmethod
    def of_mean(cls, shape: int, mean: float) -> "Runs":
        """Law of K with this mean."""
        if not mean > 1:
            raise ValueError(f"mean must be > 1, got {mean!r}")
        if shape == 1:
            return cls(1, 1 / mean)
        log_gamma = bisect(lambda t: cls(0, math.exp(t)).mean >= mean, -200.0, -1e-9, halvings=200)
        return cls(0, math.exp(log_gamma))

    @property
    def factor(self) -> int:
        """Factor of ε₀ that the selected model costs."""
        return 2 + self.shape

    @property
    def mean(self) -> float:
        """Mean number of runs, E K."""
        if self.shape == 1:
            return 1 / self.gamma
        return (1 - self.gamma) / (self.gamma * -math.log(self.gamma))

    def pgf(self, x: ArrayLike) -> FloatArray:
        """Probability generating function f(x) = E x^K."""
        values = np.asarray(x, dtype=float)
        left = 1 - (1 - self.gamma) * values
        if self.shape == 1:
            return np.asarray(self.gamma * values / left)
        return np.asarray(np.log(left) / math.log(self.gamma))

    def missed(self, k: int) -> float:
        """Probability that a given one of k candidates is never run."""
        return float(self.pgf(1 - 1 / k))

    def law(self, probabilities: ArrayLike) -> FloatArray:
        """Law of the selected outcome."""
        worse = 1 - np.cumsum(np.asarray(probabilities, dtype=float))
        return np.asarray(-np.diff(self.pgf(np.clip(np.concatenate([[1.0], worse]), 0, 1))))

    def draw(self, rng: np.random.Generator) -> int:
        """Draw K ≥ 1."""
        if self.shape == 1:
            return int(rng.geometric(self.gamma))
        return int(rng.logseries(1 - self.gamma))

    def guarantee(self, epsilon: float) -> Guarantee:
        """Guarantee of the selected model if a run with its score is ``epsilon``-DP."""
        pure_guarantee = pure(self.factor * epsilon)
        return Guarantee(
            "pure",
            "the best of a random number of runs (Liu and Talwar 2019; Papernot and Steinke 2022)",
            pure_epsilon=pure_guarantee.pure_epsilon,
            rho=pure_guarantee.rho,
            assumptions=(
                *pure_guarantee.assumptions,
                "the number of runs, and so the running time, is not revealed",
            ),
        )


SELECTIONS = {
    "every": "every candidate is fitted once, and one is selected by its score",
    "geometric": "random candidates are run a geometric number of times; the best is selected",
    "logarithmic": "random candidates are run a logarithmic number of times; the best is selected",
}
"""Descriptions of the selection mechanisms."""

_VACUOUS = 10.0  # all larger excess bounds are equally vacuous


@dataclass(frozen=True)
class Candidate:
    """One of the models that are compared."""

    params: Mapping[str, Any]
    plan: Any
    guarantee: Guarantee

    @property
    def excess(self) -> float:
        """Bound on its expected excess loss, capped where the bound is vacuous."""
        return min(float(self.plan.excess_bound), _VACUOUS)

    @property
    def in_words(self) -> str:
        """Settings as text."""
        return ", ".join(f"{name}={value!r}" for name, value in self.params.items()) or "as given"


@dataclass(frozen=True, repr=False)
class SearchPlan(ReprMixin):
    """A private selection among several models, and its guarantees."""

    mechanism: str
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
        """Expected number of fitted models."""
        return float(len(self.candidates)) if self.runs is None else self.runs.mean

    @property
    def missed(self) -> float:
        """Probability that a given candidate is never fitted."""
        return 0.0 if self.runs is None else self.runs.missed(len(self.candidates))

    @property
    def best(self) -> Candidate:
        """Candidate with the least excess bound; the scores may favour another."""
        return min(self.candidates, key=lambda candidate: candidate.excess)

    @property
    def selection_bound(self) -> float:
        """Expected excess bound plus score regret, by which mechanisms are compared."""
        worst = max(candidate.excess for candidate in self.candidates)
        return (1 - self.missed) * self.best.excess + self.missed * worst + self.score_regret

    @property
    def weakness(self) -> str:
        """Reason why even the best candidate has a weak guarantee; empty if it does not."""
        planned = self.best.plan
        stated = getattr(planned, "weakness", None)
        return planned.weakness if stated is None else str(stated)

    def _title(self) -> str:
        return f"SearchPlan: {len(self.candidates)} candidates on {self.n:,} rows"

    def _facts(self) -> list[Fact]:
        facts = [
            ("mechanism", SELECTIONS[self.mechanism]),
            ("why", self.why),
            ("privacy cost", epsilon_delta_text(self.epsilon, self.delta)),
            ("a fit", epsilon_delta_text(*self.each)),
            ("fits", f"{self.mean_fits:.3g}" + (" on average" if self.runs else "")),
            ("split", f"{self.n_train:,} rows are fitted, {self.n_val:,} score"),
            ("score", f"≤ {rounded_up(self.score_regret)} above the best that was fitted"),
        ]
        if self.runs is not None:
            facts.append(("unseen", f"a candidate is never run in {hit_rate_text(self.missed)}"))
        facts += [
            (
                "candidate",
                f"{candidate.in_words}, excess loss ≤ {rounded_up(candidate.excess)} on average",
            )
            for candidate in self.candidates
        ]
        return facts + [("warning", self.weakness)] * bool(self.weakness)


def most_noise(scale: float, mean_runs: float) -> float:
    """Bound 2b(1 + log E K) on the error of the best of K runs with Laplace noise of scale b."""
    return 2 * scale * (1 + math.log(mean_runs))
