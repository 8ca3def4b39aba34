"""Audit of one fitted model: what the models that are as good agree and disagree on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from rashomon_explorer._utils.containers import as_pandas
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.audits import sampled, summary
from rashomon_explorer.audits import tolerance as rules
from rashomon_explorer.audits.answers import (
    NO_GROUPS,
    NO_LABELS,
    SAMPLED,
    AuditInputs,
    CertifiedAnswers,
    marked,
    with_sign,
)
from rashomon_explorer.audits.comparison import Comparison, compare
from rashomon_explorer.audits.draws import usual_number
from rashomon_explorer.audits.group_rates import (
    NO_RATES,
    accepted_code,
    attained_gaps,
    gap_intervals,
    group_series,
    rate_gaps,
    rates_table,
)
from rashomon_explorer.audits.models import AuditedModel, StoredModel, as_table, checked_parameters
from rashomon_explorer.audits.optimality import Optimality, optimality
from rashomon_explorer.audits.sampled_answers import SampledAnswers
from rashomon_explorer.audits.tolerance_table import (
    MULTIPLES,
    SHOWN,
    half_settled_psi,
    tolerance_table,
)
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.measures import penalised_problem
from rashomon_explorer.measures.inputs import by_index
from rashomon_explorer.measures.ranges import Recourse
from rashomon_explorer.measures.ranges.linear_models import has_problem
from rashomon_explorer.sets.models.fitted import StoredPredictions

_NO_COEFFICIENTS = "sampled models have no common coefficients: use .importance"
_NO_IMPORTANCE = "stored predictions do not tell what other rows would get"
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
    model : estimator, list of estimators, or array-like
        Fitted scikit-learn model, pipeline or search (its best estimator is audited). Or several
        fitted models, or predictions of shape (n_models, n_rows[, n_classes]): of these, the
        good ones are compared with the best.
    X : array-like or DataFrame of shape (n_rows, n_features)
        Rows of the fit as the model took them: for a pipeline the raw table. For several models
        rows that none was fitted to; for predictions None.
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
          losses of all held-out rows; ``"cv folds"`` takes the means of the five folds, as glmnet
          does. It estimates how much the loss differs on another sample of this size, and is
          many times the likelihood ratio;
        - ``"without age"``, ``"without age, sex"``: the excess loss of the best model without
          these columns; columns of a one-hot group are left out together.
    groups : str, sequence of str, Series or array-like of shape (n_rows,), optional
        Group of each person, or the name of a column of ``X``. Several names or a DataFrame give
        intersections, of which those of fewer than 10 people are not compared.
    features : sequence or mapping, optional
        Columns of the table to measure importance of; by default each once. A list entry or
        mapping value may name several columns.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the fit.
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
        Number of processes.
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
    table = X if X is None or isinstance(X, pd.DataFrame | pd.Series) else as_pandas(X)
    choice = {"n_models": n_models, "n_jobs": n_jobs, "random_state": random_state}
    if sampled.is_collection(model):
        own, models = _collected(model, table, y, tolerance, threshold, wanted, random_state)
        inputs = _inputs(own, models.psi, groups, table, features, choice)
        return Audit(models.tolerance, SampledAnswers(inputs, models), table)
    audited = AuditedModel.from_fit(model, table, y, threshold=threshold, wanted=wanted)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    problem, reason = _certified(audited, weights)
    if problem is None:
        sample = _sampled(audited, table, tolerance, groups, features, weights, choice)
        return replace(sample, reason=reason)
    audited = audited.scoring_wanted()
    problem = replace(problem, feature_names=tuple(audited.names))
    if audited.reversed:
        problem = replace(problem, targets=-problem.targets)
    audited = audited.with_changes(theta=checked_parameters(audited, problem))
    found = rules.resolve(
        tolerance,
        model,
        audited.fit_rows,
        audited.targets,
        problem,
        groups=audited.groups,
        random_state=random_state,
        **weights,
    )
    if n_models == "auto":
        choice["n_models"] = usual_number(problem, _MODELS)
    inputs = _inputs(audited, found.psi, groups, table, features, choice)
    return Audit(found, CertifiedAnswers(inputs, problem), table)


def _certified(audited: AuditedModel, weights: dict[str, Any]) -> tuple[Any, str]:
    """Convex problem of a fitted model; or None, and why a sample of refits answers instead."""
    name = type(audited.estimator).__name__
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
    """Convex problem of a fitted model; :attr:`Audit.optimality` says where its solver stopped."""
    rows = audited.rows
    if not hasattr(audited.estimator, "feature_names_in_"):
        rows = pd.DataFrame(
            np.asarray(rows), columns=audited.names
        )  # messages name columns of the table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return penalised_problem(audited.estimator, rows, audited.targets, **weights)


def _check_certified(estimator: Any) -> None:
    """Raise TypeError for constraints, a loss without a certificate, or one model per class."""
    svm = type(estimator).__name__ == "LinearSVC"
    classes = getattr(estimator, "classes_", None)
    several = classes is not None and len(classes) > 2
    each = svm or "liblinear" == getattr(estimator, "solver", "")
    each = each or getattr(estimator, "multi_class", "") == "ovr"
    kinked = getattr(estimator, "loss", "") == "hinge" or (svm and estimator.penalty != "l2")
    if kinked or (several and each) or getattr(estimator, "positive", False):
        name = type(estimator).__name__
        raise TypeError(f"{name} with these settings has no objective whose minimum is certified")


def _sampled(
    audited: AuditedModel,
    table: Any,
    tolerance: Any,
    groups: Any,
    features: Any,
    weights: dict[str, Any],
    choice: dict[str, Any],
) -> Audit:
    """Audit by refits, of a model without a convex objective."""
    audited = audited.scoring_wanted()
    models = sampled.sample_models(
        audited.original,
        audited.fit_rows,
        audited.targets,
        tolerance=tolerance,
        classes=audited.classes,
        decision=audited.decision,
        **weights,
        **choice,
    )
    if isinstance(table, pd.DataFrame) and table.ndim == 2:
        models = models.with_columns(audited.table.columns)
    inputs = _inputs(audited, models.psi, groups, table, features, choice)
    return Audit(models.tolerance, SampledAnswers(inputs, models), table)


def _collected(
    models: Any,
    table: Any,
    y: Any,
    tolerance: Any,
    threshold: float | None,
    wanted: Any,
    random_state: Any,
) -> tuple[Any, sampled.SampledSet]:
    """Models that were fitted already, or their predictions, with the best of them."""
    targets = np.asarray(as_pandas(y))
    collected = sampled.collect_models(
        models, table, targets, tolerance=tolerance, random_state=random_state
    )
    if isinstance(collected.reference, StoredPredictions):
        if threshold is not None:
            raise TypeError(
                "threshold= needs fitted models: stored predictions have no rule to replace, pass "
                "the labels themselves, such as np.where(predictions >= threshold, 'yes', 'no')"
            )
        collected = collected.scoring(wanted)
        rows = pd.DataFrame(index=range(len(targets))) if table is None else as_table(None, table)
        return StoredModel(rows, targets, collected.classes), collected
    (best,) = collected.reference.estimators  # type: ignore[union-attr]  # fitted models
    audited = AuditedModel.from_fit(best, table, y, threshold=threshold, wanted=wanted)
    audited = audited.scoring_wanted()
    replaced = audited.decision if threshold is not None else None
    return audited, collected.scoring(audited.classes[-1] if audited.reversed else None, replaced)


def _inputs(
    own: Any, psi: float, groups: Any, table: Any, features: Any, choice: dict[str, Any]
) -> AuditInputs:
    n_models, seed = choice["n_models"], choice["random_state"]
    return AuditInputs(
        model=own,
        psi=psi,
        groups=group_series(groups, table, own.table),
        features=features,
        n_models=_MODELS if n_models == "auto" else int(n_models),
        rng=lambda: generator(seed),
        n_jobs=choice["n_jobs"],
    )


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What the good models of a fitted model agree and disagree on: not private.

    Made by :func:`rashomon_explorer.audit`. Every table is computed on first use, and kept.

    Parameters
    ----------
    tolerance : Tolerance
        Rule that says how much worse than the best a good model may be.
    answers : CertifiedAnswers or SampledAnswers
        Numbers of the audit.
    table : DataFrame or ndarray
        Rows as they were given.
    reason : str
        Why refits answer for a model, if they do.

    Attributes
    ----------
    kind : {"exact", "sampled"}
        Whether numbers are proved for every good model, or are lower bounds from a sample.
    problem : PenalisedProblem or None
        The convex problem, which the functions of :mod:`rashomon_explorer.measures` take.
    models : RashomonSet or PredictorSet
        Good models: a uniform sample of the exact set, or the refits.
    """

    tolerance: rules.Tolerance
    answers: Any
    table: Any = field(repr=False)
    reason: str = ""

    @property
    def kind(self) -> str:
        """Either ``"exact"`` or ``"sampled"``."""
        return str(self.answers.kind)

    def at(self, psi: float) -> Audit:
        """Audit of the same model at another threshold ψ: how answers grow with the tolerance."""
        if psi == self.psi:
            return self
        if self.kind != "exact":
            raise TypeError("a sampled set has one threshold: call audit again with a tolerance")
        text = f"good models lose at most {psi:.4g} more than the best: a number that you chose"
        answers = replace(self.answers, inputs=replace(self.inputs, psi=float(psi)))
        return replace(
            self, tolerance=rules.Tolerance(float(psi), "absolute", text), answers=answers
        )

    @property
    def psi(self) -> float:
        """Largest excess loss of a good model."""
        return self.tolerance.psi

    @property
    def problem(self) -> Any:
        """Convex problem of an exact audit; None for a sampled one."""
        return getattr(self.answers, "problem", None)

    @property
    def models(self) -> Any:
        """Models of the set as a set of models, for plots, reports and measures."""
        return self.answers.models

    @property
    def task(self) -> str:
        """Either ``"classification"`` or ``"regression"``."""
        return "classification" if self.inputs.model.classes else "regression"

    @property
    def inputs(self) -> AuditInputs:
        """The fitted model with its rows, targets and groups."""
        return self.answers.inputs

    @property
    def decided(self) -> pd.DataFrame:
        """Per person: whether some good model flips the label, without ψ and conflict ratio."""
        self._need(self.task == "classification", NO_LABELS)
        return self.answers.decided

    @property
    def has_coefficients(self) -> bool:
        """Whether the models are linear in the columns that the last step sees."""
        return bool(self.answers.has_coefficients)

    @property
    def has_importance(self) -> bool:
        """Whether the models can predict changed rows."""
        return bool(self.answers.has_importance)

    @property
    def has_gaps(self) -> bool:
        """Whether there are groups, and scores whose means can be compared."""
        return self.inputs.groups is not None and bool(self.answers.has_gaps)

    @property
    def has_rates(self) -> bool:
        """Whether there are groups, and a class that counts as accepted."""
        accepted = self.task == "classification" and accepted_code(self.inputs.model) is not None
        return self.inputs.groups is not None and accepted

    @property
    def mark(self) -> str:
        """How numbers over the set are known: ``"exact"`` or ``"sampled: at least"``."""
        return "exact" if self.kind == "exact" else SAMPLED

    def _need(self, available: bool, words: str) -> None:
        """Raise MissingAnswerError unless an answer is available."""
        if not available:
            raise MissingAnswerError(words)

    @cached_property
    def optimality(self) -> Optimality | None:
        """How far the fitted model is above the best one; None for a sampled audit."""
        return optimality(self) if self.kind == "exact" else None

    def tolerances(self, multiples: Sequence[float] = MULTIPLES) -> pd.DataFrame:
        """Answers at several tolerances: how fast they change with ψ.

        Parameters
        ----------
        multiples : sequence of float, default=(1/16, 1/4, 1, 4, 16)
            Multiples of ψ; ranges are about a quarter, half, twice and four times as wide. A
            sampled audit has those up to 1.

        Returns
        -------
        pandas.DataFrame
            Per multiple: ``psi``, its share ``of_loss``, the ``level`` of the likelihood ratio
            test of one parameter that has this ψ, ``flips`` and their ``share`` of people (or
            ``median_range``), and ``settled_signs`` of ``coefficients``. NaN if no bound is known.
            ``attrs["half_settled_psi"]`` is the ψ up to which half of the signs are settled.
        """
        table = tolerance_table(self, multiples)
        if self.kind == "exact":
            table.attrs["half_settled_psi"] = half_settled_psi(self)
        return marked(table, self.mark)

    @cached_property
    def near_tolerances(self) -> pd.DataFrame:
        """Answers at a quarter of ψ, ψ, and four times ψ, as in the summary."""
        return tolerance_table(self, SHOWN)

    @cached_property
    def effects(self) -> pd.DataFrame:
        """Per coefficient but the intercept: its range per standard deviation of the column."""
        self._need(self.has_coefficients, _NO_COEFFICIENTS)
        return self.answers.effects()

    @cached_property
    def person_ranges(self) -> pd.DataFrame:
        """Per person of the fit: lowest, fitted and highest prediction over the set."""
        return self.answers.fit_ranges()

    @cached_property
    def flips(self) -> pd.DataFrame:
        """Per person: can the label flip, from which ψ on, and the share of models that do it.

        Columns ``label`` (of the fitted model), ``flips`` and ``decided`` as in
        :func:`measures.exact_flips`, ``psi_low`` and ``psi_high`` as in :func:`measures.flip_psi`
        (for a person who cannot flip: ψ and infinity), and ``conflict_ratio``, the share of the
        models of the set that give another label.
        """
        self._need(self.task == "classification", NO_LABELS)
        return self.answers.flips()

    def flips_of(self, rows: Any) -> pd.DataFrame:
        """Per row of another table: the columns of :attr:`flips`.

        Parameters
        ----------
        rows : DataFrame or array-like of shape (n_people, n_columns)
            People as the model takes them, such as applicants to whom it was not fitted.

        Returns
        -------
        pandas.DataFrame
            With the index of ``rows``. ``.scores``, ``.recourse`` and ``.decide_or_abstain`` take
            such rows, too.
        """
        self._need(self.task == "classification", NO_LABELS)
        return self.answers.flips_of(rows)

    @cached_property
    def coefficients(self) -> pd.DataFrame:
        """Per coefficient, in the units of the table: low, fitted, high, and the settled sign."""
        self._need(self.has_coefficients, _NO_COEFFICIENTS)
        return self.answers.coefficients()

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Per group: people, those whose label can flip, their share, and the ratio to all."""
        self._need(self.inputs.groups is not None, NO_GROUPS)
        self._need(self.task == "classification", NO_LABELS)
        return self.answers.groups()

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """Per pair of groups: range of the difference in mean score over the set."""
        self._need(self.inputs.groups is not None, NO_GROUPS)
        self._need(self.has_gaps, "a gap in scores needs one score a person")
        return self.answers.gaps()

    @cached_property
    def rates(self) -> pd.DataFrame:
        """Per group: people, base rate, and the rate of the wanted label over the good models.

        ``low``, ``fitted`` and ``high`` are of the share of people who get the label,
        ``true_positive_…`` of that share among people who have it, ``false_positive_…`` among the
        others. Between low and high lie the rates of all good models: low counts the people whom
        every good model accepts, high those whom some good model accepts. For a sampled audit they
        are the least and the greatest rate of a model.
        """
        self._need(self.inputs.groups is not None, NO_GROUPS)
        self._need(self.has_rates, NO_RATES)
        return marked(rates_table(self), self.mark)

    @cached_property
    def rate_gaps(self) -> pd.DataFrame:
        """Per pair of groups: difference in the rate of the wanted label, and ratio of the rates.

        ``low`` and ``high`` bound the gap of every good model; it is settled if they have one
        sign. ``ratio`` is the smaller rate over the larger one (disparate impact, often compared
        with 0.8) of the fitted model, with bounds over the good models. ``low_attained`` and
        ``high_attained`` are the extreme gaps of the drawn :attr:`models`.
        """
        self._need(self.inputs.groups is not None, NO_GROUPS)
        self._need(self.has_rates, NO_RATES)
        table = with_sign(rate_gaps(self))
        if self.kind == "exact":
            table["low_attained"], table["high_attained"] = attained_gaps(self)
        return marked(table, self.mark)

    def gap_intervals(self, confidence: float = 0.95) -> pd.DataFrame:
        """Per pair of groups: how far its gap depends on the data, and on the choice of model.

        Parameters
        ----------
        confidence : float, default=0.95
            Of the interval for another sample of people with the fitted model: Newcombe's of a
            difference in rates, or Welch's of a difference in mean predictions.

        Returns
        -------
        pandas.DataFrame
            ``fitted``, ``data_low`` and ``data_high``, and ``models_low`` and ``models_high``,
            the range over the good models on these people.
        """
        self._need(self.inputs.groups is not None, NO_GROUPS)
        self._need(self.has_rates or self.task == "regression", NO_RATES)
        return marked(gap_intervals(self, confidence), self.mark)

    @cached_property
    def importance(self) -> pd.DataFrame:
        """Per feature of the table: mean size of its contribution to the score (mean |SHAP|)."""
        self._need(self.has_importance, _NO_IMPORTANCE)
        return self.answers.importance()

    @cached_property
    def reliance(self) -> pd.DataFrame:
        """Per feature of the table: increase of the loss if it is switched between people."""
        self._need(self.has_importance, _NO_IMPORTANCE)
        return self.answers.reliance()

    def scores(self, rows: Any) -> pd.DataFrame:
        """Per row of a table: lowest, fitted and highest prediction over the set.

        With ``flips`` and ``decided`` as in :attr:`flips`, where a person has one score.
        """
        return self.answers.scores(rows)

    def decide_or_abstain(self, rows: Any) -> pd.Series:
        """Per row of a table: the label on which all good models agree; None to abstain."""
        return self.answers.decide_or_abstain(rows)

    def recourse(
        self, rows: Any, changeable: Sequence[str], *, wanted: Any = None, **options: Any
    ) -> Recourse:
        """Least change of a refused person after which every good model accepts.

        Parameters
        ----------
        rows : DataFrame or array-like of shape (n_people, n_columns)
            People, as the model takes them.
        changeable : sequence of str
            Columns of the table that may change: numbers, and columns of categories.
        wanted : label, optional
            Label that means acceptance; by default that of the audit.
        **options
            ``bounds``, by default the range in the rows of the fit; ``costs``, by default 1 for a
            standard deviation or another level; ``directions``, ``integers``, ``margin`` and
            ``tolerance`` as for :func:`rashomon_explorer.measures.recourse`.

        Returns
        -------
        Recourse
            ``people`` with the cost of the change, and of that for the fitted model alone;
            ``changes``, old and new values in the units of the table.
        """
        return self.answers.recourse(rows, changeable, wanted=wanted, **options)

    def compare(self, other: Any) -> Comparison:
        """Compare another fitted model: is it in the set, by how much, and who changes."""
        return compare(self, other)

    def plot(self, kind: str = "people", **arguments: Any) -> Any:
        """Figure of the audit.

        Parameters
        ----------
        kind : str
            ``"people"`` (everyone's range), ``"coefficients"`` per standard deviation, ``"groups"``
            (who bears the multiplicity), ``"importance"``, ``"gaps"``, ``"gap_intervals"`` (data
            and choice of model), ``"tolerances"``, or ``"profile"`` along the column ``feature=``
            of the table; or another figure of a set of models, such as ``"frontier"``.
        **arguments
            Arguments of the figure's plot function.

        Returns
        -------
        plotly.graph_objects.Figure
            Marked as the curator's.
        """
        from rashomon_explorer.audits.figures import plot  # needs the extra app

        return plot(self, kind, **arguments)

    @cached_property
    def accuracy(self) -> pd.DataFrame:
        """Per person: conflict ratio, flip, largest change of the score, and whether it is right.

        What documentation of accuracy for single persons needs; see the report's section.
        """
        return self.answers.accuracy(self.flips)

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str = "",
        interactive: bool = True,
        overwrite: bool = False,
    ) -> Path:
        """Write the audit into one HTML file, for you and not for publication.

        It has a section of facts for documentation of accuracy under the EU AI Act.

        Parameters
        ----------
        path : path-like
            Usually ``"audit.html"``.
        title : str, optional
            Title of the file.
        interactive : bool, default=True
            Whether the file holds the script that draws its figures, 2 MB.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Returns
        -------
        pathlib.Path
            Path of the file, which only its owner can read.
        """
        from rashomon_explorer.audits.document import write_report  # needs the extra app

        return write_report(self, path, title=title, interactive=interactive, overwrite=overwrite)

    def explore(self) -> Any:
        """Open the dashboard on the audit; it charges nothing."""
        # By name: the page imports this room, and is heavy.
        return import_module("rashomon_explorer.explorer").Explorer(self)

    @property
    def release_code(self) -> str:
        """Python code that releases the answers about every good model, with noise, for others.

        What the audit itself shows is computed from private rows. Gaps between optima over the set
        can be released (:class:`rashomon_explorer.release.LeastPsi`): which coefficients keep their
        sign, and which features no good model needs. Add ``LeastPsi(label_of=rows)`` for public
        people.
        """
        return summary.release_code(self)

    def to_json(self) -> str:
        """Text of the audit as JSON, by the schema that :func:`audits.json_schema` returns."""
        return summary.to_json(self)

    def summary(self) -> pd.DataFrame:
        """Numbers of the audit: what is settled, what is arbitrary, who is affected."""
        return self._summary.copy()

    @cached_property
    def _summary(self) -> pd.DataFrame:
        return summary.summary_table(self)

    def __repr__(self) -> str:
        return summary.as_text(self)

    def _repr_html_(self) -> str:
        return summary.as_html(self)


_PENALTIES = 2.0 ** np.arange(-10, 11, 2)
_FOLDS = 5


def audit_table(
    X: Any, y: ArrayLike, task: str, *, class_names: Sequence[Any] = (), **options: Any
) -> Audit:
    """Audit a logistic or ridge regression with a cross-validated penalty; ``options`` as of audit.

    ``X`` holds numbers of comparable size; ``class_names`` are the labels of the codes in ``y``.
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
    own, problem = found.inputs, found.problem
    model = replace(own.model, class_names=names, targets=np.asarray(names)[own.model.targets])
    if model.decision is not None:
        decision = replace(model.decision, wanted=None, target="")
        model = replace(model, decision=decision)
    if problem.classes:
        problem = replace(problem, classes=names)
    inputs = replace(own, model=model)
    return replace(found, answers=replace(found.answers, inputs=inputs, problem=problem))
