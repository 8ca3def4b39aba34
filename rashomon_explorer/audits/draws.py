"""Uniform models of the exact set of a fitted model, for numbers that are averages over the set."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.linear import from_draws

_POINT = 1.65e-9  # nominal seconds of one step of a chain, per row and parameter
_SECONDS, _FEWEST = 5.0, 16  # nominal seconds of all chains, and the least number of models


def usual_number(problem: Any, most: int) -> int:
    """Count the models that are drawn in a few seconds, by the size of the table alone."""
    size = problem.n * problem.p * (2 * problem.p + 10)
    return min(most, max(_FEWEST, int(_SECONDS / (_POINT * size))))


def _against_first(problem: Any, drawn: FloatArray) -> tuple[Any, FloatArray]:
    """Problem and models whose first class has the score 0, as in sets of linear models."""
    outputs, losses = problem.loss.outputs, problem.value(drawn.T)

    def referenced(theta: FloatArray) -> FloatArray:
        each = theta.reshape(len(theta), outputs, -1)
        return (each[:, 1:] - each[:, :1]).reshape(len(theta), -1)

    best = referenced(problem.minimum.theta[None])[0]
    problem_shape = SimpleNamespace(
        n=problem.n,
        p=len(best),
        # The same labels as by the largest score of a squared loss, too.
        loss=SimpleNamespace(name=problem.loss.name, link="softmax", outputs=outputs - 1),
        minimum=replace(problem.minimum, theta=best),
        row_norm=problem.row_norm,
        intercept=problem.intercept,
        value=lambda _: losses,
    )
    return problem_shape, referenced(drawn)


def drawn_set(
    problem: Any,
    psi: float,
    n_models: int,
    rng: np.random.Generator,
    *,
    names: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    classes: Sequence[Any],
) -> RashomonSet:
    """Set of uniform models of the exact set, in the units of the rows of the problem."""
    from rashomon_explorer.mechanisms.hit_and_run import uniform_models  # slow to import

    drawn = uniform_models(problem, psi, n_models, rng)
    if problem.loss.outputs > 1:
        problem, drawn = _against_first(problem, drawn)
    return from_draws(
        problem,
        drawn,
        psi,
        feature_names=names,
        feature_groups=groups,
        classes=classes,
        mechanism="hit_and_run",
        guarantee=no_guarantee("uniform models of the set of a fitted model: curator only"),
    )
