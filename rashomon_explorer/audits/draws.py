"""Uniform models of the exact set of a fitted model, for numbers that are averages over the set."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import tally
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.sources.draws import from_draws

_FLAT = 1e-12  # of the largest curvature: along flatter directions no score changes
_MOST_DOUBLINGS = 60
_ROUNDING = 1e-12  # least length of an interval, relative to the first
_STEPS = 2  # of each chain, per parameter


_POINT = 1.65e-9  # nominal seconds of one step of a chain, per row and parameter
_SECONDS, _FEWEST = 5.0, 16  # nominal seconds of all chains, and the least number of models


def usual_number(problem: Any, most: int) -> int:
    """Count the models that are drawn in a few seconds, by the size of the table alone."""
    size = problem.n * problem.p * (_STEPS * problem.p + 10)
    return min(most, max(_FEWEST, int(_SECONDS / (_POINT * size))))


@one_blas_thread()
def uniform_models(problem: Any, psi: float, n_models: int, rng: np.random.Generator) -> FloatArray:
    """Models (n_models, p) of {L ≤ min L + psi}, each by a hit-and-run chain: not private."""
    best = problem.minimum
    level = best.value + psi
    curvature, vectors = np.linalg.eigh(problem.hessian(best.theta))
    bent = curvature > _FLAT * curvature[-1]
    metric = vectors[:, bent] * math.sqrt(2 * psi) / np.sqrt(curvature[bent])
    rank = metric.shape[1]
    theta = np.repeat(best.theta[:, None], n_models, axis=1)

    def inside(t: FloatArray, move: FloatArray) -> Any:
        return problem.value(theta + t * move) <= level

    def unit() -> FloatArray:
        drawn = rng.standard_normal((rank, n_models))
        return np.asarray(metric @ (drawn / np.linalg.norm(drawn, axis=0)))

    steps = _STEPS * rank + 10
    with tally(steps, "models of the set") as done:
        move = unit()
        share = rng.random(n_models) ** (1 / rank)
        theta = theta + share * _end(inside, move, np.ones(n_models)) * move
        for step in range(steps):
            move = unit()
            theta = theta + _uniform(inside, move, rng) * move
            done(step + 1)
    return theta.T


def _end(inside: Any, move: FloatArray, start: FloatArray) -> FloatArray:
    low, high = np.zeros_like(start), _beyond(inside, move, start)
    for _ in range(40):
        middle = (low + high) / 2
        within = inside(middle, move)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return low


def _beyond(inside: Any, move: FloatArray, start: FloatArray) -> FloatArray:
    end = start.copy()
    for _ in range(_MOST_DOUBLINGS):
        within = inside(end, move)
        if not within.any():
            break
        end = np.where(within, 2 * end, end)
    return end


def _uniform(inside: Any, move: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Uniform points (K,) of the chords; every rejected point shortens its interval."""
    steps = np.ones(move.shape[1])
    low, high = _beyond(inside, move, -steps), _beyond(inside, move, steps)
    accepted_points, open_ = np.zeros_like(steps), np.ones(len(steps), dtype=bool)
    while open_.any():
        t = low + rng.random(len(steps)) * (high - low)
        accepted = open_ & inside(np.where(open_, t, 0.0), move)
        accepted_points = np.where(accepted, t, accepted_points)
        low = np.where(open_ & ~accepted & (t < 0), t, low)
        high = np.where(open_ & ~accepted & (t >= 0), t, high)
        open_ &= ~accepted & (high - low > _ROUNDING)
    return accepted_points


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
