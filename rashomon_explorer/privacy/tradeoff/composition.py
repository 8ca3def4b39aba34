"""Composition of trade-off functions by privacy-loss distributions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.imports import install_text, missing_package
from rashomon_explorer.privacy.conversions import conversion, renyi_profile
from rashomon_explorer.privacy.tradeoff import curves


def connect_dots(delta: FloatArray, spacing: float) -> Any:
    """Least loss masses on a grid around 0 whose profile is ≥ ``delta``, of dp-accounting."""
    try:
        from dp_accounting.pld import pld_pmf
    except ImportError as missing:
        purpose = "A composition without a closed form"
        raise missing_package(purpose, "dp_accounting", "accounting") from missing
    half = len(delta) // 2
    make = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap
    return make(spacing, -half, half, delta).to_dense_pmf()


def masses(pmf: Any) -> tuple[FloatArray, int, float]:
    """Mass of each loss in increasing order, index of the least loss, and mass at infinity."""
    try:
        return np.asarray(pmf._probs), int(pmf._lower_loss), float(pmf._infinity_mass)
    except AttributeError as error:
        raise ImportError(
            f"this version of dp-accounting keeps no {error.name} in {type(pmf).__name__}: install "
            f"the supported version: {install_text('accounting')}"
        ) from None


Part = tuple[curves.TradeOff, int]

_TAIL = 1e-15  # mass beyond a grid, counted as infinite loss, and the tail of every convolution
_COARSEST, _MOST = 1e-3, 200_000  # largest spacing of the losses; most losses on either side
_LARGEST = 1024.0  # loss beyond which all mass counts as infinite loss
_NEAR_THE_END = 100.0  # times the least δ of a grid: below it Rényi DP may prove more
_ORDERS = 1 + np.geomspace(0.02, 1e4, 64)
_REFINED = 17
_UNIT = 8e-16  # relative error of one stage of an FFT (Higham 2002, Theorem 24.2)


@dataclass(frozen=True)
class Composition(curves.TradeOff):
    """Lower bound on f₁^⊗k₁ ⊗ f₂^⊗k₂ ⊗ …, computed by Google's dp-accounting.

    Each part becomes a privacy loss distribution on a grid of spacing h: the least one above its
    profile (Doroshenko et al. 2022, "connect the dots"). The convolutions of these distributions
    bound the composition. With rounding and truncation added as δ,

        true δ(ε) ≤ δ(ε) ≤ true δ(ε − ``epsilon_error``) + 2 ``delta_error``,

    where ``epsilon_error`` = h Σk, because no loss is rounded up by more than h. The actual error
    is far smaller. Near and below 2 ``delta_error`` the sum of Rényi divergences bounds δ, too.

    Parameters
    ----------
    parts : tuple of (TradeOff, int)
        Symmetric curves of one neighbour relation, and the number of times each is used.
    grid : float, optional
        Spacing h; by default at most 10⁻³ and a tenth of the spread of the narrowest part.

    Examples
    --------
    >>> from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled
    >>> many = Composition(((Subsampled(Gaussian(1.0), 0.01), 100),))
    >>> many.epsilon(1e-5) < 10 * many.parts[0][0].epsilon(1e-7)
    True
    """

    parts: tuple[Part, ...]
    grid: float | None = None
    kind: ClassVar[str] = "composition"

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("parts must have at least one trade-off")
        if any(count < 1 or count != int(count) for _, count in self.parts):
            raise ValueError("counts must be whole numbers >= 1")
        if self.grid is not None and not self.grid > 0:
            raise ValueError(f"grid must be > 0, got {self.grid!r}")
        curves.shared_relation(curve for curve, _ in self.parts)
        parts = tuple((curve, int(count)) for curve, count in self.parts)
        object.__setattr__(self, "parts", parts)

    @property
    def relation(self) -> str:
        """Neighbour relation of all parts."""
        return self.parts[0][0].relation

    @property
    def epsilon_error(self) -> float:
        """Bound on the amount that the grid adds to ε."""
        return self._losses.spacing * sum(count for _, count in self.parts)

    @property
    def delta_error(self) -> float:
        """Bound on rounding and truncation, which δ already includes."""
        return self._losses.error

    @property
    def rho(self) -> float:
        """Sum of ρ over the parts."""
        return math.fsum(count * curve.rho for curve, count in self.parts)

    def renyi(self, order: float) -> float:
        """Sum of the bounds on D_a over the parts."""
        return math.fsum(count * curve.renyi(order) for curve, count in self.parts)

    @property
    def sublinear(self) -> bool:
        """Whether D_a/a decreases in the order for all parts."""
        return all(curve.sublinear for curve, _ in self.parts)

    @cached_property
    def _losses(self) -> "_LossDistribution":
        return _LossDistribution.from_parts(self.parts, self.grid)

    @cached_property
    def _divergences(self) -> FloatArray:
        """Sum of Rényi divergences at each order; infinite where none is proved."""
        return np.array([self.renyi(order) for order in _ORDERS.tolist()])

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        delta = self._losses.delta(epsilon)
        if np.all(delta > _NEAR_THE_END * (self._losses.infinite + self._losses.error)):
            return delta
        return np.minimum(delta, renyi_profile(_ORDERS, self._divergences, epsilon))

    def epsilon(self, delta: float) -> float:
        """Upper bound on the least ε at δ; where the grid ends, by the best Rényi order."""
        if delta > _NEAR_THE_END * (self._losses.infinite + self._losses.error):
            return _OfLosses(self).epsilon(delta)  # no Rényi order is needed
        epsilon = super().epsilon(delta)
        if delta == 0:
            return epsilon
        best = int(np.argmin(self._divergences + conversion(_ORDERS, delta, np)))
        low, high = _ORDERS[max(best - 1, 0)], _ORDERS[min(best + 1, len(_ORDERS) - 1)]
        near = (1 + np.geomspace(low - 1, high - 1, _REFINED)).tolist()
        proved = min(self.renyi(order) + float(conversion(order, delta)) for order in near)
        return min(epsilon, max(0.0, proved))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Lower bound on f(α)."""
        epsilon = self._losses.lines()
        return curves.envelope(alpha, epsilon, self._profile(epsilon))


