"""Detection of pipeline steps that compute statistics from rows without a privacy cost."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import FrameType
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from rashomon_explorer._utils.sklearn_compat import search_base
from rashomon_explorer.data import TableEncoder, TableSchema
from rashomon_explorer.estimators.scaler import LEARNT_BOUNDS, PublicBoundsScaler
from rashomon_explorer.exceptions import LedgerWarning, PrivacyLeakWarning, warn_stacklevel
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import AUTO

Rule = Callable[[Any], str]  # why a step is not public, or ""


def privacy_leaks(estimator: Any, *, public: Sequence[type] = ()) -> list[str]:
    """List the steps of a pipeline that are not known to transform each row independently.

    The guarantee of a fit refers to the rows that are passed to the estimator. If an earlier step
    is data-dependent, such as the mean of a ``StandardScaler``, one record can change every other
    row, and the guarantee fails. A pipeline does not inform its last step about the others, so call
    this function before fitting; it reads no rows.

    Parameters
    ----------
    estimator : estimator
        A Pipeline, ColumnTransformer, FeatureUnion, TransformedTargetRegressor, search over
        parameters, or any nesting of them.
    public : sequence of type, default=()
        Your own transformers that treat each row independently, by declared settings only.

    Returns
    -------
    list of str
        Step and reason; empty if all steps are private estimators or known to be public.

    Notes
    -----
    Also listed are steps in which one cell decides the columns (a selector by dtype), steps whose
    errors reveal a value (an encoder that rejects unknown levels), and private estimators whose
    sampler has no guarantee. Labels that a classifier finds in y are not listed: its guarantee
    states that they are public. Preprocessing before the pipeline and the effect of user-defined
    functions cannot be detected.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rashomon_explorer import PublicBoundsScaler, RashomonClassifier
    >>> privacy_leaks(make_pipeline(PublicBoundsScaler((0, 100)), RashomonClassifier()))
    []
    >>> privacy_leaks(make_pipeline(StandardScaler(), RashomonClassifier()))
    ['standardscaler: StandardScaler is not known to transform each row independently']
    """
    return list(_leaks(estimator, "", tuple(public)))


def learns_bounds(step: Any) -> bool:
    """Whether a step contains a :class:`PublicBoundsScaler` that computes bounds from the rows."""
    if isinstance(step, PublicBoundsScaler):
        return isinstance(step.bounds, str)
    if isinstance(step, TableEncoder):
        return bool(_declared_schema(step).leak)
    return any(learns_bounds(inner) for _, inner in _look(step)[1])


def _leaks(step: Any, path: str, public: tuple[type, ...]) -> Iterator[str]:
    if step is None or isinstance(step, str) or isinstance(step, public):
        return
    name = type(step).__name__
    why, inside = _look(step)
    if why:
        yield f"{path or name}: {why}"
    for part, inner in inside:
        yield from _leaks(inner, f"{path}.{part}" if path else part, public)


def _look(step: Any) -> tuple[str, list[tuple[str, Any]]]:
    """Return the reason why this step itself is not public, and the steps inside it."""
    from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
    from sklearn.pipeline import FeatureUnion

    # Subclasses may do more: imbalanced-learn's pipeline drops and generates rows.
    is_container = type(step) in (
        Pipeline,
        FeatureUnion,
        ColumnTransformer,
        TransformedTargetRegressor,
    )
    why = "" if is_container else _unknown(step)
    if isinstance(step, Pipeline):
        return why, list(step.steps)
    if isinstance(step, FeatureUnion):
        return why, list(step.transformer_list)
    if isinstance(step, ColumnTransformer):
        parts = [(name, inner) for name, inner, _ in step.transformers]
        return why or _column_selection_leak(step), [*parts, ("remainder", step.remainder)]
    if isinstance(step, TransformedTargetRegressor):
        if step.func is not None:
            why = why or "its function sees all targets at once"
        return why, [("transformer", step.transformer), ("regressor", step.regressor)]
    if isinstance(step, search_base()):
        return "settings are chosen by scores on the rows", [
            ("estimator", cast(Any, step).estimator)
        ]
    # A private estimator of this package; a subclass may do more.
    if type(step).__module__.startswith(f"{__package__}.") and hasattr(step, "ledger"):
        leak = "" if step.schema is None else TableSchema.from_schema_or_path(step.schema).leak
        # "auto" and the mechanisms of trees and searches always have a guarantee.
        mechanism = MECHANISMS.get(getattr(step, "mechanism", AUTO))
        if mechanism is not None and mechanism.traits.curator_only:
            return f"{type(step).__name__}: its sampler has no guarantee", []
        return leak, []
    return _rules().get(type(step), _unknown)(step), []


def _column_selection_leak(step: Any) -> str:
    """Reason why the output columns are not public, or ""."""
    from sklearn.compose import make_column_selector

    for *_, columns in step.transformers:
        if type(columns) is make_column_selector:
            if columns.dtype_include is not None or columns.dtype_exclude is not None:
                return (
                    "columns are chosen by dtype, which one cell of text changes: name them, or "
                    "choose them by pattern"
                )
        elif callable(columns):
            return "columns are chosen by a function that sees the rows"
    return ""


@cache
def _rules() -> dict[type, Rule]:
    """Rules for known step classes; subclasses are not included."""
    from sklearn import impute, preprocessing
    from sklearn.kernel_approximation import RBFSampler

    return {
        PublicBoundsScaler: _unless(
            "bounds are computed from the rows", lambda step: not isinstance(step.bounds, str)
        ),
        TableEncoder: _how_it_is_declared,
        preprocessing.Binarizer: _nothing,
        preprocessing.Normalizer: _nothing,
        preprocessing.PolynomialFeatures: _nothing,
        preprocessing.FunctionTransformer: _unless(
            "its function sees all rows at once, and is not an elementwise NumPy function",
            _elementwise,
        ),
        preprocessing.SplineTransformer: _splines,
        preprocessing.OneHotEncoder: _encodes("ignore"),
        preprocessing.OrdinalEncoder: _encodes("use_encoded_value"),
        impute.SimpleImputer: _unless(
            "what it fills in, drops or indicates is data-dependent",
            lambda step: (
                step.strategy == "constant" and step.keep_empty_features and not step.add_indicator
            ),
        ),
        RBFSampler: _unless("gamma='scale' is data-dependent", lambda step: step.gamma != "scale"),
    }


def _unless(why: str, public: Callable[[Any], bool]) -> Rule:
    return lambda step: "" if public(step) else f"{type(step).__name__}: {why}"


def _splines(step: Any) -> str:
    if isinstance(step.knots, str):
        return "SplineTransformer: knots are computed from the rows: declare them as an array"
    if step.extrapolation == "error":
        return "SplineTransformer: an error reveals a value beyond its knots: extrapolation=..."
    return ""


def _nothing(step: Any) -> str:
    return ""


def _unknown(step: Any) -> str:
    return f"{type(step).__name__} is not known to transform each row independently"


def _declared_schema(step: Any) -> TableSchema:
    return TableSchema(()) if step.schema is None else TableSchema.from_schema_or_path(step.schema)


def _how_it_is_declared(step: TableEncoder) -> str:
    declared = _declared_schema(step)
    if declared.leak:
        return f"TableEncoder: {declared.leak}"
    if declared.refusing:
        return (
            f"TableEncoder: what it refuses in {', '.join(map(repr, declared.refusing))} is "
            f"revealed by an error that no ledger is charged for: pass the schema to the "
            f"estimator, or declare how to treat it"
        )
    return ""


def _elementwise(step: Any) -> bool:
    """Whether the function is an elementwise function of NumPy, without further arguments."""
    if step.func is None:
        return True
    if not isinstance(step.func, np.ufunc) or step.func.signature or step.kw_args:
        return False
    return getattr(np, step.func.__name__, None) is step.func


def _encodes(unknown: str) -> Rule:
    """Rule for an encoder, with its required treatment of undeclared levels."""

    def rule(step: Any) -> str:
        name = type(step).__name__
        declared = not isinstance(step.categories, str)
        if not (declared and step.min_frequency is None and step.max_categories is None):
            return f"{name}: categories are data-dependent"
        if step.handle_unknown == unknown:
            return ""
        return (
            f"{name}: an undeclared level is revealed by an error or a warning that no ledger is "
            f"charged for: handle_unknown={unknown!r}"
        )

    return rule


_BAGGING = "sklearn.ensemble._bagging"


def find_data_dependent_step(estimator: Any) -> str:
    """Return a reason if an enclosing pipeline computes bounds from the rows; reads no row."""
    earlier = (step for pipe in _enclosing(estimator) for _, step in pipe.steps[:-1])
    return LEARNT_BOUNDS if any(map(learns_bounds, earlier)) else ""


def not_known_to_be_public(estimator: Any) -> list[str]:
    """Return the privacy leaks of the enclosing pipelines, and any resampling step."""
    resampler = _resampler(estimator)
    resampled = [f"{resampler}, which may repeat a record"] if resampler else []
    return [*resampled, *_earlier_leaks(estimator)]


def warn_learning_steps(estimator: Any) -> None:
    """Warn if earlier steps of running scikit-learn pipelines may not treat rows one by one."""
    steps = _earlier_leaks(estimator)
    if steps:
        warnings.warn(
            f"the guarantee of this fit holds only if each row was prepared by itself, and of the "
            f"pipeline's earlier steps {'; '.join(steps)}. Use PublicBoundsScaler or a schema, or "
            "list your own public transformers in privacy_leaks(pipeline, public=[...]) and ignore "
            "this warning",
            PrivacyLeakWarning,
            stacklevel=warn_stacklevel(),
        )


def _earlier_leaks(estimator: Any) -> list[str]:
    """Privacy leaks of the steps before the last in the enclosing pipelines."""
    steps = (pipe.steps[:-1] or [("nothing", "passthrough")] for pipe in _enclosing(estimator))
    return [leak for earlier in steps for leak in privacy_leaks(Pipeline(earlier))]


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
            if any(last is inner for inner in within):
                yield owner
            within.append(owner)
