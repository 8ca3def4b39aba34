"""Model reliance of every model of a set, linear or trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from rashomon_explorer import sets
from rashomon_explorer._utils.arrays import FloatArray, scale_targets
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.measures import inputs
from rashomon_explorer.measures.ranges import penalised
from rashomon_explorer.measures.ranges.declared import declared_problem
from rashomon_explorer.measures.ranges.linear_models import penalised_problem
from rashomon_explorer.measures.reliance.level_set import SquareMoments, moment_sums
from rashomon_explorer.measures.reliance.pair_losses import row_losses, switched_mean
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import Problem, add_intercept
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import chunks_with_targets, is_chunked
from rashomon_explorer.sets.models.fitted import FittedModels, class_codes
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node, tree_questions

LOSS_OF_LINK = {
    "logistic": "logistic",
    "softmax": "softmax",
    "sign": "zero_one",
    "identity": "squared",
}


@dataclass(frozen=True)
class LinearTask:
    """Linear models and the rows on which they are evaluated."""

    coef: FloatArray
    rows: FloatArray
    targets: FloatArray
    loss: str
    scale: float

    @classmethod
    def from_models(
        cls, models: sets.RashomonSet | sets.ReleasedSet, X: ArrayLike, y: ArrayLike
    ) -> LinearTask:
        """Create a task with the rows and targets as the models use them."""
        models, X = inputs.set_and_rows(models, X)
        models = linear_models(models)
        if models.n_draws == 0:
            raise ValueError("the set has no models, so there is nothing to measure")
        rows, targets = checked_rows(models, X, y)
        n_features = len(models.feature_names) - 1
        if rows.shape[1] != n_features:
            raise ValueError(f"X must have shape (n_rows, {n_features}), got {rows.shape}")
        scale = 1.0
        if models.task == "regression":
            low, high = models.target_bounds
            targets = scale_targets(targets, (low, high))
            scale = ((high - low) / 2) ** 2
        coef = models.coef.reshape(models.n_draws, models.outputs, n_features + 1)
        return cls(
            coef, add_intercept(models.rows(rows)), targets, LOSS_OF_LINK[models.link], scale
        )


def linear_models(models: Any) -> sets.RashomonSet | sets.ReleasedSet:
    """Set of linear models, also that of fitted ones; raise TypeError unless they are linear."""
    if isinstance(models, sets.RashomonSet | sets.ReleasedSet):
        return models
    if isinstance(models, sets.PredictorSet) and isinstance(models.models, FittedModels):
        try:
            return models.linear
        except TypeError as error:
            raise TypeError(
                f"linear models or trees are needed, and {error}: permutation_importance is for "
                "any models"
            ) from error
    raise TypeError(
        "this importance needs linear models, a RashomonSet or a ReleasedSet, or decision "
        f"trees, got {type(models).__name__}: permutation_importance is for "
        "any models"
    )


def checked_rows(
    models: sets.ModelSet, X: ArrayLike, y: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Numeric rows, and one finite target or label code per row."""
    rows = np.asarray(X, dtype=float)
    targets = np.asarray(y)
    inputs.check_targets(rows, targets)
    if len(rows) == 0:
        raise ValueError("X must have at least one row")
    numbers = targets if targets.dtype.kind == "f" else np.zeros(0)
    if not (np.isfinite(rows).all() and np.isfinite(numbers).all()):
        raise ValueError("X and y must be finite: remove or impute rows with NaN or infinity")
    if models.task == "regression":
        return rows, targets.astype(float)
    classes = models.classes or tuple(range(models.n_classes))
    return rows, class_codes(targets, classes, "y").astype(float)


Question = tuple[int, str, float]


def find_trees(models: Any) -> DecisionTrees | None:
    """Trees of a set or of an estimator's set; None for any other object."""
    model_set = getattr(models, "rashomon_set_", models)
    if not isinstance(model_set, sets.PredictorModels):
        return None
    try:
        return model_set.decision_trees
    except TypeError:
        return None


def column_names(trees: DecisionTrees, rows: FloatArray) -> tuple[str, ...]:
    """Names of the trees' columns, by default x0, x1, …."""
    return trees.feature_names or tuple(f"x{j}" for j in range(rows.shape[1]))


