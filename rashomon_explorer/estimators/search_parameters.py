"""What a search of penalties declares, and what it buys before a row is read."""

import os
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags, Tags

from rashomon_explorer.constants import row_bound
from rashomon_explorer.estimators.classifier import RashomonClassifier
from rashomon_explorer.estimators.declared_budget import (
    DELTA,
    EPSILON,
    N_DRAWS,
    check_budget,
)
from rashomon_explorer.estimators.looking import LooksThrough
from rashomon_explorer.estimators.refitting import refit_plan
from rashomon_explorer.estimators.regressor import RashomonRegressor
from rashomon_explorer.planning.warn_weak import warn_of_large_delta
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.schema import TableSchema
from rashomon_explorer.shapes import accepts_table
from rashomon_explorer.sklearn_compat import Interval, StrOptions
from rashomon_explorer.tuning import (
    MARGINS,
    PenaltyBox,
    PenaltyConstants,
    StationaryPlan,
    TuningPlan,
    column_groups,
    validation_rows,
)
from rashomon_explorer.tuning.mechanisms import NAMES, Offered, offered, plan_mechanism
from rashomon_explorer.tuning.told import warn_if_nearly_uniform

_OF_THE_BUDGET = ("epsilon", "delta", "n_draws", "psi", "spacing")
_USUAL_CLIP = {"ridge": 1.0, "logistic": 4.0}


