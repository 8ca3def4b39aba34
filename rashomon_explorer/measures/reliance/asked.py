"""Whatever reliance is asked of: a set, a problem, or a fitted model with the rows that it saw."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.measures.evaluation import LinearTask
from rashomon_explorer.measures.ranges.declared import declared_problem
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.ranges.sklearn_problem import penalised_problem
from rashomon_explorer.measures.reliance.problem_task import problem_task
from rashomon_explorer.problem import Problem

Groups = Mapping[str, Sequence[str]] | None


def asked_task(
    models_or_problem: Any, X: ArrayLike | None, y: ArrayLike | None, loss: str | None
) -> tuple[LinearTask, Sequence[str], Groups]:
    """Models with rows, the names of the features, and which are one feature if that is known.

    Of a problem, which holds its own rows, or one of scikit-learn's linear models: its best model.
    """
    given = getattr(models_or_problem, "rashomon_set_", models_or_problem)
    if hasattr(given, "fit"):  # a set predicts too
        given, X, y = penalised_problem(given, _needed(X, "X"), _needed(y, "y")), None, None
    if not isinstance(given, Problem | PenalisedProblem):
        task = LinearTask.of(given, _needed(X, "X"), _needed(y, "y"), loss)
        return task, given.feature_names[:-1], given.feature_groups
    refuse_rows(X, y)
    if loss is not None:
        raise ValueError(f"a problem has a loss of its own: leave loss={loss!r} out")
    return problem_task(given, given.minimum.theta[None]), default_names(given), None


def class_problem(
    models_or_problem: Any, X: ArrayLike | None, y: ArrayLike | None, psi: float | None
) -> tuple[Problem, float, Sequence[str] | None, Groups]:
    """Problem whose whole set is meant, its ψ, and names and groups of features if it has any."""
    given = models_or_problem
    if isinstance(given, Problem):
        refuse_rows(X, y)
        if psi is None:
            raise ValueError("psi must be given: a problem says nothing about how good is good")
        return given, psi, None, None
    models = getattr(given, "rashomon_set_", None)
    if models is None:
        raise TypeError(
            "model class reliance needs a Problem, whose models are bounded, or a fitted Rashomon "
            f"estimator with its rows, got {type(given).__name__}: {_route(given)}"
        )
    problem = declared_problem(given, _needed(X, "X"), _needed(y, "y"))
    names, groups = models.feature_names[:-1], models.feature_groups
    return problem, models.psi if psi is None else psi, names, groups


def default_names(problem: Problem | PenalisedProblem) -> list[str]:
    """Names of a problem's features, without the intercept."""
    if isinstance(problem, PenalisedProblem):
        return list(problem.feature_names)
    width = problem.p // problem.loss.outputs - problem.intercept
    return [f"x{j}" for j in range(width)]


def refuse_rows(X: object, y: object) -> None:
    """Refuse rows beside a problem, which holds its own."""
    if X is None and y is None:
        return
    if np.ndim(X) == 0 and y is None:  # type: ignore[arg-type]
        raise TypeError(f"X must be rows, and a problem needs none; psi goes by name: psi={X!r}")
    raise ValueError("a problem holds its own rows: leave X and y out")


def _route(given: Any) -> str:
    if isinstance(given, PenalisedProblem) or hasattr(given, "fit"):
        return (
            "its penalty leaves the intercept free and no ball holds its models. model_reliance "
            "has the reliance of its best model, exact_ranges(penalised_problem(model, X, y), psi) "
            "the coefficients of all good ones, and Problem(X, y, radius=..., ridge=...) a class "
            "with a ball"
        )
    return (
        "pass the fitted estimator with X and y, or declared_problem(estimator, X, y); of draws "
        "alone model_reliance(models, X, y) has each one's"
    )


def _needed(values: ArrayLike | None, name: str) -> ArrayLike:
    if values is None:
        raise ValueError(f"{name} must be given: neither sets nor fitted models hold rows")
    return values
