"""What a set asks of the models it holds."""

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray


class Models(Protocol):
    """Models side by side."""

    @property
    def kind(self) -> str:
        """What the models are, in words."""
        ...

    def __len__(self) -> int: ...

    def scores(self, X: Any = None) -> FloatArray:
        """Predictions (n_models, n_rows), or (n_models, n_rows, n_classes) for several classes."""
        ...

    def complexity(self, tol: float) -> NDArray[np.int_]:
        """Size of each model, or TypeError where none is known."""
        ...

    def take(self, places: NDArray[np.intp]) -> Self:
        """Those at the given places."""
        ...


def one_hot(codes: NDArray[np.int_], n_classes: int) -> FloatArray:
    """Labels as probabilities 0 and 1: of class 1 if there are two, otherwise of each class.

    Examples
    --------
    >>> one_hot(np.array([0, 1]), 2).tolist(), one_hot(np.array([2]), 3).tolist()
    ([0.0, 1.0], [[0.0, 0.0, 1.0]])
    """
    return np.asarray(codes if n_classes <= 2 else np.eye(n_classes)[codes], dtype=float)


def check_scores(scores: FloatArray, what: str) -> FloatArray:
    """Return scores without NaN or infinity.

    >>> check_scores(np.array([[0.5, np.nan]]), "predictions")
    Traceback (most recent call last):
        ...
    ValueError: predictions hold NaN or infinity for model 0, row 1
    """
    strange = np.argwhere(~np.isfinite(scores))
    if len(strange):
        model, row = strange[0][:2]
        raise ValueError(f"{what} hold NaN or infinity for model {model}, row {row}")
    return scores
