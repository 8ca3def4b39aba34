"""Private and experimental names of scikit-learn, for versions 1.6 to the newest."""

import copy
import inspect
from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_feature_names_in, _get_feature_names

try:
    from sklearn import callback as _callback  # since 1.9, without a promise to stay as it is
except ImportError:
    _callback = None

__all__ = ["HasMethods", "Interval", "StrOptions", "validate_parameter_constraints"]

Method = TypeVar("Method", bound=Callable[..., Any])

_PARTS = {
    "CallbackContext": ("subcontext", "call_on_fit_task_begin", "call_on_fit_task_end"),
    "CallbackSupportMixin": ("set_callbacks", "_init_callback_context"),
    "with_callbacks": (),
}
"""Parts of ``sklearn.callback`` that are used; if any is missing, the classes below are used."""

_HOOKS = ("setup", "teardown", "on_fit_task_begin", "on_fit_task_end")


def has_parts(module: Any) -> bool:
    """Whether a module has all parts of ``sklearn.callback`` that are used here."""
    return all(
        hasattr(module, name) and all(hasattr(getattr(module, name), part) for part in parts)
        for name, parts in _PARTS.items()
    )


if TYPE_CHECKING or not has_parts(_callback):

    class CallbackContext:
        """A task of a fit that notifies the estimator's callbacks when it begins and ends."""

        def __init__(
            self, callbacks: list[Any], task_name: str, max_subtasks: int | None, parent: Any = None
        ) -> None:
            self._callbacks, self.task_name, self.max_subtasks = callbacks, task_name, max_subtasks
            self.parent, self.task_id, self._count = parent, 0, 0

        def subcontext(
            self, task_name: str = "", max_subtasks: int | None = 0
        ) -> "CallbackContext":
            """Context of the next task inside this one."""
            inner = CallbackContext(self._callbacks, task_name, max_subtasks, self)
            inner.task_id, self._count = self._count, self._count + 1
            return inner

        def call_on_fit_task_begin(self, *, estimator: BaseEstimator) -> Self:
            """Call the begin hooks."""
            self._call("on_fit_task_begin", estimator, lambda: None)
            return self

        def call_on_fit_task_end(
            self,
            *,
            estimator: BaseEstimator,
            reconstruction_attributes: Callable[[], dict[str, Any]] | None = None,
        ) -> bool:
            """Call the end hooks; return whether one of them requests a stop."""

            def fitted() -> Any:
                if reconstruction_attributes is None:
                    return None
                reconstructed = copy.copy(estimator)
                for name, value in reconstruction_attributes().items():
                    setattr(reconstructed, name, value)
                return reconstructed

            return self._call("on_fit_task_end", estimator, fitted)

        def _call(self, hook: str, estimator: BaseEstimator, fitted: Callable[[], Any]) -> bool:
            stop, reconstructed = False, cache(fitted)
            for callback in self._callbacks:
                function = getattr(callback, hook)
                named = {
                    name: reconstructed() if name == "fitted_estimator" else None
                    for name, parameter in inspect.signature(function).parameters.items()
                    if parameter.kind is parameter.KEYWORD_ONLY
                }
                stop |= bool(function(estimator, self, **named))
            return stop

    class CallbackSupportMixin:
        """Adds ``set_callbacks`` to an estimator."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set the callbacks of subsequent fits; without arguments, remove them."""
            for callback in callbacks:
                if isinstance(callback, type) or not all(
                    hasattr(callback, hook) for hook in _HOOKS
                ):
                    raise TypeError(f"callbacks must be instances with {', '.join(_HOOKS)}")
            if callbacks:
                self._skl_callbacks = list(callbacks)
            else:
                self.__dict__.pop("_skl_callbacks", None)
            return self

        def _init_callback_context(self, max_subtasks: int | None = 0) -> CallbackContext:
            callbacks = getattr(self, "_skl_callbacks", [])
            context = CallbackContext(callbacks, "fit", max_subtasks)
            self._begun_callbacks: tuple[CallbackContext, list[Any]] = context, []
            for callback in callbacks:
                self._begun_callbacks[1].append(callback)
                callback.setup(estimator=self, context=context)
            return context

    def with_callbacks(method: Method) -> Method:
        """Tear down callbacks after a fit, also if it fails."""

        @wraps(method)
        def managed(estimator: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return method(estimator, *arguments, **named)
            finally:
                context, begun = estimator.__dict__.pop("_begun_callbacks", (None, []))
                for callback in begun:
                    callback.teardown(estimator=estimator, context=context)

        return cast(Method, managed)

else:
    CallbackContext = _callback.CallbackContext
    CallbackSupportMixin = _callback.CallbackSupportMixin
    with_callbacks = _callback.with_callbacks


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """scikit-learn's check of the parameters around a fit, which keeps the method's type."""
    decorator = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return cast(Callable[[Method], Method], decorator)


def callback_context(estimator: CallbackSupportMixin, max_subtasks: int) -> CallbackContext:
    """Set up an estimator's callbacks for a fit with ``max_subtasks`` tasks."""
    return estimator._init_callback_context(max_subtasks=max_subtasks)


def has_callbacks(estimator: CallbackSupportMixin) -> bool:
    """Whether the estimator has callbacks."""
    return hasattr(estimator, "_skl_callbacks")


def text_names(labels: Iterable[Any]) -> NDArray[Any] | None:
    """Column labels in the form of ``feature_names_in_``; None if they are not text."""
    # Pass a frame without rows: some versions read more of a frame than its columns.
    names: NDArray[Any] | None = _get_feature_names(pd.DataFrame(columns=list(labels)))
    return names


def input_names(estimator: BaseEstimator, names: Any) -> NDArray[Any]:
    """Input names of a fitted transformer, validated against those of the fit."""
    return np.asarray(_check_feature_names_in(estimator, names), dtype=object)


def select_rows(data: Any, positions: NDArray[np.int_]) -> Any:
    """Rows of an array, list or frame at the given positions."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(data, positions)


def search_base() -> type:
    """Return the base class of scikit-learn's parameter searches."""
    from sklearn.model_selection._search import BaseSearchCV

    base: type = BaseSearchCV
    return base


def tree_parts() -> tuple[Any, Any]:
    """Class of a fitted tree's nodes, and their dtype."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    return Tree, NODE_DTYPE


def register_repr(kind: type[BaseEstimator]) -> None:
    """Shorten long settings in the repr of a class that defines its own repr."""
    try:
        from sklearn.utils._pprint import _EstimatorPrettyPrinter as printer
    except ImportError:
        return
    # scikit-learn selects its formatter by the repr function of the class.
    printer._dispatch[kind.__repr__] = printer._dispatch[BaseEstimator.__repr__]


def check_parameters(estimator: Any) -> None:
    """Raise for a constructor's parameter that its constraints do not allow."""
    estimator._validate_params()
