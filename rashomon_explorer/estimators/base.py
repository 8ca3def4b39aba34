"""Base class of the private estimators, and the report of each draw to scikit-learn callbacks."""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from html import escape
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, check_random_state, estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer._utils.arrays import FloatArray, backend_for
from rashomon_explorer._utils.containers import check_readable, host_values
from rashomon_explorer._utils.formatting import hit_rate_text
from rashomon_explorer._utils.randomness import generator, noise_assumptions
from rashomon_explorer._utils.sklearn_compat import CallbackContext, register_repr
from rashomon_explorer._utils.taint import ONE_BY_ONE
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import ColumnMap, clip_rows, warn_if_clipped
from rashomon_explorer.data.encoder import warn_unconfirmed
from rashomon_explorer.estimators.pipelines import learns_bounds, privacy_leaks
from rashomon_explorer.estimators.tables import ChunkedTable, DeclaredTable, LazyTable
from rashomon_explorer.exceptions import (
    LedgerWarning,
    PrivacyLeakWarning,
    RadiusBindsWarning,
    warn_stacklevel,
)
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.mechanisms.samplers.scaling import released_map
from rashomon_explorer.privacy import Charge, Guarantee, Ledger
from rashomon_explorer.privacy.guarantee import guarantee_text, requested_text
from rashomon_explorer.privacy.ledger.charge import failure_assumption
from rashomon_explorer.privacy.notions import computed_on
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import Step
from rashomon_explorer.rows.coercion import chunks_with_targets, is_chunked
from rashomon_explorer.rows.steps import Longer, Mapped
from rashomon_explorer.sets.linear import sphere_in_words


class Drawn(Protocol):
    """Draws made so far, with their losses."""

    @property
    def losses(self) -> FloatArray:
        """Loss of each draw."""
        ...

    def first(self, count: int) -> Self:
        """Return the first ``count`` draws."""
        ...


Draws = TypeVar("Draws", bound=Drawn)


class DrawReporter(Generic[Draws]):
    """Report each draw as a scikit-learn task, and each batch of rejections as a subtask."""

    def __init__(
        self,
        estimator: BaseEstimator,
        context: CallbackContext,
        attributes: Callable[[Draws], dict[str, Any]],
    ) -> None:
        self._estimator = estimator
        self._root = context
        self._attributes = attributes
        self._task: CallbackContext | None = self._begin()
        self.reported = 0

    def __call__(self, draws: Draws) -> bool:
        """Report new draws; return True to stop after ``reported`` draws."""
        if len(draws.losses) == self.reported:
            return self._heartbeat()
        while self.reported < len(draws.losses):
            self.reported += 1
            if self._end(draws.first(self.reported)):
                return True
        return False

    def _begin(self) -> CallbackContext:
        task = self._root.subcontext(task_name="draw", max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self._estimator)
        return task

    def _open(self) -> CallbackContext:
        """Task of the next draw; begin it if the previous one has ended."""
        if self._task is None:
            self._task = self._begin()
        return self._task

    def _end(self, draws: Draws) -> bool:
        task, self._task = self._open(), None
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=lambda: self._attributes(draws),
            )
        )

    def _heartbeat(self) -> bool:
        task = self._open().subcontext(task_name="proposals")
        task.call_on_fit_task_begin(estimator=self._estimator)
        return bool(task.call_on_fit_task_end(estimator=self._estimator))


