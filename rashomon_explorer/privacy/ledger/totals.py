"""Running sums of a ledger: exact, so that a sum kept for years equals a sum made today."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.zcdp import zcdp_epsilon
from rashomon_explorer.validation import check_delta

ROUNDING = 1e-9  # of a budget: a plan that spends all of it must not fail by an ulp

_LEAST_DOUBLE_BITS = 1074  # every double is a whole number of 2⁻¹⁰⁷⁴
_SUMMED = ("pure_epsilon", "rho", "approximate_epsilon", "approximate_delta")


@dataclass(frozen=True)
class ExactSum:
    """Sum of doubles without rounding, from which any of them can be taken back.

    >>> total = ExactSum().plus(0.1).plus(1e300).plus(math.inf)
    >>> float(total), float(total.minus(math.inf).minus(1e300))
    (inf, 0.1)
    """

    finite: Fraction = Fraction(0)  # sum of the finite terms; every double is a fraction
    infinite: int = 0  # number of infinite terms

    @classmethod
    def of(cls, terms: Iterable[tuple[float, int]]) -> "ExactSum":
        """Add up values, each so many times, in whole numbers of the least double above zero.

        Examples
        --------
        >>> ExactSum.of([(0.1, 3), (5e-324, 1)]) == ExactSum().plus(5e-324).plus(0.1).plus(
        ...     0.1
        ... ).plus(0.1)
        True
        """
        whole = infinite = 0
        for value, count in terms:
            if value == math.inf:
                infinite += count
                continue
            numerator, denominator = value.as_integer_ratio()
            whole += count * (numerator << (_LEAST_DOUBLE_BITS - denominator.bit_length() + 1))
        return cls(Fraction(whole, 1 << _LEAST_DOUBLE_BITS), infinite)

    def plus(self, value: float) -> "ExactSum":
        """Return the sum with ``value`` added."""
        if value == math.inf:
            return ExactSum(self.finite, self.infinite + 1)
        return ExactSum(self.finite + Fraction(value), self.infinite)

    def minus(self, value: float) -> "ExactSum":
        """Return the sum without ``value``, which was added before."""
        if value == math.inf:
            return ExactSum(self.finite, self.infinite - 1)
        return ExactSum(self.finite - Fraction(value), self.infinite)

    def __float__(self) -> float:
        try:
            return math.inf if self.infinite else float(self.finite)
        except OverflowError:
            return math.inf


def _zeros() -> dict[str, ExactSum]:
    return dict.fromkeys(_SUMMED, ExactSum())


@dataclass(frozen=True)
class Totals:
    """What charges add up to, in constant space: all that a ledger's rule needs to know of them.

    Parameters
    ----------
    live : int
        Charges that count.
    leaks : bool or None
        Whether δ pays for charges that have a δ of their own. It is settled by the first charge,
        before anything has been seen, and open (None) only while no charge counts.
    sums : dict of str to ExactSum
        Of ε of pure DP, ρ of zCDP and the two (ε, δ) parts.

    Examples
    --------
    >>> from rashomon_explorer.privacy import bounded_range, pure
    >>> one = Totals.of([bounded_range(0.5)])
    >>> one.plus(pure(1.0)).minus(pure(1.0)) == one, one.epsilon(1e-6)
    (True, 0.5)
    """

    live: int = 0
    leaks: bool | None = None
    sums: dict[str, ExactSum] = field(default_factory=_zeros)

    @classmethod
    def of(cls, charges: Iterable[Guarantee]) -> "Totals":
        """Add up charges in the order in which they were reserved."""
        totals = cls()
        for charge in charges:
            totals = totals.plus(charge)
        return totals

    @classmethod
    def of_many(cls, counted: Sequence[tuple[Guarantee, int]], leaks: bool | None) -> "Totals":
        """Add up charges and how often each was made, as ``of`` does, but fast.

        Parameters
        ----------
        counted : sequence of (Guarantee, int)
        leaks : bool or None
            What the charges were counted under.
        """
        sums = {
            name: ExactSum.of((getattr(charge, name), count) for charge, count in counted)
            for name in _SUMMED
        }
        return cls(sum(count for _, count in counted), leaks, sums)

    def plus(self, charge: Guarantee) -> "Totals":
        """Return the totals with one more charge."""
        leaks = self.leaks if self.live else takes_delta(charge)
        sums = {name: total.plus(getattr(charge, name)) for name, total in self.sums.items()}
        return Totals(self.live + 1, leaks, sums)

    def minus(self, charge: Guarantee) -> "Totals":
        """Return the totals without a charge under which nothing ran."""
        leaks = self.leaks if self.live > 1 else None
        sums = {name: total.minus(getattr(charge, name)) for name, total in self.sums.items()}
        return Totals(self.live - 1, leaks, sums)

    def epsilon(self, delta: float) -> float:
        """Total ε at δ, as :func:`adaptive_epsilon` defines it.

        Parameters
        ----------
        delta : float
            δ in [0, 1).

        Returns
        -------
        float
            Infinity if nothing can be claimed.
        """
        check_delta(delta)
        pure, rho, own_epsilon, own_delta = (float(self.sums[name]) for name in _SUMMED)
        if self.leaks:  # also when those were voided: what δ pays for was chosen, and stays so
            return own_epsilon + pure if own_delta <= delta * (1 + ROUNDING) else math.inf
        if own_epsilon or own_delta:
            return math.inf
        return min(pure, zcdp_epsilon(rho, delta))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; fractions as text, for no number type there holds them."""
        sums = {name: [str(total.finite), total.infinite] for name, total in self.sums.items()}
        return {"live": self.live, "leaks": self.leaks, "sums": sums}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Totals":
        """Inverse of :meth:`to_dict`."""
        sums = {
            name: ExactSum(Fraction(finite), infinite)
            for name, (finite, infinite) in values["sums"].items()
        }
        return cls(values["live"], values["leaks"], sums)


def takes_delta(guarantee: Guarantee) -> bool:
    """Whether the guarantee has an (ε, δ) part.

    Examples
    --------
    >>> from rashomon_explorer.privacy import approximate, zcdp
    >>> takes_delta(approximate(1.0, 1e-6)), takes_delta(zcdp(0.1))
    (True, False)
    """
    return guarantee.approximate_delta > 0 or guarantee.approximate_epsilon > 0
