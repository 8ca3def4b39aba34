"""What follows from two laws on the same cells: their whole privacy curve, and what it refutes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff.base import check_order
from rashomon_explorer.validation import check_delta

Figure = Callable[["ExactAudit"], float]

_DELTAS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.3)
_ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)
_ROUNDING = 1e-9  # of what a sum of a million terms may be wrong by, and more


@dataclass(frozen=True, eq=False)
class ExactAudit:
    """Two laws on the same cells, and everything that follows for telling them apart.

    Parameters
    ----------
    log_first, log_second : ndarray of shape (N,)
        Log probabilities of the cells, each summing to 1; −∞ for 0.
    error : float, default=0.0
        How far log ratios may be off by quadrature: an estimate, not a bound.
    rough : ExactAudit, optional
        The same on every second node, by which the error of any figure is judged.

    Examples
    --------
    >>> from rashomon_explorer.privacy.audit import discrete
    >>> audit = discrete([0.0, 1.0], [1.0, 0.0])  # randomised response at ε = 1
    >>> audit.max_log_ratio, audit.range, round(float(audit.delta(0.5)), 6)
    (1.0, 2.0, 0.287649)
    """

    log_first: FloatArray
    log_second: FloatArray
    error: float = 0.0
    rough: "ExactAudit | None" = None

    @property
    def max_log_ratio(self) -> float:
        """Least ε of pure DP: the largest |log ratio| of the densities."""
        return float(np.abs(self._ratio).max())

    @property
    def range(self) -> float:
        """Width of the interval of log ratios: η of bounded range."""
        return float(self._ratio.max() - self._ratio.min())

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """Least δ at ε ≥ 0: ∫ max{p − e^ε q, 0}, the larger of both directions.

        Raises
        ------
        ValueError
            If an ``epsilon`` is negative or NaN.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        if not np.all(epsilon >= 0):
            raise ValueError("epsilon must be >= 0")
        slope = np.exp(np.minimum(epsilon, 700.0)).ravel()
        best = np.zeros(slope.shape)
        for power, level in self._tests:
            best = np.maximum(best, [float(np.max(power - s * level)) for s in slope])
        return best.reshape(epsilon.shape)[()]

    def epsilon(self, delta: float) -> float:
        """Least ε at δ, of both directions; infinity if there is none.

        Raises
        ------
        ValueError
            If ``delta`` is not in [0, 1).
        """
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
        """Rényi divergence of order a > 1, the larger of both directions.

        Raises
        ------
        ValueError
            If ``order`` is not above 1.
        """
        check_order(order)
        both = (self.log_first, self.log_second), (self.log_second, self.log_first)
        return max(_renyi(p, q, order) for p, q in both)

    def tradeoff(self, alpha: ArrayLike) -> FloatArray:
        """Least type II error of any test at type I error α, the smaller of both directions.

        Raises
        ------
        ValueError
            If an ``alpha`` is outside [0, 1].
        """
        alpha = np.asarray(alpha, dtype=float)
        if not np.all((alpha >= 0) & (alpha <= 1)):
            raise ValueError("alpha must be in [0, 1]")
        curves = [np.interp(alpha, level, 1 - power) for power, level in self._tests]
        return np.asarray(np.minimum(curves[0], curves[1]))[()]

    def violations(self, claim: Guarantee, deltas: Sequence[float] = _DELTAS) -> tuple[str, ...]:
        """Say what of a claim the two laws refute; nothing if they are within it.

        ε(δ) at each δ, and with them pure and Gaussian DP; the range of a bounded-range claim;
        the Rényi curve of zCDP.

        Parameters
        ----------
        claim : Guarantee
        deltas : sequence of float, optional

        Returns
        -------
        tuple of str
            A sentence for each part of the claim that fails.
        """
        # One slack for all δ: where a level falls between two nodes, errors have either sign.
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
        """Whether :meth:`violations` finds none."""
        return not self.violations(claim, deltas)

    def __str__(self) -> str:
        numbers = ", ".join(f"{self.epsilon(d):.4g} at δ = {d:g}" for d in (0.0, 1e-6, 1e-2))
        return f"ε = {numbers}; range {self.range:.4g} (quadrature error about {self.error:.1g})"

    def _slack(self, figure: Figure) -> float:
        """How far quadrature may have put a figure off."""
        if self.rough is None:
            return 0.0
        value, rough = figure(self), figure(self.rough)
        moved = abs(value - rough) if math.isfinite(value) and math.isfinite(rough) else 0.0
        return self.error + moved

    @cached_property
    def _ratio(self) -> FloatArray:
        """Log ratios, where 0 against 0 counts as equal."""
        with np.errstate(invalid="ignore"):
            equal = self.log_first == self.log_second
            return np.where(equal, 0.0, self.log_first - self.log_second)

    @cached_property
    def _tests(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Power and level of the best tests (Neyman and Pearson) of either law against the other.

        A cell enters the rejection region in the order of its ratio.
        """
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
    """Sum from the first cell on, from no cell to all."""
    sums = [np.concatenate([[0.0], np.cumsum(each)]) for each in (power, level)]
    return np.minimum(sums[0], 1.0), np.minimum(sums[1], 1.0)


def _renyi(p: FloatArray, q: FloatArray, order: float) -> float:
    held = p > -np.inf
    if (q[held] == -np.inf).any():
        return math.inf
    return float(logsumexp(order * p[held] + (1 - order) * q[held])) / (order - 1)