@dataclass(frozen=True, eq=False)
class TreeTask:
    """Decision trees and the rows on which they are evaluated."""

    trees: DecisionTrees
    rows: FloatArray
    targets: NDArray[np.int_]  # codes of the labels among the set's classes

    @classmethod
    def from_models(cls, models: Any, X: ArrayLike | None, y: ArrayLike | None) -> TreeTask:
        """Create a task with the rows in the trees' columns."""
        if X is None or y is None:
            raise ValueError("X and y are required: sets hold no rows")
        model_set, X = inputs.set_and_rows(models, X)
        trees = model_set.decision_trees
        rows, codes = trees.rows(X), class_codes(np.asarray(y), tuple(model_set.classes), "y")
        inputs.check_targets(rows, codes)
        return cls(trees, rows, codes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return column_names(self.trees, self.rows)

    def rises(self, groups: Mapping[str, inputs.Columns]) -> tuple[pd.DataFrame, FloatArray]:
        """Increase of the error rate (K, groups) when columns are switched, and that rate (K,)."""
        n, n_classes = len(self.targets), self.trees.n_classes
        inputs.check_two_rows(n)
        different, index = np.unique(self.rows, axis=0, return_inverse=True)
        codes = index.reshape(-1) * n_classes + self.targets
        counts = np.bincount(codes, minlength=len(different) * n_classes).astype(float)
        table = _Table(different, counts.reshape(len(different), -1))
        before, rises = [], []
        for tree in self.trees.trees:
            wrong = table.errors(tree, {})
            before.append(wrong / n)
            rises.append([_switched(tree, table, c, wrong) - wrong / n for c in groups.values()])
        frame = pd.DataFrame(rises, columns=list(groups))
        return frame.rename_axis(index="model", columns="feature"), np.array(before)


def _switched(
    tree: Node, table: _Table, columns: Sequence[int] | inputs.Columns, diagonal: float
) -> float:
    """Mean loss over all pairs of different rows; pairs of a row with itself are excluded."""
    moved = set(np.asarray(columns).tolist())
    splits = {split.question: split for split in tree_questions(tree) if split.feature in moved}
    questions, n = sorted(splits), table.n
    if not questions:
        return diagonal / n
    ordered = [splits[question] for question in questions]
    answers = [split.answers(table.rows[:, split.feature]) for split in ordered]
    patterns, index = np.unique(np.column_stack(answers), axis=0, return_inverse=True)
    many = np.bincount(index.reshape(-1), table.weights)
    total = sum(
        count * table.errors(tree, dict(zip(questions, pattern, strict=True)))
        for count, pattern in zip(many, patterns, strict=True)
    )
    return float((total - diagonal) / (n * (n - 1)))


class _Table:
    """Distinct rows, with their counts in each class."""

    def __init__(self, rows: FloatArray, counts: FloatArray) -> None:
        self.rows, self.counts = rows, counts
        self.weights = counts.sum(axis=1)
        self.n = float(self.weights.sum())

    def errors(self, tree: Node, fixed: Mapping[Question, Any]) -> float:
        """Count the rows that a tree labels wrongly if some questions have fixed answers."""
        return self._below(tree, fixed, np.arange(len(self.rows)))

    def _below(self, node: Node, fixed: Mapping[Question, Any], places: NDArray[np.intp]) -> float:
        if isinstance(node, Leaf):
            return float(self.weights[places].sum() - self.counts[places, node.prediction].sum())
        if node.question in fixed:
            branch = node.if_true if fixed[node.question] else node.if_false
            return self._below(branch, fixed, places)
        yes = node.answers(self.rows[places, node.feature])
        return self._below(node.if_true, fixed, places[yes]) + self._below(
            node.if_false, fixed, places[~yes]
        )


Groups = Mapping[str, Sequence[str]] | None


def reliance_task(
    models_or_problem: Any, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[LinearTask | TreeTask, Sequence[str], Groups]:
    """Task of models and rows, with the names of the features and their groups if known."""
    if find_trees(models_or_problem) is not None:
        trees = TreeTask.from_models(models_or_problem, X, y)
        return trees, trees.names, None
    source = models_or_problem
    if _has_draws(source):
        source, X = inputs.set_and_rows(source, X)
    if hasattr(source, "fit"):  # one model; sets have predict, but not fit
        source, X, y = (penalised_problem(source, _needed(X, "X"), _needed(y, "y")), None, None)
    if not isinstance(source, Problem | penalised.PenalisedProblem):
        source = linear_models(source)
        task = LinearTask.from_models(source, _needed(X, "X"), _needed(y, "y"))
        return task, source.feature_names[:-1], source.feature_groups
    refuse_rows(X, y)
    return problem_task(source, source.minimum.theta[None]), default_names(source), None


def _has_draws(source: Any) -> bool:
    """Whether an object is a set, or an estimator or pipeline with one."""
    last = source[-1] if isinstance(source, Pipeline) else source
    return hasattr(last, "n_draws") or hasattr(last, "rashomon_set_")


_KNOWN = ("squared", "logistic", "softmax")


def problem_task(problem: penalised.ConvexProblem, coef: ArrayLike) -> LinearTask:
    """Task of models with a problem's rows, targets and loss, without its ridge."""
    models = np.asarray(coef, dtype=float)
    if models.ndim != 2 or models.shape[1] != problem.p or not len(models):
        raise ValueError(f"coef must have shape (n_models, {problem.p}), got {models.shape}")
    loss, targets, name = problem.loss, problem.targets, problem.loss.name
    shaped = models.reshape(len(models), loss.outputs, -1)
    if name == "symmetric_softmax":  # scores relative to those of the first class
        name, shaped = "softmax", shaped[:, 1:] - shaped[:, :1]
    if name not in _KNOWN:
        raise ValueError(f"reliance needs one of the losses {_KNOWN}, got {loss!r}")
    if isinstance(loss, SquaredLoss):
        targets = np.clip(targets, -loss.target_bound, loss.target_bound)
    elif loss.task == "classification":
        targets = (targets > 0).astype(float)
    return LinearTask(shaped, problem.rows, targets, name, 1.0)


def class_problem(
    models_or_problem: Any, X: ArrayLike | None, y: ArrayLike | None, psi: float | None
) -> tuple[Problem, float, Sequence[str] | None, Groups]:
    """Problem, ψ, and names and groups of features (if known) of a Rashomon set."""
    source = models_or_problem
    if isinstance(source, penalised.PenalisedProblem) and psi is not None:
        refuse_rows(X, y)
        # It has what the search reads of a Problem.
        return cast(Problem, bounded_problem(source, psi)), psi, None, None
    if isinstance(source, Problem):
        refuse_rows(X, y)
        if psi is None:
            raise ValueError("psi is required: a problem has no Rashomon threshold")
        return source, psi, None, None
    models = inputs.fitted_set(source) if _has_draws(source) and hasattr(source, "fit") else None
    if models is None:
        raise TypeError(
            "model class reliance needs a Problem with bounded models, or a fitted Rashomon "
            f"estimator with its rows, got {type(source).__name__}: {_route(source)}"
        )
    problem = declared_problem(source, _needed(X, "X"), _needed(y, "y"))
    names, groups = models.feature_names[:-1], models.feature_groups
    return problem, models.psi if psi is None else psi, names, groups


@dataclass(frozen=True, eq=False)
class BoundedProblem(penalised.PenalisedProblem):
    """A penalised problem with a ball that contains all its models within ψ."""

    radius: float = math.inf

    @property
    def domain(self) -> Any:
        """Ball of models, which is no constraint on those within ψ."""
        return Ball(self.radius)

    @property
    def ridge(self) -> FloatArray:
        """Penalty (p,) of each parameter."""
        return self.ridges


def bounded_problem(problem: penalised.PenalisedProblem, psi: float) -> BoundedProblem:
    """Squared or logistic loss with penalties, and a ball around its models within ψ."""
    if problem.loss.name not in ("squared", "logistic"):
        raise TypeError(_route(problem))
    if problem.row_space.flat.size:
        raise ValueError("collinear columns without a penalty leave the reliance open: drop one")
    reach = problem.reach(psi)
    wide = reach.extent * float(np.linalg.norm(reach.whiten, 2))
    radius = (float(np.linalg.norm(problem.minimum.theta)) + wide) * (1 + 1e-9)
    settings = {f.name: getattr(problem, f.name) for f in fields(penalised.PenalisedProblem)}
    return BoundedProblem(**settings, radius=radius)


def default_names(problem: penalised.ConvexProblem) -> list[str]:
    """Names of a problem's features, without the intercept."""
    width = problem.p // problem.loss.outputs - problem.intercept
    return list(getattr(problem, "feature_names", [f"x{j}" for j in range(width)]))


def refuse_rows(X: object, y: object) -> None:
    """Raise if rows are passed together with a problem, which has its own."""
    if X is None and y is None:
        return
    if np.ndim(X) == 0 and y is None:  # type: ignore[arg-type]
        raise TypeError(f"X must be rows, but a problem has its own; pass psi by name: psi={X!r}")
    raise ValueError("a problem has its own rows: omit X and y")


def _route(source: Any) -> str:
    if isinstance(source, penalised.PenalisedProblem) or hasattr(source, "fit"):
        return (
            "of scikit-learn's models only linear and logistic regressions are bounded, as "
            "penalised_problem with psi. Use model_reliance for its best model, "
            "exact_ranges(penalised_problem(model, X, y), psi) "
            "for the coefficients of all good models, or Problem(X, y, radius=..., ridge=...) for "
            "models in a ball"
        )
    return (
        "pass the fitted estimator with X and y, or declared_problem(estimator, X, y); for draws "
        "without their estimator use model_reliance(models, X, y)"
    )


def _needed(values: ArrayLike | None, name: str) -> ArrayLike:
    if values is None:
        raise ValueError(f"{name} is required: sets and fitted models hold no rows")
    return values


Form = Literal["difference", "ratio"]

FORMS: dict[str, Callable[[pd.DataFrame, FloatArray], pd.DataFrame]] = {
    "difference": lambda rise, before: rise,
    "ratio": lambda rise, before: 1 + rise.div(before, axis=0),
}
"""e_switch − e_orig and e_switch/e_orig, as functions of their difference and e_orig."""

_SCORES_AT_ONCE = 2_000_000


@inputs.by_index
def model_reliance(
    models_or_problem: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    features: inputs.Features = None,
    form: Form = "difference",
) -> pd.DataFrame:
    """Model reliance of every draw on every feature, over all pairs of rows.

    e_switch is the mean loss over all pairs i ≠ j of row i, including its target, with the
    features S replaced by those of row j; e_orig is the plain mean loss. Reliance is
    e_switch − e_orig or e_switch/e_orig (Fisher, Rudin and Dominici, All models are wrong, but
    many are useful, JMLR 2019, §3). There is no shuffling, so the result is deterministic. Every
    row counts once, whatever the weights of a fit. Rows are clipped to the models' row
    norm first; after that scores are linear. For squared loss the difference is the sample
    covariance of S's part of the score and the residual without it. Results on private rows are
    not private.

    The loss is half the squared error in squared units of the target, log loss in nats, or the
    share of wrong labels for a sign link and for trees.

    Parameters
    ----------
    models_or_problem : set, problem or fitted estimator
        A ``RashomonSet``, a ``ReleasedSet``, a set of trees or a fitted Rashomon estimator: all
        its draws. A ``Problem``, a ``PenalisedProblem`` or a fitted linear model accepted by
        :func:`penalised_problem`: its best model, in a table of one row.
    X : array-like of shape (n_rows, n_features), ChunkedRows or Dask collection, optional
        At least two rows; omitted for a problem, which has its own. Chunked rows are supported
        only for squared loss, which needs only moments; other losses need all pairs of rows.
    y : array-like of shape (n_rows,), optional
        Labels as in the fit, or targets.
    features : sequence, mapping or "columns", optional
        By default each feature once; see :func:`feature_groups`.
    form : {"difference", "ratio"}, default="difference"

    Returns
    -------
    pandas.DataFrame
        One row per draw, one column per group; no reliance is 0, or 1 for the ratio.

    Raises
    ------
    ValueError
        If a shape, value, label, feature or form is wrong, there are fewer than two rows,
        or a ratio's denominator is 0.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9, 0.1], [0.6, 0.2], [-0.7, 0.1], [-0.5, 0.2]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(epsilon=200, random_state=0).fit(X, y).rashomon_set_
    >>> table = model_reliance(models, X, y)
    >>> bool((table["x0"] > table["x1"]).all())
    True
    """
    if is_chunked(X) and _has_draws(models_or_problem):
        models_or_problem, X = inputs.set_and_rows(models_or_problem, X)
    if is_chunked(X) and find_trees(models_or_problem) is None:
        return _chunked_reliance(models_or_problem, chunks_with_targets(X, y), features, form)
    task, names, own_groups = reliance_task(models_or_problem, X, y)
    groups = inputs.feature_groups(features, names, own_groups)
    return reliance_table(task, groups, form)


def _chunked_reliance(
    models: Any, table: ChunkedRows, features: inputs.Features, form: str
) -> pd.DataFrame:
    """Reliance under squared loss from moments, which are sums over chunks."""
    first, targets = next(table.chunks(0, 1))
    task, names, own_groups = reliance_task(models, first, targets)
    assert isinstance(task, LinearTask)  # trees are measured in memory
    if task.loss != "squared":
        raise TypeError(
            f"reliance under {task.loss} loss needs all pairs of rows, which chunks do not "
            "provide: take a fixed random sample, X, y = rows.sample(5_000).to_memory()"
        )
    sums = table.reduce(partial(_chunk_moments, getattr(models, "rashomon_set_", models)))
    moments = SquareMoments.from_sums(table.n, *sums)
    rises = _square_rises(task, inputs.feature_groups(features, names, own_groups), moments)
    return in_form(form, _frame(rises), task.scale * moments.original()(task.coef[:, 0].T))


def _chunk_moments(models: Any, rows: FloatArray, targets: Any) -> tuple[Any, ...]:
    task = LinearTask.from_models(models, rows, targets)
    return moment_sums(task.rows, task.targets)


def _frame(rises: Mapping[str, FloatArray]) -> pd.DataFrame:
    return pd.DataFrame(rises).rename_axis(index="model", columns="feature")


def reliance_table(
    task: LinearTask | TreeTask, groups: Mapping[str, inputs.Columns], form: str = "difference"
) -> pd.DataFrame:
    """Reliance of each model, one row per model and one column per group."""
    return in_form(form, *reliance_rises(task, groups))


def reliance_rises(
    task: LinearTask | TreeTask, groups: Mapping[str, inputs.Columns]
) -> tuple[pd.DataFrame, FloatArray]:
    """e_switch − e_orig, one row per model and one column per group, and e_orig (n_models,)."""
    if isinstance(task, TreeTask):
        return task.rises(groups)
    inputs.check_two_rows(len(task.rows))
    before = original_loss(task)
    if task.loss == "squared":
        moments = SquareMoments.from_rows(task.rows, task.targets)
        return _frame(_square_rises(task, groups, moments)), before
    switched: dict[str, list[FloatArray]] = {name: [] for name in groups}
    for part in _in_parts(task):
        scores = _scores(part, slice(None))
        for name, columns in progress(groups.items(), "reliance"):
            moving = _scores(part, columns)
            switched[name].append(switched_mean(scores - moving, moving, part.targets, part.loss))
    rises = {name: task.scale * np.concatenate(e) - before for name, e in switched.items()}
    return _frame(rises), before


def in_form(form: str, rise: pd.DataFrame, before: FloatArray) -> pd.DataFrame:
    """Reliance in the requested form, from e_switch − e_orig and e_orig."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {list(FORMS)}, got {form!r}")
    if form == "ratio" and not before.all():
        model = int(np.flatnonzero(before == 0)[0])
        raise ValueError(
            f"model {model} has zero loss, so a ratio to its loss does not exist: use "
            "form='difference'"
        )
    return FORMS[form](rise, before)


def original_loss(task: LinearTask) -> FloatArray:
    """Mean loss (n_models,) of linear models on the rows without switching."""
    means = [
        row_losses(task.loss, _scores(part, slice(None)), part.targets).mean(axis=1)
        for part in _in_parts(task)
    ]
    return np.asarray(np.concatenate(means) * task.scale)


def _square_rises(
    task: LinearTask, groups: Mapping[str, inputs.Columns], moments: SquareMoments
) -> dict[str, FloatArray]:
    coef = task.coef[:, 0].T
    return {name: task.scale * moments.rise(columns)(coef) for name, columns in groups.items()}


def _in_parts(task: LinearTask) -> list[LinearTask]:
    """Split the task into batches of models to limit memory."""
    size = max(1, _SCORES_AT_ONCE // (len(task.rows) * task.coef.shape[1]))
    starts = range(0, len(task.coef), size)
    return [replace(task, coef=task.coef[start : start + size]) for start in starts]


def _scores(task: LinearTask, columns: inputs.Columns | slice) -> FloatArray:
    """Contribution (n_models, n_rows, outputs) of the columns to each score."""
    return np.einsum("kop,np->kno", task.coef[:, :, columns], task.rows[:, columns], optimize=True)
