"""The conditions of the theorems that numbers alone can fail."""

from rashomon_explorer.constants import check_count
from rashomon_explorer.validation import as_given, is_finite


def need_positive(**values: float) -> None:
    """Refuse values that are not finite and above 0, by name.

    Examples
    --------
    >>> need_positive(beta=1.0)
    """
    for name, value in values.items():
        if not (is_finite(value) and value > 0):
            raise ValueError(f"{name} must be finite and > 0, got {as_given(value)}")


def need_nonnegative(**values: float) -> None:
    """Refuse values that are not finite and at least 0, by name.

    Examples
    --------
    >>> need_nonnegative(psi=0.0)
    """
    for name, value in values.items():
        if not (is_finite(value) and value >= 0):
            raise ValueError(f"{name} must be finite and >= 0, got {as_given(value)}")


def need_count(**values: int) -> None:
    """Refuse values that are not whole numbers of at least 1, by name.

    Examples
    --------
    >>> need_count(p=3)
    """
    for name, value in values.items():
        check_count(name, value)


def need_strong_convexity(m: float, theorem: str) -> None:
    """Refuse m = 0, for theorems that say nothing without strong convexity.

    Examples
    --------
    >>> need_strong_convexity(0.1, "Theorem 2.5")
    """
    if not (is_finite(m) and m > 0):
        raise ValueError(
            f"{theorem} needs a strongly convex loss: m must be finite and > 0, got {as_given(m)}; "
            "add some ridge"
        )
