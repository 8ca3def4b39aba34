"""Private selection of penalties by validation, with a private refit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import MetaEstimatorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import Interval, StrOptions
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.estimators import base
from rashomon_explorer.estimators.feasibility import N_DRAWS, check_budget
from rashomon_explorer.estimators.linear import RashomonClassifier, RashomonRegressor
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms import finite_grid, planner, registry
from rashomon_explorer.mechanisms.penalties import landscape as landscapes
from rashomon_explorer.mechanisms.penalties import mechanisms as penalty_mechanisms
from rashomon_explorer.mechanisms.penalties.constants import MARGINS, PenaltyConstants
from rashomon_explorer.mechanisms.penalties.plan import PenaltyPlan, TuningPlan
from rashomon_explorer.mechanisms.penalties.stationary import StationaryPlan, drawn_where_level
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import AUTO, ZCDP
from rashomon_explorer.mechanisms.select import select
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.constants import row_bound
from rashomon_explorer.problem.problem import Problem, add_intercept
from rashomon_explorer.sets.sklearn_models import exact_only

_OF_THE_BUDGET = ("epsilon", "delta", "psi", "spacing")
_USUAL_CLIP = {"ridge": 1.0, "logistic": 4.0}


def _refits(search: Any) -> bool:
    if search.refit is None:
        raise AttributeError(
            "refit=None selects penalties and fits no model: a model has a privacy cost of its "
            'own, use refit="dp"'
        )
    return True


@base.with_parameters
class DPBilevelSearch(MetaEstimatorMixin, base.BasePrivateEstimator[PenaltyPlan]):
    """Select ridge or logistic penalties by validation, with differential privacy.

    Private counterpart of ``RidgeCV`` and ``GridSearchCV``. Penalties are drawn from a public grid
    with probability ∝ exp(−β·max(Φ − min Φ − ψ, 0)), where Φ is the validation loss of the model
    fitted to the other rows. With ``refit="dp"``, one model is drawn with ``best_params_``, from
    its share of the budget (Lowy and Liu; docs/tuning.md).

    Parameters
    ----------
    estimator : {"ridge", "logistic"}, default="ridge"
        Half the squared error of targets mapped from ``target_bounds`` onto [−1, 1], or the
        logistic loss of two classes: the mean over rows, plus ½Σλ_jθ_j². The intercept has the
        lowest of the selected penalties.
    penalty : {"scalar", "group", "feature"}, default="scalar"
        One penalty, one for each of ``groups``, or one for each column; at most three on a grid.
    groups : list of lists of int, default=None
        Column indices of each group, for ``penalty="group"``.
    bounds : (low, high)
        Declared range of the penalties. scikit-learn's ``alpha`` is n times such a penalty. The
        privacy cost depends on the lower bound.
    spacing : float, default=None
        Factor between neighbouring penalties of the grid; by default 33 points for one penalty,
        17² for two and 9³ for three, ends included.
    val_fraction : float, default=0.3
        Share of validation rows, evenly spread over the table by position: public.
    margin_bound : float, default=None
        Bound to which scores of validation rows are clipped; by default 1 for ridge (the bound of
        the mapped targets), 4 for logistic.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    n_draws : int or "auto", default="auto"
        Number of draws of the penalties; ``"auto"`` is one, as a search selects one penalty.
    psi : float, default=0.0
        Rashomon threshold: penalties within ψ of the least validation loss have equal probability.
    mechanism : str, default="auto"
        ``"exponential"`` and ``"generalised"`` are sampled exactly on the grid. The latter uses
        the sensitivity of each pair of penalties, far smaller for high penalties; its bound is
        half as good if the lowest are best. ``"hypergradient"`` and ``"warm_hypergradient"`` use
        noisy gradients, for any number of penalties; ``"gradient_norm"`` uses gradient norms. These
        three guarantee a small gradient, not a small loss. ``plan_.why`` states the selected
        mechanism and the reason; :meth:`mechanisms` compares the guarantees.
    refit : {"dp", None}, default="dp"
        Whether a model is drawn too, by the mechanism with the best bound. With None, prediction
        is unavailable.
    refit_share : float, default=0.5
        Share of ε for the refit.
    row_norm : float or "auto", default="auto"
    target_bounds : tuple of float, default=None
    classes : array-like, default=None
    schema : TableSchema, str, path or None, default=None
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    best_params_ : dict of str to float
        The penalty of each group: the draw nearest to the median of all draws.
    rashomon_set_ : PenaltySet
        All drawn penalties.
    guarantee_ : Guarantee
        Guarantee for all draws, including the model.
    plan_ : TuningPlan or StationaryPlan
    encoded_coef_, encoded_intercept_ : ndarray, float
        The drawn model, with a refit.
    classes_ : ndarray
        Class labels, for logistic loss.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    No score, loss or intermediate fit is stored, because each depends on the rows and is not
    covered by the guarantee.

    Examples
    --------
    >>> from rashomon_explorer import load_dataset
    >>> data = load_dataset("lending")
    >>> search = DPBilevelSearch(
    ...     "logistic", bounds=(0.01, 1.0), epsilon=4.0, refit=None, row_norm=1.5, random_state=0
    ... )
    >>> planned = search.plan(*data.X.shape)
    >>> planned.n_points, planned.weakness
    (33, '')
    >>> search.fit(data.X, data.y).best_params_["penalty"] < 0.3
    True
    >>> search.guarantee_.epsilon(delta=1e-6) <= 4.0
    True
    """

    _chunked = False

    estimator: str = field(default="ridge", kw_only=False)
    penalty: str = "scalar"
    groups: Sequence[Sequence[int]] | None = None
    bounds: tuple[float, float] | None = None
    spacing: float | None = None
    val_fraction: float = 0.3
    margin_bound: float | None = None
    n_draws: int | str = AUTO
    psi: float = 0.0
    mechanism: str = AUTO
    refit: str | None = "dp"
    refit_share: float = 0.5
    row_norm: float | str = AUTO
    target_bounds: tuple[float, float] | None = None
    classes: ArrayLike | None = None
    schema: base.Schema = None

    if TYPE_CHECKING:
        encoded_coef_: FloatArray = field(init=False)
        encoded_intercept_: FloatArray | float = field(init=False)
    coef_ = exact_only("coef_")
    intercept_ = exact_only("intercept_")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [StrOptions({*MARGINS})],
        "penalty": [StrOptions({"scalar", "group", "feature"})],
        "groups": ["array-like", None],
        "bounds": ["array-like", None],
        "spacing": [Interval(Real, 1, None, closed="neither"), None],
        "val_fraction": [Interval(Real, 0, 1, closed="neither")],
        "margin_bound": [Interval(Real, 0, None, closed="neither"), None],
        "n_draws": [N_DRAWS, StrOptions({AUTO})],
        "psi": [Interval(Real, 0, None, closed="left")],
        "mechanism": [StrOptions({"auto", *penalty_mechanisms.NAMES})],
        "refit": [StrOptions({"dp"}), None],
        "refit_share": [Interval(Real, 0, 1, closed="neither")],
        "row_norm": [Interval(Real, 0, None, closed="neither"), StrOptions({AUTO})],
        "target_bounds": ["array-like", None],
        "classes": ["array-like", None],
        "schema": base.SCHEMA,
    }

    def constants(self, n_samples: int) -> PenaltyConstants:
        """Return the public constants of the search for ``n_samples`` rows; reads none."""
        held_out = int(penalty_mechanisms.validation_rows(n_samples, self.val_fraction).sum())
        norm_bound = row_bound(self._row_norm, intercept=True)
        sides = n_samples - held_out, held_out
        return PenaltyConstants(self.estimator, norm_bound, *self._bounds(), *sides, self._clip)

    def mechanisms(
        self, n_samples: int, n_features: int | None = None
    ) -> tuple[penalty_mechanisms.Offered, ...]:
        """Return each mechanism's guarantee for a table shape, or why it does not apply."""
        known, box, options = self._planning_inputs(n_samples, self._n_encoded(n_features))
        return penalty_mechanisms.offered(known, box.d, **options)

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
        clipped, _ = clip_rows(self._encoded_rows(X), self._row_norm)
        return np.asarray(
            clipped @ np.ravel(self.encoded_coef_) + float(np.ravel(self.encoded_intercept_)[0])
        )

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
        return tags

    @property
    def _numeric(self) -> bool:
        return self.estimator == "ridge"

    @property
    def _clip(self) -> float:
        return _USUAL_CLIP[self.estimator] if self.margin_bound is None else self.margin_bound

    @property
    def _inner(self) -> RashomonClassifier | RashomonRegressor:
        """Estimator with the declared classes, or bounds of the target."""
        known: dict[str, Any] = {"schema": self.schema, "ledger": self.ledger}
        if self.estimator == "logistic":
            return RashomonClassifier(classes=self.classes, **known)
        return RashomonRegressor(target_bounds=self.target_bounds, **known)

    def _target_bounds(self) -> tuple[float, float]:
        return self._inner._target_bounds()

    def _planned(
        self, n_samples: int, n_features: int, n_classes: int | None = None
    ) -> PenaltyPlan:
        known, box, options = self._planning_inputs(n_samples, n_features)
        return penalty_mechanisms.plan_mechanism(known, box.d, mechanism=self.mechanism, **options)

    def _warn(self, planned: PenaltyPlan) -> None:
        if self._warns:
            planner.warn_if_delta_is_large(self._delta, planned.n)
            penalty_mechanisms.warn_if_nearly_uniform(planned)

    def _planning_inputs(
        self, n_samples: int, n_features: int
    ) -> tuple[PenaltyConstants, landscapes.PenaltyBox, dict[str, Any]]:
        """Constants, penalties and budget from which every mechanism is planned."""
        check_budget(self)
        known, box = self.constants(n_samples), self._box(n_features)
        refit = None
        if self.refit is not None:
            share = self._epsilon * self.refit_share
            refit = refit_plan(known, n_features + 1, self._row_norm, share, self._delta)
        options = {name: getattr(self, name) for name in _OF_THE_BUDGET}
        options["n_draws"] = 1 if self.n_draws == AUTO else self.n_draws
        return known, box, {**options, "refit": refit, "ledger": self.ledger is not None}

    def _box(self, n_features: int) -> landscapes.PenaltyBox:
        return landscapes.PenaltyBox(
            landscapes.column_groups(self.penalty, n_features, self.groups), *self._bounds()
        )

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

    def _plan_fit(self, table: TableAdapter) -> base.PlannedFit:
        self._target_bounds()  # raises before a value is read
        planned = self._planned(*table.shape)
        self._warn(planned)
        public = self._public_attributes(table)
        many = f"{planned.n_draws} draw{'' if planned.n_draws == 1 else 's'} of penalties"
        model = "" if planned.refit is None else " and a model"
        return base.PlannedFit(
            self._guarantee(planned),
            note=f"{type(self).__name__}, {many}{model}",
            parameters={**planned.parameters, "epsilon": self._epsilon, "delta": self._delta},
            draw=lambda guarantee: {**public, **self._sample(table, planned, guarantee)},
        )

    def _public_attributes(self, table: TableAdapter) -> dict[str, Any]:
        public = self._inner._public_attributes(table)
        if len(public.get("classes_", ())) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(public['classes_'])} classes were found or declared"
            )
        return public

    def _encoded_target(self, table: TableAdapter) -> FloatArray:
        self._public_attributes(table)
        self._inner._warn_clipped_targets(table)
        return self._inner._encoded_target(table)

    def _check_table(self, table: TableAdapter) -> None:
        self._encoded_target(table)
        if table.clipping_is_unusual:
            base.warn_clipped_rows(table.longer_share(self._row_norm), self._row_norm)

    def _guarantee(self, planned: PenaltyPlan) -> Guarantee:
        return planned.guarantee

    def _assumptions(self) -> list[str]:
        return ["the split is by place, and public", *self._inner._assumptions()]

    def _sample(
        self, table: TableAdapter, planned: PenaltyPlan, guarantee: Guarantee
    ) -> dict[str, Any]:
        """Read the rows, draw, and return the fitted attributes."""
        targets = self._encoded_target(table)
        rows, clipped = clip_rows(table.values[0], self._row_norm)
        if table.clipping_is_unusual:
            base.warn_clipped_rows(clipped, self._row_norm)
        rng = self._generator()
        design = add_intercept(rows)
        landscape = self._landscape(design, targets, planned)
        penalties, walks = _points(landscape, planned, rng)
        names = self._names(table.feature_names)
        drawn = penalty_mechanisms.PenaltySet(
            penalties.T, names, replace(planned, guarantee=guarantee), guarantee, walks
        )
        best = drawn.best
        fitted: dict[str, Any] = {
            "best_params_": dict(zip(drawn.names, best.tolist(), strict=True)),
            "rashomon_set_": drawn,
            "plan_": drawn.plan,
            "guarantee_": guarantee,
        }
        if planned.refit is not None:
            every = landscape.box.by_column(best[:, None])[:, 0]
            longest = planned.constants.row_bound
            model = refitted(planned.refit, design, targets, every, longest, rng)
            fitted |= self._inner._linear_attributes(model[None, :])
        return fitted

    def _landscape(
        self, rows: FloatArray, targets: FloatArray, planned: PenaltyPlan
    ) -> landscapes.PenaltyLandscape:
        held_out = penalty_mechanisms.validation_rows(len(rows), self.val_fraction)
        kind, clip = self.estimator, planned.constants.margin_bound
        box = self._box(rows.shape[1] - 1)
        if not isinstance(planned, TuningPlan):  # for gradients, the intercept has the mean penalty
            lowest, mean = landscapes.LOWEST, landscapes.MEAN
            groups = tuple(mean if group == lowest else group for group in box.groups)
            box = replace(box, groups=groups)
        return landscapes.PenaltyLandscape(
            landscapes.InnerProblem(rows[~held_out], targets[~held_out], kind),
            landscapes.OuterLoss(rows[held_out], targets[held_out], kind, clip),
            box,
            planned.constants.tolerance,
        )

    def _fit_summary(self) -> list[str]:
        return [f"penalties {self.best_params_} on {self.plan_.n:,} rows"]


def _points(
    landscape: landscapes.PenaltyLandscape, planned: PenaltyPlan, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Drawn penalties (d, n_draws), and all states (n_draws, T, d) of a gradient walk, or None."""
    penalties = landscape.box.group_penalties
    if isinstance(planned, StationaryPlan):
        drawn, walks = drawn_where_level(landscape, planned, rng)
        return penalties(drawn), None if walks is None else np.swapaxes(penalties(walks), 1, 2)
    assert isinstance(planned, TuningPlan)
    sampler = finite_grid.FiniteGridSampler(spacing=planned.spacing)
    drawn = landscapes.first_draws(
        sampler, planned.target(landscape, sampler), planned.n_draws, rng
    )
    return penalties(drawn), None


def refit_plan(
    known: PenaltyConstants, p: int, row_norm: float, epsilon: float, delta: float
) -> Plan:
    """Plan of one model by the mechanism with the lowest expected loss."""
    try:
        return select(
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
    )
    drawn = registry.get_mechanism(planned.mechanism).draw(problem, planned, rng).coef[0]
    return np.asarray(drawn * shrunk)
