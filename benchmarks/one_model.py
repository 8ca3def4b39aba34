"""One private model of breast cancer, by every method, beside diffprivlib and no privacy at all.

Columns are standardised by their own means and spreads and rows shortened to norm 2, for every way
alike: that is outside any guarantee. ε = 1, δ = 10⁻⁵ and 0; accuracy on the 30 % that a split keeps
away, and on the rows the mean excess beside what was promised of it.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from benchmarks.machine import machine
from benchmarks.measured import write_result
from benchmarks.utility import diffprivlib_scores
from rashomon_explorer import DPClassifier, load_dataset
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.papers import Regularised  # noqa: F401  # registers all of them
from rashomon_explorer.problem.problem import Problem

RESULTS = Path(__file__).parent / "results" / "one_model.json"
EPSILON, DELTAS, ROW_NORM = 1.0, (1e-5, 0.0), 2.0
_PEER = "diffprivlib logistic regression"

Split = tuple[NDArray[Any], NDArray[Any]]
_METHODS = (
    *("auto", "objective_perturbation", "unthresholded", "langevin"),
    *(name for name, kind in MECHANISMS.items() if kind.traits.one_model),
)


def measure(splits: int = 20, methods: tuple[str, ...] = _METHODS) -> dict[str, Any]:
    """Measure every method that applies, the peer and the fit without privacy."""
    rows, labels = table()
    every = [
        train_test_split(np.arange(len(rows)), test_size=0.3, random_state=s, stratify=labels)
        for s in range(splits)
    ]
    ways = []
    for delta in DELTAS:
        for method in methods:
            ways.append(_of_method(rows, labels, every, method, delta))
    found = {"machine": machine(), "splits": splits, "epsilon": EPSILON, "row_norm": ROW_NORM}
    others = [*_peer(rows, labels, every), _not_private(rows, labels, every)]
    return {**found, "ways": [way for way in (*ways, *others) if way["accuracy"] is not None]}


def table() -> tuple[FloatArray, NDArray[Any]]:
    """Standardised rows (n, 30) of norm at most 2, and labels 0 and 1."""
    data = load_dataset("breast_cancer")
    values = np.asarray(data.X, dtype=float)
    rows = (values - values.mean(axis=0)) / values.std(axis=0)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, ROW_NORM / norms), np.asarray(data.y).astype(int)


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Lay out a way a line."""
    for way in measured["ways"]:
        told = f"{way['way']:26}{way['delta']:>8g}  {way['accuracy']:.3f} ± {way['error']:.3f}"
        if way.get("promised") is not None:
            told += f"  excess {way['excess']:.3f}, promised {way['promised']:.3f}"
        yield told


def write(measured: dict[str, Any], file: Path = RESULTS) -> None:
    """Write the measurements."""
    write_result(file, measured)


def _of_method(
    rows: FloatArray, labels: NDArray[Any], splits: list[Split], method: str, delta: float
) -> dict[str, Any]:
    scores, excess, promised = [], [], None
    for seed, (fit, test) in enumerate(splits):
        settings = {"epsilon": EPSILON, "delta": delta, "row_norm": ROW_NORM, "classes": [0, 1]}
        model = DPClassifier(mechanism=method, random_state=seed, **settings)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(rows[fit], labels[fit])
        except SamplerError:  # which does not apply, or did not come
            continue
        scores.append(model.score(rows[test], labels[test]))
        promised = model.excess_bound_
        signs, radius = 2.0 * labels[fit] - 1, model.plan_.radius
        posed = Problem(rows[fit], signs, radius=radius, row_norm=ROW_NORM)
        theta = np.append(model.encoded_coef_[0], model.encoded_intercept_[0])
        excess.append(float(posed.value(theta[:, None])[0]) - posed.minimum.value)
    mean = round(float(np.mean(excess)), 4) if excess else None
    return {**_summary(method, delta, scores), "excess": mean, "promised": promised}


def _peer(rows: FloatArray, labels: NDArray[Any], splits: list[Split]) -> Iterator[dict[str, Any]]:
    """Fit diffprivlib in its own environment; without it there is nothing to compare with."""
    fits, only = [fit for fit, _ in splits], (_PEER,)
    found = diffprivlib_scores(rows, labels, fits, (EPSILON,), only, np.zeros((2, 1)), ROW_NORM)
    for scores in found.get(_PEER, {}).values():
        yield _summary("diffprivlib", 0.0, scores)


def _not_private(rows: FloatArray, labels: NDArray[Any], splits: list[Split]) -> dict[str, Any]:
    scores = [
        LogisticRegression(C=100.0, max_iter=5_000)
        .fit(rows[fit], labels[fit])
        .score(rows[test], labels[test])
        for fit, test in splits
    ]
    return _summary("scikit-learn, not private", 0.0, scores)


def _summary(way: str, delta: float, scores: list[float]) -> dict[str, Any]:
    if not scores:
        return {"way": way, "delta": delta, "fits": 0, "accuracy": None, "error": None}
    error = np.std(scores, ddof=len(scores) > 1) / np.sqrt(len(scores))
    numbers = {"accuracy": round(float(np.mean(scores)), 4), "error": round(float(error), 4)}
    return {"way": way, "delta": delta, "fits": len(scores), **numbers}
