"""What a guarantee has to say of the arithmetic that its mechanism ran in."""

from dataclasses import replace

from rashomon_explorer.arrays import ArrayBackend
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee


def computed_on(guarantee: Guarantee, arrays: ArrayBackend) -> Guarantee:
    """Guarantee of the same mechanism with its sums over rows computed by a backend.

    Nothing is added for the host. A device's sums in double precision are priced as exact, as
    the host's are, which is stated; in single precision nothing is promised, because what rounding
    adds to the difference between neighbours is bounded for the host's blocks alone
    (docs/floating-point.md).

    Parameters
    ----------
    guarantee : Guarantee
    arrays : ArrayBackend

    Examples
    --------
    >>> from rashomon_explorer.privacy import gdp
    >>> there = ArrayBackend("array_api_strict")
    >>> print(computed_on(gdp(mu=1.0), there).assumptions[-1])  # doctest: +ELLIPSIS
    sums over rows in double precision by array_api_strict on ... are taken to be exact
    >>> single = ArrayBackend("array_api_strict", dtype="float32")
    >>> computed_on(gdp(mu=1.0), single).holds
    False
    """
    if arrays.on_host or not guarantee.holds:
        return guarantee
    if arrays.dtype != "float64":
        return no_guarantee(f"gradients were computed in single precision by {arrays}")
    said = f"sums over rows in double precision by {arrays} are taken to be exact"
    return replace(guarantee, assumptions=tuple(dict.fromkeys((*guarantee.assumptions, said))))
