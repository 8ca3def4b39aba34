"""Audits by integration of, or search over, exact output distributions."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import check_count, check_delta
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff.curves import check_order

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
        found = 0.0
        for power, level in self._tests:
            worth = power > delta
            with np.errstate(divide="ignore"):
                ratio = np.log(power[worth] - delta) - np.log(level[worth])
            found = max(found, float(ratio.max(initial=0.0)))
        return found

    def renyi(self, order: float) -> float:
        """Rényi divergence of order a > 1, the larger of both directions."""
        check_order(order)
        both = (self.log_first, self.log_second), (self.log_second, self.log_first)
        return max(_renyi(p, q, order) for p, q in both)

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
        bounds = [(f"ε({d:g})", _epsilon_at(d), claim.epsilon(d)) for d in deltas]
        slack = max((self._slack(figure) for _, figure, _ in bounds), default=0.0)
        found = [(what, figure, limit, slack) for what, figure, limit in bounds]
        if claim.notion == "bounded_range":
            found.append(("the range", _the_range, claim.pure_epsilon, self._slack(_the_range)))
        if math.isfinite(claim.rho) and not (claim.approximate_epsilon or claim.approximate_delta):
            for order in _ORDERS:
                figure = _renyi_at(order)
                found.append((f"D_{order:g}", figure, order * claim.rho, self._slack(figure)))
        return tuple(
            f"{what} is {figure(self):.5g}, claimed {limit:.5g}"
            for what, figure, limit, slack in found
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
        one, other = np.exp(self.log_first[order]), np.exp(self.log_second[order])
        return _cumulated(one, other), _cumulated(other[::-1], one[::-1])


def _epsilon_at(delta: float) -> Figure:
    return lambda audit: audit.epsilon(delta)


def _renyi_at(order: float) -> Figure:
    return lambda audit: audit.renyi(order)


def _the_range(audit: ExactAudit) -> float:
    return audit.range


def _cumulated(power: FloatArray, level: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cumulative sums, from zero cells to all cells."""
    sums = [np.concatenate([[0.0], np.cumsum(each)]) for each in (power, level)]
    return np.minimum(sums[0], 1.0), np.minimum(sums[1], 1.0)


def _renyi(p: FloatArray, q: FloatArray, order: float) -> float:
    support = p > -np.inf
    if (q[support] == -np.inf).any():
        return math.inf
    return float(logsumexp(order * p[support] + (1 - order) * q[support])) / (order - 1)


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
    one, other = (_normalised(law, np.zeros(1))[0] for law in laws)
    return ExactAudit(one, other)


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
    error = sum(abs(one[1] - other[1]) for one, other in zip(fine, half, strict=True))
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
        for one, other in _neighbours(kinds, n):
            first, second = (tuple(records[i] for i in each) for each in (one, other))
            yield Worst(first, second, compare(laws[one], laws[other]))

    return max(audited(), key=lambda found: key(found.audit))


def _neighbours(kinds: range, n: int) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All unordered pairs of multisets of ``n`` that differ in one member."""
    for rest in combinations_with_replacement(kinds, n - 1):
        for one, other in combinations(kinds, 2):
            yield tuple(sorted((*rest, one))), tuple(sorted((*rest, other)))
