"""What a run costs beyond what was charged for it, when more of it is to be shown."""

import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.divergence import Divergence
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.ledger.charge import Charge, LedgerEntry


def rest_of(whole: Guarantee, entry: LedgerEntry) -> Guarantee:
    """Price that makes a charge that was started into the price of all that its run may show.

    In every notion the two add up to at least the whole: ε of pure DP, ρ of zCDP, μ² of Gaussian
    DP. It is sound while nobody has seen anything of the run: then the run may as well take place
    now, under the whole price, and what was charged before was paid in advance. Once something
    was seen, whether the rest is bought may depend on it, and no sum of the two prices is known
    to cover that; so a committed charge is refused.

    What is returned is a price and not the guarantee of anything by itself: it counts in sums of
    one notion, as the ledger's are, and in no finer composition. Neither may have a δ of its own.

    >>> from rashomon_explorer.privacy import gdp
    >>> entry = LedgerEntry(1, "", "", "", {}, gdp(mu=0.6), "started")
    >>> rest_of(gdp(mu=1.0), entry).mu
    0.8
    """
    _check(whole, entry)
    part = entry.guarantee
    return Guarantee(
        whole.notion,
        theorem=f"rest of charge {entry.id}, which it makes into: {whole.theorem}",
        assumptions=(*whole.assumptions, f"counts only together with charge {entry.id}"),
        pure_epsilon=_rest(whole.pure_epsilon, part.pure_epsilon),
        rho=_rest(whole.rho, part.rho),
        mu=_root_rest(whole.mu, part.mu),
        seeded=whole.seeded,
    )


def rest_told(whole: Divergence | None, part: Divergence | None) -> Divergence | None:
    """Divergence that makes what a charge was entered at into the whole's, rounded up.

    It is taken from what was entered, and not from ρ: an exact draw is entered at less than αρ.

    >>> rest_told(Divergence(2.0), Divergence(0.5))
    Divergence(value=1.5, steady=True)
    """
    if whole is None:
        return None
    paid = 0.0 if part is None else part.value
    return Divergence(_rest(whole.value, paid), whole.steady)


def check_extendable(
    charge: Charge, path: Path, identity: str, entries: Iterable[LedgerEntry]
) -> None:
    """Refuse to subtract what was paid once from two prices, or what another ledger was paid.

    A charge pays in advance for one whole: were it taken off two, the sum would be short of the
    second. The rest of a charge is no run of its own and has nothing to take off.

    ``identity`` is the random name of the ledger's file at ``path``.
    """
    if charge.path.resolve() != path.resolve():
        raise LedgerError(
            f"charge {charge.id} is of the ledger {charge.path}, not of {path}: extend it there"
        )
    if charge.identity != identity:
        raise LedgerError(
            f"charge {charge.id} is of a ledger that was at {path} before: put that file back and "
            "extend it there, or reserve the whole price here"
        )
    if charge.returned:  # also where the ledger could not be written when it was committed
        raise LedgerError(
            f"the result of charge {charge.id} was returned and may have been seen, so that no "
            "further price may depend on it: run again, and charge everything that is to be shown "
            "before anything is"
        )
    for entry in entries:
        if entry.id == charge.id and entry.extends is not None:
            raise LedgerError(
                f"charge {entry.id} is itself the rest of charge {entry.extends}: reserve another "
                "run's whole price instead"
            )
        if entry.extends == charge.id and entry.counts:
            raise LedgerError(
                f"charge {charge.id} was extended by charge {entry.id}, and what it paid counts "
                "towards one whole only: reserve the other's whole price instead"
            )


def _check(whole: Guarantee, entry: LedgerEntry) -> None:
    if entry.state == "reserved":
        raise LedgerError(
            f"charge {entry.id} was not started: void it and reserve the whole price instead"
        )
    if entry.state != "started":
        raise LedgerError(
            f"charge {entry.id} was {entry.state}: what it paid for may have been seen, and a "
            "price that depends on it is not covered. Run again, and charge everything that is "
            "to be shown before anything is"
        )
    if any(g.approximate_epsilon or g.approximate_delta for g in (whole, entry.guarantee)):
        raise ValueError("a price with a δ of its own cannot be extended: reserve it in full")


def _rest(whole: float, part: float) -> float:
    """Least double above whole − part; infinite where the whole is."""
    if whole == math.inf or part >= whole:
        return math.inf if whole == math.inf else 0.0
    missing = Fraction(whole) - Fraction(part)
    rest = float(missing)
    return rest if Fraction(rest) >= missing else math.nextafter(rest, math.inf)


def _root_rest(whole: float, part: float) -> float:
    """Least double or so above √(whole² − part²)."""
    if whole == math.inf or part >= whole:
        return math.inf if whole == math.inf else 0.0
    missing = Fraction(whole) ** 2 - Fraction(part) ** 2
    rest = math.sqrt(missing)
    while Fraction(rest) ** 2 < missing:
        rest = math.nextafter(rest, math.inf)
    return rest
