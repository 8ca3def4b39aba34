"""A small set that the tests know by heart."""

import json
from typing import Any

import numpy as np

from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.problem.minimisation import Minimum
from rashomon_explorer.sets import RashomonSet

PLANNED = plan(50, 3, 0.1, radius=2.0, row_norm=1.5, epsilon=1.0, n_draws=4)


def make(**changes):
    values: dict[str, Any] = {
        "coef": np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 0.0], [3.0, 0.0, -1.0], [0.0, 0.0, 0.0]]),
        "feature_names": ("age", "income", "intercept"),
        "link": "logistic",
        "row_norm": 1.0,
        "plan": PLANNED,
        "guarantee": PLANNED.guarantee,
        "losses": np.array([0.45, 0.5, 0.5 + 1e-9, 0.8]),
        "minimum": Minimum(np.array([1.0, 1.0, 0.0]), 0.4, 1e-9, 0.0, 0.0),
        "clipped_share": 0.25,
        "acceptance": 0.1,
        "mechanism": "exact",
    }
    return RashomonSet(**{**values, **changes})


def rewrite_header(path, **changes):
    """Write the header as another program would have."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = {**json.loads(arrays.pop("header").tobytes()), **changes}
    np.savez(path, **arrays, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
