"""The worst neighbours among all data sets made of a few records."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Generic, TypeVar

from rashomon_explorer.privacy.audit.exact_audit import ExactAudit
from rashomon_explorer.validation import check_count

Record = TypeVar("Record")
Law = TypeVar("Law")


@dataclass(frozen=True)
class Worst(Generic[Record]):
    """Two neighbours that no other searched pair is worse than, and their audit.

    Parameters
    ----------
    first, second : tuple
        Their records.
    audit : ExactAudit
    """

    first: tuple[Record, ...]
    second: tuple[Record, ...]
    audit: ExactAudit


def search(
    law: Callable[[tuple[Record, ...]], Law],
    compare: Callable[[Law, Law], ExactAudit],
    records: Sequence[Record],
    n: int,
    *,
    key: Callable[[ExactAudit], float] = lambda audit: audit.max_log_ratio,
) -> Worst[Record]:
    """Worst neighbours among all multisets of ``n`` of the given records, by brute force.

    Extreme records, a middling one and one that says nothing find what there is to find for a
    loss that is monotone in each. Each law is computed once.

    Parameters
    ----------
    law : callable
        Maps a tuple of n records to what ``compare`` takes, such as log weights on a grid.
    compare : callable
        Maps two of these to an audit, such as :func:`discrete`.
    records : sequence
        At least two.
    n : int
        Rows of a data set; C(len(records) + n − 1, n) laws are computed.
    key : callable, optional
        What is to be largest, by default |log ratio|.

    Raises
    ------
    ValueError
        If there are fewer than two records, or ``n`` is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.privacy.audit import discrete
    >>> places = np.linspace(0, 1, 11)
    >>> def law(rows):  # exponential mechanism for a median, at ε = 1
    ...     return -sum(abs(places - row) for row in rows) / 2
    >>> worst = search(law, discrete, [0.0, 0.5, 1.0], n=3)
    >>> worst.audit.max_log_ratio < 1.0, round(worst.audit.range, 9)
    (True, 1.0)
    """
    if len(records) < 2:
        raise ValueError(f"a search needs at least two records, got {len(records)}")
    check_count(n=n)
    kinds = range(len(records))
    laws = {
        members: law(tuple(records[i] for i in members))
        for members in combinations_with_replacement(kinds, n)
    }

    def audited() -> Iterable[Worst[Record]]:
        for one, other in _neighbours(kinds, n):
            first, second = (tuple(records[i] for i in each) for each in (one, other))
            yield Worst(first, second, compare(laws[one], laws[other]))

    return max(audited(), key=lambda found: key(found.audit))


def _neighbours(kinds: range, n: int) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All unordered pairs of multisets of ``n`` that differ in one member."""
    for rest in combinations_with_replacement(kinds, n - 1):
        for one, other in combinations(kinds, 2):
            yield tuple(sorted((*rest, one))), tuple(sorted((*rest, other)))
