"""Answers of an audit: what the good models of a fitted model agree and disagree on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from rashomon_explorer._utils.formatting import ReprMixin
from rashomon_explorer._utils.imports import load_extensions
from rashomon_explorer.audits import group_rates, summary
from rashomon_explorer.audits import tolerance as rules
from rashomon_explorer.audits.answers import (
    NO_GROUPS,
    NO_IMPORTANCE,
    NO_LABELS,
    NOT_PRIVATE,
    SAMPLED,
    AuditInputs,
    burden,
    marked,
    with_sign,
)
from rashomon_explorer.audits.choice.choice import Choice, choose, price
from rashomon_explorer.audits.choice.preferences import Limits
from rashomon_explorer.audits.comparison import Comparison, Optimality, compare, optimality
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.measures.ranges import Recourse

_Dashboard = TypeVar("_Dashboard", bound=Callable[..., Any])
_dashboard: list[Callable[..., Any]] = []


def opens_audits(dashboard: _Dashboard) -> _Dashboard:
    """Register what :meth:`Audit.explore` opens."""
    _dashboard[:] = [dashboard]
    return dashboard


_NO_COEFFICIENTS = "sampled models have no common coefficients: use .importance"
_NO_SHAPES = "sampled models are no sums of functions: use .plot('profile', feature=...)"


@dataclass(frozen=True, eq=False, repr=False)
class Audit(ReprMixin):
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

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from rashomon_explorer import audit
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 1.0]
    >>> found = audit(Ridge().fit(X, y), X, y, tolerance=0.01)
    >>> isinstance(found, Audit), found.kind, found.coefficients.loc["x0", "sign"]
    (True, 'exact', '+')
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
        if not self.answers.any_psi:
            raise TypeError("a sampled set has one threshold: call audit again with a tolerance")
        text = f"good models lose at most {psi:.4g} more than the best: a number that you chose"
        answers = replace(self.answers, inputs=replace(self.inputs, psi=float(psi)))
        return replace(
            self, tolerance=rules.Tolerance(float(psi), "absolute", text), answers=answers
        )

    def searched(self, seconds: float | None = None) -> Audit:
        """Audit that searches longer for people whose flip is undecided, by default to the end.

        Parameters
        ----------
        seconds : float or None, default=None
            Nominal seconds for searches, as in :func:`measures.exact_flips`; 4 in a new audit.

        Returns
        -------
        Audit
            Of the same model and tolerance.
        """
        inputs = replace(self.inputs, seconds=seconds)
        return replace(self, answers=replace(self.answers, inputs=inputs))

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
        """Whether the models predict rows with a changed column."""
        return bool(self.answers.has_importance)

    @property
    def has_gaps(self) -> bool:
        """Whether there are groups, and scores whose means can be compared."""
        return self.inputs.groups is not None and bool(self.answers.has_gaps)

    @property
    def has_rates(self) -> bool:
        """Whether there are groups, and a class that counts as accepted."""
        accepted = (
            self.task == "classification"
            and group_rates.accepted_code(self.inputs.model) is not None
        )
        return self.inputs.groups is not None and accepted

    @property
    def mark(self) -> str:
        """How numbers over the set are known: ``"exact"`` or ``"sampled: at least"``."""
        return "exact" if self.kind == "exact" else SAMPLED

    def _need(self, available: bool, words: str) -> None:
        if not available:
            raise MissingAnswerError(words)

    @cached_property
    def optimality(self) -> Optimality | None:
        """How far the fitted model is above the best one; None for a sampled audit."""
        return optimality(self) if self.kind == "exact" else None

    def tolerances(self, multiples: Sequence[float] = rules.MULTIPLES) -> pd.DataFrame:
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
        table = rules.tolerance_table(self, multiples)
        if self.kind == "exact":
            table.attrs["half_settled_psi"] = rules.half_settled_psi(self)
        return marked(table, self.mark)

    @cached_property
    def near_tolerances(self) -> pd.DataFrame:
        """Answers at a quarter of ψ, ψ, and four times ψ, as in the summary."""
        return rules.tolerance_table(self, rules.SHOWN)

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
    def shapes(self) -> pd.DataFrame:
        """Per column of the table and value of it: what it adds to the score, and the exact range.

        For columns that reach the model each by itself: behind splines, bins, levels or powers. The
        (weighted) mean over the rows of the fit is 0. ``low`` and ``high`` bound all good models,
        and a settled ``sign`` says that all are above or below the mean. Values are those of rows;
        ``attrs["mixing"]`` names the other columns, and the step that mixes them.
        """
        self._need(self.has_coefficients, _NO_SHAPES)
        return self.answers.shapes()

    @cached_property
    def shape_sizes(self) -> pd.DataFrame:
        """Per column of :attr:`shapes`: size of its function, and whether it can be constant.

        ``least`` and ``greatest`` bound the largest absolute value over all good models, at the
        values shown. ``constant``: ``"no"`` if no good model has a constant function, ``"yes"`` if
        the best model without the column is good, otherwise ``"undecided"``.
        """
        return self.answers.shape_sizes(self.shapes)

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Per group: people, those whose label can flip, their share, and the ratio to all."""
        self._need(self.inputs.groups is not None, NO_GROUPS)
        self._need(self.task == "classification", NO_LABELS)
        return burden(self.inputs, self.decided, self.mark)

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
        self._need(self.has_rates, group_rates.NO_RATES)
        return marked(group_rates.rates_table(self), self.mark)

    @cached_property
    def rate_gaps(self) -> pd.DataFrame:
        """Per pair of groups: difference in the rate of the wanted label, and ratio of the rates.

        ``low`` and ``high`` bound the gap of every good model; it is settled if they have one
        sign. ``ratio`` is the smaller rate over the larger one (disparate impact, often compared
        with 0.8) of the fitted model, with bounds over the good models.
        """
        self._need(self.inputs.groups is not None, NO_GROUPS)
        self._need(self.has_rates, group_rates.NO_RATES)
        return marked(with_sign(group_rates.rate_gaps(self)), self.mark)

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
        self._need(self.has_rates or self.task == "regression", group_rates.NO_RATES)
        return marked(group_rates.gap_intervals(self, confidence), self.mark)

    @cached_property
    def importance(self) -> pd.DataFrame:
        """Per feature of the table: mean size of its contribution to the score (mean |SHAP|)."""
        self._need(self.has_importance, NO_IMPORTANCE)
        return self.answers.importance()

    @cached_property
    def reliance(self) -> pd.DataFrame:
        """Per feature of the table: increase of the loss if it is switched between people."""
        self._need(self.has_importance, NO_IMPORTANCE)
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

    def choose(
        self,
        prefer: str | Sequence[str],
        *,
        signs: Mapping[str, Any] | None = None,
        max_features: int | None = None,
        max_gap: float | None = None,
        gap: str = "scores",
        near: Any = None,
        to: str = "coefficients",
        points: int = 5,
        psi: float | None = None,
        seconds: float | None = 10.0,
    ) -> Choice:
        """Choose the good model that is best by a preference, with a proof.

        Each preference keeps the models with its best value, and the next one chooses among them;
        of those that are left, the one with the least loss is taken.

        Parameters
        ----------
        prefer : str or sequence of str
            One, or several in order:

            - ``"sparse"``: fewest columns of the table, the levels of a column counted once;
            - ``"monotone"``: least loss of a model with the declared ``signs``;
            - ``"fair"``: least gap between two groups, of several pairs the largest one;
            - ``"near"``: least change from the model ``near``;
            - ``"card"``: a scorecard, whole points for each column in the units of the table and
              one multiplier, with the least range of points;
            - ``"robust"``: least worst conflict ratio of a person, over drawn good models.

            After ``"near"``, ``"card"``, ``"robust"`` and gaps in rates one model is left. After
            ``"sparse"``, ``"fair"`` searches all sets of as few features, others that of least
            loss.
        signs : mapping, optional
            Per column of the table ``"+"`` or ``"-"``, or a list of its levels from low to high:
            the score must not fall in that order. Every preference keeps them.
        max_features : int, optional
            Largest number of columns of the table.
        max_gap : float, optional
            Largest gap in mean scores between two groups.
        gap : {"scores", "rates", "opportunity"}, default="scores"
            Gap in mean scores, exactly, or in rates of the wanted label, of everyone or of those
            who have it, by a search with a proved bound.
        near : fitted estimator, optional
            Model for ``"near"``, such as last year's.
        to : {"coefficients", "labels"}, default="coefficients"
            What changes least: coefficients of the same columns of the last step, each times the
            standard deviation of its column; or labels of people, by a search with a proved bound.
        points : int, default=5
            Largest points of a scorecard, of either sign.
        psi : float, optional
            Largest excess loss, by default that of the audit.
        seconds : float or None, default=10
            Nominal seconds of a search, after which value and bound differ; None has no end.

        Returns
        -------
        Choice
            Its ``model`` takes the raw table; ``certificate``, ``costs``, ``changed`` labels.

        Raises
        ------
        MissingAnswerError
            If no good model meets the limits (the message has the least excess loss with them), or
            the audit is of refits.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from rashomon_explorer import audit
        >>> X, y = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]], [0.0, 1.0, 2.0]
        >>> audit(Ridge().fit(X, y), X, y, tolerance=0.1).choose("sparse").preferred[0].text
        '1 of 2 features: no good model has less'
        """
        return choose(
            self if psi is None else self.at(psi),
            prefer,
            Limits(signs, max_features, max_gap, gap, near, to, points, seconds),
        )

    def price(
        self, prefer: str | Sequence[str], psis: Sequence[float] | None = None, **limits: Any
    ) -> pd.DataFrame:
        """Price curve: what a preference reaches at several ψ, such as how few features suffice.

        Parameters
        ----------
        prefer : str or sequence of str
            As for :meth:`choose`; values are of the last one.
        psis : sequence of float, optional
            Thresholds; by default 1/16 to 8 times that of the audit.
        **limits
            Limits of :meth:`choose`.

        Returns
        -------
        pandas.DataFrame
            Per ψ: ``value`` with its ``bound``, whether it is ``optimal``, the ``excess`` of the
            model, its accuracy (or R²), and the share of people whose label is ``changed``. NaN
            where no good model meets the limits. ``choose(prefer, psi=…)`` is the model.
        """
        return price(self, prefer, Limits(**limits), psis)

    def plot(self, kind: str = "people", **arguments: Any) -> Any:
        """Figure of the audit.

        Parameters
        ----------
        kind : str
            ``"people"`` (everyone's range), ``"coefficients"`` per standard deviation, ``"groups"``
            (who bears the multiplicity), ``"importance"``, ``"gaps"``, ``"gap_intervals"`` (data
            and choice of model), ``"tolerances"``, ``"price"`` of a preference ``prefer=``, or
            ``"profile"`` along the column ``feature=`` of the table; or another figure of a set of
            models, such as ``"frontier"``.
        **arguments
            Arguments of the figure's plot function.

        Returns
        -------
        plotly.graph_objects.Figure
            Marked as the curator's.
        """
        from rashomon_explorer.audits.document import plot  # needs the extra app

        return plot(self, kind, **arguments)

    @cached_property
    def accuracy(self) -> pd.DataFrame:
        """Per person: conflict ratio, flip, largest change of the score, and whether it is right.

        ``move`` is an upper bound of the change over all good models; of several classes, and of a
        sampled audit, the largest change of a sampled model.

        What documentation of accuracy for single persons needs; see the report's section.
        """
        self._need(self.task == "classification", NO_LABELS)
        return self.answers.accuracy(self.decided)

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str = "",
        choices: Sequence[Choice] = (),
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
        choices : sequence of Choice, optional
            Models that were chosen, with proofs and costs, for a review of model risk.
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

        options: dict[str, Any] = {"interactive": interactive, "overwrite": overwrite}
        return write_report(self, path, title=title, choices=choices, **options)

    def explore(self) -> Any:
        """Open the dashboard on the audit; it charges nothing."""
        load_extensions("dashboard")
        return _dashboard[-1](self)

    @property
    def release_code(self) -> str:
        """Python code that plans and releases the answers about every good model, with noise.

        What the audit itself shows is computed from private rows. Gaps between optima over the set
        can be released (:class:`rashomon_explorer.release.LeastPsi`): which coefficients keep their
        sign, and which features no good model needs. Add ``LeastPsi(label_of=rows)`` for public
        people.
        """
        unweighted = self.inputs.model.weights is None
        self._need(unweighted, "a release counts rows alike, and this audit has weights")
        return summary.release_code(self)

    def to_json(self) -> str:
        """Text of the audit as JSON, by the schema that :func:`audits.json_schema` returns."""
        return summary.to_json(self)

    @cached_property
    def _summary(self) -> pd.DataFrame:
        return summary.summary_table(self)

    def summary(self) -> pd.DataFrame:
        """Numbers of the audit: what is settled, what is arbitrary, who is affected."""
        return self._summary.copy()

    def _title(self) -> str:
        return f"Audit · {NOT_PRIVATE}"

    def _facts(self) -> list[tuple[str, str]]:
        return summary.facts(self)
