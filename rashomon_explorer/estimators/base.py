"""Base class of the private estimators: parameters, fit, repr, and the report of draws."""

from __future__ import annotations

import os
import typing
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer import exceptions
from rashomon_explorer._utils import sklearn_compat
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.containers import as_pandas, check_readable
from rashomon_explorer._utils.formatting import hit_rate_text
from rashomon_explorer._utils.randomness import generator, noise_assumptions
from rashomon_explorer._utils.taint import find_leak
from rashomon_explorer._utils.validation import accepts_table, plain_number
from rashomon_explorer.data import TableSchema, cells, encoder
from rashomon_explorer.estimators import feasibility, pipelines
from rashomon_explorer.estimators.docstrings import Kind, with_shared_docs
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.mechanisms.scaling import released_map
from rashomon_explorer.privacy import Guarantee, Ledger
from rashomon_explorer.privacy.guarantee import ALSO_BY, ONE_BY_ONE, condition_text, summary_text
from rashomon_explorer.privacy.ledger.charge import Charge, failure_assumption
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import ChunkedRows, Step
from rashomon_explorer.rows.coercion import is_chunked
from rashomon_explorer.sets.linear import sphere_in_words


class Drawn(Protocol):
    """Draws made so far, with their losses."""

    @property
    def losses(self) -> FloatArray:
        """Loss of each draw."""

    def first(self, count: int) -> Self:
        """Return the first ``count`` draws."""


Draws = TypeVar("Draws", bound=Drawn)


class DrawReporter(Generic[Draws]):
    """Report each draw as a scikit-learn task, and each batch of rejections as a subtask."""

    def __init__(
        self,
        estimator: BaseEstimator,
        context: sklearn_compat.CallbackContext,
        attributes: Callable[[Draws], dict[str, Any]],
    ) -> None:
        self._estimator = estimator
        self._root = context
        self._attributes = attributes
        context.call_on_fit_task_begin(estimator=estimator)
        self._task: sklearn_compat.CallbackContext | None = self._begin()
        self.reported = 0

    def __call__(self, draws: Draws) -> bool:
        """Report new draws; return True to stop after ``reported`` draws."""
        if len(draws.losses) == self.reported:
            proposals = self._open().subcontext(task_name="proposals")
            proposals.call_on_fit_task_begin(estimator=self._estimator)
            return bool(proposals.call_on_fit_task_end(estimator=self._estimator))
        while self.reported < len(draws.losses):
            self.reported += 1
            if self._end(draws.first(self.reported)):
                return True
        return False

    def finished(self, draws: Draws) -> dict[str, Any]:
        """End the fit's task and return the attributes of the draws that were reported."""
        if self.reported == 0:
            raise exceptions.SamplerError(
                "stopped before the first draw: there is no model to return"
            )
        self._root.call_on_fit_task_end(estimator=self._estimator)
        return self._attributes(draws.first(self.reported))

    def _begin(self) -> sklearn_compat.CallbackContext:
        task = self._root.subcontext(task_name="draw", max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self._estimator)
        return task

    def _open(self) -> sklearn_compat.CallbackContext:
        """Task of the next draw; begin it if the previous one has ended."""
        if self._task is None:
            self._task = self._begin()
        return self._task

    def _end(self, draws: Draws) -> bool:
        task, self._task = self._open(), None
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=lambda: self._attributes(draws)
            )
        )


def stopped_guarantee(guarantee: Guarantee, n_kept: int, n_draws: int) -> Guarantee:
    """Guarantee of the first ``n_kept`` draws; ``n_kept`` must not depend on private data."""
    if n_kept == n_draws or not guarantee.holds:
        return guarantee
    stated = (
        f"{n_kept} of {n_draws} draws were kept, a number chosen without regard to private rows"
    )
    return replace(guarantee, assumptions=(*guarantee.assumptions, stated))


