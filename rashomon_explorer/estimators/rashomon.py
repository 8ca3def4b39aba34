"""Base of the estimators that draw a Rashomon set."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, placed_on
from rashomon_explorer._utils.progress import tally
from rashomon_explorer._utils.sklearn_compat import (
    CallbackContext,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    callback_context,
    has_callbacks,
)
from rashomon_explorer._utils.validation import accepts_table
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.estimators.base import (
    BasePrivateEstimator,
    DrawReporter,
    find_data_dependent_step,
    warn_ball_boundary,
    warn_if_shortened,
    warn_if_uncharged,
    warn_leak,
)
from rashomon_explorer.estimators.feasibility import (
    DELTA,
    EPSILON,
    N_DRAWS,
    check_budget,
    check_feasibility,
    ledger_rule,
)
from rashomon_explorer.estimators.selection import (
    PRIVATE,
    plan_named,
    plan_with_private_scaling,
    select_mechanism,
    wants_private_scaling,
)
from rashomon_explorer.estimators.tables import ChunkedTable, LazyTable, a_number, predict_in_chunks
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.planning.options import AUTO, MOST_DRAWS
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan
from rashomon_explorer.mechanisms.planning.suggestions import warn_if_weak, warn_large_delta
from rashomon_explorer.mechanisms.samplers.base import Draws, Sampler, collect
from rashomon_explorer.mechanisms.samplers.exponential import USUAL_PATIENCE
from rashomon_explorer.mechanisms.samplers.hit_and_run import reaches_sphere
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS, sampler_traits
from rashomon_explorer.mechanisms.samplers.scaling import released_map
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Charge, Guarantee, Ledger
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss, get_loss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.sklearn_models import EncodedCoefficients

USUAL_NORM = 1.0
"""Default bound on ‖x‖."""

ENCODED_NORM = 2.0
"""Typical norm of a schema-encoded row; the appended constant 1 then has a small cost."""

_PLANNED_FOR = ("psi", "radius", "ridge", "n_draws")


class RashomonParameters(BasePrivateEstimator):
    """Parameters of both estimators, and plans made from public numbers."""

    _loss: ClassVar[str]

    # Draws are rounded to multiples of 2⁻²⁰: in a smaller ball, or with a larger ridge, rounding
    # would dominate them.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "psi": [Interval(Real, 0, None, closed="left")],
        "epsilon": [EPSILON],
        "delta": [DELTA],
        "n_draws": [N_DRAWS, StrOptions({AUTO})],
        "mechanism": [StrOptions({AUTO, *SAMPLERS})],
        "radius": [Interval(Real, 2.0**-20, None, closed="left"), StrOptions({AUTO})],
        "row_norm": [Interval(Real, 0, None, closed="neither"), StrOptions({AUTO})],
        "ridge": [Interval(Real, 0, 2.0**20, closed="both"), StrOptions({AUTO})],
        "standardize": [StrOptions({AUTO, PRIVATE}), None],
        "patience": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO}), None],
        "schema": [TableSchema, str, os.PathLike, None],
        "ledger": [str, os.PathLike, Ledger, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        psi: float,
        epsilon: float,
        delta: float,
        n_draws: int | str,
        mechanism: str,
        radius: float | str,
        row_norm: float | str,
        ridge: float | str,
        standardize: str | None,
        patience: int | str | None,
        schema: TableSchema | str | os.PathLike[str] | None,
        ledger: str | os.PathLike[str] | Ledger | None,
        random_state: int | np.random.RandomState | None,
    ) -> None:
        self.psi = psi
        self.epsilon = epsilon
        self.delta = delta
        self.n_draws = n_draws
        self.mechanism = mechanism
        self.radius = radius
        self.row_norm = row_norm
        self.ridge = ridge
        self.standardize = standardize
        self.patience = patience
        self.schema = schema
        self.ledger = ledger
        self.random_state = random_state

    @accepts_table
    def plan(self, n_samples: int, n_features: int | None = None) -> Plan:
        """Return the plan for a table of this shape; reads no row and has no privacy cost.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or the table itself: only its shape is read. A schema
            determines the number of encoded columns; n_features may then be omitted.

        Returns
        -------
        Plan
            Temperature, privacy cost of a draw, guaranteed hit rate and excess bound.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        return self._planned(n_samples, self._n_encoded(n_features), get_loss(self._loss))

    @accepts_table
    def constants(self, n_samples: int, n_features: int | None = None) -> Constants:
        """Return the public constants of the problem for this many rows; reads none."""
        return self._constants(n_samples, self._n_encoded(n_features), get_loss(self._loss))

    @property
    def _row_norm(self) -> float:
        """Declared bound on ‖x‖."""
        if not isinstance(self.row_norm, str):
            return self.row_norm
        return USUAL_NORM if self.schema is None else ENCODED_NORM

    @property
    def _patience(self) -> int | None:
        """Consecutive rejected proposals after which exact draws give up; None for never."""
        return USUAL_PATIENCE if isinstance(self.patience, str) else self.patience

    def _planned(self, n_samples: int, n_features: int, loss: Loss) -> Plan:
        planned = self._plan_with_scaling(n_samples, n_features, loss)
        # The curator's uniform draws lie in the set by construction, so no hit rate is needed.
        if not sampler_traits(self.mechanism).stays_inside:
            warn_if_weak(planned, "this plan")
            warn_large_delta(self.delta, n_samples)
        return planned

    def _plan_with_scaling(self, n_samples: int, n_features: int, loss: Loss) -> Plan:
        """Plan the draws, with private centres and spreads if these are requested."""
        check_budget(self)
        planned = self._drawn_for(n_samples, n_features, loss, self.epsilon, self.delta)
        if n_features == 0 or self.standardize is None:
            return planned
        paid = ColumnsPlan(
            n_samples,
            n_features,
            self._row_norm,
            self.epsilon,
            self.delta,
            ledger=ledger_rule(self.ledger, self.delta),
        )
        if not wants_private_scaling(self.standardize, self.mechanism, planned, paid):
            return planned
        shape = n_samples, n_features, loss
        # A remaining budget that suffices for one model only is not planned for a set again.
        settled: dict[str, Any] = {"n_draws": 1} if self.standardize == AUTO else {}
        return plan_with_private_scaling(
            paid, lambda *left: self._drawn_for(*shape, *left, **settled)
        )

    def _drawn_for(
        self,
        n_samples: int,
        n_features: int,
        loss: Loss,
        epsilon: float,
        delta: float,
        **settled: Any,
    ) -> Plan:
        """Resolve "auto" parameters by the rule, then plan the draws; does not warn."""
        asked: dict[str, Any] = {
            "n": n_samples,
            "p": (n_features + 1) * loss.outputs,
            "loss": loss,
            "row_norm": row_bound(self._row_norm, intercept=True),
            "ledger": ledger_rule(self.ledger, self.delta),
            "epsilon": epsilon,
            "delta": delta,
            **{name: getattr(self, name) for name in _PLANNED_FOR},
            **settled,
        }
        if self.mechanism != AUTO:
            if sampler_traits(self.mechanism).n_chains and self.n_draws == AUTO:
                asked["n_draws"] = MOST_DRAWS  # draws for the curator only have no privacy cost
            return plan_named(self.mechanism, **asked)
        return select_mechanism(**asked)

    def _carrier(self, planned: Plan) -> str:
        """Name of the sampler that executes a plan."""
        return planned.mechanism if self.mechanism == AUTO else self.mechanism

    def _constants(self, n_samples: int, n_features: int, loss: Loss) -> Constants:
        radius: Any = self.radius
        ridge: Any = self.ridge
        if AUTO in (radius, ridge):
            planned = self._plan_with_scaling(n_samples, n_features, loss)
            radius, ridge = plan_radius(planned), planned.ridge
        return Constants.of(
            loss,
            n=n_samples,
            p=(n_features + 1) * loss.outputs,
            domain=Ball(radius),
            row_bound=row_bound(self._row_norm, intercept=True),
            ridge=ridge,
        )


