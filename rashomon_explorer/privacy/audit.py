"""Monte Carlo audits of a mechanism, and the power of the best membership attack."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer._utils.validation import check_delta, check_inner_share, check_share
from rashomon_explorer.privacy.exact_audit import ExactAudit, Worst, discrete, exact, search
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff.bounded_range import BoundedRange
from rashomon_explorer.privacy.tradeoff.curves import TradeOff, envelope

__all__ = [
    "Event",
    "ExactAudit",
    "MonteCarloAudit",
    "Worst",
    "discrete",
    "exact",
    "monte_carlo",
    "search",
]


def upper_bound(hits: ArrayLike, trials: int, failure: float) -> FloatArray:
    """Clopper–Pearson upper bound: below the true probability at most ``failure`` of the time.

    It is the 1 − failure quantile of Beta(hits + 1, trials − hits): the p at which ``hits`` or
    fewer hits have probability ``failure`` (Clopper and Pearson 1934).
    """
    hits = np.asarray(hits, dtype=float)
    misses = np.maximum(trials - hits, 1.0)
    return np.where(hits >= trials, 1.0, betaincinv(hits + 1, misses, 1 - failure))


def binomial_interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Interval for the probability of a hit, of Clopper and Pearson (1934)."""
    failure = (1 - confidence) / 2
    low = float(betaincinv(hits, trials - hits + 1, failure)) if hits else 0.0
    return low, float(upper_bound(hits, trials, failure))


@dataclass(frozen=True)
class Event:
    """Event that scores lie beyond a level, with upper bounds on both test errors."""

    level: float
    above: bool
    false_alarm: float
    miss: float

    def epsilon(self, delta: float) -> float:
        """Least ε that these errors allow under (ε, δ)-DP in both directions, at least 0."""
        check_delta(delta)
        return max(0.0, float(epsilons(self.false_alarm, self.miss, delta)))

    @property
    def mu(self) -> float:
        """Least μ that Gaussian DP allows: Φ⁻¹(1 − false_alarm) − Φ⁻¹(miss), at least 0."""
        return max(0.0, float(mus(self.false_alarm, self.miss)))

    def __str__(self) -> str:
        return f"score {'≥' if self.above else '≤'} {self.level:.4g}"


def epsilons(false_alarm: FloatArray | float, miss: FloatArray | float, delta: float) -> FloatArray:
    """:meth:`Event.epsilon` of many events, negative for events that prove no bound."""
    one, other = np.asarray(false_alarm, dtype=float), np.asarray(miss, dtype=float)
    with np.errstate(divide="ignore"):
        bounds = [
            np.log(np.maximum(1 - delta - b, 0.0)) - np.log(a)
            for a, b in ((one, other), (other, one))
        ]
    return np.asarray(np.maximum(bounds[0], bounds[1]))


def mus(false_alarm: FloatArray | float, miss: FloatArray | float) -> FloatArray:
    """:attr:`Event.mu` of many events, negative for events that prove no bound."""
    # An error of 1 proves no bound: return −∞, also where the bound on the other error is 0.
    some = np.maximum(false_alarm, miss) < 1
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(some, -ndtri(false_alarm) - ndtri(miss), -np.inf))


def errors(
    levels: FloatArray, above: bool, first: FloatArray, second: FloatArray, failure: float
) -> tuple[FloatArray, FloatArray]:
    """Upper bounds on false alarms and misses at each level, each failing at most ``failure``."""
    alarms, hits = (_counts(levels, above, scores) for scores in (first, second))
    misses = len(second) - hits
    return upper_bound(alarms, len(first), failure), upper_bound(misses, len(second), failure)


def _counts(levels: FloatArray, above: bool, scores: FloatArray) -> NDArray[np.intp]:
    ordered = np.sort(scores)
    if above:
        return len(ordered) - np.searchsorted(ordered, levels, side="left")
    return np.searchsorted(ordered, levels, side="right")


Statistic = Callable[[FloatArray], FloatArray]

_MOST_FOR_SQUARES = 12  # largest number of columns with squares and products as features


def learnt_statistic(first: FloatArray, second: FloatArray) -> Statistic:
    """Return the output itself if it is one number, otherwise a logistic regression on it."""
    flat = [outputs.reshape(len(outputs), -1) for outputs in (first, second)]
    if not all(np.isfinite(each).all() for each in flat):
        raise ValueError(
            "outputs must be finite: let the mechanism map NaN and infinity to numbers"
        )
    if flat[0].shape[1] == 1:
        return lambda outputs: outputs.reshape(len(outputs), -1)[:, 0]
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    degree = 2 if flat[0].shape[1] <= _MOST_FOR_SQUARES else 1
    model = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        LogisticRegression(max_iter=5000),
    )
    labels = np.repeat([0, 1], [len(flat[0]), len(flat[1])])
    model.fit(np.concatenate(flat), labels)
    return lambda outputs: np.asarray(model.decision_function(outputs.reshape(len(outputs), -1)))