def warn_clipped_rows(share: float, row_norm: float) -> None:
    """Warn the curator that rows were clipped, usually because features are not scaled."""
    cells.warn_if_clipped(
        share,
        f"rows are longer than row_norm={row_norm:g}",
        "Scale features by their public ranges first: make_pipeline(PublicBoundsScaler(bounds), "
        "...); or declare a larger row_norm.",
    )


def warn_ball_boundary(radius: float) -> None:
    """Warn the curator that the Rashomon set extends beyond the ball of models."""
    warnings.warn(
        f"{sphere_in_words(radius)}. (Curator only: this was read from private rows.)",
        exceptions.RadiusBindsWarning,
        stacklevel=exceptions.warn_stacklevel(),
    )


Method = TypeVar("Method", bound=Callable[..., Any])

_WHY = (
    "the privacy cost of a draw assumes weight 1/n for every row, and a row with w times the "
    "weight moves the loss w times as far"
)

Schema = TableSchema | str | os.PathLike[str] | None
SCHEMA = [TableSchema, str, os.PathLike, None]
"""Accepted values of the parameter ``schema``."""

REFUSED: Mapping[str, str] = {
    "sample_weight": f"sample_weight is not supported: {_WHY}, so that the largest weight would "
    f"multiply the privacy cost. Omit it; measures compare groups and take weights",
    "class_weight": f"class_weight is not supported: {_WHY}. Omit it, and choose a threshold on "
    f"predict_proba instead: this needs no weights and has no privacy cost",
}
"""Unsupported parameters and their error messages."""


def reject_sample_weight(method: Method) -> Method:
    """Raise TypeError with the reason if a method is called with weights; None is accepted."""

    @wraps(method)
    def refusing(*args: Any, **kwargs: Any) -> Any:
        for name, why in REFUSED.items():
            if kwargs.pop(name, None) is not None:
                raise TypeError(why)
        return method(*args, **kwargs)

    return refusing  # type: ignore[return-value]


@typing.dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def with_parameters(kind: Kind) -> Kind:
    """Let the constructor only store its fields; add inherited constraints and shared docs."""
    stored: Any = dataclass(kw_only=True, eq=False, repr=False, match_args=False)(kind)
    stored.__init__ = reject_sample_weight(stored.__init__)
    constraints: dict[str, list[Any]] = {}
    for inherited in reversed(kind.__mro__):
        constraints |= vars(inherited).get("_parameter_constraints", {})
    stored._parameter_constraints = constraints
    return with_shared_docs(stored)


class PlannedFit(NamedTuple):
    """Cost of a fit, its entry in the ledger, and the work that reads the rows."""

    guarantee: Guarantee
    note: str
    parameters: dict[str, Any]
    draw: Callable[[Guarantee], dict[str, Any]]
    """Returns the fitted attributes, with this guarantee."""


PlanT = TypeVar("PlanT")
Quiet = TypeVar("Quiet", bound="BasePrivateEstimator[Any]")


def quiet(estimator: Quiet) -> Quiet:
    """Let an estimator not warn of weak plans, because its caller shows them; returns it."""
    estimator.__dict__["_warns"] = False  # a warning filter would be shared by all threads
    return estimator


