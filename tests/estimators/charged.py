"""Every estimator with settings for small rows, and everything that charges a ledger."""

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import rashomon_explorer as rx
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.release import release

N = 60
EPSILON = 4.0
LABELS: dict[str, Any] = {"classes": [0, 1], "epsilon": EPSILON}
TARGETS: dict[str, Any] = {"target_bounds": (-1, 1), "epsilon": EPSILON}


def public_rows():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 2))
    return X, (X[:, 0] > 0).astype(np.int64)


STATES: dict[str, Any] = {"n_draws": 2, "n_steps": 20}
TREES: dict[str, Any] = {"thresholds": 0.0, "n_draws": 1}
CHUNKED: dict[str, Callable[..., Any]] = {
    "RashomonClassifier": partial(rx.RashomonClassifier, n_draws=1, **LABELS),
    "RashomonRegressor": partial(rx.RashomonRegressor, mechanism="exact", n_draws=1, **TARGETS),
    "DPClassifier": partial(rx.DPClassifier, mechanism="objective_perturbation", **LABELS),
    "DPRegressor": partial(rx.DPRegressor, mechanism="moments", **TARGETS),
    "RashomonTreeClassifier": partial(rx.RashomonTreeClassifier, max_leaves=2, **TREES, **LABELS),
}
ESTIMATORS: dict[str, Callable[..., Any]] = {
    **CHUNKED,
    "DPClassifier of trees": partial(rx.DPClassifier, family="trees", **LABELS),
    "PrivateSearch": partial(
        rx.PrivateSearch,
        rx.RashomonTreeClassifier(classes=[0, 1], **TREES),
        {"max_leaves": [2, 3]},
        epsilon=EPSILON,
    ),
    "RashomonNetworkClassifier": partial(rx.RashomonNetworkClassifier, **STATES, **LABELS),
    "RashomonNetworkRegressor": partial(rx.RashomonNetworkRegressor, **STATES, **TARGETS),
    "DPBilevelSearch": partial(rx.DPBilevelSearch, "logistic", bounds=(0.1, 10.0), **LABELS),
}


def _fits(make):
    return lambda ledger, X, y: make(ledger=ledger).fit(X, y)


@functools.cache
def _models():
    settings = {"classes": [0, 1], "epsilon": 20.0, "n_draws": 2, "mechanism": "exact"}
    return rx.RashomonClassifier(**settings).fit(*public_rows())


def _release(ledger, X, y):
    asked: dict[str, Any] = {"queries": ["losses"], "epsilon": EPSILON}
    return release(_models().rashomon_set_, X, y, **asked, ledger=ledger)


IN_CHUNKS = {name: _fits(make) for name, make in CHUNKED.items()}
"""Those that take chunked rows too."""

PRIVATE_TABLE = partial(  # takes cells that the others refuse
    rx.PrivateTable,
    rx.DPClassifier(classes=[0, 1], mechanism="objective_perturbation"),
    schema=TableSchema([Numeric("age", (-1, 1)), Numeric("debt", (-1, 1))]),
    epsilon=EPSILON,
)
CHARGED = {name: _fits(make) for name, make in ESTIMATORS.items()} | {
    "PrivateTable": _fits(PRIVATE_TABLE),
    "release": _release,
}
