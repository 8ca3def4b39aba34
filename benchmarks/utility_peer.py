"""Fit diffprivlib's models where it is installed; imports nothing of the package.

Reads one table's splits (.npz) and writes the models of every split and ε, with their times.
Its logistic regression does not penalise the constant, for which its proof has no room, and its
price was measured to be more than it says: it is measured here as it is.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression


def main() -> None:
    """Fit every split at every ε."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="arrays of the table (.npz)")
    parser.add_argument("found", help="where the models go (.npz)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.load(options.file) as given:
        rows, targets = given["rows"], given["targets"]
        jobs = [(e, split) for e in given["epsilons"] for split in given["splits"]]
        classes = int(given["classes"])
        norm = float(given["norm"]) if "norm" in given else 1.0
    made = [
        _timed(rows[split], targets[split], float(e), classes, seed, norm)
        for seed, (e, split) in enumerate(jobs)
    ]
    np.savez(options.found, models=[m for m, _ in made], seconds=[s for _, s in made])


def _timed(
    rows: Any, targets: Any, epsilon: float, classes: int, seed: int, norm: float
) -> tuple[Any, float]:
    start = time.perf_counter()
    if classes:
        fitted = LogisticRegression(
            epsilon=epsilon, data_norm=norm, max_iter=2_000, random_state=seed
        )
    else:
        bounds = (-np.ones(rows.shape[1]), np.ones(rows.shape[1]))
        fitted = LinearRegression(
            epsilon=epsilon, bounds_X=bounds, bounds_y=(-1.0, 1.0), random_state=seed
        )
    fitted.fit(rows, targets)
    model = np.column_stack([np.atleast_2d(fitted.coef_), np.atleast_1d(fitted.intercept_)])
    return model, time.perf_counter() - start


if __name__ == "__main__":
    main()
