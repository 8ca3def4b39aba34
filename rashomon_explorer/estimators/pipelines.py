"""What in a pipeline learns from rows without paying for it."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from rashomon_explorer.estimators.scaler import PublicBoundsScaler

Rule = Callable[[Any], str]  # why a step is not public, or ""


def privacy_leaks(estimator: Any, *, public: Sequence[type] = ()) -> list[str]:
    """Name every step of a pipeline that is not known to leave the rows alone.

    The guarantee of a fit speaks of the rows that the estimator was given. What an earlier step
    learnt from all of them, such as the mean that a ``StandardScaler`` takes away, lets one
    record change every other, and the guarantee fails. A pipeline does not tell its last step
    about the others, so that this has to be asked: before fitting, nothing is read here.

    Parameters
    ----------
    estimator : estimator
        A Pipeline, ColumnTransformer, FeatureUnion, TransformedTargetRegressor, search over
        parameters, or any nesting of them.
    public : sequence of type, default=()
        Your own transformers that treat each row by itself, by declared settings only.

    Returns
    -------
    list of str
        Where and why; empty if nothing but private estimators and steps that are known to be
        public takes part.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rashomon_explorer import PublicBoundsScaler, RashomonClassifier
    >>> privacy_leaks(make_pipeline(PublicBoundsScaler((0, 100)), RashomonClassifier()))
    []
    >>> privacy_leaks(make_pipeline(StandardScaler(), RashomonClassifier()))
    ['standardscaler: StandardScaler is not known to leave the rows alone']
    """
    return list(_leaks(estimator, "", tuple(public)))


def _leaks(step: Any, place: str, public: tuple[type, ...]) -> Iterator[str]:
    if step is None or isinstance(step, str) or isinstance(step, public):
        return
    name = type(step).__name__
    why, inside = _look(step)
    if why:
        yield f"{place or name}: {why}"
    for part, inner in inside:
        yield from _leaks(inner, f"{place}.{part}" if place else part, public)


def _look(step: Any) -> tuple[str, list[tuple[str, Any]]]:
    """Why this step itself is not public, and the steps inside it."""
    from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import FeatureUnion, Pipeline

    if isinstance(step, Pipeline):
        return "", list(step.steps)
    if isinstance(step, FeatureUnion):
        return "", list(step.transformer_list)
    if isinstance(step, ColumnTransformer):
        parts = [(name, inner) for name, inner, _ in step.transformers]
        chosen = [columns for *_, columns in step.transformers if callable(columns)]
        by_type = all(isinstance(columns, make_column_selector) for columns in chosen)
        why = "" if by_type else "columns are chosen by a function that sees the rows"
        return why, [*parts, ("remainder", step.remainder)]
    if isinstance(step, TransformedTargetRegressor):
        why = "its function sees all targets at once" if step.func is not None else ""
        return why, [("transformer", step.transformer), ("regressor", step.regressor)]
    if isinstance(step, BaseSearchCV):
        return "settings are chosen by scores on the rows", [("estimator", step.estimator)]
    return _rules().get(type(step), _unknown)(step), []


@cache
def _rules() -> dict[type, Rule]:
    """Known kinds of steps, exactly these and not what inherits from them."""
    from sklearn import impute, preprocessing
    from sklearn.kernel_approximation import RBFSampler

    from rashomon_explorer.estimators.classifier import RashomonClassifier
    from rashomon_explorer.estimators.regressor import RashomonRegressor

    return {
        RashomonClassifier: _nothing,
        RashomonRegressor: _nothing,
        PublicBoundsScaler: _unless("bounds are learnt from the rows", _declared_bounds),
        preprocessing.Binarizer: _nothing,
        preprocessing.Normalizer: _nothing,
        preprocessing.PolynomialFeatures: _nothing,
        preprocessing.FunctionTransformer: _unless(
            "its function sees all rows at once, and is not one of numpy's that go by elements",
            _elementwise,
        ),
        preprocessing.OneHotEncoder: _unless("categories are learnt", _declared_categories),
        preprocessing.OrdinalEncoder: _unless("categories are learnt", _declared_categories),
        impute.SimpleImputer: _unless(
            "what it fills in, drops or indicates is learnt", _fills_in_a_constant
        ),
        RBFSampler: _unless("gamma='scale' is learnt", lambda step: step.gamma != "scale"),
    }


def _unless(why: str, public: Callable[[Any], bool]) -> Rule:
    return lambda step: "" if public(step) else f"{type(step).__name__}: {why}"


def _nothing(step: Any) -> str:
    return ""


def _unknown(step: Any) -> str:
    return f"{type(step).__name__} is not known to leave the rows alone"


def _declared_bounds(step: PublicBoundsScaler) -> bool:
    return not isinstance(step.bounds, str)


def _elementwise(step: Any) -> bool:
    return step.func is None or (isinstance(step.func, np.ufunc) and not step.func.signature)


def _declared_categories(step: Any) -> bool:
    declared = not isinstance(step.categories, str)
    return declared and step.min_frequency is None and step.max_categories is None


def _fills_in_a_constant(step: Any) -> bool:
    return step.strategy == "constant" and step.keep_empty_features and not step.add_indicator
