"""Trade-off functions in closed form: pure, approximate, Laplace, Gaussian, piecewise linear."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.privacy.conversions import gaussian_profile, gdp_epsilon

_NEGLIGIBLE = 1e-18  # δ below which an envelope needs no further line
_LINES = 4001
REPLACE = "replace"
"""Neighbours differ in one record, which is replaced; this is the package-wide relation."""
RELATIONS = (REPLACE, "add_or_remove")


class TradeOff(ABC):
    """Least type II error f(α) of any test between neighbours at type I error α.

    A mechanism is f-DP if no test does better (Dong, Roth and Su 2022, Definition 2.3). The curve
    is represented by its dual, the privacy profile

        δ(ε) = 1 + f*(−e^ε) = max over α of 1 − f(α) − e^ε α

    (their Proposition 2.12). Values that are not exact err towards less privacy: f from below, δ
    and ε from above. Curves are symmetric, f = f⁻¹, unless their class states otherwise.
    """

    kind: ClassVar[str]
    notion: ClassVar[str] = "f-DP"
    """Text that names the notion in which the curve was proved."""

    @property
    def relation(self) -> str:
        """Neighbour relation: "replace" or "add_or_remove" one record."""
        return REPLACE

    @abstractmethod
    def _profile(self, epsilon: FloatArray) -> FloatArray:
        """Return δ(ε) for ε ≥ 0."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values from which :func:`from_dict` creates the curve."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **_plain(parameters)}

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """Return δ(ε) for any real ε; by symmetry δ(−ε) = 1 − e^(−ε) (1 − δ(ε))."""
        epsilon = np.asarray(epsilon, dtype=float)
        size = np.abs(epsilon)
        above = np.clip(self._profile(size), 0.0, 1.0)
        below = -np.expm1(-size) + np.exp(-size) * above
        return np.where(epsilon < 0, below, above)[()]

    def epsilon(self, delta: float) -> float:
        """Upper bound on the least ε ≥ 0 with δ(ε) ≤ ``delta``; infinity if there is none."""
        validation.check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e9:
                return math.inf
        return bisect(lambda epsilon: bool(self.delta(epsilon) <= delta), high, low, halvings=80)

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Lower bound on f(α), never above 1 − α."""
        top = min(self.epsilon(_NEGLIGIBLE), 100.0)
        epsilon = np.linspace(0.0, top, _LINES)
        return envelope(alpha, epsilon, np.atleast_1d(self.delta(epsilon)))

    def renyi(self, order: float) -> float:
        """Proved upper bound on the Rényi divergence D_a, a > 1; infinity if nothing is proved.

        A profile δ(ε) proves a bound only if its tail does, which never holds for curves that add
        rounding errors. Classes with a bound other than aρ override this method.
        """
        check_order(order)
        return order * self.rho

    @property
    def sublinear(self) -> bool:
        """Whether the bounds D_a/a of :meth:`renyi` decrease in the order, as with aρ."""
        return True

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated DP if it is known, otherwise infinity."""
        return math.inf

    def inverse(self) -> "TradeOff":
        """Return f⁻¹, the trade-off function with the two neighbours swapped."""
        return self

    def symmetrised(self) -> "TradeOff":
        """Largest symmetric trade-off below f: min{f, f⁻¹}**."""
        return self


def envelope(alpha: ArrayLike, epsilon: FloatArray, delta: FloatArray) -> FloatArray:
    """Max over (ε, δ) of {1 − δ − e^ε α, e^(−ε)(1 − δ − α), 0} (Dong et al. 2022, Prop. 2.12)."""
    alpha = type_one_errors(alpha)
    result = np.empty(alpha.size)
    for i, level in enumerate(alpha.ravel()):  # by line: a table of α by ε can be huge
        steep = 1 - delta - np.exp(epsilon) * level
        flat = np.exp(-epsilon) * (1 - delta - level)
        result[i] = max(0.0, float(steep.max()), float(flat.max()))
    return np.minimum(result.reshape(alpha.shape), 1 - alpha)[()]


def type_one_errors(alpha: ArrayLike) -> FloatArray:
    """Return α as an array; raise a ValueError outside [0, 1]."""
    levels = np.asarray(alpha, dtype=float)
    strange = ~((levels >= 0) & (levels <= 1))
    if strange.any():
        raise ValueError(f"alpha must be in [0, 1], got {levels[strange].flat[0]:g}")
    return levels


def shared_relation(curves: Iterable[TradeOff]) -> str:
    """Neighbour relation of all curves; "replace" if there are no curves."""
    relations = sorted({curve.relation for curve in curves})
    if len(relations) > 1:
        raise ValueError(
            "trade-off functions with different neighbour relations do not compose, got "
            f"{relations}: use one relation for all. A Gaussian mechanism for a record that is "
            "added or removed is PoissonSampled(sigma, 1.0, relation='add_or_remove')"
        )
    return relations[0] if relations else REPLACE


def check_relation(relation: str) -> None:
    """Raise a ValueError if the neighbour relation is unknown."""
    if relation not in RELATIONS:
        raise ValueError(f"relation must be one of {sorted(RELATIONS)}, got {relation!r}")