class SearchParameters(BaseEstimator, LooksThrough):
    """The parameters of a search of penalties, and its plan."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [StrOptions({*MARGINS})],
        "penalty": [StrOptions({"scalar", "group", "feature"})],
        "groups": ["array-like", None],
        "bounds": ["array-like", None],
        "spacing": [Interval(Real, 1, None, closed="neither"), None],
        "val_fraction": [Interval(Real, 0, 1, closed="neither")],
        "margin_bound": [Interval(Real, 0, None, closed="neither"), None],
        "epsilon": [EPSILON],
        "delta": [DELTA],
        "n_draws": [N_DRAWS],
        "psi": [Interval(Real, 0, None, closed="left")],
        "mechanism": [StrOptions({"auto", *NAMES})],
        "refit": [StrOptions({"dp"}), None],
        "refit_share": [Interval(Real, 0, 1, closed="neither")],
        "row_norm": [Interval(Real, 0, None, closed="neither")],
        "target_bounds": ["array-like"],
        "classes": ["array-like", None],
        "schema": [TableSchema, str, os.PathLike, None],
        "ledger": [str, os.PathLike, Ledger, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: str = "ridge",
        *,
        penalty: str = "scalar",
        groups: Sequence[Sequence[int]] | None = None,
        bounds: tuple[float, float] | None = None,
        spacing: float | None = None,
        val_fraction: float = 0.3,
        margin_bound: float | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        n_draws: int = 1,
        psi: float = 0.0,
        mechanism: str = "auto",
        refit: str | None = "dp",
        refit_share: float = 0.5,
        row_norm: float = 1.0,
        target_bounds: tuple[float, float] = (-1.0, 1.0),
        classes: ArrayLike | None = None,
        schema: TableSchema | str | os.PathLike[str] | None = None,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.penalty = penalty
        self.groups = groups
        self.bounds = bounds
        self.spacing = spacing
        self.val_fraction = val_fraction
        self.margin_bound = margin_bound
        self.epsilon = epsilon
        self.delta = delta
        self.n_draws = n_draws
        self.psi = psi
        self.mechanism = mechanism
        self.refit = refit
        self.refit_share = refit_share
        self.row_norm = row_norm
        self.target_bounds = target_bounds
        self.classes = classes
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    @accepts_table
    def plan(self, n_samples: int, n_features: int | None = None) -> TuningPlan | StationaryPlan:
        """Plan what the budget buys on so many rows; reads none and costs nothing.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or in their place the table, which is not read. A schema
            knows how many columns it becomes.

        Returns
        -------
        TuningPlan or StationaryPlan
            Temperature, price, promised excess, and whether the draw may be nearly uniform.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        SamplerError
            If a mechanism does not apply or promises nothing, or no way to refit applies.

        Warns
        -----
        WeakGuaranteeWarning
            If the draw may be nearly uniform; with what would not.
        """
        planned = self._planned(n_samples, self._columns(n_features))
        warn_if_nearly_uniform(planned)
        return planned

    def constants(self, n_samples: int) -> PenaltyConstants:
        """Public constants of the search on so many rows; reads none.

        Parameters
        ----------
        n_samples : int
            Number of rows of both sides.

        Returns
        -------
        PenaltyConstants
            What one record can do to the validation loss, and to its gradient.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        held_out = int(validation_rows(n_samples, self.val_fraction).sum())
        whole = row_bound(self.row_norm, intercept=True)
        sides = n_samples - held_out, held_out
        return PenaltyConstants(self.estimator, whole, *self._bounds(), *sides, self._clip)

    def __sklearn_tags__(self) -> Tags:
        """By what is refitted a regressor or a classifier of two classes."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.refit is None:
            tags.estimator_type = None  # it predicts nothing
        elif self.estimator == "logistic":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(poor_score=True, multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags(poor_score=True)
        tags.input_tags.string = tags.input_tags.categorical = self.schema is not None
        tags.input_tags.allow_nan = self.schema is not None
        return tags

    @property
    def _declared(self) -> TableSchema | None:
        return None if self.schema is None else TableSchema.of(self.schema)

    @property
    def _clip(self) -> float:
        return _USUAL_CLIP[self.estimator] if self.margin_bound is None else self.margin_bound

    def mechanisms(self, n_samples: int, n_features: int | None = None) -> tuple[Offered, ...]:
        """Tell what every mechanism promises of so many rows, or why it does not apply; reads none.

        Parameters
        ----------
        n_samples, n_features : int
            As of :meth:`plan`.

        Returns
        -------
        tuple of Offered
            Expected excess of the validation loss, or size of its gradient, at most.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        known, box, asked = self._asked(n_samples, self._columns(n_features))
        return offered(known, box.d, **asked)

    def _columns(self, n_features: int | None) -> int:
        if self._declared is not None:
            return len(self._declared.encoded_names)
        if n_features is None:
            raise ValueError("n_features must be given where there is no schema")
        return n_features

    def _planned(self, n_samples: int, n_features: int) -> TuningPlan | StationaryPlan:
        known, box, asked = self._asked(n_samples, n_features)
        warn_of_large_delta(self.delta, n_samples)
        return plan_mechanism(known, box.d, mechanism=self.mechanism, **asked)

    def _asked(
        self, n_samples: int, n_features: int
    ) -> tuple[PenaltyConstants, PenaltyBox, dict[str, Any]]:
        """Constants, penalties and budget that every mechanism is planned from."""
        check_budget(self)
        known, box = self.constants(n_samples), self._box(n_features)
        refit = None
        if self.refit is not None:
            share = self.epsilon * self.refit_share
            refit = refit_plan(known, n_features + 1, self.row_norm, share, self.delta)
        asked = {name: getattr(self, name) for name in _OF_THE_BUDGET}
        return known, box, {**asked, "refit": refit, "ledger": self.ledger is not None}

    def _box(self, n_features: int) -> PenaltyBox:
        return PenaltyBox(column_groups(self.penalty, n_features, self.groups), *self._bounds())

    def _bounds(self) -> tuple[float, float]:
        if self.bounds is None:
            raise ValueError(
                "bounds of the penalties are missing: declare bounds=(low, high), as penalties of "
                "the mean loss (scikit-learn's alpha is n times that). They are public and never "
                "learnt from the rows, and the price rests on the lowest"
            )
        bounds = np.asarray(self.bounds, dtype=float)
        if bounds.shape != (2,):
            raise ValueError(f"bounds must be (low, high), got {self.bounds!r}")
        return float(bounds[0]), float(bounds[1])

    def _names(self, features: Sequence[str]) -> tuple[str, ...]:
        if self.penalty == "scalar":
            return ("penalty",)
        if self.groups is None:
            return tuple(features)
        return tuple("+".join(features[place] for place in group) for group in self.groups)

    def _labels_and_bounds(self) -> RashomonClassifier | RashomonRegressor:
        """Whoever knows what targets are: classes, or bounds that they are mapped from."""
        known: dict[str, Any] = {"schema": self.schema, "ledger": self.ledger}
        if self.estimator == "logistic":
            return RashomonClassifier(classes=self.classes, **known)
        return RashomonRegressor(target_bounds=self.target_bounds, **known)
