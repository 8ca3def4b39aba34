"""Weights of rows and classes, which are refused, and why."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

_WHY = (
    "the price of a draw counts on every row having the weight 1/n, and one that weighs w times as "
    "much moves the loss w times as far"
)

REFUSED: Mapping[str, str] = {
    "sample_weight": f"sample_weight is not supported: {_WHY}, so that the largest weight would "
    "multiply the price. Leave it out; groups can be compared with measures and weighted there",
    "class_weight": f"class_weight is not supported: {_WHY}. Leave it out, and choose the "
    "threshold on predict_proba instead, which needs no weights and costs nothing",
}
"""What is refused, and the words it is refused with."""


def refuses_weights(method: Method) -> Method:
    """Let a method answer a weight with the reason for refusing it; None is no weight.

    Examples
    --------
    >>> @refuses_weights
    ... def fit(X):
    ...     return X
    >>> fit([1.0], sample_weight=None)
    [1.0]
    >>> fit([1.0], sample_weight=[2.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: sample_weight is not supported: the price of a draw counts on every row having ...
    """

    @wraps(method)
    def refusing(*args: Any, **given: Any) -> Any:
        for name, why in REFUSED.items():
            if given.pop(name, None) is not None:
                raise TypeError(why)
        return method(*args, **given)

    return refusing  # type: ignore[return-value]
