"""Base of the estimators that draw a Rashomon set."""

from __future__ import annotations

import math
from dataclasses import field, replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rashomon_explorer._utils import progress, sklearn_compat, validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import Interval, StrOptions
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.estimators import base, feasibility
from rashomon_explorer.estimators.path import LinearSteps, LivePathMixin
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms import select as selection
from rashomon_explorer.mechanisms.base import Draws
from rashomon_explorer.mechanisms.langevin.states import StatesDetails, without_promise
from rashomon_explorer.mechanisms.planner import warn_if_delta_is_large, warn_if_weak
from rashomon_explorer.mechanisms.plans import WEAK_HIT_RATE, Plan
from rashomon_explorer.mechanisms.private_scaling import ColumnsPlan
from rashomon_explorer.mechanisms.registry import MECHANISMS, get_mechanism, mechanism_traits
from rashomon_explorer.mechanisms.request import (
    AUTO,
    BATCH_ORDERS,
    POISSON,
    USUAL_PATIENCE,
    USUAL_SHARE,
)
from rashomon_explorer.mechanisms.select import LEAST_HITS, MOST_DRAWS
from rashomon_explorer.mechanisms.simulation.expected_gain import expected_gain
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.ledger.charge import PendingLedger
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.scores import EncodedRows, released_schema
from rashomon_explorer.sets.sklearn_models import exact_only

PRIVATE = "private"
"""Requests private centres and spreads, also where the default omits them."""

_PLANNED_FOR = ("psi", "radius", "ridge", "n_draws")
_OF_PATHS = ("batch_size", "batch_order", "share")


