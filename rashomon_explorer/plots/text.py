"""Numbers and names as the figures write them; bounds are rounded to the side that stays true."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from html import escape
from typing import Literal

from rashomon_explorer._utils.formatting import as_written, epsilon_text, hit_rate_text, left_text
from rashomon_explorer.mechanisms.planning.weakness import PlanGuarantee, has_hit_rate

Rounding = Literal["nearest", "up", "down"]

_LONGEST_NAME = 24
_ROUNDINGS = {"nearest": ROUND_HALF_EVEN, "up": ROUND_CEILING, "down": ROUND_FLOOR}


def percent(share: float, rounding: Rounding = "nearest") -> str:
    """Write a share as a percentage that never rounds a miss up to certainty."""
    if not -1e6 < share < 1e6:
        return "unknown"
    if rounding == "down" and share >= 0:
        return hit_rate_text(share)
    exact = 100 * as_written(share)
    fine = Decimal("0.05") <= exact < 1 or 99 < exact < 100 or (rounding == "up" and 0 < exact < 1)
    step = Decimal("0.1") if fine else Decimal(1)
    rounded = exact.quantize(step, rounding=_ROUNDINGS[rounding])
    if rounding == "nearest" and exact < 100:
        rounded = min(rounded, Decimal("99.9"))
    return f"{rounded:.0f}%" if rounded == 100 else f"{rounded}%"


def number(value: float, digits: int = 3, rounding: Rounding = "nearest") -> str:
    """Write a number with a few significant digits and no needless exponent."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "∞", "-inf": "−∞"}.get(str(value), "unknown")
    exact = Decimal(float(value)) if rounding == "nearest" else as_written(value)
    rounded = float(Context(prec=digits, rounding=_ROUNDINGS[rounding]).plus(exact))
    if rounded and not 1e-3 <= abs(rounded) < 1e6:
        mantissa, power = f"{rounded:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(power)}"
    return f"{rounded:,.{digits + 3}f}".rstrip("0").rstrip(".")


def guaranteed_hits(planned: PlanGuarantee) -> str:
    """Write the hit rate that a plan guarantees; ``"none"`` if none is proved."""
    unproved = planned.centre_excess is not None and not planned.hit_rate_bound
    return "none" if unproved else at_least(planned.hit_rate_bound)


def guaranteed(planned: PlanGuarantee) -> str:
    """Write the guarantee for draws: a hit rate, or an excess if there is no hit rate."""
    if has_hit_rate(planned):
        return f"guaranteed {guaranteed_hits(planned)}"
    excess = getattr(planned, "weighed_excess", planned.excess_bound)
    of = " of their centre" if planned.centre_excess is not None else ""
    return f"guaranteed: excess{of} {at_most(excess)}"


def at_least(bound: float, *, share: bool = True) -> str:
    """Write a lower bound, rounded down, so that the printed bound holds."""
    return f"≥ {percent(bound, 'down') if share else number(bound, rounding='down')}"


def at_most(bound: float, *, share: bool = False) -> str:
    """Write an upper bound, rounded up, so that the printed bound holds."""
    return f"≤ {percent(bound, 'up') if share else number(bound, rounding='up')}"


def cost_text(epsilon: float, delta: float | None = None) -> str:
    """Write a privacy cost, rounded up, so that the printed cost is an upper bound."""
    at = "" if delta is None else f" at δ = {number(delta, rounding='up')}"
    return f"ε = {epsilon_text(epsilon)}{at}"


def none_phrase(n_draws: int) -> str:
    """First words of a sentence that no draw lies in a region."""
    return "The one draw does not lie" if n_draws == 1 else f"None of {n_draws:,} draws lies"


def what_is_left(epsilon: float) -> str:
    """Write the remaining budget, rounded down, never below 0."""
    return left_text(epsilon)


def short_name(name: str) -> str:
    """Shorten a long column name and escape its markup."""
    return escape(_ended(name, _LONGEST_NAME), quote=False)


def short_names(names: Iterable[object], longest: int = _LONGEST_NAME) -> list[str]:
    """Shorten long names so that distinct names stay distinct."""
    whole = [str(name) for name in names]
    ended = [_ended(name, longest) for name in whole]
    halved = [_halved(name, longest) for name in whole]
    shown = [
        end
        if _is_one(end, whole, ended)
        else half
        if _is_one(half, whole, halved)
        else f"{place}. {end}"
        for place, (end, half) in enumerate(zip(ended, halved, strict=True), start=1)
    ]
    return [escape(name, quote=False) for name in shown]


def _is_one(cut: str, names: list[str], cuts: list[str]) -> bool:
    """Whether only equal names are shortened to this text."""
    return len({name for name, other in zip(names, cuts, strict=True) if other == cut}) == 1


def _ended(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _halved(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    last = (longest - 1) // 2
    return f"{name[: longest - 1 - last]}…{name[-last:]}"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
