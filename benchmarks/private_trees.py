"""Accuracy of one private sparse tree beside diffprivlib's tree and forest, on held-out rows."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.binary_tables import binary_tables
from benchmarks.utility import diffprivlib_scores
from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.exceptions import WeakGuaranteeWarning

BUDGETS = (0.05, 0.1, 0.5, 1.0)
_PEERS = ("diffprivlib tree", "diffprivlib forest")
_WORTH = 0.125  # mean excess, as the plan bounds it, that further leaves are allowed to cost


def measure(folder: str | Path, splits: int) -> list[dict[str, Any]]:
    """One entry a table, way and ε."""
    found = []
    for name, (X, y) in binary_tables(folder).items():
        rows = X.to_numpy()
        fits = [_fit_part(y, seed) for seed in range(splits)]
        accuracies = {"one private tree": {f"{e:g}": _ours(rows, y, fits, e) for e in BUDGETS}}
        accuracies |= _peers(rows, y, fits)
        for way, by_budget in accuracies.items():
            for epsilon, values in by_budget.items():
                error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
                found.append(
                    {
                        "table": name,
                        "n": len(fits[0]),
                        "features": rows.shape[1],
                        "way": way,
                        "epsilon": float(epsilon),
                        "accuracy": round(float(np.mean(values)), 4),
                        "error": round(float(error), 4),
                        "leaves": leaves_for(len(fits[0]), rows.shape[1], float(epsilon)),
                    }
                )
    return found


def leaves_for(n: int, features: int, epsilon: float) -> int:
    """Most leaves, from public numbers: as many as cost a mean excess of at most an eighth.

    Five at most, and four where there are more than thirty questions, for time.
    """
    fitting = 1
    for leaves in range(2, 5 if features > 30 else 6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakGuaranteeWarning)
            planned = _tree(epsilon, leaves).plan(n_samples=n, n_features=features)
        fitting = leaves if planned.excess_bound <= _WORTH else fitting
    return fitting


def _tree(epsilon: float, leaves: int, seed: int | None = None) -> RashomonTreeClassifier:
    settings: dict[str, Any] = {"psi": 0.0, "hit_rate": 0.0, "leaf_penalty": 0.0, "n_draws": 1}
    return RashomonTreeClassifier(
        epsilon=epsilon, delta=0.0, max_leaves=leaves, random_state=seed, **settings
    )


def _ours(
    rows: NDArray[Any], y: NDArray[Any], fits: list[NDArray[np.intp]], epsilon: float
) -> list[float]:
    leaves = leaves_for(len(fits[0]), rows.shape[1], epsilon)
    found = []
    for seed, fit in enumerate(fits):
        model = _tree(epsilon, leaves, seed).fit(rows[fit], y[fit])
        test = np.setdiff1d(np.arange(len(rows)), fit)
        found.append(float(model.score(rows[test], y[test])))
    return found


def _peers(
    rows: NDArray[Any], y: NDArray[Any], fits: list[NDArray[np.intp]]
) -> dict[str, dict[str, list[float]]]:
    """Those that are installed in an environment of their own, with their defaults."""
    bounds = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    return diffprivlib_scores(rows.astype(float), y, fits, BUDGETS, _PEERS, bounds)


def _fit_part(y: NDArray[Any], seed: int) -> NDArray[np.intp]:
    fit, _ = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y)
    return np.sort(fit)
