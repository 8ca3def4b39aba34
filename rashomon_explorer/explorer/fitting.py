"""Estimators that the page fits to its table and audits: for the curator, nothing is charged."""

import warnings
from collections.abc import Callable
from contextvars import ContextVar
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn import ensemble, neural_network, svm
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from rashomon_explorer._utils.sklearn_compat import select_rows
from rashomon_explorer.audits import Audit, audit
from rashomon_explorer.explorer.table_rows import encoded
from rashomon_explorer.plots.text import number

REFITS, FITTED_ROWS, SEARCHED_ROWS = 20, 5_000, 20_000
"""Refits of an audit, and the most rows that one reads, and on which the penalty is chosen."""

GUESSES = "no better than guessing"
_BEFORE_FIT: ContextVar[Callable[[], object]] = ContextVar("_BEFORE_FIT", default=lambda: None)


class SampleFit:
    """Mixin that fits at most ``FITTED_ROWS`` rows, drawn at random, and one of each class."""

    def fit(self: Any, X: Any, y: ArrayLike) -> Any:
        _BEFORE_FIT.get()()
        parent: Any = super()
        targets = np.asarray(y)
        rows = np.random.default_rng(0).permutation(len(targets))[:FITTED_ROWS]
        if is_classifier(self):
            rows = np.append(rows, np.unique(targets, return_index=True)[1])
        rows = np.unique(rows)
        return parent.fit(select_rows(X, rows), targets[rows])


class Estimator(NamedTuple):
    """Models by task, and values of the setting that keeps them simple, the simplest first."""

    models: dict[str, Any]
    setting: str
    words: str
    grid: tuple[float, ...]


def _sampled(room: Any, name: str, endings: str = "Classifier Regressor", **settings: Any) -> Any:
    """Models of both tasks that fit a sample of the rows."""
    kinds = [getattr(room, name + ending) for ending in endings.split()]
    sampled = [type(kind.__name__, (SampleFit, kind), {"__module__": __name__}) for kind in kinds]
    return {"classification": sampled[0](**settings), "regression": sampled[1](**settings)}


_LOGISTIC = LogisticRegression(max_iter=10_000, tol=1e-6)
_FOREST = _sampled(ensemble, "RandomForest", n_estimators=50, random_state=0)
_BOOSTING = _sampled(ensemble, "GradientBoosting", max_features="sqrt", random_state=0)
_NETWORK = _sampled(neural_network, "MLP", hidden_layer_sizes=16, solver="lbfgs", random_state=0)
_LEAVES, _C, _ALPHA = ("max_leaf_nodes", "leaves of a tree"), ("C", "penalty C"), "penalty α"

ESTIMATORS = {
    "Logistic regression": Estimator({"classification": _LOGISTIC}, *_C, (0.01, 0.1, 1, 10, 100)),
    "Ridge (least squares)": Estimator({"regression": Ridge()}, "alpha", _ALPHA, (100, 10, 1, 0.1)),
    "Random forest": Estimator(_FOREST, *_LEAVES, (8, 32, 128)),
    "Gradient boosting": Estimator(_BOOSTING, *_LEAVES, (2, 4, 8)),
    "SVM": Estimator(_sampled(svm, "SV", "C R"), *_C, (0.1, 1, 10)),
    "Neural network": Estimator(_NETWORK, "alpha", _ALPHA, (10, 1, 0.1)),
}
"""Estimators by label: the linear ones have exact sets, the others are audited by refits."""


def fit_and_audit(
    estimator: Estimator, data: Bunch, watch: Callable[[int, int], object]
) -> tuple[list[str], Audit]:
    """Choose the penalty, fit and audit; return what is said about the fit, and the audit.

    ``watch`` gets the number of each fit of a sample and how many there are; it may raise.
    """
    rows, names, n, model = encoded(data)[1], data.classes, len(data.y), estimator.models[data.task]
    targets = np.asarray(data.y) if names is None else np.asarray(names)[data.y]
    searched, options = np.random.default_rng(0).permutation(n)[:SEARCHED_ROWS], dict[str, Any]()
    measured = ["r2", "neg_root_mean_squared_error"]
    if names is not None:
        measured = ["accuracy"] + ["neg_log_loss"] * hasattr(model, "predict_proba")
        options = {"wanted": names[1]} if len(names) == 2 else {}
    options["tolerance"] = "cv"
    if len(data.sensitive.columns):
        options["groups"] = data.sensitive.iloc[:, 0].to_numpy()
    if is_sampled := isinstance(model, SampleFit):
        options |= {"tolerance": "paired standard error", "n_models": REFITS}
    # Five folds a penalty, two fits of all, and two refits more, each without four folds.
    fits, total = count(1), 5 * len(estimator.grid) + 2 + 4 * (REFITS + 2)
    search = GridSearchCV(
        model, {estimator.setting: estimator.grid}, cv=5, scoring=measured, refit=measured[-1]
    )
    token = _BEFORE_FIT.set(lambda: watch(next(fits), total))
    try:
        with warnings.catch_warnings(), threadpool_limits(1):  # the page needs a core, too
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(select_rows(rows, searched), targets[searched])
            model = clone(search.best_estimator_).fit(rows, targets)
            table_audit = audit(model, rows, targets, random_state=0, **options)
            _ = table_audit.models  # drawn here, not in the thread that answers the browser
    finally:
        _BEFORE_FIT.reset(token)
    means = [search.cv_results_[f"mean_test_{name}"][search.best_index_] for name in measured]
    score, constant = float(means[0]), 0.0
    if names is None:
        error, spread = number(-float(means[1])), number(float(targets.std()))
        facts = [f"R² {score:.2f}", f"RMSE {error}", f"always the mean {spread}"]
    else:
        labels, counts = np.unique(targets, return_counts=True)
        constant = counts.max() / n
        facts = [f"accuracy {score:.1%}", f"always “{labels[counts.argmax()]}” {constant:.1%}"]
    value = number(search.best_params_[estimator.setting])
    facts += [GUESSES] * bool(score < constant + 0.001)
    facts += [f"{estimator.words} = {value} by cross-validation"]
    facts += [f"ψ = one standard error ({number(table_audit.psi)})"]
    if n > FITTED_ROWS and is_sampled:
        facts += [f"each fit reads {FITTED_ROWS:,} of {n:,} rows"]
    return facts, table_audit
