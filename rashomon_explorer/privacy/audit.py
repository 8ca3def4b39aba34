"""Audits of a mechanism: by runs on two neighbours, or from exact output distributions."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, combinations_with_replacement
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, logsumexp, ndtri

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer._utils.validation import check_count, check_delta, check_inner_share
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff.curves import TradeOff, check_order

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
    """1 − failure quantile of Beta(hits + 1, trials − hits) (Clopper and Pearson 1934)."""
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


def epsilons(false_alarm: FloatArray | float, miss: FloatArray | float, delta: float) -> FloatArray:
    """:meth:`Event.epsilon` of many events, negative for events that prove no bound."""
    errors = np.asarray([false_alarm, miss], dtype=float)
    with np.errstate(divide="ignore"):
        bounds = np.log(np.maximum(1 - delta - errors[::-1], 0.0)) - np.log(errors)
    return np.asarray(bounds.max(axis=0))


def mus(false_alarm: FloatArray | float, miss: FloatArray | float) -> FloatArray:
    """:attr:`Event.mu` of many events, negative for events that prove no bound."""
    # An error of 1 proves no bound: return −∞, also where the bound on the other error is 0.
    informative = np.maximum(false_alarm, miss) < 1
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(informative, -ndtri(false_alarm) - ndtri(miss), -np.inf))


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
        bounds = (
            f"ε ≥ {_down(self.epsilon())} at δ = {self.delta:g} and μ ≥ {_down(self.mu)}, with "
            f"{100 * self.confidence:g} % confidence from {self.n_runs:,} runs on each neighbour"
        )
        if self.claim is None:
            return f"{bounds}; nothing was claimed"
        verdict = "BROKEN" if self.broken else "not refuted"
        return f"{bounds}; the claim is {verdict}: {self.claim}"


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
    if not n_runs >= _FEWEST_RUNS:
        raise ValueError(f"n_runs must be at least {_FEWEST_RUNS}, got {n_runs!r}")
    check_delta(delta)
    check_inner_share(confidence=confidence)
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
    events = tuple(_event(level, above, *rest, failure) for level, above in selected)
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
    ranks = np.searchsorted(np.cumsum(counts), _QUANTILES * len(scores))
    adjacent = np.unique(np.clip(ranks[:, None] + [-1, 0, 1], 0, len(values) - 1))
    return np.asarray(values[adjacent])


def _event(
    level: float, above: bool, first: FloatArray, second: FloatArray, failure: float
) -> Event:
    false, miss = errors(np.array([level]), above, first, second, failure)
    return Event(level, above, float(false[0]), float(miss[0]))


def _margins(claim: Claim, false: FloatArray, miss: FloatArray) -> FloatArray:
    """Margin by which the errors are below what the claim allows; > 0 contradicts the claim."""
    curve = claim if isinstance(claim, TradeOff) else claim.tradeoff
    return np.asarray(np.maximum(curve(false) - miss, curve(miss) - false))


def _outputs(
    mechanism: Callable[..., Any], data: Any, n_runs: int, rng: np.random.Generator, batched: bool
) -> FloatArray:
    if batched:
        outputs = np.asarray(mechanism(data, rng, n_runs), dtype=float)
        if outputs.ndim == 0 or len(outputs) != n_runs:
            raise ValueError(
                f"a batched mechanism must return {n_runs} outputs along its first axis, got "
                f"shape {outputs.shape}"
            )
        return outputs
    runs = [np.asarray(mechanism(data, rng), dtype=float) for _ in progress(range(n_runs), "runs")]
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


def _down(value: float) -> str:
    return f"{math.floor(value * 1000) / 1000:g}" if math.isfinite(value) else "inf"


Figure = Callable[["ExactAudit"], float]

_DELTAS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.3)
_ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)
_ROUNDING = 1e-9  # above the relative rounding error of a sum of a million terms


@dataclass(frozen=True, eq=False)
class ExactAudit:
    """Two distributions on the same cells, with bounds on every test that distinguishes them."""

    log_first: FloatArray
    log_second: FloatArray
    error: float = 0.0
    rough: "ExactAudit | None" = None

    @property
    def max_log_ratio(self) -> float:
        """Least ε of pure DP: the largest absolute log ratio of the densities."""
        return float(np.abs(self._ratio).max())

    @property
    def range(self) -> float:
        """Width of the interval of log ratios, the η of bounded range."""
        return float(self._ratio.max() - self._ratio.min())

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """Least δ at ε ≥ 0: ∫ max{p − e^ε q, 0}, the larger of both directions."""
        epsilon = np.asarray(epsilon, dtype=float)
        if not np.all(epsilon >= 0):
            raise ValueError("epsilon must be >= 0")
        slope = np.exp(np.minimum(epsilon, 700.0)).ravel()
        best = np.zeros(slope.shape)
        for power, level in self._tests:
            best = np.maximum(best, [float(np.max(power - s * level)) for s in slope])
        return best.reshape(epsilon.shape)[()]

    def epsilon(self, delta: float) -> float:
        """Least ε at δ for both directions; infinity if there is none."""
        check_delta(delta)
        if delta == 0:
            return self.max_log_ratio
        epsilon = 0.0
        for power, level in self._tests:
            informative = power > delta
            with np.errstate(divide="ignore"):
                ratio = np.log(power[informative] - delta) - np.log(level[informative])
            epsilon = max(epsilon, float(ratio.max(initial=0.0)))
        return epsilon

    def renyi(self, order: float) -> float:
        """Rényi divergence of order a > 1, the larger of both directions."""
        check_order(order)
        divergences = []
        for p, q in ((self.log_first, self.log_second), (self.log_second, self.log_first)):
            support = p > -np.inf
            if (q[support] == -np.inf).any():
                return math.inf
            total = logsumexp(order * p[support] + (1 - order) * q[support])
            divergences.append(float(total) / (order - 1))
        return max(divergences)

    def tradeoff(self, alpha: ArrayLike) -> FloatArray:
        """Least type II error of any test at type I error α, the smaller of both directions."""
        alpha = np.asarray(alpha, dtype=float)
        if not np.all((alpha >= 0) & (alpha <= 1)):
            raise ValueError("alpha must be in [0, 1]")
        curves = [np.interp(alpha, level, 1 - power) for power, level in self._tests]
        return np.asarray(np.minimum(curves[0], curves[1]))[()]

    def violations(self, claim: Guarantee, deltas: Sequence[float] = _DELTAS) -> tuple[str, ...]:
        """List the parts of a claim that the two distributions refute; empty if there are none."""
        # One slack for all δ: if a level falls between two nodes, errors can have either sign.
        epsilons = {d: partial(ExactAudit.epsilon, delta=d) for d in deltas}
        slack = max(map(self._slack, epsilons.values()), default=0.0)
        checks: list[tuple[str, Figure, float, float]] = [
            (f"ε({d:g})", figure, claim.epsilon(d), slack) for d, figure in epsilons.items()
        ]
        figure: Figure
        if claim.notion == "bounded_range":
            figure = attrgetter("range")
            checks.append(("the range", figure, claim.pure_epsilon, self._slack(figure)))
        if math.isfinite(claim.rho) and not (claim.approximate_epsilon or claim.approximate_delta):
            for a in _ORDERS:
                figure = partial(ExactAudit.renyi, order=a)
                checks.append((f"D_{a:g}", figure, a * claim.rho, self._slack(figure)))
        return tuple(
            f"{name} is {figure(self):.5g}, claimed {limit:.5g}"
            for name, figure, limit, slack in checks
            if figure(self) > limit + slack + _ROUNDING * (1 + limit)
        )

    def within(self, claim: Guarantee, deltas: Sequence[float] = _DELTAS) -> bool:
        """Whether :meth:`violations` is empty."""
        return not self.violations(claim, deltas)

    def __str__(self) -> str:
        numbers = ", ".join(f"{self.epsilon(d):.4g} at δ = {d:g}" for d in (0.0, 1e-6, 1e-2))
        return f"ε = {numbers}; range {self.range:.4g} (quadrature error about {self.error:.1g})"

    def _slack(self, figure: Figure) -> float:
        """Bound on the quadrature error of a quantity."""
        if self.rough is None:
            return 0.0
        value, rough = figure(self), figure(self.rough)
        moved = abs(value - rough) if math.isfinite(value) and math.isfinite(rough) else 0.0
        return self.error + moved

    @cached_property
    def _ratio(self) -> FloatArray:
        """Log ratios; two zero densities count as equal."""
        with np.errstate(invalid="ignore"):
            equal = self.log_first == self.log_second
            return np.where(equal, 0.0, self.log_first - self.log_second)

    @cached_property
    def _tests(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Power and level of the best (Neyman–Pearson) tests, for either direction."""
        order = np.argsort(-self._ratio, kind="stable")
        first, second = np.exp(self.log_first[order]), np.exp(self.log_second[order])
        return _cumulated(first, second), _cumulated(second[::-1], first[::-1])


