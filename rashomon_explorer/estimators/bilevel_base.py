"""Parameters and refits of DPBilevelSearch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer._utils.arrays import NUMPY, FloatArray
from rashomon_explorer._utils.containers import check_readable, host_values
from rashomon_explorer._utils.sklearn_compat import Interval, StrOptions
from rashomon_explorer._utils.validation import accepts_table
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.estimators.base import CheckRowsMixin
from rashomon_explorer.estimators.classifier import RashomonClassifier
from rashomon_explorer.estimators.feasibility import DELTA, EPSILON, N_DRAWS, check_budget
from rashomon_explorer.estimators.regressor import RashomonRegressor
from rashomon_explorer.estimators.selection import select_mechanism
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties import PenaltyConstants
from rashomon_explorer.mechanisms.penalties.landscape import PenaltyBox, column_groups
from rashomon_explorer.mechanisms.penalties.losses import MARGINS
from rashomon_explorer.mechanisms.penalties.mechanisms import (
    NAMES,
    Offered,
    offered,
    plan_mechanism,
    warn_if_nearly_uniform,
)
from rashomon_explorer.mechanisms.penalties.penalty_set import validation_rows
from rashomon_explorer.mechanisms.penalties.plan import TuningPlan
from rashomon_explorer.mechanisms.penalties.stationary import StationaryPlan
from rashomon_explorer.mechanisms.planning.offers import ZCDP
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.suggestions import warn_large_delta
from rashomon_explorer.mechanisms.samplers.base import collect
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.problem.constants import row_bound
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets.sklearn_models import EncodedCoefficients


def refit_plan(
    known: PenaltyConstants, p: int, row_norm: float, epsilon: float, delta: float
) -> Plan:
    """Plan of one model by the mechanism with the lowest expected loss."""
    try:
        return select_mechanism(
            n=known.n_train + known.n_val,
            p=p,
            psi=0.0,
            loss=known.loss.name,
            radius=known.fit_norm,
            row_norm=row_bound(row_norm, intercept=True),
            ridge=known.low,
            epsilon=epsilon,
            delta=delta,
            n_draws=1,
            ledger=ZCDP,  # composed with the selection of the penalties
        )
    except SamplerError as error:
        raise SamplerError(f"no refit: {error}. Use refit=None to select penalties only") from None


def refitted(
    planned: Plan,
    rows: FloatArray,
    targets: FloatArray,
    penalties: FloatArray,
    row_norm: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw a model (p,) for rows (n, p), including a constant column, with penalties (p,)."""
    assert planned.radius is not None  # every mechanism states the ball of its plan
    shrunk = np.sqrt(planned.ridge / penalties)
    problem = Problem(
        rows * shrunk,
        targets,
        loss=planned.loss,
        radius=planned.radius,
        row_norm=row_norm,
        ridge=planned.ridge,
        intercept=False,
        arrays=NUMPY,
    )
    spread = problem.L * 2 * planned.radius
    sampler = SAMPLERS[planned.mechanism].for_plan(planned, spread=spread)
    drawn = collect(sampler, GibbsTarget.of(problem, planned), 1, rng).coef[0]
    return np.asarray(drawn * shrunk)


_OF_THE_BUDGET = ("epsilon", "delta", "n_draws", "psi", "spacing")
_USUAL_CLIP = {"ridge": 1.0, "logistic": 4.0}


class SearchParameters(BaseEstimator, CheckRowsMixin):
    """Parameters and plan of a search over penalties."""

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
        """Return the plan for a table of this shape; reads no row and has no privacy cost.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or the table itself: only its shape is read. A schema
            determines the number of encoded columns; n_features may then be omitted.

        Returns
        -------
        TuningPlan or StationaryPlan
            Temperature, privacy cost, excess bound, and whether the draw may be nearly uniform.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        SamplerError
            If a mechanism does not apply or guarantees nothing, or no refit mechanism applies.

        Warns
        -----
        WeakGuaranteeWarning
            If the draw may be nearly uniform; the message suggests changes.
        """
        planned = self._planned(n_samples, self._columns(n_features))
        warn_if_nearly_uniform(planned)
        return planned

    def constants(self, n_samples: int) -> PenaltyConstants:
        """Return the public constants of the search for ``n_samples`` rows; reads none."""
        held_out = int(validation_rows(n_samples, self.val_fraction).sum())
        whole = row_bound(self.row_norm, intercept=True)
        sides = n_samples - held_out, held_out
        return PenaltyConstants(self.estimator, whole, *self._bounds(), *sides, self._clip)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of a regressor or a binary classifier, by the refitted model."""
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
        """Return each mechanism's guarantee for a table shape, or why it does not apply."""
        known, box, asked = self._planning_inputs(n_samples, self._columns(n_features))
        return offered(known, box.d, **asked)

    def _columns(self, n_features: int | None) -> int:
        if self._declared is not None:
            return len(self._declared.encoded_names)
        if n_features is None:
            raise ValueError("n_features is required without a schema")
        return n_features

    def _planned(self, n_samples: int, n_features: int) -> TuningPlan | StationaryPlan:
        known, box, asked = self._planning_inputs(n_samples, n_features)
        warn_large_delta(self.delta, n_samples)
        return plan_mechanism(known, box.d, mechanism=self.mechanism, **asked)

    def _planning_inputs(
        self, n_samples: int, n_features: int
    ) -> tuple[PenaltyConstants, PenaltyBox, dict[str, Any]]:
        """Constants, penalties and budget from which every mechanism is planned."""
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
                "computed from the rows; the privacy cost depends on the lowest"
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
        """Estimator that validates the targets: declared classes, or bounds of the target."""
        known: dict[str, Any] = {"schema": self.schema, "ledger": self.ledger}
        if self.estimator == "logistic":
            return RashomonClassifier(classes=self.classes, **known)
        return RashomonRegressor(target_bounds=self.target_bounds, **known)


def _refits(search: Any) -> bool:
    if search.refit is None:
        raise AttributeError(
            "refit=None selects penalties and fits no model: a model has a privacy cost of its "
            'own, use refit="dp"'
        )
    return True


class RefittedModel(EncodedCoefficients, SearchParameters):
    """Predictions of the model drawn by the refit; unavailable with ``refit=None``."""

    classes_: NDArray[Any]
    encoder_: Any

    @available_if(_refits)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict with the drawn model."""
        scores = self._scores(X)
        if self.estimator == "logistic":
            return np.asarray(self.classes_[(scores > 0).astype(int)])
        return scores

    @available_if(lambda search: _refits(search) and search.estimator == "logistic")
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of both classes under the drawn model."""
        likely = expit(self._scores(X))
        return np.column_stack([1 - likely, likely])

    @available_if(lambda search: _refits(search) and search.estimator == "logistic")
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the second class under the drawn model."""
        return self._scores(X)

    @available_if(_refits)
    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy or R² on the given rows; not for release if these are private."""
        measure = accuracy_score if self.estimator == "logistic" else r2_score
        return float(measure(y, self.predict(X)))

    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            rows = np.asarray(self.encoder_.transform(X))
        else:
            check_readable("X", X)
            rows = np.asarray(validate_data(self, host_values(X), dtype=np.float64, reset=False))
        shortened, _ = clip_rows(rows, self.row_norm)
        return np.asarray(
            shortened @ np.ravel(self.encoded_coef_) + float(np.ravel(self.encoded_intercept_)[0])
        )
