"""Numbers and names as the figures write them."""

from html import escape

_LONGEST_NAME = 24


def percent(share: float) -> str:
    """Write a share as a percentage that never rounds a miss up to certainty.

    Parameters
    ----------
    share : float
        Between 0 and 1.

    Returns
    -------
    str
        Whole percent, or one decimal near the ends.

    Examples
    --------
    >>> percent(0.5), percent(0.9991), percent(1.0), percent(0.004), percent(1e-9)
    ('50%', '99.9%', '100%', '0.4%', '0%')
    """
    if 5e-4 <= share < 0.01 or 0.99 < share < 1:
        return f"{min(100 * share, 99.9) if share < 1 else 100.0:.1f}%"
    return f"{100 * share:.0f}%"


def number(value: float, digits: int = 3) -> str:
    """Write a number with a few significant digits and no needless exponent.

    Parameters
    ----------
    value : float
        Any number.
    digits : int
        Significant digits.

    Returns
    -------
    str
        The number.

    Examples
    --------
    >>> number(0.02), number(1234.5), number(1e-06), number(4.0)
    ('0.02', '1,230', '1e-6', '4')
    """
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "∞", "-inf": "−∞"}.get(str(value), "not known")
    if value and not 1e-3 <= abs(value) < 1e6:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(power)}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.6f}".rstrip("0").rstrip(".")


def short_name(name: str) -> str:
    """Cut a long column name and keep markup in it from working.

    Parameters
    ----------
    name : str
        A column's name.

    Returns
    -------
    str
        At most 24 characters, with ``<``, ``>`` and ``&`` as entities, since figures read HTML.

    Examples
    --------
    >>> short_name("age"), short_name("mean_number_of_open_accounts"), short_name("<b>")
    ('age', 'mean_number_of_open_acc…', '&lt;b&gt;')
    """
    cut = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return escape(cut, quote=False)


def plural(count: int, noun: str) -> str:
    """Write a count with its noun.

    Parameters
    ----------
    count : int
        How many.
    noun : str
        One of them.

    Returns
    -------
    str
        Count and noun.

    Examples
    --------
    >>> plural(1, "draw"), plural(1200, "draw")
    ('1 draw', '1,200 draws')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
