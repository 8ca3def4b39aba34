"""One private tree or linear model, over base rates, strengths and shapes of what columns tell.

    python -m benchmarks.families --tables 240 > families.jsonl

Each line is a fit on a simulated table that a schema declares: held-out accuracy, AUC and squared
error of the probabilities (Brier), beside a logistic regression and gradient boosting without
privacy. ``half`` fits have .45 ε, as both candidates would if a private comparison chose.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from rashomon_explorer import DPClassifier, TableEncoder, TableSchema
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import Categorical, Numeric, YesNo

EPSILONS = (0.1, 0.3, 1.0, 3.0)
ROWS = (150, 300, 600, 1_200, 2_500, 5_000)
COLUMNS = (4, 8, 14, 24, 36)
RATES = (0.05, 0.1, 0.2, 0.35, 0.5)
SHAPES = ("linear", "one column", "steps", "interactions")
_TEST_ROWS = 2_000
_SHARE = 0.45  # of ε for each of two candidates, with a tenth for their comparison


def main() -> None:
    """Write a line for each fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=240)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.tables):
        for line in fits(seed):
            print(json.dumps(line), flush=True)


def fits(seed: int) -> Iterator[dict[str, Any]]:
    """Scores of both families on a table of this seed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice(ROWS)), int(rng.choice(COLUMNS))
    rate, shape = float(rng.choice(RATES)), str(rng.choice(SHAPES))
    binary = float(rng.choice([0.0, 0.3, 0.7, 1.0]))
    frame, schema, latent = columns(n + _TEST_ROWS, d, binary, rng)
    strength = rng.uniform(0.5, 4)
    labels = labelled(latent, shape, strength, rate, rng)
    if labels[:n].sum() < 5:
        return
    encoder = TableEncoder(schema)
    rows = np.asarray(encoder.fit_transform(frame))
    free = LogisticRegression(max_iter=1_000).fit(rows[:n], labels[:n])
    table = {
        "seed": seed,
        "n": n,
        "d": d,
        "p": rows.shape[1] + 1,
        "rate": rate,
        "shape": shape,
        "binary": binary,
        "questions": len(schema_questions(schema)),
        "strength": strength,
        "free": scores(free.predict_proba(rows[n:])[:, 1], labels[n:]),
    }
    for epsilon in EPSILONS:
        for family in ("linear", "trees"):
            for half in (False, True):
                model = DPClassifier(
                    epsilon=epsilon * (_SHARE if half else 1.0),
                    family=family,
                    classes=[0, 1],
                    schema=schema,
                    random_state=seed,
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(frame[:n], labels[:n])
                found = scores(model.predict_proba(frame[n:])[:, 1], labels[n:])
                plan = model.plan_
                more = {"size": getattr(plan, "log_size", None), "bound": plan.excess_bound}
                yield {**table, "epsilon": epsilon, "family": family, "half": half, **more, **found}


def schema_questions(schema: TableSchema) -> tuple[tuple[str, float | None], ...]:
    """Questions of a tree on a schema."""
    from rashomon_explorer.trees import questions

    return questions.schema_questions(schema, None).declared


def columns(
    m: int, d: int, binary: float, rng: np.random.Generator
) -> tuple[DataFrame, TableSchema, FloatArray]:
    """Make declared columns, and what the labels follow (m, d): standardised latent numbers."""
    common = rng.standard_normal((m, max(1, d // 4)))
    mixed = common @ rng.standard_normal((common.shape[1], d)) / np.sqrt(common.shape[1])
    shared = rng.uniform(0, 0.8)
    latent = np.sqrt(shared) * mixed + np.sqrt(1 - shared) * rng.standard_normal((m, d))
    parts: dict[str, Any] = {}
    declared: list[Any] = []
    told = np.empty((m, d))
    for j in range(d):
        name = f"x{j}"
        if rng.random() < binary:
            levels = int(rng.choice([2, 2, 2, 3, 4]))
            cuts = np.sort(rng.uniform(-1.2, 1.2, levels - 1))
            codes = np.searchsorted(cuts, latent[:, j])
            parts[name] = codes
            declared.append(
                YesNo(name, (0, 1)) if levels == 2 else Categorical(name, list(range(levels)))
            )
            told[:, j] = rng.standard_normal(levels)[codes] if levels > 2 else codes
        else:
            skewed = rng.random() < 0.4
            parts[name] = np.exp(latent[:, j]) if skewed else latent[:, j]
            off = rng.uniform(0.8, 1.5, 2)  # a typical range is declared roughly
            low, high = (0.1 * off[0], 5 * off[1]) if skewed else (-1.7 * off[0], 1.7 * off[1])
            bounds = (0.0, 30.0) if skewed else (-6.0, 6.0)
            declared.append(Numeric(name, bounds, typical=(low, high)))
            told[:, j] = parts[name]
    spread = np.maximum(told.std(axis=0), 1e-9)
    return DataFrame(parts), TableSchema(declared), (told - told.mean(axis=0)) / spread


def labelled(
    latent: FloatArray, shape: str, strength: float, rate: float, rng: np.random.Generator
) -> FloatArray:
    """Labels (m,) whose log-odds follow the columns in a shape, with a share of positives."""
    d = latent.shape[1]
    if shape == "one column":
        score = latent[:, rng.integers(d)] + 0.3 * latent @ rng.standard_normal(d) / np.sqrt(d)
    elif shape == "steps":
        used = rng.choice(d, min(d, 4), replace=False)
        score = (latent[:, used] > rng.uniform(-0.7, 0.7, len(used))) @ rng.standard_normal(
            len(used)
        )
    elif shape == "interactions":
        one, other, third = rng.choice(d, 3, replace=False)
        score = np.where(latent[:, one] > 0.3, latent[:, other], -0.5 * latent[:, third]) + (
            latent[:, one] > 0.3
        )
    else:
        weights = rng.standard_normal(d) * (rng.random(d) < rng.choice([0.3, 0.6, 1.0]))
        weights[rng.integers(d)] += 1
        score = latent @ weights
    score = strength * (score - score.mean()) / max(score.std(), 1e-9)
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(score + middle).mean() < rate else (low, middle)
    return (rng.random(len(score)) < expit(score + low)).astype(int)


def scores(chances: FloatArray, labels: FloatArray) -> dict[str, float]:
    """Accuracy above that of the most frequent class, AUC, and Brier score below its variance."""
    rate = labels.mean()
    return {
        "accuracy": float(((chances > 0.5) == labels).mean() - max(rate, 1 - rate)),
        "auc": float(roc_auc_score(labels, chances)),
        "brier": float(rate * (1 - rate) - ((chances - labels) ** 2).mean()),
    }


if __name__ == "__main__":
    main()
