"""Private selection among private estimators by held-out rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.containers import as_pandas, is_frame
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.sklearn_compat import HasMethods, Interval, StrOptions, select_rows
from rashomon_explorer.estimators import base, targets
from rashomon_explorer.estimators.feasibility import check_budget, refuse_if_hopeless
from rashomon_explorer.estimators.rashomon import BaseRashomon
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.exceptions import SamplerError, WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms import selection
from rashomon_explorer.mechanisms.penalties.mechanisms import validation_rows
from rashomon_explorer.mechanisms.planner import warn_if_delta_is_large
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.mechanisms.selection import SELECTIONS, Candidate, SearchPlan
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.conversions import zcdp_epsilon, zcdp_rho
from rashomon_explorer.privacy.ledger.charge import failure_assumption
from rashomon_explorer.privacy.notions import no_guarantee

PAID_BY_THE_SEARCH = ("epsilon", "delta", "ledger", "random_state")
"""Settings that the search sets for every candidate."""

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


def model_has(name: str) -> Callable[[Any], bool]:
    """Condition of methods that a wrapper has if its model does."""

    def has(wrapper: Any) -> bool:
        return hasattr(getattr(wrapper, wrapper._fitted, wrapper.estimator), name)

    return has


class WrapperMethods(MetaEstimatorMixin):
    """Predictions of a wrapper by the fitted model that it holds."""

    _fitted: ClassVar[str]
    """Attribute that holds the model."""

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return getattr(self, self._fitted)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict with the fitted model."""
        return np.asarray(self._model.predict(X))

    @available_if(model_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the fitted model, if available."""
        return np.asarray(self._model.predict_proba(X))

    @available_if(model_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Scores of the fitted model, if available."""
        return np.asarray(self._model.decision_function(X))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy or R² of the fitted model on given rows; not private."""
        return float(self._model.score(X, y))


@base.with_parameters
class PrivateSearch(WrapperMethods, base.BasePrivateEstimator[SearchPlan]):
    """Fit several private models and select the best on held-out rows, at one total privacy cost.

    ``GridSearchCV`` over a private estimator has the privacy cost of every fit of every fold, and
    its selection scores depend on rows. Here every k-th row is a validation row and the others are
    training rows; each record is on one side and has the cost of that side. Either all candidates
    are fitted, at composed costs, and one is selected privately; or a random number of fits is
    run and the best is kept, at two or three times the cost of one fit, for any number of
    candidates. Public numbers decide between the two (docs/private-search.md).

    Parameters
    ----------
    estimator : estimator
        A private estimator of this package: :class:`DPClassifier`, :class:`DPRegressor`,
        :class:`RashomonClassifier`, :class:`RashomonRegressor`, :class:`RashomonTreeClassifier`
        or :class:`DPBilevelSearch`, without a ledger. The search overrides its ``epsilon``,
        ``delta`` and ``random_state``.
    param_grid : dict of str to list, or list of dict
        Settings to try, as for ``GridSearchCV``; a key ``"estimator"`` tries other estimators.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    val_fraction : float, default=0.3
        Share of validation rows, evenly spread over the table by position: public.
    mechanism : {"auto", "every", "geometric", "logarithmic"}, default="auto"
        Selection mechanism; ``plan_.why`` states the reason for the selected one.
    mean_fits : float, default=None
        Mean number of fits for mechanisms with random runs; by default ten per candidate.
    ledger : str, path or Ledger, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    best_estimator_ : estimator
        The selected estimator, fitted on the training rows.
    best_params_ : dict
        Settings of the selected estimator.
    best_index_ : int
        Its index in ``plan_.candidates``.
    estimators_ : list of estimators
        With ``mechanism="every"``, all fitted candidates: the guarantee covers all of them.
    guarantee_ : Guarantee
        Guarantee for all attributes above.
    plan_ : SearchPlan
    classes_, n_features_in_, feature_names_in_
        Those of ``best_estimator_``.

    Notes
    -----
    No score is stored, because the guarantee covers none. The score is the share of wrong labels,
    or the mean squared error of targets and predictions clipped to the declared bounds.

    Examples
    --------
    >>> from rashomon_explorer import RashomonTreeClassifier, load_dataset
    >>> data = load_dataset("lending")
    >>> trees = RashomonTreeClassifier(thresholds=0.0, n_draws=1)
    >>> search = PrivateSearch(trees, {"max_leaves": [2, 3, 4]}, epsilon=1.0, random_state=0)
    >>> planned = search.plan(*data.X.shape)
    >>> planned.mechanism, round(planned.each[0], 2), planned.score_regret < 0.001
    ('every', 0.33, True)
    >>> fitted = search.fit(data.X, data.y)
    >>> fitted.best_params_["max_leaves"] > 2, fitted.guarantee_.epsilon(1e-6) <= 1.0
    (True, True)
    """

    _chunked = False
    _fitted = "best_estimator_"

    estimator: BaseEstimator = field(kw_only=False)
    param_grid: Grid = field(kw_only=False)
    val_fraction: float = 0.3
    mechanism: str = AUTO
    mean_fits: float | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict", "plan"])],
        "param_grid": [dict, list],
        "val_fraction": [Interval(Real, 0, 1, closed="neither")],
        "mechanism": [StrOptions({AUTO, *SELECTIONS})],
        "mean_fits": [Interval(Real, 1, None, closed="neither"), None],
    }

    @property  # type: ignore[misc]
    def schema(self) -> Any:
        """Schema of the estimator."""
        return getattr(self.estimator, "schema", None)

    @property
    def _row_norm(self) -> float:
        return float(getattr(self.estimator, "_row_norm", getattr(self.estimator, "row_norm", 1.0)))

    def __sklearn_tags__(self) -> Tags:
        """Tags of the estimator."""
        return get_tags(self.estimator)

    @property
    def _numeric(self) -> bool:
        return not is_classifier(self._candidates()[0])

    def _planned(self, n_samples: int, n_features: int, n_classes: int | None = None) -> SearchPlan:
        return self._plan_search(n_samples, n_features, self._candidates())

    def _plan_fit(self, table: TableAdapter) -> base.PlannedFit:
        candidates = self._candidates()
        several = is_classifier(candidates[0])
        labels_found = several and self._declare_classes(candidates, table)
        bounds = set() if several else {candidate._target_bounds() for candidate in candidates}
        if len(bounds) > 1:
            raise ValueError(f"candidates must share target_bounds, got {sorted(bounds)}")
        planned = self._plan_search(*table.shape, candidates)
        self._warn(planned)
        guarantee = self._guarantee(planned)
        if labels_found:
            stated = (*guarantee.assumptions, targets.LABELS_ARE_PUBLIC)
            guarantee = replace(guarantee, assumptions=stated)

        def draw(guarantee: Guarantee) -> dict[str, Any]:
            """Read the rows, fit, select, and return the fitted attributes."""
            scoring = validation_rows(planned.n, self.val_fraction)
            sides = TrainValidationSplit(table, scoring, next(iter(bounds), None))
            rng = self._generator()
            fits = Fits(sides, candidates, planned, rng, self.random_state is not None)
            index, best, models = fits.best()
            lost = [model.guarantee_.theorem for model in models if not model.guarantee_.holds]
            if lost and guarantee.holds:
                guarantee = no_guarantee(lost[0])
            public = {k: v for k, v in table.public().items() if k != "encoder_"}
            classes = {"classes_": best.classes_} if hasattr(best, "classes_") else {}
            extra = {"estimators_": models} if planned.runs is None else {}
            return {
                **public,
                **classes,
                **extra,
                "best_estimator_": best,
                "best_index_": index,
                "best_params_": dict(planned.candidates[index].params),
                "plan_": planned,
                "guarantee_": guarantee,
            }

        return base.PlannedFit(
            guarantee,
            note=f"{type(self).__name__}, {len(candidates)} candidates",
            parameters=as_parameters(planned),
            draw=draw,
        )

    def _check_table(self, table: TableAdapter) -> None:
        candidates = self._candidates()
        labels = table.values[1]
        if is_classifier(candidates[0]):
            self._declare_classes(candidates, table)
            classes = targets.known_classes(candidates[0].classes, self._declared)
            targets.class_codes(
                labels, targets.found_classes(labels) if classes is None else classes
            )

    def _candidates(self) -> list[Any]:
        candidates = make_candidates(self.estimator, expand_settings(self.param_grid))
        seed = None if self.random_state is None else 0  # the guarantee states that a seed is known
        for candidate in candidates:
            if candidate.schema is not self.schema and candidate.schema != self.schema:
                raise ValueError("candidates must share one schema: the table is read once")
            candidate.set_params(random_state=seed)
        return candidates

    def _plan_search(self, n_samples: int, n_features: int, candidates: list[Any]) -> SearchPlan:
        check_budget(self)
        held_out = int(validation_rows(n_samples, self.val_fraction).sum())
        budget, k = (self._epsilon, self._delta), len(candidates)
        request = SearchRequest(n_samples - held_out, held_out, *budget, k, self.mean_fits)
        settings = expand_settings(self.param_grid)
        shape = (request.n_train, n_features)
        return planned_search(
            request, lambda each: plan_candidates(candidates, settings, shape, each), self.mechanism
        )

    def _warn(self, planned: SearchPlan) -> None:
        warn_if_delta_is_large(self._delta, planned.n)
        if planned.weakness and self._warns:
            warnings.warn(
                "this plan has a weak guarantee, even for its best candidate, "
                f"{planned.best.in_words}: {planned.weakness}",
                WeakGuaranteeWarning,
                stacklevel=warn_stacklevel(),
            )

    def _declare_classes(self, candidates: list[Any], table: TableAdapter) -> bool:
        """Set the same classes for every candidate; return whether they were found in labels."""
        declared = [
            targets.known_classes(candidate.classes, self._declared) for candidate in candidates
        ]
        if self.ledger is not None:
            for candidate in candidates:
                targets.check_charged_classes(candidate.classes, self._declared)
        if all(classes is not None for classes in declared):
            if len({tuple(classes.tolist()) for classes in declared if classes is not None}) > 1:
                raise ValueError("candidates must share their classes")
            return any(
                targets.classes_found(candidate.classes, self._declared) for candidate in candidates
            )
        labels = targets.found_classes(table.values[1]).tolist()
        for candidate in candidates:
            candidate.set_params(classes=labels)
        return True

    def _guarantee(self, planned: SearchPlan) -> Guarantee:
        """Guarantee of the plan, whose candidates are not charged themselves."""
        uncharged = failure_assumption("fit", charged=False)
        assumptions = tuple(
            assumption for assumption in planned.guarantee.assumptions if assumption != uncharged
        )
        return replace(planned.guarantee, assumptions=assumptions)

    def _fit_summary(self) -> list[str]:
        planned: SearchPlan = self.plan_
        return [f"the best of {len(planned.candidates)} on {planned.n:,} rows"]


def expand_settings(param_grid: Grid) -> list[dict[str, Any]]:
    """Return every setting of a parameter grid, or of a list of grids."""
    settings = list(ParameterGrid(param_grid))
    for name in PAID_BY_THE_SEARCH:
        if any(name in setting for setting in settings):
            raise ValueError(
                f"param_grid holds {name!r}, which the search sets for every candidate: give it to "
                "PrivateSearch"
            )
    return settings


def make_candidates(estimator: BaseEstimator, settings: list[dict[str, Any]]) -> list[Any]:
    """Unfitted copies with each setting; ``"estimator"`` in a setting replaces the estimator."""
    candidates = []
    for setting in settings:
        parameters = dict(setting)
        template = parameters.pop("estimator", estimator)
        private = isinstance(template, base.BasePrivateEstimator)
        if not private or isinstance(template, PrivateSearch):
            raise TypeError(
                f"candidates must be private estimators of this package, got {template!r}: each "
                f"has the privacy cost of its own plan"
            )
        if template.ledger is not None:
            raise ValueError("the search is charged, not a candidate: give it the ledger")
        candidate = clone(template).set_params(**parameters)
        if not hasattr(candidate, "predict"):
            raise TypeError(f"{candidate!r} has no predict method, which a score needs")
        candidates.append(candidate)
    if len({is_classifier(candidate) for candidate in candidates}) > 1:
        raise ValueError("candidates must be all classifiers or all regressors")
    return candidates


def plan_candidates(
    candidates: list[Any],
    settings: list[dict[str, Any]],
    shape: tuple[int, int],
    each: tuple[float, float],
) -> tuple[Candidate, ...]:
    """Plan every candidate at one privacy cost, from public numbers only."""
    epsilon, delta = each
    planned = []
    for estimator, setting in zip(candidates, settings, strict=True):
        estimator.set_params(epsilon=epsilon, delta=delta)
        plan = base.quiet(estimator).plan(*shape)
        if isinstance(estimator, BaseRashomon):
            refuse_if_hopeless(plan, estimator.mechanism, estimator.patience)
        candidate = Candidate(
            setting,
            plan,
            replace(estimator._with_assumptions(estimator._guarantee(plan)), requested=None),
        )
        if not candidate.guarantee.holds:
            raise ValueError(
                f"{candidate.in_words} has no guarantee, so a search cannot account for it: "
                f"{candidate.guarantee.theorem}"
            )
        planned.append(candidate)
    return tuple(planned)


class TrainValidationSplit:
    """Training rows of a table, and validation rows for scores."""

    def __init__(
        self, table: TableAdapter, scoring: Mask, bounds: tuple[float, float] | None
    ) -> None:
        self.table = table
        X, targets = table.values
        y: Any = targets
        if is_frame(table.X):  # candidates read the names and text of a frame themselves
            X, y = as_pandas(table.X), as_pandas(table.y)
        self.fitted = tuple(select_rows(part, np.flatnonzero(~scoring)) for part in (X, y))
        self._rows = select_rows(X, np.flatnonzero(scoring))
        self._targets = targets[scoring]
        self._bounds = bounds

    def loss(self, model: Any) -> float:
        """Mean loss over the validation rows; each row's loss is in [0, 1] for any values."""
        predicted = model.predict(self._rows)
        if self._bounds is None:
            return float(np.mean(predicted != self._targets))
        low, high = self._bounds
        off = np.clip(predicted, low, high) - np.clip(self._targets, low, high)
        return float(np.mean((off / (high - low)) ** 2))


@dataclass(frozen=True)
class Fits:
    """Fits of candidates, each at the plan's privacy cost, scored on rows that no fit uses."""

    sides: TrainValidationSplit
    candidates: list[Any]
    planned: SearchPlan
    rng: np.random.Generator
    seeded: bool  # whether the fits' own seeds are drawn from ``rng``

    def best(self) -> tuple[int, Any, list[Any]]:
        """Return index and model of the selected candidate, and all models that are released."""
        if self.planned.pick is None:
            return self._fit_at_random()
        models = [self._fitted(model) for model in progress(self.candidates, "candidates")]
        index = self.planned.pick.draw([self.sides.loss(model) for model in models], self.rng)
        return index, models[index], models

    def _fit_at_random(self) -> tuple[int, Any, list[Any]]:
        planned, rng = self.planned, self.rng
        assert planned.runs is not None  # set if candidates are run at random
        lowest_score, selected = np.inf, (0, None)
        scale = 1 / (planned.n_val * planned.each[0])
        for _ in range(planned.runs.draw(rng)):
            index = int(rng.integers(len(self.candidates)))
            model = self._fitted(self.candidates[index])
            noisy = self.sides.loss(model) + rng.laplace(scale=scale)
            if noisy < lowest_score:
                lowest_score, selected = noisy, (index, model)
        index, best = selected
        return index, best, [best]

    def _fitted(self, candidate: Any) -> Any:
        seed = int(self.rng.integers(2**31)) if self.seeded else None
        epsilon, delta = self.planned.each
        model = clone(candidate).set_params(epsilon=epsilon, delta=delta, random_state=seed)
        return base.quiet(model).fit(*self.sides.fitted)


_FITS_A_CANDIDATE = 10  # default mean number of random runs per candidate
_TRIES = 12
_SAFE = 1 - 1e-9
_SHAPES = {"geometric": 1, "logarithmic": 0}

PlanAt = Callable[[tuple[float, float]], tuple[Candidate, ...]]
"""Candidates planned at one privacy cost (ε, δ)."""


@dataclass(frozen=True)
class SearchRequest:
    """Public parameters of a search."""

    n_train: int
    n_val: int
    epsilon: float
    delta: float
    k: int
    mean_runs: float | None = None

    @property
    def sensitivity(self) -> float:
        """Sensitivity Δ of a score: a mean over the validation rows of values in [0, 1]."""
        return 1 / self.n_val


Fitting = tuple[tuple[float, float], tuple[Candidate, ...], Guarantee, dict[str, Any]]
"""Cost and plans of the fits, guarantee of the search, and how it selects, with the regret."""


def planned_search(request: SearchRequest, plan_at: PlanAt, mechanism: str) -> SearchPlan:
    """Plan a search by the named mechanism, or by the one with the best bound."""
    plans, refused = [], []
    for name in SELECTIONS if mechanism == AUTO else [mechanism]:
        plan_fits = _every if name == "every" else partial(_runs, shape=_SHAPES[name])
        try:
            each, candidates, guarantee, selected = plan_fits(request, plan_at)
        except SamplerError as error:
            refused.append(f"{name}: {error}")
            continue
        numbers = request.n_train, request.n_val, request.epsilon, request.delta
        guarantee = replace(guarantee, requested=(request.epsilon, request.delta))
        plans.append(SearchPlan(name, *numbers, each, candidates, guarantee, **selected))
    if not plans:
        raise SamplerError("; ".join(refused))
    plans.sort(key=lambda plan: plan.selection_bound)
    why = "it was requested"
    if mechanism == AUTO:
        why = (
            f"the smallest bound of any selection mechanism, {rounded_up(plans[0].selection_bound)}"
        )
    return replace(plans[0], why=why, options=tuple(plans))


def _every(request: SearchRequest, plan_at: PlanAt) -> Fitting:
    """Plan all fits, composed on the training rows, with a private choice on validation rows."""
    pick: selection.Pick
    if request.delta == 0:
        pick = selection.PermuteAndFlip(request.epsilon * _SAFE, request.sensitivity)
        costs = [(request.epsilon / request.k * _SAFE, 0.0)]
    else:  # the selection has the cost of the fits, ρ, by bounded range
        rho = zcdp_rho(request.epsilon, request.delta)
        pick = selection.Exponential(_SAFE * math.sqrt(8 * rho), request.sensitivity)
        rho /= request.k
        shares = [request.delta, request.delta / (2 * request.k)]
        costs = [(zcdp_epsilon(rho, delta), delta) for delta in shares]
        costs.append((math.sqrt(2 * rho), 0.0))
    for each in costs:
        for _ in range(_TRIES):
            candidates = plan_at(each)
            fits = compose([candidate.guarantee for candidate in candidates])
            guarantee = selection.max_over_splits(fits, pick.guarantee)
            spent = guarantee.epsilon(request.delta)
            if spent <= request.epsilon:
                score_regret = selection.regret(pick, request.k)
                return each, candidates, guarantee, {"score_regret": score_regret, "pick": pick}
            if not math.isfinite(spent):
                break  # the candidates' own δ add up to too much
            each = (each[0] * request.epsilon / spent * _SAFE, each[1])
    raise SamplerError(
        "the privacy costs of the candidates do not compose to a guarantee at this δ"
    )


def _runs(request: SearchRequest, plan_at: PlanAt, shape: int) -> Fitting:
    """Plan random runs, each pure DP: training rows for the model, validation rows for scores."""
    mean = request.mean_runs or _FITS_A_CANDIDATE * request.k
    runs = selection.Runs.of_mean(shape, mean)
    run_epsilon = request.epsilon / runs.factor * _SAFE
    candidates = plan_at((run_epsilon, 0.0))
    dear = [
        candidate
        for candidate in candidates
        if not candidate.guarantee.pure_epsilon <= run_epsilon * (1 + 1e-9)
    ]
    if dear:
        raise SamplerError(
            f"{dear[0].in_words} is not pure DP, which this selection mechanism needs"
        )
    stated = compose([candidate.guarantee for candidate in candidates])
    selected = runs.guarantee(
        max(run_epsilon, *(candidate.guarantee.pure_epsilon for candidate in candidates))
    )
    assumed = (*selected.assumptions, *stated.assumptions, "the split is by place, and public")
    assumptions = tuple(dict.fromkeys(assumed))
    guarantee = replace(selected, assumptions=assumptions, seeded=stated.seeded)
    noise = selection.most_noise(request.sensitivity / run_epsilon, mean)
    return (run_epsilon, 0.0), candidates, guarantee, {"score_regret": noise, "runs": runs}


def as_parameters(planned: SearchPlan) -> dict[str, Any]:
    """Public settings of a plan, as recorded in a ledger."""
    names = ("n_train", "n_val", "epsilon", "delta", "mean_fits")
    return {
        "way": planned.mechanism,  # the key in ledgers
        **{name: getattr(planned, name) for name in names},
        "candidates": [candidate.in_words for candidate in planned.candidates],
        "each": list(planned.each),
    }
