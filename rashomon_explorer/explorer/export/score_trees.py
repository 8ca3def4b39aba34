"""Labels by released trees; needs only numpy and trees.json.

from score import read, labels
models = read("trees.json")
labels(models, rows)        # (n_trees, n_rows), one of models["classes"] each
"""

import json
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np

_ASKS = {"==": eq, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}


def read(path: str) -> Any:
    """Read trees.json, or another file of the same format."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def labels(models: dict[str, Any], rows: Any) -> Any:
    """Return the labels of all trees."""
    table = np.asarray(rows, dtype=float)
    codes = np.array([_codes(tree, table) for tree in models["trees"]])
    return np.asarray(models["classes"])[codes]


def _codes(node: dict[str, Any], table: Any) -> Any:
    if "prediction" in node:
        return np.full(len(table), node["prediction"])
    against = 1.0 if node["reference"] == "true" else float(node["reference"])
    yes = _ASKS[node["relation"]](table[:, node["feature"]], against)
    return np.where(yes, _codes(node["true"], table), _codes(node["false"], table))
