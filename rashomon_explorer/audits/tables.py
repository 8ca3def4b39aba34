"""Audit of a model that is fitted for it: for a table without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.audits.audit import Audit, audit

_PENALTIES = 2.0 ** np.arange(-10, 11, 2)
_FOLDS = 5


def audit_table(
    X: Any, y: ArrayLike, task: str, *, class_names: Sequence[Any] = (), **options: Any
) -> Audit:
    """Audit a logistic or ridge regression with a cross-validated penalty.

    **Computed from private rows: for you, not for publication.**

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_features)
        Numbers of comparable size, such as encoded or standardised rows.
    y : array-like of shape (n_rows,)
    task : {"classification", "regression"}
    class_names : sequence, optional
        Labels of the classes, where ``y`` has their codes 0, 1, ….
    **options
        Arguments of :func:`rashomon_explorer.audit`.

    Returns
    -------
    Audit
        Of a model with a cross-validated penalty.
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV

    search = (
        GridSearchCV(
            LogisticRegression(max_iter=10_000, tol=1e-6),
            {"C": list(1 / _PENALTIES)},
            scoring="neg_log_loss",
            cv=_FOLDS,
        )
        if task == "classification"
        else GridSearchCV(Ridge(), {"alpha": list(_PENALTIES)}, cv=_FOLDS)
    )
    found = audit(search.fit(X, y), X, y, **options)
    return _named(found, tuple(class_names)) if class_names else found


def _named(found: Audit, names: tuple[Any, ...]) -> Audit:
    """Return the audit with labels in place of codes."""
    own, problem = found.inputs, found.problem
    model = replace(own.model, class_names=names, targets=np.asarray(names)[own.model.targets])
    if problem.classes:
        problem = replace(problem, classes=names)
    inputs = replace(own, model=model)
    return replace(found, answers=replace(found.answers, inputs=inputs, problem=problem))
