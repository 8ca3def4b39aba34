"""Every sum of some guarantees side by side; the least counts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rashomon_explorer.privacy.composition.methods import METHODS, DoesNotApply, Method
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.validation import check_delta


@dataclass(frozen=True)
class Sum:
    """What one way to add up says of some guarantees.

    Parameters
    ----------
    method : str
        Its name.
    epsilon : float
        Total ε at the asked δ; infinity where it says nothing.
    applies : bool
        Whether it says anything of these parts.
    why : str
        Why it does not apply, else empty.
    """

    method: str
    epsilon: float
    applies: bool
    why: str = ""


def composition_report(
    parts: Iterable[Guarantee],
    delta: float,
    *,
    adaptive: bool = True,
    methods: Iterable[str] | None = None,
) -> tuple[Sum, ...]:
    """Total ε of some mechanisms on the same rows by every sum that is known, least first.

    Each is a bound by itself, so that the least is one too. Prices are fixed beforehand; for prices
    that depend on results, as in a ledger, see :func:`~rashomon_explorer.privacy.adaptive_epsilon`.
    (ε, δ) parts are set apart first: their ε is added, their δ taken from the whole.

    Parameters
    ----------
    parts : iterable of Guarantee
    delta : float
        δ in [0, 1) of the whole.
    adaptive : bool, default=True
        Whether a mechanism may have been chosen after seeing what the earlier ones returned. Only
        where none was does the optimum of independent mechanisms apply.
    methods : iterable of str, optional
        Names of the sums to try, where some would take too long; by default all.

    Returns
    -------
    tuple of Sum
        Those that apply by ε, then those that do not.

    Raises
    ------
    ValueError
        If ``delta`` is out of range or a method unknown.

    Examples
    --------
    >>> from rashomon_explorer.privacy import bounded_range, gdp
    >>> for row in composition_report([bounded_range(0.5)] * 20, 1e-6, methods=["pure", "zCDP"]):
    ...     print(row.method, round(row.epsilon, 3))
    zCDP 5.927
    pure 10.0
    >>> composition_report([gdp(1.0)] * 2, 1e-6, methods=["pure"])[0].why
    '2 of 2 parts have no finite pure ε'
    """
    check_delta(delta)
    parts, tried = list(parts), _chosen(methods)
    lost = math.fsum(part.approximate_epsilon for part in parts)
    rest = delta - math.fsum(part.approximate_delta for part in parts)
    whole = [replace(part, approximate_epsilon=0.0, approximate_delta=0.0) for part in parts]
    sums = [_sum(method, whole, rest, lost, adaptive) for method in tried]
    return tuple(sorted(sums, key=lambda row: (not row.applies, row.epsilon)))


def least_epsilon(parts: Iterable[Guarantee], delta: float, *, adaptive: bool = True) -> float:
    """Least total ε at δ that any sum proves; see :func:`composition_report`.

    Examples
    --------
    >>> from rashomon_explorer.privacy import bounded_range, compose
    >>> draws = [bounded_range(0.5)] * 20
    >>> round(least_epsilon(draws, 1e-6), 2), round(compose(draws).epsilon(1e-6), 2)
    (5.43, 5.93)
    """
    return composition_report(parts, delta, adaptive=adaptive)[0].epsilon


def _chosen(methods: Iterable[str] | None) -> list[Method]:
    known = {method.name: method for method in METHODS}
    names = list(known) if methods is None else list(methods)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ValueError(f"methods must be some of {list(known)}, got {names!r}")
    return [known[name] for name in names]


def _sum(method: Method, parts: list[Guarantee], delta: float, lost: float, adaptive: bool) -> Sum:
    if delta < 0:
        return Sum(method.name, math.inf, False, "the parts' own δ exceed the whole")
    if adaptive and not method.adaptive:
        return Sum(method.name, math.inf, False, "a part may depend on what earlier ones returned")
    try:
        epsilon = lost + method.epsilon(parts, delta)
    except DoesNotApply as refused:
        return Sum(method.name, math.inf, False, str(refused))
    if not math.isfinite(epsilon):
        return Sum(method.name, math.inf, False, f"it says nothing at δ = {delta:g}")
    return Sum(method.name, epsilon, True)