class FittedReprMixin(BaseEstimator):
    """Adds a line to an estimator's repr and diagram once it is fitted."""

    if TYPE_CHECKING:
        guarantee_: Guarantee
        plan_: Any
        rashomon_set_: Any

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        settings = super().__repr__(N_CHAR_MAX)
        fitted = self._fitted_line()
        return f"{settings}\n# {fitted}" if fitted else settings

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Return a function for scikit-learn's diagram, if diagrams are enabled."""
        if get_config()["display"] != "diagram":
            raise AttributeError('_repr_html_ needs display="diagram" in scikit-learn\'s settings')
        return self._diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return the text representation, and the diagram if diagrams are enabled."""
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._diagram()
        return shown

    def _diagram(self) -> str:
        diagram = str(estimator_html_repr(self))
        fitted = self._fitted_line()
        return f"{diagram}<p>{escape(fitted)}</p>" if fitted else diagram

    def _fitted_line(self) -> str:
        what, *promised = self._fit_summary()
        if not what:
            return ""
        paid = self.guarantee_
        if not paid.holds:
            return f"fitted: {what}, no guarantee"
        said = [what, *promised, requested_text(paid) or guarantee_text(paid)]
        seed = ", drawn with a known seed: not private" if paid.seeded else ""
        return f"fitted: {', '.join(said)}{seed}"

    def _fit_summary(self) -> list[str]:
        """Return what was fitted and its guarantee; one empty string before a fit."""
        if not hasattr(self, "rashomon_set_"):
            return [""]
        planned, draws = self.plan_, self.rashomon_set_.n_draws
        many = f"{draws:,} draw{'' if draws == 1 else 's'} on {planned.n:,} rows"
        hits = f"hit rate ≥ {hit_rate_text(planned.hit_rate_bound)}"
        return [many, hits] if has_hit_rate(planned) else [many]


register_repr(FittedReprMixin)


class CheckRowsMixin:
    """An estimator whose rows can be checked at no privacy cost."""

    def check_rows(self, X: Any, y: Any = None) -> None:
        """Check the rows for what would make ``fit`` fail; no charge, for the curator only."""
        self._look_through(X, y)

    def _look_through(self, X: Any, y: Any) -> None:
        raise TypeError(f"{type(self).__name__} must implement _look_through")


def warn_if_shortened(share: float, row_norm: float) -> None:
    """Warn the curator that rows were clipped, usually because features are not scaled."""
    warn_if_clipped(
        share,
        f"rows are longer than row_norm={row_norm:g}",
        "Scale features by their public ranges first: make_pipeline(PublicBoundsScaler(bounds), "
        "...); or declare a larger row_norm.",
    )


def warn_if_uncharged(guarantee: Guarantee, leak: str) -> None:
    """Warn that the ledger is not charged because no guarantee holds."""
    if guarantee.holds:
        return
    remedy = "Declare the bounds instead" if leak else "Use another sampler, or no ledger"
    warnings.warn(
        f"{guarantee.theorem}: these draws have no privacy guarantee and cannot be released, so "
        f"the ledger is not charged. {remedy}",
        PrivacyLeakWarning if leak else LedgerWarning,
        stacklevel=warn_stacklevel(),
    )


def warn_leak(leak: str) -> None:
    """Warn that the rows turned out to be data-dependent after the ledger was charged."""
    warnings.warn(
        f"{leak}: the rows contain numbers computed with it; only reading the rows revealed this. "
        f"These draws have no privacy guarantee and cannot be released; a given ledger is charged "
        f"already. Declare the bounds instead",
        PrivacyLeakWarning,
        stacklevel=warn_stacklevel(),
    )


def warn_ball_boundary(radius: float) -> None:
    """Warn the curator that the Rashomon set extends beyond the ball of models."""
    warnings.warn(
        f"{sphere_in_words(radius)}. (Curator only: this was read from private rows.)",
        RadiusBindsWarning,
        stacklevel=warn_stacklevel(),
    )


Method = TypeVar("Method", bound=Callable[..., Any])

_WHY = (
    "the privacy cost of a draw assumes weight 1/n for every row, and a row with w times the "
    "weight moves the loss w times as far"
)

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
    def refusing(*args: Any, **given: Any) -> Any:
        for name, why in REFUSED.items():
            if given.pop(name, None) is not None:
                raise TypeError(why)
        return method(*args, **given)

    return refusing  # type: ignore[return-value]


_BAGGING = "sklearn.ensemble._bagging"


def find_data_dependent_step(estimator: Any) -> str:
    """Return a reason if an enclosing pipeline computes bounds from the rows; reads no row."""
    earlier = (step for pipe in _enclosing(estimator) for _, step in pipe.steps[:-1])
    return "bounds were computed from the rows" if any(map(learns_bounds, earlier)) else ""


def not_known_to_be_public(estimator: Any) -> list[str]:
    """Return the privacy leaks of the enclosing pipelines, and any resampling step."""
    resampler = _resampler(estimator)
    resampled = [f"{resampler}, which may repeat a record"] if resampler else []
    pipes = [Pipeline(pipe.steps[:-1]) for pipe in _enclosing(estimator) if len(pipe.steps) > 1]
    return [*resampled, *(leak for pipe in pipes for leak in privacy_leaks(pipe))]


def warn_repeated_records(estimator: Any) -> None:
    """Warn if the charged fit belongs to an ensemble that draws rows with replacement."""
    if resampler := _resampler(estimator):
        warnings.warn(
            f"{resampler} may repeat a record within one fit: a record that occurs k times costs k "
            "times the ε that is charged, and the ledger does not count that. Use bootstrap=False "
            "with max_samples below 1, which takes each record once at most, or fit without the "
            "ensemble",
            LedgerWarning,
            stacklevel=warn_stacklevel(),
        )


def _resampler(estimator: Any) -> str:
    """Return the name of an enclosing resampler or bootstrap ensemble; "" if none is known."""
    for pipe in _enclosing(estimator):
        for _, step in pipe.steps[:-1]:
            if hasattr(step, "fit_resample"):  # of imbalanced-learn
                return type(step).__name__
    for frame in _callers():
        if frame.f_globals.get("__name__") == _BAGGING:
            # In a worker process the ensemble's own method is not among the callers.
            ensemble = frame.f_locals.get("ensemble", frame.f_locals.get("self"))
            if getattr(ensemble, "bootstrap", False):
                return type(ensemble).__name__
    return ""


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _enclosing(estimator: Any) -> Iterator[Pipeline]:
    # A pipeline does not pass its other steps to the last one, and an intermediate transformer may
    # remove the taint of the rows. The running fit is found in the call stack instead, as are a
    # search or an ensemble that is the last step of a pipeline and fits copies of the estimator.
    within = [estimator]
    for frame in _callers():
        owner = frame.f_locals.get("self")
        if isinstance(owner, BaseEstimator) and owner is not within[-1]:
            last = owner.steps[-1][1] if isinstance(owner, Pipeline) else None
            if any(last is one for one in within):
                yield owner
            within.append(owner)


class BasePrivateEstimator(FittedReprMixin, CheckRowsMixin):
    """Steps of a fit that do not depend on what is drawn."""

    _numeric: ClassVar[bool] = False  # whether targets must be numbers

    if TYPE_CHECKING:
        row_norm: Any
        schema: Any
        ledger: Any
        random_state: Any

    @property
    def _row_norm(self) -> float:
        """Declared bound on ‖x‖."""
        return float(self.row_norm)

    @property
    def _declared(self) -> TableSchema | None:
        return None if self.schema is None else TableSchema.of(self.schema)

    def _n_encoded(self, n_features: int | None) -> int:
        declared = self._declared
        if declared is not None:
            return len(declared.encoded_names)
        if n_features is None:
            raise ValueError("n_features is required without a schema")
        return n_features

    def _table(self, X: Any, y: Any, *, numeric: bool) -> LazyTable:
        """Wrap the table; only its shape is read."""
        declared, charged = self._declared, self.ledger is not None
        if declared is None:
            return LazyTable(self, X, y, numeric=numeric, charged=charged)
        warn_unconfirmed(declared)
        asked: dict[str, Any] = {"numeric": numeric, "charged": charged}
        return DeclaredTable(self, X, y, **asked, schema=declared, row_norm=self._row_norm)

    def _look_through(self, X: Any, y: Any) -> None:
        if is_chunked(X):
            self._check_chunks(self._any_table(X, y, numeric=self._numeric))
            return
        table = self._table(X, y, numeric=self._numeric)
        self._posed(table)
        self._targets(table)
        if table.may_be_long:
            warn_if_shortened(clip_rows(table.values[0], self._row_norm)[1], self._row_norm)

    def _check_chunks(self, table: LazyTable | ChunkedTable) -> None:
        assert isinstance(table, ChunkedTable)
        self._posed(table)
        (longer,) = table.coded(self._target_step()).reduce(Longer(self._row_norm))
        if table.may_be_long:
            warn_if_shortened(float(longer[0]) / table.shape[0], self._row_norm)

    def _any_table(self, X: Any, y: Any, *, numeric: bool) -> LazyTable | ChunkedTable:
        """Wrap the table, in memory or chunked; only its shape is read."""
        if not is_chunked(X):
            return self._table(X, y, numeric=numeric)
        declared = self._declared
        blocks = chunks_with_targets(X, y)
        if declared is not None:
            warn_unconfirmed(declared)
        return ChunkedTable(blocks, declared, self._row_norm, charged=self.ledger is not None)

    def __sklearn_tags__(self) -> Tags:
        """Allow text and missing values if there is a schema."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = self.schema is not None
        tags.input_tags.allow_nan = self.schema is not None
        return tags

    def _checked(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            return np.asarray(self.encoder_.transform(X))
        check_readable("X", X)
        return np.asarray(validate_data(self, host_values(X), dtype=np.float64, reset=False))

    def _target_step(self) -> Step:
        """Step that converts the targets of a chunk to those of the loss."""
        raise TypeError(f"{type(self).__name__} must implement _target_step")

    def _chunked_problem(
        self,
        table: ChunkedTable,
        declared: dict[str, Any],
        columns: ColumnsPlan | None,
        rng: np.random.Generator,
    ) -> tuple[Problem, ColumnMap | None, float]:
        """Return the problem of chunked rows, the released map and the share of clipped rows."""
        coded = table.coded(self._target_step())
        if columns is None:
            problem = Problem(coded, **declared)
            self._warn_clipped_targets(problem.data.targets_beyond)
            return problem, None, problem.clipped_share
        scale = released_map(table.numeric, columns, rng)
        problem = Problem(coded.then(Mapped(scale)), **declared)
        self._warn_clipped_targets(problem.data.targets_beyond)
        (longer,) = table.numeric.reduce(Longer(self._row_norm))
        return problem, scale, float(longer[0]) / problem.n

    def _warn_clipped_targets(self, share: float) -> None:
        """Warn if more than 1 % of the targets of a chunked table exceed their bounds."""

    def _posed(self, table: LazyTable | ChunkedTable) -> Loss:
        """Loss for the targets of the table; reads no value if there is a ledger."""
        raise TypeError(f"{type(self).__name__} must implement _posed")

    def _targets(self, table: LazyTable) -> FloatArray:
        """Targets (n,) in the form that the loss requires."""
        raise TypeError(f"{type(self).__name__} must implement _targets")

    def _public(self, table: LazyTable | ChunkedTable) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values."""
        return table.public()

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        """Add the assumptions about pipeline, fit, arithmetic and noise to the guarantee."""
        guarantee = computed_on(guarantee, backend_for())
        if guarantee.holds:
            steps = not_known_to_be_public(self)
            alone = f"{ONE_BY_ONE}, also by {'; '.join(steps)}" if steps else ONE_BY_ONE
            returned = failure_assumption("fit", charged=self.ledger is not None)
            guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, alone, returned))
        if self.random_state is not None:
            return guarantee.with_seed()
        if not guarantee.holds:
            return guarantee
        return replace(guarantee, assumptions=(*guarantee.assumptions, *noise_assumptions()))

    def _charged(
        self, guarantee: Guarantee, note: str, parameters: dict[str, Any]
    ) -> Charge | None:
        """Charge the ledger, if the guarantee holds; otherwise return None."""
        if self.ledger is None or not guarantee.holds:
            return None
        warn_repeated_records(self)
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)
        return ledger.reserve(guarantee, note=note, parameters=parameters)

    def _generator(self) -> np.random.Generator:
        if self.random_state is None:
            return generator()
        return generator(check_random_state(self.random_state).randint(2**31, size=4).tolist())

    def _hold(self, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes; delete those of an earlier fit to another kind of table."""
        for name in ("feature_names_in_", "encoder_"):
            if name not in fitted and hasattr(self, name):
                delattr(self, name)
        for name, value in fitted.items():
            setattr(self, name, value)
