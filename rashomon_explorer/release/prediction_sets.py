"""Prediction sets that cover new people, by one private quantile of scores of held-out rows."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count, check_inner_share
from rashomon_explorer.release import query, statistic
from rashomon_explorer.release.statistic import GUMBEL, Noise


@dataclass(frozen=True, kw_only=True)
class ScoreThreshold(query.Query):
    """Threshold of scores whose prediction sets contain the label of new people.

    The score of a label is 1 minus its probability, over the draws. A person's prediction set holds
    the labels with scores up to a threshold t, and ``labels`` abstains unless it holds just one.
    The exponential mechanism selects t among the public levels 0, 1/levels, …, 1. Its utility of a
    level is minus the distance of a rank m from the ranks of the rows whose scores have this level.
    One record moves it by at most 1, for any scores and ties. The rank m makes up for the noise, so
    that the promise holds as stated (docs/theory/inference.md §28).

    **Pass held-out rows**: independent rows of the population that the draws were not made from.
    The promise fails on training rows, which the draws fit better than new ones.

    Parameters
    ----------
    alpha : float, default=0.1
        The sets contain the label with probability at least 1 − alpha.
    failure : float, optional
        None averages this probability over held-out rows and noise. A number in (0, 1) is the
        probability with which the coverage of the released threshold may be below 1 − alpha.
    over : {"mean", "largest"}, default="mean"
        Score by the draws' mean probability, or the largest score over the draws: then the set of
        each draw alone covers too, whichever is deployed.
    levels : int, default=100
        Number of levels above 0.

    Raises
    ------
    ValueError
        If a number is out of range; in a plan, also if the rows are too few for the noise.

    References
    ----------
    Angelopoulos, Bates, Zrnic and Jordan, "Private prediction sets" (Harvard Data Science Review,
    2022); Cesar and Rogers (2021) for the cost of the exponential mechanism.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> from rashomon_explorer.release import ScoreThreshold, release
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, (6_000, 2))
    >>> y = (X[:, 0] + 0.2 * rng.normal(size=6_000) > 0).astype(int)
    >>> fit, held_out = slice(4_000), slice(4_000, None)
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X[fit], y[fit])
    >>> found = release(
    ...     models, X[held_out], y[held_out], queries=[ScoreThreshold(alpha=0.1)], epsilon=1.0,
    ...     ledger=None, random_state=0,
    ... )
    >>> threshold = found["score threshold"]
    >>> print(threshold.note)
    sets of labels with scores up to it contain the label of ≥ 90 % of new people
    >>> threshold.labels(models, [[0.6, 0.0], [0.02, 0.0]]).tolist()
    [1, -1]
    """

    alpha: float = 0.1
    failure: float | None = None
    over: Literal["mean", "largest"] = "mean"
    levels: int = 100
    name: ClassVar[str] = "score_threshold"
    needs: ClassVar[tuple[str, ...]] = ("y",)
    task: ClassVar[str] = "classification"
    noise_kind: ClassVar[str] = GUMBEL

    def __post_init__(self) -> None:
        check_inner_share(alpha=self.alpha)
        if self.failure is not None:
            check_inner_share(failure=self.failure)
        if self.over not in statistic.SCORES_OVER:
            raise ValueError(f"over must be 'mean' or 'largest', got {self.over!r}")
        check_count(levels=self.levels)

    @property
    def definition(self) -> str:
        return (
            f"threshold of 1 minus the probability of a label, {self.over} over the draws: "
            f"{self._promise}, if these rows are independent of the draws"
        )

    @property
    def _promise(self) -> str:
        often = "" if self.failure is None else f", with probability {100 - 100 * self.failure:g} %"
        covered = f"the label of ≥ {100 - 100 * self.alpha:g} % of new people{often}"
        return f"sets of labels with scores up to it contain {covered}"

    def sensitivity(self, public: query.PublicShape) -> query.Sensitivity:
        """One record moves utilities by 1, and thus their differences by 2.

        Noise of scale g has a bounded range of η = 2/g: that is η-DP, and η²/8-zCDP, the cost of
        one Gaussian value of scale g.
        """
        return query.Sensitivity(l1=2.0, l2=1.0)

    def check_noise(self, public: query.PublicShape, noise: Any) -> None:
        """Raise an error if no rank of these rows keeps the promise."""
        self.rank(public.n_rows, noise.scale)

    def rank(self, n_rows: int, scale: float) -> int:
        """Least rank m that keeps the promise with noise of this scale; raise if there is none."""
        allowed = self.alpha if self.failure is None else self.failure
        miss_bound = self.miss_bounds(n_rows, scale)
        rank = 1 + bisect_left(range(1, n_rows + 1), True, key=lambda m: miss_bound(m) <= allowed)
        if rank > n_rows:
            raise ValueError(
                f"score_threshold promises no coverage of {1 - self.alpha:g} with {n_rows:,} rows "
                f"and noise of {scale:.3g} rows: use more rows, a larger budget or a larger alpha"
            )
        return rank

    def miss_bounds(self, n_rows: int, scale: float) -> Callable[[int], float]:
        """Bound, by rank, on the mean share of misses or the probability of more than alpha."""
        up_to = np.arange(n_rows + 1)  # rows with scores up to the largest level that is too low
        likely = np.full(n_rows + 1, 1 / (n_rows + 1))
        if self.failure is not None:
            likely = binom.pmf(up_to, n_rows, 1 - self.alpha)

        def bound(rank: int) -> float:
            odds = math.log(self.levels) - (rank - up_to) / scale
            return float(likely @ np.where(up_to >= rank, 1.0, expit(odds)))

        return bound

    def hidden(self, public: query.PublicShape, noise: Any) -> str:
        """Empty: :meth:`check_noise` refuses noise that hides the answer."""
        return ""

    def compute(self, rows: query.Rows) -> FloatArray:
        """Return the numbers (levels + 1,) of rows with scores up to each level."""
        scores = statistic.label_scores(rows.scores, self.over)
        label_scores = scores[np.arange(len(scores)), rows.codes.astype(int)]
        levels = statistic.score_levels(label_scores, self.levels)
        return np.bincount(levels, minlength=self.levels + 1).cumsum().astype(float)

    def noisy(self, rows: query.Rows, noise: Any, add_noise: query.AddNoise) -> FloatArray:
        """Return the selected level (1,)."""
        rank = self.rank(rows.public.n_rows, noise.scale)
        utilities = -distances(self.compute(rows), rank).astype(float)
        return np.array([add_noise(utilities, self.sensitivity(rows.public)).argmax()])

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: query.PublicShape
    ) -> tuple[statistic.Statistic, ...]:
        """Return the threshold, with its promise."""
        level = int(noisy[0])
        return (
            statistic.ReleasedThreshold(
                "score threshold", level, self.levels, self.over, self._promise
            ),
        )


def distances(up_to: FloatArray, rank: int) -> NDArray[np.int_]:
    """Distance of a rank from the ranks of each level's rows, those after the levels below it."""
    before = np.concatenate([[0.0], up_to[:-1]])
    return np.maximum(np.maximum(rank - up_to, before + 1 - rank), 0).astype(int)