Claim = Guarantee | TradeOff

_FEWEST_RUNS = 40
_STRICTER = 1000.0  # the failure probability is divided by this when events are selected
# The tails matter most for ε, so the quantiles have equal steps in log odds.
_QUANTILES = 1 / (1 + np.exp(-np.linspace(-7.0, 7.0, 141)))


@dataclass(frozen=True)
class MonteCarloAudit:
    """Lower bounds on the privacy loss of a mechanism from outputs of two neighbours."""

    events: tuple[Event, ...]
    delta: float
    confidence: float
    n_runs: int
    claim: Claim | None = None

    def epsilon(self, delta: float | None = None) -> float:
        """Lower bound on every ε for which the mechanism is (ε, δ)-DP."""
        return max(event.epsilon(self.delta if delta is None else delta) for event in self.events)

    @property
    def mu(self) -> float:
        """Lower bound on every μ for which the mechanism is μ-GDP."""
        return max(event.mu for event in self.events)

    @property
    def broken(self) -> bool:
        """Whether the claim is refuted; False without a claim."""
        if self.claim is None:
            return False
        false = np.array([event.false_alarm for event in self.events])
        miss = np.array([event.miss for event in self.events])
        contradicted = bool((_margins(self.claim, false, miss) > 0).any())
        return contradicted or self.epsilon() > self.claim.epsilon(self.delta)

    def __str__(self) -> str:
        found = (
            f"ε ≥ {_down(self.epsilon())} at δ = {self.delta:g} and μ ≥ {_down(self.mu)}, with "
            f"{100 * self.confidence:g} % confidence from {self.n_runs:,} runs on each neighbour"
        )
        if self.claim is None:
            return f"{found}; nothing was claimed"
        verdict = "BROKEN" if self.broken else "not refuted"
        return f"{found}; the claim is {verdict}: {self.claim}"


def monte_carlo(
    mechanism: Callable[..., Any],
    first: Any,
    second: Any,
    *,
    claim: Claim | None = None,
    n_runs: int = 10_000,
    delta: float = 0.0,
    statistic: Statistic | None = None,
    confidence: float = 0.95,
    random_state: int | None = None,
    batched: bool = False,
) -> MonteCarloAudit:
    """Lower bounds on ε and μ from runs on two neighbours, and a test of a claim."""
    _check(n_runs, delta, confidence)
    streams = [None, None] if random_state is None else [[random_state, 0], [random_state, 1]]
    outputs = [
        _outputs(mechanism, data, n_runs, generator(seed), batched)
        for data, seed in zip((first, second), streams, strict=True)
    ]
    half = n_runs // 2
    score = statistic or learnt_statistic(outputs[0][:half], outputs[1][:half])
    scores = [_scores(score, each) for each in outputs]
    selected = _select_events(scores[0][:half], scores[1][:half], claim, delta, 1 - confidence)
    failure = (1 - confidence) / (2 * len(selected))
    rest = scores[0][half:], scores[1][half:]
    events = tuple(_counted(level, above, *rest, failure) for level, above in selected)
    return MonteCarloAudit(events, delta, confidence, n_runs, claim)


def _select_events(
    first: FloatArray, second: FloatArray, claim: Claim | None, delta: float, failure: float
) -> list[tuple[float, bool]]:
    """Levels and sides of the best events for ε, for μ and against the claim."""
    levels = _levels(np.concatenate([first, second]))
    # Stricter than the final bounds, because the best of many rare events is mostly chance.
    strict = failure / _STRICTER
    sides = [errors(levels, above, first, second, strict) for above in (True, False)]
    false, miss = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    worth = [epsilons(false, miss, delta), mus(false, miss)]
    if claim is not None:
        spread = np.sqrt((false * (1 - false) + miss * (1 - miss)) / len(first) + 1e-12)
        worth.append(_margins(claim, false, miss) / spread)
    best = dict.fromkeys(int(np.argmax(each)) for each in worth)
    return [(float(levels[i % len(levels)]), i < len(levels)) for i in best]