def plan_radius(planned: Plan) -> float:
    """Radius of the ball in the plan of an estimator."""
    assert planned.radius is not None  # every mechanism states the ball of its plan
    return planned.radius


class BaseRashomon(EncodedCoefficients, CallbackSupportMixin, RashomonParameters):
    """Base of Rashomon-set estimators; subclasses define targets and predictions."""

    def predict_each(self, X: ArrayLike) -> NDArray[Any]:
        """Predictions of every drawn model."""
        return self._predictions(self._scores(X))

    @predict_in_chunks(a_number)
    def decision_spread(self, X: ArrayLike) -> FloatArray:
        """Disagreement of the drawn models about each row.

        The standard deviation over the draws of the predicted target, or of the class probability
        where it is largest; with two classes both have the same. It can serve to decide or abstain
        (§1.2 of Ganesh et al. 2023).
        """
        spread = self._scores(X).std(axis=0)
        return np.asarray(spread.max(axis=-1) if spread.ndim == 2 else spread)

    def _scores(self, X: ArrayLike) -> FloatArray:
        rows = self._checked(X)
        return self.rashomon_set_.scores(rows)

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        raise TypeError(f"{type(self).__name__} must implement _predictions")

    def _target_bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _fit(self, table: LazyTable | ChunkedTable, leak: str) -> None:
        with placed_on(table.arrays):
            self._fit_there(table, leak)

    def _fit_there(self, table: LazyTable | ChunkedTable, leak: str) -> None:
        """Plan, charge, read the rows, and set the fitted attributes last."""
        leak = leak or find_data_dependent_step(self) or table.unconfirmed
        loss = self._posed(table)
        planned = self._planned(*table.shape, loss)
        if self.mechanism != AUTO:  # automatic selection has checked this already
            check_feasibility(planned, self.mechanism, self.patience)
        sampler = self._sampler(planned, loss)
        guarantee = no_guarantee(leak) if leak else self._guarantee(planned, sampler)
        if guarantee.holds:
            stated = (*guarantee.assumptions, *table.assumptions)
            guarantee = replace(guarantee, assumptions=stated)
        context = callback_context(self, planned.n_draws)
        if self.ledger is not None:
            warn_if_uncharged(guarantee, leak)

        def draw() -> dict[str, Any]:
            if charge is not None:
                table.recognised(charge.path)
            return self._drawn(table, loss, planned, sampler, guarantee, context)

        charge = self._reserve(guarantee, planned)
        fitted = draw() if charge is None else charge.run(draw)
        self._hold(fitted)

    def _posed(self, table: LazyTable | ChunkedTable) -> Loss:
        return get_loss(self._loss)

    def _drawn(
        self,
        table: LazyTable | ChunkedTable,
        loss: Loss,
        planned: Plan,
        sampler: Sampler,
        guarantee: Guarantee,
        context: CallbackContext,
    ) -> dict[str, Any]:
        """Read the rows, draw, and return the fitted attributes."""
        rng = self._generator()
        if guarantee.holds and (leak := table.leak):
            warn_leak(leak)
            guarantee = no_guarantee(leak)
        problem, scale, shortened = self._problem(table, loss, planned, rng)
        if table.may_be_long:
            warn_if_shortened(shortened, self._row_norm)
        public = {**self._public(table), "scale_": scale}

        target = GibbsTarget.of(problem, planned)
        whole = sampler_traits(self._carrier(planned))

        def attributes(draws: Draws) -> dict[str, Any]:
            kept = _of_some(guarantee, len(draws.losses), planned.n_draws)
            models = self._rashomon_set(table, problem, planned, kept, draws, public, shortened)
            if whole.curator_only and whole.stays_inside:
                models = replace(models, reaches_sphere=reaches_sphere(target, draws.coef))
            return {**public, **self._private(models)}

        reporter = DrawReporter(self, context, attributes)
        watched = has_callbacks(self)  # callbacks display progress themselves
        with tally(planned.n_draws, "drawing", shown=not watched) as done:

            def report(draws: Draws) -> bool:
                done(len(draws.losses))
                return reporter(draws)

            draws = collect(sampler, target, planned.n_draws, rng, report)
        if reporter.reported == 0:
            raise SamplerError("stopped before the first draw: there is no model to return")
        found = attributes(draws.first(reporter.reported))
        if found["rashomon_set_"].reaches_sphere:
            warn_ball_boundary(plan_radius(planned))
        return found

    def _problem(
        self, table: LazyTable | ChunkedTable, loss: Loss, planned: Plan, rng: np.random.Generator
    ) -> tuple[Problem, ColumnMap | None, float]:
        """Return the problem of the rows, the released map and the share of clipped rows."""
        declared: dict[str, Any] = {
            "loss": loss,
            "radius": plan_radius(planned),
            "row_norm": self._row_norm,
            "ridge": planned.ridge,
        }
        if isinstance(table, ChunkedTable):
            return self._chunked_problem(table, declared, planned.columns, rng)
        rows, scale = table.values[0], None
        if planned.columns is not None:
            scale = released_map(rows, planned.columns, rng)
        problem = Problem(rows, self._targets(table), **declared, scale=scale)
        return problem, scale, problem.clipped_share

    def _sampler(self, planned: Plan, loss: Loss) -> Sampler:
        n_features = planned.p // loss.outputs - 1
        steepest = self._constants(planned.n, n_features, loss).L
        return SAMPLERS[self._carrier(planned)].for_plan(
            planned, patience=self._patience, spread=steepest * 2 * plan_radius(planned)
        )

    def _guarantee(self, planned: Plan, sampler: Sampler) -> Guarantee:
        drawn = replace(sampler.guarantee(planned), requested=(planned.epsilon, planned.delta))
        return self._stated(drawn)

    def _reserve(self, guarantee: Guarantee, planned: Plan) -> Charge | None:
        return self._charged(
            guarantee,
            note=f"{type(self).__name__}, {planned.n_draws} draws, ψ={planned.psi:g}",
            parameters={
                "n": planned.n,
                "p": planned.p,
                # An ellipsoid has no temperature, and a path has no pure privacy cost.
                **({"beta": planned.beta} if math.isfinite(planned.beta) else {}),
                **({"eta": planned.eta} if math.isfinite(planned.eta) else {}),
                "loss": planned.loss,
                **{k: getattr(self, k) for k in ("psi", "epsilon", "delta")},
                "row_norm": self._row_norm,
                "sampler": self._carrier(planned),
                **{k: getattr(planned, k) for k in ("n_draws", "radius", "ridge")},
                "patience": self._patience,
                **({} if planned.columns is None else {"columns": planned.columns.cost}),
            },
        )

    def _rashomon_set(
        self,
        table: LazyTable | ChunkedTable,
        problem: Problem,
        planned: Plan,
        guarantee: Guarantee,
        draws: Draws,
        public: dict[str, Any],
        shortened: float,
    ) -> RashomonSet:
        return RashomonSet(
            coef=draws.coef,
            feature_names=(*table.feature_names, "intercept"),
            classes=tuple(np.asarray(public.get("classes_", ())).tolist()),
            link=problem.loss.link,
            row_norm=self._row_norm,
            target_bounds=self._target_bounds(),
            plan=planned,
            guarantee=guarantee,
            losses=draws.losses,
            minimum=problem.minimum,
            clipped_share=shortened,
            acceptance=draws.acceptance,
            mechanism=self._carrier(planned),
            feature_groups=table.feature_groups,
            ellipsoid=draws.region,
            scale=public["scale_"],
            schema=table.schema,
        )

    def _private(self, models: RashomonSet) -> dict[str, Any]:
        """Fitted attributes that depend on the draws."""
        mean = models.coef.mean(axis=0).reshape(models.outputs, -1)
        return {
            "rashomon_set_": models,
            "guarantee_": models.guarantee,
            "plan_": models.plan,
            **self._mean_model(mean if models.scale is None else models.scale.original(mean)),
        }

    def _mean_model(self, mean: FloatArray) -> dict[str, Any]:
        """Coefficients and intercept of the mean model (outputs, n_features + 1)."""
        raise TypeError(f"{type(self).__name__} must implement _mean_model")


def _of_some(guarantee: Guarantee, kept: int, n_draws: int) -> Guarantee:
    """Guarantee of the first ``kept`` draws; ``kept`` must not depend on private data."""
    if kept == n_draws or not guarantee.holds:
        return guarantee
    stated = f"{kept} of {n_draws} draws were kept, a number chosen without regard to private rows"
    return replace(guarantee, assumptions=(*guarantee.assumptions, stated))