@dataclass(frozen=True)
class _OfLosses(curves.TradeOff):
    """The curve of a composition by its loss distributions alone."""

    of: Composition

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        return self.of._losses.delta(epsilon)


@dataclass(frozen=True, eq=False)
class _LossDistribution:
    """Losses ε_i with, above each, the mass under either distribution and the mass at infinity."""

    losses: FloatArray
    upper: FloatArray
    lower: FloatArray
    infinite: float
    spacing: float
    error: float

    @classmethod
    def from_parts(cls, parts: tuple[Part, ...], grid: float | None) -> "_LossDistribution":
        # Largest loss under either order of the neighbours, because a grid has two ends.
        orders = [({curve, curve.inverse()}, count) for curve, count in parts]
        tops = [max(_top(one_way, count) for one_way in both) for both, count in orders]
        # δ(0) is a distance between distributions: 0.4 times the spread for a Gaussian loss.
        narrowest = min(float(curve.delta(0.0)) for curve, _ in parts)
        spacing = grid or max(min(_COARSEST, narrowest / 4), max(tops) / _MOST)
        total: Any = None
        error = 0.0
        for (curve, count), top in zip(parts, tops, strict=True):
            half = max(1, math.ceil(top / spacing))
            epsilon = np.arange(-half, half + 1) * spacing
            profile = np.minimum.accumulate(np.asarray(curve.delta(epsilon)))
            step = connect_dots(profile, spacing)
            steps = step if count == 1 else step.self_compose(count, _TAIL)
            error += power_rounding(masses(step)[0], len(masses(steps)[0]), count)
            if total is not None:
                both = masses(total)[0], masses(steps)[0]
                size, heights = sum(map(len, both)), math.prod(map(np.linalg.norm, both))
                error += 3 * _UNIT * math.log2(size) * size * float(heights)  # of a convolution
                steps = total.compose(steps, _TAIL)
            total = steps
        probs, first, infinite = masses(total)
        probs = np.maximum(probs, 0.0)
        losses: FloatArray = (first + np.arange(len(probs), dtype=float)) * spacing
        positive = losses > 0
        probs, losses = probs[positive], losses[positive]
        upper, lower = (
            np.append(np.cumsum(mass[::-1])[::-1], 0.0) for mass in (probs, probs * np.exp(-losses))
        )
        # Tails, then the rounding error of each profile and of the two sums over all losses.
        error += 2 * _TAIL * len(parts) + 1e-15 * sum(count for _, count in parts)
        error += 5e-16 * len(losses)
        return cls(losses, upper, lower, infinite, spacing, error)

    def delta(self, epsilon: FloatArray) -> FloatArray:
        """E max(0, 1 − e^(ε − loss)) over all losses, including the infinite one."""
        above = np.searchsorted(self.losses, epsilon, side="right")
        # Beyond the last loss both sums are 0 for any e^ε.
        weight = np.exp(np.minimum(epsilon, self.losses[-1] if len(self.losses) else 0.0))
        finite = np.maximum(0.0, self.upper[above] - weight * self.lower[above])
        return np.minimum(1.0, finite + self.infinite + self.error)

    def lines(self) -> FloatArray:
        """Return about a thousand ε from 0 to the last loss; each gives a valid line."""
        top = self.losses[-1] if len(self.losses) else 0.0
        return np.linspace(0.0, min(top, 100.0), 4001)