@base.with_parameters
class BaseDraws(sklearn_compat.CallbackSupportMixin, base.BasePrivateEstimator[Plan]):
    """Plan and draw linear models; subclasses define targets, predictions and what they keep."""

    mechanism: str = AUTO
    radius: float | str = AUTO
    row_norm: float | str = AUTO
    ridge: float | str = AUTO
    standardize: str | None = AUTO
    schema: base.Schema = None

    if TYPE_CHECKING:
        encoded_coef_: FloatArray = field(init=False)
        encoded_intercept_: FloatArray = field(init=False)
    coef_ = exact_only("coef_")
    intercept_ = exact_only("intercept_")

    goal = "rows"
    """Rows on which the excess loss of one model is bounded."""

    @property
    def _declared_rate(self) -> float | None:
        """Public share of the rows in one of two classes, if it is declared."""
        return None

    # Draws are rounded to multiples of 2⁻²⁰: in a smaller ball, or with a larger ridge, rounding
    # would dominate them.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        # Keys of the registry as it is when a parameter is checked.
        "mechanism": [StrOptions({AUTO}), StrOptions(MECHANISMS.keys())],
        "radius": [Interval(Real, 2.0**-20, None, closed="left"), StrOptions({AUTO})],
        "row_norm": [Interval(Real, 0, None, closed="neither"), StrOptions({AUTO})],
        "ridge": [Interval(Real, 0, 2.0**20, closed="both"), StrOptions({AUTO})],
        "standardize": [StrOptions({AUTO, PRIVATE}), None],
        "schema": base.SCHEMA,
    }

    @validation.accepts_table
    def constants(
        self, n_samples: int, n_features: int | None = None, n_classes: int | None = None
    ) -> Constants:
        """Return the public constants of the problem for a table of this shape; reads no row.

        Parameters
        ----------
        n_samples, n_features, n_classes : int
            As for :meth:`plan`; a regressor has no classes.

        Returns
        -------
        Constants
            Inputs of the theorems in :mod:`rashomon_explorer.mechanisms.bounds`: L, M, m and
            osc.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        n_features, loss = self._n_encoded(n_features), self._loss_for(n_classes)
        radius: Any = self.radius
        ridge: Any = self.ridge
        if AUTO in (radius, ridge):
            planned = self._planned(n_samples, n_features, n_classes)
            radius, ridge = plan_radius(planned), planned.ridge
        return Constants.from_loss(
            loss,
            n=n_samples,
            p=(n_features + 1) * loss.outputs,
            domain=Ball(radius),
            row_bound=row_bound(self._row_norm, intercept=True),
            ridge=ridge,
        )

    def declared_set(self, X: Any, y: Any = None) -> ReleasedSet:
        """Set of no draws: the declarations under which ``release`` answers about every model.

        Reads the shape and the column names of a table, and has no privacy cost.

        Parameters
        ----------
        X, y : array-like
            As for :meth:`fit`; classes must be declared.

        Returns
        -------
        ReleasedSet
            Without models; with the ball, loss, ridge and ψ of the plan.

        Raises
        ------
        CuratorOnlyError
            If values of the schema were read off the rows and nobody confirmed them.
        """
        # With a ledger no value is read to plan; private scaling belongs to draws.
        pending = PendingLedger(Path(), self._epsilon, self._delta)
        declared = clone(self).set_params(ledger=pending, standardize=None)
        table = declared._table(X, y)
        if table.leak:
            raise CuratorOnlyError(f"nothing of this table can be released: {table.leak}")
        planned = declared._planned(*table.shape, declared._n_classes(table))
        return ReleasedSet(
            coef=np.empty((0, planned.p)),
            **self._set_declarations(table, declared._public_attributes(table)),
            link=declared._loss_for(declared._n_classes(table)).link,
            plan=planned.without_candidates(),
            guarantee=compose([]),
            schema=released_schema(table.schema, table.feature_names),
        )

    def _set_declarations(self, table: TableAdapter, public: dict[str, Any]) -> dict[str, Any]:
        """Names, classes and bounds of a set of linear models of this table."""
        return {
            "feature_names": (*table.feature_names, "intercept"),
            "classes": tuple(np.asarray(public.get("classes_", ())).tolist()),
            "row_norm": self._row_norm,
            "target_bounds": self._target_bounds(),
            "feature_groups": table.feature_groups,
        }

    def _target_bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _typical_target(self) -> tuple[float, float] | None:
        """Typical mean and deviation of the mapped target, if they are declared."""
        return None

    @property
    def _patience(self) -> int | None:
        """Consecutive rejected proposals after which exact draws give up; None for never."""
        return USUAL_PATIENCE if isinstance(self.patience, str) else self.patience

    def _planned(
        self, n_samples: int, n_features: int, n_classes: int | None = None, in_chunks: bool = False
    ) -> Plan:
        """Plan by the rule for every parameter that is "auto"; does not warn."""
        feasibility.check_budget(self)
        loss = self._loss_for(n_classes)
        rule = feasibility.ledger_rule(self.ledger, self._delta)
        options: dict[str, Any] = {
            "n": n_samples,
            "p": (n_features + 1) * loss.outputs,
            "loss": loss,
            "row_norm": row_bound(self._row_norm, intercept=True),
            "ledger": rule,
            "epsilon": self._epsilon,
            "delta": self._delta,
            "in_chunks": in_chunks,
            "patience": self._patience,
            **{name: getattr(self, name) for name in _PLANNED_FOR},
            **{name: getattr(self, name) for name in _OF_PATHS if hasattr(self, name)},
        }
        if mechanism_traits(self.mechanism).curator_only and self.n_draws == AUTO:
            options["n_draws"] = MOST_DRAWS  # draws for the curator only have no privacy cost
        columns = self._columns_plan(n_samples, n_features, loss, rule)
        options |= {"mechanism": self.mechanism, "goal": self.goal}
        if columns is None or self.standardize == PRIVATE:
            planned = selection.select(**options, columns=columns)
        elif self.psi == 0 or self.n_draws != AUTO:
            one_model = self.psi == 0 or self.n_draws == 1  # the columns of sets stay as they are
            planned = selection.select(**options, columns=columns if one_model else None)
        else:
            planned = selection.select(**options)
            if planned.n_draws == 1:  # what remains of the budget is for one model, too
                planned = selection.select(**{**options, "n_draws": 1}, columns=columns)
        if planned.n_draws > 1:
            return planned
        simulation = partial(
            expected_gain,
            declared=self._declared is not None,
            target=self._typical_target(),
            base_rate=self._declared_rate,
        )
        return replace(planned, simulation=simulation)

    def _columns_plan(
        self, n_samples: int, n_features: int, loss: Loss, ledger: bool | str
    ) -> ColumnsPlan | None:
        """Private centres and spreads that may be part of the plan; None if they are not."""
        if n_features == 0 or self.standardize is None:
            return None
        columns = ColumnsPlan(
            n_samples, n_features, self._row_norm, self._epsilon, self._delta, ledger=ledger
        )
        shares = None if self._declared is None else self._declared.scale_shares
        useful = columns.improves(regression=loss.link == "identity", shares=shares)
        by_default = self.mechanism == AUTO and useful
        return columns if self.standardize == PRIVATE or by_default else None

    def _warn(self, planned: Plan) -> None:
        # The curator's uniform draws lie in the set by construction, so no hit rate is needed.
        if self._warns and not mechanism_traits(self.mechanism).stays_inside:
            warn_if_weak(planned, "this plan")
            warn_if_delta_is_large(self._delta, planned.n)

    def _plan_fit(self, table: TableAdapter) -> base.PlannedFit:
        n_classes = self._n_classes(table)
        loss = self._loss_for(n_classes)
        planned = self._planned(*table.shape, n_classes, table.is_chunked)
        self._warn(planned)
        if self._warns and self.mechanism != AUTO:  # automatic selection has checked this already
            feasibility.check_feasibility(planned, self.mechanism, self.patience)
        context = sklearn_compat.callback_context(self, planned.n_draws)
        return base.PlannedFit(
            self._guarantee(planned),
            note=f"{type(self).__name__}, {self._ledger_note(planned)}",
            parameters=self._ledger_parameters(planned),
            draw=lambda guarantee: self._sample(table, loss, planned, guarantee, context),
        )

    def _sample(
        self,
        table: TableAdapter,
        loss: Loss,
        planned: Plan,
        guarantee: Guarantee,
        context: sklearn_compat.CallbackContext,
    ) -> dict[str, Any]:
        """Read the rows, draw, and return the fitted attributes."""
        rng = self._generator()
        problem, scale = self._problem(table, loss, planned, rng)
        if table.clipping_is_unusual:
            base.warn_clipped_rows(problem.clipped_share, self._row_norm)
        public = {**self._public_attributes(table), "scale_": scale}
        target = GibbsTarget.of(problem, planned)

        def attributes(draws: Draws) -> dict[str, Any]:
            kept, of_path = len(draws.losses), isinstance(planned.details, StatesDetails)
            final = base.stopped_guarantee(guarantee, kept, planned.n_draws)
            stopped = of_path and kept < planned.n_draws
            plan = without_promise(planned) if stopped else planned
            stated = {**public, "plan_": plan, "guarantee_": final}
            return {**stated, **self._private(table, target, stated, draws)}

        reporter = base.DrawReporter(self, context, attributes)
        watched = sklearn_compat.has_callbacks(self)  # callbacks display progress themselves
        with progress.tally(planned.n_draws, "drawing", visible=not watched) as done:

            def report(draws: Draws) -> bool:
                done(len(draws.losses))
                return reporter(draws)

            draws = get_mechanism(planned.mechanism).draw(problem, planned, rng, report)
        return reporter.finished(draws)

    def _private(
        self, table: TableAdapter, target: GibbsTarget, public: dict[str, Any], draws: Draws
    ) -> dict[str, Any]:
        """Fitted attributes that depend on the draws: the (mean) model."""
        theta = draws.coef.mean(axis=0).reshape(target.problem.loss.outputs, -1)
        scale: ColumnMap | None = public["scale_"]
        return self._linear_attributes(theta if scale is None else scale.original(theta))

    def _guarantee(self, planned: Plan) -> Guarantee:
        within = (planned.epsilon, planned.delta) if planned.ledger else planned.cost
        return replace(planned.guarantee, requested=within)

    def _ledger_note(self, planned: Plan) -> str:
        return f"{planned.n_draws} draws, ψ={planned.psi:g}"

    def _ledger_parameters(self, planned: Plan) -> dict[str, Any]:
        return {
            "n": planned.n,
            "p": planned.p,
            # An ellipsoid has no temperature, and a path has no pure privacy cost.
            **({"beta": planned.beta} if math.isfinite(planned.beta) else {}),
            **({"eta": planned.eta} if math.isfinite(planned.eta) else {}),
            "loss": planned.loss,
            **{k: getattr(self, k) for k in ("psi", "epsilon", "delta")},
            "row_norm": self._row_norm,
            "sampler": planned.mechanism,
            **{k: getattr(planned, k) for k in ("n_draws", "radius", "ridge")},
            "patience": self._patience,
            **({} if planned.columns is None else {"columns": planned.columns.cost}),
        }


@base.with_parameters
class BaseRashomon(LivePathMixin, BaseDraws):
    """Plan and draw a Rashomon set of linear models; subclasses define targets and predictions."""

    psi: float = 0.02
    n_draws: int | str = AUTO
    patience: int | str | None = AUTO
    batch_size: int | str | None = AUTO
    batch_order: str = POISSON
    share: float = USUAL_SHARE

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "psi": [Interval(Real, 0, None, closed="left")],
        "n_draws": [feasibility.N_DRAWS, StrOptions({AUTO})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO}), None],
        "batch_order": [StrOptions(set(BATCH_ORDERS))],
        "share": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO}), None],
    }

    def _planned(
        self, n_samples: int, n_features: int, n_classes: int | None = None, in_chunks: bool = False
    ) -> Plan:
        """Say why "auto" draws one model."""
        planned = super()._planned(n_samples, n_features, n_classes, in_chunks)
        if self.psi == 0 or self.n_draws != AUTO or planned.n_draws > 1:
            return planned
        reason = (
            f"no set of 5 models has a guaranteed hit rate of {LEAST_HITS:.0%}, and no path of "
            f"{WEAK_HIT_RATE:.0%}"
        )
        return replace(planned, reason="; ".join(filter(None, (reason, planned.reason))))

    def _path_steps(
        self, table: TableAdapter, earlier: ReleasedSet | None, n_draws: int
    ) -> LinearSteps:
        return LinearSteps(self, table, earlier, n_draws)

    def predict_each(self, X: ArrayLike) -> NDArray[Any]:
        """Predictions of every drawn model."""
        return self._predictions(self._scores(X))

    def _scores(self, X: ArrayLike) -> FloatArray:
        rows = self._encoded_rows(X).view(EncodedRows)
        return self.rashomon_set_.scores(rows)

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        raise TypeError(f"{type(self).__name__} must implement _predictions")

    def _private(
        self, table: TableAdapter, target: GibbsTarget, public: dict[str, Any], draws: Draws
    ) -> dict[str, Any]:
        """Add the set of models."""
        problem, mechanism = target.problem, public["plan_"].mechanism
        traits = mechanism_traits(mechanism)
        models = RashomonSet(
            coef=draws.coef,
            **self._set_declarations(table, public),
            link=problem.loss.link,
            plan=public["plan_"],
            guarantee=public["guarantee_"],
            losses=draws.losses,
            minimum=problem.minimum,
            clipped_share=problem.clipped_share,
            acceptance=draws.acceptance,
            mechanism=mechanism,
            ellipsoid=draws.region,
            scale=public["scale_"],
            schema=table.schema,
        )
        if traits.curator_only and traits.stays_inside:
            from rashomon_explorer.mechanisms.hit_and_run import reaches_sphere

            models = replace(models, reaches_sphere=reaches_sphere(target, draws.coef))
        return {**super()._private(table, target, public, draws), "rashomon_set_": models}

    def _set_fitted_attributes(self, fitted: dict[str, Any]) -> None:
        if fitted["rashomon_set_"].reaches_sphere:
            base.warn_ball_boundary(plan_radius(fitted["plan_"]))
        super()._set_fitted_attributes(fitted)


def plan_radius(planned: Plan) -> float:
    """Radius of the ball in the plan of an estimator."""
    assert planned.radius is not None  # every mechanism states the ball of its plan
    return planned.radius