def _levels(scores: FloatArray) -> FloatArray:
    """Quantiles and their adjacent scores, so that an atom can lie on either side of a level."""
    values, counts = np.unique(scores, return_counts=True)
    places = np.searchsorted(np.cumsum(counts), _QUANTILES * len(scores))
    adjacent = np.unique(np.clip(places[:, None] + [-1, 0, 1], 0, len(values) - 1))
    return np.asarray(values[adjacent])


def _counted(
    level: float, above: bool, first: FloatArray, second: FloatArray, failure: float
) -> Event:
    false, miss = errors(np.array([level]), above, first, second, failure)
    return Event(level, above, float(false[0]), float(miss[0]))


def _margins(claim: Claim, false: FloatArray, miss: FloatArray) -> FloatArray:
    """Margin by which the errors are below what the claim allows; > 0 contradicts the claim."""
    curve = claim if isinstance(claim, TradeOff) else claim.tradeoff
    return np.asarray(np.maximum(curve(false) - miss, curve(miss) - false))


def _outputs(
    mechanism: Callable[..., Any],
    data: Any,
    n_runs: int,
    rng: np.random.Generator,
    batched: bool,
) -> FloatArray:
    if batched:
        found = np.asarray(mechanism(data, rng, n_runs), dtype=float)
        if found.ndim == 0 or len(found) != n_runs:
            raise ValueError(
                f"a batched mechanism must return {n_runs} outputs along its first axis, got "
                f"shape {found.shape}"
            )
        return found
    runs = [np.asarray(mechanism(data, rng), dtype=float) for _ in range(n_runs)]
    shapes = {run.shape for run in runs}
    if len(shapes) > 1:
        raise ValueError(
            f"outputs must all have one shape, got {sorted(shapes)[:3]}: let the mechanism return "
            "a summary of fixed length"
        )
    return np.stack(runs)


def _scores(statistic: Statistic, outputs: FloatArray) -> FloatArray:
    scores = np.asarray(statistic(outputs), dtype=float)
    if scores.shape != (len(outputs),):
        raise ValueError(
            f"statistic must map {len(outputs)} outputs to as many scores, got {scores.shape}"
        )
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite: let the mechanism or statistic map NaN to numbers")
    return scores


def _check(n_runs: int, delta: float, confidence: float) -> None:
    if not n_runs >= _FEWEST_RUNS:
        raise ValueError(f"n_runs must be at least {_FEWEST_RUNS}, got {n_runs!r}")
    check_delta(delta)
    check_inner_share(confidence=confidence)


def _down(value: float) -> str:
    """Print a lower bound, rounded down."""
    return f"{math.floor(value * 1000) / 1000:g}" if math.isfinite(value) else "inf"


if TYPE_CHECKING:
    from rashomon_explorer.privacy.guarantee import Guarantee

_GRID = np.linspace(0.0, 25.0, 251)


def best_attack(guarantee: Guarantee, false_alarms: float) -> float:
    """Bound on the share of members that any attacker detects at a false positive rate.

    The attacker knows the mechanism, its output and all records but one. The attacker tests which
    of two given individuals the last record belongs to. At type I error α no test has a power
    above 1 − f(α), where f is the trade-off function of the guarantee (Wasserman and Zhou 2010;
    Dong, Roth and Su 2022, Definition 2.3). For pure ε-DP: min{e^ε α, 1 − e^(−ε)(1 − α)}.

    Parameters
    ----------
    guarantee : Guarantee
    false_alarms : float
        α in [0, 1]: share of non-members that are classified as members.

    Returns
    -------
    float
        Upper bound, at least ``false_alarms``; 1 if nothing is guaranteed.

    Raises
    ------
    ValueError
        If ``false_alarms`` is out of range.

    Examples
    --------
    >>> from rashomon_explorer.privacy import gdp, pure
    >>> round(best_attack(pure(1.0), 0.05), 4), round(best_attack(gdp(1.0), 0.05), 4)
    (0.1359, 0.2595)
    """
    check_share(false_alarms=false_alarms)
    if not guarantee.holds:
        return 1.0
    proved = [float(np.asarray(guarantee.tradeoff(false_alarms)))]
    # If several notions hold, the (ε, δ) pairs use the best of them at every ε.
    deltas = np.array([guarantee.delta(float(epsilon)) for epsilon in _GRID])
    proved.append(float(envelope(false_alarms, _GRID, deltas)))
    if guarantee.notion == "bounded_range" and not guarantee.approximate_epsilon:
        if not guarantee.approximate_delta:
            proved.append(float(BoundedRange(guarantee.pure_epsilon)(false_alarms)))
    return 1.0 - max(proved)
