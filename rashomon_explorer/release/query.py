"""Queries, and the rows and public numbers that they use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import Delegated, FloatArray, likeliest, scale_targets
from rashomon_explorer.measures.reliance.set_reliance import LinearTask, checked_rows, original_loss
from rashomon_explorer.networks.sets import AnyRelease, ReleasedNetworks
from rashomon_explorer.release import statistic
from rashomon_explorer.release.statistic import Noise
from rashomon_explorer.sets import ReleasedSet, ReleasedTrees

CONFIDENCE = 0.95
"""Confidence of the intervals by which an answer is judged to be hidden."""

_MARGIN = 4  # an interval of a quarter of the range shows something

Codes = NDArray[np.intp]
Baseline = int | tuple[float, ...]
NETWORK = "network"
"""Link of differentiable models: their scores have no bound that follows from coefficients."""


@dataclass(frozen=True, eq=False)
class PublicShape:
    """Public numbers, the only input of sensitivities."""

    models: AnyRelease  # private draws, hence public
    n_rows: int  # number of private rows; public under replace-one adjacency
    # has_targets, has_groups: whether targets and groups are given
    has_targets: bool = False
    has_groups: bool = False
    categories: tuple[Any, ...] = ()  # declared groups, independent of the rows

    n_draws = Delegated[int]("models.n_draws", "Number of models.")

    @property
    def linear(self) -> ReleasedSet:
        """Return the draws; raise an error if they have no coefficients."""
        if not isinstance(self.models, ReleasedSet):
            raise ValueError(f"{self.kind} have no coefficients: omit queries about coefficients")
        return self.models

    @property
    def kind(self) -> str:
        """Kind of models without coefficients."""
        return "trees" if isinstance(self.models, ReleasedTrees) else "networks"

    @property
    def link(self) -> str:
        """Link from scores to predictions, which decides how far a record moves them."""
        return NETWORK if isinstance(self.models, ReleasedNetworks) else self.models.link

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

    def max_abs_score(self) -> FloatArray:
        """Largest |x·w + b| (n_draws,) over rows of the allowed norm, for models with one score."""
        slopes, intercepts = self.split
        norms = np.linalg.norm(slopes[:, 0], axis=1)
        return np.asarray(self.linear.row_norm * norms + np.abs(intercepts[:, 0]))

    def max_score_difference(self, draw: int) -> FloatArray:
        """Largest difference (n_draws,) between the linear scores of the draws and one draw."""
        slopes, intercepts = self.split
        norms = np.linalg.norm(slopes[:, 0] - slopes[draw, 0], axis=1)
        gaps = np.abs(intercepts[:, 0] - intercepts[draw, 0])
        return np.asarray(self.linear.row_norm * norms + gaps)

    def largest_pairwise_difference(self) -> float:
        """Largest difference between the linear scores of any two draws."""
        return float(max(self.max_score_difference(draw).max() for draw in range(self.n_draws)))


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
                targets = np.clip(targets.astype(float), *public.models.target_bounds)
        codes = None if groups is None else _codes(groups, public.categories)
        return cls(public, rows, targets, codes)

    @classmethod
    def zeros(cls, public: PublicShape) -> Rows:
        """Create the same number of rows of zeros, with one class and no group."""
        models, n = public.models, public.n_rows
        regression = models.task == "regression"
        target = public.models.target_bounds[0] if regression else [*models.classes, 0][0]
        targets = np.full(n, target) if public.has_targets else None
        codes = np.full(n, -1, dtype=np.intp) if public.has_groups else None
        return cls(public, np.zeros((n, len(public.columns))), targets, codes)

    models = Delegated[AnyRelease]("public.models", "Models that were drawn.")

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Labels (n_draws, n_rows) of every model."""
        if isinstance(self.models, ReleasedNetworks):
            return likeliest(self.scores)
        return self.models.labels(self.X)

    @cached_property
    def scores(self) -> FloatArray:
        """Predictions (n_draws, n_rows[, n_classes]) of every model; those of networks bounded."""
        if isinstance(self.models, ReleasedNetworks):
            return self.models.bounded_scores(self.X)
        return self.models.scores(self.X)

    @property
    def codes(self) -> FloatArray:
        """Codes 0, 1, … (n_rows,) of the targets' classes."""
        return checked_rows(self.models, self.X, self._targets)[1]

    def task(self) -> LinearTask:
        """Rows and targets in the units of the models' loss."""
        return LinearTask.from_models(self.public.linear, self.X, self._targets)

    def mean_losses(self) -> FloatArray:
        """Mean loss (n_draws,) of every model; for trees the share of wrong labels."""
        if isinstance(self.models, ReleasedNetworks):
            targets = self.codes
            if self.models.task == "regression":
                targets = scale_targets(targets, self.models.target_bounds)
            return self.models.clipped_losses(self.X, targets)
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
    for code, category in enumerate(categories):
        codes[np.array([value == category for value in values], dtype=bool)] = code
    return codes


