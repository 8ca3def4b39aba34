"""What the theorems of shifted interpolation share: preconditions, contraction, wording."""

from dataclasses import replace

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import gdp
from rashomon_explorer.validation import check_count, check_nonnegative, check_positive

SOURCE = "of Bok, Su and Altschuler 2024"
WHOLE_PATH = "every iterate may be shown"
LAST_ONLY = "nothing but the last iterate is ever shown; the number of steps is settled beforehand"
NO_JUMPS = "the gradient has no jumps, as a hard threshold's has"
PROJECTED = "every loss is convex and smooth; every step is projected on the domain"
IN_ORDER = "the order of the batches is fixed"


def contracting(c: float) -> str:
    """Assume what makes a step bring models closer by a factor c."""
    return f"every loss is strongly convex and smooth, so that steps contract by c = {c:g}"


def shift(*, sensitivity: float, batch_size: float, sigma: float) -> float:
    """L/(bσ), by how many deviations of the noise one record moves a step.

    Examples
    --------
    >>> shift(sensitivity=2.0, batch_size=10, sigma=0.1)
    2.0
    """
    check_nonnegative(sensitivity=sensitivity)
    check_positive(batch_size=batch_size, sigma=sigma)
    return sensitivity / (batch_size * sigma)


def check_batch(batch_size: int, n: int) -> None:
    """Refuse a batch that is no part of the n rows.

    Examples
    --------
    >>> check_batch(10, 100)
    """
    check_count(batch_size=batch_size, n=n)
    if batch_size > n:
        raise ValueError(f"batch_size must be at most n = {n}, got {batch_size!r}")


def check_convex_step(*, step_size: float, smoothness: float) -> None:
    """Refuse η > 2/M, at which a step of a convex loss need not bring models closer.

    Examples
    --------
    >>> check_convex_step(step_size=0.1, smoothness=4.0)
    """
    check_positive(step_size=step_size, smoothness=smoothness)
    if step_size > 2 / smoothness:
        raise ValueError(
            f"step_size must be at most 2/smoothness = {2 / smoothness:g}, got {step_size!r}"
        )


def contraction_of(
    *,
    contraction: float | None = None,
    ridge: float | None = None,
    smoothness: float | None = None,
    step_size: float | None = None,
) -> float:
    """c, given or max{|1 − ηm|, |1 − ηM|} of an m-strongly convex, M-smooth loss.

    c must be in [0, 1), and η < 2/M; either c is given, or all of m, M and η are.

    >>> contraction_of(ridge=0.5, smoothness=4.0, step_size=0.25)
    0.875
    """
    if contraction is not None:
        if not (ridge is None and smoothness is None and step_size is None):
            raise ValueError("give either contraction or ridge, smoothness and step_size, not both")
        if not 0 <= contraction < 1:
            raise ValueError(f"contraction must be in [0, 1), got {contraction!r}")
        return contraction
    if ridge is None or smoothness is None or step_size is None:
        raise ValueError("give contraction, or all of ridge, smoothness and step_size")
    check_positive(ridge=ridge, smoothness=smoothness, step_size=step_size)
    if ridge > smoothness:
        raise ValueError(f"ridge must be at most smoothness = {smoothness!r}, got {ridge!r}")
    if step_size >= 2 / smoothness:
        raise ValueError(
            f"step_size must be below 2/smoothness = {2 / smoothness:g}, got {step_size!r}"
        )
    return max(abs(1 - step_size * ridge), abs(1 - step_size * smoothness))


def state(mu: float, theorem: str, *assumptions: str) -> Guarantee:
    """μ-GDP by a theorem of the paper, under the usual and some more assumptions.

    Examples
    --------
    >>> state(1.0, "Theorem 4.1", WHOLE_PATH).theorem
    'Theorem 4.1 of Bok, Su and Altschuler 2024'
    """
    plain = gdp(mu=mu)
    return replace(
        plain, theorem=f"{theorem} {SOURCE}", assumptions=(*plain.assumptions, *assumptions)
    )
