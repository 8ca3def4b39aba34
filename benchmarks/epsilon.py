"""Accuracy of one private classifier by rows, columns and ε: the table of docs/choose-epsilon.md.

    python -m benchmarks.epsilon

Columns are independent and standard normal, declared with public bounds; labels follow a logistic
model whose coefficients all matter. 40 % are positive, and the best rule is right for 80 % of new
rows. A number is the mean over ten tables, of 10,000 new rows each.
"""

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
from pandas import DataFrame, MultiIndex
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rashomon_explorer import DPClassifier, TableSchema
from rashomon_explorer.data import Numeric

ROWS = (500, 2_000, 10_000, 50_000)
COLUMNS = (5, 20, 50)
EPSILONS = (0.1, 0.3, 1.0, 3.0)
BASE_RATE, BEST_ACCURACY = 0.4, 0.8
_NEW_ROWS = 10_000


def logistic_law() -> tuple[float, float]:
    """Slope and intercept in one standard normal score with the base rate and best accuracy."""
    scores = np.linspace(-8, 8, 4_001)
    weights = np.exp(-(scores**2) / 2)
    weights /= weights.sum()

    def intercept(slope: float) -> float:
        return float(brentq(lambda b: weights @ expit(slope * scores + b) - BASE_RATE, -20, 20))

    def surplus(slope: float) -> float:
        chances = expit(slope * scores + intercept(slope))
        return float(weights @ np.maximum(chances, 1 - chances)) - BEST_ACCURACY

    slope = float(brentq(surplus, 0.1, 50))
    return slope, intercept(slope)


def accuracies(n: int, p: int, seed: int, epsilons: Sequence[float] = EPSILONS) -> list[float]:
    """Accuracy on new rows at each ε, and at last without privacy."""
    rng = np.random.default_rng([seed, n, p])
    slope, intercept = logistic_law()
    direction = rng.choice([-1, 1], p) * rng.uniform(0.5, 1.5, p)
    rows = rng.standard_normal((n + _NEW_ROWS, p))
    score = slope * rows @ direction / np.linalg.norm(direction) + intercept
    labels = (rng.random(len(rows)) < expit(score)).astype(int)
    frame = DataFrame(rows, columns=[f"x{k}" for k in range(p)])
    schema = TableSchema([Numeric(name, (-4, 4), typical=(-1.7, 1.7)) for name in frame])
    models = [
        DPClassifier(epsilon=epsilon, classes=[0, 1], schema=schema, random_state=seed)
        for epsilon in epsilons
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = [
            model.fit(frame[:n], labels[:n]).score(frame[n:], labels[n:])
            for model in [*models, LogisticRegression(max_iter=1_000)]
        ]
    return [float(value) for value in scores]


def table(tables: int = 10) -> DataFrame:
    """Mean accuracy by rows and columns, a column for each ε."""
    sizes = [(n, p) for n in ROWS for p in COLUMNS]
    means = [np.mean([accuracies(n, p, seed) for seed in range(tables)], axis=0) for n, p in sizes]
    index = MultiIndex.from_tuples(sizes, names=["rows", "columns"])
    return DataFrame(means, index=index, columns=[*EPSILONS, np.inf])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10)
    print(table(parser.parse_args().tables).round(3).to_string())


if __name__ == "__main__":
    main()
