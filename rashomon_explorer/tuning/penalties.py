"""Which penalties may be chosen: a public box of logarithms, and which column each is for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.validation import check_positive

LOWEST = -1
"""Group of a column that has the lowest of the chosen penalties, such as the intercept's."""

MEAN = -2
"""Group of a column that has their geometric mean, which is smooth in all of them."""


@dataclass(frozen=True)
class Cube:
    """Points with every |x_j| ≤ radius.

    Examples
    --------
    >>> Cube(1.0).contains(np.array([[0.5, 2.0]])).tolist()
    [True, False]
    """

    radius: float

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (d, K) lies inside; shape (K,)."""
        return np.asarray((np.abs(theta) <= self.radius).all(axis=0))


@dataclass(frozen=True)
class PenaltyBox:
    """Penalties λ_j = λ₀·exp(x_g), one x for each group of columns, low ≤ λ_j ≤ high.

    λ₀ = √(low·high) is the middle, so that the box of x is a cube around 0. The penalised loss is
    ℓ's mean + ½ Σ λ_j y_j²; with n rows scikit-learn's ridge ``alpha`` is nλ, and the ``C`` of its
    logistic regression 1/(nλ).

    Parameters
    ----------
    groups : tuple of int
        For each column the number of its group from 0, or :data:`LOWEST` or :data:`MEAN` for one
        that has the lowest penalty of all groups, or their geometric mean.
    low, high : float
        The lowest and the highest penalty, 0 < low < high. Public: the price rests on ``low``.

    Raises
    ------
    ValueError
        If the bounds are out of range, or a group has no column.

    Examples
    --------
    >>> box = PenaltyBox((0, 1, LOWEST), low=0.01, high=1.0)
    >>> box.d, box.penalties(np.array([[0.0], [2.0]])).ravel().round(3).tolist()
    (2, [0.1, 0.739, 0.1])
    """

    groups: tuple[int, ...]
    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse a box without an inside, and groups that nothing is in."""
        check_positive(low=self.low, high=self.high)
        if not self.low < self.high:
            raise ValueError(
                f"bounds must be (low, high) with low < high, got ({self.low}, {self.high})"
            )
        used = {group for group in self.groups if group not in (LOWEST, MEAN)}
        if used != set(range(len(used))) or not used:
            raise ValueError(
                f"groups must be 0, 1, … with a column in each, {LOWEST} for the lowest of them or "
                f"{MEAN} for their mean, got {self.groups!r}"
            )

    @property
    def d(self) -> int:
        """Number of penalties that are chosen."""
        return max(self.groups) + 1

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.groups)

    @property
    def half_width(self) -> float:
        """½·log(high/low): how far each x goes from 0."""
        return math.log(self.high / self.low) / 2

    @property
    def domain(self) -> Cube:
        """The cube of x."""
        return Cube(self.half_width)

    def group_penalties(self, x: FloatArray) -> FloatArray:
        """Penalty (d, K) of each group at columns of ``x`` (d, K), kept in the bounds."""
        middle = math.sqrt(self.low * self.high)
        return np.clip(middle * np.exp(x), self.low, self.high)

    def penalties(self, x: FloatArray) -> FloatArray:
        """Penalty (p, K) of each column of the rows at columns of ``x`` (d, K)."""
        return self.by_column(self.group_penalties(x))

    def by_column(self, chosen: FloatArray) -> FloatArray:
        """Penalty (p, K) of each column of the rows, of those of the groups (d, K)."""
        mean = np.exp(np.log(chosen).mean(axis=0, keepdims=True))
        every = np.vstack([chosen, mean, chosen.min(axis=0, keepdims=True)])
        return np.asarray(every[np.array(self.groups)])

    def jacobian(self, penalties: FloatArray, y: FloatArray) -> FloatArray:
        """∇²_xy G (p, d) = ∂(λ(x)∘y)/∂x: the entries of λ∘y, each in its group's column.

        Columns with the lowest penalty follow the first group that has it, those with the mean
        all groups alike.
        """
        own = np.array(self.groups)
        chosen = own >= 0
        follows = own[chosen][int(penalties[chosen].argmin())]
        spread = np.zeros((self.p, self.d))
        spread[np.arange(self.p), np.where(chosen, own, follows)] = penalties * y
        shared = own == MEAN
        spread[shared] = (penalties * y)[shared, None] / self.d
        return spread


def column_groups(
    penalty: str, n_features: int, groups: Sequence[Sequence[int]] | None = None
) -> tuple[int, ...]:
    """Group of each feature, and of the intercept after them.

    Parameters
    ----------
    penalty : {"scalar", "group", "feature"}
        One penalty for all features, one for each of ``groups``, or one for each feature.
    n_features : int
    groups : sequence of sequences of int, optional
        Places of the features of each group; every feature is in exactly one.

    Raises
    ------
    ValueError
        If there is no such kind of penalty, or the groups do not divide the features.

    Examples
    --------
    >>> column_groups("scalar", 2), column_groups("group", 3, [[0, 2], [1]])
    ((0, 0, -1), (0, 1, 0, -1))
    """
    if penalty not in ("scalar", "group", "feature"):
        raise ValueError(f"penalty must be 'scalar', 'group' or 'feature', got {penalty!r}")
    if (penalty == "group") != (groups is not None):
        raise ValueError(
            "groups goes with penalty='group' and with no other: give the places of the features "
            f"of each group, got penalty={penalty!r} and groups={groups!r}"
        )
    if groups is None:
        return (*(range(n_features) if penalty == "feature" else [0] * n_features), LOWEST)
    places = sorted(place for group in groups for place in group)
    if places != list(range(n_features)) or not all(len(group) for group in groups):
        raise ValueError(
            f"groups must name each of the {n_features} features once and be not empty, got "
            f"{groups!r}"
        )
    of = {place: number for number, group in enumerate(groups) for place in group}
    return (*(of[place] for place in range(n_features)), LOWEST)