@with_parameters
class BasePrivateEstimator(BaseEstimator, Generic[PlanT]):
    """Plan from public numbers, charge the ledger, read the rows, and set the attributes last."""

    epsilon: float = 1.0
    delta: float = 1e-6
    ledger: str | os.PathLike[str] | Ledger | None = None
    random_state: int | np.random.RandomState | None = None

    _chunked: ClassVar[bool] = True
    """Whether a fit reads chunked rows."""

    _warns: ClassVar[bool] = True
    """Whether plan and fit warn of a weak plan; see :func:`quiet`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [feasibility.EPSILON],
        "delta": [feasibility.DELTA],
        "ledger": [str, os.PathLike, Ledger, None],
        "random_state": ["random_state"],
    }

    if TYPE_CHECKING:
        row_norm: Any = field(init=False)
        schema: Any = field(init=False)
        plan_: Any = field(init=False)
        guarantee_: Guarantee = field(init=False)

    @accepts_table
    def plan(self, n_samples: int, n_features: int | None = None) -> PlanT:
        """Return the plan for a table of this shape; reads no row and has no privacy cost.

        Parameters
        ----------
        n_samples, n_features : int
            Public shape of the table, or the table itself: only its shape is read. A schema
            determines the number of encoded columns; n_features may then be omitted.

        Returns
        -------
        plan
            The object that ``fit`` stores as ``plan_``: mechanism, reason, privacy cost and bounds.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        SamplerError
            If no mechanism is applicable, or the named one is not.

        Warns
        -----
        WeakGuaranteeWarning
            If the plan has a weak guarantee; the message suggests changes.
        """
        planned = self._planned(n_samples, self._n_encoded(n_features))
        self._warn(planned)
        return planned

    @reject_sample_weight
    @sklearn_compat.with_callbacks
    @sklearn_compat.fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike | ChunkedRows, y: ArrayLike | None = None) -> Self:
        """Charge the ledger, then read the rows, and draw the models.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Dask collection or ChunkedRows
            Chunked rows (:func:`rashomon_explorer.rows.chunked`) are never in memory at once;
            their classes must be declared. Searches need whole tables.
        y : array-like of shape (n_samples,)
            Labels or numbers; omitted for chunked rows, which contain their own.

        Returns
        -------
        self
            With the models, and their privacy cost in ``guarantee_``.

        Raises
        ------
        BudgetExceededError
            If the ledger does not allow the privacy cost; nothing was drawn or spent. If it allows
            none that this epsilon can have, chunked rows are not even opened.
        FitError
            For any error caused by the rows after a ledger was charged; the privacy cost stays
            spent, and ``error.detail`` contains the reason, for the curator only.
        ValueError, SamplerError
            If parameters, declared classes or bounds, or shapes are invalid; nothing was read or
            spent. Without a ledger, also for errors caused by the rows.
        TypeError
            If rows are chunked and the mechanism samples rows; nothing was read or spent.
        """
        leak = find_leak(X, y) or pipelines.find_data_dependent_step(self)
        if is_chunked(X) and not leak:
            self._check_room()
        table = self._table(X, y)
        leak = leak or table.leak
        planned = self._plan_fit(table)
        stated = self._with_assumptions(planned.guarantee, table.assumptions)
        guarantee = no_guarantee(leak) if leak else stated
        charge = self._reserve(guarantee, planned, leak)

        def draw() -> dict[str, Any]:
            if charge is not None:
                table.register_with_ledger(charge.path)
            return planned.draw(self._after_reading(guarantee, table))

        self._set_fitted_attributes(draw() if charge is None else charge.run(draw))
        return self

    def check_rows(self, X: Any, y: Any = None) -> None:
        """Check the rows for what would make ``fit`` fail; no charge, for the curator only."""
        curator = copy(self)
        curator.ledger = None  # nothing is charged, so no message is held back
        curator._check_table(curator._table(X, y))

    def _planned(self, n_samples: int, n_features: int, n_classes: int | None = None) -> PlanT:
        """Plan for a number of encoded columns, and of classes if there are any."""
        raise TypeError(f"{type(self).__name__} must implement _planned")

    def _warn(self, planned: PlanT) -> None:
        """Warn of a weak plan."""

    def _plan_fit(self, table: TableAdapter) -> PlannedFit:
        """Plan the fit; reads no value if there is a ledger."""
        raise TypeError(f"{type(self).__name__} must implement _plan_fit")

    def _n_classes(self, table: TableAdapter) -> int | None:
        """Return the number of classes; reads no value if there is a ledger."""
        return None

    def _target_step(self, table: TableAdapter) -> Step:
        """Step that converts the targets of a chunk to those of the loss."""
        raise TypeError(f"{type(self).__name__} must implement _target_step")

    def _loss_for(self, n_classes: int | None) -> Loss:
        """Loss for this number of classes; by default for the declared one."""
        raise TypeError(f"{type(self).__name__} must implement _loss_for")

    def _linear_attributes(self, theta: FloatArray) -> dict[str, Any]:
        """Coefficients and intercept of a linear model (outputs, n_features + 1)."""
        raise TypeError(f"{type(self).__name__} must implement _model")

    def _after_reading(self, guarantee: Guarantee, table: TableAdapter) -> Guarantee:
        """Add assumptions about the types of the table, which are read after the charge."""
        return guarantee

    def _public_attributes(self, table: TableAdapter) -> dict[str, Any]:
        """Return the fitted attributes by public types alone; call it after the charge."""
        return table.public()

    def _encoded_target(self, table: TableAdapter) -> FloatArray:
        """Targets (n,) of a table in memory, as the loss requires them."""
        return np.asarray(self._target_step(table)(*table.values)[1])

    def _check_table(self, table: TableAdapter) -> None:
        self._n_classes(table)
        self._warn_clipped_targets(table)
        share = table.longer_share(self._row_norm, self._target_step(table))
        if table.clipping_is_unusual:
            warn_clipped_rows(share, self._row_norm)

    def _problem(
        self, table: TableAdapter, loss: Loss, planned: Any, rng: np.random.Generator
    ) -> tuple[Problem, cells.ColumnMap | None]:
        """Return the problem of linear models, and the map that was released for it."""
        self._warn_clipped_targets(table)
        rows, targets = table.encoded(self._target_step(table))
        scale = None if planned.columns is None else released_map(rows, planned.columns, rng)
        problem = Problem(
            rows,
            targets,
            loss=loss,
            radius=planned.radius,
            row_norm=self._row_norm,
            ridge=planned.ridge,
            scale=scale,
        )
        return problem, scale

    def _warn_clipped_targets(self, table: TableAdapter) -> None:
        """Warn if more than 1 % of the targets exceed their bounds."""

    @property
    def _numeric(self) -> bool:
        """Whether targets must be numbers."""
        return False

    @property
    def _epsilon(self) -> float:
        return plain_number(self.epsilon)

    @property
    def _delta(self) -> float:
        return plain_number(self.delta)

    @property
    def _row_norm(self) -> Any:
        """Declared bound on ‖x‖."""
        if not isinstance(self.row_norm, str):
            return self.row_norm
        return encoder.USUAL_NORM if self.schema is None else encoder.ENCODED_NORM

    @property
    def _declared(self) -> TableSchema | None:
        return None if self.schema is None else TableSchema.from_schema_or_path(self.schema)

    def _n_encoded(self, n_features: int | None) -> int:
        declared = self._declared
        if declared is not None:
            return len(declared.encoded_names)
        if n_features is None:
            raise ValueError("n_features is required without a schema")
        return n_features

    def _table(self, X: Any, y: Any) -> TableAdapter:
        """Wrap the table, in memory or chunked; only its shape is read."""
        return self._encoded_table(X, y, self._row_norm)

    def _encoded_table(self, X: Any, y: Any, row_norm: float | None) -> TableAdapter:
        declared = self._declared
        if declared is not None:
            encoder.warn_unconfirmed(declared)
        return TableAdapter(
            self,
            X,
            y,
            numeric=self._numeric,
            chunked=self._chunked,
            schema=declared,
            row_norm=row_norm,
        )

    def _check_room(self) -> None:
        """Refuse what the ledger cannot admit, before names and footers of files are read."""
        declared = self._declared
        confirmed = declared is None or not declared.leak
        curator_only = mechanism_traits(getattr(self, "mechanism", AUTO)).curator_only
        if self._chunked and confirmed and not curator_only:
            feasibility.refuse_without_room(self.ledger, self._epsilon, self._delta)

    def _with_assumptions(self, guarantee: Guarantee, more: tuple[str, ...] = ()) -> Guarantee:
        """Add the assumptions about pipeline, fit, noise, targets and rows to the guarantee."""
        added: list[str] = []
        if guarantee.holds:
            steps = pipelines.not_known_to_be_public(self)
            added.append(f"{ALSO_BY} {'; '.join(steps)}" if steps else ONE_BY_ONE)
            added.append(failure_assumption("fit", charged=self.ledger is not None))
            added += noise_assumptions() if self.random_state is None else ()
            added += [*self._assumptions(), *more]
        stated = tuple(dict.fromkeys((*guarantee.assumptions, *added)))
        guarantee = replace(guarantee, assumptions=stated)
        return guarantee if self.random_state is None else guarantee.with_seed()

    def _assumptions(self) -> list[str]:
        """Assumptions of the guarantee about the public parameters."""
        return []

    def _reserve(self, guarantee: Guarantee, planned: PlannedFit, leak: str) -> Charge | None:
        """Start the charge of a fit; warn and return None if no guarantee holds."""
        if guarantee.holds:
            pipelines.warn_learning_steps(self)
        if self.ledger is None:
            return None
        if not guarantee.holds:
            remedy = "Declare the bounds instead" if leak else "Use another sampler, or no ledger"
            warnings.warn(
                f"{guarantee.theorem}: these draws have no privacy guarantee and cannot be "
                f"released, so the ledger is not charged. {remedy}",
                exceptions.PrivacyLeakWarning if leak else exceptions.LedgerWarning,
                stacklevel=exceptions.warn_stacklevel(),
            )
            return None
        pipelines.warn_repeated_records(self)
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)
        return ledger.reserve(guarantee, note=planned.note, parameters=planned.parameters)

    def _generator(self) -> np.random.Generator:
        if self.random_state is None:
            return generator()
        return generator(check_random_state(self.random_state).randint(2**31, size=4).tolist())

    def _set_fitted_attributes(self, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes; delete those of an earlier fit."""
        for name in [*vars(self)]:
            if name.endswith("_") and not name.startswith("_") and name not in fitted:
                delattr(self, name)
        for name, value in fitted.items():
            setattr(self, name, value)

    def _encoded_rows(self, X: ArrayLike) -> FloatArray:
        """Rows (n, p) for a prediction, encoded as those of the fit."""
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            return np.asarray(self.encoder_.transform(X))
        check_readable("X", X)
        return np.asarray(validate_data(self, as_pandas(X), dtype=np.float64, reset=False))

    def __sklearn_tags__(self) -> Tags:
        """Declare poor scores, because of the noise; allow text and gaps with a schema."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = self.schema is not None
        tags.input_tags.allow_nan = self.schema is not None
        for scored in (tags.classifier_tags, tags.regressor_tags):
            if scored is not None:
                scored.poor_score = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return scikit-learn's representation, and a line about the fit once it is fitted."""
        settings = str(super().__repr__(N_CHAR_MAX))
        if not hasattr(self, "plan_"):
            return settings
        what, *bounds = self._fit_summary()
        guarantee = self.guarantee_
        if not guarantee.holds:
            return f"{settings}\n# fitted: {what}, no guarantee"
        facts = [what, *bounds, summary_text(guarantee)]
        seed = ", drawn with a known seed: not private" if guarantee.seeded else ""
        if condition := condition_text(guarantee):
            seed += f", {condition}"
        return f"{settings}\n# fitted: {', '.join(facts)}{seed}"

    def _fit_summary(self) -> list[str]:
        """Return what was fitted and its bounds."""
        planned, draws = self.plan_, self.rashomon_set_.n_draws
        many = f"{draws:,} draw{'' if draws == 1 else 's'} on {planned.n:,} rows"
        if planned.hit_rate is None:
            return [many]
        return [many, f"hit rate ≥ {hit_rate_text(planned.hit_rate_bound)}"]


sklearn_compat.register_repr(BasePrivateEstimator)
