"""Queries, and the rows and public numbers that they use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import LinearTask, checked_rows
from rashomon_explorer.measures.reliance.set_reliance import original_loss
from rashomon_explorer.release.noise import Noise
from rashomon_explorer.release.statistic import Measured, Statistic
from rashomon_explorer.sets import ReleasedSet, ReleasedTrees

Codes = NDArray[np.intp]
Baseline = int | tuple[float, ...]
Paid = ReleasedSet | ReleasedTrees


@dataclass(frozen=True, eq=False)
class PublicShape:
    """Public numbers, the only input of sensitivities."""

    models: Paid  # private draws, hence public
    n_rows: int  # number of private rows; public under replace-one adjacency
    # has_targets, has_groups: whether targets and groups are given
    has_targets: bool = False
    has_groups: bool = False
    categories: tuple[Any, ...] = ()  # declared groups, independent of the rows

    @property
    def n_draws(self) -> int:
        """Number of models."""
        return self.models.n_draws

    @property
    def linear(self) -> ReleasedSet:
        """Return the draws; raise an error if they have no coefficients."""
        if isinstance(self.models, ReleasedTrees):
            raise ValueError("trees have no coefficients: omit queries about coefficients")
        return self.models

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the features."""
        if isinstance(self.models, ReleasedTrees):
            return self.models.models.feature_names
        return tuple(self.models.feature_names[:-1])

    @cached_property
    def split(self) -> tuple[FloatArray, FloatArray]:
        """Slopes (n_draws, outputs, n_features) and intercepts (n_draws, outputs)."""
        models = self.linear
        each = models.coef.reshape(models.n_draws, models.outputs, -1)
        return each[..., :-1], each[..., -1]

    def reach(self) -> FloatArray:
        """Largest |x·w + b| (n_draws,) over rows of the allowed norm, for models with one score."""
        slopes, intercepts = self.split
        norms = np.linalg.norm(slopes[:, 0], axis=1)
        return np.asarray(self.linear.row_norm * norms + np.abs(intercepts[:, 0]))

    def apart(self, other: int) -> FloatArray:
        """Largest difference (n_draws,) between the linear scores of the draws and a model."""
        slopes, intercepts = self.split
        norms = np.linalg.norm(slopes[:, 0] - slopes[other, 0], axis=1)
        gaps = np.abs(intercepts[:, 0] - intercepts[other, 0])
        return np.asarray(self.linear.row_norm * norms + gaps)

    def widest(self) -> float:
        """Largest difference between the linear scores of any two models."""
        return float(max(self.apart(other).max() for other in range(self.n_draws)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Private rows in the form that queries need.  Curator: not private."""

    public: PublicShape
    X: FloatArray  # (n_rows, n_features)
    # (n_rows,): targets as given, those of a regression clipped to the declared bounds
    y: NDArray[Any] | None
    # (n_rows,): index of each row's group among the categories, −1 for other groups
    groups: Codes | None

    @classmethod
    def read(
        cls, public: PublicShape, X: ArrayLike, y: ArrayLike | None, groups: ArrayLike | None
    ) -> Rows:
        """Read the rows, and clip each one as the models do."""
        rows = np.asarray(X, dtype=float)
        if not np.isfinite(rows).all():
            raise ValueError("X contains NaN or infinity: remove or impute such rows first")
        targets = None if y is None else np.asarray(y)
        if targets is not None:
            checked_rows(public.models, rows, targets)
            if public.models.task == "regression":
                targets = np.clip(targets.astype(float), *public.linear.target_bounds)
        codes = None if groups is None else _codes(groups, public.categories)
        return cls(public, rows, targets, codes)

    @classmethod
    def nobodys(cls, public: PublicShape) -> Rows:
        """Create the same number of rows of zeros, with one class and no group."""
        models, n = public.models, public.n_rows
        regression = models.task == "regression"
        target = public.linear.target_bounds[0] if regression else [*models.classes, 0][0]
        targets = np.full(n, target) if public.has_targets else None
        codes = np.full(n, -1, dtype=np.intp) if public.has_groups else None
        return cls(public, np.zeros((n, len(public.columns))), targets, codes)

    @property
    def models(self) -> Paid:
        """Models that were drawn."""
        return self.public.models

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Labels (n_draws, n_rows) of every model."""
        return self.models.labels(self.X)

    @cached_property
    def scores(self) -> FloatArray:
        """Predictions (n_draws, n_rows[, n_classes]) of every model."""
        return self.models.scores(self.X)

    @property
    def codes(self) -> FloatArray:
        """Codes 0, 1, … (n_rows,) of the targets' classes."""
        return checked_rows(self.models, self.X, self._targets)[1]

    def task(self, loss: str | None = None) -> LinearTask:
        """Rows and targets in the units of a loss."""
        return LinearTask.of(self.public.linear, self.X, self._targets, loss)

    def mean_losses(self) -> FloatArray:
        """Mean loss (n_draws,) of every model; for trees the share of wrong labels."""
        if isinstance(self.models, ReleasedTrees):
            return np.asarray((self.labels != self.codes).mean(axis=1))
        return original_loss(self.task())

    def reference(self, baseline: Baseline) -> int | NDArray[Any]:
        """Labels (n_rows,) of a public model, or the index of a draw."""
        if isinstance(baseline, tuple):
            return one_model(self.public.linear, baseline).labels(self.X)[0]
        return baseline

    @property
    def _targets(self) -> NDArray[Any]:
        if self.y is None:
            raise ValueError("this query needs y")
        return self.y


def one_model(models: ReleasedSet, coef: tuple[float, ...]) -> ReleasedSet:
    """Set that contains one public model, used as the draws."""
    if len(coef) != models.coef.shape[1]:
        raise ValueError(
            f"baseline must be the index of a draw or {models.coef.shape[1]} coefficients, the "
            f"intercept last, got {len(coef)}"
        )
    return replace(models, coef=np.array([coef], dtype=float))


def _codes(groups: ArrayLike, categories: tuple[Any, ...]) -> Codes:
    values = np.asarray(groups, dtype=object)
    codes = np.full(len(values), -1, dtype=np.intp)
    for place, category in enumerate(categories):
        codes[np.array([value == category for value in values], dtype=bool)] = place
    return codes


Over = Literal["each", "mean", "largest", "least"]


@dataclass(frozen=True)
class Sensitivity:
    """Largest change of a query's vector when one record is replaced.

    Parameters
    ----------
    l1, l2 : float
        Changes in the ℓ₁ norm and in the ℓ₂ norm.
    """

    l1: float
    l2: float

    @classmethod
    def of(cls, widths: ArrayLike) -> Sensitivity:
        """Sensitivity of a vector whose coordinates each change by at most their width.

        Examples
        --------
        >>> Sensitivity.of([3.0, 4.0])
        Sensitivity(l1=7.0, l2=5.0)
        """
        each = np.atleast_1d(np.asarray(widths, dtype=float))
        return cls(float(each.sum()), float(np.linalg.norm(each)))


class Query(ABC):
    """Query on private rows; the docstring of each query proves its sensitivity."""

    needs: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the query in plans, weights and tables."""

    @property
    @abstractmethod
    def definition(self) -> str:
        """Definition of the statistic, for readers of the release."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions of the guarantee that the code cannot check."""
        return ()

    def check(self, public: PublicShape) -> None:
        """Raise an error, before rows are read, if the query does not apply to the models.

        Raises
        ------
        ValueError
            If something is missing or does not fit the models.
        """
        given = {"y": public.has_targets, "groups": public.has_groups}
        for need in self.needs:
            if not given[need]:
                raise ValueError(f"{self.name} needs {need}=, one entry per row")

    @abstractmethod
    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """Bound on the change of :meth:`compute` between neighbours, from public numbers only."""

    @abstractmethod
    def compute(self, rows: Rows) -> FloatArray:
        """Return the exact vector.  Curator: not private."""

    @abstractmethod
    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[Statistic, ...]:
        """Released numbers, computed only from the noisy vector."""


def overall(values: FloatArray, over: Over) -> FloatArray:
    """Values per draw (n_draws, …) unchanged, or their mean, largest or least over draws."""
    return values if over == "each" else np.asarray(_OVER[over](values, axis=0))


def overall_widths(widths: FloatArray, over: Over) -> FloatArray:
    """Bound on the sensitivity of :func:`overall` from the sensitivity of each draw's value."""
    if over == "each":
        return widths
    return np.asarray(widths.mean(axis=0) if over == "mean" else widths.max(axis=0))


def over_names(name: str, over: Over, n_draws: int) -> list[str]:
    """Names of the values per draw, or of their summary."""
    if over == "each":
        return [f"{name} of draw {draw}" for draw in range(n_draws)]
    return [f"{over} {name} of the draws"]


def check_over(over: str) -> None:
    """Raise an error for an unknown summary over draws."""
    if over not in ("each", *_OVER):
        raise ValueError(f"over must be one of {['each', *_OVER]}, got {over!r}")


def check_task(query: Query, public: PublicShape, task: str) -> None:
    """Raise an error for models of another task."""
    if public.models.task != task:
        raise ValueError(f"{query.name} needs models for {task}, got {public.models.task}")


def check_linear(query: Query, public: PublicShape) -> None:
    """Raise an error for models without coefficients, such as trees."""
    if isinstance(public.models, ReleasedTrees):
        raise ValueError(f"{query.name} needs linear models, got trees: omit it")


def check_draws(query: Query, public: PublicShape, fewest: int) -> None:
    """Raise an error if there are too few models."""
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
    """One :class:`Measured` per coordinate."""
    low, high = (np.broadcast_to(np.asarray(end, dtype=float), len(names)) for end in ranges)
    values = zip(names, noisy, low, high, strict=True)
    return tuple(
        Measured(name, float(value), noise, float(a), float(b), n_mean, note)
        for name, value, a, b in values
    )


_OVER: dict[str, Any] = {"mean": np.mean, "largest": np.max, "least": np.min}