Over = Literal["each", "mean", "largest", "least"]


@dataclass(frozen=True)
class Sensitivity:
    """Largest change of a query's vector when one record is replaced.

    Parameters
    ----------
    l1, l2 : float
        Changes in the ℓ₁ norm and in the ℓ₂ norm.

    Examples
    --------
    >>> Sensitivity(l1=2.0, l2=1.0)
    Sensitivity(l1=2.0, l2=1.0)
    """

    l1: float
    l2: float

    @classmethod
    def from_widths(cls, widths: ArrayLike) -> Sensitivity:
        """Sensitivity of a vector whose coordinates each change by at most their width."""
        each = np.atleast_1d(np.asarray(widths, dtype=float))
        return cls(float(each.sum()), float(np.linalg.norm(each)))


AddNoise = Callable[[FloatArray, Sensitivity], FloatArray]
"""Noise of a query's scale on a vector of this sensitivity."""


class Coordinates(NamedTuple):
    """Names and ranges of the coordinates of a query, and a remark on how to read them."""

    names: list[str]
    low: ArrayLike = 0.0
    high: ArrayLike = 1.0
    n_mean: int = 0  # number of rows if each coordinate is a mean of terms in its range
    note: str = ""


class Query(ABC):
    """Query on private rows: a vector that one record moves by a bounded amount.

    A subclass computes the vector and declares its coordinates: their names, their ranges, and the
    bounds on their change, which its docstring proves.

    Examples
    --------
    >>> from rashomon_explorer.release import Losses
    >>> issubclass(Losses, Query), Losses(over="mean").name
    (True, 'mean_loss')
    """

    needs: ClassVar[tuple[str, ...]] = ()
    """Columns that the query reads besides the features: "y", "groups"."""
    task: ClassVar[str] = ""
    """The only task of models to which the query applies; empty for all."""
    fewest_draws: ClassVar[int] = 1
    linear_only: ClassVar[bool] = False
    noise_kind: ClassVar[str] = ""
    """The only kind of its noise; empty for the one that belongs to the budget."""

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
        columns = {"y": public.has_targets, "groups": public.has_groups}
        for need in self.needs:
            if not columns[need]:
                raise ValueError(f"{self.name} needs {need}=, one entry per row")
        if self.linear_only and not isinstance(public.models, ReleasedSet):
            raise ValueError(f"{self.name} needs linear models, got {public.kind}: omit it")
        if self.task:
            self.check_task(public, self.task)
        self.check_draws(public, self.fewest_draws)

    def check_task(self, public: PublicShape, task: str) -> None:
        """Raise an error for models of another task."""
        if public.models.task != task:
            raise ValueError(f"{self.name} needs models for {task}, got {public.models.task}")

    def check_draws(self, public: PublicShape, fewest: int) -> None:
        """Raise an error if there are too few models."""
        if public.n_draws < fewest:
            raise ValueError(f"{self.name} needs at least {fewest} draws, got {public.n_draws}")

    def widths(self, public: PublicShape) -> FloatArray:
        """Bound on the change of each coordinate when one record is replaced."""
        raise NotImplementedError

    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """Bound on the change of :meth:`compute` between neighbours, from public numbers only."""
        return Sensitivity.from_widths(self.widths(public))

    @abstractmethod
    def compute(self, rows: Rows) -> FloatArray:
        """Return the exact vector.  Curator: not private."""

    def coordinates(self, public: PublicShape) -> Coordinates:
        """Names and ranges of the coordinates."""
        return Coordinates([self.name], n_mean=public.n_rows)

    def check_noise(self, public: PublicShape, noise: Any) -> None:  # noqa: B027  # an option
        """Raise an error, before rows are read, if the planned noise does not suit the query."""

    def hidden(self, public: PublicShape, noise: Any) -> str:
        """Reason why the planned noise hides answers, whatever the rows say; empty if it does not.

        It hides a number if an interval around the middle of its range contains the whole range.
        """
        names, low, high, *_ = self.coordinates(public)
        lengths = np.asarray(high, dtype=float) - np.asarray(low, dtype=float)
        return hidden_numbers(np.broadcast_to(lengths, len(names)), noise)

    def noisy(self, rows: Rows, noise: Any, add_noise: AddNoise) -> FloatArray:
        """Return the vector with noise; a subclass may choose a later part by an earlier one."""
        sensitivity = self.sensitivity(rows.public)
        if sensitivity.l1 == 0:  # without noise, the last bits must not depend on the rows either
            rows = Rows.zeros(rows.public)
        return add_noise(self.compute(rows), sensitivity)

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[statistic.Statistic, ...]:
        """Released numbers, computed only from the noisy vector."""
        names, *ends, n_mean, note = self.coordinates(public)
        low, high = (np.broadcast_to(np.asarray(end, dtype=float), len(names)) for end in ends)
        return tuple(
            statistic.Measured(name, float(value), noise, float(a), float(b), n_mean, note)
            for name, value, a, b in zip(names, noisy, low, high, strict=True)
        )


