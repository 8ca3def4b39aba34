"""Base of the estimators of one private model: plan, charge, fit and commit."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.sklearn_compat import Interval, StrOptions
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.estimators.base import BasePrivateEstimator, PlannedFit, warn_clipped_rows
from rashomon_explorer.estimators.feasibility import check_budget, ledger_rule
from rashomon_explorer.estimators.selection import (
    GOALS,
    PRIVATE,
    plan_with_private_scaling,
    planned_model,
)
from rashomon_explorer.estimators.tables import Table
from rashomon_explorer.exceptions import WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms.one_model.plan import ModelPlan
from rashomon_explorer.mechanisms.one_model.registry import METHODS
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan
from rashomon_explorer.mechanisms.planning.suggestions import (
    warn_large_delta,
    weak_warnings_suppressed,
)
from rashomon_explorer.mechanisms.samplers.base import to_public_grid
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.constants import row_bound
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.sets.scores import linear_scores
from rashomon_explorer.sets.sklearn_models import EncodedCoefficients

_PLANNED_FOR = ("mechanism", "goal", "radius", "ridge")


class BaseOneModel(EncodedCoefficients, BasePrivateEstimator[ModelPlan]):
    """Base of estimators of one model; subclasses define targets, loss and predictions."""

    scale_: ColumnMap | None
    _on_device = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePrivateEstimator._parameter_constraints,
        "mechanism": [StrOptions({AUTO, *METHODS})],
        "goal": [StrOptions(set(GOALS))],
        "radius": [Interval(Real, 2.0**-20, None, closed="left"), StrOptions({AUTO})],
        "row_norm": [Interval(Real, 0, None, closed="neither"), StrOptions({AUTO})],
        "ridge": [Interval(Real, 0, 2.0**20, closed="both")],
        "standardize": [StrOptions({AUTO, PRIVATE}), None],
    }

    @property
    def excess_bound_(self) -> float:
        """Bound on the expected excess loss, computed before a row is read."""
        planned: ModelPlan = self.plan_
        return planned.offer.bound(self.goal)

    def _planned(
        self,
        n_samples: int,
        n_features: int,
        n_classes: int | None = None,
        in_chunks: bool = False,
    ) -> ModelPlan:
        check_budget(self)
        loss: Any = self._loss_of(n_classes)  # frozen, which the protocol does not declare

        def plan_at(epsilon: float, delta: float) -> ModelPlan:
            return planned_model(
                n=n_samples,
                p=(n_features + 1) * loss.outputs,
                loss=loss,
                row_norm=row_bound(self._row_norm, intercept=True),
                ledger=ledger_rule(self.ledger, self.delta),
                epsilon=epsilon,
                delta=delta,
                in_chunks=in_chunks,
                **{name: getattr(self, name) for name in _PLANNED_FOR},
            )

        paid = self._columns(n_samples, n_features)
        whole = self.epsilon, self.delta
        planned = plan_at(*whole) if paid is None else plan_with_private_scaling(paid, plan_at)
        taken = planned.columns
        if taken is not None and self.standardize == AUTO and not taken.improves_the_plan:
            planned = plan_at(*whole)
        if planned.weakness and not weak_warnings_suppressed():
            warnings.warn(
                f"this plan has a weak guarantee: {planned.weakness}. More rows, a larger ε or "
                "fewer columns help",
                WeakGuaranteeWarning,
                stacklevel=warn_stacklevel(),
            )
        warn_large_delta(self.delta, n_samples)
        return planned

    def _columns(self, n_samples: int, n_features: int) -> ColumnsPlan | None:
        """Plan for private centres and spreads, or None if they are not requested."""
        if n_features == 0 or self.standardize is None:
            return None
        return ColumnsPlan(
            n_samples,
            n_features,
            self._row_norm,
            self.epsilon,
            self.delta,
            ledger=ledger_rule(self.ledger, self.delta),
        )

    def _plan_fit(self, table: Table) -> PlannedFit:
        n_classes = self._n_classes(table)
        planned = self._planned(*table.shape, n_classes, table.is_chunked)
        if table.is_chunked:
            _check_sums_suffice(planned)
        loss = self._loss_of(n_classes)
        return PlannedFit(
            self._guarantee(planned),
            note=f"{type(self).__name__}, {planned.mechanism}",
            parameters={
                "n": planned.n,
                "p": planned.p,
                "loss": loss.name,
                "sampler": planned.mechanism,
                **{k: getattr(self, k) for k in ("epsilon", "delta")},
                "row_norm": self._row_norm,
                **{k: getattr(planned, k) for k in ("radius", "ridge")},
            },
            draw=lambda guarantee: self._drawn(table, loss, planned, guarantee),
        )

    def _guarantee(self, planned: ModelPlan) -> Guarantee:
        return planned.guarantee

    def _drawn(
        self, table: Table, loss: Loss, planned: ModelPlan, guarantee: Guarantee
    ) -> dict[str, Any]:
        """Read the rows, fit the model, and return the fitted attributes; none is curator-only."""
        rng = self._generator()
        problem, scale, clipped = self._problem(table, loss, planned, rng)
        if table.may_be_long:
            warn_clipped_rows(clipped, self._row_norm)
        with one_blas_thread():
            drawn = METHODS[planned.mechanism].draw(problem, planned.offer, rng)
        theta = to_public_grid(drawn).reshape(loss.outputs, -1)
        return {
            **self._public(table),
            "scale_": scale,
            "plan_": planned,
            "guarantee_": guarantee,
            **self._model(theta if scale is None else scale.original(theta)),
        }

    def _linear(self, theta: FloatArray, X: ArrayLike) -> FloatArray:
        """Scores (n_samples, outputs) of rows clipped to the declared norm."""
        rows = self._encoded_rows(X)
        if self.scale_ is not None:
            theta = self.scale_.scaled(theta)
        return linear_scores(theta.reshape(1, -1), rows, self._row_norm, len(theta), self.scale_)[0]

    def _fit_summary(self) -> list[str]:
        planned: ModelPlan = self.plan_
        promised = f"excess ≤ {rounded_up(self.excess_bound_)} on average"
        return [f"{planned.mechanism} on {planned.n:,} rows", promised]


def _check_sums_suffice(planned: ModelPlan) -> None:
    """Raise if the mechanism samples rows and the table is never in memory at once."""
    if not planned.offer.picks_rows:
        return
    others = [one.name for one in planned.options if one.applies and not one.picks_rows]
    raise TypeError(
        f"mechanism {planned.mechanism!r} samples rows, but these rows are chunked and never in "
        f"memory at once. Nothing was read or charged: use a mechanism that needs sums only, "
        f"{' or '.join(others)}, or fit a fixed random sample, X, y = "
        "rows.sample(5_000).to_memory(), and report it as one"
    )
