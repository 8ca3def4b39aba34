"""What every trade-off function can do."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.search import bisect
from rashomon_explorer.validation import check_delta

_NEGLIGIBLE = 1e-18  # a δ at which an envelope needs no further line
_LINES = 4001
REPLACE = "replace"
"""Neighbours differ in one record, replaced by another, as everywhere in this package."""
RELATIONS = (REPLACE, "add_or_remove")


class TradeOff(ABC):
    """Least type II error f(α) of any test between neighbours at type I error α.

    A mechanism is f-DP if no test does better (Dong, Roth and Su 2022, Definition 2.3). The curve
    is held by its dual, the privacy profile

        δ(ε) = 1 + f*(−e^ε) = max over α of 1 − f(α) − e^ε α

    (their Proposition 2.12). Whatever cannot be exact errs towards less privacy: f from below, δ
    and ε from above. Curves are symmetric, f = f⁻¹, unless their class says otherwise.
    """

    kind: ClassVar[str]
    said: ClassVar[str] = "f-DP"
    """The notion in which it is proved, in words."""

    @property
    def relation(self) -> str:
        """Which tables are neighbours: "replace" or "add_or_remove" one record."""
        return REPLACE

    @abstractmethod
    def _profile(self, epsilon: FloatArray) -> FloatArray:
        """δ(ε) for ε ≥ 0."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values from which :func:`from_dict` makes the curve again."""

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """δ(ε) for real ε of any sign; by symmetry δ(−ε) = 1 − e^(−ε) (1 − δ(ε)).

        Parameters
        ----------
        epsilon : array-like

        Returns
        -------
        ndarray
            Of the shape of ``epsilon``.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        size = np.abs(epsilon)
        above = np.clip(self._profile(size), 0.0, 1.0)
        below = -np.expm1(-size) + np.exp(-size) * above
        return np.where(epsilon < 0, below, above)[()]

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``, from above; infinity if there is none.

        Raises
        ------
        ValueError
            If ``delta`` is not in [0, 1).
        """
        check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e9:
                return math.inf
        return bisect(lambda epsilon: bool(self.delta(epsilon) <= delta), high, low, halvings=80)

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """f(α), from below.

        Never above 1 − α.
        """
        top = min(self.epsilon(_NEGLIGIBLE), 100.0)
        epsilon = np.linspace(0.0, top, _LINES)
        return envelope(alpha, epsilon, np.atleast_1d(self.delta(epsilon)))

    def renyi(self, order: float) -> float:
        """Rényi divergence D_a of order a > 1 between the worst neighbours.

        (a − 1) D_a = log(1 + a(a − 1) ∫ (e^((a−1)ε) + e^(−aε)) δ(ε) dε) over ε > 0 (Sason and
        Verdú 2016, for the pair whose trade-off is f); by quadrature where no closed form is
        known, then to about six digits and not a bound.

        Raises
        ------
        ValueError
            If ``order`` is not above 1.
        """
        check_order(order)
        from scipy.integrate import quad

        top = 1.0  # beyond it the integrand is below 1e-18, or there is no end to it
        while (order - 1) * top + math.log(max(float(self.delta(top)), 1e-300)) > -41:
            top *= 2
            if order * top > 700:
                return math.inf

        def weighted(epsilon: float) -> float:
            weight = math.exp((order - 1) * epsilon) + math.exp(-order * epsilon)
            return weight * float(self.delta(epsilon))

        total = quad(weighted, 0.0, top, limit=500)[0]
        return math.log1p(order * (order - 1) * total) / (order - 1)

    def renyi_bound(self, order: float) -> float:
        """Return what is proved of D_a: :meth:`renyi` from above; infinity where nothing is.

        δ(ε) alone proves it where its tail does, which no curve with rounding added has: classes
        that know D_a by itself say so.
        """
        check_order(order)
        return order * self.rho

    @property
    def steady(self) -> bool:
        """Whether the bounds D_a/a of :meth:`renyi_bound` fall as the order rises, as aρ does."""
        return True

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated DP, where it is known; infinity elsewhere."""
        return math.inf

    def inverse(self) -> "TradeOff":
        """f⁻¹, the trade-off with the two neighbours swapped."""
        return self

    def symmetrised(self) -> "TradeOff":
        """Largest symmetric trade-off below f: min{f, f⁻¹}**."""
        return self


def envelope(alpha: ArrayLike, epsilon: FloatArray, delta: FloatArray) -> FloatArray:
    """β(α) = max over ε ≥ 0 of {1 − δ − e^ε α, e^(−ε)(1 − δ − α), 0}.

    It is the largest symmetric trade-off function that (ε, δ) pairs prove (Dong, Roth and Su 2022,
    Proposition 2.12): each line is true, so their maximum is, on any grid. Both families come
    from the same pairs. Two one-sided curves put together where they meet may put the power of a
    test below its level; this never passes 1 − α.

    Examples
    --------
    >>> float(envelope(0.25, np.array([0.0, 1.0]), np.array([0.5, 0.25])).round(6))
    0.25
    """
    alpha = type_one_errors(alpha)
    result = np.empty(alpha.size)
    for place, level in enumerate(alpha.ravel()):  # a line each: α and ε as a table can be huge
        steep = 1 - delta - np.exp(epsilon) * level
        flat = np.exp(-epsilon) * (1 - delta - level)
        result[place] = max(0.0, float(steep.max()), float(flat.max()))
    return np.minimum(result.reshape(alpha.shape), 1 - alpha)[()]


def type_one_errors(alpha: ArrayLike) -> FloatArray:
    """α as an array, refused outside [0, 1].

    Examples
    --------
    >>> type_one_errors([0.0, 0.05]).tolist()
    [0.0, 0.05]
    """
    levels = np.asarray(alpha, dtype=float)
    strange = ~((levels >= 0) & (levels <= 1))
    if strange.any():
        raise ValueError(f"alpha must be in [0, 1], got {levels[strange].flat[0]:g}")
    return levels


def shared_relation(curves: Iterable[TradeOff]) -> str:
    """Neighbour relation of all curves; "replace" without any.

    Raises
    ------
    ValueError
        If they have different ones.

    Examples
    --------
    >>> shared_relation([])
    'replace'
    """
    found = sorted({curve.relation for curve in curves})
    if len(found) > 1:
        raise ValueError(
            f"trade-off functions of different neighbour relations do not compose, got {found}: "
            "give all of them one relation. A Gaussian mechanism for a record that is added or "
            "removed is PoissonSampled(sigma, 1.0, relation='add_or_remove')"
        )
    return found[0] if found else REPLACE


def check_relation(relation: str) -> None:
    """Refuse a neighbour relation that is not known.

    Examples
    --------
    >>> check_relation("add_or_remove")
    """
    if relation not in RELATIONS:
        raise ValueError(f"relation must be one of {sorted(RELATIONS)}, got {relation!r}")


def check_order(order: float) -> None:
    """Refuse a Rényi order that is not above 1.

    Examples
    --------
    >>> check_order(2.0)
    """
    if not order > 1:
        raise ValueError(f"order must be > 1, got {order!r}")
