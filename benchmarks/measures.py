"""Every measure of multiplicity for a thousand models and 50,000 rows, against two seconds."""

import resource
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.timing import median_seconds
from rashomon_explorer import measures

MODELS, ROWS, FEATURES = 1_000, 50_000, 10
LIMIT_SECONDS, LIMIT_GIB = 2.0, 2.0
THRESHOLDS = 100
TOLERANCE = 0.05


def measure(seconds: float) -> list[dict[str, Any]]:
    """One entry for all measures together, then one each; ``fraction_of_limit`` is of two seconds.

    ``peak_gib`` is the largest memory that the whole process has had, the arrays included.
    """
    scores = _scores()
    labels = (scores > 0.5).astype(int)
    excess = np.random.default_rng(1).random(MODELS) * 0.02
    works = _works(labels, scores)
    entries = [_entry("all measures", median_seconds(lambda: _table(labels, scores), seconds))]
    for name, work in works.items():
        entries.append(_entry(name, median_seconds(work, seconds / len(works))))
    grid = np.linspace(0, 0.02, THRESHOLDS)
    models = _models(labels, scores, excess=excess, psi=0.02)
    for name in ("ambiguity", "disagreement", "range_width"):
        start = time.perf_counter()
        measures.multiplicity_table(models, psi=grid, measures=[name])
        entries.append(_entry(f"{name} at {THRESHOLDS} psi", time.perf_counter() - start))
    return entries


def _table(labels: Any, scores: Any) -> object:
    """Tabulate all measures of models whose labels and scores are known."""
    models = _models(labels, scores)
    return measures.multiplicity_table(models, tolerance=TOLERANCE, inside_only=False)


def _models(labels: Any, scores: Any, **excess: Any) -> SimpleNamespace:
    predictions = {"labels": lambda X: labels, "scores": lambda X: scores}
    return SimpleNamespace(task="classification", n_draws=MODELS, **predictions, **excess)


def _works(labels: Any, scores: Any) -> dict[str, Callable[[], object]]:
    tolerance = {"tolerance": TOLERANCE}
    return {
        "ambiguity": lambda: measures.ambiguity(labels),
        "discrepancy": lambda: measures.discrepancy(labels),
        "any_pair_discrepancy": lambda: measures.discrepancy(labels, "any pair"),
        "obscurity": lambda: measures.multiplicity.obscurity(labels),
        "disagreement": lambda: measures.disagreement(labels),
        "self_consistency": lambda: measures.multiplicity.self_consistency(labels),
        "cohen_kappa": lambda: measures.multiplicity.cohen_kappa(labels),
        "pattern_diversity": lambda: measures.multiplicity.pattern_diversity(labels),
        "delta_ambiguity": lambda: measures.multiplicity.delta_ambiguity(scores, **tolerance),
        "delta_discrepancy": lambda: measures.multiplicity.delta_discrepancy(scores, **tolerance),
        "viable range": lambda: measures.viable_prediction_range(scores),
        "score std": lambda: measures.multiplicity.score_std(scores),
        "rashomon_capacity": lambda: measures.rashomon_capacity(scores),
    }


def _entry(name: str, seconds: float) -> dict[str, Any]:
    return {
        "measure": name,
        "models": MODELS,
        "rows": ROWS,
        "seconds": round(seconds, 3),
        "fraction_of_limit": round(seconds / LIMIT_SECONDS, 3),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def _scores() -> Any:
    """Probabilities of logistic models about one truth, a few per cent apart."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((ROWS, FEATURES))
    models = rng.standard_normal(FEATURES) + 0.15 * rng.standard_normal((MODELS, FEATURES))
    scores = models @ rows.T
    return expit(scores, out=scores)
