"""How the two estimators fit: plan, reserve, draw, commit."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import placed_on
from rashomon_explorer.coefficients import EncodedCoefficients
from rashomon_explorer.column_map import ColumnMap
from rashomon_explorer.estimators.beforehand import hear_before
from rashomon_explorer.estimators.block_table import BlockTable
from rashomon_explorer.estimators.callbacks import DrawReporter
from rashomon_explorer.estimators.enclosing import learnt_before
from rashomon_explorer.estimators.over_blocks import a_number, over_blocks
from rashomon_explorer.estimators.parameters import RashomonParameters, radius_of
from rashomon_explorer.estimators.unread import UnreadTable
from rashomon_explorer.estimators.warn import (
    warn_if_shortened,
    warn_if_uncharged,
    warn_of_a_leak,
    warn_of_sphere,
)
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses import Loss, get_loss
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.rule import AUTO
from rashomon_explorer.privacy import Charge, Guarantee, no_guarantee
from rashomon_explorer.problem import Problem
from rashomon_explorer.progress import tally
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.samplers import SAMPLERS, Sampler, traits_of
from rashomon_explorer.samplers.collect import Draws, collect
from rashomon_explorer.samplers.columns import released_map
from rashomon_explorer.samplers.hit_and_run import reaches_sphere
from rashomon_explorer.sklearn_compat import (
    CallbackContext,
    CallbackSupportMixin,
    callback_context,
    has_callbacks,
)
from rashomon_explorer.target import GibbsTarget


class BaseRashomon(EncodedCoefficients, CallbackSupportMixin, RashomonParameters):
    """Draws a Rashomon set; subclasses say what targets and predictions are."""

    def predict_each(self, X: ArrayLike) -> NDArray[Any]:
        """Prediction of every drawn model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_samples)
            Class labels, or predicted targets.
        """
        return self._predictions(self._scores(X))

    @over_blocks(a_number)
    def decision_spread(self, X: ArrayLike) -> FloatArray:
        """How far the drawn models disagree about each row.

        The standard deviation over the draws of the predicted target or probability, that of
        the class about which they disagree most; with two classes both have the same. With it
        one decides or abstains (§1.2 of Ganesh et al. 2023).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            In units of the prediction; the population form (divided by n_draws), so that one
            draw has spread 0.
        """
        spread = self._scores(X).std(axis=0)
        return np.asarray(spread.max(axis=-1) if spread.ndim == 2 else spread)

    def _scores(self, X: ArrayLike) -> FloatArray:
        rows = self._checked(X)
        return self.rashomon_set_.scores(rows)

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        raise TypeError(f"{type(self).__name__} must say what a score means")

    def _target_bounds(self) -> tuple[float, float]:
        return (-1.0, 1.0)

    def _fit(self, table: UnreadTable | BlockTable, leak: str) -> None:
        with placed_on(table.arrays):
            self._fit_there(table, leak)

    def _fit_there(self, table: UnreadTable | BlockTable, leak: str) -> None:
        """Plan, reserve, start, and only then read; at the end set the fitted attributes.

        ``leak`` says what the rows were made with that was learnt from them, if anything.
        """
        leak = leak or learnt_before(self) or table.unconfirmed
        loss = self._posed(table)
        planned = self._planned(*table.shape, loss)
        if self.sampler != AUTO:  # which has tried already
            hear_before(planned, self.sampler, self.patience)
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

    def _posed(self, table: UnreadTable | BlockTable) -> Loss:
        return get_loss(self._loss)

    def _drawn(
        self,
        table: UnreadTable | BlockTable,
        loss: Loss,
        planned: Plan,
        sampler: Sampler,
        guarantee: Guarantee,
        context: CallbackContext,
    ) -> dict[str, Any]:
        """Read the rows and draw; the fitted attributes."""
        rng = self._generator()
        if guarantee.holds and (leak := table.leak):
            warn_of_a_leak(leak)
            guarantee = no_guarantee(leak)
        problem, scale, shortened = self._problem(table, loss, planned, rng)
        if table.may_be_long:
            warn_if_shortened(shortened, self._row_norm)
        public = {**self._public(table), "scale_": scale}

        target = GibbsTarget.of(problem, planned)
        whole = traits_of(self._carrier(planned))

        def attributes(draws: Draws) -> dict[str, Any]:
            kept = _of_some(guarantee, len(draws.losses), planned.n_draws)
            models = self._rashomon_set(table, problem, planned, kept, draws, public, shortened)
            if whole.curator_only and whole.stays_inside:
                models = replace(models, reaches_sphere=reaches_sphere(target, draws.coef))
            return {**public, **self._private(models)}

        reporter = DrawReporter(self, context, attributes)
        watched = has_callbacks(self)  # which shows the work by itself
        with tally(planned.n_draws, "drawing", shown=not watched) as done:

            def report(draws: Draws) -> bool:
                done(len(draws.losses))
                return reporter(draws)

            draws = collect(sampler, target, planned.n_draws, rng, report)
        if reporter.reported == 0:
            raise SamplerError("stopped before the first draw: there is no model to keep")
        found = attributes(draws.first(reporter.reported))
        if found["rashomon_set_"].reaches_sphere:
            warn_of_sphere(radius_of(planned))
        return found

    def _problem(
        self, table: UnreadTable | BlockTable, loss: Loss, planned: Plan, rng: np.random.Generator
    ) -> tuple[Problem, ColumnMap | None, float]:
        """Pose the problem of the rows as the models are to see them.

        With the released map of the columns, if one is paid for, and the share of the rows that
        were longer than declared before it.
        """
        declared: dict[str, Any] = {
            "loss": loss,
            "radius": radius_of(planned),
            "row_norm": self._row_norm,
            "ridge": planned.ridge,
        }
        if isinstance(table, BlockTable):
            return self._problem_of_blocks(table, declared, planned.columns, rng)
        rows, scale = table.values[0], None
        if planned.columns is not None:
            scale = released_map(rows, planned.columns, rng)
        problem = Problem(rows, self._targets(table), **declared, scale=scale)
        return problem, scale, problem.clipped_share

    def _sampler(self, planned: Plan, loss: Loss) -> Sampler:
        n_features = planned.p // loss.outputs - 1
        steepest = self._constants(planned.n, n_features, loss).L
        return SAMPLERS[self._carrier(planned)].for_plan(
            planned, patience=self._patience, spread=steepest * 2 * radius_of(planned)
        )

    def _guarantee(self, planned: Plan, sampler: Sampler) -> Guarantee:
        drawn = replace(sampler.guarantee(planned), asked=(planned.epsilon, planned.delta))
        return self._stated(drawn)

    def _reserve(self, guarantee: Guarantee, planned: Plan) -> Charge | None:
        return self._charged(
            guarantee,
            note=f"{type(self).__name__}, {planned.n_draws} draws, ψ={planned.psi:g}",
            parameters={
                "n": planned.n,
                "p": planned.p,
                # An ellipsoid has no temperature, and a path no pure price.
                **({"beta": planned.beta} if math.isfinite(planned.beta) else {}),
                **({"eta": planned.eta} if math.isfinite(planned.eta) else {}),
                "loss": planned.loss,
                **{k: getattr(self, k) for k in ("psi", "epsilon", "delta")},
                "row_norm": self._row_norm,
                "sampler": self._carrier(planned),
                **{k: getattr(planned, k) for k in ("n_draws", "radius", "ridge")},
                "patience": self._patience,
                **({} if planned.columns is None else {"columns": planned.columns.price}),
            },
        )

    def _rashomon_set(
        self,
        table: UnreadTable | BlockTable,
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
            sampler=self._carrier(planned),
            feature_groups=table.feature_groups,
            ellipsoid=draws.region,
            scale=public["scale_"],
            schema=table.schema,
        )

    def _private(self, models: RashomonSet) -> dict[str, Any]:
        """Fitted attributes that follow from the draws."""
        mean = models.coef.mean(axis=0).reshape(models.outputs, -1)
        return {
            "rashomon_set_": models,
            "guarantee_": models.guarantee,
            "plan_": models.plan,
            **self._mean_model(mean if models.scale is None else models.scale.original(mean)),
        }

    def _mean_model(self, mean: FloatArray) -> dict[str, Any]:
        """Coefficients and intercept of the mean model (outputs, n_features + 1)."""
        raise TypeError(f"{type(self).__name__} must say what its mean model is")


def _of_some(guarantee: Guarantee, kept: int, n_draws: int) -> Guarantee:
    """Guarantee of the first draws alone: how many are kept must not tell what was private.

    A callback may stop a fit by the draws' losses, which are computed from the rows, and no
    program can see by what a person stops.
    """
    if kept == n_draws or not guarantee.holds:
        return guarantee
    stated = f"{kept} of {n_draws} draws were kept, a number chosen without regard to private rows"
    return replace(guarantee, assumptions=(*guarantee.assumptions, stated))
