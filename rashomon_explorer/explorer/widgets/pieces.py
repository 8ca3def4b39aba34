"""What is new in a figure: numbers that a browser has already are not sent again."""

from typing import Any

_LONG = 200
"""Letters or entries from which on it pays to look for what is known."""

KEPT, NEW = "$kept", "new"
"""How much of the beginning of a text or list stays, and what follows it."""


def piece(before: Any, after: Any) -> Any:
    """Say a figure by what differs from another.

    Parameters
    ----------
    before, after : figure as dict
        The one that is known, and the one to say; typed numbers are texts in base 64, of which
        those of more draws begin as those of fewer did.

    Returns
    -------
    dict
        ``after``, where each long text and list that begins as in ``before`` is how much of that
        stays, and what follows.

    Examples
    --------
    >>> known, grown = {"x": "ab" * 200}, {"x": "ab" * 200 + "c"}
    >>> piece(known, grown), piece({}, grown) == grown
    ({'x': {'$kept': 400, 'new': 'c'}}, True)
    """
    if isinstance(after, dict):
        known = before if isinstance(before, dict) else {}
        return {key: piece(known.get(key), value) for key, value in after.items()}
    if not isinstance(after, str | list | tuple) or type(before) is not type(after):
        return after
    if len(after) < _LONG:
        if isinstance(after, str):
            return after
        padded = [*before, *[None] * len(after)]
        return [piece(*both) for both in zip(padded, after, strict=False)]
    same = _shared(before, after)
    return {KEPT: same, NEW: after[same:]} if 2 * same > len(after) else after


def size(figure: Any) -> int:
    """Count letters and numbers of a figure or a piece of one, roughly.

    >>> size({"x": "abc", "y": [1, 2]})
    5
    """
    if isinstance(figure, str):
        return len(figure)
    if isinstance(figure, dict):
        return sum(map(size, figure.values()))
    return sum(map(size, figure)) if isinstance(figure, list | tuple) else 1


def _shared(before: Any, after: Any) -> int:
    """Length of the common beginning, by halving."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
