"""Everything that charges a ledger and then reads rows, as one function each of ledger and rows."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from rashomon_explorer import (
    DPBilevelSearch,
    DPClassifier,
    DPRegressor,
    PrivateSearch,
    RashomonClassifier,
    RashomonRegressor,
    RashomonTreeClassifier,
)
from rashomon_explorer.release import release

N = 60
EPSILON = 4.0
LABELS: dict[str, Any] = {"classes": [0, 1], "epsilon": EPSILON}


def public_rows() -> tuple[Any, Any]:
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 2))
    return X, (X[:, 0] > 0).astype(np.int64)


@functools.cache
def _models() -> Any:
    return RashomonClassifier(classes=[0, 1], epsilon=20.0, n_draws=2).fit(*public_rows())


def _fits(make: Callable[..., Any], **options: Any) -> Callable[[Any, Any, Any], Any]:
    return lambda ledger, X, y: make(**options, ledger=ledger).fit(X, y)


def _trees(**options: Any) -> Any:
    return RashomonTreeClassifier(thresholds=0.0, n_draws=1, max_leaves=2, **options)


def _search(ledger: Any, X: Any, y: Any) -> Any:
    grid = {"max_leaves": [2, 3]}
    trees = RashomonTreeClassifier(thresholds=0.0, n_draws=1, classes=[0, 1])
    return PrivateSearch(trees, grid, epsilon=EPSILON, ledger=ledger).fit(X, y)


def _bilevel(ledger: Any, X: Any, y: Any) -> Any:
    settings = {"bounds": (0.1, 10.0), "row_norm": 1.0, "classes": [0, 1], "epsilon": EPSILON}
    return DPBilevelSearch("logistic", **settings, ledger=ledger).fit(X, y)


def _release(ledger: Any, X: Any, y: Any) -> Any:
    asked: dict[str, Any] = {"queries": ["losses"], "epsilon": EPSILON}
    return release(_models().rashomon_set_, X, y, **asked, ledger=ledger)


IN_CHUNKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "RashomonClassifier": _fits(RashomonClassifier, n_draws=1, **LABELS),
    "RashomonRegressor": _fits(RashomonRegressor, n_draws=1, epsilon=EPSILON),
    "DPClassifier": _fits(DPClassifier, mechanism="objective_perturbation", **LABELS),
    "DPRegressor": _fits(DPRegressor, epsilon=EPSILON),
    "RashomonTreeClassifier": _fits(_trees, **LABELS),
}
"""Those that take chunked rows too."""

CHARGED = {
    **IN_CHUNKS,
    "PrivateSearch": _search,
    "DPBilevelSearch": _bilevel,
    "release": _release,
}
