"""How alike two models are: distances of coefficients, and patterns of what they predict."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.rashomon_set.links import likeliest


def _euclidean(coef: FloatArray, goal: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(coef - goal, axis=1))


def _cosine(coef: FloatArray, goal: FloatArray) -> FloatArray:
    if not goal.any():
        raise ValueError("coef must not be all 0 for the cosine metric: it has no direction")
    norms = np.linalg.norm(coef, axis=1) * np.linalg.norm(goal)
    # A model of all zeros has no direction either, and is farthest from every one.
    return 1 - np.divide(coef @ goal, norms, out=np.full(len(coef), -1.0), where=norms > 0)


DISTANCES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "euclidean": _euclidean,
    "cosine": _cosine,
}


def _predictions(models: Any, X: Any) -> NDArray[Any]:
    scores = models.scores(X)
    return likeliest(scores) if models.task == "classification" else scores


PATTERNS: dict[str, Callable[[Any, Any], NDArray[Any]]] = {
    "predictions": _predictions,
    "scores": lambda models, X: models.scores(X),
    "coef": lambda models, X: models.coef,
}
