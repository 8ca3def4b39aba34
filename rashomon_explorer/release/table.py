"""What a query may know before rows are read, and the rows that it reads afterwards."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.evaluation import LinearTask, checked_rows
from rashomon_explorer.measures.reliance.model_reliance import original_loss
from rashomon_explorer.rashomon_set import ReleasedSet, ReleasedTrees

Codes = NDArray[np.intp]
Baseline = int | tuple[float, ...]
Paid = ReleasedSet | ReleasedTrees


@dataclass(frozen=True, eq=False)
class Public:
    """All that sensitivities may depend on."""

    models: Paid  # draws that are paid for, hence public
    n_rows: int  # number of private rows; public under replace-one adjacency
    # has_targets, has_groups: whether targets and groups are given
    has_targets: bool = False
    has_groups: bool = False
    categories: tuple[Any, ...] = ()  # groups that are told apart, declared and not learnt

    @property
    def n_draws(self) -> int:
        """Number of models."""
        return self.models.n_draws

    @property
    def linear(self) -> ReleasedSet:
        """The draws, where they have coefficients."""
        if isinstance(self.models, ReleasedTrees):
            raise ValueError("trees have no coefficients: leave out queries that are about them")
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
        """Largest |x·w + b| (n_draws,) over rows of the allowed norm, for models of one score."""
        slopes, intercepts = self.split
        norms = np.linalg.norm(slopes[:, 0], axis=1)
        return np.asarray(self.linear.row_norm * norms + np.abs(intercepts[:, 0]))

    def apart(self, other: int) -> FloatArray:
        """Largest difference (n_draws,) of a linear score from that of another model.

        |x·(w − w') + b − b'| ≤ B‖w − w'‖ + |b − b'|, attained by some row. One score only.
        """
        slopes, intercepts = self.split
        norms = np.linalg.norm(slopes[:, 0] - slopes[other, 0], axis=1)
        gaps = np.abs(intercepts[:, 0] - intercepts[other, 0])
        return np.asarray(self.linear.row_norm * norms + gaps)

    def widest(self) -> float:
        """Largest difference of linear scores between any two models."""
        return float(max(self.apart(other).max() for other in range(self.n_draws)))


@dataclass(frozen=True, eq=False)
class Rows:
    """Private rows as the queries read them.  Curator: not private."""

    public: Public
    X: FloatArray  # (n_rows, n_features)
    # (n_rows,): targets as given, those of a regression clipped to the declared bounds
    y: NDArray[Any] | None
    # (n_rows,): place of each row's group among the categories, −1 for any other
    groups: Codes | None

    @classmethod
    def read(
        cls, public: Public, X: ArrayLike, y: ArrayLike | None, groups: ArrayLike | None
    ) -> "Rows":
        """Read the rows, one by one bounded as the models' are."""
        rows = np.asarray(X, dtype=float)
        if not np.isfinite(rows).all():
            raise ValueError("X holds NaN or infinity: remove or impute such rows first")
        targets = None if y is None else np.asarray(y)
        if targets is not None:
            checked_rows(public.models, rows, targets)
            if public.models.task == "regression":
                targets = np.clip(targets.astype(float), *public.linear.target_bounds)
        codes = None if groups is None else _codes(groups, public.categories)
        return cls(public, rows, targets, codes)

    @classmethod
    def nobodys(cls, public: Public) -> "Rows":
        """As many rows of zeros, of one class and no group, made of public numbers alone."""
        models, n = public.models, public.n_rows
        regression = models.task == "regression"
        target = public.linear.target_bounds[0] if regression else [*models.classes, 0][0]
        targets = np.full(n, target) if public.has_targets else None
        codes = np.full(n, -1, dtype=np.intp) if public.has_groups else None
        return cls(public, np.zeros((n, len(public.columns))), targets, codes)

    @property
    def models(self) -> Paid:
        """Draws."""
        return self.public.models

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Labels (n_draws, n_rows) by every model."""
        return self.models.labels(self.X)

    @cached_property
    def scores(self) -> FloatArray:
        """Predictions (n_draws, n_rows[, n_classes]) by every model."""
        return self.models.scores(self.X)

    @property
    def codes(self) -> FloatArray:
        """Codes 0, 1, … (n_rows,) of the targets' classes."""
        return checked_rows(self.models, self.X, self._targets)[1]

    def task(self, loss: str | None = None) -> LinearTask:
        """Rows and targets in the units of a loss."""
        return LinearTask.of(self.public.linear, self.X, self._targets, loss)

    def mean_losses(self) -> FloatArray:
        """Mean loss (n_draws,) of every model; of trees the share of wrong labels."""
        if isinstance(self.models, ReleasedTrees):
            return np.asarray((self.labels != self.codes).mean(axis=1))
        return original_loss(self.task())

    def reference(self, baseline: Baseline) -> int | NDArray[Any]:
        """Labels (n_rows,) of a public model, or the place of a draw."""
        if isinstance(baseline, tuple):
            return one_model(self.public.linear, baseline).labels(self.X)[0]
        return baseline

    @property
    def _targets(self) -> NDArray[Any]:
        if self.y is None:
            raise ValueError("this query needs y")
        return self.y


def one_model(models: ReleasedSet, coef: tuple[float, ...]) -> ReleasedSet:
    """Set of one public model in the place of the draws."""
    if len(coef) != models.coef.shape[1]:
        raise ValueError(
            f"baseline must be the place of a draw or {models.coef.shape[1]} coefficients, the "
            f"intercept last, got {len(coef)}"
        )
    return replace(models, coef=np.array([coef], dtype=float))


def _codes(groups: ArrayLike, categories: tuple[Any, ...]) -> Codes:
    values = np.asarray(groups, dtype=object)
    codes = np.full(len(values), -1, dtype=np.intp)
    for place, category in enumerate(categories):
        codes[np.array([value == category for value in values], dtype=bool)] = place
    return codes