def check_order(order: float) -> None:
    """Raise a ValueError if the Rényi order is not above 1."""
    if not order > 1:
        raise ValueError(f"order must be > 1, got {order!r}")


def from_dict(values: Mapping[str, Any]) -> TradeOff:
    """Create a curve from the values of its ``to_dict``; a ValueError names an unknown kind."""
    kinds = {curve.kind: curve for curve in TradeOff.__subclasses__() if hasattr(curve, "kind")}
    parameters = dict(values)
    kind = parameters.pop("kind", None)
    if kind not in kinds:
        raise ValueError(f"kind must be a known trade-off, got {kind!r}")
    return kinds[kind](**{name: _restored(value) for name, value in parameters.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, TradeOff):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return from_dict(value)
    return tuple(map(_restored, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Approximate(TradeOff):
    """f(α) = max{0, 1 − δ − e^ε α, e^(−ε)(1 − δ − α)}, exact; pure ε-DP if δ = 0.

    Wasserman and Zhou 2010; Dong, Roth and Su 2022, Proposition 2.5.

    Parameters
    ----------
    at : float
        ε ≥ 0.
    slack : float, default=0.0
        δ in [0, 1].

    Examples
    --------
    >>> curve = Approximate(1.0, 1e-6)
    >>> curve.epsilon(1e-6), curve.epsilon(0.0)
    (1.0, inf)
    """

    at: float
    slack: float = 0.0
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        validation.check_nonnegative_or_infinite(at=self.at)
        validation.check_share(slack=self.slack)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        # The corners of f are (0, 1 − δ), (a, a) and (1 − δ, 0). Only the first two count here:
        # 1 − a(1 + e^ε) with a = (1 − δ)/(1 + e^ε₀).
        ratio = np.exp(np.minimum(epsilon - self.at, 0.0))
        small = math.exp(-self.at)
        inner = (1 - ratio + self.slack * (small + ratio)) / (1 + small)
        return np.maximum(self.slack, inner)

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``; at most ε₀ if ``delta`` is at least δ."""
        if delta < self.slack:
            return math.inf
        return min(self.at, super().epsilon(delta))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Return f(α), exactly."""
        alpha = type_one_errors(alpha)
        room = 1 - self.slack
        flat = math.exp(-self.at) * (room - alpha)
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.where(alpha > 0, room - np.exp(self.at) * alpha, room)  # e^ε·0, not ∞·0
        return np.maximum(0.0, np.maximum(steep, flat))[()]

    @property
    def rho(self) -> float:
        """ρ = ε²/2 if δ = 0 (Bun and Steinke 2016, Proposition 3.3), else infinity."""
        return self.at**2 / 2 if self.slack == 0 else math.inf


@dataclass(frozen=True)
class Laplace(TradeOff):
    """Trade-off function of Lap(0, 1) and Lap(θ, 1), exact.

    f(α) = 1 − e^θ α below α = e^(−θ)/2, then e^(−θ)/(4α) up to 1/2, then e^(−θ)(1 − α) (Dong, Roth
    and Su 2022, Lemma A.6); δ(ε) = 1 − e^((ε − θ)/2) for 0 ≤ ε ≤ θ.

    Parameters
    ----------
    shift : float
        θ ≥ 0: sensitivity over scale, the ε of pure DP.

    Examples
    --------
    >>> curve = Laplace(1.0)
    >>> round(float(curve(0.25)), 4), curve.epsilon(0.0)
    (0.3679, 1.0)
    """

    shift: float
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        validation.check_nonnegative_or_infinite(shift=self.shift)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(0.0, (epsilon - self.shift) / 2))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Return f(α), exactly."""
        alpha = type_one_errors(alpha)
        small = math.exp(-self.shift)
        middle = small / (4 * np.maximum(alpha, small / 2))
        steep = 1 - alpha / small
        upper = np.where(alpha > 0.5, small * (1 - alpha), middle)
        return np.where(alpha < small / 2, steep, upper)[()]

    def epsilon(self, delta: float) -> float:
        """Return ε = θ + 2 log(1 − δ), at least 0."""
        validation.check_delta(delta)
        epsilon = self.shift + 2 * math.log1p(-delta)
        return min(self.shift, max(0.0, epsilon * (1 + 1e-15)))  # above the rounding error

    @property
    def rho(self) -> float:
        """ρ = θ²/2, as for any pure θ-DP."""
        return self.shift**2 / 2


@dataclass(frozen=True)
class Gaussian(TradeOff):
    """G(μ): α ↦ Φ(Φ⁻¹(1 − α) − μ), the trade-off function of N(0, 1) and N(μ, 1).

    Dong, Roth and Su 2022, Definition 2.6 and Corollary 2.13; exact.

    Parameters
    ----------
    mu : float
        μ ≥ 0; if μ = 0 the two distributions are equal and f(α) = 1 − α.

    Examples
    --------
    >>> curve = Gaussian(1.0)
    >>> round(float(curve(0.05)), 4), round(curve.epsilon(1e-5), 4), curve.rho
    (0.7405, 4.3772, 0.5)
    """

    mu: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        validation.check_nonnegative_or_infinite(mu=self.mu)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.mu == 0:
            return np.zeros_like(epsilon)
        if not np.isfinite(self.mu):
            return np.ones_like(epsilon)
        with np.errstate(under="ignore"):
            return np.asarray(np.maximum(0.0, gaussian_profile(self.mu, epsilon, np.exp)))

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``; see :func:`gdp_epsilon`."""
        validation.check_delta(delta)
        return gdp_epsilon(self.mu, delta)

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Return f(α), exactly."""
        return np.asarray(ndtr(-ndtri(type_one_errors(alpha)) - self.mu))[()]

    @property
    def rho(self) -> float:
        """ρ = μ²/2."""
        return self.mu**2 / 2


@dataclass(frozen=True)
class Piecewise(TradeOff):
    """Convex piecewise-linear trade-off function, not necessarily symmetric; exact.

    Parameters
    ----------
    corners : tuple of (float, float)
        (α, β) with α increasing, β decreasing and convex, from α = 0 to β = 0.
    relation : {"replace", "add_or_remove"}, default="replace"
        Neighbour relation of the tables.

    Raises
    ------
    ValueError
        If the corners do not form a trade-off function.

    Examples
    --------
    >>> curve = Piecewise(((0.0, 1.0), (0.25, 0.5), (1.0, 0.0)))
    >>> float(curve(0.25)), float(curve.inverse()(0.5))
    (0.5, 0.25)
    """

    corners: tuple[tuple[float, float], ...]
    relation: str = field(default=REPLACE, kw_only=True)
    kind: ClassVar[str] = "piecewise"

    def __post_init__(self) -> None:
        check_relation(self.relation)
        alpha, beta = self._axes()
        if not (np.all(np.isfinite(alpha)) and np.all(np.isfinite(beta))):
            raise ValueError("corners must be finite")
        inside = alpha[0] == 0 and beta[-1] == 0 and 0 <= alpha[-1] <= 1 and 0 <= beta[0] <= 1
        falling = np.all(np.diff(alpha) > 0) and np.all(np.diff(beta) <= 0)
        if not (inside and falling and np.all(beta <= 1 - alpha + 1e-12)):
            raise ValueError("corners must fall from (0, at most 1) to (at most 1, 0) below 1 - α")
        run, rise = np.diff(alpha), np.diff(beta)
        # By cross products, because slopes between corners that are 1e-20 apart are noise.
        if np.any(run[:-1] * rise[1:] - rise[:-1] * run[1:] < -1e-15):
            raise ValueError("corners must be convex")

    def _axes(self) -> tuple[FloatArray, FloatArray]:
        table = np.asarray(self.corners, dtype=float).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """Return δ(ε) for any real ε: the maximum of 1 − β − e^ε α over the corners."""
        epsilon = np.asarray(epsilon, dtype=float)
        alpha, beta = self._axes()
        with np.errstate(over="ignore"):
            slope = np.exp(np.minimum(epsilon, 700.0))
        result = np.full(epsilon.shape, max(0.0, 1 - beta[0]))
        for a, b in zip(alpha, beta, strict=True):
            result = np.maximum(result, 1 - b - slope * a)
        return result[()]

    _profile = delta

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Return f(α), exactly."""
        return np.asarray(np.interp(type_one_errors(alpha), *self._axes()))[()]

    def inverse(self) -> "Piecewise":
        """Return f⁻¹."""
        alpha, beta = self._axes()
        return hull(beta, alpha, relation=self.relation)

    def symmetrised(self) -> "Piecewise":
        """Return min{f, f⁻¹}**."""
        alpha, beta = self._axes()
        both = np.concatenate([alpha, beta]), np.concatenate([beta, alpha])
        return hull(*both, relation=self.relation)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        values = super().to_dict()
        if self.relation == REPLACE:
            del values["relation"]
        return values


def hull(alpha: ArrayLike, beta: ArrayLike, *, relation: str = REPLACE) -> Piecewise:
    """Largest trade-off function below the points (α, β): their convex minorant."""
    alpha, beta = np.ravel(np.asarray(alpha, float)), np.ravel(np.asarray(beta, float))
    points = {(0.0, 1.0), (1.0, 0.0), *zip(alpha.tolist(), beta.tolist(), strict=True)}
    corners: list[tuple[float, float]] = []
    for point in sorted(points):
        if corners and point[0] == corners[-1][0]:
            continue  # of two points at one α the lower one came first
        while len(corners) > 1:
            (a, b), (middle_a, middle_b) = corners[-2:]
            if (middle_a - a) * (point[1] - b) > (middle_b - b) * (point[0] - a):
                break
            corners.pop()  # it is not below the line from its neighbours
        corners.append(point)
    heights = [b for _, b in corners]
    lowest = heights.index(min(heights))
    return Piecewise(tuple(corners[: lowest + 1]), relation=relation)
