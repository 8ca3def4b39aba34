"""Two mechanisms, each on rows of its own: one record is paid for on one side."""

from rashomon_explorer.privacy import Guarantee


def dearer(first: Guarantee, second: Guarantee) -> Guarantee:
    """Guarantee of two mechanisms that read different rows, by a split that no value decides.

    The second may depend on what the first returned. Two neighbours differ in one record, which is
    on one side: on that of the first the second is what is done with its result, and on the
    other the first returns the same law. So each notion holds with the larger of both numbers. A
    notion that one of them lacks is lost; μ and curves are left out.

    Parameters
    ----------
    first, second : Guarantee

    Examples
    --------
    >>> from rashomon_explorer.privacy import bounded_range, pure
    >>> both = dearer(pure(1.0), bounded_range(1.5))
    >>> both.epsilon(0.0), both.rho
    (1.5, 0.5)
    """
    sides = (first, second)
    numbers = ("pure_epsilon", "rho", "approximate_epsilon", "approximate_delta")
    stated = dict.fromkeys(known for side in sides for known in side.assumptions)
    return Guarantee(
        "composition",
        f"of two parts of the rows the dearer: {first.theorem}; {second.theorem}",
        **{name: max(getattr(side, name) for side in sides) for name in numbers},
        assumptions=(*stated, "the split is by place, and public"),
        seeded=any(side.seeded for side in sides),
    )
