"""Which way to one good model loses least, and where columns are paid for: simulated tables only.

    python -m benchmarks.rule_of_ways

Accuracy lost against a fit without privacy, one model by each way with and without private centres
and spreads; averages of gradients beside tilted minimisers for several classes; and twenty models
of an ellipsoid by the radius of its ball.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.measured import write_result
from benchmarks.rule import scaled
from benchmarks.simulated import KINDS, LARGE, SIZES, UNBALANCED, Table, of_classes, tables
from rashomon_explorer import RashomonClassifier
from rashomon_explorer.data.encoder import ENCODED_NORM
from rashomon_explorer.mechanisms.objective_perturbation import sampler as perturbation
from rashomon_explorer.mechanisms.objective_perturbation.plan import plan_objective_perturbation

RESULTS = Path(__file__).parent / "results" / "ways.json"
BUDGETS = (0.1, 1.0, 4.0)
DELTA = 1e-6
CLASSES = ((125, 13, 3), (500, 20, 3), (1_500, 20, 3), (1_500, 30, 6), (1_300, 60, 10))
BALLS = ((35_000, 10, 1.0), (20_000, 20, 4.0), (40_000, 60, 4.0))
RADII = (4.0, 8.0, 16.0, 32.0)
_ONE = {"n_draws": 1}
_TILT = {"mechanism": "objective_perturbation", **_ONE}
_WAYS: dict[str, dict[str, Any]] = {
    "clipped gradients": {"mechanism": "langevin_clipped", **_ONE},
    "pure tilt": {**_TILT, "delta": 0.0},
    "Gaussian tilt": _TILT,
}
_REPEATS = 2


def main() -> None:
    """Measure, print and write."""
    warnings.simplefilter("ignore")  # most of these plans promise little
    measured = {
        "one model": list(one_model()),
        "several classes": list(several_classes()),
        "ellipsoids": list(ellipsoids()),
    }
    write_result(RESULTS, measured)


def one_model() -> Iterator[dict[str, Any]]:
    """Points lost by each way, without and with private columns."""
    for table in tables((*SIZES, *LARGE), (*KINDS, *UNBALANCED)):
        for epsilon in BUDGETS:
            for way, settings in _WAYS.items():
                for columns in (None, "private"):
                    given = {"delta": DELTA, "epsilon": epsilon, "standardize": columns}
                    asked = {**given, **settings}
                    with mock.patch.object(
                        perturbation.plans, "plan_objective_perturbation", _tilted(way)
                    ):
                        lost = _lost(table, asked)
                    yield _told(table, way=way, epsilon=epsilon, standardize=columns, lost=lost)


def several_classes() -> Iterator[dict[str, Any]]:
    """Points lost by averages of gradients and by tilted minimisers, which are pure here."""
    for n, d, classes in CLASSES:
        for kind in ("numeric", "mixed", "factor"):
            table = of_classes(n, d, kind, classes, seed=n + d + classes + len(kind))
            for epsilon in BUDGETS:
                for mechanism in ("langevin", "objective_perturbation"):
                    asked = {"mechanism": mechanism, "epsilon": epsilon, "delta": DELTA, **_ONE}
                    lost = _lost(table, {**asked, "standardize": None})
                    yield _told(table, way=mechanism, epsilon=epsilon, classes=classes, lost=lost)


def ellipsoids() -> Iterator[dict[str, Any]]:
    """Points lost by twenty models of an ellipsoid in each ball."""
    for n, d, epsilon in BALLS:
        for table in tables(((n, d),), (*KINDS, *UNBALANCED)):
            for radius in RADII:
                asked = {"mechanism": "ellipsoid", "radius": radius, "n_draws": 20}
                lost = _lost(table, {**asked, "epsilon": epsilon, "delta": DELTA})
                yield _told(table, way="ellipsoid", epsilon=epsilon, radius=radius, lost=lost)


def _tilted(way: str) -> Any:

    return partial(plan_objective_perturbation, gaussian=way == "Gaussian tilt")


def _lost(table: Table, asked: dict[str, Any]) -> float:
    """Accuracy below that without privacy, in points, mean of a few fits."""
    rows, test = (ENCODED_NORM * scaled(some) for some in (table.rows, table.test_rows))
    labels, test_labels = table.labels.astype(int), table.test_labels.astype(int)
    fitted = LogisticRegression(C=10.0, max_iter=1_000).fit(table.rows, labels)
    reached = fitted.score(table.test_rows, test_labels)
    given = {"row_norm": ENCODED_NORM, "classes": np.unique(labels).tolist(), **asked}
    found = [
        RashomonClassifier(**given, random_state=seed).fit(rows, labels).score(test, test_labels)
        for seed in range(_REPEATS)
    ]
    return round(100 * float(reached - np.mean(found)), 2)


def _told(table: Table, **said: Any) -> dict[str, Any]:
    n, d = table.rows.shape
    print(n, d, table.kind, said, flush=True)
    return {"n": n, "columns": d, "kind": table.kind, **said}


if __name__ == "__main__":
    main()
