"""How a fitted model is audited: by its convex problem, by refits, or with other fitted models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from rashomon_explorer._utils.containers import as_pandas
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.audits import sampled
from rashomon_explorer.audits import tolerance as rules
from rashomon_explorer.audits.answers import AuditInputs, CertifiedAnswers, usual_number
from rashomon_explorer.audits.boards import board_models, is_board
from rashomon_explorer.audits.counted import CountedAnswers, audited_trees
from rashomon_explorer.audits.group_rates import group_series
from rashomon_explorer.audits.models import AuditedModel, checked_parameters
from rashomon_explorer.audits.result import Audit
from rashomon_explorer.audits.sampled_answers import SampledAnswers
from rashomon_explorer.audits.statsmodels_results import converted_results, is_statsmodels
from rashomon_explorer.measures import penalised_problem
from rashomon_explorer.measures.inputs import by_index
from rashomon_explorer.measures.ranges.linear_models import has_problem
from rashomon_explorer.trees import CountedTrees

_MODELS = 200
"""Models drawn from an exact set for averages, unless a number is given or the table is large."""


@by_index
def audit(
    model: Any,
    X: Any,
    y: Any,
    *,
    tolerance: Any = "auto",
    groups: ArrayLike | str | Sequence[str] | None = None,
    features: Any = None,
    sample_weight: ArrayLike | None = None,
    threshold: float | None = None,
    wanted: Any = None,
    n_models: int | str = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Audit:
    """Audit a fitted model: whose label, and which coefficient, depends on the choice of model.

    Many models fit the rows almost as well as the one that was fitted. The audit asks what all of
    them agree on. For a linear model with a convex objective the answers are proved for every
    such model; for any other model they are read off a sample of refits, and are lower bounds.

    **Computed from private rows: for you, not for publication.**

    Parameters
    ----------
    model : estimator, or list, mapping or DataFrame of several
        Fitted scikit-learn model, pipeline or search (its best estimator is audited), or a result
        of statsmodels: ``OLS``, ``WLS``, ``Logit``, or a ``GLM`` that is one of them, also of a
        formula. Or counted trees (:class:`rashomon_explorer.trees.CountedTrees`): averages are
        over uniform draws, choices are exact. Of several models, by name, the good ones are
        compared with the best; each is a fitted model or its predictions (a column of a
        DataFrame): labels, numbers, probabilities of every class, or of two classes those of the
        second in sorted order.
    X : array-like or DataFrame of shape (n_rows, n_features)
        Rows of the fit as the model took them: for a pipeline the raw table. For several models
        rows that none was fitted to.
    y : array-like of shape (n_rows,)
        Targets of the fit.
    tolerance : float or str, default="auto"
        How much worse than the best a good model may be:

        - ``"auto"``: ``"likelihood ratio"`` for a logistic or linear regression, otherwise
          ``"paired standard error"``: the median over refits or given models of the standard error
          of the difference in loss to the model on the same rows;
        - ``"likelihood ratio"``, ``"likelihood ratio 99%"``: 2n·ψ is the quantile of χ² with one
          degree of freedom, by default at 95 %, so that ranges of coefficients are profile
          likelihood intervals if the fit has no penalty;
        - ``"1%"`` of the least objective, or a number in the unit of the objective;
        - ``"cv"``: one standard error of the cross-validated loss (Breiman et al. 1984), from the
          losses of all held-out rows. It estimates how much the loss differs on another sample of
          this size, and is many times the likelihood ratio;
        - ``"without age"``, ``"without age, sex"``: the excess loss of the best model without
          these columns; columns of a one-hot group are left out together.
    groups : str, sequence of str, Series or array-like of shape (n_rows,), optional
        Group of each person, or the name of a column of ``X``. Several names or a DataFrame give
        intersections, of which those of fewer than 10 people are not compared.
    features : sequence or mapping, optional
        Columns of the table to measure importance of; by default each once. A list entry or
        mapping value may name several columns.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the fit, such as those of a survey; a result of statsmodels has its own. The
        loss is weighted, and so are quality and each group's shares, rates and gaps. Counts of
        people are of rows. The likelihood ratio takes whole numbers as counts of people, and other
        weights by Kish's effective number of rows.
    threshold : float, optional
        Probability of the wanted class (or score, of a model without probabilities) from which on
        it is decided, in place of the model's own ``predict``. A ``FixedThresholdClassifier`` or
        ``TunedThresholdClassifierCV`` has its rule without this.
    wanted : label, optional
        Class that counts as accepted: scores, signs and rates are for it. By default 1 or True of
        two such labels; of labels in words none, and scores are for the last in the order of
        ``classes_``, which is printed beside them.
    n_models : int or "auto", default="auto"
        Number of models for numbers that are averages over the set, or of refits.
    n_jobs : int, optional
        Number of processes that refit.
    random_state : int, optional
        Seed of the draws of models; proved numbers do not depend on it.

    Returns
    -------
    Audit
        Shows its summary in a notebook; its attributes are tables, each computed on first use.

    Raises
    ------
    TypeError
        If the model cannot be audited.
    ValueError
        If the model was not fitted to these rows, a column is missing, or a length is wrong.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> found = audit(model, X, y, tolerance="1%")
    >>> int(found.flips["flips"].sum()), len(found.flips)
    (16, 569)
    >>> found.coefficients.loc["worst texture", "sign"]
    '−'
    """
    table = X if isinstance(X, pd.DataFrame | pd.Series) else as_pandas(X)
    sampling: dict[str, Any] = {"n_models": n_models, "random_state": random_state}
    options: dict[str, Any] = {"groups": groups, "features": features, **sampling}
    if is_board(model):
        best, models = _audit_fitted_models(
            model, table, y, tolerance, threshold, wanted, sample_weight, random_state
        )
        inputs = _inputs(best, models.psi, table, **options)
        return Audit(models.tolerance, SampledAnswers(inputs, models), table)
    if isinstance(model, CountedTrees):
        if sample_weight is not None or threshold is not None:
            raise ValueError(
                "counted trees weigh rows alike and give labels: no weights, threshold"
            )
        audited, rule_of_trees = audited_trees(model, table, y, tolerance, wanted)
        inputs = _inputs(audited, rule_of_trees.psi, table, **options)
        return Audit(rule_of_trees, CountedAnswers(inputs, model), table)
    people, shares = None, sample_weight
    if is_statsmodels(model):
        converted = converted_results(model, X, y, sample_weight)
        model, y, people = converted.model, converted.targets, converted.people
        table = table if isinstance(table, pd.DataFrame) else converted.table
        sample_weight = converted.weights
        shares = converted.counts if shares is None else shares
    rule: dict[str, Any] = {"threshold": threshold, "wanted": wanted, "weights": shares}
    audited = AuditedModel.from_fit(model, table, y, **rule)
    weights: dict[str, Any] = {} if sample_weight is None else {"sample_weight": sample_weight}
    problem, reason = _certified(audited, weights)
    audited = audited.scoring_wanted()
    if problem is None:
        if not hasattr(audited.original, "get_params"):
            raise TypeError(
                f"{type(audited.original).__name__} cannot be fitted again, as it is no estimator "
                "of scikit-learn's kind: compare it with other fitted models, "
                "audit({'first': first, 'second': second}, X, y), also by their predictions"
            )
        models = sampled.sample_models(
            audited.original,
            audited.fit_rows,
            audited.targets,
            tolerance=tolerance,
            classes=audited.classes,
            decision=audited.decision,
            n_jobs=n_jobs,
            **sampling,
            **weights,
        )
        if isinstance(table, pd.DataFrame):
            models = models.with_columns(audited.table.columns)
        inputs = _inputs(audited, models.psi, table, **options)
        return Audit(models.tolerance, SampledAnswers(inputs, models), table, reason)
    if people is None:
        people = rules.likelihood_people(audited.estimator, audited.targets, sample_weight)
    if problem.feature_names != tuple(audited.names):  # a copy forgets the minimum
        problem = replace(problem, feature_names=tuple(audited.names))
    if audited.reversed:
        problem = replace(problem, targets=-problem.targets)
    audited = audited.with_changes(theta=checked_parameters(audited, problem), people=people)
    resolved = rules.resolve(
        tolerance,
        model,
        audited.fit_rows,
        audited.targets,
        problem,
        groups=audited.groups,
        people=people,
        random_state=random_state,
        **weights,
    )
    if n_models == "auto":
        options["n_models"] = usual_number(problem, _MODELS)
    inputs = _inputs(audited, resolved.psi, table, **options)
    return Audit(resolved, CertifiedAnswers(inputs, problem), table)


def _certified(audited: AuditedModel, weights: dict[str, Any]) -> tuple[Any, str]:
    """Convex problem of a fitted model; or None, and why a sample of refits answers instead."""
    name = type(audited.estimator).__name__
    if hasattr(audited.estimator, "term_scores_"):  # an explainable boosting machine
        why = "boosting stopped early, over bags: the scores of its terms minimise no objective"
        return None, f"{why}, around whose minimum a set could be proved"
    if not has_problem(audited.estimator):
        return None, f"{name} is no linear model with a convex objective"
    if audited.resampler:
        return None, f"{audited.resampler} resampled the rows that {name} was fitted to"
    try:
        _check_certified(audited.estimator)
        return _problem(audited, weights), ""
    except TypeError as error:
        return None, str(error)
    except ValueError:
        step = audited.other_rows_step()
        if not step:
            raise
        return None, f"{step} transforms the rows of the fit otherwise than the same rows later"


def _problem(audited: AuditedModel, weights: dict[str, Any]) -> Any:
    """Convex problem of a fitted model, wherever its solver stopped."""
    rows = audited.rows
    if not hasattr(audited.estimator, "feature_names_in_"):  # messages name columns of the table
        rows = pd.DataFrame(np.asarray(rows), columns=audited.names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return penalised_problem(audited.estimator, rows, audited.targets, **weights)


def _check_certified(estimator: Any) -> None:
    """Raise TypeError for constraints, a loss without a certificate, or one model per class."""
    name, loss = type(estimator).__name__, getattr(estimator, "loss", "")
    classes = getattr(estimator, "classes_", None)
    one_per_class = name == "LinearSVC" or getattr(estimator, "solver", "") == "liblinear"
    one_per_class |= getattr(estimator, "multi_class", "") == "ovr"
    one_per_class &= classes is not None and len(classes) > 2
    kinked = loss == "hinge" or (name == "LinearSVC" and estimator.penalty != "l2")
    if kinked or one_per_class or getattr(estimator, "positive", False):
        raise TypeError(f"{name} with these settings has no objective whose minimum is certified")


def _audit_fitted_models(
    models: Any,
    table: Any,
    y: Any,
    tolerance: Any,
    threshold: float | None,
    wanted: Any,
    weights: Any,
    random_state: Any,
) -> tuple[Any, sampled.SampledSet]:
    """Models that were fitted already, with the best of them."""
    targets = np.asarray(as_pandas(y))
    collected = sampled.collect_models(
        board_models(models, table, targets),
        table,
        targets,
        tolerance=tolerance,
        sample_weight=weights,
        random_state=random_state,
    )
    (best,) = collected.reference.estimators  # type: ignore[union-attr]  # fitted models
    rule: dict[str, Any] = {"threshold": threshold, "wanted": wanted, "weights": weights}
    audited = AuditedModel.from_fit(best, table, y, **rule)
    audited = audited.scoring_wanted()
    decision = audited.decision if threshold is not None else None
    return audited, collected.scoring(audited.classes[-1] if audited.reversed else None, decision)


def _inputs(
    model: Any,
    psi: float,
    table: Any,
    *,
    groups: Any,
    features: Any,
    n_models: Any,
    random_state: Any,
) -> AuditInputs:
    return AuditInputs(
        model=model,
        psi=psi,
        groups=group_series(groups, table, model.table),
        features=features,
        n_models=_MODELS if n_models == "auto" else int(n_models),
        rng=lambda: generator(random_state),
    )
