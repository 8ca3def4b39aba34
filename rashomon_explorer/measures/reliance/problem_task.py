"""The rows of a problem, as the measures of linear models take them."""

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.losses import AbsoluteLoss, SquaredLoss
from rashomon_explorer.measures.evaluation import LinearTask
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem import Problem

_KNOWN = ("squared", "absolute", "logistic", "hinge", "softmax")


def problem_task(problem: Problem | PenalisedProblem, coef: ArrayLike) -> LinearTask:
    """Models with a problem's own rows, targets and loss, without its ridge."""
    models = np.asarray(coef, dtype=float)
    if models.ndim != 2 or models.shape[1] != problem.p or not len(models):
        raise ValueError(f"coef must have shape (n_models, {problem.p}), got {models.shape}")
    loss, targets = problem.loss, problem.targets
    median = not isinstance(loss, AbsoluteLoss) or loss.tau == 0.5
    if loss.name not in _KNOWN or not median:
        raise ValueError(f"reliance is known for the losses {_KNOWN}, got {loss!r}")
    if isinstance(loss, SquaredLoss | AbsoluteLoss):
        targets = np.clip(targets, -loss.target_bound, loss.target_bound)
    elif loss.task == "classification":
        targets = (targets > 0).astype(float)
    shaped = models.reshape(len(models), loss.outputs, -1)
    return LinearTask(shaped, problem.rows, targets, loss.name, 1.0)
