"""What a query is: a vector of the rows, a bound on what one record moves, and statistics."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.rashomon_set import ReleasedTrees
from rashomon_explorer.release.noise import Noise
from rashomon_explorer.release.statistic import Measured, Statistic
from rashomon_explorer.release.table import Public, Rows

Over = Literal["each", "mean", "largest", "least"]


@dataclass(frozen=True)
class Sensitivity:
    """Largest change of a query's vector when one record is replaced.

    Parameters
    ----------
    l1, l2 : float
        In the sum of sizes, and in Euclidean length.
    """

    l1: float
    l2: float

    @classmethod
    def of(cls, widths: ArrayLike) -> "Sensitivity":
        """Of a vector whose coordinates each change by at most their width.

        Examples
        --------
        >>> Sensitivity.of([3.0, 4.0])
        Sensitivity(l1=7.0, l2=5.0)
        """
        each = np.atleast_1d(np.asarray(widths, dtype=float))
        return cls(float(each.sum()), float(np.linalg.norm(each)))


class Query(ABC):
    """A question about private rows, with a proof in its docstring of what one record moves."""

    needs: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name by which its price, weight and definition are found."""

    @property
    @abstractmethod
    def definition(self) -> str:
        """What is measured, for those who read the release."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to hold beside the price, because the code cannot see it."""
        return ()

    def check(self, public: Public) -> None:
        """Refuse, before rows are read, what cannot be asked of these models.

        Raises
        ------
        ValueError
            If something is missing or does not suit the models.
        """
        given = {"y": public.has_targets, "groups": public.has_groups}
        for need in self.needs:
            if not given[need]:
                raise ValueError(f"{self.name} needs {need}=, one entry a row")

    @abstractmethod
    def sensitivity(self, public: Public) -> Sensitivity:
        """Bound on the change of :meth:`compute` between neighbours; public numbers alone."""

    @abstractmethod
    def compute(self, rows: Rows) -> FloatArray:
        """Return the exact vector.  Curator: not private."""

    @abstractmethod
    def statistics(self, noisy: FloatArray, noise: Noise, public: Public) -> tuple[Statistic, ...]:
        """Released numbers, from the noisy vector alone."""


def overall(values: FloatArray, over: Over) -> FloatArray:
    """Per-draw values (n_draws, …) as they are, or their mean, largest or least over draws."""
    return values if over == "each" else np.asarray(_OVER[over](values, axis=0))


def overall_widths(widths: FloatArray, over: Over) -> FloatArray:
    """Bound what one record moves of :func:`overall` by what it moves of each draw's value.

    A mean moves by the mean. An extreme of values that each move by at most w moves by at most
    max w: |max a − max b| ≤ max |a − b|. So extremes over draws cost no more than one draw.

    Examples
    --------
    >>> overall_widths(np.array([1.0, 3.0]), "largest").tolist()
    3.0
    """
    if over == "each":
        return widths
    return np.asarray(widths.mean(axis=0) if over == "mean" else widths.max(axis=0))


def over_names(name: str, over: Over, n_draws: int) -> list[str]:
    """Names of per-draw values, or of their summary.

    Examples
    --------
    >>> over_names("loss", "each", 2), over_names("loss", "least", 2)
    (['loss of draw 0', 'loss of draw 1'], ['least loss of the draws'])
    """
    if over == "each":
        return [f"{name} of draw {draw}" for draw in range(n_draws)]
    return [f"{over} {name} of the draws"]


def check_over(over: str) -> None:
    """Refuse an unknown summary over draws."""
    if over not in ("each", *_OVER):
        raise ValueError(f"over must be one of {['each', *_OVER]}, got {over!r}")


def check_task(query: Query, public: Public, task: str) -> None:
    """Refuse models of another task."""
    if public.models.task != task:
        raise ValueError(f"{query.name} needs models for {task}, got {public.models.task}")


def check_linear(query: Query, public: Public) -> None:
    """Refuse models without coefficients, such as trees."""
    if isinstance(public.models, ReleasedTrees):
        raise ValueError(f"{query.name} needs linear models, got trees: leave it out")


def check_draws(query: Query, public: Public, fewest: int) -> None:
    """Refuse too few models."""
    if public.n_draws < fewest:
        raise ValueError(f"{query.name} needs at least {fewest} draws, got {public.n_draws}")


def measured(
    names: Sequence[str],
    noisy: FloatArray,
    noise: Noise,
    ranges: tuple[ArrayLike, ArrayLike],
    n_mean: int = 0,
    note: str = "",
) -> tuple[Measured, ...]:
    """One :class:`Measured` a coordinate."""
    low, high = (np.broadcast_to(np.asarray(end, dtype=float), len(names)) for end in ranges)
    values = zip(names, noisy, low, high, strict=True)
    return tuple(
        Measured(name, float(value), noise, float(a), float(b), n_mean, note)
        for name, value, a, b in values
    )


_OVER: dict[str, Any] = {"mean": np.mean, "largest": np.max, "least": np.min}
