"""Predictions of released models on encoded rows; needs only numpy and the file of the models.

from score import labels, read, scores
scores(read("models.json"), rows)  # (n_draws, n_rows), or (n_draws, n_rows, n_classes) for several
labels(read("trees.json"), rows)   # (n_trees, n_rows), one of the classes each
"""

import json
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np


def read(path: str) -> Any:
    """Read models.json or trees.json."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def scores(models: dict[str, Any], rows: Any) -> Any:
    """Scores of all linear models."""
    rows = _shortened(np.asarray(rows, dtype=float), models)
    if "spreads" in models:  # released scaling: coefficients refer to scaled columns
        centred = rows - np.asarray(models["centres"])
        rows = _shortened(centred / np.asarray(models["spreads"]), models)
    linear = np.einsum("kof,nf->kno", np.asarray(models["coefficients"]), rows)
    linear = linear + np.asarray(models["intercepts"])[:, None, :]
    return PREDICTIONS[models["link"]](linear, models)


def _shortened(rows: Any, models: dict[str, Any]) -> Any:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, models["row_norm"] / np.maximum(lengths, 1e-300))


def _probability(linear: Any, models: dict[str, Any]) -> Any:
    return 1.0 / (1.0 + np.exp(-linear[..., 0]))


def _label(linear: Any, models: dict[str, Any]) -> Any:
    return (linear[..., 0] > 0).astype(float)


def _class_probabilities(linear: Any, models: dict[str, Any]) -> Any:
    every = np.concatenate([np.zeros_like(linear[..., :1]), linear], axis=-1)
    grown = np.exp(every - every.max(axis=-1, keepdims=True))
    return grown / grown.sum(axis=-1, keepdims=True)


def _target(linear: Any, models: dict[str, Any]) -> Any:
    low, high = models["target_bounds"]
    return (low + high) / 2 + linear[..., 0] * (high - low) / 2


PREDICTIONS = {
    "logistic": _probability,
    "sign": _label,
    "softmax": _class_probabilities,
    "identity": _target,
}


_ASKS = {"==": eq, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}


def labels(models: dict[str, Any], rows: Any) -> Any:
    """Labels by all trees."""
    table = np.asarray(rows, dtype=float)
    codes = np.array([_codes(tree, table) for tree in models["trees"]])
    return np.asarray(models["classes"])[codes]


def _codes(node: dict[str, Any], table: Any) -> Any:
    if "prediction" in node:
        return np.full(len(table), node["prediction"])
    against = 1.0 if node["reference"] == "true" else float(node["reference"])
    yes = _ASKS[node["relation"]](table[:, node["feature"]], against)
    return np.where(yes, _codes(node["true"], table), _codes(node["false"], table))