def _cumulated(power: FloatArray, level: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cumulative sums, from zero cells to all cells."""
    sums = [np.concatenate([[0.0], np.cumsum(each)]) for each in (power, level)]
    return np.minimum(sums[0], 1.0), np.minimum(sums[1], 1.0)


LogDensity = Callable[[FloatArray], FloatArray]

_POINTS = {1: 4001, 2: 401}  # nodes on each axis, by dimension


def discrete(log_first: ArrayLike, log_second: ArrayLike) -> ExactAudit:
    """Audit of two distributions on finitely many points, such as a grid of models."""
    laws = [np.ravel(np.asarray(each, dtype=float)) for each in (log_first, log_second)]
    if laws[0].shape != laws[1].shape:
        raise ValueError(
            f"both distributions must be given on the same points, got {laws[0].shape} and "
            f"{laws[1].shape}"
        )
    first, second = (_normalised(law, np.zeros(1))[0] for law in laws)
    return ExactAudit(first, second)


def exact(
    first: LogDensity,
    second: LogDensity,
    *,
    box: Sequence[tuple[float, float]],
    points: int | None = None,
) -> ExactAudit:
    """Audit of two densities in one or two dimensions by the trapezoidal rule."""
    nodes, weights, coarse = _nodes(box, points)
    values = [_checked(density(nodes), nodes.shape[1]) for density in (first, second)]
    fine = [_normalised(each, weights) for each in values]
    # Cells between every second node are 2^d times as large.
    wider = weights[coarse] + len(box) * math.log(2)
    half = [_normalised(each[coarse], wider) for each in values]
    error = sum(abs(f[1] - h[1]) for f, h in zip(fine, half, strict=True))
    rough = ExactAudit(half[0][0], half[1][0])
    return ExactAudit(fine[0][0], fine[1][0], error=error, rough=rough)


def _nodes(
    box: Sequence[tuple[float, float]], points: int | None
) -> tuple[FloatArray, FloatArray, Mask]:
    """Nodes (d, N), log weights (N,), and whether each node is on the grid of half the points."""
    if len(box) not in _POINTS:
        raise ValueError(
            f"quadrature is for one or two dimensions, got {len(box)}: use monte_carlo, or audit "
            "one or two parameters at a time"
        )
    if not all(math.isfinite(low) and math.isfinite(high) and low < high for low, high in box):
        raise ValueError(f"box must hold finite intervals (low, high) with low < high, got {box!r}")
    count = _POINTS[len(box)] if points is None else points
    if count < 5:
        raise ValueError(f"points must be at least 5, got {points!r}")
    count += 1 - count % 2
    axes = [np.linspace(low, high, count) for low, high in box]
    ends = np.zeros(count)
    ends[[0, -1]] = -math.log(2)
    even = np.arange(count) % 2 == 0
    mesh = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(len(box), -1)
    weights = np.stack(np.meshgrid(*[ends] * len(box), indexing="ij")).sum(axis=0).ravel()
    coarse = np.stack(np.meshgrid(*[even] * len(box), indexing="ij")).all(axis=0).ravel()
    return mesh, weights, coarse


def _checked(log_density: ArrayLike, count: int) -> FloatArray:
    values = np.asarray(log_density, dtype=float)
    if values.shape != (count,):
        raise ValueError(
            f"a log density must map points (d, {count}) to ({count},) numbers, got {values.shape}"
        )
    return values


def _normalised(log_density: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
    if np.isnan(log_density).any() or (log_density == np.inf).any():
        raise ValueError("a log density must be a number or −∞ everywhere, got NaN or +∞")
    law = log_density + weights
    total = float(logsumexp(law))
    if not math.isfinite(total):
        raise ValueError(
            "a distribution must have positive mass: check that the box covers its support"
        )
    return law - total, total


Record = TypeVar("Record")
Law = TypeVar("Law")


@dataclass(frozen=True)
class Worst(Generic[Record]):
    """Worst pair of neighbours that a search found, and its audit."""

    first: tuple[Record, ...]
    second: tuple[Record, ...]
    audit: ExactAudit


def search(
    law: Callable[[tuple[Record, ...]], Law],
    compare: Callable[[Law, Law], ExactAudit],
    records: Sequence[Record],
    n: int,
    *,
    key: Callable[[ExactAudit], float] = lambda audit: audit.max_log_ratio,
) -> Worst[Record]:
    """Worst pair of neighbours among all multisets of ``n`` given records, by brute force."""
    if len(records) < 2:
        raise ValueError(f"a search needs at least two records, got {len(records)}")
    check_count(n=n)
    kinds = range(len(records))
    laws = {
        members: law(tuple(records[i] for i in members))
        for members in combinations_with_replacement(kinds, n)
    }

    def audited() -> Iterable[Worst[Record]]:
        for rest in combinations_with_replacement(kinds, n - 1):
            for pair in combinations(kinds, 2):
                first, second = (tuple(sorted((*rest, member))) for member in pair)
                audit = compare(laws[first], laws[second])
                yield Worst(
                    tuple(records[i] for i in first), tuple(records[i] for i in second), audit
                )

    return max(audited(), key=lambda worst: key(worst.audit))