def hidden_numbers(lengths: FloatArray, noise: Any) -> str:
    """Words for how many numbers with ranges of these lengths (n,) the noise hides, if any."""
    half = noise.quantile(CONFIDENCE)
    n_hidden = int((2 * half >= lengths).sum())
    if not n_hidden or noise.scale == 0:
        return ""
    shortest = float(lengths.min())
    times = _MARGIN * 2 * half / shortest
    return (
        f"{n_hidden} of {len(lengths)} numbers: it is ± {half:.2g}, and their range is "
        f"{shortest:.2g}. "
        f"About {times:.0f} times as many rows or as much budget would show something"
    )


_OVER: dict[str, Any] = {"mean": np.mean, "largest": np.max, "least": np.min}


@dataclass(frozen=True)
class DrawsQuery(Query):
    """Query with values of each draw, or their mean (mean width), largest or least (max width)."""

    over: Over = "each"
    singular: ClassVar[str] = ""
    plural: ClassVar[str] = ""

    @property
    def name(self) -> str:
        return self.plural if self.over == "each" else f"{self.over}_{self.singular}"

    @property
    def quantity(self) -> str:
        """Definition of the value of one draw."""
        raise NotImplementedError

    @property
    def definition(self) -> str:
        which = "for each draw," if self.over == "each" else f"{self.over} over the draws of"
        return f"{which} {self.quantity}"

    def check(self, public: PublicShape) -> None:
        super().check(public)
        if self.over not in ("each", *_OVER):
            raise ValueError(f"over must be one of {['each', *_OVER]}, got {self.over!r}")

    @abstractmethod
    def draw_widths(self, public: PublicShape) -> FloatArray:
        """Bound (n_draws, …) on the change of the values of each draw."""

    @abstractmethod
    def draw_values(self, rows: Rows) -> FloatArray:
        """Return the values (n_draws, …) of each draw.  Curator: not private."""

    def draw_ranges(self, public: PublicShape) -> tuple[FloatArray, FloatArray, str]:
        """Least and largest possible value (n_draws,) of each draw, and their unit."""
        return np.zeros(public.n_draws), np.ones(public.n_draws), ""

    def widths(self, public: PublicShape) -> FloatArray:
        return self._summary_widths(self.draw_widths(public))

    def compute(self, rows: Rows) -> FloatArray:
        return self._summary(self.draw_values(rows))

    def coordinates(self, public: PublicShape) -> Coordinates:
        names = [f"{self.over} {self.singular} of the draws"]
        if self.over == "each":
            names = [f"{self.singular} of draw {draw}" for draw in range(public.n_draws)]
        low, high, note = self.draw_ranges(public)
        n_mean = public.n_rows if self.over in ("each", "mean") else 0
        return Coordinates(names, self._summary(low), self._summary(high), n_mean, note)

    def _summary(self, values: FloatArray) -> FloatArray:
        return np.ravel(values if self.over == "each" else _OVER[self.over](values, axis=0))

    def _summary_widths(self, widths: FloatArray) -> FloatArray:
        if self.over == "each":
            return widths.ravel()
        return np.ravel(widths.mean(axis=0) if self.over == "mean" else widths.max(axis=0))