def compose_tradeoffs(
    parts: Iterable[curves.TradeOff | Part], *, grid: float | None = None
) -> curves.TradeOff:
    """Composition of trade-off functions; Gaussian ones merge into one exactly (μ² adds up).

    If there is a :class:`GaussianObjectivePerturbation`, Gaussian curves become part of it, and
    its Rényi divergences add up.

    Parameters
    ----------
    parts : iterable of TradeOff or (TradeOff, int)
        Curves, optionally with the number of times each is used; nested compositions are expanded.
    grid : float, optional
        Grid of the numerical part; see :class:`Composition`.

    Raises
    ------
    ValueError
        If the curves have different neighbour relations.

    Examples
    --------
    >>> from rashomon_explorer.privacy.tradeoff import Gaussian
    >>> compose_tradeoffs([Gaussian(3.0), (Gaussian(2.0), 4)])
    Gaussian(mu=5.0)
    """
    square, counts, simple_parts = 0.0, dict[curves.TradeOff, int](), list(_flatten(parts))
    curves.shared_relation(curve for curve, _ in simple_parts)
    for curve, count in simple_parts:
        if isinstance(curve, curves.Gaussian):
            square += count * curve.mu**2
        else:
            counts[curve] = counts.get(curve, 0) + count
    if len(counts) == 1:
        ((curve, count),) = counts.items()
        if isinstance(curve, curves.GaussianObjectivePerturbation):
            return curve.repeated(count).compose_gaussian(math.sqrt(square))
    gaussian = [(curves.Gaussian(math.sqrt(square)), 1)] if square > 0 or not counts else []
    total: list[Part] = [*gaussian, *counts.items()]
    if len(total) == 1 and total[0][1] == 1:
        return total[0][0]
    return Composition(tuple(total), grid)


def _flatten(parts: Iterable[curves.TradeOff | Part]) -> Iterable[Part]:
    for part in parts:
        curve, count = (part, 1) if isinstance(part, curves.TradeOff) else part
        if count <= 0:
            continue
        if isinstance(curve, Composition):
            yield from ((inner, count * times) for inner, times in curve.parts)
        else:
            yield curve, count


def _top(curve: curves.TradeOff, count: int) -> float:
    """Loss beyond which the finite mass of a part is negligible; the rest counts as infinite."""
    enough = float(curve.delta(_LARGEST)) + _TAIL / count
    low, top = 0.0, 1.0
    while float(curve.delta(top)) > enough:
        low, top = top, 2 * top
    return bisect(lambda loss: bool(curve.delta(loss) <= enough), top, low, halvings=20)


def power_rounding(probs: FloatArray, size: int, count: int) -> float:
    """Bound on the sum of errors of a k-fold convolution by FFT."""
    if count == 1:
        return 0.0
    size = max(size, len(probs))
    stage = _UNIT * math.log2(size)
    transform = np.minimum(np.abs(np.fft.fft(probs, size)) + stage, 1.0)
    return stage * (2 * count + 1) * float(np.sum(transform ** (count - 1)))
