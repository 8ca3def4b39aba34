"""Simulated logistic problems with the minimiser inside the ball or on its sphere."""

import numpy as np
from scipy.special import expit

from rashomon_explorer.problem.problem import Problem

_SETTINGS = {"inside": {"scale": 0.6, "radius": None}, "sphere": {"scale": 2.0, "radius": 3.0}}


def logistic_problem(n: int, p: int, place: str, seed: int = 1) -> Problem:
    """Rows in the unit ball with a constant column; labels from a logistic model.

    ``inside`` lets the ball grow with √p, so that it does not bind; ``sphere`` holds a truth of
    norm about 2√p back at radius 3.
    """
    setting = _SETTINGS[place]
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, p))
    rows[:, 0] = 1.0
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    truth = setting["scale"] * rng.standard_normal(p)
    labels = np.where(rng.random(n) < expit(rows @ truth), 1.0, -1.0)
    radius = setting["radius"] or 1.3 * np.sqrt(p)
    problem = Problem(rows, labels, radius=radius, intercept=False)
    assert problem.minimum.on_boundary == (place == "sphere"), (n, p, place)
    return problem
